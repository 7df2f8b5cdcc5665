"""The numbers of every question from an engine, as extremes over credal choices.

A few vertices are simply all evaluated, in batches, also those that are left when a question
does not tell some credal choices apart. Many are searched on the circuit by branch and
bound, which is just as exact unless a limit stops it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from dpasp.circuits import Circuit
from dpasp.errors import LimitReached
from dpasp.inference.credal.relax import Goal, Relaxation, relaxation
from dpasp.inference.credal.search import Extreme, Score, Share, minimise
from dpasp.inference.credal.symmetry import alike, count_vertices, different_vertices
from dpasp.inference.credal.vertices import Corners, corners, vertex_weights
from dpasp.inference.engines import OnCircuit
from dpasp.inference.evaluator import Evaluator, Report, silent
from dpasp.inference.tiny import LOG_TINY, TINY, enlarge, log_ratio, too_improbable
from dpasp.language.ast import Logic, Probability
from dpasp.limits import UNLIMITED, Watch
from dpasp.logic.program import GroundProgram, GroundQuery
from dpasp.semantics import masses
from dpasp.semantics.leaves import Weights, layout
from dpasp.semantics.masses import FIELDS, Masses

BATCH = 256  # weight vectors that are evaluated together
FEW = 512  # vertices that are not worth a search
FRACTIONS: dict[Goal, tuple[str, str]] = {"lower": ("a", "d"), "upper": ("c", "b")}


@dataclass(frozen=True, slots=True)
class Numbers:
    """What the masses say, [questions, rows]: the extremes over the vertices of credal choices.

    ``lower_at`` and ``upper_at`` are weights that attain a question's bounds. Where
    a limit ``stopped`` the search, the bounds are sure to hold the exact ones, which
    differ from them by at most the ``gap``; the weights are the best that were found.
    """

    consistent: Weights
    inconsistent: Weights
    possible: Weights
    lower: Weights
    upper: Weights
    gap: Weights
    lower_at: dict[int, Weights] = field(default_factory=dict)
    upper_at: dict[int, Weights] = field(default_factory=dict)
    stopped: list[LimitReached] = field(default_factory=list)


def evaluate(
    ground: GroundProgram,
    logic: Logic,
    probability: Probability,
    evaluator: Evaluator,
    weights: Weights,
    watch: Watch = UNLIMITED,
    progress: Report = silent,
) -> Numbers:
    """The numbers of every question under weights [leaves, rows].

    A search reports what share of the vertices it knows not to be extreme.
    """
    shape = (len(ground.questions), weights.shape[1])
    zeros, unknown = np.zeros(shape), np.full(shape, np.nan)
    result = Numbers(zeros, zeros.copy(), zeros.copy(), unknown, unknown.copy(), zeros.copy())
    found = corners(ground)
    many = found and math.prod(len(corner.points) for corner in found) > FEW
    if many and isinstance(evaluator, OnCircuit):
        relaxed = _relaxations(evaluator, found, weights, logic)
        if relaxed is not None:
            for done, ((i, row), one) in enumerate(relaxed.items()):
                if weights.shape[1] == 1 and _try_different(result, i, one, evaluator, watch):
                    continue
                query = isinstance(ground.questions[i], GroundQuery)
                part = watch.share(len(relaxed) - done)
                report = partial(_report, progress, done, len(relaxed))
                _search(result, i, row, one, evaluator, query, part, report)
            return result
    for batch in vertex_weights(found, weights, BATCH):
        watch.check()
        vectors = batch.reshape(len(batch), batch.shape[1] * batch.shape[2])
        flat = _masses(ground, logic, evaluator, vectors)
        for i, question in enumerate(ground.questions):
            literals = question.literals if isinstance(question, GroundQuery) else ()
            own = Masses.of(flat[i].reshape(len(flat[i]), *batch.shape[1:]))
            own = masses.prepare(own, logic, literals, question.evidence)
            _join(result, i, own, probability, batch if found else None)
    return result


def _masses(ground: GroundProgram, logic: Logic, evaluator: Evaluator, weights: Weights) -> Weights:
    """The masses of every question; tiny ones up to a factor, unless something is added to them."""
    flat = evaluator.masses(weights)
    ratios = [
        logic is not Logic.SMPROBLOG or not masses.all_undefined(question.evidence)
        for question in ground.questions
    ]
    scaled = flat[ratios]
    places = layout(ground.choices)
    enlarge(scaled, weights, places, lambda some: evaluator.log_masses(some)[ratios])
    flat[ratios] = scaled
    return flat


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
    evaluator: OnCircuit, found: Sequence[Corners], weights: Weights, logic: Logic
) -> Mapping[tuple[int, int], Relaxation] | None:
    """The circuit below each question's root, for each row of weights.

    None where branch and bound does not apply: under smproblog it does only if all
    total choices have models.
    """
    circuit = evaluator.circuit
    result = {}
    for i in range(circuit.questions):
        for row in range(weights.shape[1]):
            one = relaxation(circuit, i, weights[:, row], found)
            if one is None or (logic is Logic.SMPROBLOG and not one.always_consistent):
                return None
            result[i, row] = one
    return result


def _search(
    result: Numbers,
    i: int,
    row: int,
    relaxed: Relaxation,
    evaluator: OnCircuit,
    query: bool,
    watch: Watch,
    progress: Share,
) -> None:
    """Fill in the numbers of one question and row; without ``query`` only what is possible."""
    found = _extremes(i, relaxed, evaluator.circuit, query, watch, progress)
    result.stopped.extend(one.stopped for one in found.values() if one.stopped)
    # What is possible at some vertex is possible in the middle of them all.
    ends = np.stack([*(one.weights for one in found.values()), relaxed.middle()], axis=1)
    scaled = evaluator.masses(ends)
    enlarge(scaled, ends, evaluator.leaves, evaluator.log_masses)
    own = Masses.of(scaled[i])
    result.consistent[i, row] = own.consistent.max()
    result.inconsistent[i, row] = own.inconsistent.max()
    result.possible[i, row] = (own.b + own.d).max()
    if not query:
        return
    low, high = (bound[at] for at, bound in enumerate(masses.credal(own)))
    # An end where the evidence is impossible means that no vertex decides that bound.
    low, high = 1.0 if np.isnan(low) else low, 0.0 if np.isnan(high) else high
    lower, upper = found["lower"], found["upper"]
    result.lower[i, row] = low if lower.stopped is None else min(low, lower.bound)
    result.upper[i, row] = high if upper.stopped is None else max(high, 1.0 - upper.bound)
    result.gap[i, row] = max(low - result.lower[i, row], result.upper[i, row] - high)
    result.lower_at[i], result.upper_at[i] = lower.weights, upper.weights


def _extremes(
    i: int, relaxed: Relaxation, circuit: Circuit, query: bool, watch: Watch, progress: Share
) -> dict[Goal, Extreme]:
    """The extremes of a question, lower and upper first; consistency if it is in doubt."""
    found: dict[Goal, Extreme] = {}
    if query:
        _check_scale(i, relaxed, circuit)
        for part, goal in enumerate(FRACTIONS):
            score = _fraction(circuit, i, goal)
            report = partial(_half, progress, part)
            found[goal] = minimise(relaxed, goal, score, watch.share(2 - part), report)
    if not relaxed.always_consistent:

        def consistent(weights: Weights) -> Weights:
            mass: Weights = circuit.masses(weights, fields=("consistent",))[i, 0]
            return mass

        found["consistent"] = minimise(relaxed, "consistent", consistent, watch, _unsaid)
    return found


def _report(progress: Report, done: int, total: int, share: float) -> None:
    progress(done + share, total)


def _half(progress: Share, part: int, share: float) -> None:
    progress((part + share) / 2)


def _unsaid(share: float) -> None:
    """The last and least part is not worth a report."""


def _try_different(
    result: Numbers, i: int, relaxed: Relaxation, evaluator: OnCircuit, watch: Watch
) -> bool:
    """Evaluate the vertices that a question tells apart, if they are few: whether that was done."""
    found = relaxed.corners
    classes = alike(evaluator.circuit, i, relaxed.weights, evaluator.leaves, found)
    if count_vertices(classes, found) > FEW:
        return False
    for batch in different_vertices(classes, found, relaxed.weights, BATCH):
        watch.check()
        values = evaluator.masses(batch)
        enlarge(values, batch, evaluator.leaves, evaluator.log_masses)
        own = Masses.of(values[i][:, :, np.newaxis])
        _join(result, i, own, Probability.CREDAL, batch[:, :, np.newaxis])
    return True


def _check_scale(i: int, relaxed: Relaxation, circuit: Circuit) -> None:
    """Raise an error if the bounds of the search are lost below what floating point can hold."""
    logs = circuit.masses(relaxed.middle(), log=True)[i]
    for names in FRACTIONS.values():
        total = np.logaddexp(*(logs[FIELDS.index(name)] for name in names))
        if -np.inf < total < LOG_TINY:
            raise too_improbable("the extremes over so many intervals")


def _fraction(circuit: Circuit, i: int, goal: Goal) -> Score:
    """The fraction of a question that is to be minimised; 1 where nothing is possible."""
    names = FRACTIONS[goal]
    number, other = map(FIELDS.index, names)

    def score(weights: Weights) -> Weights:
        own = circuit.masses(weights, fields=names)[i]
        total = own[number] + own[other]
        tiny = total < TINY
        ratio: Weights = own[number] / np.where(tiny, 1.0, total)
        if np.any(tiny):
            logs = circuit.masses(weights[:, tiny], fields=names, log=True)[i]
            ratio[tiny] = log_ratio(logs[number], logs[other])
        return ratio

    return score
