"""A circuit away from the CPU: its tape walked forward and back.

On an NVIDIA GPU one kernel walks the whole tape (:mod:`dpasp.circuits.gpu.cuda`). On other devices,
or where that kernel cannot be compiled, torch operations do it: a level is two gathers, a product
and a sum over sorted segments, each with one writer, so every run gives the same bits.

>>> from dpasp import loads
>>> circuit = loads("0.3::a. 0.5::b. c :- a. c :- b. #query c.").circuit()
>>> walked = Walked(circuit, torch.device("cpu"))
>>> weights = torch.tensor([[0.3, 0.1], [0.7, 0.9], [0.5, 0.0], [0.5, 1.0]])
>>> walked.masses(weights, ("a",))
tensor([[[0.6500, 0.1000]]])
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from functools import cached_property
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dpasp.circuits import FIELDS, Circuit
from dpasp.circuits.gpu import cuda
from dpasp.circuits.gpu.tape import Tape, backward_tape, forward_tape
from dpasp.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Level:
    """Sums of products of entries, side by side."""

    begin: int  # the first and the last entry that it fills
    end: int
    left: Tensor
    right: Tensor
    offsets: Tensor  # by sum, where its products begin; and the end


@dataclass(frozen=True)
class LayeredTape:
    """A tape on a device, one group of torch operations a level."""

    tape: Tape
    device: torch.device

    def walk(self, head: Tensor, factors: Tensor | None = None) -> Tensor:
        """The values of all entries [entries, batch] from those of the heads.

        ``factors`` are the entries that second factors are taken from, if not these.
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

    @property
    def questions(self) -> int:
        """How many questions it answers."""
        return self.circuit.questions

    @property
    def size(self) -> int:
        """How many products an evaluation takes."""
        return self.circuit.statistics.edges

    @cached_property
    def scaled(self) -> bool:
        """Whether logarithms are right even where the masses themselves underflow."""
        return self.device.type == "cuda" and cuda.available()

    def to(self, device: torch.device) -> Walked:
        """The same circuit on another device."""
        return self if device == self.device else Walked(self.circuit, device)

    def masses(self, weights: Tensor, fields: Fields) -> Tensor:
        """The masses [questions, fields, batch] under weights [leaves, batch]."""
        return self.traced(weights, fields)[0]

    def traced(self, weights: Tensor, fields: Fields, log: bool = False) -> tuple[Tensor, Pullback]:
        """The masses, or their logarithms, and what takes seeds back to slopes."""
        if fields not in self._walks:
            self._walks[fields] = self._kernel(fields) if self.scaled else self._layered(fields)
        results, pullback = self._walks[fields](weights.contiguous(), log)
        return results.view(self.questions, len(fields), -1), pullback

    def gradient(
        self, weights: Tensor, seeds: Tensor, fields: Fields, log: bool = False
    ) -> tuple[Tensor, Tensor]:
        """The masses, and the gradient of Σ seeds · masses by the weights."""
        results, pullback = self.traced(weights, fields, log)
        return results, pullback(seeds)

    def curvature(
        self, weights: Tensor, seeds: Tensor, directions: Tensor, fields: Fields, log: bool = False
    ) -> tuple[Tensor, Tensor]:
        """The derivatives along directions, by the native kernel on the CPU."""
        return curvature_of(self.circuit, weights, seeds, directions, fields, log)

    def gradient_by_logs(
        self, logs: Tensor, seeds: Tensor, fields: Fields
    ) -> tuple[Tensor, Tensor]:
        """As :meth:`gradient` of logarithms, by the native kernel on the CPU."""
        return by_logs_of(self.circuit, logs, seeds, fields)

    def _kernel(self, fields: Fields) -> TapeWalk:
        tape = forward_tape(self.circuit, fields)
        there = cuda.CutTape.of(tape, self.device)
        back = cuda.CutTape.of(backward_tape(tape), self.device)

        def walk(weights: Tensor, log: bool) -> tuple[Tensor, Pullback]:
            results, values = cuda.walk_on_gpu(there, weights, log)
            return results, lambda seeds: cuda.walk_back(back, _flat(seeds), values, there, log)

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


def threads_for(circuit: Circuit, weights: Tensor) -> int:
    """How many threads evaluate a circuit: more than one only where there is work for them."""
    work = circuit.statistics.edges * weights.shape[1]
    return torch.get_num_threads() if work > 1 << 22 else 1


def wide_seeds(seeds: Tensor, fields: Fields) -> tuple[list[int], NDArray[np.float64]]:
    """The places of some fields among all, and seeds [questions, fields, batch] for all of them."""
    places = [FIELDS.index(name) for name in fields]
    wide = np.zeros((len(seeds), len(FIELDS), seeds.shape[2]))
    wide[:, places] = seeds.detach().cpu().numpy()
    return places, wide


def curvature_of(
    circuit: Circuit,
    weights: Tensor,
    seeds: Tensor,
    directions: Tensor,
    fields: Fields,
    log: bool = False,
) -> tuple[Tensor, Tensor]:
    """The derivatives along directions of the masses and of the gradient of Σ seeds · masses.

    They are [questions, fields, batch] and [leaves, batch], as the seeds and the directions.
    """
    places, wide = wide_seeds(seeds, fields)
    threads = threads_for(circuit, weights)
    at, along = (tensor.detach().cpu().double().numpy() for tensor in (weights, directions))
    tangents, second = circuit.curvature(at, wide, along, fields=fields, log=log, threads=threads)
    return torch.from_numpy(tangents[:, places]).to(weights), torch.from_numpy(second).to(weights)


def by_logs_of(
    circuit: Circuit, logs: Tensor, seeds: Tensor, fields: Fields
) -> tuple[Tensor, Tensor]:
    """The logarithms of the masses under logarithms of weights, and the gradient by those."""
    places, wide = wide_seeds(seeds, fields)
    at = logs.detach().cpu().double().numpy()
    threads = threads_for(circuit, logs)
    masses, slopes = circuit.gradient(at, wide, log=True, of_logs=True, threads=threads)
    return torch.from_numpy(masses[:, places]).to(logs), torch.from_numpy(slopes).to(logs)


def _flat(seeds: Tensor) -> Tensor:
    return seeds.reshape(-1, seeds.shape[-1]).contiguous()
