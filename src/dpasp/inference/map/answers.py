"""The answers to ``#map`` and ``#mpe``: on a circuit where that works, else from the table.

For ``#mpe`` a circuit takes a maximum in place of every sum. ``#map`` is a best-first search: atoms
that the choices determine get leaves of their own, and a maximum in place of the sums over these
leaves bounds all that completes a partial assignment; for other atoms, and with intervals, partial
assignments are asked for as queries.

In the table of all total choices, every assignment that occurs has masses like those of a query,
with "the model has these values" for q.

>>> from dpasp.inference.asked import ask
>>> from dpasp.language import parse
>>> from dpasp.ground import ground
>>> from dpasp.semantics.meaning import Meaning
>>> from dpasp.inference.circuit import on_circuit
>>> asked = ask(ground(parse("0.3::a. 0.6::b. #mpe. #map a?, b?.")), Meaning())
>>> answers = map_answers(asked, on_circuit(asked.ground, asked.meaning))
>>> [(answer.assignment, how) for answer, how in answers.values()]
[({'a': False, 'b': True}, 'maximum'), ({'a': False, 'b': True}, 'leaves')]
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dpasp.dataclass import dataclass
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
)
from dpasp.inference.intervals import corners, vertex_weights
from dpasp.inference.map import CLOSE, VALUES, Best, MapTask, by_literal, map_answer
from dpasp.inference.map.atoms import MapGoal, Marked, MarkedAtom, Queries
from dpasp.inference.map.total_choices import best_total_choices, credal_total_choices
from dpasp.inference.tuning import EXACT
from dpasp.limits import Watch
from dpasp.semantics import masses
from dpasp.semantics.leaves import Weights, possible_leaves
from dpasp.semantics.masses import Array, Masses
from dpasp.semantics.translate import translate


def most_probable_by_circuit(task: MapTask) -> tuple[MapAnswer, str] | None:
    """The answer to ``#map`` or ``#mpe`` and how it was found; None where a circuit cannot tell."""
    ground, question = task.asked.ground, task.question
    intervals = task.asked.has_intervals
    if question.everything:
        best = credal_total_choices(task) if intervals else best_total_choices(task)
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
    if not meaning.maxent:  # models that never disagree leave no room between the bounds
        tried = bests[0].assignments
        bests.append(bests[0] if once else marked.run("lower", clock.share(1), anytime, tried))
    return [
        Best(best.value, by_literal(question, atoms, best.assignments), best.most) for best in bests
    ]


def map_answers(
    asked: Asked, evaluator: Evaluator, some: Sequence[int] | None = None
) -> dict[int, tuple[MapAnswer, str]]:
    """By the place of the question (of ``some``, or of all): its answer, and how it was found.

    A circuit is searched where there is one and that can work; otherwise all total choices
    are enumerated, once for all questions. Raises :class:`SizeLimit` if they are too many.
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


@dataclass(frozen=True, slots=True)
class Candidates:
    """The assignments that some model has, and in how many models of which total choice.

    Pair i says that ``counts[i]`` models of total choice ``theta[i]`` satisfy the
    evidence and have the values of assignment ``assignment[i]`` (in ascending order).
    """

    assignments: Indices  # [assignments, atoms], positions in VALUES; for #mpe the total choice
    assignment: Indices
    theta: Indices
    counts: Counts


def most_probable_by_table(task: MapTask, enumeration: Enumeration) -> MapAnswer:
    """The answer to ``#map`` or ``#mpe``; the evidence is known to be possible."""
    question, table, watch = task.question, enumeration.table, task.watch
    conditions = enumeration.maps[task.place]
    evidence = table.holds(conditions.evidence)
    undefined = task.asked.meaning.holds_without_models(question.evidence)
    if question.everything:
        if undefined:
            table, evidence = with_missing(table, evidence)
            undefined = False
        candidates = total_choices(table, evidence)
    else:
        candidates = assignments(table, evidence, conditions)
        if undefined:
            candidates = _with_all_undefined(candidates)
    lower = np.full(len(candidates.assignments), np.nan)
    upper = lower.copy()
    most = 0.0
    for batch in vertex_weights(corners(task.asked.ground), task.asked.weights[:, np.newaxis], 16):
        weights = batch[:, :, 0]
        if undefined:
            p, z = table.probabilities(weights), table.inconsistent(weights)
            weighed = _add_undefined(candidate_masses(table, evidence, candidates, p, watch), z)
        else:
            p = _relative_probabilities(table, evidence, weights)
            weighed = candidate_masses(table, evidence, candidates, p, watch)
        most = max(most, float(masses.evidence_mass(weighed, task.asked.meaning).max()))
        low, high = masses.lower_upper(weighed, task.asked.meaning)
        lower = np.fmin(lower, np.fmin.reduce(low, axis=1))
        upper = np.fmax(upper, np.fmax.reduce(high, axis=1))
    if most < TINY:
        raise too_improbable("the most probable values by enumeration")
    lower, upper = (np.where(upper > 0, bound, np.nan) for bound in (lower, upper))
    best = [_best(question.everything, table, candidates, values) for values in (upper, lower)]
    return map_answer(
        task.asked.ground, question, *(best[:1] if task.asked.meaning.maxent else best)
    )


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


def total_choices(table: Table, evidence: Bits) -> Candidates:
    """Every total choice that allows the evidence is an assignment of its own."""
    n_e = table.count(evidence)
    theta = np.flatnonzero(n_e > 0)
    theta = theta[np.lexsort(table.values[theta].T[::-1])] if table.values.size else theta
    return Candidates(theta[:, np.newaxis], np.arange(len(theta)), theta, n_e[theta])


def assignments(table: Table, evidence: Bits, conditions: MapConditions) -> Candidates:
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


