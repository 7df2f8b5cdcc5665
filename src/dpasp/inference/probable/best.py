"""The best assignments of a most-probable question, and the answer that names them.

>>> from dpasp.language import parse
>>> from dpasp.logic import ground
>>> program = ground(parse("0.3::a. 0.6::b. #map a?, b?."))
>>> best = Best(0.42, np.array([[VALUES.index(False), VALUES.index(True)]]))
>>> map_answer(program, program.questions[0], best).assignment
{'a': False, 'b': True}
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpasp.dataclass import dataclass
from dpasp.inference.answers import SMALLEST, Assignment, MapAnswer, Value
from dpasp.logic.program import GroundMap, GroundProgram
from dpasp.semantics.names import Labels, choice_labels

VALUES: tuple[Value, ...] = (True, False, "undef")
MOST_TIES = 1000  # the most that are listed
CLOSE = 1e-10  # values that differ by less, relatively, are ties


@dataclass(frozen=True, slots=True)
class Best:
    """The largest probability, and the assignments that have it: some if over MOST_TIES do.

    An assignment is a position in ``VALUES`` for each marked atom, or for ``#mpe`` the value of
    each choice. Where a limit stopped the search, surely no other has more than ``most``. The
    ``log`` is the value's natural logarithm, where it is known though the value may be below the
    range of doubles.
    """

    value: float
    assignments: NDArray[np.integer]  # [ties, atoms or choices]
    most: float | None = None
    log: float | None = None

    @property
    def log10(self) -> float:
        """The logarithm (base 10) of the value."""
        if self.log is not None:
            return self.log / math.log(10.0)
        return math.log10(self.value) if self.value > 0 else -math.inf


def best_at(log: float, assignments: NDArray[np.integer], most: float | None = None) -> Best:
    """The best, from the logarithm of its value."""
    return Best(math.exp(min(log, 0.0)), assignments, most, log)


def map_answer(
    ground: GroundProgram, question: GroundMap, upper: Best, lower: Best | None = None
) -> MapAnswer:
    """The answer under maxent, or with ``lower`` under credal."""
    best, more = _named(ground, question, upper)
    bests = [upper] if lower is None else [lower, upper]
    below = any(one.value < SMALLEST and one.log10 > -math.inf for one in bests)
    logs = tuple(one.log10 for one in bests) if below else None
    if lower is None:
        ties = tuple(best[1:])
        return MapAnswer(
            question.text,
            best[0],
            upper.value,
            ties=ties,
            more_ties=more,
            most=upper.most,
            logs=logs,
        )
    surest, more_surest = _named(ground, question, lower)
    return MapAnswer(
        question.text,
        best[0],
        upper=upper.value,
        lower=lower.value,
        lower_assignment=surest[0],
        ties=tuple(best[1:]),
        lower_ties=tuple(surest[1:]),
        more_ties=more,
        more_lower_ties=more_surest,
        most=upper.most,
        lower_most=lower.most,
        logs=logs,
    )


def _named(ground: GroundProgram, question: GroundMap, best: Best) -> tuple[list[Assignment], bool]:
    """The assignments by name, at most MOST_TIES, and whether there are more."""
    rows = best.assignments[:MOST_TIES].tolist()
    more = len(best.assignments) > MOST_TIES
    if question.everything:
        names = choice_labels(ground)
        return [_total_choice(names, row) for row in rows], more
    atoms = [str(literal.symbol) for literal in question.atoms]
    return [dict(zip(atoms, (VALUES[v] for v in row), strict=True)) for row in rows], more


def _total_choice(names: Labels, values: Sequence[int]) -> Assignment:
    """For the name of every value of every choice, whether the choice takes it."""
    return {
        label: position == value
        for labels, value in zip(names, values, strict=True)
        for position, label in enumerate(labels)
    }
