"""The most probable total choices of a circuit: sums become maxima.

Weights are divided by the largest of their choice first, so that a choice which a
branch leaves out counts for 1 there, as it should: its best value is taken. All numbers are
logarithms: the probability of one total choice among many is small.

>>> from dpasp.inference.asked import ask
>>> from dpasp.language import parse
>>> from dpasp.logic import ground
>>> from dpasp.semantics.meaning import Meaning
>>> from dpasp.circuits import compile
>>> asked = ask(ground(parse("0.3::a. 0.6::b. #mpe.")), Meaning())
>>> circuit = compile(asked.ground, asked.meaning)
>>> best = max_product(circuit.below(0), circuit.values.channel("b"), asked.layout, asked.weights)
>>> list(best.choices()), round(float(np.exp(best.value)), 9)
([(1, 0)], 0.42)
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from dpasp.circuits.layers import Layers, sweep
from dpasp.dataclass import dataclass
from dpasp.inference.probable.best import CLOSE
from dpasp.semantics.leaves import LeafLayout, Weights
from dpasp.semantics.total_choices import TotalChoice


@dataclass(frozen=True, slots=True)
class MaxProduct:
    """The best value below every node, for values of the leaves of a circuit."""

    below: Layers
    layout: LeafLayout
    scaled: Weights  # [leaves + 1]: 0 for the best value of each choice, and at the end
    factor: float  # what the scaling took out
    best: Weights  # [nodes]; this and the others are logarithms

    @property
    def value(self) -> float:
        """The logarithm of the largest P(θ) times the value of its leaf."""
        return float(self.best[self.below.root]) + self.factor

    def choices(self, every: bool = False) -> Iterator[TotalChoice]:
        """The total choices with the largest value; with ``every``, all whose value is not 0.

        From the root down along the edges that attain the best value: what is left to do is a
        list of the values taken so far, each with the nodes that are still to be expanded.
        """
        if np.isneginf(self.best[self.below.root]):
            return
        children, owners = self._edges(), self._owners()
        share = -np.inf if every else np.log1p(-CLOSE)  # of the best value: below it is no tie
        options = [
            [value for value, weight in enumerate(self.scaled[self.layout.of(i)]) if weight > share]
            for i in range(len(self.layout.starts) - 1)
        ]
        todo: list[tuple[dict[int, int], list[int]]] = [({}, [self.below.root])]
        while todo:
            taken, nodes = todo.pop()
            while nodes and children[nodes[-1]] is None:
                nodes.pop()
            if not nodes:
                free = [[taken[i]] if i in taken else values for i, values in enumerate(options)]
                yield from product(*free)
                continue
            node = nodes[-1]
            edges = children[node]
            assert edges is not None
            if isinstance(edges, tuple):
                todo.append((taken, [*nodes[:-1], *edges]))
                continue
            for weight, child in edges:
                if self.scaled[weight] + self.best[child] > share + self.best[node]:
                    more = taken if weight < 0 else taken | dict([owners[weight]])
                    todo.append((more, [*nodes[:-1], child]))

    def _edges(self) -> list[tuple[int, int] | list[tuple[int, int]] | None]:
        """By node: None for a leaf, two children of a product, edges of a sum."""
        result: list[tuple[int, int] | list[tuple[int, int]] | None] = [None] * len(self.below)
        for layer in self.below.layers:
            for node, left, right in zip(layer.products, layer.left, layer.right, strict=True):
                result[node] = (int(left), int(right))
            ends = np.append(layer.starts[1:], len(layer.children))[: len(layer.sums)]
            for node, start, end in zip(layer.sums, layer.starts, ends, strict=True):
                weights, nodes = layer.weights[start:end], layer.children[start:end]
                result[node] = list(zip(weights.tolist(), nodes.tolist(), strict=True))
        return result

    def _owners(self) -> list[tuple[int, int]]:
        """By leaf: the choice and its value."""
        starts = self.layout.starts
        return [
            (i, value) for i in range(len(starts) - 1) for value in range(starts[i + 1] - starts[i])
        ]


def max_product(below: Layers, values: Weights, layout: LeafLayout, weights: Weights) -> MaxProduct:
    """The best value below every node; ``values`` are those that leaves of the circuit have."""
    with np.errstate(divide="ignore"):
        scaled, known = np.log(np.append(weights, 1.0)), np.log(values)
    factor = 0.0
    for i in range(len(layout.starts) - 1):
        most = float(scaled[layout.of(i)].max())
        if most > -np.inf:  # all may be 0, where they are bounds and not probabilities
            scaled[layout.of(i)] -= most
        factor += most
    (best,) = sweep(
        below,
        [known],
        lambda layer, below_sum: [
            np.maximum.reduceat(scaled[layer.weights] + below_sum[0], layer.starts)
        ],
        lambda _, left, right: [left[0] + right[0]],
    )
    return MaxProduct(below, layout, scaled, factor, best)
