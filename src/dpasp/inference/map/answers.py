"""The answers to ``#map`` and ``#mpe``, from a circuit if possible, otherwise from the table.

In the table of all total choices, every assignment that occurs is treated like a query: its masses
are those of "the model has these values".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dpasp.errors import Diagnostic, InferenceError, SizeLimit
from dpasp.ground.program import GroundMap
from dpasp.inference.answers import MapAnswer
from dpasp.inference.asked import Asked
from dpasp.inference.circuit import TINY, Evaluator, on_circuit, too_improbable
from dpasp.inference.enumerate import (
    ALWAYS,
    Bits,
    Counts,
    Enumeration,
    Indices,
    MapConditions,
    Table,
    enumerate_models,
    shares_of_masses,
)
from dpasp.inference.intervals import corners, vertex_weights
from dpasp.inference.map import CLOSE, VALUES, Best, MapTask, by_literal, map_answer
from dpasp.inference.map.atoms import MapGoal, Marked, MarkedAtom, Queries
from dpasp.inference.map.total_choices import best_total_choices, credal_total_choices
from dpasp.inference.tuning import EXACT
from dpasp.limits import Watch
from dpasp.semantics import masses
from dpasp.semantics.leaves import Weights, possible_leaves
from dpasp.semantics.masses import FIELDS, Array, Masses
from dpasp.semantics.translate import translate


def most_probable_by_circuit(task: MapTask) -> tuple[MapAnswer, str] | None:
    """The answer to ``#map`` or ``#mpe`` and how it was found; None if a circuit cannot answer."""
    ground, question = task.asked.ground, task.question
    intervals = task.asked.has_intervals
    if question.everything:
        best = credal_total_choices(task) if intervals else best_total_choices(task)
        return best and (map_answer(ground, question, *best), "maximum")
    if task.evaluator.enumeration is not None:
        return None  # there is a table already, which answers at once
    simple = not (intervals or task.undefined() or task.tiny())
    by_leaves = _by_leaves(task) if simple else None
    if by_leaves is not None:
        return map_answer(ground, question, *by_leaves), "leaves"
    return map_answer(ground, question, *Queries(task).run()), "queries"


def _by_leaves(task: MapTask) -> list[Best] | None:
    """The best values of atoms that the choices determine; None if they do not determine them."""
    question, meaning, watch = task.question, task.asked.meaning, task.watch
    twins = translate(task.asked.ground, meaning.logic, watch).twins
    atoms = list({literal.atom: literal for literal in question.atoms if literal.atom}.values())
    marks = [MarkedAtom(literal.atom, twins[literal.atom]) for literal in atoms]
    observed = [atom for mark in marks for atom in mark.observed]
    alone = replace(task.asked.ground, questions=(question,))
    try:
        circuit = on_circuit(alone, meaning, observed=observed, watch=watch).circuit
    except (InferenceError, SizeLimit):
        return None
    marked = Marked(circuit, task.asked.weights, marks, task.evidence_masses())
    once = meaning.maxent or circuit.definite
    clock, anytime = task.asked.watch, task.at_any_time
    goal: MapGoal = "value" if meaning.maxent else "upper"
    bests = [marked.run(goal, clock.share(1 if once else 2), anytime)]
    if not meaning.maxent:  # if the models of a total choice agree, both bounds are the same
        tried = bests[0].assignments
        bests.append(bests[0] if once else marked.run("lower", clock.share(1), anytime, tried))
    return [
        Best(best.value, by_literal(question, atoms, best.assignments), best.most) for best in bests
    ]


def map_answers(
    asked: Asked, evaluator: Evaluator, some: Sequence[int] | None = None
) -> dict[int, tuple[MapAnswer, str]]:
    """The answers by the place of the question (``some`` or all), and how they were found.

    A circuit is searched if there is one and that can work. Otherwise, all total choices are
    enumerated, once for all questions. Raises :class:`SizeLimit` if they are too many.
    """
    answers = {}
    table = evaluator.enumeration
    places = [i for i, question in enumerate(asked.questions) if isinstance(question, GroundMap)]
    places = places if some is None else list(some)
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


