"""Extremes over more vertices than can be tried one by one: a search on the circuit.

A question that does not tell some credal choices apart has few vertices that differ: these are
evaluated. Otherwise branch and bound looks for the extremes.

>>> from dpasp.inference.asked import ask
>>> from dpasp.language import parse
>>> from dpasp.logic import ground
>>> from dpasp.semantics.meaning import Meaning
>>> from dpasp.inference.engines.circuit import on_circuit
>>> asked = ask(ground(parse("[0.2, 0.4]::a(1..3). c :- a(X). #query c.")), Meaning())
>>> evaluator = on_circuit(asked.ground, asked.meaning)
>>> from dpasp.inference.credal.vertices import corners
>>> (extreme,) = searched_extremes(asked, evaluator, corners(asked.ground), few=4)
>>> extreme.lower, extreme.upper
(array([0.488]), array([0.784]))
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from dpasp.circuits import Circuit
from dpasp.dataclass import dataclass
from dpasp.inference.asked import Asked
from dpasp.inference.credal.closing import Closing, fraction
from dpasp.inference.credal.extremes import AT_ONCE, Extremes, of_masses
from dpasp.inference.credal.relax import MASSES, BoundGoal, Relaxation, relaxation
from dpasp.inference.credal.search import Extreme, Share, minimise
from dpasp.inference.credal.symmetry import count_vertices, different_vertices, symmetric_choices
from dpasp.inference.credal.vertices import Corners
from dpasp.inference.engines.evaluator import Evaluator
from dpasp.inference.engines.tiny import (
    LOG_TINY,
    log10_answers,
    ratio_masses,
    too_improbable,
)
from dpasp.limits import UNLIMITED, Report, Watch
from dpasp.logic.program import GroundQuery
from dpasp.semantics import masses
from dpasp.semantics.leaves import Weights
from dpasp.semantics.masses import FIELDS, Array, Masses


def searched_extremes(
    asked: Asked, evaluator: Evaluator, intervals: Sequence[Corners], few: int
) -> list[Extremes] | None:
    """The numbers of every question; None where a search does not apply.

    So ``few`` vertices are simply evaluated. A search reports to the watch what share of them it
    has ruled out.
    """
    searches = _searches(asked, evaluator, intervals)
    if searches is None:
        return None
    count, rows = len(asked.questions), asked.columns.shape[1]
    total = count * rows
    numbers = []
    for done, search in enumerate(searches):
        number = _over_different_vertices(search, few, asked.watch) if rows == 1 else None
        if number is None:
            report = partial(_report_part, asked.watch.report, done, total)
            number = _searched(search, asked.watch.share(total - done, report))
        numbers.append(number)
    return [_side_by_side(numbers[i * rows : (i + 1) * rows]) for i in range(count)]


def _side_by_side(rows: Sequence[Extremes]) -> Extremes:
    """The numbers of one question for several rows of weights, as one."""
    if len(rows) == 1:
        return rows[0]
    names = ("consistent", "inconsistent", "possible", "lower", "upper", "gap")
    arrays: dict[str, Any] = {
        name: np.concatenate([getattr(row, name) for row in rows]) for name in names
    }
    logs = None
    if any(row.logs is not None for row in rows):
        lower, upper = zip(*(row.log10() for row in rows), strict=True)
        logs = np.concatenate(lower), np.concatenate(upper)
    stopped = tuple(limit for row in rows for limit in row.stopped)
    return Extremes(**arrays, stopped=stopped, logs=logs)


@dataclass(frozen=True, slots=True)
class _Search:
    """A question under one row of weights, with the part of the circuit that it needs."""

    asked: Asked
    evaluator: Evaluator
    circuit: Circuit
    question: int
    relaxed: Relaxation

    @property
    def is_query(self) -> bool:
        """Whether there are bounds to search for; of a #map only its evidence matters here."""
        return isinstance(self.asked.questions[self.question], GroundQuery)

    def masses(self, weights: Weights, watch: Watch = UNLIMITED) -> Masses:
        """The masses [batch] of the question."""
        return ratio_masses(self.evaluator, weights, self.asked.layout, watch)[self.question]

    def log10(self, weights: Weights, found: Masses) -> tuple[Array, Array] | None:
        """The logarithms (base 10) of the bounds [batch], where doubles end."""
        lower, upper = (
            bound[np.newaxis] for bound in masses.lower_upper(found, self.asked.meaning)
        )
        place = slice(self.question, self.question + 1)
        logs = log10_answers(self.asked, self.evaluator, weights, (lower, upper), place)
        return logs and (logs[0][0], logs[1][0])


def _searches(
    asked: Asked, evaluator: Evaluator, intervals: Sequence[Corners]
) -> list[_Search] | None:
    """A search for each question and row of weights.

    None where branch and bound does not apply: there is no circuit for it, or total choices
    without stable models have a model all the same.
    """
    circuit = evaluator.circuit
    if circuit is None:
        return None
    searches = []
    for i in range(len(asked.questions)):
        for row in asked.columns.T:
            relaxed = relaxation(circuit, i, row, intervals)
            if relaxed is None:
                return None
            if asked.meaning.has_undefined_model and not relaxed.always_consistent:
                return None
            searches.append(_Search(asked, evaluator, circuit, i, relaxed))
    return searches


