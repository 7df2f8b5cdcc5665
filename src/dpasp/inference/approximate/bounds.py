"""Sure bounds from the most probable total choices.

Total choices are solved from the most probable one on. Those not yet seen have mass r
and may satisfy anything, so that surely

    a / (a + d + r) ≤ lower ≤ (a + r) / (a + r + d)      and the same for upper with b, c
    qe / (e + r)    ≤ value ≤ (qe + r) / (e + r)         under maxent

The gap is the largest distance between two such ends.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpasp.errors import ImpossibleEvidence, InconsistentProgram, LimitReached
from dpasp.inference.answers import Answer
from dpasp.inference.approximate.early import Approximate, stopped_early
from dpasp.inference.approximate.outcomes import (
    Outcomes,
    TotalChoice,
    distributions,
    probability_of,
)
from dpasp.inference.evaluator import Report
from dpasp.inference.method import Method
from dpasp.language.ast import Probability
from dpasp.semantics import masses
from dpasp.semantics.leaves import Weights
from dpasp.semantics.masses import FIELDS, Masses

GAP = 0.01
ROUNDING = 1e-15  # a smaller mass not yet seen is rounding
EACH = 64  # total choices between two looks at the gap, later on
Changes = tuple[tuple[int, int], ...]  # (choice in order, rank of its value) where not the best


@dataclass(frozen=True, slots=True)
class Bound:
    """What is sure about an answer: its numbers, an interval that holds it, and the gap."""

    numbers: tuple[float, ...]
    interval: tuple[float, float]
    gap: float


def bounds(
    outcomes: Outcomes,
    probability: Probability,
    weights: Weights,
    how: Method,
    progress: Report,
) -> Approximate:
    """The answers under weights [leaves], when the gap is small enough or a limit is reached."""
    wanted = GAP if how.gap is None else how.gap
    total = np.zeros((len(outcomes.queries), len(FIELDS) + 1))
    seen, rest, stopped = 0, 1.0, ""
    found = _bounds(outcomes, probability, total, rest)
    for choice in most_probable_first(weights, outcomes.starts):
        if how.nmodels is not None and seen >= how.nmodels:
            break
        try:
            outcome = outcomes.of(choice)
        except LimitReached as limit:
            if not seen:
                raise
            stopped = limit.diagnostics[0].message
            break
        share = probability_of(choice, weights, outcomes.starts)
        total += share * outcome
        seen, rest = seen + 1, max(0.0, rest - share)
        if seen <= EACH or seen % EACH == 0:
            found = _bounds(outcomes, probability, total, rest)
            progress(1.0 - rest, 1.0)
            if _gap(found) <= wanted:
                break
    else:  # all total choices were seen
        rest = 0.0
        _check(outcomes, probability, total)
    found = _bounds(outcomes, probability, total, rest if rest > ROUNDING else 0.0)
    lost = outcomes.masses(total)[0].inconsistent if outcomes.queries else np.float64(0)
    told = (stopped_early(stopped, _gap(found)),) if stopped else ()
    return Approximate(_answers(outcomes, found), float(lost), told)


def most_probable_first(weights: Weights, starts: Sequence[int]) -> Iterator[TotalChoice]:
    """The total choices of positive probability, in the order of it.

    Every choice has its values ranked; a total choice costs what its ranks lose against
    the best. With the choices in the order of what the second value loses, each total
    choice has one cheaper or equal parent, so that a heap gives all of them in order.
    """
    ranked = [np.argsort(-own, kind="stable") for own in distributions(weights, starts)]
    losses = [
        [float(np.log(own[order[0]]) - np.log(own[k])) for k in order if own[k] > 0]
        for own, order in zip(distributions(weights, starts), ranked, strict=True)
    ]
    order = sorted((i for i, own in enumerate(losses) if len(own) > 1), key=lambda i: losses[i][1])
    best = [int(own[0]) for own in ranked]
    heap: list[tuple[float, Changes]] = [(0.0, ())]
    while heap:
        cost, changes = heapq.heappop(heap)
        values = best.copy()
        for place, rank in changes:
            values[order[place]] = int(ranked[order[place]][rank])
        yield tuple(values)
        for following in _following(changes, [len(losses[i]) for i in order]):
            extra = sum(losses[order[place]][rank] for place, rank in following)
            heapq.heappush(heap, (max(cost, extra), following))


def _following(changes: Changes, sizes: Sequence[int]) -> Iterator[Changes]:
    """The total choices that come right after one; each has only one that it comes after."""
    if not changes:
        if sizes:
            yield ((0, 1),)
        return
    *before, (place, rank) = changes
    if rank + 1 < sizes[place]:
        yield (*before, (place, rank + 1))
    if place + 1 < len(sizes):
        yield (*changes, (place + 1, 1))
        if rank == 1:
            yield (*before, (place + 1, 1))


def _bounds(
    outcomes: Outcomes, probability: Probability, total: Weights, rest: float
) -> list[Bound]:
    found = []
    for own in outcomes.masses(total):
        found.append(
            _maxent(own, rest) if probability is Probability.MAXENT else _credal(own, rest)
        )
    return found


def _maxent(own: Masses, rest: float) -> Bound:
    qe, e = float(own.qe), float(own.e)
    if not e > 0:  # nothing is known yet: no total choice so far satisfies the evidence
        return Bound((0.5,), (0.0, 1.0), 1.0)
    low, high = qe / (e + rest), min(1.0, (qe + rest) / (e + rest))
    return Bound((min(1.0, qe / e),), (low, high), high - low)


def _credal(own: Masses, rest: float) -> Bound:
    a, b, c, d = (float(mass) for mass in (own.a, own.b, own.c, own.d))
    if not b + d > 0:
        return Bound((0.0, 1.0), (0.0, 1.0), 1.0)
    lower = _share(a, d + rest, 1.0), _share(a + rest, d, 1.0)
    upper = _share(b, c + rest, 0.0), _share(b + rest, c, 0.0)
    ends = (lower[0], upper[1])
    return Bound(ends, ends, max(lower[1] - lower[0], upper[1] - upper[0]))


def _share(part: float, other: float, otherwise: float) -> float:
    return part / (part + other) if part + other > 0 else otherwise


def _gap(found: Sequence[Bound]) -> float:
    return max((bound.gap for bound in found), default=0.0)


def _answers(outcomes: Outcomes, found: Sequence[Bound]) -> tuple[Answer, ...]:
    answers = []
    for query, bound in zip(outcomes.queries, found, strict=True):
        answer = Answer(query.text, interval=bound.interval, gap=bound.gap)
        if len(bound.numbers) == 1:
            answers.append(replace(answer, value=bound.numbers[0]))
        else:
            answers.append(replace(answer, lower=bound.numbers[0], upper=bound.numbers[1]))
    return tuple(answers)


def _check(outcomes: Outcomes, probability: Probability, total: Weights) -> None:
    """Raise if a question has no answer, now that every total choice was seen."""
    problems = []
    for query, own in zip(outcomes.queries, outcomes.masses(total), strict=True):
        if not own.consistent > 0:
            raise InconsistentProgram("no total choice has a model: the program is inconsistent")
        if not masses.possible(own, probability) > 0:
            problems.append(masses.impossible_evidence(query.evidence, query.span))
    if problems:
        raise ImpossibleEvidence(problems)
