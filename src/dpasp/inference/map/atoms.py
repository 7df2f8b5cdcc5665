"""The most probable values of atoms, by best-first search.

A *box* is a partial assignment with a bound on the probability of all its completions. An
assignment is the best one when no box has a larger bound. There are two kinds of bounds:

- :class:`Marked`, for determined atoms: the circuit of the evidence has two additional leaves for
  each of them, true and false. Weights of 1 and 0 fix the value of an atom; for open atoms, a
  maximum replaces the sums over these leaves.
- :class:`Queries`, for any atoms: the probability of a partial assignment is itself a bound, under
  all semantics and with intervals. One circuit answers many such queries.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpasp.circuits import Circuit
from dpasp.circuits.layers import Integers, Layer, Layers, Numbers, same_in_columns, sweep
from dpasp.dataclass import dataclass
from dpasp.errors import LimitReached
from dpasp.ground.program import GroundQuery
from dpasp.inference.circuit import extremes, on_circuit, too_improbable
from dpasp.inference.map import CLOSE, MODES, VALUES, Best, MapTask, by_literal
from dpasp.inference.tuning import EXACT
from dpasp.limits import Watch
from dpasp.semantics.leaves import Weights
from dpasp.semantics.masses import ROUNDING, Masses
from dpasp.semantics.translate import translate

OPEN = -1  # the value of an open atom in a box
GRAIN = 1e-9  # if bounds differ by less than this share, the deepest box comes first


BoundedBatch = tuple[Weights, NDArray[np.bool_]]  # bounds, and which boxes are possible [boxes]
BoundFunction = Callable[[Integers], BoundedBatch]  # of boxes [atoms, boxes]
Valued = tuple[float, tuple[int, ...]]  # the probability of an assignment, and the assignment


def best_first(
    values: Sequence[range],
    bounds: BoundFunction,
    watch: Watch,
    *,
    at_any_time: bool = False,
    look_ahead: bool = False,
    tried: NDArray[np.integer] | None = None,
) -> Best:
    """The largest value, and all assignments that have it (only some, if over EXACT.ties).

    ``values`` has the possible values of each atom. ``bounds`` gives upper bounds for boxes
    [atoms, boxes], and whether anything in them is possible; the bound of an assignment is its
    value. A box is split by its first open atom or, with ``look_ahead``, by the one that lowers the
    bounds most. ``tried`` are promising assignments [assignments, atoms]. With ``at_any_time``, a
    limit ends the search with the best so far.

    Otherwise, or if nothing was found in time, it raises :class:`LimitReached`; and
    :class:`InferenceError` if all values are lost in floating point.
    """
    # The largest bound comes first; among similar bounds the latest one, which is the deepest.
    boxes: list[tuple[float, int, float, Integers]] = []
    order = itertools.count(0, -1)

    def push(bound: float, box: Integers) -> None:
        heapq.heappush(boxes, (-_coarse(bound), next(order), bound, box))

    start = np.full(len(values), OPEN, dtype=np.int64)
    push(float(bounds(start[:, np.newaxis])[0][0]), start)
    complete = [] if tried is None or not at_any_time else _valued(tried, bounds)
    best, most = max((value for value, _ in complete), default=0.0), -boxes[0][0]
    try:
        while boxes and -boxes[0][0] >= best * (1 - CLOSE):
            most = -boxes[0][0]
            watch.check()
            if at_any_time and not complete:
                # There should be an assignment to return when a limit is reached.
                complete += _dive(boxes[0][3], values, bounds)
                best = max((value for value, _ in complete), default=0.0)
            ties = sum(value >= best * (1 - CLOSE) for value, _ in complete)
            if ties > EXACT.ties and most <= best * (1 + 2 * GRAIN):
                break  # there can only be more ties
            count = min(EXACT.search_boxes, len(boxes))
            some = [heapq.heappop(boxes)[2:] for _ in range(count)]
            for value, box in some:
                if not np.any(box == OPEN):
                    complete.append((value, tuple(box.tolist())))
                    best = max(best, value)
            open_ = [box for _, box in some if np.any(box == OPEN)]
            for bound, box in _inside(open_, values, bounds, look_ahead):
                if bound >= best * (1 - CLOSE):
                    push(bound, box)
    except LimitReached:
        if not at_any_time or not complete:
            raise
        return _best(complete, best, len(values), max(most, best))
    if not complete:  # the evidence is possible, so masses were lost in floating point
        raise too_improbable("the most probable values", "all of them together")
    return _best(complete, best, len(values))


def _best(
    complete: Sequence[Valued],
    best: float,
    width: int,
    most: float | None = None,
) -> Best:
    """The assignments of ``width`` atoms with the best value; no other exceeds ``most``."""
    rows = sorted({row for value, row in complete if value >= best * (1 - CLOSE)})
    return Best(best, np.array(rows, dtype=np.int64).reshape(len(rows), width), most)


def _valued(rows: NDArray[np.integer], bounds: BoundFunction) -> list[Valued]:
    """The possible ones of some assignments, with their values."""
    value, possible = bounds(rows.T.astype(np.int64))
    return [
        (float(number), tuple(row))
        for number, row, kept in zip(value, rows.tolist(), possible, strict=True)
        if kept
    ]


def _dive(box: Integers, values: Sequence[range], bounds: BoundFunction) -> list[Valued]:
    """An assignment within a box: each open atom in turn takes the value with the largest bound.

    The list is empty if that leads to something impossible.
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
    """The possible boxes that each box is split into, with their bounds."""
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
    """The bound, rounded up so that bounds that differ only by rounding errors become equal."""
    return math.exp(math.ceil(math.log(bound) / GRAIN) * GRAIN) if bound > 0 else 0.0


