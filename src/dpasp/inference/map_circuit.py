"""The most probable values on a circuit: no enumeration of total choices.

``#mpe`` is a maximum in place of every sum. ``#map`` is a best-first search: atoms that
the choices determine get leaves of their own, and a maximum in place of the sums over
these leaves bounds all that completes a partial assignment; for others, and with credal
choices, partial assignments are asked for as queries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

import numpy as np

from dpasp.errors import InferenceError, SizeLimit
from dpasp.inference.answers import MapAnswer
from dpasp.inference.best import CLOSE, VALUES, Best, map_answer
from dpasp.inference.bounds import most_probable_first
from dpasp.inference.engines import OnCircuit, on_circuit
from dpasp.inference.layers import QE, layers_below
from dpasp.inference.map_queries import Queries
from dpasp.inference.map_search import MOST_TIES, Mark, Marked
from dpasp.inference.maxproduct import MaxProduct, Values, max_product
from dpasp.inference.outcomes import probability_of
from dpasp.language.ast import Logic, Probability
from dpasp.limits import Watch
from dpasp.logic.program import GroundMap, GroundProgram, Interval
from dpasp.semantics import masses
from dpasp.semantics.leaves import Weights, layout
from dpasp.semantics.masses import Masses, all_undefined
from dpasp.semantics.translate import translate

BATCH = 256  # total choices that are looked at together


@dataclass(frozen=True, slots=True)
class Asked:
    """A ``#map`` or ``#mpe``, what it means, and the circuit of the program's questions."""

    ground: GroundProgram
    place: int  # of the question
    logic: Logic
    probability: Probability
    evaluator: OnCircuit
    weights: Weights  # [leaves]
    watch: Watch

    @property
    def question(self) -> GroundMap:
        """The question."""
        question = self.ground.questions[self.place]
        assert isinstance(question, GroundMap)
        return question

    def total(self) -> Masses:
        """The masses of the evidence."""
        own = Masses.of(self.evaluator.masses(self.weights[:, np.newaxis])[self.place, :, 0])
        return masses.prepare(own, self.logic, (), self.question.evidence)

    def undefined(self) -> bool:
        """Whether some total choice without models satisfies the evidence, as under smproblog."""
        if self.logic is not Logic.SMPROBLOG or not all_undefined(self.question.evidence):
            return False
        return bool(self.evaluator.masses(self.weights[:, np.newaxis])[self.place, -1, 0] > 0)


def most_probable_by_circuit(asked: Asked) -> tuple[MapAnswer, str] | None:
    """The answer to ``#map`` or ``#mpe`` and how it was found; None where a circuit cannot tell."""
    ground, question = asked.ground, asked.question
    credal = any(isinstance(choice.weight, Interval) for choice in ground.choices)
    if question.everything:
        if credal:
            return None
        return map_answer(ground, question, *_total_choices(asked)), "maximum"
    if asked.evaluator.enumeration is not None:
        return None  # what is enumerated already tells at once
    found = None if credal or asked.undefined() else _by_leaves(asked)
    if found is not None:
        return map_answer(ground, question, *found), "leaves"
    meaning = (asked.logic, asked.probability)
    queries = Queries(ground, question, *meaning, asked.weights, asked.watch)
    return map_answer(ground, question, *queries.run()), "queries"


# --- #map ---------------------------------------------------------------------------------------


def _by_leaves(asked: Asked) -> list[Best] | None:
    """The best values of atoms that the choices determine; None if they do not."""
    ground, question, logic, watch = asked.ground, asked.question, asked.logic, asked.watch
    twins = translate(ground, logic, watch).twins
    atoms = dict.fromkeys(literal.atom for literal in question.atoms if literal.atom)
    marks = [Mark(atom, twins[atom]) for atom in atoms]
    observed = [atom for mark in marks for atom in mark.observed]
    try:
        circuit = on_circuit(
            ground,
            logic,
            asked.probability,
            questions=(question,),
            observed=observed,
            watch=watch,
        ).circuit
    except (InferenceError, SizeLimit):
        return None
    arrays = circuit.arrays()
    below = layers_below(arrays, int(arrays["roots"].tolist()[0]))
    search = Marked(below, arrays, asked.weights, marks, asked.total(), watch)
    maxent = asked.probability is Probability.MAXENT
    found = [search.run("value" if maxent else "upper")]
    if not maxent:  # models that never disagree leave no room between the bounds
        found.append(found[0] if circuit.definite else search.run("lower"))
    return [_by_literal(one, question, list(atoms)) for one in found]


