"""A circuit as torch operations, layer by layer, on any device.

Everything lies in one buffer [entries, batch]: the weights, a one, the constants at the
leaves, then the nodes. Every node is a sum of products of two earlier entries, so a layer
is two gathers, a product and a sum over segments; the backward pass is the same in
reverse. Sums run over sorted segments, so a GPU too gives the same bits on every run.

A *channel* is a function of a total choice that is summed with its probability: one buffer
each. Most channels multiply over independent parts; c and d have a product rule of their own
(:data:`DERIVED`), so that nothing is ever subtracted.
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
Buffers = dict[str, Tensor]  # of each channel [entries, batch]

QE, E, OTHER = 1, 2, 4  # kinds of models: of query and evidence, of evidence only, others

# The channels that follow from two others: at a product of two parts,
#     value = value₁ · whole₂ + query₁ · value₂
# where ``whole`` and ``query`` are the two others, in this order (docs/circuits.md says why).
DERIVED = {"c": ("all are e", "all are e, some qe"), "d": ("some e", "all e are qe")}


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
    """Products ``left * right`` of entries, summed into the nodes.

    The first ``edges`` of them multiply a weight by a child, the others two children.
    """

    edges: int
    left: Tensor
    right: Tensor
    up: Sums  # products into nodes
    down: Sums  # adjoints of left factors, then of right ones, into entries

    def to(self, device: torch.device) -> Layer:
        """The same on a device."""
        left, right = self.left.to(device), self.right.to(device)
        return Layer(self.edges, left, right, self.up.to(device), self.down.to(device))

    def forward(self, buffers: Buffers) -> None:
        """Add the products to the nodes, in every channel."""
        products = {name: self._products(name, buffers) for name in buffers}
        for name, buffer in buffers.items():
            self.up.add(buffer, products[name])

    def _products(self, name: str, buffers: Buffers) -> Tensor:
        left, right = self._factors(buffers[name])
        if name not in DERIVED:
            return left * right
        whole, query = (self._factors(buffers[other]) for other in DERIVED[name])
        n = self.edges
        of_products = left[n:] * whole[1][n:] + query[0][n:] * right[n:]
        return torch.cat([left[:n] * right[:n], of_products])

    def _factors(self, buffer: Tensor) -> tuple[Tensor, Tensor]:
        return buffer.index_select(0, self.left), buffer.index_select(0, self.right)

    def backward(self, buffers: Buffers, adjoints: Buffers) -> None:
        """Add to the adjoints of the factors what those of the nodes make of them."""
        by_left: dict[str, Tensor] = {}
        by_right: dict[str, Tensor] = {}
        for name, buffer in buffers.items():
            above = buffer.new_empty(len(self.left), buffer.shape[1])
            above[self.up.order] = adjoints[name].index_select(0, self.up.rows)
            left, right = self._factors(buffer)
            if name not in DERIVED:
                _accumulate(by_left, name, above * right)
                _accumulate(by_right, name, above * left)
                continue
            n, (whole, query) = self.edges, DERIVED[name]
            none, some = torch.zeros_like(above[:n]), above[n:]
            own_left = some * self._factors(buffers[whole])[1][n:]
            own_right = some * self._factors(buffers[query])[0][n:]
            _accumulate(by_left, name, torch.cat([above[:n] * right[:n], own_left]))
            _accumulate(by_right, name, torch.cat([above[:n] * left[:n], own_right]))
            _accumulate(by_left, query, torch.cat([none, some * right[n:]]))
            _accumulate(by_right, whole, torch.cat([none, some * left[n:]]))
        for name, adjoint in adjoints.items():
            self.down.add(adjoint, torch.cat([by_left[name], by_right[name]]))


def _accumulate(total: dict[str, Tensor], name: str, more: Tensor) -> None:
    total[name] = total[name] + more if name in total else more


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
        found = []
        for field in fields:  # one after the other: a GPU has to hold the buffers of one only
            buffers = self._forward(weights, field)
            found.append(buffers[field].index_select(0, self.roots))
        return torch.stack(found, dim=1)

    def gradient(
        self, weights: Tensor, seeds: Tensor, fields: tuple[str, ...]
    ) -> tuple[Tensor, Tensor]:
        """The masses, and the gradient of Σ seeds · masses by the weights."""
        masses, total = [], torch.zeros_like(weights)
        for i, field in enumerate(fields):
            buffers = self._forward(weights, field)
            masses.append(buffers[field].index_select(0, self.roots))
            total += self._backward(buffers, field, seeds[:, i])
        return torch.stack(masses, dim=1), total

    def _forward(self, weights: Tensor, field: str) -> Buffers:
        """The buffers of a channel and of those that it follows from."""
        buffers = {name: self._start(weights, name) for name in (field, *DERIVED.get(field, ()))}
        for layer in self.layers:
            layer.forward(buffers)
        return buffers

    def _start(self, weights: Tensor, channel: str) -> Tensor:
        """The buffer of a channel with all but its nodes filled in."""
        leaves, batch = weights.shape
        buffer = weights.new_zeros(self.entries, batch)
        buffer[:leaves] = weights
        buffer[leaves] = 1.0
        constants = self._constants(channel)
        buffer[leaves + 1 : leaves + 1 + len(constants)] = constants.to(weights.dtype)[:, None]
        return buffer

    def _constants(self, channel: str) -> Tensor:
        """What a channel is at the constants."""
        if channel in ("qe", "e"):
            return self.qe if channel == "qe" else self.e
        kinds = self.kinds
        query, evidence, other = ((kinds & kind) != 0 for kind in (QE, E, OTHER))
        chosen = {
            "consistent": kinds != 0,
            "a": kinds == QE,
            "b": query,
            "c": kinds == E,
            "d": evidence,
            "some e": query | evidence,
            "all e are qe": query & ~evidence,
            "all are e": (kinds != 0) & ~other,
            "all are e, some qe": query & ~other,
        }[channel]
        return chosen.to(self.qe.dtype)

    def _backward(self, buffers: Buffers, field: str, seeds: Tensor) -> Tensor:
        adjoints = {name: torch.zeros_like(buffer) for name, buffer in buffers.items()}
        adjoints[field].index_add_(0, self.roots, seeds)
        for layer in reversed(self.layers):
            layer.backward(buffers, adjoints)
        return torch.stack([adjoint[: self.leaves] for adjoint in adjoints.values()]).sum(dim=0)


def _layer(left: list[Integers], right: list[Integers], node: list[Integers]) -> Layer:
    ends = [np.concatenate(part) for part in (left, right)]
    both = np.concatenate(ends)
    first, second = map(torch.from_numpy, ends)
    return Layer(len(left[0]), first, second, Sums.by(np.concatenate(node)), Sums.by(both))


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