def _searched(search: _Search, watch: Watch) -> Extremes:
    """The numbers of one question and row."""
    goals = _goals(search, watch)
    # What is possible at some vertex is possible in the middle of them all.
    ends = [*(extreme.weights for extreme in goals.values()), search.relaxed.middle()]
    at_ends = search.masses(np.stack(ends, axis=1))  # unwatched: the answer when time is over
    stopped = tuple(extreme.stopped for extreme in goals.values() if extreme.stopped)
    low = high = least = most = np.nan
    if search.is_query:
        low, high = (float(bound[at]) for at, bound in enumerate(masses.credal(at_ends)))
        # An end where the evidence is impossible means that no vertex decides that bound.
        low, high = 1.0 if np.isnan(low) else low, 0.0 if np.isnan(high) else high
        lower, upper = goals["lower"], goals["upper"]
        least = low if lower.stopped is None else min(low, lower.bound)
        most = high if upper.stopped is None else max(high, 1.0 - upper.bound)
    return Extremes(
        at_ends.consistent.max(keepdims=True),
        at_ends.inconsistent.max(keepdims=True),
        (at_ends.b + at_ends.d).max(keepdims=True),
        np.array([least]),
        np.array([most]),
        np.array([max(low - least, most - high) if search.is_query else 0.0]),
        goals["lower"].weights if search.is_query else None,
        goals["upper"].weights if search.is_query else None,
        stopped,
        (low, high) if stopped else None,
    )


def _goals(search: _Search, watch: Watch) -> dict[BoundGoal, Extreme]:
    """The extremes of a question, lower and upper first; consistency if it is in doubt."""
    by_goal: dict[BoundGoal, Extreme] = {}
    relaxed, circuit, i = search.relaxed, search.circuit, search.question
    if search.is_query:
        _check_scale(search)
        goals: tuple[BoundGoal, ...] = ("lower", "upper")
        for part, goal in enumerate(goals):
            report = partial(_report_part, _as_share(watch.report), part, len(goals))
            shared = watch.share(len(goals) - part, report)
            score, share = fraction(circuit, i, goal), _share(search, goal, shared)
            by_goal[goal] = minimise(relaxed, goal, score, shared, share)
    if not relaxed.always_consistent:

        def consistent(weights: Weights) -> Array:
            mass: Array = circuit.masses(weights, fields=("consistent",))[i, 0]
            return mass

        # Silenced: it is the last part and takes least time.
        by_goal["consistent"] = minimise(relaxed, "consistent", consistent, watch.silenced())
    return by_goal


def _report_part(report: Report, done: int, total: int, share: float, whole: float | None) -> None:
    """Report that ``done`` of ``total`` parts are finished, and this share of the next one."""
    report(done + share, total)


def _as_share(report: Report) -> Report:
    """What takes reports of (done, total) and passes them on as a share of 1."""
    return lambda done, total: report(done / (total or 1.0), 1.0)


def _over_different_vertices(search: _Search, few: int, watch: Watch) -> Extremes | None:
    """The numbers from the vertices that differ for a question; None if those are many."""
    relaxed, asked = search.relaxed, search.asked
    place = (search.circuit, search.question)
    classes = symmetric_choices(*place, relaxed.weights, asked.layout, relaxed.corners)
    if count_vertices(classes, relaxed.corners) > few:
        return None
    parts = different_vertices(classes, relaxed.corners, relaxed.weights, AT_ONCE)
    return _merged(_batches(search, parts, watch))


def _batches(search: _Search, parts: Iterator[Weights], watch: Watch) -> Iterator[Extremes]:
    """The extremes over the vertices of each batch [leaves, vertices]."""
    for batch in parts:
        shape = (batch.shape[1], 1)
        vertex_masses = search.masses(batch, watch)
        logs = search.log10(batch, vertex_masses)
        yield of_masses(vertex_masses, search.asked.meaning, batch[:, :, np.newaxis], shape, logs)


def _merged(parts: Iterator[Extremes]) -> Extremes:
    merged = next(parts)
    for part in parts:
        merged = merged.joined(part)
    return merged


def _check_scale(search: _Search) -> None:
    """Raise an error if the bounds of the search are lost below what floating point can hold."""
    logs = search.circuit.masses(search.relaxed.middle(), log=True)[search.question]
    for names in MASSES.values():
        number, other = (logs[FIELDS.index(name)] for name in names)
        if any(-np.inf < mass < LOG_TINY for mass in (number, np.logaddexp(number, other))):
            raise too_improbable("the extremes over so many intervals")


def _share(search: _Search, goal: BoundGoal, watch: Watch) -> Share | None:
    """What has the boxes of a search looked into by the pool; None without workers."""
    pool, relaxed = search.asked.pool, search.relaxed
    if not pool.cuts:
        return None
    job = Closing(search.circuit, search.question, relaxed.weights, relaxed.corners, goal)
    return lambda starts: pool.map(job, starts, watch, fair=True)
