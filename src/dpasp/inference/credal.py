"""Exact extremes over many credal choices: branch and bound on a circuit.

A candidate is an extreme distribution for every credal choice, improved one choice
at a time. Relaxed bounds then prove that nothing is better, or say where to look:
every alternative of every open choice is bounded, those that cannot win are closed,
and the choice that tightens the bounds most is branched on.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count

import numpy as np
from numpy.typing import NDArray

from dpasp.inference.layers import Integers
from dpasp.inference.relax import Goal, Relaxation
from dpasp.limits import Watch
from dpasp.semantics.leaves import Weights

STEP = 1e-14  # a relative improvement below this is rounding
SLACK = 1e-13  # of the scale: what is rounding in a bound
TILE = 1 << 20  # numbers held at once: nodes times boxes
TOGETHER = 32  # boxes that are looked into at the same time

Score = Callable[[Weights], Weights]  # the value to minimise, for weights [leaves, batch]


@dataclass(frozen=True, slots=True)
class Extreme:
    """The smallest value, and the weights that attain it."""

    value: float
    weights: Weights


def minimise(relaxed: Relaxation, goal: Goal, score: Score, watch: Watch) -> Extreme:
    """The smallest score over all extreme distributions."""
    return _Search(relaxed, goal, score, watch).run()


class _Search:
    def __init__(self, relaxed: Relaxation, goal: Goal, score: Score, watch: Watch) -> None:
        self.relaxed = relaxed
        self.goal = goal
        self.score = score
        self.watch = watch
        self.sizes = [len(corner.points) for corner in relaxed.corners]
        self.best = np.inf
        self.pick = np.zeros(len(self.sizes), dtype=np.int64)

    def run(self) -> Extreme:
        """Search until every box is closed."""
        for start in (np.zeros(len(self.sizes)), np.array(self.sizes) - 1):
            self.improve(start.astype(np.int64))
        whole = np.full(len(self.sizes), -1, dtype=np.int64)
        order = count()
        boxes = [(-np.inf, next(order), whole)]
        while boxes and self.best > 0:
            self.watch.check()
            some = [heapq.heappop(boxes)[2] for _ in range(min(TOGETHER, len(boxes)))]
            for bound, box in self.expand(some):
                heapq.heappush(boxes, (bound, next(order), box))
        weights = self.relaxed.vectors(self.pick[:, np.newaxis], 0)[:-1, 0]
        return Extreme(float(self.best), weights)

    def expand(self, boxes: list[Integers]) -> Iterator[tuple[float, Integers]]:
        """The boxes inside some boxes that may hold something better, with their bounds."""
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
        bounds, alive = self.bounds(children)
        before = self.best
        self.improve(self.guess(boxes[moves[int(np.argmin(bounds))][0]], moves, bounds))
        if self.best < before:
            bounds, alive = self.bounds(children)
        kept: list[dict[int, list[int]]] = [{} for _ in boxes]
        for column, (b, i, _) in enumerate(moves):
            kept[b].setdefault(i, []).extend([column] if alive[column] else [])
        for by_choice in kept:
            yield from self.inside(by_choice, children, bounds)

    def inside(
        self, by_choice: dict[int, list[int]], children: Integers, bounds: Weights
    ) -> Iterator[tuple[float, Integers]]:
        """What is left of one box, given its children that may win, by choice."""
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

    def bounds(self, boxes: Integers) -> tuple[Weights, NDArray[np.bool_]]:
        """Lower bounds of the functional, and which boxes may hold something better."""
        step = max(1, TILE // len(self.relaxed.kinds))
        parts = [
            self.relaxed.bound(boxes[:, at : at + step], self.goal, self.best)
            for at in range(0, boxes.shape[1], step)
        ]
        found = np.concatenate([bound for bound, _ in parts])
        scales = np.concatenate([scale for _, scale in parts])
        return found, found < -SLACK * scales

    def guess(self, box: Integers, moves: list[tuple[int, int, int]], bounds: Weights) -> Integers:
        """A point of a box: for each open choice the corner with the smallest bound."""
        point, least = box.copy(), np.full(len(box), np.inf)
        for (_, i, v), bound in zip(moves, bounds.tolist(), strict=True):
            if box[i] < 0 and bound < least[i]:
                point[i], least[i] = v, bound
        return point

    def improve(self, point: Integers) -> None:
        """Walk from a point to better ones while changing one choice helps; keep the best."""
        value = float(self.scores(point[:, np.newaxis])[0])
        moves = [(i, v) for i, size in enumerate(self.sizes) for v in range(size)]
        while True:
            if value < self.best:
                self.best, self.pick = value, point
            near = np.repeat(point[:, np.newaxis], len(moves), axis=1)
            for column, (i, v) in enumerate(moves):
                near[i, column] = v
            values = self.scores(near)
            winner = int(np.argmin(values))
            if not values[winner] < value * (1 - STEP):
                return
            point, value = near[:, winner], float(values[winner])

    def scores(self, points: Integers) -> Weights:
        return self.score(self.relaxed.vectors(points, 0)[:-1])