def _relative_probabilities(table: Table, evidence: Bits, weights: Weights) -> Weights:
    """P(θ) [total choices, batch]; where the evidence is tiny, times what makes the largest 1.

    Those that rule the evidence out are then 0.
    """
    possible = table.count(evidence) > 0
    p = table.probabilities(weights)
    tiny = p[possible].sum(axis=0) < TINY
    if np.any(tiny) and np.any(possible):
        logs = table.log_probabilities(weights[:, tiny])
        most = logs[possible].max(axis=0)
        logs[~possible] = -np.inf
        p[:, tiny] = np.exp(logs - np.where(np.isneginf(most), 0.0, most))
    return p


def candidate_masses(
    table: Table, evidence: Bits, candidates: Candidates, p: Weights, watch: Watch
) -> Masses:
    """The masses [assignments, batch] of the assignments, from P(θ) [total choices, batch]."""
    n = table.count(table.holds(ALWAYS))
    n_e = table.count(evidence)
    weight, here = p[candidates.theta], candidates.counts
    every = here == n[candidates.theta]
    partly = here < n_e[candidates.theta]
    some = _sum(candidates, weight)
    return Masses(
        consistent=np.broadcast_to(p.sum(axis=0), some.shape),
        inconsistent=np.broadcast_to(np.nan, some.shape),  # the answers do not need it
        a=_sum(candidates, weight * every[:, np.newaxis]),
        b=some,
        c=_absent(candidates, p * (n_e == n)[:, np.newaxis], watch),
        d=_absent(candidates, p * (n_e > 0)[:, np.newaxis], watch)
        + _sum(candidates, weight * partly[:, np.newaxis]),
        qe=_sum(candidates, weight * (here / n[candidates.theta])[:, np.newaxis]),
        e=np.broadcast_to((n_e / n) @ p, some.shape),
        undefined=np.broadcast_to(0.0, some.shape),
    )


def _sum(candidates: Candidates, values: Weights) -> Weights:
    """Sums [assignments, batch] of values [pairs, batch]."""
    result = np.zeros((len(candidates.assignments), values.shape[1]))
    np.add.at(result, candidates.assignment, values)
    return result


def _absent(candidates: Candidates, p: Weights, watch: Watch) -> Weights:
    """For each assignment, the sum of p [total choices, batch] where no model has it.

    Added up directly rather than subtracted from the whole, so that zeros are zeros.
    """
    count = len(candidates.assignments)
    if np.array_equal(candidates.assignment, np.arange(count)):
        # Each has one total choice: add up what comes before it and what comes after it.
        before = np.concatenate([np.zeros((1, p.shape[1])), np.cumsum(p, axis=0)])
        after = np.concatenate([np.zeros((1, p.shape[1])), np.cumsum(p[::-1], axis=0)])[::-1]
        sums: Weights = before[candidates.theta] + after[candidates.theta + 1]
        return sums
    result = np.empty((count, p.shape[1]))
    step = max(1, EXACT.held_numbers // max(1, len(p)))
    for start in range(0, count, step):
        watch.check()
        size = min(step, count - start)
        outside = np.ones((size, len(p)))
        first, last = np.searchsorted(candidates.assignment, (start, start + size))
        outside[candidates.assignment[first:last] - start, candidates.theta[first:last]] = 0.0
        result[start : start + size] = outside @ p
    return result


# --- where a total choice without stable models has a model in which all atoms are undefined -----


def with_missing(table: Table, evidence: Bits) -> tuple[Table, Bits]:
    """The table with a row that satisfies the evidence for each total choice without models."""
    total = table.leaves.total
    if total > EXACT.map_enumerated:
        raise SizeLimit(
            Diagnostic(
                "size-limit",
                f"{total:,} total choices are too many for #mpe under this semantics",
                help="mark the atoms of interest in a #map instead",
            )
        )
    widths = tuple(np.diff(table.leaves.starts).tolist())
    missing = np.ones(widths, dtype=np.bool_)
    if len(table):
        missing[tuple(table.values.T)] = False
    values = np.argwhere(missing)
    count = len(values)
    nothing = np.zeros((count, table.bits.shape[1]), dtype=np.bool_)
    whole = Table(
        table.leaves,
        np.concatenate([table.values, values]),
        np.concatenate([table.starts, table.starts[-1] + 1 + np.arange(count)]),
        np.concatenate([table.bits, nothing]),
        np.concatenate([table.counts, np.ones(count, dtype=np.int64)]),
    )
    return whole, np.concatenate([evidence, np.ones(count, dtype=np.bool_)])


def _with_all_undefined(candidates: Candidates) -> Candidates:
    """The candidates with the assignment in which everything is undefined, as the last.

    Where no atoms are asked for, it is the only assignment that there is.
    """
    if candidates.assignments.shape == (1, 0):
        return candidates
    last = np.full((1, candidates.assignments.shape[1]), VALUES.index("undef"), dtype=np.intp)
    return replace(candidates, assignments=np.concatenate([candidates.assignments, last]))


def _add_undefined(known: Masses, z: Weights) -> Masses:
    """The masses with ``z`` added, of total choices whose only model has the last assignment."""
    last = np.zeros_like(known.a)
    last[-1] = z
    rest = z - last
    return replace(
        known,
        a=known.a + last,
        b=known.b + last,
        c=known.c + rest,
        d=known.d + rest,
        qe=known.qe + last,
        e=known.e + z,
    )


def _best(everything: bool, table: Table, candidates: Candidates, values: Array) -> Best:
    """The assignments with the largest value."""
    most = np.nanmax(values)
    rows = np.flatnonzero(values >= most - CLOSE * abs(most))
    places = candidates.assignments[rows]
    return Best(float(most), table.values[places[:, 0]] if everything else places)
