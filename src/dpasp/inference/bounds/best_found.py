"""The most probable values where no circuit fits: the best found, and a bound of all others.

clingo optimises the logarithms of the probabilities: it finds the most probable total choice that
has a model with the evidence, and a bound for all others. The probability of the evidence is
known between bounds (see ``cases``). For ``#map`` the values are those of the best model, and how
probable they are is bounded like any query; no other values can have more than they leave of 1.
What clingo finds may not be a model of the semantics: under lstable it is any partial stable
model, and under smproblog a total choice without stable models has a model that clingo does not
see. So what the total choice says is asked of the semantics before anything is said about it.

>>> from dpasp.inference.asked import ask
>>> from dpasp.language import parse
>>> from dpasp.ground import ground
>>> from dpasp.semantics.meaning import Meaning
>>> from dpasp.limits import UNLIMITED
>>> program = parse("0.3::a. 0.6::b. c :- a. c :- b. #map a?, b? | c.")
>>> asked = ask(ground(program), Meaning())
>>> answer = best_found(asked, asked.questions[0], UNLIMITED)
>>> answer.assignment
{'a': False, 'b': True}
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dpasp.dataclass import dataclass
from dpasp.ground.program import GroundMap, GroundQuery, Rule
from dpasp.ground.solve import cheapest
from dpasp.inference.answers import MapAnswer
from dpasp.inference.asked import Asked
from dpasp.inference.bounds.bounds import close_in
from dpasp.inference.bounds.cases import Cases
from dpasp.inference.bounds.formulas import bounds_of
from dpasp.inference.enumerate import live_groups
from dpasp.inference.map.task import VALUES, Best, best_at, map_answer
from dpasp.inference.outcomes import Outcomes
from dpasp.language.ast import Mode
from dpasp.limits import Watch
from dpasp.semantics.masses import Masses
from dpasp.semantics.total_choices import TotalChoice, log_probability_of
from dpasp.semantics.translate import Translation, translate

SCALE = 1_000_000  # costs are whole numbers: so many for a factor of e
SEARCH = 0.6  # this share of the time is for the optimisation, the rest for bounds
GAP = 0.001  # of the evidence: a smaller one is not worth the time
TRIED = 8  # models, of those that clingo found, that are asked for what they say
MODES = (Mode.TRUE, Mode.FALSE, Mode.UNDEFINED)  # as VALUES


@dataclass(frozen=True, slots=True)
class _Found:
    """A total choice, and the values of the marked atoms in a model of it."""

    choice: TotalChoice
    values: tuple[int, ...]  # places in VALUES


@dataclass(frozen=True, slots=True)
class _Optimum:
    """What was found, the best first.

    No total choice with the evidence has a probability whose logarithm is above ``most``.
    """

    found: tuple[_Found, ...]
    most: float


def best_found(asked: Asked, question: GroundMap, watch: Watch) -> MapAnswer | None:
    """The best values within the time of the watch; None if nothing sure can be said.

    Raises what the watch raises.
    """
    if asked.has_rows or asked.has_intervals:
        return None
    watch.stage("the best total choice")
    optimum = _optimum(asked, question, watch.within(SEARCH * (watch.remaining() or 0.0)))
    if optimum is None:
        return None
    timed = replace(asked, watch=watch)
    bests = (_total_choice if question.everything else _values)(timed, question, optimum)
    return map_answer(asked.ground, question, *bests)


def _optimum(asked: Asked, question: GroundMap, watch: Watch) -> _Optimum | None:
    """The most probable total choice with a model of the evidence; None if none was found."""
    ground = asked.ground
    translation = translate(ground, asked.meaning.logic, watch)
    evidence = translation.conjunction(question.evidence)
    costs, extra, free = _costs(asked, translation.size)
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
            tried = optimum.rows[: -TRIED - 1 : -1] if translation.least else optimum.rows[-1:]
            for row in tried:
                truth = dict(zip(read, row.tolist(), strict=True))
                choice = tuple(
                    next((v for v, s in enumerate(c.selectors) if truth[s]), len(c.selectors))
                    for c in ground.choices
                )
                found.append(_Found(choice, _read(question, truth, translation)))
    if asked.meaning.holds_without_models(question.evidence):
        # The most probable total choice of all may be one without stable models.
        places = [asked.weights[asked.layout.of(i)] for i in range(len(ground.choices))]
        likeliest = tuple(int(np.argmax(part)) for part in places)
        undefined = (VALUES.index("undef"),) * len(question.atoms)
        found.insert(0 if question.everything else len(found), _Found(likeliest, undefined))
        most = free
    return _Optimum(tuple(found), most) if found else None


def _read(question: GroundMap, truth: dict[int, bool], translation: Translation) -> tuple[int, ...]:
    """The values of the marked atoms in a model."""
    values = []
    for literal in question.atoms:
        true = truth.get(literal.atom, False)
        possible = truth.get(translation.twins[literal.atom], False)
        values.append(VALUES.index(True if true else "undef" if possible else False))
    return tuple(values)


def _costs(asked: Asked, size: int) -> tuple[list[tuple[int, int]], list[Rule], float]:
    """Three things: costs of literals, rules, and the logarithm of a probability.

    A value costs as much as it is less probable than the best value of its choice; the rules
    define a literal for the value *nothing*; the probability is that of all best values together.
    Costs are rounded down, so that no total choice is more probable than they say.
    """
    costs, extra, free = [], list[Rule](), 0.0
    for i, choice in enumerate(asked.ground.choices):
        with np.errstate(divide="ignore"):
            logs = np.log(asked.weights[asked.layout.of(i)])
        top = float(logs.max())
        free += top
        for value, log in enumerate(logs.tolist()):
            cost = int((top - log) * SCALE) if log > -math.inf else 0  # impossible: not offered
            if not cost:
                continue
            literal = choice.selectors[value] if value < len(choice.selectors) else 0
            if not literal and len(choice.selectors) == 1:
                literal = -choice.selectors[0]
            elif not literal:
                literal = size + len(extra)
                extra.append(Rule((literal,), tuple(-s for s in choice.selectors)))
            costs.append((literal, cost))
    return costs, extra, free


def _first_possible(
    asked: Asked, optimum: _Optimum, query: Callable[[_Found], GroundQuery]
) -> tuple[_Found, Masses]:
    """The best of what was found that some model of its total choice has, and what that says.

    The last one that was tried, where none has.
    """
    for found in optimum.found:
        outcomes = Outcomes(asked.with_questions([query(found)]))
        outcome = Masses.of(outcomes.of(found.choice)[:, 0])
        if outcome.b > 0:
            break
    return found, outcome


def _total_choice(asked: Asked, question: GroundMap, optimum: _Optimum) -> list[Best]:
    """The total choice that was found, with a lower bound of its probability given the evidence.

    Under credal there are two: by upper and by lower probability.
    """
    query = GroundQuery((), question.evidence, question.text, question.span)
    found, outcome = _first_possible(asked, optimum, lambda _: query)
    cases = Cases(asked, [query], asked.weights, whole=False)
    close_in(cases, GAP, asked.watch)
    starts, known = asked.layout.starts, cases.masses
    log = log_probability_of(found.choice, asked.weights, starts)
    log_first = sum(math.log(asked.weights[starts[c] + v]) for c, v in cases.first)
    rest, chance = cases.rest, math.exp(log - log_first)  # relative to the first case
    log_chance = log - log_first
    most = math.exp(min(0.0, optimum.most - log_first))
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


def _values(asked: Asked, question: GroundMap, optimum: _Optimum) -> list[Best]:
    """The values that were found, with lower bounds of their probability given the evidence."""

    def query(found: _Found) -> GroundQuery:
        literals = tuple(
            literal._replace(mode=MODES[value])
            for literal, value in zip(question.atoms, found.values, strict=True)
        )
        return GroundQuery(literals, question.evidence, question.text, question.span)

    found = optimum.found[0]
    if len(optimum.found) > 1:
        found, _ = _first_possible(asked, optimum, query)
    cases = Cases(asked, [query(found)], asked.weights, whole=False)
    close_in(cases, GAP, asked.watch)
    row: NDArray[np.int64] = np.array([found.values], dtype=np.int64)
    (bound,) = bounds_of(cases.masses, asked.meaning, cases.rest)
    if asked.meaning.maxent:
        low, high = bound.interval
        return [Best(low, row, max(high, 1.0 - low))]
    lower, upper = bound.ends
    return [
        Best(upper[0], row, max(upper[1], 1.0 - lower[0])),
        Best(lower[0], row, max(lower[1], 1.0 - upper[0])),
    ]
