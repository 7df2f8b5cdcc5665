"""The most probable values on a circuit: no enumeration of total choices.

``#mpe`` is a maximum in place of every sum. ``#map`` over atoms that the choices
determine is a best-first search: the atoms get leaves of their own, and a maximum in
place of the sums over these leaves bounds all that completes a partial assignment.
"""

from __future__ import annotations

from itertools import islice

import numpy as np

from dpasp import circuits
from dpasp.errors import InferenceError
from dpasp.inference.answers import MapAnswer
from dpasp.inference.best import VALUES, Best, map_answer
from dpasp.inference.layers import QE, Arrays, Layers, layers_below
from dpasp.inference.map_search import MOST_TIES, Mark, Search
from dpasp.inference.maxproduct import MaxProduct, max_product
from dpasp.language.ast import Logic, Probability
from dpasp.limits import Watch
from dpasp.logic.program import GroundMap, GroundProgram, Interval
from dpasp.semantics.leaves import Weights, layout
from dpasp.semantics.masses import Masses, all_undefined
from dpasp.semantics.translate import translate


def most_probable_by_circuit(
    ground: GroundProgram,
    question: GroundMap,
    logic: Logic,
    probability: Probability,
    weights: Weights,
    watch: Watch,
) -> MapAnswer | None:
    """The answer to ``#map`` or ``#mpe``; None where a circuit cannot tell."""
    if weights.ndim > 1 or any(isinstance(c.weight, Interval) for c in ground.choices):
        return None
    twins = translate(ground, logic, watch).twins
    atoms = dict.fromkeys(literal.atom for literal in question.atoms if literal.atom)
    marks = [Mark(atom, twins[atom]) for atom in atoms]
    observed = [atom for mark in marks for atom in mark.observed]
    try:
        circuit = circuits.compile(
            ground, logic, probability, questions=(question,), observed=observed, watch=watch
        )
    except InferenceError:  # a head cycle, or atoms that the choices do not determine
        return None
    total = Masses.of(circuit.masses(np.append(weights, np.ones(2 * len(observed))))[0])
    if logic is Logic.SMPROBLOG and all_undefined(question.evidence) and total.inconsistent > 0:
        return None
    arrays = circuit.arrays()
    below = layers_below(arrays, int(arrays["roots"].tolist()[0]))
    maxent = probability is Probability.MAXENT
    if question.everything:
        best = _total_choices(ground, below, arrays, weights, total, maxent)
        return map_answer(ground, question, *best)
    search = Search(below, arrays, weights, marks, total, watch)
    found = [search.run("value" if maxent else "upper")]
    if not maxent:  # models that never disagree leave no room between the bounds
        found.append(found[0] if circuit.definite else search.run("lower"))
    return map_answer(ground, question, *(_by_literal(one, question, list(atoms)) for one in found))


def _by_literal(best: Best, question: GroundMap, atoms: list[int]) -> Best:
    """The assignments by the literals of the question; an atom that cannot occur is false."""
    values = np.full((len(best.assignments), len(question.atoms)), VALUES.index(False))
    for column, literal in enumerate(question.atoms):
        if literal.atom:
            values[:, column] = best.assignments[:, atoms.index(literal.atom)]
    return Best(best.value, values)


def _total_choices(
    ground: GroundProgram,
    below: Layers,
    arrays: Arrays,
    weights: Weights,
    total: Masses,
    maxent: bool,
) -> tuple[Best] | tuple[Best, Best]:
    """The best total choices: by probability, or by upper and by lower probability.

    Given that every model of θ satisfies the evidence, P(θ | e) is P(θ) divided by what
    may satisfy it at most and at least; if only some do, the bounds are 0 and
    P(θ) / (P(θ) + what certainly satisfies it).
    """
    leaves, kinds = layout(ground.choices), arrays["kinds"].astype(np.int64)

    def maximum(values: Weights) -> MaxProduct:
        return max_product(below, values, leaves, weights)

    if maxent:
        found = maximum(arrays["qe"].astype(np.float64))
        return (_best(found.value / float(total.e), [found]),)
    every, some = maximum((kinds == QE) * 1.0), maximum((kinds & QE != 0) * 1.0)
    certain, possible = float(total.a), float(total.b)
    if certain == 0:
        alone = len(list(islice(some.choices(every=True), 2))) == 1
        everything = _best(1.0, [some], every=True)
        return everything, Best(1.0 if alone else 0.0, everything.assignments)
    sure, maybe = every.value / certain, 0.0
    if some.value > every.value:  # those are not among the sure ones
        maybe = some.value / (some.value + certain)
    winners = [one for one, value in ((every, sure), (some, maybe)) if value == max(sure, maybe)]
    return _best(max(sure, maybe), winners), _best(every.value / possible, [every])


def _best(value: float, found: list[MaxProduct], every: bool = False) -> Best:
    """The total choices of some maxima, in order."""
    rows = sorted({row for one in found for row in islice(one.choices(every), MOST_TIES)})
    return Best(value, np.array(rows, dtype=np.int64).reshape(len(rows), -1))
