"""The most probable values on a circuit: no enumeration of total choices.

``#mpe`` is a maximum in place of every sum. ``#map`` is a best-first search: atoms that
the choices determine get leaves of their own, and a maximum in place of the sums over
these leaves bounds all that completes a partial assignment; for others, and with credal
choices, partial assignments are asked for as queries.

>>> from dpasp.inference.asked import ask
>>> from dpasp.language import parse
>>> from dpasp.ground import ground
>>> from dpasp.semantics.meaning import Meaning
>>> from dpasp.inference.circuit import on_circuit
>>> asked = ask(ground(parse("0.3::a. 0.6::b. #mpe.")), Meaning())
>>> task = MapTask(asked, 0, on_circuit(asked.ground, asked.meaning))
>>> answer, how = most_probable_by_circuit(task)
>>> answer.assignment, how
({'a': False, 'b': True}, 'maximum')
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dpasp.errors import InferenceError, SizeLimit
from dpasp.ground.program import GroundMap
from dpasp.inference.answers import MapAnswer
from dpasp.inference.asked import Asked
from dpasp.inference.circuit import Evaluator, on_circuit
from dpasp.inference.enumerate import enumerate_models
from dpasp.inference.map.atoms import Marked, MarkedAtom, Queries
from dpasp.inference.map.by_table import check_enumerable, most_probable_by_table
from dpasp.inference.map.task import VALUES, Best, MapTask, map_answer
from dpasp.inference.map.total_choices import best_total_choices, credal_total_choices, part_of
from dpasp.semantics.translate import translate


def most_probable_by_circuit(task: MapTask) -> tuple[MapAnswer, str] | None:
    """The answer to ``#map`` or ``#mpe`` and how it was found; None where a circuit cannot tell."""
    ground, question = task.ground, task.question
    intervals = task.asked.has_intervals
    if question.everything:
        best = credal_total_choices(task) if intervals else best_total_choices(task, part_of(task))
        return best and (map_answer(ground, question, *best), "maximum")
    if task.evaluator.enumeration is not None:
        return None  # the table is there already, and answers at once
    simple = not (intervals or task.undefined() or task.tiny())
    by_leaves = _by_leaves(task) if simple else None
    if by_leaves is not None:
        return map_answer(ground, question, *by_leaves), "leaves"
    return map_answer(ground, question, *Queries(task).run()), "queries"


def _by_leaves(task: MapTask) -> list[Best] | None:
    """The best values of atoms that the choices determine; None if they do not."""
    question, meaning, watch = task.question, task.meaning, task.watch
    twins = translate(task.ground, meaning.logic, watch).twins
    atoms = dict.fromkeys(literal.atom for literal in question.atoms if literal.atom)
    marks = [MarkedAtom(atom, twins[atom]) for atom in atoms]
    observed = [atom for mark in marks for atom in mark.observed]
    alone = replace(task.ground, questions=(question,))
    try:
        circuit = on_circuit(alone, meaning, observed=observed, watch=watch).circuit
    except (InferenceError, SizeLimit):
        return None
    marked = Marked(circuit, task.weights, marks, task.evidence_masses())
    once = meaning.maxent or circuit.definite
    bests = [
        marked.run("value" if meaning.maxent else "upper", task.search_limits(1 if once else 2))
    ]
    if not meaning.maxent:  # models that never disagree leave no room between the bounds
        tried = bests[0].assignments
        bests.append(bests[0] if once else marked.run("lower", task.search_limits(), tried))
    return [_by_literal(best, question, list(atoms)) for best in bests]


def _by_literal(best: Best, question: GroundMap, atoms: list[int]) -> Best:
    """The assignments by the literals of the question; an atom that cannot occur is false."""
    values = np.full((len(best.assignments), len(question.atoms)), VALUES.index(False))
    for column, literal in enumerate(question.atoms):
        if literal.atom:
            values[:, column] = best.assignments[:, atoms.index(literal.atom)]
    return Best(best.value, values, best.most)


def map_answers(asked: Asked, evaluator: Evaluator) -> dict[int, tuple[MapAnswer, str]]:
    """By the place of the question: its answer, and how it was found.

    A circuit is searched where there is one and that can work; otherwise all total choices
    are enumerated, once for all questions. Raises :class:`SizeLimit` if they are too many.
    """
    answers = {}
    table = evaluator.enumeration
    places = [i for i, question in enumerate(asked.questions) if isinstance(question, GroundMap)]
    for done, place in enumerate(places):
        watch = asked.watch.share(len(places) - done, asked.watch.report)
        task = MapTask(replace(asked, watch=watch), place, evaluator)
        best = None if evaluator.circuit is None else most_probable_by_circuit(task)
        if best is None:
            if table is None:
                check_enumerable(task)
                table = enumerate_models(asked.ground, asked.meaning, watch=task.watch)
            best = most_probable_by_table(task, table), "table"
        answers[place] = best
    return answers
