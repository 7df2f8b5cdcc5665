"""A walk over a tape by torch operations, on any device.

A level of the tape is two gathers, a product and a sum over segments. The segments are sorted and
each has one writer, so a GPU too gives the same bits on every run.

>>> from dpasp import loads
>>> circuit = loads("0.3::a. 0.5::b. c :- a. c :- b. #query c.").circuit()
>>> from dpasp.circuits.tape import forward_tape
>>> tape = LayeredTape(forward_tape(circuit, ("a",)), torch.device("cpu"))
>>> weights = torch.tensor([[0.3], [0.7], [0.5], [0.5]])
>>> tape.results(tape.walk(weights))
tensor([[0.6500]])
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise

import torch
from torch import Tensor

from dpasp.circuits.tape import Tape
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