class Candidates(NamedTuple):
    """The assignments that occur, and in how many models of which total choices.

    Entry i says that ``counts[i]`` models of the total choice ``theta[i]`` satisfy the evidence and
    have the values of the assignment ``assignment[i]`` (in ascending order).
    """

    values: Indices  # [assignments, atoms], positions in VALUES; for #mpe those of all choices
    assignment: Indices
    theta: Indices
    counts: Counts


def most_probable_by_table(task: MapTask, enumeration: Enumeration) -> MapAnswer:
    """The answer to ``#map`` or ``#mpe``; the evidence is known to be possible."""
    question, table, ground = task.question, enumeration.table, task.asked.ground
    maxent = task.asked.meaning.maxent
    conditions = enumeration.maps[task.place]
    evidence = table.holds(conditions.evidence)
    n, n_e = table.count(table.holds(ALWAYS)), table.count(evidence)
    # Total choices without stable models have one model in which all atoms are undefined.
    undefined = task.asked.meaning.holds_without_models(question.evidence)
    if question.everything:
        if undefined:
            missing = _missing(table)
            table = replace(table, values=np.concatenate([table.values, missing]))
            n, n_e = (np.append(c, np.ones(len(missing), dtype=np.int64)) for c in (n, n_e))
            undefined = False
        theta = np.flatnonzero(n_e > 0)
        theta = theta[np.lexsort(table.values[theta].T[::-1])] if table.values.size else theta
        candidates = Candidates(table.values[theta], np.arange(len(theta)), theta, n_e[theta])
    else:
        candidates = _assignments(table, evidence, conditions)
        if undefined:  # together they are one more total choice, the last one
            n, n_e = np.append(n, 1), np.append(n_e, 1)
            candidates = _with_all_undefined(candidates, len(table))
    ends: list[Array] = [np.full(len(candidates.values), np.nan)] * 2
    most = 0.0
    for batch in vertex_weights(corners(ground), task.asked.weights[:, np.newaxis], 16):
        weights = batch[:, :, 0]
        if undefined:
            lost = table.inconsistent(weights)[np.newaxis]
            p = np.concatenate([table.probabilities(weights), lost])
        else:
            p = _relative_probabilities(table, n_e > 0, weights)
        found = _masses(candidates, n, n_e, p, maxent, task.watch)
        most = max(most, float(masses.evidence_mass(found, task.asked.meaning).max()))
        lower, upper = masses.lower_upper(found, task.asked.meaning)
        ends = [
            np.fmax(ends[0], np.fmax.reduce(upper, axis=1)),
            np.fmin(ends[1], np.fmin.reduce(lower, axis=1)),
        ]
    if most < TINY:
        raise too_improbable("the most probable values by enumeration")
    bests = []
    for end in ends[:1] if maxent else ends:
        end = np.where(ends[0] > 0, end, np.nan)
        best = float(np.nanmax(end))
        bests.append(Best(best, candidates.values[end >= best - CLOSE * abs(best)]))
    return map_answer(ground, question, *bests)


def check_enumerable(task: MapTask) -> None:
    """Raise :class:`SizeLimit` if too many total choices have models to enumerate them.

    The circuit counts them: it is evaluated with all values of a choice equally probable.
    """
    live, places = possible_leaves(task.asked.ground), task.asked.layout
    weights = live.astype(np.float64)
    counts = [np.count_nonzero(live[places.of(i)]) for i in range(len(task.asked.ground.choices))]
    for i, count in enumerate(counts):
        weights[places.of(i)] /= count
    values = task.circuit.masses(weights, fields=("consistent",), watch=task.watch)
    share = float(values[task.place, 0])
    number = share * float(math.prod(map(int, counts)))
    if number > EXACT.map_enumerated:
        raise SizeLimit(
            Diagnostic(
                "size-limit",
                f"this takes an enumeration of {number:.3g} total choices: too many",
                task.question.span,
                help="make some of the intervals single probabilities, "
                "or mark the atoms of interest in a #map",
            )
        )


def _assignments(table: Table, evidence: Bits, conditions: MapConditions) -> Candidates:
    """The joint values of the marked atoms in the rows that satisfy the evidence."""
    rows = np.flatnonzero(evidence)
    theta = np.repeat(np.arange(len(table)), np.diff(table.starts))[rows]
    values = np.zeros((len(rows), len(conditions.atoms)), dtype=np.intp)
    for i, (true, maybe) in enumerate(conditions.atoms):
        values[:, i] = np.where(table.holds(true), 0, np.where(table.holds(maybe), 2, 1))[rows]
    distinct, which = np.unique(values, axis=0, return_inverse=True)
    pairs, same = np.unique(which.reshape(-1) * len(table) + theta, return_inverse=True)
    counts = np.zeros(len(pairs), dtype=np.int64)
    np.add.at(counts, same, table.counts[rows])
    assignment, theta = np.divmod(pairs, max(1, len(table)))
    return Candidates(distinct, assignment, theta, counts)