def _by_literal(best: Best, question: GroundMap, atoms: list[int]) -> Best:
    """The assignments by the literals of the question; an atom that cannot occur is false."""
    values = np.full((len(best.assignments), len(question.atoms)), VALUES.index(False))
    for column, literal in enumerate(question.atoms):
        if literal.atom:
            values[:, column] = best.assignments[:, atoms.index(literal.atom)]
    return Best(best.value, values)


# --- #mpe ---------------------------------------------------------------------------------------


class Source(Protocol):
    """The total choices of some kind that have the largest value."""

    @property
    def value(self) -> float:
        """That value."""

    def choices(self, every: bool = False) -> Iterator[Values]:
        """The total choices that have it, or all of the kind."""


@dataclass(frozen=True, slots=True)
class Listed:
    """Total choices that were looked for one by one."""

    value: float
    rows: tuple[Values, ...]

    def choices(self, every: bool = False) -> Iterator[Values]:
        """The total choices."""
        return iter(self.rows)


def _total_choices(asked: Asked) -> tuple[Best] | tuple[Best, Best]:
    """The best total choices: by probability, or by upper and by lower probability.

    Given that every model of θ satisfies the evidence, P(θ | e) is P(θ) divided by what
    may satisfy it at most and at least; if only some do, the bounds are 0 and
    P(θ) / (P(θ) + what certainly satisfies it).
    """
    arrays = asked.evaluator.circuit.arrays()
    below = layers_below(arrays, int(arrays["roots"].tolist()[asked.place]))
    leaves, kinds = layout(asked.ground.choices), arrays["kinds"].astype(np.int64)
    total = asked.total()

    def maximum(values: Weights) -> MaxProduct:
        return max_product(below, values, leaves, asked.weights)

    if asked.probability is Probability.MAXENT:
        found = maximum(arrays["qe"].astype(np.float64))
        sources = [found, *_undefined(asked, found.value)]
        most = max(source.value for source in sources)
        return (_best(most / float(total.e), _winners(sources, most)),)
    some, every = maximum((kinds & QE != 0) * 1.0), maximum((kinds == QE) * 1.0)
    certain, possible = float(total.a), float(total.b)
    if certain == 0:
        alone = len(list(islice(some.choices(every=True), 2))) == 1
        everything = _best(1.0, [some], every=True)
        return everything, Best(1.0 if alone else 0.0, everything.assignments)
    surest = [every, *_undefined(asked, every.value)]
    most = max(source.value for source in surest)
    sure, maybe = most / certain, 0.0
    if some.value > most:  # those are not among the sure ones
        maybe = some.value / (some.value + certain)
    winners = _winners(surest, most) if sure >= maybe else []
    winners += [some] if maybe >= sure else []
    return _best(max(sure, maybe), winners), _best(most / possible, _winners(surest, most))


def _winners(sources: Sequence[Source], most: float) -> list[Source]:
    return [source for source in sources if source.value >= most * (1 - CLOSE)]


def _best(value: float, found: Sequence[Source], every: bool = False) -> Best:
    """The total choices of some sources, in order."""
    rows = sorted({row for one in found for row in islice(one.choices(every), MOST_TIES)})
    return Best(value, np.array(rows, dtype=np.int64).reshape(len(rows), -1))


def _undefined(asked: Asked, enough: float) -> list[Source]:
    """Under smproblog, the most probable total choices without models.

    All atoms are undefined then, as the evidence may ask for. They are looked for from
    the most probable total choice on, and of no interest below ``enough``.
    """
    if not asked.undefined():
        return []
    starts = layout(asked.ground.choices).starts
    stream = most_probable_first(asked.weights, starts)
    best, rows = 0.0, list[Values]()
    while some := list(islice(stream, BATCH)):
        asked.watch.check()
        single = np.zeros((starts[-1], len(some)))
        for column, choice in enumerate(some):
            single[np.add(starts[:-1], choice), column] = 1.0
        models = asked.evaluator.circuit.masses(single, fields=("consistent",))[asked.place, 0]
        for choice, count in zip(some, models.tolist(), strict=True):
            chance = probability_of(choice, asked.weights, starts)
            if chance < max(best, enough) * (1 - CLOSE) or len(rows) >= MOST_TIES:
                return [Listed(best, tuple(rows))] if rows else []
            if count == 0:
                best = max(best, chance)
                rows.append(choice)
    return [Listed(best, tuple(rows))] if rows else []
