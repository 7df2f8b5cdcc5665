"""Bounds on what a circuit can come to when some choices are still open.

Every sum of a circuit is over the values of one choice. Let each sum pick the
extreme distribution that suits it best, whatever the other sums of the same choice
pick, and the circuit computes a bound over all of them; where all sums of a choice
want the same one, as for monotone queries, the bound is attained.

The functional that is bounded is ``n - λ (n + o)`` for two masses n and o: it is
never negative exactly when n / (n + o) is at least λ everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpasp.inference.credal.vertices import Corners
from dpasp.inference.layers import OTHER, QE, Arrays, E, Integers, Layer, layers_below
from dpasp.semantics.leaves import Weights
from dpasp.semantics.masses import ROUNDING

Goal = Literal["lower", "upper", "consistent"]


@dataclass(frozen=True, slots=True)
class Relaxation:
    """The part of a circuit below one root, ready to be bounded."""

    layers: tuple[Layer, ...]
    kinds: Integers  # of leaves; -1 for other nodes
    pure: NDArray[np.bool_]  # nodes whose models all satisfy q and e, or else all not e
    root: int
    weights: Weights  # [leaves]; those of credal choices do not matter
    corners: tuple[Corners, ...]

    @property
    def always_consistent(self) -> bool:
        """Whether no total choice lacks a model, up to rounding."""
        missing, _ = self.bound(np.full((len(self.corners), 1), -1), "consistent", 1.0)
        return bool(missing[0] > -ROUNDING)

    def vectors(self, picks: Integers, turn: int) -> Weights:
        """The weights [leaves + 1, boxes] where open choices (-1) take the corner of a turn."""
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

    def bound(self, picks: Integers, goal: Goal, value: float) -> tuple[Weights, Weights]:
        """A lower bound of the functional for each box [credal choices, boxes], and its scale."""
        turns = max((len(corner.points) for corner in self.corners), default=1)
        vectors = [self.vectors(picks, turn) for turn in range(turns)]
        return _Pass(self, vectors, goal, value).run()


class _Pass:
    """One bottom-up pass: a lower bound for ``number`` and an upper one for ``other``.

    One of the two follows the product rule x·y, the other x·w(y) + q(x)·y with two
    helpers w and q: (a, d) with (E, F) for the lower probability, and (b, c) with
    (G, H) for the upper one.
    """

    def __init__(
        self, circuit: Relaxation, vectors: Sequence[Weights], goal: Goal, value: float
    ) -> None:
        self.circuit = circuit
        self.vectors = vectors
        self.goal = goal
        self.value = value
        shape = (len(circuit.kinds), vectors[0].shape[1])
        self.plain = np.zeros(shape)
        self.mixed, self.whole, self.query = (np.zeros(shape) for _ in range(3))
        self.functional = np.zeros(shape)
        self.take = np.minimum if goal == "upper" else np.maximum  # of mixed, whole and query
        self.give = np.maximum if goal == "upper" else np.minimum  # of plain

    def run(self) -> tuple[Weights, Weights]:
        """The bounds at the root."""
        leaves = np.flatnonzero(self.circuit.kinds >= 0)
        self._leaves(leaves, self.circuit.kinds[leaves])
        for layer in self.circuit.layers:
            if len(layer.sums):
                self._sums(layer)
            if len(layer.products):
                self._products(layer)
        root = self.circuit.root
        if self.goal == "consistent":
            return self.plain[root] - self.value, np.ones_like(self.plain[root])
        return self.functional[root], self.plain[root] + self.mixed[root]

    def _leaves(self, nodes: Integers, kinds: Integers) -> None:
        columns = {
            "consistent": (kinds != 0, kinds < 0, kinds < 0, kinds < 0),
            "lower": (kinds == QE, kinds & E, kinds & (QE | E), (kinds & QE) * (kinds & E == 0)),
            "upper": (
                kinds & QE,
                kinds == E,
                (kinds != 0) & (kinds & OTHER == 0),
                (kinds & OTHER == 0) & (kinds & QE != 0),
            ),
        }[self.goal]
        arrays = (self.plain, self.mixed, self.whole, self.query)
        for array, column in zip(arrays, columns, strict=True):
            array[nodes] = (column != 0)[:, np.newaxis]
        self.functional[nodes] = self._combine(self.plain[nodes], self.mixed[nodes])

    def _combine(self, plain: Weights, mixed: Weights) -> Weights:
        number, other = (mixed, plain) if self.goal == "upper" else (plain, mixed)
        return (1.0 - self.value) * number - self.value * other

    def _sums(self, layer: Layer) -> None:
        for array, better in (
            (self.plain, self.give),
            (self.mixed, self.take),
            (self.whole, self.take),
            (self.query, self.take),
            (self.functional, np.minimum),
        ):
            below = array[layer.children]
            best = np.add.reduceat(self.vectors[0][layer.weights] * below, layer.starts)
            for vector in self.vectors[1:]:
                one = np.add.reduceat(vector[layer.weights] * below, layer.starts)
                better(best, one, out=best)
            array[layer.sums] = best

    def _products(self, layer: Layer) -> None:
        x, y, here = layer.left, layer.right, layer.products
        self.plain[here] = self.plain[x] * self.plain[y]
        for array in (self.whole, self.query):
            array[here] = array[x] * array[y]
        self.mixed[here] = self.mixed[x] * self.whole[y] + self.query[x] * self.mixed[y]
        result = self._combine(self.plain[here], self.mixed[here])
        for factor, rest in ((x, y), (y, x)):
            pure = self.circuit.pure[factor]
            low, high = self.plain[factor[pure]], self.whole[factor[pure]]
            low, high = np.minimum(low, high), np.maximum(low, high)
            f = self.functional[rest[pure]]
            result[pure] = np.where(f >= 0, low * f, high * f)
        self.functional[here] = result


def relaxation(
    arrays: Arrays, root: int, weights: Weights, corners: Sequence[Corners]
) -> Relaxation | None:
    """The part of a circuit below a root; None if a sum is over more than one credal choice."""
    below = layers_below(arrays, root)
    owner = np.full(len(weights) + 1, -1)
    for index, corner in enumerate(corners):
        owner[corner.leaves] = index
    kinds = np.where(below.value >= 0, arrays["kinds"].astype(np.int64)[below.value], -1)
    pure = np.isin(kinds, (0, QE, OTHER))
    for layer in below.layers:
        if len(layer.sums):
            if not _one_owner(owner[layer.weights], layer.starts):
                return None
            pure[layer.sums] = np.logical_and.reduceat(pure[layer.children], layer.starts)
        pure[layer.products] = pure[layer.left] & pure[layer.right]
    return Relaxation(below.layers, kinds, pure, root, weights, tuple(corners))


def _one_owner(owners: Integers, starts: Integers) -> bool:
    """Whether the edges of each sum weigh by at most one credal choice."""
    most = np.maximum.reduceat(owners, starts)
    least = np.minimum.reduceat(np.where(owners < 0, np.iinfo(np.int64).max, owners), starts)
    return bool(np.all((most < 0) | (most == least)))
