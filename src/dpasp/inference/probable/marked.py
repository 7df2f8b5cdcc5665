"""The most probable values of atoms that the choices determine, on one circuit.

The circuit of the evidence has two more leaves for every marked atom: where it is true and where
it is false. Weights 1 and 0 at these leaves fix its value. A maximum in place of the sums over
them bounds all assignments that complete a partial one, for a best-first search.

>>> from dpasp.inference.asked import ask
>>> from dpasp.inference.engines.circuit import on_circuit
>>> from dpasp.inference.probable.task import MapTask
>>> from dpasp.language import parse
>>> from dpasp.logic import ground
>>> from dpasp.semantics.meaning import Meaning
>>> asked = ask(ground(parse("0.3::a. 0.6::b. #map a?.")), Meaning())
>>> task = MapTask(asked, 0, on_circuit(asked.ground, asked.meaning))
>>> atom = task.question.atoms[0].atom
>>> circuit = on_circuit(asked.ground, asked.meaning, observed=[atom]).circuit
>>> marked = Marked(circuit, task.weights, [MarkedAtom(atom, atom)], task.evidence_masses())
>>> best = marked.run("upper", task.search_limits())
>>> VALUES[best.assignments[0, 0]], best.value
(False, 0.7)
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpasp.circuits import Circuit
from dpasp.circuits.layers import Integers, Layer, Layers, Numbers, same_in_columns, sweep
from dpasp.dataclass import dataclass
from dpasp.inference.probable.best import VALUES, Best
from dpasp.inference.probable.search import OPEN, BoundedBatch, best_first
from dpasp.inference.probable.task import SearchLimits
from dpasp.semantics.leaves import Weights
from dpasp.semantics.masses import Masses

MapGoal = Literal["value", "upper", "lower"]


@dataclass(frozen=True, slots=True)
class MarkedAtom:
    """An atom that is marked in a #map, with its twin; both are one where it is never undefined.

    Each of the two has two leaves in the circuit: where it is true, and where it is false.
    """

    atom: int
    twin: int

    @property
    def observed(self) -> tuple[int, ...]:
        """The atoms whose truth together is its value."""
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
        self, goal: MapGoal, limits: SearchLimits, tried: NDArray[np.integer] | None = None
    ) -> Best:
        """The best assignments, as positions in VALUES for each mark."""
        values = [mark.values for mark in self.marks]
        return best_first(
            values,
            lambda boxes: self.bounds(boxes, goal),
            limits,
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
