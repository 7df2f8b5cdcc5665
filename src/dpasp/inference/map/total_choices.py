"""The most probable total choices on a circuit: a maximum in place of every sum.

Weights are first divided by the largest weight of their choice. So a choice that does not occur in
a branch contributes a factor of 1 there: its best value is taken. All numbers are logarithms, since
the probability of a single total choice is small.

With intervals, the largest upper probability is the maximum over the vertices, where each vertex is
a separate question. The largest lower probability is the maximum over θ of the minimum over the
vertices. It is bounded by P(θ | e) at any vertex, and by min P(θ) / min P(e). Total choices are
tried in the order of such a bound, until no later one can be better.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice, pairwise, product
from typing import NamedTuple

import numpy as np

from dpasp.circuits import Circuit
from dpasp.circuits.layers import LEAF, PRODUCT, sweep
from dpasp.dataclass import dataclass
from dpasp.inference.circuit import LN10
from dpasp.inference.intervals import Corners, corners, vertex_weights
from dpasp.inference.map import CLOSE, Best, MapTask, best_at
from dpasp.inference.tuning import EXACT
from dpasp.semantics.leaves import (
    LeafLayout,
    TotalChoice,
    Weights,
    certain,
    log_probability_of,
    most_probable_first,
)


class BestChoices(NamedTuple):
    """The total choices of some kind that have the largest value."""

    value: float  # a logarithm
    best: Callable[[], Iterable[TotalChoice]]
    every: Callable[[], Iterable[TotalChoice]]  # also those with smaller values above 0


def maximum(task: MapTask, channel: str) -> BestChoices:
    """The largest product of P(θ) and the value of its leaf in the circuit of the question."""
    circuit, layout, below = task.circuit, task.asked.layout, task.circuit.below(task.place)
    with np.errstate(divide="ignore"):
        scaled = np.log(np.append(task.asked.weights, 1.0))
        known = np.log(circuit.values.channel(channel))
    factor = 0.0
    for first, last in pairwise(layout.starts):
        most = float(scaled[first:last].max())
        if most > -np.inf:  # all may be 0, where they are bounds and not probabilities
            scaled[first:last] -= most
        factor += most
    (best,) = sweep(
        below,
        [known],
        lambda layer, below_sum: [
            np.maximum.reduceat(scaled[layer.weights] + below_sum[0], layer.starts)
        ],
        lambda _, left, right: [left[0] + right[0]],
    )
    attaining = partial(_attaining, circuit, below.root, best, scaled, layout)
    return BestChoices(
        float(best[below.root]) + factor,
        partial(attaining, np.log1p(-CLOSE)),
        partial(attaining, -np.inf),
    )


def _attaining(
    circuit: Circuit, root: int, best: Weights, scaled: Weights, layout: LeafLayout, share: float
) -> Iterator[TotalChoice]:
    """The total choices whose value exceeds a share (a logarithm) of the best value of the root.

    They are found by descending from the root along the edges that attain the best value. ``todo``
    has the values taken so far, with the nodes that are still to be expanded.
    """
    if np.isneginf(best[root]):
        return
    arrays, names = circuit.arrays(), ("op", "begin", "end", "weight", "child")
    op, begin, end, weight, child = (arrays[name].astype(np.int64).tolist() for name in names)
    spans = list(pairwise(layout.starts))
    owners = [(i, value) for i, (a, b) in enumerate(spans) for value in range(b - a)]
    options = [np.flatnonzero(scaled[a:b] > share).tolist() for a, b in spans]
    todo: list[tuple[dict[int, int], list[int]]] = [({}, [root])]
    while todo:
        taken, nodes = todo.pop()
        while nodes and op[nodes[-1]] == LEAF:
            nodes.pop()
        if not nodes:
            yield from product(*([taken[i]] if i in taken else v for i, v in enumerate(options)))
            continue
        *rest, node = nodes
        edges = range(begin[node], end[node])
        if op[node] == PRODUCT:
            todo.append((taken, [*rest, *(child[edge] for edge in edges)]))
            continue
        for edge in edges:
            if scaled[weight[edge]] + best[child[edge]] > share + best[node]:
                more = taken if weight[edge] < 0 else taken | dict([owners[weight[edge]]])
                todo.append((more, [*rest, child[edge]]))


def best_total_choices(task: MapTask) -> tuple[Best] | tuple[Best, Best]:
    """The best total choices: by probability, or by upper and by lower probability.

    If every model of θ satisfies the evidence, the bounds of P(θ | e) are P(θ) / b and P(θ) / a. If
    only some models do, they are 0 and P(θ) / (P(θ) + a).
    """
    total = task.evidence_masses(log=True)
    if task.asked.meaning.maxent:
        likeliest = maximum(task, "qe")
        sources = [likeliest, *undefined_choices(task, likeliest.value)]
        most = max(source.value for source in sources)
        return (best_of(most - float(total.e), _winners(sources, most)),)
    some = maximum(task, "b")
    sure_mass, possible = float(total.a), float(total.b)
    if np.isneginf(sure_mass):  # then all upper probabilities are 1
        everything = best_of(0.0, [some], every=True)
        alone = len(everything.assignments) == 1
        return everything, best_at(0.0 if alone else -math.inf, everything.assignments)
    surest = sure_choices(task)
    most = max(source.value for source in surest)
    sure, maybe = most - sure_mass, -math.inf
    if some.value > most:  # then only some models of these total choices satisfy the evidence
        maybe = some.value - float(np.logaddexp(some.value, sure_mass))
    winners = _winners(surest, most) if sure >= maybe else []
    winners += [some] if maybe >= sure else []
    lower = best_of(most - possible, _winners(surest, most))
    return best_of(max(sure, maybe), winners), lower


def sure_choices(task: MapTask) -> list[BestChoices]:
    """The most probable total choices whose models all satisfy the evidence."""
    likeliest = maximum(task, "a")
    return [likeliest, *undefined_choices(task, likeliest.value)]


def _winners(sources: Sequence[BestChoices], most: float) -> list[BestChoices]:
    """The sources whose value is the largest."""
    return [source for source in sources if source.value >= most - CLOSE]


def best_of(log: float, sources: Sequence[BestChoices], every: bool = False) -> Best:
    """The total choices of some sources, sorted, with the logarithm of their probability."""
    kinds = [source.every if every else source.best for source in sources]
    return _listed(log, {row for rows in kinds for row in islice(rows(), EXACT.ties + 1)})


def undefined_choices(task: MapTask, enough: float) -> list[BestChoices]:
    """The most probable total choices without stable models, if these satisfy the evidence.

    The search goes through the total choices in order, until their log probability is below
    ``enough``.
    """
    if not task.undefined():
        return []
    starts, watch = task.asked.layout.starts, task.watch
    stream = most_probable_first(task.asked.weights, starts)
    best, rows = -np.inf, list[TotalChoice]()
    while some := list(islice(stream, EXACT.batch)):
        watch.check()
        single = certain(some, starts)
        models = task.circuit.masses(single, fields=("consistent",), watch=watch)[task.place, 0]
        for choice, count in zip(some, models.tolist(), strict=True):
            chance = log_probability_of(choice, task.asked.weights, starts)
            if chance < max(best, enough) - CLOSE or len(rows) > EXACT.ties:
                return [BestChoices(best, lambda: rows, lambda: rows)] if rows else []
            if count == 0:
                best = max(best, chance)
                rows.append(choice)
    return [BestChoices(best, lambda: rows, lambda: rows)] if rows else []


@dataclass(frozen=True, slots=True)
class Vertex:
    """The question at a vertex, with the best total choices there."""

    task: MapTask
    possible: float  # the logarithm of the mass that may satisfy the evidence
    best: tuple[Best, ...]  # by upper and by lower probability


def credal_total_choices(task: MapTask) -> tuple[Best, Best] | None:
    """The best by upper and by lower probability; None if too many would have to be tried.

    Also None if at some vertex no total choice surely satisfies the evidence: then all lower
    probabilities are 0, or the evidence leaves only one total choice.
    """
    intervals = corners(task.asked.ground)
    # In the middle of the intervals every total choice that is ever possible has weight.
    total = task.evidence_masses()
    if not (task.question.evidence or total.inconsistent > 0 or total.undefined > 0):
        # Only P(θ) matters; its bounds are products of those of its values.
        high, low = _extreme_weights(task, intervals)
        return _product(task, high), _product(task, low)
    # The evidence does not depend on choices whose leaves do not occur in its part of the circuit.
    # Of such a choice, only the largest and the smallest probability of a value matter.
    used = np.zeros(task.asked.layout.size, dtype=np.bool_)
    for layer in task.circuit.below(task.place).layers:
        used[layer.weights[layer.weights >= 0]] = True
    touched = [corner for corner in intervals if used[corner.leaves].any()]
    others = [corner for corner in intervals if not used[corner.leaves].any()]
    if math.prod(len(corner.points) for corner in touched) > EXACT.tried_vertices:
        return None
    high, low = _extreme_weights(task, others)
    by_upper = _at_vertices(task.at(high), touched)
    if by_upper is None:
        return None
    if any(not low[corner.leaves].any() for corner in others):
        # Every value of this choice, and so every total choice, can have probability 0.
        possible = [maximum(task, "b"), *undefined_choices(task, -np.inf)]
        return _largest_upper(by_upper), best_of(-math.inf, possible, every=True)
    by_lower = _at_vertices(task.at(low), touched) if others else by_upper
    if by_lower is None:
        return None
    lower = _largest_lower(task, by_lower)
    return None if lower is None else (_largest_upper(by_upper), lower)


def _at_vertices(task: MapTask, intervals: Sequence[Corners]) -> list[Vertex] | None:
    """The question at each vertex where the evidence is possible; None if it is not sure at one."""
    (batch,) = vertex_weights(intervals, task.asked.weights[:, np.newaxis], EXACT.tried_vertices)
    vertices: list[Vertex] = []
    for column in batch[:, :, 0].T:
        task.watch.check()
        at_vertex = task.at(column)
        total = at_vertex.evidence_masses(log=True)
        if np.isneginf(total.b):
            continue  # the evidence is impossible here
        if np.isneginf(total.a):
            return None
        vertices.append(Vertex(at_vertex, float(total.b), best_total_choices(at_vertex)))
    return vertices


def _extreme_weights(task: MapTask, intervals: Sequence[Corners]) -> tuple[Weights, Weights]:
    """The largest and the smallest weight of every value of some credal choices."""
    high, low = task.asked.weights.copy(), task.asked.weights.copy()
    for corner in intervals:
        high[corner.leaves] = corner.points.max(axis=0)
        low[corner.leaves] = corner.points.min(axis=0)
    return high, low


def _product(task: MapTask, weights: Weights) -> Best:
    """The total choices with the largest product of weights."""
    parts = [weights[first:last] for first, last in pairwise(task.asked.layout.starts)]
    possible = all(part.any() for part in parts)
    log = math.fsum(math.log(part.max()) for part in parts) if possible else -math.inf
    # If even the largest product is 0, all total choices have it.
    winners = [np.flatnonzero(part >= part.max() * (1 - CLOSE) * possible) for part in parts]
    rows = list(islice(product(*(values.tolist() for values in winners)), EXACT.ties + 1))
    return best_at(log, np.array(rows, dtype=np.int64).reshape(len(rows), -1))


def _largest_upper(vertices: Sequence[Vertex]) -> Best:
    """The largest upper probability over all vertices, with every total choice that has it."""
    bests = [vertex.best[0] for vertex in vertices]
    log = max(best.log10 for best in bests) * LN10
    ties = [best for best in bests if best.log10 * LN10 >= log - CLOSE]
    return _listed(log, {tuple(row) for best in ties for row in best.assignments.tolist()})


def _bound(task: MapTask, vertices: Sequence[Vertex]) -> tuple[Weights, float]:
    """Weights and the log of a mass: P(θ) with these weights / mass bounds lower probabilities.

    P(θ | e) at any vertex is a bound, and so is min P(θ) / min P(e). This is the one that is
    tightest for its best total choice; the weights need not be probabilities.
    """
    least = np.min([vertex.task.asked.weights for vertex in vertices], axis=0)
    possible = min(vertex.possible for vertex in vertices)
    most = max(source.value for source in sure_choices(task.at(least))) - possible
    bounds = [(v.best[1].log10 * LN10, v.task.asked.weights, v.possible) for v in vertices]
    _, *tightest = min([*bounds, (most, least, possible)], key=lambda bound: bound[0])
    return tightest[0], tightest[1]


def _largest_lower(task: MapTask, vertices: Sequence[Vertex]) -> Best | None:
    """The largest lower probability; total choices are tried in the order of the tightest bound.

    None if it is 0, or if too many total choices would have to be tried.
    """
    weights, possible = _bound(task, vertices)
    starts, watch = task.asked.layout.starts, task.watch
    known: dict[TotalChoice, float] = {}  # the logarithms of the lower probabilities
    first = (row for vertex in vertices for row in vertex.best[1].assignments.tolist())
    _look(known, list(dict.fromkeys(map(tuple, first))), vertices)
    stream = most_probable_first(weights, starts)
    for _ in range(EXACT.map_choices // EXACT.batch):
        watch.check()
        best = max(known.values())
        some = list(islice(stream, EXACT.batch))
        if best == -math.inf:
            return None
        after = -math.inf
        if some:
            after = log_probability_of(some[0], weights, starts) - possible
        if after < best - CLOSE:
            ties = {row for row, value in known.items() if value >= best - CLOSE}
            return _listed(best, ties)
        _look(known, _sure(task, some), vertices)
    return None


def _look(
    known: dict[TotalChoice, float], rows: Sequence[TotalChoice], vertices: Sequence[Vertex]
) -> None:
    """Add the lower log probabilities of total choices that surely satisfy the evidence."""
    if not rows:
        return
    starts = np.array(vertices[0].task.asked.layout.starts[:-1], dtype=np.int64)
    weights = np.stack([vertex.task.asked.weights for vertex in vertices], axis=1)
    possible = np.array([vertex.possible for vertex in vertices])
    leaves = starts + np.array(rows, dtype=np.int64).reshape(len(rows), len(starts))
    with np.errstate(divide="ignore"):
        lower = (np.log(weights)[leaves].sum(axis=1) - possible).min(axis=1)
    known.update(zip(rows, lower.tolist(), strict=True))


def _sure(task: MapTask, rows: Sequence[TotalChoice]) -> list[TotalChoice]:
    """The total choices whose models all satisfy the evidence."""
    single = certain(rows, task.asked.layout.starts)
    values = task.circuit.masses(single, fields=("consistent", "a"), watch=task.watch)[task.place]
    sure = values[1] > 0
    if task.undefined():
        sure |= values[0] == 0
    return [row for row, kept in zip(rows, sure.tolist(), strict=True) if kept]


def _listed(log: float, rows: set[TotalChoice]) -> Best:
    """The total choices that have the best value, in order, up to a number of them."""
    some = sorted(rows)[: EXACT.ties + 1]
    return best_at(log, np.array(some, dtype=np.int64).reshape(len(some), -1))
