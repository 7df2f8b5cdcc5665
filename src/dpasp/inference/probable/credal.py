"""The most probable total choices when some probabilities are intervals.

The largest upper probability is the largest over the vertices of the credal choices, each
a question by itself. The largest lower one is max over θ of the least over the vertices: it
is bounded by P(θ | e) at any one vertex, and by the least of P(θ) divided by the least of P(e).
Going through the total choices in the order of a bound, what comes later can at last not
be better.

>>> from dpasp.inference.asked import ask
>>> from dpasp.language import parse
>>> from dpasp.logic import ground
>>> from dpasp.semantics.meaning import Meaning
>>> from dpasp.inference.engines.circuit import on_circuit
>>> asked = ask(ground(parse("[0.1, 0.3]::a. 0.6::b. #mpe.")), Meaning())
>>> task = MapTask(asked, 0, on_circuit(asked.ground, asked.meaning))
>>> upper, lower = credal_total_choices(task)
>>> round(upper.value, 9), round(lower.value, 9)
(0.54, 0.42)
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise, product

import numpy as np
from numpy.typing import NDArray

from dpasp.dataclass import dataclass
from dpasp.inference.credal.vertices import Corners, corners, vertex_weights
from dpasp.inference.engines.tiny import LN10, too_improbable
from dpasp.inference.probable.best import CLOSE, MOST_TIES, Best, best_at
from dpasp.inference.probable.task import MapTask
from dpasp.inference.probable.total_choices import (
    BATCH,
    AskedPart,
    best_of,
    best_total_choices,
    part_of,
    possible_choices,
    sure_choices,
)
from dpasp.semantics.leaves import Weights
from dpasp.semantics.total_choices import (
    TotalChoice,
    certain,
    log_probability_of,
    most_probable_first,
)

MOST_VERTICES = 4096  # of the credal choices that the evidence depends on
MOST_CHOICES = 1 << 16  # total choices that are looked at for the lower probability


@dataclass(frozen=True, slots=True)
class Vertex:
    """The question at one vertex, where the evidence has mass ``possible`` at most."""

    task: MapTask
    possible: float
    best: tuple[Best, ...]  # by upper and by lower probability


def credal_total_choices(task: MapTask) -> tuple[Best, Best] | None:
    """The best by upper and by lower probability; None if that takes looking at too many.

    Also None where at some vertex no total choice surely satisfies the evidence: then all
    lower probabilities are 0, or the evidence leaves only one total choice.
    """
    intervals = corners(task.ground)
    if _always_satisfied(task):
        return _by_choice(task, intervals)
    circuit = part_of(task)
    used = _leaves_in(circuit)
    touched = [corner for corner in intervals if used[corner.leaves].any()]
    others = [corner for corner in intervals if not used[corner.leaves].any()]
    if math.prod(len(corner.points) for corner in touched) > MOST_VERTICES:
        return None
    high, low = _extreme_weights(task, others)
    by_upper = _at_vertices(task.at(high), circuit, touched)
    if by_upper is None:
        return None
    if any(not low[corner.leaves].any() for corner in others):
        # Every value of this choice can have probability 0, and so every total choice.
        return _largest_upper(by_upper), best_of(
            -math.inf, possible_choices(task, circuit), every=True
        )
    by_lower = _at_vertices(task.at(low), circuit, touched) if others else by_upper
    if by_lower is None:
        return None
    lower = _largest_lower(task, circuit, by_lower)
    return None if lower is None else (_largest_upper(by_upper), lower)


def _leaves_in(circuit: AskedPart) -> NDArray[np.bool_]:
    """Which leaves occur in the part of the circuit that the evidence needs.

    The evidence does not depend on the others, so that a choice among those counts by itself:
    with the largest and the least probability of the value that is taken.
    """
    used = np.zeros(circuit.layout.size, dtype=np.bool_)
    for layer in circuit.layers.layers:
        used[layer.weights[layer.weights >= 0]] = True
    return used


def _at_vertices(
    task: MapTask, circuit: AskedPart, intervals: Sequence[Corners]
) -> list[Vertex] | None:
    """The question at every vertex where the evidence is possible; None where it is never sure."""
    (batch,) = vertex_weights(intervals, task.weights[:, np.newaxis], MOST_VERTICES)
    vertices: list[Vertex] = []
    for column in batch[:, :, 0].T:
        task.watch.check()
        at_vertex = task.at(column)
        if at_vertex.tiny():
            raise too_improbable("the most probable total choice with intervals")
        total = at_vertex.evidence_masses()
        if not total.b > 0:
            continue  # the evidence is impossible here
        if not total.a > 0:
            return None
        vertices.append(Vertex(at_vertex, float(total.b), best_total_choices(at_vertex, circuit)))
    return vertices


def _always_satisfied(task: MapTask) -> bool:
    """Whether every total choice has models, and there is no evidence to satisfy."""
    # In the middle of the intervals every total choice that is ever possible has weight.
    total = task.evidence_masses()
    return not task.question.evidence and not total.inconsistent > 0 and not total.undefined > 0


def _by_choice(task: MapTask, intervals: Sequence[Corners]) -> tuple[Best, Best]:
    """The best where P(θ) alone counts: its bounds are the products of those of its values."""
    high, low = _extreme_weights(task, intervals)
    return _product(task, high), _product(task, low)


def _extreme_weights(task: MapTask, intervals: Sequence[Corners]) -> tuple[Weights, Weights]:
    """The largest and the least weight of every value of some credal choices."""
    high, low = task.weights.copy(), task.weights.copy()
    for corner in intervals:
        high[corner.leaves] = corner.points.max(axis=0)
        low[corner.leaves] = corner.points.min(axis=0)
    return high, low


def _product(task: MapTask, weights: Weights) -> Best:
    """The total choices with the largest product of weights."""
    parts = [weights[first:last] for first, last in pairwise(task.layout.starts)]
    possible = all(part.any() for part in parts)
    log = math.fsum(math.log(part.max()) for part in parts) if possible else -math.inf
    # Where even the largest product is 0, all total choices have it.
    winners = [np.flatnonzero(part >= part.max() * (1 - CLOSE) * possible) for part in parts]
    rows = list(islice(product(*(values.tolist() for values in winners)), MOST_TIES + 1))
    return best_at(log, np.array(rows, dtype=np.int64).reshape(len(rows), -1))


def _largest_upper(vertices: Sequence[Vertex]) -> Best:
    """The largest upper probability over all vertices, with every total choice that has it."""
    bests = [vertex.best[0] for vertex in vertices]
    log = max(best.log10 for best in bests) * LN10
    ties = [best for best in bests if best.log10 * LN10 >= log - CLOSE]
    return _listed(log, {tuple(row) for best in ties for row in best.assignments.tolist()})


@dataclass(frozen=True, slots=True)
class ChoiceBound:
    """Lower probabilities are at most P(θ) under ``weights`` divided by ``possible``."""

    weights: Weights  # [leaves]; not always probabilities
    possible: float
    most: float  # over all total choices; its logarithm


def _bounds(task: MapTask, circuit: AskedPart, vertices: Sequence[Vertex]) -> Iterator[ChoiceBound]:
    """Bounds of lower probabilities: P(θ | e) at each vertex, and least P(θ) over least P(e)."""
    for vertex in vertices:
        yield ChoiceBound(vertex.task.weights, vertex.possible, vertex.best[1].log10 * LN10)
    least = np.min([vertex.task.weights for vertex in vertices], axis=0)
    possible = min(vertex.possible for vertex in vertices)
    sources = sure_choices(task.at(least), circuit)
    most = max(source.value for source in sources)
    yield ChoiceBound(least, possible, most - math.log(possible))


def _largest_lower(task: MapTask, circuit: AskedPart, vertices: Sequence[Vertex]) -> Best | None:
    """The largest lower probability, looked for in the order of the tightest bound.

    None if it is 0, or too many total choices would have to be looked at.
    """
    bound = min(_bounds(task, circuit, vertices), key=lambda bound: bound.most)
    starts, watch = task.layout.starts, task.watch
    known: dict[TotalChoice, float] = {}  # the logarithms of the lower probabilities
    first = (row for vertex in vertices for row in vertex.best[1].assignments.tolist())
    _look(known, list(dict.fromkeys(map(tuple, first))), vertices)
    stream = most_probable_first(bound.weights, starts)
    for _ in range(MOST_CHOICES // BATCH):
        watch.check()
        best = max(known.values())
        some = list(islice(stream, BATCH))
        if best == -math.inf:
            return None
        after = -math.inf
        if some:
            after = log_probability_of(some[0], bound.weights, starts) - math.log(bound.possible)
        if after < best - CLOSE:
            ties = {row for row, value in known.items() if value >= best - CLOSE}
            return _listed(best, ties)
        _look(known, _sure(task, some), vertices)
    return None


def _look(
    known: dict[TotalChoice, float], rows: Sequence[TotalChoice], vertices: Sequence[Vertex]
) -> None:
    """Add the lower probabilities (logarithms) of total choices that surely have the evidence."""
    if not rows:
        return
    starts = np.array(vertices[0].task.layout.starts[:-1], dtype=np.int64)
    weights = np.stack([vertex.task.weights for vertex in vertices], axis=1)
    possible = np.array([vertex.possible for vertex in vertices])
    leaves = starts + np.array(rows, dtype=np.int64).reshape(len(rows), len(starts))
    with np.errstate(divide="ignore"):
        lower = (np.log(weights)[leaves].sum(axis=1) - np.log(possible)).min(axis=1)
    known.update(zip(rows, lower.tolist(), strict=True))


def _sure(task: MapTask, rows: Sequence[TotalChoice]) -> list[TotalChoice]:
    """The total choices whose models all satisfy the evidence."""
    single = certain(rows, task.layout.starts)
    values = task.circuit.masses(single, fields=("consistent", "a"), watch=task.watch)[task.place]
    sure = values[1] > 0
    if task.undefined():
        sure |= values[0] == 0
    return [row for row, kept in zip(rows, sure.tolist(), strict=True) if kept]


def _listed(log: float, rows: set[TotalChoice]) -> Best:
    """The total choices that have the best value, in order and not too many."""
    some = sorted(rows)[: MOST_TIES + 1]
    return best_at(log, np.array(some, dtype=np.int64).reshape(len(some), -1))
