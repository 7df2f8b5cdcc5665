"""Best-first search for the most probable values of atoms.

A box is a partial assignment. Whatever completes it is at most as probable as a bound
of it, so the assignment that is looked at when no box has a larger bound is the best.

>>> from dpasp.limits import UNLIMITED
>>> def bounds(boxes):                               # value 0 has probability 0.3, value 1 0.7
...     factors = np.where(boxes == OPEN, 1.0, np.where(boxes == 0, 0.3, 0.7))
...     return factors.prod(axis=0), np.ones(boxes.shape[1], dtype=bool)
>>> best = best_first([range(2), range(2)], bounds, SearchLimits(UNLIMITED))
>>> best.assignments.tolist(), round(best.value, 9)
([[1, 1]], 0.49)
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from dpasp.circuits.layers import Integers
from dpasp.errors import LimitReached
from dpasp.inference.engines.tiny import too_improbable
from dpasp.inference.probable.best import CLOSE, MOST_TIES, Best
from dpasp.inference.probable.task import SearchLimits
from dpasp.semantics.leaves import Weights

TOGETHER = 16  # boxes that are looked into at the same time
OPEN = -1  # in a box: an atom without a value
DIVE = 8  # after so many looks without an assignment, the best box is completed to one
GRAIN = 1e-9  # among bounds that differ by less, relatively, the deepest box comes first

BoundedBatch = tuple[Weights, NDArray[np.bool_]]  # bounds, and what is possible at all [boxes]
BoundFunction = Callable[[Integers], BoundedBatch]  # of boxes [atoms, boxes]
Valued = tuple[float, tuple[int, ...]]  # an assignment after its value


def best_first(
    values: Sequence[range],
    bounds: BoundFunction,
    limits: SearchLimits,
    *,
    look_ahead: bool = False,
    tried: NDArray[np.integer] | None = None,
) -> Best:
    """The largest value, and all assignments that have it (some, if over MOST_TIES).

    ``values`` are those of each atom. ``bounds`` gives upper bounds for boxes [atoms, boxes],
    and whether anything in them is possible; an assignment's bound is its value. A
    box is split by its first open atom or, with ``look_ahead``, by the one that bounds most.
    ``tried`` are assignments [assignments, atoms] that may be good.

    Raises :class:`LimitReached` where the limits say so, or nothing was found in time, and
    :class:`InferenceError` where all values are lost in floating point.
    """
    start = np.full(len(values), OPEN, dtype=np.int64)
    boxes = _Boxes()
    boxes.push(float(bounds(start[:, np.newaxis])[0][0]), start)
    complete = [] if tried is None or not limits.at_any_time else _valued(tried, bounds)
    best, most = max((value for value, _ in complete), default=0.0), boxes.most
    try:
        for looks in itertools.count(1):
            if not boxes or boxes.most < best * (1 - CLOSE):
                break
            most = boxes.most
            limits.watch.check()
            if limits.at_any_time and not complete and looks % DIVE == 0:
                # So that there is something to give back when a limit is reached.
                complete += _dive(boxes.first, values, bounds)
                best = max((value for value, _ in complete), default=0.0)
            ties = sum(value >= best * (1 - CLOSE) for value, _ in complete)
            if ties > MOST_TIES and most <= best * (1 + 2 * GRAIN):
                break  # what is left can at most be more ties
            some = boxes.pop(TOGETHER)
            for value, box in some:
                if not np.any(box == OPEN):
                    complete.append((value, tuple(box.tolist())))
                    best = max(best, value)
            open_ = [box for _, box in some if np.any(box == OPEN)]
            for bound, box in _inside(open_, values, bounds, look_ahead):
                if bound >= best * (1 - CLOSE):
                    boxes.push(bound, box)
    except LimitReached:
        if not limits.at_any_time or not complete:
            raise
        return _best(complete, best, len(values), max(most, best))
    if not complete:  # the evidence is possible, so something was lost
        raise too_improbable("the most probable values", "all of them together")
    return _best(complete, best, len(values))


class _Boxes:
    """Boxes, the largest bound first; among like bounds the latest one, which is the deepest."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, float, Integers]] = []
        self._order = itertools.count(0, -1)

    def __len__(self) -> int:
        return len(self._heap)

    @property
    def most(self) -> float:
        """A bound of everything in the boxes."""
        return -self._heap[0][0]

    @property
    def first(self) -> Integers:
        """The box with the largest bound."""
        return self._heap[0][3]

    def push(self, bound: float, box: Integers) -> None:
        """Add a box with its bound."""
        heapq.heappush(self._heap, (-_coarse(bound), next(self._order), bound, box))

    def pop(self, count: int) -> list[tuple[float, Integers]]:
        """Take the first ``count`` boxes, with their bounds."""
        some = [heapq.heappop(self._heap) for _ in range(min(count, len(self._heap)))]
        return [(bound, box) for _, _, bound, box in some]


def _best(
    complete: Sequence[Valued],
    best: float,
    width: int,
    most: float | None = None,
) -> Best:
    """The assignments of ``width`` atoms whose value is the best, with no other above ``most``."""
    rows = sorted({row for value, row in complete if value >= best * (1 - CLOSE)})
    return Best(best, np.array(rows, dtype=np.int64).reshape(len(rows), width), most)


def _valued(rows: NDArray[np.integer], bounds: BoundFunction) -> list[Valued]:
    """The assignments that are possible, with their values."""
    value, possible = bounds(rows.T.astype(np.int64))
    return [
        (float(number), tuple(row))
        for number, row, kept in zip(value, rows.tolist(), possible, strict=True)
        if kept
    ]


def _dive(box: Integers, values: Sequence[range], bounds: BoundFunction) -> list[Valued]:
    """One assignment within a box: each open atom in turn takes the value of the largest bound.

    No assignment if that leads to something impossible.
    """
    bound = 0.0
    while np.any(box == OPEN):
        atom = int(np.flatnonzero(box == OPEN)[0])
        children = np.repeat(box[:, np.newaxis], len(values[atom]), axis=1)
        children[atom] = values[atom]
        upper, possible = bounds(children)
        if not possible.any():
            return []
        place = int(np.argmax(np.where(possible, upper, -1.0)))
        box, bound = children[:, place], float(upper[place])
    return [(bound, tuple(box.tolist()))]


def _inside(
    boxes: list[Integers], values: Sequence[range], bounds: BoundFunction, look_ahead: bool
) -> list[tuple[float, Integers]]:
    """The boxes that each box is split into, if they are possible, with their bounds."""
    moves = [
        (b, i, value)
        for b, box in enumerate(boxes)
        for i in np.flatnonzero(box == OPEN)[: None if look_ahead else 1].tolist()
        for value in values[i]
    ]
    if not moves:
        return []
    children = np.stack([boxes[b] for b, _, _ in moves], axis=1)
    for column, (_, i, value) in enumerate(moves):
        children[i, column] = value
    upper, possible = bounds(children)
    result = []
    for b in range(len(boxes)):
        by_atom: dict[int, list[int]] = {}
        for column, (owner, i, _) in enumerate(moves):
            if owner == b:
                by_atom.setdefault(i, []).append(column)
        worst = {i: float(upper[columns].sum()) for i, columns in by_atom.items()}
        chosen = by_atom[min(worst, key=worst.__getitem__)]
        result += [(float(upper[k]), children[:, k]) for k in chosen if possible[k]]
    return result


def _coarse(bound: float) -> float:
    """The bound, rounded up: bounds that differ by rounding errors only become the same."""
    return math.exp(math.ceil(math.log(bound) / GRAIN) * GRAIN) if bound > 0 else 0.0
