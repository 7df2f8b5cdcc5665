"""The most probable values on a circuit: no enumeration of total choices.

``#mpe`` is a maximum in place of every sum. ``#map`` is a best-first search: atoms that
the choices determine get leaves of their own, and a maximum in place of the sums over
these leaves bounds all that completes a partial assignment; for others, and with credal
choices, partial assignments are asked for as queries.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dpasp.errors import InferenceError, SizeLimit
from dpasp.inference.answers import MapAnswer
from dpasp.inference.engines.circuit import on_circuit
from dpasp.inference.probable.best import VALUES, Best, map_answer
from dpasp.inference.probable.by_queries import Queries
from dpasp.inference.probable.credal import credal_total_choices
from dpasp.inference.probable.question import MapQuestion
from dpasp.inference.probable.search import Mark, Marked
from dpasp.inference.probable.total_choices import best_total_choices, part_of
from dpasp.logic.program import GroundMap
from dpasp.semantics.translate import translate


def most_probable_by_circuit(own: MapQuestion) -> tuple[MapAnswer, str] | None:
    """The answer to ``#map`` or ``#mpe`` and how it was found; None where a circuit cannot tell."""
    ground, question = own.ground, own.question
    intervals = own.asked.has_intervals
    if question.everything:
        best = credal_total_choices(own) if intervals else best_total_choices(own, part_of(own))
        return best and (map_answer(ground, question, *best), "maximum")
    if own.evaluator.enumeration is not None:
        return None  # what is enumerated already tells at once
    simple = not (intervals or own.undefined() or own.tiny())
    found = _by_leaves(own) if simple else None
    if found is not None:
        return map_answer(ground, question, *found), "leaves"
    return map_answer(ground, question, *Queries(own).run()), "queries"


def _by_leaves(own: MapQuestion) -> list[Best] | None:
    """The best values of atoms that the choices determine; None if they do not."""
    ground, question, meaning, watch = own.ground, own.question, own.meaning, own.watch
    twins = translate(ground, meaning.logic, watch).twins
    atoms = dict.fromkeys(literal.atom for literal in question.atoms if literal.atom)
    marks = [Mark(atom, twins[atom]) for atom in atoms]
    observed = [atom for mark in marks for atom in mark.observed]
    alone = replace(ground, questions=(question,))
    try:
        circuit = on_circuit(alone, meaning, observed=observed, watch=watch).circuit
    except (InferenceError, SizeLimit):
        return None
    search = Marked(circuit, own.weights, marks, own.evidence_masses(), watch)
    found = [search.run("value" if meaning.maxent else "upper")]
    if not meaning.maxent:  # models that never disagree leave no room between the bounds
        found.append(found[0] if circuit.definite else search.run("lower"))
    return [_by_literal(one, question, list(atoms)) for one in found]


def _by_literal(best: Best, question: GroundMap, atoms: list[int]) -> Best:
    """The assignments by the literals of the question; an atom that cannot occur is false."""
    values = np.full((len(best.assignments), len(question.atoms)), VALUES.index(False))
    for column, literal in enumerate(question.atoms):
        if literal.atom:
            values[:, column] = best.assignments[:, atoms.index(literal.atom)]
    return Best(best.value, values)
