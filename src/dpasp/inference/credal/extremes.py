"""The numbers of every question, as extremes over the intervals of credal choices.

A few vertices are simply all evaluated, in batches, also those that are left when a question
does not tell some credal choices apart. Many are searched on the circuit by branch and
bound, which is just as exact unless a limit stops it.

>>> from dpasp.inference.asked import ask
>>> from dpasp.language import parse
>>> from dpasp.logic import ground
>>> from dpasp.semantics.meaning import Meaning
>>> from dpasp.inference.engines.circuit import on_circuit
>>> asked = ask(ground(parse("[0.2, 0.4]::a. 0.5::b. c :- a, b. #query c.")), Meaning())
>>> (extreme,) = extremes(asked, on_circuit(asked.ground, asked.meaning))
>>> extreme.lower, extreme.upper                     # one number for each row of weights
(array([0.1]), array([0.2]))
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpasp.dataclass import dataclass
from dpasp.errors import LimitReached
from dpasp.inference.asked import Asked
from dpasp.inference.credal.vertices import Corners, corners, vertex_weights
from dpasp.inference.engines.evaluator import Evaluator
from dpasp.inference.engines.tiny import log10_answers, ratio_masses
from dpasp.semantics import masses
from dpasp.semantics.leaves import Weights
from dpasp.semantics.masses import Array, Masses
from dpasp.semantics.meaning import Meaning

AT_ONCE = 256  # weight vectors that are evaluated together
FEW = 512  # so many vertices are simply evaluated, and not searched


@dataclass(frozen=True, slots=True)
class Extremes:
    """The numbers of a question [rows]: extremes over the vertices of credal choices.

    ``lower_at`` and ``upper_at`` are weights that attain the bounds. Where a limit
    ``stopped`` the search, the bounds are sure to hold the exact ones, which
    differ from them by at most the ``gap``; the weights are the best that were found, and
    ``found`` are the lower and the upper probability there.
    """

    consistent: Array
    inconsistent: Array
    possible: Array  # how possible the evidence is: 0 where it is impossible
    lower: Array  # NaN where the evidence is impossible
    upper: Array
    gap: Array
    lower_at: Weights | None = None
    upper_at: Weights | None = None
    stopped: tuple[LimitReached, ...] = ()
    found: tuple[float, float] | None = None
    logs: tuple[Array, Array] | None = None  # base 10, of both bounds, where doubles end

    def joined(self, other: Extremes) -> Extremes:
        """The extremes over the vertices of both."""
        lower, upper = np.fmin(self.lower, other.lower), np.fmax(self.upper, other.upper)
        mine, theirs, logs = (self.lower, self.upper), (other.lower, other.upper), None
        if self.logs is not None or other.logs is not None:
            mine, theirs = self.log10(), other.log10()
            logs = np.fmin(mine[0], theirs[0]), np.fmax(mine[1], theirs[1])
        first = np.fmin(mine[0], theirs[0]), np.fmax(mine[1], theirs[1])
        return Extremes(
            np.fmax(self.consistent, other.consistent),
            np.fmax(self.inconsistent, other.inconsistent),
            np.fmax(self.possible, other.possible),
            lower,
            upper,
            np.fmax(self.gap, other.gap),
            # Of two that attain the same, the first.
            self.lower_at if np.array_equal(first[0], mine[0]) else other.lower_at,
            self.upper_at if np.array_equal(first[1], mine[1]) else other.upper_at,
            (*self.stopped, *other.stopped),
            logs=logs,
        )

    def log10(self) -> tuple[Array, Array]:
        """The logarithms (base 10) of both bounds."""
        if self.logs is not None:
            return self.logs
        with np.errstate(divide="ignore"):
            return np.log10(self.lower), np.log10(self.upper)


def extremes(asked: Asked, evaluator: Evaluator) -> list[Extremes]:
    """The numbers of every question.

    A search reports to the watch what share of the vertices it has ruled out.
    """
    intervals = corners(asked.ground)
    if intervals and math.prod(len(corner.points) for corner in intervals) > FEW:
        from dpasp.inference.credal.many import searched_extremes  # few programs have so many

        numbers = searched_extremes(asked, evaluator, intervals, FEW)
        if numbers is not None:
            return numbers
    return _over_vertices(asked, evaluator, intervals)


def _over_vertices(
    asked: Asked, evaluator: Evaluator, intervals: Sequence[Corners]
) -> list[Extremes]:
    """The numbers of every question, from all vertices."""
    numbers: list[Extremes] = []
    for batch in vertex_weights(intervals, asked.columns, AT_ONCE):
        shape = batch.shape[1:]
        vectors = batch.reshape(len(batch), shape[0] * shape[1])
        vertex_masses = ratio_masses(evaluator, vectors, asked.layout, asked.watch)
        bounds = masses.lower_upper(vertex_masses, asked.meaning)
        logs = log10_answers(asked, evaluator, vectors, bounds)
        new = [
            of_masses(
                vertex_masses[i],
                asked.meaning,
                batch if intervals else None,
                shape,
                logs and (logs[0][i], logs[1][i]),
            )
            for i in range(len(asked.questions))
        ]
        numbers = [a.joined(b) for a, b in zip(numbers, new, strict=True)] if numbers else new
    return numbers


def of_masses(
    flat: Masses,
    meaning: Meaning,
    batch: Weights | None,
    shape: tuple[int, ...],
    logs: tuple[Array, Array] | None = None,
) -> Extremes:
    """The extremes over the vertices of a batch; where the evidence is impossible none counts.

    ``logs`` are the logarithms (base 10) of the answers, where doubles end.
    """
    flat = Masses(*(getattr(flat, name).reshape(shape) for name in Masses.__slots__))
    lower, upper = masses.lower_upper(flat, meaning)
    low, high = (lower, upper) if logs is None else (log.reshape(shape) for log in logs)
    lower_at = upper_at = None
    if batch is not None and batch.shape[2] == 1:
        lower_at, upper_at = (_attaining(batch, values[:, 0]) for values in (low, -high))
    return Extremes(
        np.fmax.reduce(flat.consistent, axis=0),
        np.fmax.reduce(flat.inconsistent, axis=0),
        np.fmax.reduce(masses.evidence_mass(flat, meaning), axis=0),
        np.fmin.reduce(lower, axis=0),
        np.fmax.reduce(upper, axis=0),
        np.zeros(shape[1]),
        lower_at,
        upper_at,
        logs=None if logs is None else (np.fmin.reduce(low, axis=0), np.fmax.reduce(high, axis=0)),
    )


def _attaining(batch: Weights, values: Array) -> Weights | None:
    """The weights of the vertex with the smallest value, if any has one."""
    known = np.where(np.isnan(values), np.inf, values)
    best = int(np.argmin(known))
    return batch[:, best, 0].copy() if known[best] < np.inf else None