def _with_all_undefined(known: Candidates, theta: int) -> Candidates:
    """The candidates and the assignment in which everything is undefined, with its total choice.

    Without any marked atom, there is only one assignment.
    """
    values = known.values
    if values.shape != (1, 0):
        values = np.append(values, np.full((1, values.shape[1]), VALUES.index("undef")), axis=0)
    last = (len(values) - 1, theta, 1)
    return Candidates(values, *(np.append(x, y) for x, y in zip(known[1:], last, strict=True)))


def _relative_probabilities(table: Table, possible: Bits, weights: Weights) -> Weights:
    """P(θ) [total choices, batch]; if the evidence is tiny, scaled so that the largest is 1.

    In that case, those that rule out the evidence are 0.
    """
    p = table.probabilities(weights)
    tiny = p[possible].sum(axis=0) < TINY
    if np.any(tiny) and np.any(possible):
        logs = table.log_probabilities(weights[:, tiny])
        most = logs[possible].max(axis=0)
        logs[~possible] = -np.inf
        p[:, tiny] = np.exp(logs - np.where(np.isneginf(most), 0.0, most))
    return p


def _masses(
    candidates: Candidates, n: Counts, n_e: Counts, p: Weights, maxent: bool, watch: Watch
) -> Masses:
    """The masses [assignments, batch] that answers need, from P(θ) [total choices, batch].

    The total choices have ``n`` models, of which ``n_e`` satisfy the evidence.
    """
    _, assignment, theta, here = candidates
    found = dict.fromkeys(Masses.__slots__, np.array(np.nan))
    present, absent = shares_of_masses(n[theta], here, n_e[theta]), shares_of_masses(n, 0 * n, n_e)
    for name, share, other in zip(FIELDS, present, absent, strict=True):
        if name in (("qe", "e") if maxent else ("a", "b", "c", "d")):
            found[name] = _absent(candidates, np.multiply(p.T, other, dtype=float).T, watch)
            weighed = np.multiply(p[theta].T, share, dtype=float).T
            np.add.at(found[name], assignment, weighed)
    return Masses(**found)


def _absent(candidates: Candidates, p: Weights, watch: Watch) -> Weights:
    """For each assignment, the sum of p [total choices, batch] over those where no model has it.

    It is added up, not subtracted from the total, so that zeros are exact.
    """
    count = len(candidates.values)
    result = np.zeros((count, p.shape[1]))
    if not p.any():
        return result
    if np.array_equal(candidates.assignment, np.arange(count)):
        # Each has one total choice: the sum is over all before it and all after it.
        before = np.concatenate([np.zeros((1, p.shape[1])), np.cumsum(p, axis=0)])
        after = np.concatenate([np.zeros((1, p.shape[1])), np.cumsum(p[::-1], axis=0)])[::-1]
        sums: Weights = before[candidates.theta] + after[candidates.theta + 1]
        return sums
    step = max(1, EXACT.held_numbers // max(1, len(p)))
    for start in range(0, count, step):
        watch.check()
        size = min(step, count - start)
        outside = np.ones((size, len(p)))
        first, last = np.searchsorted(candidates.assignment, (start, start + size))
        outside[candidates.assignment[first:last] - start, candidates.theta[first:last]] = 0.0
        result[start : start + size] = outside @ p
    return result


def _missing(table: Table) -> Indices:
    """The values of the total choices without models."""
    total = table.leaves.total
    if total > EXACT.map_enumerated:
        raise SizeLimit(
            Diagnostic(
                "size-limit",
                f"{total:,} total choices are too many for #mpe under this semantics",
                help="mark the atoms of interest in a #map instead",
            )
        )
    missing = np.ones(np.diff(table.leaves.starts), dtype=np.bool_)
    if len(table):
        missing[tuple(table.values.T)] = False
    return np.argwhere(missing)
