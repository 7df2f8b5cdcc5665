"""The numbers of every question from an engine, as extremes over credal choices.

A few vertices are simply all evaluated, in batches. Many are searched on the circuit
by branch and bound, which is just as exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dpasp.inference.credal import Score, minimise
from dpasp.inference.engines import Compiled
from dpasp.inference.evaluator import Evaluator
from dpasp.inference.relax import Goal, Relaxation, relaxation
from dpasp.inference.vertices import Corners, corners, vertex_weights
from dpasp.language.ast import Logic, Probability
from dpasp.limits import UNLIMITED, Watch
from dpasp.logic.program import GroundMap, GroundProgram, GroundQuery
from dpasp.semantics import masses
from dpasp.semantics.leaves import Weights
from dpasp.semantics.masses import FIELDS, Masses

BATCH = 256  # weight vectors that are evaluated together
FEW = 512  # vertices that are not worth a search
FRACTIONS: dict[Goal, tuple[str, str]] = {"lower": ("a", "d"), "upper": ("c", "b")}


@dataclass(frozen=True, slots=True)
class Numbers:
    """What the masses say, [questions, rows]: the extremes over the vertices of credal choices.

    ``lower_at`` and ``upper_at`` are weights that attain a question's bounds.
    """

    consistent: Weights
    inconsistent: Weights
    possible: Weights
    lower: Weights
    upper: Weights
    lower_at: dict[int, Weights] = field(default_factory=dict)
    upper_at: dict[int, Weights] = field(default_factory=dict)


def evaluate(
    ground: GroundProgram,
    logic: Logic,
    probability: Probability,
    evaluator: Evaluator,
    weights: Weights,
    watch: Watch = UNLIMITED,
) -> Numbers:
    """The numbers of every question under weights [leaves, rows]."""
    shape = (len(ground.questions), weights.shape[1])
    zeros, unknown = np.zeros(shape), np.full(shape, np.nan)
    result = Numbers(zeros, zeros.copy(), zeros.copy(), unknown, unknown.copy())
    found = corners(ground)
    many = found and math.prod(len(corner.points) for corner in found) > FEW
    if many and isinstance(evaluator, Compiled):
        relaxed = _relaxations(evaluator, found, weights)
        if _searchable(relaxed, logic, ground):
            for (i, row), one in relaxed.items():
                _search(result, i, row, one, evaluator, watch)
            return result
    for batch in vertex_weights(found, weights, BATCH):
        watch.check()
        vectors = batch.reshape(len(batch), batch.shape[1] * batch.shape[2])
        flat = evaluator.masses(vectors)
        for i, question in enumerate(ground.questions):
            literals = question.literals if isinstance(question, GroundQuery) else ()
            own = Masses.of(flat[i].reshape(len(flat[i]), *batch.shape[1:]))
            own = masses.prepare(own, logic, literals, question.evidence)
            _join(result, i, own, probability, batch if found else None)
    return result


def _join(
    result: Numbers, i: int, own: Masses, probability: Probability, batch: Weights | None
) -> None:
    """Join the vertices of a batch; those where the evidence is impossible do not count."""
    if probability is Probability.MAXENT:
        lower = upper = masses.maxent(own)
    else:
        lower, upper = masses.credal(own)
    if batch is not None and batch.shape[2] == 1:
        _attain(result.lower_at, i, batch, lower[:, 0], result.lower[i, 0])
        _attain(result.upper_at, i, batch, -upper[:, 0], -result.upper[i, 0])
    evidence = masses.possible(own, probability)
    for total, new in (
        (result.consistent, own.consistent),
        (result.inconsistent, own.inconsistent),
        (result.possible, evidence),
        (result.upper, upper),
    ):
        total[i] = np.fmax(total[i], np.fmax.reduce(new, axis=0))
    result.lower[i] = np.fmin(result.lower[i], np.fmin.reduce(lower, axis=0))


def _attain(at: dict[int, Weights], i: int, batch: Weights, values: Weights, before: float) -> None:
    """Remember the vertex with the smallest value, if it is smaller than before."""
    known = np.where(np.isnan(values), np.inf, values)
    best = int(np.argmin(known))
    if known[best] < (np.inf if np.isnan(before) else before):
        at[i] = batch[:, best, 0].copy()


# --- many vertices: search on the circuit -----------------------------------------------------


def _relaxations(
    evaluator: Compiled, found: Sequence[Corners], weights: Weights
) -> dict[tuple[int, int], Relaxation | None]:
    """The circuit below each question's root, for each row of weights."""
    arrays = evaluator.circuit.arrays()
    roots = arrays["roots"].tolist()
    return {
        (i, row): relaxation(arrays, root, weights[:, row], found)
        for i, root in enumerate(roots)
        for row in range(weights.shape[1])
    }


def _searchable(
    relaxed: dict[tuple[int, int], Relaxation | None], logic: Logic, ground: GroundProgram
) -> bool:
    """Whether branch and bound applies: under smproblog only if all total choices have models."""
    if any(isinstance(question, GroundMap) for question in ground.questions):
        return False
    return all(
        one is not None and (logic is not Logic.SMPROBLOG or one.always_consistent)
        for one in relaxed.values()
    )


def _search(
    result: Numbers, i: int, row: int, relaxed: Relaxation | None, evaluator: Compiled, watch: Watch
) -> None:
    """Fill in the numbers of one question and row."""
    assert relaxed is not None

    def fraction(goal: Goal) -> Score:
        number, other = (FIELDS.index(name) for name in FRACTIONS[goal])

        def score(weights: Weights) -> Weights:
            own = evaluator.masses(weights)[i]
            total = own[number] + own[other]
            return np.where(total > 0, own[number] / np.where(total > 0, total, 1.0), 1.0)

        return score

    least = 1.0
    if not relaxed.always_consistent:
        least = minimise(relaxed, "consistent", lambda w: evaluator.masses(w)[i, 0], watch).value
    lower = minimise(relaxed, "lower", fraction("lower"), watch)
    upper = minimise(relaxed, "upper", fraction("upper"), watch)
    # What is possible at some vertex is possible in the middle of them all.
    ends = np.stack([lower.weights, upper.weights, relaxed.middle()], axis=1)
    own = Masses.of(evaluator.masses(ends)[i])
    result.consistent[i, row] = own.consistent.max()
    result.inconsistent[i, row] = max(float(own.inconsistent.max()), 1.0 - least)
    result.possible[i, row] = (own.b + own.d).max()
    low, high = masses.credal(own)
    # An end where the evidence is impossible means that no vertex decides that bound.
    result.lower[i, row] = 1.0 if np.isnan(low[0]) else low[0]
    result.upper[i, row] = 0.0 if np.isnan(high[1]) else high[1]
    result.lower_at[i], result.upper_at[i] = lower.weights, upper.weights
