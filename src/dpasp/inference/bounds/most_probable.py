"""Sure bounds from the most probable total choices, which are solved one by one.

Those not yet seen may satisfy anything (see ``formulas``). Under credal that needs no count of
models: clingo finds those that differ in what is asked, so that it goes where nothing compiles.

>>> from dpasp.inference.asked import ask
>>> from dpasp.language import parse
>>> from dpasp.ground import ground
>>> from dpasp.semantics.meaning import Meaning
>>> asked = ask(ground(parse("0.3::a. 0.5::b. c :- a. c :- b. #query a | c.")), Meaning())
>>> from dpasp.inference.outcomes import Outcomes
>>> result = bounded(Outcomes(asked), asked.weights, wanted=0.0, most=2)
>>> [round(end, 3) for end in result.answers[0].interval]      # two of four total choices were seen
[0.0, 0.462]
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dpasp.dataclass import dataclass
from dpasp.errors import (
    ImpossibleEvidence,
    InconsistentProgram,
    LimitReached,
    MemoryLimit,
    SizeLimit,
    TimeLimit,
)
from dpasp.inference.asked import Asked
from dpasp.inference.bounds.formulas import Bound, bounds_of, unsure, widest
from dpasp.inference.outcomes import Outcomes
from dpasp.inference.result import Approximate, stopped_early
from dpasp.inference.tiny import TINY, enlarged
from dpasp.limits import Watch
from dpasp.semantics import masses
from dpasp.semantics.leaves import LeafLayout, Weights
from dpasp.semantics.masses import Array, Masses
from dpasp.semantics.total_choices import (
    distributions,
    log_probability_of,
    most_probable_first,
)

ROUNDING = 2.0**-52  # the error of each mass that is added to others
MODELS = 10_000  # of a total choice: one with more is left open
EACH = 64  # the gap is looked at after each of so many total choices, then after every so many


def bounded(outcomes: Outcomes, weights: Weights, wanted: float, most: int) -> Approximate:
    """The answers under weights [leaves] after the most probable total choices.

    It ends when the gap is as small as ``wanted``, after ``most`` total choices, or at a limit.
    Raises :class:`InconsistentProgram` or :class:`ImpossibleEvidence` if all total choices were
    seen and a query has no answer, and the limit if none was seen at all.
    """
    seen, stopped = SeenChoices.nothing(outcomes, weights), ""
    for choice in most_probable_first(weights, outcomes.starts):
        if seen.count >= most:
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
            outcomes.watch.report(1.0 - seen.rest, 1.0)
            if widest(bounds_of(seen.masses, outcomes.meaning, seen.rest)) <= wanted:
                break
    masses = seen.masses
    if not seen.left:
        masses = seen.enlarged(outcomes, weights)
        _check(outcomes, masses)
    sure = bounds_of(masses, outcomes.meaning, seen.rest)
    warnings = (stopped_early(stopped, widest(sure)),) if stopped else ()
    answers = tuple(
        bound.answer(query.text) for query, bound in zip(outcomes.queries, sure, strict=True)
    )
    return Approximate(answers, float(masses.inconsistent.max(initial=0.0)), warnings)


@dataclass(frozen=True, slots=True)
class Opened:
    """What is sure of queries by the total choices that were solved.

    With it, the mass of those that have no model.
    """

    bounds: list[Bound]
    inconsistent: float = 0.0

    def joined(self, others: Sequence[Bound]) -> list[Bound]:
        """What follows from these and other bounds of the same queries."""
        return [one.joined(other) for one, other in zip(others, self.bounds, strict=True)]


def opened(asked: Asked, weights: Weights, wanted: float, watch: Watch) -> Opened:
    """What is sure by the most probable total choices that there is time for.

    Those whose models are too many to count stay open.
    """
    try:
        outcomes = Outcomes(replace(asked, watch=watch), MODELS)
    except LimitReached:
        return Opened([unsure(asked.meaning)] * len(asked.queries))
    seen = SeenChoices.nothing(outcomes, weights)
    for choice in most_probable_first(weights, outcomes.starts):
        log_share = log_probability_of(choice, weights, outcomes.starts)
        try:
            seen.add(log_share, outcomes.of(choice))
        except SizeLimit:
            seen.leave(log_share)
        except (TimeLimit, MemoryLimit):
            break
        if seen.count <= EACH or seen.count % EACH == 0:
            gap = widest(bounds_of(seen.masses, asked.meaning, seen.rest))
            watch.stage(f"bounds, {gap:.2g} wide")
            if gap <= wanted:
                break
    bounds = bounds_of(seen.masses, asked.meaning, seen.rest)
    return Opened(bounds, float(seen.masses.inconsistent.max(initial=0.0)))


@dataclass(slots=True)
class SeenChoices:
    """What the total choices said that were seen so far, from the most probable one on."""

    total: Array  # the masses [9, queries]
    logs: Array  # their logarithms, for when all that there is to see is tiny
    left: int  # how many of positive probability were not seen yet
    count: int = 0
    mass: float = 0.0
    rest: float = 1.0  # a bound of what those not seen yet, or not solved, have together
    unsolved: float = 0.0  # the mass of those that were too hard

    @classmethod
    def nothing(cls, outcomes: Outcomes, weights: Weights) -> SeenChoices:
        """The value before any total choice is seen."""
        shape = (len(Masses.__slots__), len(outcomes.queries))
        by_choice = distributions(weights, outcomes.starts)
        left = math.prod(int(np.count_nonzero(part > 0)) for part in by_choice)
        return cls(np.zeros(shape), np.full(shape, -np.inf), left)

    def add(self, log_share: float, outcome: Array) -> None:
        """Add what a total choice says."""
        share = math.exp(log_share)
        self.total += share * outcome
        with np.errstate(divide="ignore"):
            self.logs = np.logaddexp(self.logs, log_share + np.log(outcome))
        self.count, self.left = self.count + 1, self.left - 1
        self.mass += share
        # Two bounds of the rest: what is missing to 1, up to rounding; and as many times this
        # probability as are left, since none of them is more probable than this one.
        missing = max(0.0, 1.0 - self.mass) + ROUNDING * self.count
        sure = 0.0
        if self.left:
            sure = max(math.exp(min(log_share + math.log(self.left), 0.0)), TINY)
        self.rest = min(self.rest, missing, sure + self.unsolved)

    def leave(self, log_share: float) -> None:
        """Leave out a total choice that is too hard: it may satisfy anything."""
        self.left -= 1
        self.unsolved += math.exp(log_share)

    @property
    def masses(self) -> Masses:
        """The masses [queries]."""
        return Masses.of(self.total)

    def enlarged(self, outcomes: Outcomes, weights: Weights) -> Masses:
        """The masses [queries]; in place of tiny ones, larger ones with the same ratios."""
        plain, logs = (Masses.of(masses[..., np.newaxis]) for masses in (self.total, self.logs))
        places = LeafLayout(tuple(outcomes.starts))
        return enlarged(plain, weights[:, np.newaxis], places, lambda _: logs)[:, 0]


def _check(outcomes: Outcomes, total: Masses) -> None:
    """Raise if a query has no answer, now that every total choice was seen."""
    problems = []
    for i, query in enumerate(outcomes.queries):
        if not total.consistent[i] > 0:
            raise InconsistentProgram("no total choice has a model: the program is inconsistent")
        if not masses.evidence_mass(total[i], outcomes.meaning) > 0:
            problems.append(masses.impossible_evidence(query.evidence, query.span))
    if problems:
        raise ImpossibleEvidence(problems)
