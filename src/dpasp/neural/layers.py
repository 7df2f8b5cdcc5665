"""A circuit as torch operations, layer by layer, on any device.

Everything lies in one buffer [entries, batch]: the weights, a one, the constants at the
leaves, then the nodes. Every node is a sum of products of two earlier entries, so a layer
is two gathers, a product and a sum over segments; the backward pass is the same in
reverse. Sums run over sorted segments, so a GPU too gives the same bits on every run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Integers = NDArray[np.int64]
ROUNDING = 1e-15  # relative; a smaller difference of masses is 0

QE, E, OTHER = 1, 2, 4  # kinds of models: of query and evidence, of evidence only, others


@dataclass(frozen=True, slots=True)
class Sums:
    """Sums over sorted segments: what is at ``order[k]`` is added to the row ``rows[k]``."""

    order: Tensor
    rows: Tensor
    offsets: Tensor  # where the segments of equal rows begin, and the end
    target: Tensor  # the row of each segment

    @classmethod
    def by(cls, key: Integers) -> Sums:
        """Sums of the entries that have the same key."""
        order = np.argsort(key, kind="stable")
        target, starts, counts = np.unique(key[order], return_index=True, return_counts=True)
        rows = np.repeat(target, counts)
        offsets = np.append(starts, len(key)).astype(np.int64)
        return cls(*map(torch.from_numpy, (order, rows, offsets, target)))

    def to(self, device: torch.device) -> Sums:
        """The same on a device."""
        parts = (self.order, self.rows, self.offsets, self.target)
        return Sums(*(part.to(device) for part in parts))

    def add(self, total: Tensor, values: Tensor) -> None:
        """Add the sums of the values [entries, batch] to the rows of a total."""
        ordered = values.index_select(0, self.order)
        if values.device.type == "cpu":
            total.index_add_(0, self.rows, ordered)
        else:
            sums = torch.segment_reduce(ordered, "sum", offsets=self.offsets, axis=0, unsafe=True)
            total.index_add_(0, self.target, sums)  # the targets differ: no two writers


@dataclass(frozen=True, slots=True)
class Layer:
    """Products ``left * right`` of entries, summed into the nodes."""

    left: Tensor
    right: Tensor
    up: Sums  # products into nodes
    down: Sums  # adjoints of left factors, then of right ones, into entries

    def to(self, device: torch.device) -> Layer:
        """The same on a device."""
        left, right = self.left.to(device), self.right.to(device)
        return Layer(left, right, self.up.to(device), self.down.to(device))


@dataclass(frozen=True, slots=True)
class Layered:
    """A circuit in layers, with one root for each question."""

    leaves: int
    entries: int
    kinds: Tensor  # of the constants: which kinds of models there are,
    qe: Tensor  # and the shares of those that satisfy query and evidence,
    e: Tensor  # or the evidence
    layers: tuple[Layer, ...]
    roots: Tensor

    @property
    def questions(self) -> int:
        """How many questions it answers."""
        return len(self.roots)

    def to(self, device: torch.device) -> Layered:
        """The same circuit on a device."""
        return replace(
            self,
            kinds=self.kinds.to(device),
            qe=self.qe.to(device),
            e=self.e.to(device),
            layers=tuple(layer.to(device) for layer in self.layers),
            roots=self.roots.to(device),
        )

    def masses(self, weights: Tensor, fields: tuple[str, ...]) -> Tensor:
        """The masses [questions, fields, batch] under weights [leaves, batch]."""
        return torch.stack([self._mass(weights, field) for field in fields], dim=1)

    def gradient(
        self, weights: Tensor, seeds: Tensor, fields: tuple[str, ...]
    ) -> tuple[Tensor, Tensor]:
        """The masses, and the gradient of Σ seeds · masses by the weights."""
        masses, total = [], torch.zeros_like(weights)
        for i, field in enumerate(fields):
            value = weights.new_zeros(self.questions, weights.shape[1])
            for channel, sign in PARTS[field]:
                buffer = self._forward(weights, channel)
                value = value + sign * buffer.index_select(0, self.roots)
                total += self._backward(buffer, sign * seeds[:, i])
            masses.append(value)
        return torch.stack(masses, dim=1), total

    def _mass(self, weights: Tensor, field: str) -> Tensor:
        (first, _), *rest = PARTS[field]
        value = self._forward(weights, first).index_select(0, self.roots)
        for channel, _ in rest:
            other = self._forward(weights, channel).index_select(0, self.roots)
            value = torch.where(value - other > ROUNDING * value, value - other, 0.0)
        return value

    def _constants(self, channel: str) -> Tensor:
        kinds = self.kinds
        match channel:
            case "qe":
                return self.qe
            case "e":
                return self.e
            case "consistent":
                chosen = kinds != 0
            case "a":
                chosen = kinds == QE
            case "b":
                chosen = (kinds & QE) != 0
            case "some e":
                chosen = (kinds & (QE | E)) != 0
            case "all e are qe":
                chosen = ((kinds & QE) != 0) & ((kinds & E) == 0)
            case "all are e":
                chosen = (kinds != 0) & ((kinds & OTHER) == 0)
            case _:  # all are e, some are qe
                chosen = ((kinds & QE) != 0) & ((kinds & OTHER) == 0)
        return chosen.to(self.qe.dtype)

    def _forward(self, weights: Tensor, channel: str) -> Tensor:
        leaves, batch = weights.shape
        buffer = weights.new_zeros(self.entries, batch)
        buffer[:leaves] = weights
        buffer[leaves] = 1.0
        constants = self._constants(channel)
        buffer[leaves + 1 : leaves + 1 + len(constants)] = constants.to(weights.dtype)[:, None]
        for layer in self.layers:
            left, right = buffer.index_select(0, layer.left), buffer.index_select(0, layer.right)
            layer.up.add(buffer, left * right)
        return buffer

    def _backward(self, buffer: Tensor, seeds: Tensor) -> Tensor:
        adjoint = torch.zeros_like(buffer)
        adjoint.index_add_(0, self.roots, seeds)
        for layer in reversed(self.layers):
            above = seeds.new_empty(len(layer.left), seeds.shape[1])
            above[layer.up.order] = adjoint.index_select(0, layer.up.rows)
            by_left = above * buffer.index_select(0, layer.right)
            by_right = above * buffer.index_select(0, layer.left)
            layer.down.add(adjoint, torch.cat([by_left, by_right]))
        return adjoint[: self.leaves]


# What each mass is made of: channels that multiply over independent parts.
PARTS = {
    "consistent": (("consistent", 1.0),),
    "a": (("a", 1.0),),
    "b": (("b", 1.0),),
    "c": (("all are e", 1.0), ("all are e, some qe", -1.0)),
    "d": (("some e", 1.0), ("all e are qe", -1.0)),
    "qe": (("qe", 1.0),),
    "e": (("e", 1.0),),
}


def _layer(left: list[Integers], right: list[Integers], node: list[Integers]) -> Layer:
    ends = [np.concatenate(part) for part in (left, right)]
    both = np.concatenate(ends)
    first, second = map(torch.from_numpy, ends)
    return Layer(first, second, Sums.by(np.concatenate(node)), Sums.by(both))


def from_arrays(arrays: Mapping[str, NDArray[Any]], leaves: int) -> Layered:
    """The layers of a compiled circuit, given as its flat arrays."""
    op, begin, end = (arrays[name].astype(np.int64) for name in ("op", "begin", "end"))
    weight, child = arrays["weight"].astype(np.int64), arrays["child"].astype(np.int64)
    values = len(arrays["qe"])
    first = leaves + 1 + values
    place = first + np.arange(len(op), dtype=np.int64)
    place[op == 0] = leaves + 1 + begin[op == 0]
    layers = []
    for start, stop in zip(arrays["layers"][:-1], arrays["layers"][1:], strict=True):
        nodes = np.arange(start, stop)
        sums, products = nodes[op[nodes] == 1], nodes[op[nodes] == 2]
        counts = end[sums] - begin[sums]
        edges = np.repeat(begin[sums] - np.cumsum(counts) + counts, counts) + np.arange(
            counts.sum()
        )
        factors = np.where(weight[edges] < 0, leaves, weight[edges])
        left = [factors, place[child[begin[products]]]]
        right = [place[child[edges]], place[child[begin[products] + 1]]]
        node = [np.repeat(place[sums], counts), place[products]]
        if len(sums) + len(products):
            layers.append(_layer(left, right, node))
    return Layered(
        leaves,
        first + len(op),
        torch.from_numpy(np.array(arrays["kinds"])),
        torch.from_numpy(np.array(arrays["qe"])),
        torch.from_numpy(np.array(arrays["e"])),
        tuple(layers),
        torch.from_numpy(place[arrays["roots"].astype(np.int64)]),
    )
