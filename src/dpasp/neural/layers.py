"""A circuit as torch operations, layer by layer, on any device.

Everything lies in one buffer [entries, batch]: the weights, a one, the constants at the
leaves, then the nodes. Every node is a sum of products of two earlier entries, so a layer
is two gathers, a product and a sum over segments; the backward pass is the same in
reverse. Sums run over sorted segments, so a GPU too gives the same bits on every run.
A mass whose product rule is mixed (see :mod:`dpasp.circuits.channels`) takes a buffer of
three channels: itself and the two that its rule uses. Nothing is subtracted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dpasp.circuits import Circuit
from dpasp.circuits.channels import CHANNELS, MIXED
from dpasp.circuits.layers import Layers

Integers = NDArray[np.int64]
CPU = torch.device("cpu")


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
class Tape:
    """What a sweep does: the layers over a buffer of so many entries, and where the roots are."""

    leaves: int
    entries: int
    layers: tuple[Layer, ...]
    roots: Tensor

    def to(self, device: torch.device) -> Tape:
        """The same on a device."""
        layers = tuple(layer.to(device) for layer in self.layers)
        return replace(self, layers=layers, roots=self.roots.to(device))

    def forward(self, weights: Tensor, constants: Tensor) -> Tensor:
        """The buffer [entries, batch] under weights [leaves, batch]."""
        leaves, batch = weights.shape
        buffer = weights.new_zeros(self.entries, batch)
        buffer[:leaves] = weights
        buffer[leaves] = 1.0
        buffer[leaves + 1 : leaves + 1 + len(constants)] = constants.to(weights.dtype)[:, None]
        for layer in self.layers:
            left, right = buffer.index_select(0, layer.left), buffer.index_select(0, layer.right)
            layer.up.add(buffer, left * right)
        return buffer

    def backward(self, buffer: Tensor, seeds: Tensor) -> Tensor:
        """The gradient [leaves, batch] of Σ seeds · roots."""
        adjoint = torch.zeros_like(buffer)
        adjoint.index_add_(0, self.roots, seeds)
        for layer in reversed(self.layers):
            above = seeds.new_empty(len(layer.left), seeds.shape[1])
            above[layer.up.order] = adjoint.index_select(0, layer.up.rows)
            by_left = above * buffer.index_select(0, layer.right)
            by_right = above * buffer.index_select(0, layer.left)
            layer.down.add(adjoint, torch.cat([by_left, by_right]))
        return adjoint[: self.leaves]


@dataclass(frozen=True)
class Layered:
    """A circuit in layers on a device, with one root for each question."""

    circuit: Circuit
    device: torch.device = CPU

    @property
    def questions(self) -> int:
        """How many questions it answers."""
        return self.circuit.questions

    def to(self, device: torch.device) -> Layered:
        """The same circuit on a device."""
        return Layered(self.circuit, device)

    def masses(self, weights: Tensor, fields: tuple[str, ...]) -> Tensor:
        """The masses [questions, fields, batch] under weights [leaves, batch]."""
        found = []
        for field in fields:
            tape = self._tape(field)
            found.append(tape.forward(weights, self._constants(field)).index_select(0, tape.roots))
        return torch.stack(found, dim=1)

    def gradient(
        self, weights: Tensor, seeds: Tensor, fields: tuple[str, ...]
    ) -> tuple[Tensor, Tensor]:
        """The masses, and the gradient of Σ seeds · masses by the weights."""
        masses, total = [], torch.zeros_like(weights)
        for i, field in enumerate(fields):
            tape = self._tape(field)
            buffer = tape.forward(weights, self._constants(field))
            masses.append(buffer.index_select(0, tape.roots))
            total += tape.backward(buffer, seeds[:, i])
        return torch.stack(masses, dim=1), total

    def _tape(self, field: str) -> Tape:
        return self._mixed if field in MIXED else self._plain

    @cached_property
    def _plain(self) -> Tape:
        return tape(self.circuit, mixed=False).to(self.device)

    @cached_property
    def _mixed(self) -> Tape:
        return tape(self.circuit, mixed=True).to(self.device)

    def _constants(self, field: str) -> Tensor:
        """The values of the leaves by channel, one channel after the other."""
        if field not in CHANNELS:
            return self._shares[field]
        rule = MIXED.get(field)
        names = (field,) if rule is None else (rule.whole, rule.part, field)
        return torch.cat([CHANNELS[name](self._kinds) for name in names])

    @cached_property
    def _kinds(self) -> Tensor:
        return torch.from_numpy(self.circuit.values.kinds).to(self.device)

    @cached_property
    def _shares(self) -> dict[str, Tensor]:
        values = self.circuit.values
        return {
            name: torch.from_numpy(own).to(self.device)
            for name, own in (("qe", values.qe), ("e", values.e))
        }


def tape(circuit: Circuit, *, mixed: bool) -> Tape:
    """The sweep of one channel, or of a mixed one after the two that its rule uses."""
    layers, leaves = circuit.layers, circuit.leaves
    channels, values = 3 if mixed else 1, len(circuit.values.kinds)
    first = leaves + 1 + channels * values
    places = [
        _places(layers, leaves + 1 + k * values, first + k * len(layers)) for k in range(channels)
    ]
    found = []
    for layer in layers.layers:
        lengths = layer.lengths if len(layer.sums) else np.empty(0, dtype=np.int64)
        factors = np.where(layer.weights < 0, leaves, layer.weights)
        left, right, node = list[Integers](), list[Integers](), list[Integers]()
        for k, place in enumerate(places):
            left += [factors]
            right += [place[layer.children]]
            node += [np.repeat(place[layer.sums], lengths)]
            x, y = place[layer.left], place[layer.right]
            pairs = (
                [(x, y)]
                if k < 2
                else [
                    (x, places[0][layer.right]),
                    (places[1][layer.left], y),
                ]
            )
            for one, other in pairs:
                left, right, node = [*left, one], [*right, other], [*node, place[layer.products]]
        if len(layer.sums) + len(layer.products):
            found.append(_layer(left, right, node))
    roots = torch.from_numpy(places[-1][layers.roots])
    return Tape(leaves, first + channels * len(layers), tuple(found), roots)


def _places(layers: Layers, constants: int, nodes: int) -> Integers:
    """By node, its entry: that of its value for a leaf."""
    own: Integers = nodes + np.arange(len(layers), dtype=np.int64)
    return np.where(layers.value >= 0, constants + layers.value, own)


def _layer(left: list[Integers], right: list[Integers], node: list[Integers]) -> Layer:
    ends = [np.concatenate(part) for part in (left, right)]
    both = np.concatenate(ends)
    first, second = map(torch.from_numpy, ends)
    return Layer(first, second, Sums.by(np.concatenate(node)), Sums.by(both))
