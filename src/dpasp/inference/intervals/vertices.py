"""The extreme distributions that intervals allow, and the extremes of answers over them.

The answer to a query is linear-fractional in each single probability, so that its extremes over
all allowed distributions lie at vertices. A few are simply evaluated, many are searched.

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
from dpasp.ground.program import GroundProgram, IntervalWeights
from dpasp.inference.asked import Asked
from dpasp.inference.circuit import Evaluator
from dpasp.inference.ratios import Extremes, answer_masses
from dpasp.inference.tuning import EXACT
from dpasp.language.statements.weights import rest
from dpasp.limits import Watch
from dpasp.semantics import masses
from dpasp.semantics.leaves import Weights, layout
from dpasp.semantics.masses import Array, Masses
from dpasp.semantics.meaning import Meaning


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
    if total > EXACT.vertices:
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


def over_intervals(asked: Asked, evaluator: Evaluator) -> list[Extremes]:
    """The numbers of every question, over all distributions that the intervals allow.

    Few vertices are simply evaluated; many are searched, and what share of them is ruled out is
    reported to the watch.
    """
    intervals = corners(asked.ground)
    if math.prod(len(corner.points) for corner in intervals) > EXACT.few_vertices:
        from dpasp.inference.intervals.many import searched_extremes  # few programs have so many

        found = searched_extremes(asked, evaluator, intervals, EXACT.few_vertices)
        if found is not None:
            return found
    numbers: list[Extremes] = []
    for batch in vertex_weights(intervals, asked.columns, EXACT.batch):
        new = over_batch(asked, evaluator, batch, range(len(asked.questions)), asked.watch)
        numbers = [a.joined(b) for a, b in zip(numbers, new, strict=True)] if numbers else new
    return numbers


def over_batch(
    asked: Asked, evaluator: Evaluator, batch: Weights, questions: Sequence[int], watch: Watch
) -> list[Extremes]:
    """The numbers of some questions over some vertices, which are [leaves, vertices, rows]."""
    shape = batch.shape[1:]
    vectors = batch.reshape(len(batch), shape[0] * shape[1])
    found, logs = answer_masses(asked, evaluator, vectors, watch)
    return [
        _over_vertices(found[i], asked.meaning, batch, logs and (logs[0][i], logs[1][i]))
        for i in questions
    ]


def _over_vertices(
    flat: Masses,
    meaning: Meaning,
    batch: Weights,
    logs: tuple[Array, Array] | None,
) -> Extremes:
    """The extremes over the vertices of a batch; where the evidence is impossible none counts.

    ``logs`` are the logarithms (base 10) of the answers, where doubles end.
    """
    shape = batch.shape[1:]
    flat = Masses(*(getattr(flat, name).reshape(shape) for name in Masses.__slots__))
    lower, upper = masses.lower_upper(flat, meaning)
    low, high = (lower, upper) if logs is None else (log.reshape(shape) for log in logs)
    lower_at = upper_at = None
    if batch.shape[2] == 1:
        lower_at, upper_at = (_attaining(batch, values[:, 0]) for values in (low, -high))
    return Extremes(
        np.fmax.reduce(flat.consistent, axis=0),
        np.fmax.reduce(flat.inconsistent, axis=0),
        np.fmax.reduce(masses.evidence_mass(flat, meaning), axis=0),
        np.fmin.reduce(lower, axis=0),
        np.fmax.reduce(upper, axis=0),
        np.zeros(shape[1]),
        lower_at,
        upper_at,
        logs=None if logs is None else (np.fmin.reduce(low, axis=0), np.fmax.reduce(high, axis=0)),
    )


def _attaining(batch: Weights, values: Array) -> Weights | None:
    """The weights of the vertex with the smallest value, if any has one."""
    known = np.where(np.isnan(values), np.inf, values)
    best = int(np.argmin(known))
    return batch[:, best, 0].copy() if known[best] < np.inf else None
