"""Circuits on GPUs and other devices: walks over a tape, forward for values and back for slopes.

On an NVIDIA GPU, one kernel walks the whole tape (:mod:`dpasp.circuits.gpu.cuda`). On other
devices, or if that kernel cannot be compiled, torch operations do so: a level takes two gathers, a
product and a sum over sorted segments. Every number has one writer, so all runs give the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dpasp.circuits import FIELDS, Circuit
from dpasp.circuits.gpu import cuda
from dpasp.circuits.gpu.tape import Tape, backward_tape, forward_tape
from dpasp.dataclass import dataclass
from dpasp.errors import UsageError


@dataclass(frozen=True, slots=True)
class Level:
    """The sums of one level, with their products side by side."""

    begin: int  # it fills the entries from here
    end: int  # to before here
    left: Tensor
    right: Tensor
    offsets: Tensor  # where the products of each sum begin; and the end


@dataclass(frozen=True)
class LayeredTape:
    """A tape on a device, evaluated by a few torch operations per level."""

    tape: Tape
    device: torch.device

    def walk(self, head: Tensor, factors: Tensor | None = None) -> Tensor:
        """The values of all entries [entries, batch] from those of the heads.

        ``factors`` are the entries of another walk, from which second factors are taken.
        """
        first = self.tape.heads + len(self.tape.constants)
        buffer = head.new_empty(self.tape.entries, head.shape[1])
        buffer[: self.tape.heads] = head
        buffer[self.tape.heads : first] = self._constants.to(head.dtype)[:, None]
        other = buffer if factors is None else factors
        for level in self._levels:
            products = buffer.index_select(0, level.left) * other.index_select(0, level.right)
            buffer[level.begin : level.end] = torch.segment_reduce(
                products, "sum", offsets=level.offsets, axis=0, unsafe=True
            )
        return buffer

    def results(self, buffer: Tensor) -> Tensor:
        """The results [out, batch] among all values."""
        return buffer.index_select(0, self._out)

    @cached_property
    def _constants(self) -> Tensor:
        return torch.from_numpy(self.tape.constants).to(self.device)

    @cached_property
    def _out(self) -> Tensor:
        return torch.from_numpy(self.tape.out).to(self.device)

    @cached_property
    def _levels(self) -> tuple[Level, ...]:
        tape, first = self.tape, self.tape.heads + len(self.tape.constants)
        pairs = torch.from_numpy(tape.pairs).to(self.device)
        starts = torch.from_numpy(tape.starts).to(self.device)
        levels = []
        for begin, end in pairwise(tape.levels.tolist()):
            low, last = int(tape.starts[begin]), int(tape.starts[end])
            left, right = pairs[low:last, 0].contiguous(), pairs[low:last, 1].contiguous()
            offsets = starts[begin : end + 1] - low
            levels.append(Level(first + begin, first + end, left, right, offsets))
        return tuple(levels)


Fields = tuple[str, ...]
Pullback = Callable[[Tensor], Tensor]  # seeds [questions, fields, batch] -> slopes [leaves, batch]
TapeWalk = Callable[[Tensor, bool], tuple[Tensor, Pullback]]


@dataclass(frozen=True)
class Walked:
    """The masses of a circuit's questions and their gradient, on a device."""

    circuit: Circuit
    device: torch.device
    _walks: dict[Fields, TapeWalk] = field(default_factory=dict, repr=False, compare=False)
    _cut: dict[Fields, tuple[cuda.CutTape, cuda.CutTape]] = field(
        default_factory=dict, repr=False, compare=False
    )

    @cached_property
    def scaled(self) -> bool:
        """Whether logarithms are correct even if the masses themselves underflow."""
        return self.device.type == "cuda" and cuda.available()

    def traced(self, weights: Tensor, fields: Fields, log: bool = False) -> tuple[Tensor, Pullback]:
        """The masses, or their logarithms, and a function from seeds to slopes."""
        if fields not in self._walks:
            self._walks[fields] = self._kernel(fields) if self.scaled else self._layered(fields)
        results, pullback = self._walks[fields](weights.contiguous(), log)
        return results.view(self.circuit.questions, len(fields), -1), pullback

    def gradient(
        self, weights: Tensor, seeds: Tensor, fields: Fields, log: bool = False
    ) -> tuple[Tensor, Tensor]:
        """The masses, and the gradient of Σ seeds · masses by the weights."""
        results, pullback = self.traced(weights, fields, log)
        return results, pullback(seeds)

    def log_and_slopes(
        self, weights: Tensor, field: str, labels: cuda.LabelHeads | None = None
    ) -> tuple[Tensor, Tensor]:
        """The logarithm of the only question's mass [batch], and its slopes [leaves, batch].

        This takes just two kernel launches. With ``labels``, the weights are those of the first
        leaves; the others are 1, or 0 if a label says so.
        """
        there, back = self._tapes((field,))
        results, values = cuda.walk_on_gpu(there, weights.contiguous(), True, labels)
        return results[0], cuda.walk_back(back, None, values, there, True, weights.shape[1])

    def _tapes(self, fields: Fields) -> tuple[cuda.CutTape, cuda.CutTape]:
        """The circuit as tapes for the kernel, forward and backward."""
        if fields not in self._cut:
            tape = forward_tape(self.circuit, fields)
            there, back = (cuda.CutTape.of(t, self.device) for t in (tape, backward_tape(tape)))
            self._cut[fields] = there, back
        return self._cut[fields]

    def _kernel(self, fields: Fields) -> TapeWalk:
        there, back = self._tapes(fields)

        def walk(weights: Tensor, log: bool) -> tuple[Tensor, Pullback]:
            batch = weights.shape[1]
            results, values = cuda.walk_on_gpu(there, weights, log)
            return results, lambda seeds: cuda.walk_back(
                back, _flat(seeds), values, there, log, batch
            )

        return walk

    def _layered(self, fields: Fields) -> TapeWalk:
        tape = forward_tape(self.circuit, fields)
        there = LayeredTape(tape, self.device)
        back = LayeredTape(backward_tape(tape), self.device)

        def walk(weights: Tensor, log: bool) -> tuple[Tensor, Pullback]:
            values = there.walk(weights)
            results = there.results(values)
            if not log:
                return results, lambda seeds: back.results(back.walk(_flat(seeds), values))
            inverse = torch.where(results > 0, 1 / results, 0.0)
            return results.log(), lambda seeds: back.results(
                back.walk(_flat(seeds) * inverse, values)
            )

        return walk


