"""What each result looks like as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpasp.circuits import Circuit
from dpasp.display.charts import bars, curve
from dpasp.display.circuit_picture import circuit_scene
from dpasp.display.dependencies import dependencies_picture
from dpasp.errors import UsageError
from dpasp.ground.program import GroundProgram
from dpasp.inference.answers import Answer, Answers
from dpasp.pictures.scene import PlacedShape, Scene, moved

if TYPE_CHECKING:
    from dpasp.learning.history import History


def answers_picture(answers: Answers) -> Scene:
    """Bars for probabilities, segments for intervals; below, the curve of what was learned."""
    asked = [answer for answer in answers if isinstance(answer, Answer)]
    if not asked and not answers.history:
        raise UsageError("there is nothing to draw", help="add a #query, or use --query")
    files = [Path(file).name for file in answers.files if not file.startswith("<")]
    title = " · ".join(filter(None, (", ".join(files), f"{answers.logic}, {answers.probability}")))
    scenes = [bars(asked, title)] if asked else []
    if answers.history:
        scenes.append(_learning(answers.history))
    return above(scenes)


def history_picture(records: History) -> Scene:
    """The log-likelihood by iteration."""
    if not len(records):
        raise UsageError("there is nothing to draw: no iteration is done")
    return _learning(records.to_list())


def circuit_picture(circuit: Circuit) -> Scene:
    """The circuit with its questions."""
    title = f"circuit · {circuit.meaning.logic.value}"
    return circuit_scene(circuit, circuit.leaf_names, circuit.question_names, title)


def program_picture(ground: GroundProgram, title: str) -> Scene:
    """The dependencies of a program."""
    return dependencies_picture(ground, title)


def above(scenes: Sequence[Scene]) -> Scene:
    """Some scenes as one, the first at the top."""
    shapes: list[PlacedShape] = []
    down = 0.0
    for scene in scenes:
        shapes += (moved(shape, 0, down) for shape in scene.shapes)
        down += scene.height
    return Scene(max(s.width for s in scenes), down, tuple(shapes), scenes[0].title)


def _learning(records: Sequence[Mapping[str, Any]]) -> Scene:
    held_out = [float(record["validation"]) for record in records if "validation" in record]
    return curve([float(record["log_likelihood"]) for record in records], "learning", held_out)
