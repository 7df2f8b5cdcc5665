"""Bounds on what a circuit can come to when some choices are still open.

Every sum of a circuit is over the values of one choice. Let each sum pick the
extreme distribution that suits it best, whatever the other sums of the same choice
pick, and the circuit computes a bound over all of them; where all sums of a choice
want the same one, as for monotone queries, the bound is attained.

The functional that is bounded is ``n - λ (n + o)`` for two masses n and o: it is
never negative exactly when n / (n + o) is at least λ everywhere. For the lower probability n is a
and o is d; for the upper one n is c and o is b, so that n / (n + o) is what is missing to 1.

A *box* fixes the corners of some credal choices and leaves the others open: it is written as the
number of a corner for each, -1 where the choice is open.

>>> from dpasp.inference.asked import ask
>>> from dpasp.language import parse
>>> from dpasp.logic import ground
>>> from dpasp.semantics.meaning import Meaning
>>> from dpasp.circuits import compile
>>> from dpasp.inference.credal.vertices import corners
>>> asked = ask(ground(parse("[0.2, 0.4]::a. 0.5::b. c :- a, b. #query c.")), Meaning())
>>> circuit = compile(asked.ground, asked.meaning)
>>> relaxed = relaxation(circuit, 0, asked.weights, corners(asked.ground))
>>> bound, _ = relaxed.bound(np.array([[-1]]), "lower", 0.1)     # the choice is open
>>> bool(bound[0] > -1e-12)                          # so that nowhere P(c) < 0.1
True
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpasp.circuits import Circuit
from dpasp.circuits.channels import MIXED, MODELS, OTHER, QE, LeafValues
from dpasp.circuits.layers import Integers, Layer, Layers, Numbers, same_in_columns, sweep
from dpasp.dataclass import dataclass
from dpasp.inference.credal.vertices import Corners
from dpasp.semantics.leaves import Weights
from dpasp.semantics.masses import ROUNDING

BoundGoal = Literal["lower", "upper", "consistent"]
LowerUpper = Sequence[Numbers]

# By goal, the mass that multiplies over products and the one with a mixed product rule.
MASSES = {"lower": ("a", "d"), "upper": ("b", "c")}


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
        """Whether every total choice has a model, as far as the bound shows, up to rounding."""
        missing, _ = self.bound(np.full((len(self.corners), 1), -1), "consistent", 1.0)
        return bool(missing[0] > -ROUNDING)

    def vectors(self, picks: Integers, turn: int) -> Weights:
        """The weights [leaves + 1, boxes] in which open choices take their corner number ``turn``.

        Choices with fewer corners begin again. The last weight, 1, is for edges without a leaf.
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
        """A lower bound of the functional with λ = ``value`` in each box, and its scale.

        ``picks`` are the boxes, [credal choices, boxes]. The scale is what rounding is relative
        to. For the goal "consistent" the functional is the consistent mass minus ``value``.
        """
        turns = max((len(corner.points) for corner in self.corners), default=1)
        vectors = [self.vectors(picks, turn) for turn in range(turns)]
        if goal == "consistent":
            return self._consistent(vectors, value)
        return _Bounded(self, vectors, goal, value).run()

    def _consistent(self, vectors: Sequence[Weights], value: float) -> tuple[Weights, Weights]:
        """The bound for the goal "consistent", and its scale."""
        leaves = same_in_columns(self.values.channel("consistent"), vectors[0].shape[1])
        (mass,) = sweep(
            self.layers,
            [leaves],
            lambda layer, below: [_best_sum(layer, below[0], vectors, np.minimum)],
            lambda _, left, right: [left[0] * right[0]],
        )
        least = mass[self.layers.root]
        return least - value, np.ones_like(least)


def _best_sum(
    layer: Layer, below: Numbers, vectors: Sequence[Weights], better: np.ufunc
) -> Numbers:
    """The sums of a layer, each under the weights that suit it best."""
    best = layer.sum(vectors[0][layer.weights] * below)
    for vector in vectors[1:]:
        better(best, layer.sum(vector[layer.weights] * below), out=best)
    return best


class _Bounded:
    """One sweep: a lower bound for one of the two masses and an upper bound for the other.

    The channels are the mass that multiplies, the mixed one with its two helpers, and
    the functional itself.
    """

    def __init__(
        self, circuit: Relaxation, vectors: Sequence[Weights], goal: BoundGoal, value: float
    ) -> None:
        self.circuit = circuit
        self.vectors = vectors
        self.goal = goal
        self.value = value
        # The number is to be small and the other one large.
        plain, mixed = (np.minimum, np.maximum) if goal == "lower" else (np.maximum, np.minimum)
        self.better = (plain, mixed, mixed, mixed, np.minimum)

    def run(self) -> tuple[Weights, Weights]:
        """The bounds at the root, and their scale."""
        plain, mixed = MASSES[self.goal]
        batch = self.vectors[0].shape[1]
        names = (plain, mixed, MIXED[mixed].whole, MIXED[mixed].part)
        leaves = [same_in_columns(self.circuit.values.channel(name), batch) for name in names]
        leaves.append(self.combine(leaves[0], leaves[1]))
        channels = sweep(self.circuit.layers, leaves, self.add, self.multiply)
        root = self.circuit.layers.root
        return channels[4][root], channels[0][root] + channels[1][root]

    def combine(self, plain: Weights, mixed: Weights) -> Weights:
        """The functional of the two masses."""
        number, other = (mixed, plain) if self.goal == "upper" else (plain, mixed)
        return (1.0 - self.value) * number - self.value * other

    def add(self, layer: Layer, below: LowerUpper) -> list[Numbers]:
        """The channels of the sums of a layer: each takes the corner that suits it best."""
        return [
            _best_sum(layer, channel, self.vectors, better)
            for channel, better in zip(below, self.better, strict=True)
        ]

    def multiply(self, layer: Layer, left: LowerUpper, right: LowerUpper) -> list[Numbers]:
        """The channels of the products of a layer.

        Where a factor is pure, the functional of the product is that of the other factor times
        the mass of the pure one: a better bound than what the bounds of the masses combine to.
        """
        plain, whole, part = (left[k] * right[k] for k in (0, 2, 3))
        mixed = left[1] * right[2] + left[3] * right[1]
        functional = self.combine(plain, mixed)
        for nodes, factor, rest in ((layer.left, left, right), (layer.right, right, left)):
            pure = self.circuit.pure[nodes]
            low, high = factor[0][pure], factor[2][pure]
            low, high = np.minimum(low, high), np.maximum(low, high)
            f = rest[4][pure]
            functional[pure] = np.where(f >= 0, low * f, high * f)
        return [plain, mixed, whole, part, functional]


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
    """Whether the edges of each sum weigh by at most one credal choice."""
    most = np.maximum.reduceat(owners, starts)
    least = np.minimum.reduceat(np.where(owners < 0, np.iinfo(np.int64).max, owners), starts)
    return bool(np.all((most < 0) | (most == least)))
