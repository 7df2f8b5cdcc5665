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
from dpasp.pictures.scene import Scene, Shape, moved

if TYPE_CHECKING:
    from dpasp.learning.history import History


def answers(found: Answers) -> Scene:
    """Bars for probabilities, segments for intervals; below, the curve of what was learned."""
    asked = [answer for answer in found if isinstance(answer, Answer)]
    if not asked and not found.history:
        raise UsageError("there is nothing to draw", help="add a #query, or use --query")
    files = [Path(file).name for file in found.files if not file.startswith("<")]
    title = " · ".join(filter(None, (", ".join(files), f"{found.logic}, {found.probability}")))
    scenes = [bars(asked, title)] if asked else []
    if found.history:
        scenes.append(_learning(found.history))
    return above(scenes)


def history(found: History) -> Scene:
    """The log-likelihood by iteration."""
    if not len(found):
        raise UsageError("there is nothing to draw: no iteration is done")
    return _learning(found.to_list())


def circuit(found: Circuit) -> Scene:
    """The circuit with its questions."""
    title = f"circuit · {found.meaning.logic.value}"
    return circuit_scene(found, found.leaf_names, found.question_names, title)


def program(ground: GroundProgram, title: str) -> Scene:
    """The dependencies of a program."""
    return dependencies(ground, title)


def above(scenes: Sequence[Scene]) -> Scene:
    """Some scenes as one, the first at the top."""
    shapes: list[Shape] = []
    down = 0.0
    for scene in scenes:
        shapes += (moved(shape, 0, down) for shape in scene.shapes)
        down += scene.height
    return Scene(max(s.width for s in scenes), down, tuple(shapes), scenes[0].title)


def _learning(records: Sequence[Mapping[str, Any]]) -> Scene:
    held_out = [float(record["validation"]) for record in records if "validation" in record]
    return curve([float(record["log_likelihood"]) for record in records], "learning", held_out)
