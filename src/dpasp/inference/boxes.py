"""Extremes over many intervals: branch and bound on a circuit.

A *box* fixes the corners (extreme distributions) of some credal choices and leaves the others open:
it has the number of a corner for each choice, or -1. Each sum of the circuit is over the values of
one choice. The value of a circuit in a box is bounded by letting each sum pick the corner that
suits it best, whatever the other sums over that choice pick. If all pick the same one, as for
monotone queries, the bound is attained.

The bounded quantity is ``n - λ (n + o)`` for two masses n and o: it is nonnegative everywhere if
and only if n / (n + o) is at least λ everywhere. For the lower probability, n is a and o is d; for
the upper one, n is c and o is b, and n / (n + o) is 1 minus the upper probability.

A candidate has a corner for every credal choice and is improved one choice at a time. Bounds then
prove that nothing is better, or show where to search: every corner of every open choice is bounded,
those that cannot win are dropped, and the box is split by the choice that tightens the bounds most.
At a limit, the extreme lies between the best value so far and a bound on everything still open.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from itertools import count
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from dpasp.circuits import Circuit
from dpasp.circuits.layers import (
    MIXED,
    MODELS,
    OTHER,
    QE,
    Integers,
    Layer,
    Layers,
    LeafValues,
    Numbers,
    same_in_columns,
    sweep,
)
from dpasp.dataclass import dataclass
from dpasp.errors import LimitReached
from dpasp.inference.tuning import EXACT
from dpasp.limits import Watch
from dpasp.semantics.leaves import Weights
from dpasp.semantics.masses import ROUNDING

if TYPE_CHECKING:
    from dpasp.inference.intervals import Corners

# For each goal, the mass that multiplies over products and the one with a mixed product rule.
MASSES = {"lower": ("a", "d"), "upper": ("b", "c")}
STEP = 1e-14  # a smaller relative improvement is due to rounding
SLACK = 1e-13  # the rounding error of a bound, as a share of its scale


BoundGoal = Literal["lower", "upper", "consistent"]


@dataclass(frozen=True, slots=True)
class Relaxation:
    """The part of a circuit that one question needs, ready to be bounded."""

    layers: Layers
    values: LeafValues
    pure: NDArray[np.bool_]  # nodes whose models all satisfy q and e, or else all not e
    weights: Weights  # [leaves]; those of credal choices do not matter
    corners: tuple[Corners, ...]

    @property
    def always_consistent(self) -> bool:
        """Whether the bound shows, up to rounding, that every total choice has a model."""
        missing, _ = self.bound(np.full((len(self.corners), 1), -1), "consistent", 1.0)
        return bool(missing[0] > -ROUNDING)

    def vectors(self, picks: Integers, turn: int) -> Weights:
        """The weights [leaves + 1, boxes] in which open choices take their corner number ``turn``.

        Choices with fewer corners start over. The last weight, 1, is for edges without a leaf.
        """
        result = np.empty((len(self.weights) + 1, picks.shape[1]))
        result[:-1] = self.weights[:, np.newaxis]
        result[-1] = 1.0
        for corner, pick in zip(self.corners, picks, strict=True):
            chosen = np.where(pick < 0, turn % len(corner.points), pick)
            result[corner.leaves] = corner.points[chosen].T
        return result

    def middle(self) -> Weights:
        """The weights [leaves] with the mean of the corners for every credal choice."""
        result = self.weights.copy()
        for corner in self.corners:
            result[corner.leaves] = corner.points.mean(axis=0)
        return result

    def bound(self, picks: Integers, goal: BoundGoal, value: float) -> tuple[Weights, Weights]:
        """A lower bound on the functional with λ = ``value`` in each box, and its scale.

        ``picks`` are the boxes, [credal choices, boxes]. Rounding errors are relative to the scale.
        For the goal "consistent", the functional is the consistent mass minus ``value``.
        """
        turns = max((len(corner.points) for corner in self.corners), default=1)
        vectors = [self.vectors(picks, turn) for turn in range(turns)]
        if goal == "consistent":
            names: tuple[str, ...] = (goal,)
            better: tuple[np.ufunc, ...] = (np.minimum,)
        else:  # the first mass should be small and the other one large
            first, second = MASSES[goal]
            names = (first, second, MIXED[second].whole, MIXED[second].part)
            small, large = np.minimum, np.maximum
            plain, mixed = (small, large) if goal == "lower" else (large, small)
            better = (plain, mixed, mixed, mixed, small)

        def functional(plain: Weights, mixed: Weights) -> Weights:
            number, other = (mixed, plain) if goal == "upper" else (plain, mixed)
            return (1.0 - value) * number - value * other

        def add(layer: Layer, below: Sequence[Numbers]) -> list[Numbers]:
            """Each sum takes the corner that suits it best."""
            best = [layer.sum(vectors[0][layer.weights] * channel) for channel in below]
            for vector in vectors[1:]:
                for result, channel, choose in zip(best, below, better, strict=True):
                    choose(result, layer.sum(vector[layer.weights] * channel), out=result)
            return best

        def multiply(
            layer: Layer, left: Sequence[Numbers], right: Sequence[Numbers]
        ) -> list[Numbers]:
            """If a factor is pure, the functional is that of the other factor times its mass.

            This bound is better than the combination of the bounds of the masses.
            """
            if goal == "consistent":
                return [left[0] * right[0]]
            plain, whole, part = (left[k] * right[k] for k in (0, 2, 3))
            mixed = left[1] * right[2] + left[3] * right[1]
            combined = functional(plain, mixed)
            for nodes, factor, rest in ((layer.left, left, right), (layer.right, right, left)):
                pure = self.pure[nodes]
                low, high = factor[0][pure], factor[2][pure]
                low, high = np.minimum(low, high), np.maximum(low, high)
                f = rest[4][pure]
                combined[pure] = np.where(f >= 0, low * f, high * f)
            return [plain, mixed, whole, part, combined]

        batch = vectors[0].shape[1]
        leaves = [same_in_columns(self.values.channel(name), batch) for name in names]
        if goal != "consistent":
            leaves.append(functional(leaves[0], leaves[1]))
        roots = [channel[self.layers.root] for channel in sweep(self.layers, leaves, add, multiply)]
        if goal == "consistent":
            return roots[0] - value, np.ones_like(roots[0])
        return roots[4], roots[0] + roots[1]


def relaxation(
    circuit: Circuit, question: int, weights: Weights, corners: Sequence[Corners]
) -> Relaxation | None:
    """The part of a circuit for a question; None if a sum is over more than one credal choice."""
    layers = circuit.below(question)
    owner = np.full(len(weights) + 1, -1)
    for index, corner in enumerate(corners):
        owner[corner.leaves] = index
    for layer in layers.layers:
        if len(layer.sums) and not _one_owner(owner[layer.weights], layer.starts):
            return None
    (pure,) = sweep(
        layers,
        [np.isin(circuit.values.kinds & MODELS, (0, QE, OTHER))],
        lambda layer, below: [np.logical_and.reduceat(below[0], layer.starts)],
        lambda _, left, right: [left[0] & right[0]],
    )
    return Relaxation(layers, circuit.values, pure, weights, tuple(corners))


def _one_owner(owners: Integers, starts: Integers) -> bool:
    """Whether the edges of each sum have the weights of at most one credal choice."""
    most = np.maximum.reduceat(owners, starts)
    least = np.minimum.reduceat(np.where(owners < 0, np.iinfo(np.int64).max, owners), starts)
    return bool(np.all((most < 0) | (most == least)))


QueuedBox = tuple[float, int, Integers]  # its bound, a number that settles ties, and the box
Score = Callable[[Weights], Weights]  # the value to minimise, for weights [leaves, batch]


@dataclass(frozen=True, slots=True)
class Extreme:
    """The smallest value, and the corners that attain it.

    If a limit stopped the search, it is the smallest one found, and none is below ``bound``.
    """

    value: float
    pick: Integers
    bound: float
    stopped: LimitReached | None = None


# A box to explore, the best value known so far, and the corners that attain it.
OpenBox = tuple[Integers, float, Integers]

# Lets the workers of a pool explore boxes, and yields their results in the same order.
Share = Callable[[list[OpenBox]], Generator[Extreme, None, None]]


class Search:
    """The best value known, the corners that attain it, and the steps of the search."""

    def __init__(self, relaxed: Relaxation, goal: BoundGoal, score: Score, watch: Watch) -> None:
        self.relaxed = relaxed
        self.goal = goal
        self.score = score
        self.watch = watch
        self.started = watch.elapsed()
        self.sizes = [len(corner.points) for corner in relaxed.corners]
        self.best = math.inf
        self.given_up = math.inf  # a lower bound on the boxes in which workers were stopped
        self.pick = np.zeros(len(self.sizes), dtype=np.int64)

    def run(self, share: Share | None = None) -> Extreme:
        """The smallest score over all extreme distributions.

        The share of them that is ruled out is reported to the watch. If there are many boxes,
        ``share`` lets workers explore them.
        """
        return self.within(
            self.whole(), share, [np.zeros(len(self.sizes)), np.array(self.sizes) - 1]
        )

    def within(
        self, box: Integers, share: Share | None = None, starts: Sequence[Weights] = ()
    ) -> Extreme:
        """Search until nothing in a box is better than the best known value, or until a limit."""
        boxes: list[QueuedBox] = [(-np.inf, 0, box)]
        stopped = None
        try:
            for start in starts:
                self.improve(start.astype(np.int64))
            self.close(boxes, None if share is None else EXACT.parts)
            if share is not None and boxes and self.best > 0:
                stopped = self.hand_out(boxes, share)
        except LimitReached as limit:
            stopped = limit
        bound = float(self.best)
        if stopped is not None:
            left = [box for _, _, box in boxes]
            bound = min(bound, self.given_up, self.outer(left) if left else bound)
        return Extreme(float(self.best), self.pick, bound, stopped)

    def whole(self) -> Integers:
        """The box in which all choices are open."""
        return np.full(len(self.sizes), -1, dtype=np.int64)

    def hand_out(self, boxes: list[QueuedBox], share: Share) -> LimitReached | None:
        """Let workers explore the boxes; returns the limit that stopped one, if one did."""
        stopped = None
        boxes.sort(key=lambda box: box[:2])
        starts = [(box, float(self.best), self.pick) for _, _, box in boxes]
        with closing(share(starts)) as results:
            for number, closed in enumerate(results, 1):
                boxes.pop(0)
                if closed.value < self.best:
                    self.best, self.pick = closed.value, closed.pick
                if closed.stopped is not None:
                    stopped, self.given_up = closed.stopped, min(self.given_up, closed.bound)
                self.watch.report(number / len(starts), 1.0)
        return stopped

    def close(self, boxes: list[QueuedBox], most: int | None = None) -> None:
        """Explore the boxes, a heap, until none is left, or there are ``most``.

        If a limit stops this, the heap has all boxes that are still open.
        """
        order, left = count(1), 1.0
        while boxes and self.best > 0 and (most is None or len(boxes) < most):
            some = [heapq.heappop(boxes) for _ in range(min(EXACT.search_boxes, len(boxes)))]
            try:
                self.watch.check()
                inside = list(self.expand([box for _, _, box in some]))
            except LimitReached:
                boxes += some
                raise
            for bound, box in inside:
                heapq.heappush(boxes, (bound, next(order), box))
            left += sum(self.volume(box) for _, box in inside)
            left -= sum(self.volume(box) for _, _, box in some)
            self.watch.report(1.0 - left, 1.0)

    def volume(self, box: Integers) -> float:
        """The share of all vertices that are in a box."""
        return float(np.prod(np.where(box < 0, 1.0, 1.0 / np.array(self.sizes))))

    def outer(self, boxes: list[Integers]) -> float:
        """A lower bound on all scores in the boxes, and on the best one known."""
        now = self.watch.elapsed()
        low = self.halve([self.whole()], 0.0, np.inf)
        return self.halve(boxes, low, now + EXACT.grace + (now - self.started) / 10)

    def halve(self, boxes: list[Integers], low: float, until: float) -> float:
        """A lower bound on the scores in the boxes, raised from ``low`` by bisection."""
        high = float(self.best)
        columns = np.stack(boxes, axis=1)
        for _ in range(EXACT.halvings):
            if self.watch.elapsed() > until:
                break
            middle = (low + high) / 2
            below = self.bounds(columns, middle)[1]
            if np.any(below):
                high = middle
                columns = columns[:, below]  # the others are above all values still to be tried
            else:
                low = middle
        return low

    def expand(self, boxes: list[Integers]) -> Iterator[tuple[float, Integers]]:
        """The smaller boxes inside some boxes that may hold something better, with their bounds.

        A move (b, i, v) fixes the open choice i of box number b at its corner v.
        """
        moves = [
            (b, i, v)
            for b, box in enumerate(boxes)
            for i in np.flatnonzero(box < 0).tolist()
            for v in range(self.sizes[i])
        ]
        if not moves:
            return
        children = np.stack([boxes[b] for b, _, _ in moves], axis=1)
        for column, (_, i, v) in enumerate(moves):
            children[i, column] = v
        bounds, alive = self.bounds(children, self.best)
        before = self.best
        self.improve(self.guess(boxes[moves[int(np.argmin(bounds))][0]], moves, bounds))
        if self.best < before:
            bounds, alive = self.bounds(children, self.best)
        kept: list[dict[int, list[int]]] = [{} for _ in boxes]
        for column, (b, i, _) in enumerate(moves):
            kept[b].setdefault(i, []).extend([column] if alive[column] else [])
        for by_choice in kept:
            yield from self.inside(by_choice, children, bounds)

    def inside(
        self, by_choice: dict[int, list[int]], children: Integers, bounds: Weights
    ) -> Iterator[tuple[float, Integers]]:
        """What remains of one box; ``by_choice`` has the columns of its children that may win.

        If all corners of some choice lose, nothing remains. Choices with one corner left are fixed
        at it, all at once; otherwise the box is split by the choice that tightens the bounds most.
        """
        if not by_choice or not all(by_choice.values()):
            return
        forced = [(i, columns[0]) for i, columns in by_choice.items() if len(columns) == 1]
        if forced:
            box = children[:, forced[0][1]].copy()
            for i, column in forced:
                box[i] = children[i, column]
            if np.any(box < 0):
                yield max(float(bounds[column]) for _, column in forced), box
            else:
                self.improve(box)
            return
        means = {i: float(np.mean(bounds[columns])) for i, columns in by_choice.items()}
        for column in by_choice[max(means, key=means.__getitem__)]:
            if np.any(children[:, column] < 0):
                yield float(bounds[column]), children[:, column]
            else:
                self.improve(children[:, column])

    def bounds(self, boxes: Integers, value: float) -> tuple[Weights, NDArray[np.bool_]]:
        """Lower bounds on the functional, and which boxes may hold something below a value."""
        step = max(1, EXACT.held_numbers // len(self.relaxed.layers))
        parts = [
            self.relaxed.bound(boxes[:, at : at + step], self.goal, value)
            for at in range(0, boxes.shape[1], step)
        ]
        lowest = np.concatenate([bound for bound, _ in parts])
        scales = np.concatenate([scale for _, scale in parts])
        return lowest, lowest < -SLACK * scales

    def guess(self, box: Integers, moves: list[tuple[int, int, int]], bounds: Weights) -> Integers:
        """A point of a box: for each open choice, the corner with the smallest bound."""
        point, least = box.copy(), np.full(len(box), np.inf)
        for (_, i, v), bound in zip(moves, bounds.tolist(), strict=True):
            if box[i] < 0 and bound < least[i]:
                point[i], least[i] = v, bound
        return point

    def improve(self, point: Integers) -> None:
        """Move from a point to better ones while changing one choice helps; keep the best."""
        value = float(self.scores(point[:, np.newaxis])[0])
        moves = [(i, v) for i, size in enumerate(self.sizes) for v in range(size)]
        while True:
            if value < self.best:
                self.best, self.pick = value, point
            self.watch.check()
            near = np.repeat(point[:, np.newaxis], len(moves), axis=1)
            for column, (i, v) in enumerate(moves):
                near[i, column] = v
            values = self.scores(near)
            winner = int(np.argmin(values))
            if not values[winner] < value * (1 - STEP):
                return
            point, value = near[:, winner], float(values[winner])

    def scores(self, points: Integers) -> Weights:
        """The scores [points] at corners [credal choices, points]."""
        return self.score(self.relaxed.vectors(points, 0)[:-1])
