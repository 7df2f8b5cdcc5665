"""Sure bounds from the most probable total choices.

Total choices are solved from the most probable one on. Those not yet seen have mass r
and may satisfy anything, so that surely

    a / (a + d + r) ≤ lower ≤ (a + r) / (a + r + d)      and the same for upper with b, c
    qe / (e + r)    ≤ value ≤ (qe + r) / (e + r)         under maxent

The gap is the largest distance between two such ends.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpasp.errors import ImpossibleEvidence, InconsistentProgram, LimitReached
from dpasp.inference.answers import Answer
from dpasp.inference.asked import Asked
from dpasp.inference.engines.outcomes import Outcomes, check_intervals, check_maps
from dpasp.inference.engines.result import Approximate, EngineResult, row_by_row, stopped_early
from dpasp.inference.engines.tiny import TINY, enlarged
from dpasp.inference.method import Method
from dpasp.semantics import masses
from dpasp.semantics.leaves import LeafLayout, Weights
from dpasp.semantics.masses import Array, Masses
from dpasp.semantics.total_choices import (
    distributions,
    log_probability_of,
    most_probable_first,
)

GAP = 0.01
ROUNDING = 2.0**-52  # of each mass that is added to others
EACH = 64  # total choices between two looks at the gap, later on


@dataclass(frozen=True, slots=True)
class Bound:
    """What is sure about an answer: its numbers, an interval that holds it, and the gap."""

    numbers: tuple[float, ...]
    interval: tuple[float, float]
    gap: float


def bounds(asked: Asked) -> EngineResult:
    """Sure bounds of the answers; the options are ``gap`` and ``nmodels``."""
    check_maps(asked.ground, "the engine bounds")
    check_intervals(asked.ground, "the engine bounds")
    outcomes = Outcomes(asked)
    found = row_by_row(asked, "at least ", lambda row: _bounded(outcomes, row, asked.method))
    return replace(found, statistics={"total_choices": len(outcomes)})


def _bounded(outcomes: Outcomes, weights: Weights, method: Method) -> Approximate:
    """The answers under weights [leaves], when the gap is small enough or a limit is reached."""
    gap, most = method.real("gap"), method.whole("nmodels")
    wanted = GAP if gap is None else gap
    seen, stopped = Seen.nothing(outcomes, weights), ""
    found = _bounds(outcomes, seen.masses, seen.rest)
    for choice in most_probable_first(weights, outcomes.starts):
        if most is not None and seen.count >= most:
            break
        try:
            outcome = outcomes.of(choice)
        except LimitReached as limit:
            if not seen.count:
                raise
            stopped = limit.diagnostics[0].message
            break
        seen.add(log_probability_of(choice, weights, outcomes.starts), outcome)
        if seen.count <= EACH or seen.count % EACH == 0:
            found = _bounds(outcomes, seen.masses, seen.rest)
            outcomes.watch.report(1.0 - seen.rest, 1.0)
            if _gap(found) <= wanted:
                break
    own = seen.masses
    if not seen.left:
        own = seen.enlarged(outcomes, weights)
        _check(outcomes, own)
    found = _bounds(outcomes, own, seen.rest)
    warnings = (stopped_early(stopped, _gap(found)),) if stopped else ()
    return Approximate(
        _answers(outcomes, found), float(own.inconsistent.max(initial=0.0)), warnings
    )


@dataclass(slots=True)
class Seen:
    """What the total choices said that were seen so far, from the most probable one on."""

    total: Array  # the masses [9, queries]
    logs: Array  # their logarithms, for when all that there is to see is tiny
    left: int  # how many of positive probability were not seen yet
    count: int = 0
    mass: float = 0.0
    rest: float = 1.0  # what those not seen yet can have together, never less than they have

    @classmethod
    def nothing(cls, outcomes: Outcomes, weights: Weights) -> Seen:
        """What is known at the start."""
        shape = (len(Masses.__slots__), len(outcomes.queries))
        own = distributions(weights, outcomes.starts)
        left = math.prod(int(np.count_nonzero(part > 0)) for part in own)
        return cls(np.zeros(shape), np.full(shape, -np.inf), left)

    def add(self, log_share: float, outcome: Array) -> None:
        """Add what a total choice says."""
        share = math.exp(log_share)
        self.total += share * outcome
        with np.errstate(divide="ignore"):
            self.logs = np.logaddexp(self.logs, log_share + np.log(outcome))
        self.count, self.left = self.count + 1, self.left - 1
        self.mass += share
        # What is missing to 1 is known up to rounding. None of the others is more probable
        # than this one, which says more where what is missing is less than rounding.
        missing = max(0.0, 1.0 - self.mass) + ROUNDING * self.count
        sure = 0.0
        if self.left:
            sure = max(math.exp(min(log_share + math.log(self.left), 0.0)), TINY)
        self.rest = min(self.rest, missing, sure)

    @property
    def masses(self) -> Masses:
        """The masses [queries]."""
        return Masses.of(self.total)

    def enlarged(self, outcomes: Outcomes, weights: Weights) -> Masses:
        """The masses [queries], where they are tiny others in their place with the same ratios."""
        plain, logs = (Masses.of(own[..., np.newaxis]) for own in (self.total, self.logs))
        places = LeafLayout(tuple(outcomes.starts))
        return enlarged(plain, weights[:, np.newaxis], places, lambda _: logs)[:, 0]


def _bounds(outcomes: Outcomes, total: Masses, rest: float) -> list[Bound]:
    one = _maxent if outcomes.meaning.maxent else _credal
    return [one(total[i], rest) for i in range(len(outcomes.queries))]


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


def _check(outcomes: Outcomes, total: Masses) -> None:
    """Raise if a query has no answer, now that every total choice was seen."""
    problems = []
    for i, query in enumerate(outcomes.queries):
        if not total.consistent[i] > 0:
            raise InconsistentProgram("no total choice has a model: the program is inconsistent")
        if not masses.possible(total[i], outcomes.meaning) > 0:
            problems.append(masses.impossible_evidence(query.evidence, query.span))
    if problems:
        raise ImpossibleEvidence(problems)
