"""Exact extremes over many credal choices: branch and bound on a circuit.

A candidate is an extreme distribution for every credal choice, improved one choice
at a time. Relaxed bounds then prove that nothing is better, or say where to look:
every alternative of every open choice is bounded, those that cannot win are closed,
and the choice that tightens the bounds most is branched on. When a limit stops the search,
the best so far is on one side of the extreme, and a bound of all that is open on the other.

>>> from dpasp.inference.asked import ask
>>> from dpasp.language import parse
>>> from dpasp.logic import ground
>>> from dpasp.semantics.meaning import Meaning
>>> from dpasp.circuits import compile
>>> from dpasp.inference.credal.relax import relaxation
>>> from dpasp.inference.credal.vertices import corners
>>> from dpasp.limits import UNLIMITED
>>> asked = ask(ground(parse("[0.2, 0.4]::a. 0.5::b. c :- a, b. #query c.")), Meaning())
>>> circuit = compile(asked.ground, asked.meaning)
>>> relaxed = relaxation(circuit, 0, asked.weights, corners(asked.ground))
>>> extreme = minimise(relaxed, "lower", lambda weights: weights[0] * weights[2], UNLIMITED)
>>> extreme.value, extreme.weights
(0.1, array([0.2, 0.8, 0.5, 0.5]))
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from itertools import count

import numpy as np
from numpy.typing import NDArray

from dpasp.circuits.layers import Integers
from dpasp.dataclass import dataclass
from dpasp.errors import LimitReached
from dpasp.inference.credal.relax import BoundGoal, Relaxation
from dpasp.limits import Watch
from dpasp.semantics.leaves import Weights

STEP = 1e-14  # a relative improvement below this is rounding
SLACK = 1e-13  # what may be rounding in a bound, as a share of its scale
TILE = 1 << 20  # numbers held at once: nodes times boxes
TOGETHER = 32  # boxes that are looked into at the same time
GRACE = 0.1  # once stopped, so many seconds and a tenth of the time taken improve the bound
HALVINGS = 24  # steps of bisection on the way to a bound

SHARED = 64  # boxes that are worth being shared by a pool

QueuedBox = tuple[float, int, Integers]  # its bound, a number that settles ties, and the box
Score = Callable[[Weights], Weights]  # the value to minimise, for weights [leaves, batch]


@dataclass(frozen=True, slots=True)
class Extreme:
    """The smallest value, and the weights that attain it.

    If a limit stopped the search it is the smallest found, and none is below ``bound``.
    """

    value: float
    weights: Weights
    bound: float
    stopped: LimitReached | None = None


@dataclass(frozen=True, slots=True)
class OpenBox:
    """A box to be looked into, with the best value that is known and the corners it is at."""

    box: Integers
    best: float
    pick: Integers


@dataclass(frozen=True, slots=True)
class ClosedBox:
    """The best value that is known now, the corners it is at, and a lower bound of the box."""

    best: float
    pick: Integers
    bound: float
    stopped: LimitReached | None = None


# Has boxes looked into by the workers of a pool, and gives them back in the same order.
Share = Callable[[list[OpenBox]], Generator[ClosedBox, None, None]]


def minimise(
    relaxed: Relaxation, goal: BoundGoal, score: Score, watch: Watch, share: Share | None = None
) -> Extreme:
    """The smallest score over all extreme distributions.

    The share of them that cannot be better than what was found is reported to the watch. When
    there are many boxes, ``share`` has them looked into by others.
    """
    return _Search(relaxed, goal, score, watch).run(share)


def close_box(
    relaxed: Relaxation, goal: BoundGoal, score: Score, watch: Watch, start: OpenBox
) -> ClosedBox:
    """Look into one box until nothing in it can be better."""
    search = _Search(relaxed, goal, score, watch)
    search.best, search.pick = start.best, start.pick
    boxes: list[QueuedBox] = [(-np.inf, 0, start.box)]
    try:
        search.close(boxes)
    except LimitReached as limit:
        bound = search.outer([box for _, _, box in boxes])
        return ClosedBox(search.best, search.pick, bound, limit)
    return ClosedBox(search.best, search.pick, search.best)


class _Search:
    """The best value that is known, the corners it is at, and the steps that look for better."""

    def __init__(self, relaxed: Relaxation, goal: BoundGoal, score: Score, watch: Watch) -> None:
        self.relaxed = relaxed
        self.goal = goal
        self.score = score
        self.watch = watch
        self.started = watch.elapsed()
        self.sizes = [len(corner.points) for corner in relaxed.corners]
        self.best = math.inf
        self.given_up = math.inf  # a lower bound of the boxes that workers were stopped in
        self.pick = np.zeros(len(self.sizes), dtype=np.int64)

    def run(self, share: Share | None = None) -> Extreme:
        """Search until every box is closed, or a limit is reached."""
        boxes: list[QueuedBox] = [(-np.inf, 0, self.whole())]
        stopped = None
        try:
            for start in (np.zeros(len(self.sizes)), np.array(self.sizes) - 1):
                self.improve(start.astype(np.int64))
            self.close(boxes, None if share is None else SHARED)
            if share is not None and boxes and self.best > 0:
                stopped = self.hand_out(boxes, share)
        except LimitReached as limit:
            stopped = limit
        weights = self.relaxed.vectors(self.pick[:, np.newaxis], 0)[:-1, 0]
        bound = float(self.best)
        if stopped is not None:
            left = [box for _, _, box in boxes]
            bound = min(bound, self.given_up, self.outer(left) if left else bound)
        return Extreme(float(self.best), weights, bound, stopped)

    def whole(self) -> Integers:
        """The box in which everything is open."""
        return np.full(len(self.sizes), -1, dtype=np.int64)

    def hand_out(self, boxes: list[QueuedBox], share: Share) -> LimitReached | None:
        """Let workers look into the boxes; returns the limit that stopped one, if one did."""
        stopped = None
        boxes.sort(key=lambda box: box[:2])
        starts = [OpenBox(box, float(self.best), self.pick) for _, _, box in boxes]
        with closing(share(starts)) as results:
            for number, closed in enumerate(results, 1):
                boxes.pop(0)
                if closed.best < self.best:
                    self.best, self.pick = closed.best, closed.pick
                if closed.stopped is not None:
                    stopped, self.given_up = closed.stopped, min(self.given_up, closed.bound)
                self.watch.report(number / len(starts), 1.0)
        return stopped

    def close(self, boxes: list[QueuedBox], most: int | None = None) -> None:
        """Look into the boxes, a heap, until none is left, or there are ``most``.

        When a limit stops it, the boxes are again all those that are still open.
        """
        order, left = count(1), 1.0
        while boxes and self.best > 0 and (most is None or len(boxes) < most):
            some = [heapq.heappop(boxes) for _ in range(min(TOGETHER, len(boxes)))]
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
        """A lower bound of all scores in the boxes, and of the best one known."""
        now = self.watch.elapsed()
        low = self.halve([self.whole()], 0.0, np.inf)
        return self.halve(boxes, low, now + GRACE + (now - self.started) / 10)

    def halve(self, boxes: list[Integers], low: float, until: float) -> float:
        """A lower bound of the scores in the boxes, raised from the bound ``low`` by bisection."""
        high = float(self.best)
        columns = np.stack(boxes, axis=1)
        for _ in range(HALVINGS):
            if self.watch.elapsed() > until:
                break
            middle = (low + high) / 2
            below = self.bounds(columns, middle)[1]
            if np.any(below):
                high = middle
                columns = columns[:, below]  # the others are above all that is still tried
            else:
                low = middle
        return low

    def expand(self, boxes: list[Integers]) -> Iterator[tuple[float, Integers]]:
        """The boxes inside some boxes that may hold something better, with their bounds.

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
        """What is left of one box; ``by_choice`` has the columns of its children that may win.

        A choice all of whose corners lose closes the box. Those with one corner left are fixed at
        it, all at once; otherwise the box is split by the choice that tightens the bounds most.
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
        """Lower bounds of the functional, and which boxes may hold something below a value."""
        step = max(1, TILE // len(self.relaxed.layers))
        parts = [
            self.relaxed.bound(boxes[:, at : at + step], self.goal, value)
            for at in range(0, boxes.shape[1], step)
        ]
        lowest = np.concatenate([bound for bound, _ in parts])
        scales = np.concatenate([scale for _, scale in parts])
        return lowest, lowest < -SLACK * scales

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
