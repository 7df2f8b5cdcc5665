"""Best-first search for the most probable values of atoms.

A box is a partial assignment. Whatever completes it is at most as probable as a bound
of it, so the assignment that is looked at when no box has a larger bound is the best. For
atoms that the choices determine, the bounds are those of :class:`Marked`.

>>> from dpasp.limits import UNLIMITED
>>> def bounds(boxes):                               # value 0 has probability 0.3, value 1 0.7
...     factors = np.where(boxes == OPEN, 1.0, np.where(boxes == 0, 0.3, 0.7))
...     return factors.prod(axis=0), np.ones(boxes.shape[1], dtype=bool)
>>> best = best_first([range(2), range(2)], bounds, Search(UNLIMITED))
>>> best.assignments.tolist(), round(best.value, 9)
([[1, 1]], 0.49)
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpasp.circuits import Circuit
from dpasp.circuits.layers import Integers, Layer, Layers, Numbers, same_in_columns, sweep
from dpasp.errors import LimitReached
from dpasp.inference.engines.tiny import too_improbable
from dpasp.inference.probable.best import CLOSE, MOST_TIES, VALUES, Best
from dpasp.inference.probable.task import Search
from dpasp.semantics.leaves import Weights
from dpasp.semantics.masses import Masses

TOGETHER = 16  # partial assignments that are looked into at the same time
OPEN = -1
DIVE = 8  # looks into boxes without an assignment, after which one is made of the best box
GRAIN = 1e-9  # bounds that differ by less, relatively, are looked at deepest first

MapGoal = Literal["value", "upper", "lower"]


@dataclass(frozen=True, slots=True)
class MarkedAtom:
    """A marked atom with its twin; each observed atom has two leaves, true and false."""

    atom: int
    twin: int

    @property
    def observed(self) -> tuple[int, ...]:
        """The atoms that say its value."""
        return (self.atom,) if self.twin == self.atom else (self.atom, self.twin)

    def leaves(self, value: int) -> list[float]:
        """The weights of its leaves when it has a value (a position in VALUES) or is open."""
        if value == OPEN:
            return [1.0, 1.0] * len(self.observed)
        true, false = VALUES[value] is True, VALUES[value] is False
        bits = [true, not true] + ([not false, false] if len(self.observed) > 1 else [])
        return [float(bit) for bit in bits]

    @property
    def values(self) -> range:
        """Its values, as positions in VALUES."""
        return range(len(VALUES) if len(self.observed) > 1 else 2)


BoundedBatch = tuple[Weights, NDArray[np.bool_]]
BoundFunction = Callable[[Integers], BoundedBatch]


def best_first(
    values: Sequence[range],
    bounds: BoundFunction,
    search: Search,
    *,
    look_ahead: bool = False,
    tried: NDArray[np.integer] | None = None,
) -> Best:
    """The largest value, and all assignments that have it (some, if over MOST_TIES).

    ``values`` are those of each atom. ``bounds`` gives upper bounds for boxes [atoms, boxes],
    and whether anything in them is possible; an assignment's bound is its value. A
    box is split by its first open atom or, with ``look_ahead``, by the one that bounds most.
    ``tried`` are assignments [assignments, atoms] that may be good.
    """
    order = itertools.count(0, -1)  # among like bounds the latest first: it is the deepest
    start = np.full(len(values), OPEN, dtype=np.int64)
    bound = most = float(bounds(start[:, np.newaxis])[0][0])
    boxes = [(-_coarse(bound), next(order), bound, start)]
    complete = [] if tried is None or not search.at_any_time else _valued(tried, bounds)
    best, looks = max((value for value, _ in complete), default=0.0), 0
    try:
        while boxes and -boxes[0][0] >= best * (1 - CLOSE):
            most, looks = -boxes[0][0], looks + 1
            search.watch.check()
            if search.at_any_time and not complete and looks % DIVE == 0:
                complete += _dive(boxes[0][3], values, bounds)
                best = max((value for value, _ in complete), default=0.0)
            ties = sum(value >= best * (1 - CLOSE) for value, _ in complete)
            if ties > MOST_TIES and -boxes[0][0] <= best * (1 + 2 * GRAIN):
                break
            some = [heapq.heappop(boxes) for _ in range(min(TOGETHER, len(boxes)))]
            for _, _, value, box in some:
                if not np.any(box == OPEN):
                    complete.append((value, tuple(box.tolist())))
                    best = max(best, value)
            open_ = [box for _, _, _, box in some if np.any(box == OPEN)]
            for bound, box in _inside(open_, values, bounds, look_ahead):
                if bound >= best * (1 - CLOSE):
                    heapq.heappush(boxes, (-_coarse(bound), next(order), bound, box))
    except LimitReached:
        if not search.at_any_time or not complete:
            raise
        return _best(complete, best, len(values), max(most, best))
    if not complete:  # the evidence is possible, so something was lost
        raise too_improbable("the most probable values", "all of them together")
    return _best(complete, best, len(values))


def _best(
    complete: Sequence[tuple[float, tuple[int, ...]]],
    best: float,
    width: int,
    most: float | None = None,
) -> Best:
    rows = sorted({row for value, row in complete if value >= best * (1 - CLOSE)})
    return Best(best, np.array(rows, dtype=np.int64).reshape(len(rows), width), most)


def _valued(
    rows: NDArray[np.integer], bounds: BoundFunction
) -> list[tuple[float, tuple[int, ...]]]:
    """Assignments with their values."""
    value, possible = bounds(rows.T.astype(np.int64))
    return [
        (float(number), tuple(row))
        for number, row, kept in zip(value, rows.tolist(), possible, strict=True)
        if kept
    ]


def _dive(
    box: Integers, values: Sequence[range], bounds: BoundFunction
) -> list[tuple[float, tuple[int, ...]]]:
    """An assignment within a box, by the value of one atom after the other that bounds least."""
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
    """The boxes that each box is split into, if they are possible."""
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


class Marked:
    """The circuit of the evidence alone, with leaves for the marked atoms.

    A maximum in place of the sums over these leaves bounds all that completes a box.
    """

    def __init__(
        self,
        circuit: Circuit,
        weights: Weights,
        marks: Sequence[MarkedAtom],
        total: Masses,
    ) -> None:
        self.layers = circuit.below(0)
        self.values = circuit.values
        self.weights = weights
        self.marks = marks
        self.total = total
        self.leaves = [
            np.array([mark.leaves(value) for value in (OPEN, *mark.values)]) for mark in marks
        ]
        self.exclusive = exclusive_sums(self.layers, len(weights))

    def run(self, goal: MapGoal, search: Search, tried: NDArray[np.integer] | None = None) -> Best:
        """The best assignments."""
        values = [mark.values for mark in self.marks]
        return best_first(
            values,
            lambda boxes: self.bounds(boxes, goal),
            search,
            look_ahead=True,
            tried=tried,
        )

    def bounds(self, boxes: Integers, goal: MapGoal) -> BoundedBatch:
        """Upper bounds for the boxes [marks, boxes], and whether anything in them is possible."""
        vectors = self.vectors(boxes)
        if goal == "value":
            mass = self.relaxed("qe", vectors)
            return mass / float(self.total.e), mass > 0
        every, some = self.relaxed("a", vectors), self.relaxed("b", vectors)
        if goal == "upper":
            other = np.maximum(0.0, float(self.total.a) - every)
            number = some
        else:
            other = np.maximum(0.0, float(self.total.b) - some)
            number = every
        whole = number + other
        return np.where(whole > 0, number / np.where(whole > 0, whole, 1.0), 1.0), some > 0

    def vectors(self, boxes: Integers) -> Weights:
        """The weights [leaves + 1, boxes], those of the marked atoms by their values."""
        marked = [leaves[row - OPEN].T for leaves, row in zip(self.leaves, boxes, strict=True)]
        fixed = np.repeat(self.weights[:, np.newaxis], boxes.shape[1], axis=1)
        return np.concatenate([fixed, *marked, np.ones((1, boxes.shape[1]))])

    def relaxed(self, channel: str, vectors: Weights) -> Weights:
        """The value of the root with a maximum in place of sums that the marked atoms decide."""

        def add(layer: Layer, below: Sequence[Numbers]) -> list[Numbers]:
            terms = vectors[layer.weights] * below[0]
            sums, decided = layer.sum(terms), self.exclusive[layer.sums]
            if decided.any():
                sums[decided] = np.maximum.reduceat(terms, layer.starts)[decided]
            return [sums]

        def multiply(_: Layer, left: Sequence[Numbers], right: Sequence[Numbers]) -> list[Numbers]:
            return [left[0] * right[0]]

        leaves = same_in_columns(self.values.channel(channel), vectors.shape[1])
        (values,) = sweep(self.layers, [leaves], add, multiply)
        root: Weights = values[self.layers.root]
        return root


def exclusive_sums(layers: Layers, first: int) -> NDArray[np.bool_]:
    """By node: a sum of which, whatever values the marked atoms take, one term at most is not 0.

    The leaves of marked atoms are those from ``first`` on, in pairs: true and false. What
    a node needs of them is a set of bits; two terms that need both of a pair exclude
    each other.
    """

    def add(layer: Layer, below: Sequence[Numbers]) -> list[Numbers]:
        bits = [1 << weight - first if weight >= first else 0 for weight in layer.weights.tolist()]
        terms = below[0] | np.array(bits, dtype=object)
        apart = [
            all(_exclude(x, y) for x, y in itertools.combinations(terms[start:end], 2))
            for start, end in itertools.pairwise([*layer.starts.tolist(), len(terms)])
        ]
        return [np.bitwise_and.reduceat(terms, layer.starts), np.array(apart, dtype=np.bool_)]

    def multiply(_: Layer, left: Sequence[Numbers], right: Sequence[Numbers]) -> list[Numbers]:
        return [left[0] | right[0], np.zeros(len(left[0]), dtype=np.bool_)]

    values = int(layers.value.max(initial=-1)) + 1
    nothing = [np.zeros(values, dtype=object), np.zeros(values, dtype=np.bool_)]
    _, exclusive = sweep(layers, nothing, add, multiply)
    return exclusive


def _exclude(left: int, right: int) -> bool:
    """Whether one needs a leaf of a pair and the other its partner (bits 2i and 2i + 1)."""
    pairs = max(left.bit_length(), right.bit_length()) // 2 + 1
    even = (4**pairs - 1) // 3  # …010101
    return bool((left & even) << 1 & right or (right & even) << 1 & left)


def _coarse(bound: float) -> float:
    """The bound, rounded up, so that rounding errors do not order what is alike."""
    return math.exp(math.ceil(math.log(bound) / GRAIN) * GRAIN) if bound > 0 else 0.0
