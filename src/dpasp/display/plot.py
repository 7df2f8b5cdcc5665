"""What each result looks like as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpasp.circuits import Circuit
from dpasp.display.charts import bars, curve
from dpasp.display.circuit_picture import circuit_scene
from dpasp.display.dependencies import dependencies
from dpasp.errors import UsageError
from dpasp.inference.answers import Answer, Answers
from dpasp.logic.program import GroundProgram
from dpasp.pictures.scene import Drawing, Scene, moved

if TYPE_CHECKING:
    from dpasp.learning.history import History


def answers(given_answers: Answers) -> Scene:
    """Bars for probabilities, segments for intervals; below, the curve of what was learned."""
    asked = [answer for answer in given_answers if isinstance(answer, Answer)]
    if not asked and not given_answers.history:
        raise UsageError("there is nothing to draw", help="add a #query, or use --query")
    files = [Path(file).name for file in given_answers.files if not file.startswith("<")]
    title = " · ".join(
        filter(None, (", ".join(files), f"{given_answers.logic}, {given_answers.probability}"))
    )
    scenes = [bars(asked, title)] if asked else []
    if given_answers.history:
        scenes.append(_learning(given_answers.history))
    return above(scenes)


def history(records: History) -> Scene:
    """The log-likelihood by iteration."""
    if not len(records):
        raise UsageError("there is nothing to draw: no iteration is done")
    return _learning(records.to_list())


def circuit(drawn_circuit: Circuit) -> Scene:
    """The circuit with its questions."""
    title = f"circuit · {drawn_circuit.meaning.logic.value}"
    return circuit_scene(
        drawn_circuit, drawn_circuit.leaf_names, drawn_circuit.question_names, title
    )


def program(ground: GroundProgram, title: str) -> Scene:
    """The dependencies of a program."""
    return dependencies(ground, title)


def above(scenes: Sequence[Scene]) -> Scene:
    """Some scenes as one, the first at the top."""
    shapes: list[Drawing] = []
    down = 0.0
    for scene in scenes:
        shapes += (moved(shape, 0, down) for shape in scene.shapes)
        down += scene.height
    return Scene(max(s.width for s in scenes), down, tuple(shapes), scenes[0].title)


def _learning(records: Sequence[Mapping[str, Any]]) -> Scene:
    held_out = [float(record["validation"]) for record in records if "validation" in record]
    return curve([float(record["log_likelihood"]) for record in records], "learning", held_out)
