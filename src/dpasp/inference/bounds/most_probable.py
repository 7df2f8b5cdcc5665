"""The most probable total choices: certain bounds from solving them, and the best of them.

**Bounds.** Total choices are solved in order, beginning with the most probable one; those not seen
yet may satisfy anything (see ``cases``). Under credal no models are counted: clingo only lists
those that differ in the queries, so this works even if nothing can be compiled.

**The best values for** ``#map`` **and** ``#mpe`` **without a circuit.** clingo maximises the
logarithm of the probability. So it finds the most probable total choice that has a model with the
evidence, and a bound on all others; the probability of the evidence is bounded as well. For
``#map``, the values are those of the best model. Their probability is bounded like that of any
query, and no other values can have more than the rest. What clingo finds need not be a model of the
semantics: under lstable, it is any partial stable model, and under smproblog, clingo does not see
the model of a total choice without stable models. So each total choice is checked under the
semantics before it becomes an answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, LimitReached, SizeLimit
from dpasp.ground.program import GroundMap, GroundQuery, Rule
from dpasp.ground.solve import cheapest
from dpasp.inference.answers import Answer, MapAnswer
from dpasp.inference.asked import Approximate, Asked, stopped_early
from dpasp.inference.bounds.cases import Bound, Cases, bounds_of, unsure, widest
from dpasp.inference.circuit import TINY
from dpasp.inference.enumerate import live_groups
from dpasp.inference.exact import as_bounds, compiled
from dpasp.inference.map import VALUES, Best, best_at, map_answer
from dpasp.inference.models import SCALE, Outcomes, total_choice, value_costs
from dpasp.inference.sampling.situations import Groundwork
from dpasp.inference.tuning import BOUNDS
from dpasp.language.ast import Mode
from dpasp.limits import Watch
from dpasp.semantics.leaves import (
    TotalChoice,
    Weights,
    distributions,
    log_probability_of,
    most_probable_first,
)
from dpasp.semantics.masses import Array, Masses, evidence_mass
from dpasp.semantics.translate import Translation

ROUNDING = 2.0**-52  # the error of each mass that is added to others
MODES = (Mode.TRUE, Mode.FALSE, Mode.UNDEFINED)  # in the order of VALUES


def bounded(
    asked: Asked, outcomes: Outcomes, weights: Weights, wanted: float, most: int
) -> Approximate:
    """The answers under weights [leaves], bounded by the most probable total choices.

    The search ends when the gap is as small as ``wanted``, after ``most`` total choices, or at a
    limit. Raises :class:`InconsistentProgram` or :class:`ImpossibleEvidence` if all total choices
    were seen and a query has no answer, and the limit if none was seen at all.
    """
    seen, limit = _seen(outcomes, weights, wanted, most)
    if limit is not None and not seen.count:
        raise limit
    masses, warnings = seen.masses, tuple[Diagnostic, ...]()
    if not seen.left and not np.all(evidence_mass(masses, outcomes.meaning) > TINY):
        return exactly(replace(asked, weights=weights))
    sure = bounds_of(masses, outcomes.meaning, seen.rest)
    if limit is not None:
        warnings = (stopped_early(limit.diagnostics[0].message, widest(sure)),)
    pairs = zip(outcomes.queries, sure, strict=True)
    answers = tuple(bound.answer(query.text) for query, bound in pairs)
    return Approximate(answers, float(masses.inconsistent.max(initial=0.0)), warnings)


def exactly(asked: Asked) -> Approximate:
    """The exact answers, or the error that explains why there are none."""
    exact = as_bounds(compiled(asked))
    answers = tuple(answer for answer in exact.answers if isinstance(answer, Answer))
    return Approximate(answers, exact.inconsistent, exact.warnings)


def opened(asked: Asked, wanted: float, watch: Watch) -> tuple[list[Bound], float]:
    """The bounds from as many total choices as there is time for, the most probable ones first.

    Those with too many models to count stay open. The second result is the mass of the total
    choices that turned out to have no model.
    """
    try:
        outcomes = Outcomes(replace(asked, watch=watch), BOUNDS.models)
    except LimitReached:
        return [unsure(asked.meaning)] * len(asked.queries), 0.0
    seen, _ = _seen(outcomes, asked.weights, wanted)
    bounds = bounds_of(seen.masses, asked.meaning, seen.rest)
    return bounds, float(seen.masses.inconsistent.max(initial=0.0))


def _seen(
    outcomes: Outcomes, weights: Weights, wanted: float, most: float = math.inf
) -> tuple[SeenChoices, LimitReached | None]:
    """Solve total choices up to a gap or a number of them; returns the limit that stopped it."""
    seen, watch = SeenChoices(outcomes, weights), outcomes.watch
    for choice in most_probable_first(weights, outcomes.starts):
        if seen.count >= most:
            break
        log_share = log_probability_of(choice, weights, outcomes.starts)
        try:
            seen.add(log_share, outcomes.of(choice))
        except SizeLimit:
            seen.leave(log_share)
        except LimitReached as limit:
            return seen, limit
        if seen.count <= BOUNDS.look or seen.count % BOUNDS.look == 0:
            gap = widest(bounds_of(seen.masses, outcomes.meaning, seen.rest))
            watch.stage(f"bounds, {gap:.2g} wide")
            watch.report(1.0 - seen.rest, 1.0)
            if gap <= wanted:
                break
    return seen, None


class SeenChoices:
    """The masses of the total choices seen so far, the most probable ones."""

    def __init__(self, outcomes: Outcomes, weights: Weights) -> None:
        self.total = np.zeros((len(Masses.__slots__), len(outcomes.queries)))  # the masses
        by_choice = distributions(weights, outcomes.starts)
        # How many total choices of positive probability have not been seen yet.
        self.left = math.prod(int(np.count_nonzero(part > 0)) for part in by_choice)
        self.count, self.mass = 0, 0.0
        self.rest = 1.0  # an upper bound on the mass of those not seen yet, or not solved
        self.unsolved = 0.0  # the mass of those that were too hard

    def add(self, log_share: float, outcome: Array) -> None:
        """Add the outcome of a total choice."""
        share = math.exp(log_share)
        self.total += share * outcome
        self.count, self.left = self.count + 1, self.left - 1
        self.mass += share
        # Two bounds on the rest: what is missing from 1, up to rounding; and this probability
        # times the number of those left, since none of them is more probable.
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


@dataclass(frozen=True, slots=True)
class _Found:
    """A total choice, and the values of the marked atoms in one of its models."""

    choice: TotalChoice
    values: tuple[int, ...]  # places in VALUES


def best_found(
    asked: Asked, question: GroundMap, watch: Watch, groundwork: Groundwork | None = None
) -> MapAnswer | None:
    """The best values within the time of the watch; None if nothing sure can be said."""
    if asked.has_rows or asked.has_intervals:
        return None
    watch.stage("the best total choice")
    groundwork = groundwork or Groundwork(asked.ground, asked.meaning, watch)
    part = watch.within(BOUNDS.first_try * (watch.remaining() or 0.0))
    found, most = _optimum(asked, question, groundwork.translation, part)
    if not found:
        return None
    timed = replace(asked, watch=watch)
    if question.everything:
        bests = _total_choice(timed, question, found, most, groundwork)
    else:
        bests = _values(timed, question, found, groundwork)
    return map_answer(asked.ground, question, *bests)


def _optimum(
    asked: Asked, question: GroundMap, translation: Translation, watch: Watch
) -> tuple[list[_Found], float]:
    """The most probable total choices with a model of the evidence, the best first.

    The second result bounds the logarithm of the probability of any such total choice.
    """
    ground = asked.ground
    evidence = translation.conjunction(question.evidence)
    costs, extra, free = value_costs(asked, translation.size)
    found: list[_Found] = []
    most = -math.inf
    if evidence is not None:
        rules = (*translation.rules, *extra, *(Rule((), (-literal,)) for literal in evidence))
        selectors = [selector for choice in ground.choices for selector in choice.selectors]
        marked = [a for lit in question.atoms for a in (lit.atom, translation.twins[lit.atom])]
        read = list(dict.fromkeys(atom for atom in (*selectors, *marked) if atom))
        optimum = cheapest(rules, live_groups(ground), costs, read, watch)
        if optimum is not None:
            most = free - optimum.least / SCALE
            last = BOUNDS.tried if translation.least else 1
            for row in optimum.rows[: -last - 1 : -1]:
                truth = dict(zip(read, row.tolist(), strict=True))
                values = (
                    0 if truth.get(atom) else 2 if truth.get(translation.twins[atom]) else 1
                    for _, atom, _ in question.atoms
                )
                found.append(_Found(total_choice(ground, truth), tuple(values)))
    if asked.meaning.holds_without_models(question.evidence):
        # The most probable total choice of all may be one without stable models.
        places = [asked.weights[asked.layout.of(i)] for i in range(len(ground.choices))]
        likeliest = tuple(int(np.argmax(part)) for part in places)
        undefined = (VALUES.index("undef"),) * len(question.atoms)
        found.insert(0 if question.everything else len(found), _Found(likeliest, undefined))
        most = free
    return found, most


def _first_possible(
    asked: Asked, every: Sequence[_Found], query: Callable[[_Found], GroundQuery]
) -> tuple[_Found, Masses]:
    """The best of those found that really has such a model, or else the last one."""
    for found in every:
        outcomes = Outcomes(asked.with_questions([query(found)]))
        outcome = Masses.of(outcomes.of(found.choice)[:, 0])
        if outcome.b > 0:
            break
    return found, outcome


def _total_choice(
    asked: Asked,
    question: GroundMap,
    every: Sequence[_Found],
    log_most: float,
    groundwork: Groundwork,
) -> list[Best]:
    """The total choice that was found, with a lower bound on its probability given the evidence.

    Under credal there are two results: by upper and by lower probability.
    """
    query = GroundQuery((), question.evidence, question.text, question.span)
    found, outcome = _first_possible(asked, every, lambda _: query)
    cases = Cases(asked.with_questions([query]), False, groundwork)
    cases.close_in(BOUNDS.in_passing, asked.watch)
    starts, known = asked.layout.starts, cases.masses
    log = log_probability_of(found.choice, asked.weights, starts)
    log_first = sum(math.log(asked.weights[starts[c] + v]) for c, v in cases.first)
    rest, chance = cases.rest, math.exp(log - log_first)  # relative to the first case
    log_chance = log - log_first
    most = math.exp(min(0.0, log_most - log_first))
    row = np.array([found.choice], dtype=np.int64)

    def best(share: float, mass: float) -> Best:
        least = max(mass, chance * share)
        log = -math.inf
        if share > 0 and mass + rest > 0:
            log = min(0.0, log_chance + math.log(share) - math.log(mass + rest))
        value = math.exp(log)
        return best_at(log, row, max(value, min(1.0, most / least) if least > 0 else 1.0))

    if asked.meaning.maxent:
        return [best(float(outcome.e), float(known.e[0]))]
    # If only some of its models satisfy the evidence, its lower probability is 0.
    sure = float(outcome.a)
    upper = best(sure, float(known.a[0]))
    if not sure and outcome.b > 0:
        mass = float(known.a[0]) + rest
        log = log_chance - float(np.logaddexp(log_chance, math.log(mass) if mass else -math.inf))
        upper = best_at(log, row, upper.most)
    return [upper, best(sure, float(known.b[0]))]


def _values(
    asked: Asked, question: GroundMap, every: Sequence[_Found], groundwork: Groundwork
) -> list[Best]:
    """The values that were found, with lower bounds on their probability given the evidence."""

    def query(found: _Found) -> GroundQuery:
        literals = tuple(
            literal._replace(mode=MODES[value])
            for literal, value in zip(question.atoms, found.values, strict=True)
        )
        return GroundQuery(literals, question.evidence, question.text, question.span)

    found = every[0]
    if len(every) > 1:
        found, _ = _first_possible(asked, every, query)
    cases = Cases(asked.with_questions([query(found)]), False, groundwork)
    cases.close_in(BOUNDS.in_passing, asked.watch)
    row: NDArray[np.int64] = np.array([found.values], dtype=np.int64)
    (bound,) = cases.bounds
    if asked.meaning.maxent:
        low, high = bound.interval
        return [Best(low, row, max(high, 1.0 - low))]
    lower, upper = bound.ends
    return [
        Best(upper[0], row, max(upper[1], 1.0 - lower[0])),
        Best(lower[0], row, max(lower[1], 1.0 - upper[0])),
    ]