def _flat(seeds: Tensor) -> Tensor:
    return seeds.reshape(-1, seeds.shape[-1]).contiguous()


def there_is(name: str) -> torch.device:
    """The device with a name; auto means a GPU if there is one.

    Raises :class:`UsageError` if there is no such device here.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError, ValueError) as error:
        message = f"there is no device {name} here: {str(error).splitlines()[0]}"
        help = 'say device = "auto" (a GPU where there is one) or "cpu"'
        raise UsageError.at("device", message, help=help) from error


def masses_on(
    walked: Walked, weights: NDArray[np.float64], fields: Fields, log: bool
) -> NDArray[np.float64]:
    """:meth:`Circuit.masses` on a device."""
    there = torch.from_numpy(weights).to(walked.device)
    found = walked.traced(there, fields, log)[0].cpu().numpy()
    every = np.full((len(found), len(FIELDS), weights.shape[1]), np.nan)
    every[:, [FIELDS.index(field) for field in fields]] = found
    return every


class TorchArrays:
    """Tensors on a device, as ``Arrays`` of :mod:`dpasp.inference.map.rows` describes them."""

    def __init__(self, device: torch.device) -> None:
        self.device = device

    def new(self, nodes: int, like: Tensor) -> Tensor:
        return like.new_full((nodes, like.shape[1]), -torch.inf)

    def numbers(self, values: NDArray[Any]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(values)).to(self.device)

    def largest(
        self, terms: Tensor, starts: NDArray[np.int64], owner: Tensor, count: int
    ) -> Tensor:
        result = self.new(count, terms)
        return result.scatter_reduce(0, owner[:, None].expand_as(terms), terms, "amax")

    def total(self, terms: Tensor, starts: NDArray[np.int64], owner: Tensor, count: int) -> Tensor:
        most = self.largest(terms, starts, owner, count)
        safe = torch.where(most.isfinite(), most, 0.0)
        sums = torch.zeros_like(safe).index_add(0, owner, (terms - safe[owner]).exp())
        return sums.log() + safe

    def raise_to(self, array: Tensor, places: Tensor, values: Tensor) -> None:
        array.scatter_reduce_(0, places[:, None].expand_as(values), values, "amax")

    def where(self, condition: Tensor, one: Any, other: Any) -> Tensor:
        return torch.where(condition, one, other)


def on_device(weights: Tensor) -> Any:
    """A function that evaluates a batch of rows on the device of the weights [leaves, rows]."""
    size, arrays = len(weights), TorchArrays(weights.device)

    def walk(circuit: Any, wide: NDArray[np.float64], rows: slice) -> Any:
        rest = arrays.numbers(wide[size:])
        columns = weights[:, rows] if weights.shape[1] > 1 else weights.expand(-1, wide.shape[1])
        found = circuit.walked(torch.cat([columns.to(rest.dtype), rest]).log(), arrays)
        return tuple(part.cpu() for part in found)

    return walk
