"""Sure bounds from the most probable total choices.

Total choices are solved from the most probable one on. Those not yet seen have mass r
and may satisfy anything, so that surely

    a / (a + d + r) ≤ lower ≤ (a + r) / (a + r + d)      and the same for upper with b, c
    qe / (e + r)    ≤ value ≤ (qe + r) / (e + r)         under maxent

The gap is the largest distance between two such ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpasp.errors import ImpossibleEvidence, InconsistentProgram, LimitReached
from dpasp.inference.answers import Answer
from dpasp.inference.asked import Asked
from dpasp.inference.engines.found import Approximate, Found, row_by_row, stopped_early
from dpasp.inference.engines.outcomes import Outcomes, check_questions
from dpasp.inference.method import Method
from dpasp.semantics import masses
from dpasp.semantics.leaves import Weights
from dpasp.semantics.masses import Masses
from dpasp.semantics.total_choices import most_probable_first, probability_of

GAP = 0.01
ROUNDING = 1e-15  # a smaller mass not yet seen is rounding
EACH = 64  # total choices between two looks at the gap, later on


@dataclass(frozen=True, slots=True)
class Bound:
    """What is sure about an answer: its numbers, an interval that holds it, and the gap."""

    numbers: tuple[float, ...]
    interval: tuple[float, float]
    gap: float


def bounds(asked: Asked) -> Found:
    """Sure bounds of the answers; the options are ``gap`` and ``nmodels``."""
    check_questions(asked.ground, "the engine bounds")
    outcomes = Outcomes(asked)
    found = row_by_row(asked, "at least ", lambda row: _bounded(outcomes, row, asked.method))
    return replace(found, statistics={"total_choices": len(outcomes)})


def _bounded(outcomes: Outcomes, weights: Weights, method: Method) -> Approximate:
    """The answers under weights [leaves], when the gap is small enough or a limit is reached."""
    gap, most = method.real("gap"), method.whole("nmodels")
    wanted = GAP if gap is None else gap
    total = np.zeros((len(Masses.__slots__), len(outcomes.queries)))
    seen, rest, stopped = 0, 1.0, ""
    found = _bounds(outcomes, Masses.of(total), rest)
    for choice in most_probable_first(weights, outcomes.starts):
        if most is not None and seen >= most:
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
            found = _bounds(outcomes, Masses.of(total), rest)
            outcomes.watch.report(1.0 - rest, 1.0)
            if _gap(found) <= wanted:
                break
    else:  # all total choices were seen
        rest = 0.0
        _check(outcomes, Masses.of(total))
    own = Masses.of(total)
    found = _bounds(outcomes, own, rest if rest > ROUNDING else 0.0)
    warnings = (stopped_early(stopped, _gap(found)),) if stopped else ()
    return Approximate(
        _answers(outcomes, found), float(own.inconsistent.max(initial=0.0)), warnings
    )


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
