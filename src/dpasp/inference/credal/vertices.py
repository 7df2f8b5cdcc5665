"""Credal choices: the extreme distributions that their intervals allow.

The answer to a query is linear-fractional in each single probability, so its
extremes over all allowed distributions lie at vertices.

>>> [[round(p, 9) for p in vertex] for vertex in vertices((0.1, 0.2), (0.3, 0.9))]
[[0.1, 0.9], [0.3, 0.7]]
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, SizeLimit
from dpasp.language.statements.distributions import rest
from dpasp.logic.program import GroundProgram, IntervalWeights
from dpasp.semantics.leaves import Weights, layout

MOST_VERTICES = 1 << 24


def vertices(lower: Sequence[float], upper: Sequence[float]) -> list[tuple[float, ...]]:
    """The vertices of {p : lower ≤ p ≤ upper, Σ p = 1}: all but one are at a bound.

    The numbers are those that their shortest decimals say, and are compared exactly: an
    interval may be as narrow as [0, 1e-300].
    """
    from fractions import Fraction

    slack = Fraction(1, 10**15)  # the bounds are numbers that were rounded once
    low, high = ([Fraction(repr(float(p))) for p in bound] for bound in (lower, upper))
    distinct = set()
    for free in range(len(low)):
        others = [i for i in range(len(low)) if i != free]
        for ends in product(*(sorted({low[i], high[i]}) for i in others)):
            left = 1 - sum(ends, Fraction(0))
            if low[free] - slack <= left <= high[free] + slack:
                vertex = list(ends)
                vertex.insert(free, min(max(left, low[free]), high[free]))
                distinct.add(tuple(map(float, vertex)))
    return sorted(distinct)


@dataclass(frozen=True, slots=True)
class Corners:
    """The extreme distributions of a credal choice."""

    choice: int
    leaves: slice
    points: Weights  # [vertices, leaves of the choice]


def corners(ground: GroundProgram) -> list[Corners]:
    """The extreme distributions of every credal choice."""
    leaves = layout(ground.choices)
    every = []
    for i, choice in enumerate(ground.choices):
        if isinstance(choice.weight, IntervalWeights):
            ends = choice.weight.lower, choice.weight.upper
            points = vertices(*ends) if not choice.nothing else _of_a_single_head(ends)
            every.append(Corners(i, leaves.of(i), np.array(points)))
    return every


def _of_a_single_head(ends: tuple[Sequence[float], ...]) -> list[tuple[float, ...]]:
    """The distributions of a single head: its probability, and the rest for "nothing"."""
    return [(p, rest((p,))) for p in sorted({end[0] for end in ends})]


def vertex_weights(intervals: Sequence[Corners], weights: Weights, most: int) -> Iterator[Weights]:
    """The weights [leaves, rows] at all vertices, as batches [leaves, vertices, rows].

    A batch has about ``most`` weight vectors. Without credal choices there is one
    vertex: the weights themselves. Raises :class:`SizeLimit` if there are too many vertices.
    """
    total = math.prod(len(corner.points) for corner in intervals)
    if total > MOST_VERTICES:
        raise _too_many(len(intervals), total)
    step = max(1, most // max(1, weights.shape[1]))
    for start in range(0, total, step):
        batch = np.arange(start, min(start + step, total))
        result = np.repeat(weights[:, np.newaxis, :], len(batch), axis=1)
        for corner in intervals:  # the number of a vertex has one digit for each credal choice
            batch, picked = np.divmod(batch, len(corner.points))
            result[corner.leaves] = corner.points[picked].T[:, :, np.newaxis]
        yield result


def _too_many(choices: int, total: int) -> SizeLimit:
    return SizeLimit(
        Diagnostic(
            "size-limit",
            f"{choices} credal choices have {total:,} extreme distributions: too many to try",
            help="make some of the intervals single probabilities",
        )
    )
