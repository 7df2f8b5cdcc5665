"""The best assignments of a most-probable question, and how they are told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpasp.inference.answers import Assignment, MapAnswer, Value
from dpasp.inference.labels import choice_labels
from dpasp.logic.program import GroundMap, GroundProgram

VALUES: tuple[Value, ...] = (True, False, "undef")
CLOSE = 1e-10  # values that differ by less, relatively, are ties


@dataclass(frozen=True, slots=True)
class Best:
    """The largest probability, and the assignments that have it.

    They are positions in ``VALUES`` by marked atom, or for ``#mpe`` values by choice.
    """

    value: float
    assignments: NDArray[np.integer]  # [ties, atoms or choices]


def map_answer(
    ground: GroundProgram, question: GroundMap, upper: Best, lower: Best | None = None
) -> MapAnswer:
    """The answer under maxent, or with ``lower`` under credal."""
    best = [_named(ground, question, row.tolist()) for row in upper.assignments]
    if lower is None:
        return MapAnswer(question.text, best[0], upper.value, ties=tuple(best[1:]))
    surest = [_named(ground, question, row.tolist()) for row in lower.assignments]
    return MapAnswer(
        question.text,
        best[0],
        upper=upper.value,
        lower=lower.value,
        lower_assignment=surest[0],
        ties=tuple(best[1:]),
        lower_ties=tuple(surest[1:]),
    )


def _named(ground: GroundProgram, question: GroundMap, values: Sequence[int]) -> Assignment:
    """An assignment by the names of its atoms."""
    if not question.everything:
        names = (str(literal.symbol) for literal in question.atoms)
        return {name: VALUES[value] for name, value in zip(names, values, strict=True)}
    return {
        label: position == value
        for labels, value in zip(choice_labels(ground), values, strict=True)
        for position, label in enumerate(labels)
    }