MapGoal = Literal["value", "upper", "lower"]


@dataclass(frozen=True, slots=True)
class MarkedAtom:
    """An atom that is marked in a #map, with its twin, which is itself if it is never undefined.

    Each of the two has two leaves in the circuit: true and false.
    """

    atom: int
    twin: int

    @property
    def observed(self) -> tuple[int, ...]:
        """The atoms whose truth values together give its value."""
        return (self.atom,) if self.twin == self.atom else (self.atom, self.twin)

    def leaves(self, value: int) -> list[float]:
        """The weights of its leaves if it has a value (a position in VALUES) or is open."""
        if value == OPEN:
            return [1.0, 1.0] * len(self.observed)
        true, false = VALUES[value] is True, VALUES[value] is False
        bits = [true, not true] + ([not false, false] if len(self.observed) > 1 else [])
        return [float(bit) for bit in bits]

    @property
    def values(self) -> range:
        """Its values, as positions in VALUES."""
        return range(len(VALUES) if len(self.observed) > 1 else 2)


class Marked:
    """The circuit of the evidence alone, with leaves for the marked atoms (``marks``).

    ``total`` are the masses of the evidence.
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

    def run(
        self,
        goal: MapGoal,
        watch: Watch,
        at_any_time: bool,
        tried: NDArray[np.integer] | None = None,
    ) -> Best:
        """The best assignments, as positions in VALUES for each mark."""
        return best_first(
            [mark.values for mark in self.marks],
            lambda boxes: self.bounds(boxes, goal),
            watch,
            at_any_time=at_any_time,
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
        # The difference of two similar numbers is due to rounding.
        rounding = ROUNDING * float(self.total.a if goal == "upper" else self.total.b)
        whole = number + np.where(other > rounding, other, 0.0)
        return np.where(whole > 0, number / np.where(whole > 0, whole, 1.0), 1.0), some > 0

    def vectors(self, boxes: Integers) -> Weights:
        """The weights [leaves + 1, boxes], those of the marked atoms by their values."""
        marked = [leaves[row - OPEN].T for leaves, row in zip(self.leaves, boxes, strict=True)]
        fixed = np.repeat(self.weights[:, np.newaxis], boxes.shape[1], axis=1)
        return np.concatenate([fixed, *marked, np.ones((1, boxes.shape[1]))])

    def relaxed(self, channel: str, vectors: Weights) -> Weights:
        """The value of the root, with maxima in place of the sums that the marked atoms decide."""

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


def exclusive_sums(layers: Layers, first: int, last: int | None = None) -> NDArray[np.bool_]:
    """For each node, whether it is a sum that the marked atoms decide: only one term is not 0.

    The leaves of marked atoms are those from ``first`` on (before ``last``, if there are others),
    in pairs: true and false. The leaves that a node needs are a set of bits; two terms exclude each
    other if one needs a leaf of a pair and the other its partner.
    """

    def add(layer: Layer, below: Sequence[Numbers]) -> list[Numbers]:
        bits = [
            1 << weight - first if weight >= first and (last is None or weight < last) else 0
            for weight in layer.weights.tolist()
        ]
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
    """Whether one set has a leaf of a pair and the other its partner (bits 2i and 2i + 1)."""
    pairs = max(left.bit_length(), right.bit_length()) // 2 + 1
    even = (4**pairs - 1) // 3  # …010101
    return bool((left & even) << 1 & right or (right & even) << 1 & left)


PartialValues = tuple[int, ...]  # for each atom a position in VALUES, or OPEN


class Queries:
    """The lower and upper probabilities of partial assignments, each computed once."""

    def __init__(self, task: MapTask) -> None:
        self.asked = task.asked
        self.watch = task.watch
        self.task = task
        self.question = task.question
        self.atoms = list({literal.symbol: literal for literal in self.question.atoms}.values())
        twins = translate(task.asked.ground, task.asked.meaning.logic, self.watch).twins
        # A total choice without stable models may leave all atoms undefined.
        undefined = task.asked.meaning.holds_without_models(self.question.evidence)
        self.values = [
            range(3 if undefined or twins[literal.atom] != literal.atom else 2)
            for literal in self.atoms
        ]
        self._known: dict[PartialValues, tuple[float, float]] = {}

    def run(self) -> list[Best]:
        """The best assignments by upper and, under credal, by lower probability."""
        self._order()
        ends = (1,) if self.asked.meaning.maxent else (1, 0)
        bests: list[Best] = []
        for done, end in enumerate(ends):
            best = best_first(
                self.values,
                partial(self.bounds, end=end),
                self.asked.watch.share(len(ends) - done),
                at_any_time=self.task.at_any_time,
                tried=bests[0].assignments if bests else None,
            )
            bests.append(best)
        rows = [by_literal(self.question, self.atoms, best.assignments) for best in bests]
        return [
            Best(best.value, some[np.lexsort(some.T[::-1])] if some.size else some, best.most)
            for best, some in zip(bests, rows, strict=True)
        ]

    def bounds(self, boxes: Integers, end: int) -> BoundedBatch:
        """Upper bounds on the lower (0) or upper (1) probabilities, and what is possible."""
        keys = [tuple(box) for box in boxes.T.tolist()]
        self._ask(dict.fromkeys(key for key in keys if key not in self._known))
        ends = np.array([self._known[key] for key in keys]).reshape(len(keys), 2)
        return ends[:, end], ends[:, 1] > 0

    def _ask(self, boxes: Iterable[PartialValues]) -> None:
        """Compute the probabilities of some boxes with one circuit."""
        new = list(boxes)
        if not new:
            return
        asked = replace(
            self.asked.with_questions([self._query(box) for box in new]), watch=self.watch
        )
        evaluator = on_circuit(asked.ground, asked.meaning, watch=self.watch)
        for box, extreme in zip(new, extremes(asked, evaluator), strict=True):
            if extreme.stopped:
                raise extreme.stopped[0]
            self._known[box] = float(extreme.lower[0]), float(extreme.upper[0])

    def _query(self, box: PartialValues) -> GroundQuery:
        """The query whether the atoms have the values of a box, given the evidence."""
        literals = tuple(
            literal._replace(mode=MODES[VALUES[value]])
            for literal, value in zip(self.atoms, box, strict=True)
            if value != OPEN
        )
        return GroundQuery(literals, self.question.evidence, self.question.text, self.question.span)

    def _order(self) -> None:
        """Sort the atoms, the one with the most probable value first: fewer boxes stay open."""
        count = len(self.atoms)
        single = [(i, value) for i in range(count) for value in self.values[i]]
        boxes = np.full((count, len(single)), OPEN, dtype=np.int64)
        for column, (i, value) in enumerate(single):
            boxes[i, column] = value
        most = np.zeros(count)
        np.maximum.at(most, [i for i, _ in single], self.bounds(boxes, 1)[0])
        order = np.argsort(-most, kind="stable").tolist()
        self.atoms = [self.atoms[i] for i in order]
        self.values = [self.values[i] for i in order]
        self._known.clear()
