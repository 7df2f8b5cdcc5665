"""The most probable joint value of atoms, or of all choices, from the reference table.

An assignment gives each marked atom a value (true, false or undefined); for
``#mpe`` it is a total choice. Its probability given the evidence has masses like
those of any query, with 'the model has these values' for q.

>>> from dpasp.inference.asked import ask
>>> from dpasp.language import parse
>>> from dpasp.ground import ground
>>> from dpasp.semantics.meaning import Meaning
>>> from dpasp.inference.enumerate import enumerate_models
>>> asked = ask(ground(parse("0.3::a. 0.6::b. #map a?, b?.")), Meaning())
>>> table = enumerate_models(asked.ground, asked.meaning)
>>> most_probable_by_table(MapTask(asked, 0, table), table).assignment
{'a': False, 'b': True}
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, SizeLimit
from dpasp.inference.answers import MapAnswer
from dpasp.inference.enumerate import (
    ALWAYS,
    Bits,
    Counts,
    Enumeration,
    Indices,
    MapConditions,
    Table,
)
from dpasp.inference.intervals.extremes import corners, vertex_weights
from dpasp.inference.map.task import CLOSE, VALUES, Best, MapTask, map_answer
from dpasp.inference.tiny import TINY, too_improbable
from dpasp.limits import Watch
from dpasp.semantics import masses
from dpasp.semantics.leaves import Weights, possible_leaves
from dpasp.semantics.masses import Array, Masses

BLOCK = 1 << 24  # entries of an assignments × total choices matrix held at once
MOST_CHOICES = 1 << 22  # total choices that are enumerated for one question


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
    undefined = task.meaning.holds_without_models(question.evidence)
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
    for batch in vertex_weights(corners(task.ground), task.weights[:, np.newaxis], 16):
        weighed = candidate_masses(table, evidence, candidates, batch[:, :, 0], watch)
        if undefined:
            weighed = _add_undefined(weighed, table.inconsistent(batch[:, :, 0]))
        most = max(most, float(masses.evidence_mass(weighed, task.meaning).max()))
        low, high = masses.lower_upper(weighed, task.meaning)
        lower = np.fmin(lower, np.fmin.reduce(low, axis=1))
        upper = np.fmax(upper, np.fmax.reduce(high, axis=1))
    if most < TINY:
        raise too_improbable("the most probable values by enumeration")
    lower, upper = (np.where(upper > 0, bound, np.nan) for bound in (lower, upper))
    best = [_best(question.everything, table, candidates, values) for values in (upper, lower)]
    return map_answer(task.ground, question, *(best[:1] if task.meaning.maxent else best))


def check_enumerable(task: MapTask) -> None:
    """Raise :class:`SizeLimit` if too many total choices have models to enumerate them.

    The circuit counts them: it is evaluated with all values of a choice equally probable.
    """
    live, places = possible_leaves(task.ground), task.layout
    weights = live.astype(np.float64)
    counts = [np.count_nonzero(live[places.of(i)]) for i in range(len(task.ground.choices))]
    for i, count in enumerate(counts):
        weights[places.of(i)] /= count
    values = task.circuit.masses(weights, fields=("consistent",), watch=task.watch)
    share = float(values[task.place, 0])
    number = share * float(math.prod(map(int, counts)))
    if number > MOST_CHOICES:
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


def candidate_masses(
    table: Table, evidence: Bits, candidates: Candidates, weights: Weights, watch: Watch
) -> Masses:
    """The masses [assignments, batch] of the assignments."""
    p = table.probabilities(weights)
    n = table.count(table.holds(ALWAYS))
    n_e = table.count(evidence)
    weight, here = p[candidates.theta], candidates.counts
    every = here == n[candidates.theta]
    partly = here < n_e[candidates.theta]
    some = _sum(candidates, weight)
    return Masses(
        consistent=np.broadcast_to(p.sum(axis=0), some.shape),
        inconsistent=np.broadcast_to(table.inconsistent(weights), some.shape),
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
    step = max(1, BLOCK // max(1, len(p)))
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
    if total > MOST_CHOICES:
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
    """The candidates with the assignment in which everything is undefined, as the last."""
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
