"""Data-parallel learning: several processes share each batch and add up what they find.

Started by ``torchrun -m dpasp run …``; a single process is a group of one.

>>> batch = torch.arange(5)
>>> [ProcessGroup(rank, 2).share(batch).tolist() for rank in range(2)]
[[0, 2, 4], [1, 3]]
>>> with group(torch.device("cpu")) as alone:
...     print(alone)
ProcessGroup(rank=0, size=1)
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
import torch.distributed as distributed
from torch import Tensor

from dpasp.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ProcessGroup:
    """The processes that learn together, and which of them this is."""

    rank: int = 0
    size: int = 1

    @property
    def first(self) -> bool:
        """Whether this process speaks for the group."""
        return self.rank == 0

    def share(self, batch: Tensor) -> Tensor:
        """This process's part of a batch of examples."""
        return batch if self.size == 1 else batch[self.rank :: self.size]

    def add(self, tensors: Iterable[Tensor]) -> None:
        """Replace tensors by their sums over all processes."""
        if self.size > 1:
            for tensor in tensors:
                distributed.all_reduce(tensor)

    def copy(self, tensors: Iterable[Tensor]) -> None:
        """Replace tensors by those of the first process."""
        if self.size > 1:
            for tensor in tensors:
                distributed.broadcast(tensor, src=0)


@contextmanager
def group(device: torch.device) -> Iterator[ProcessGroup]:
    """The group that this process was started in."""
    if int(os.environ.get("WORLD_SIZE", "1")) <= 1 or "RANK" not in os.environ:
        yield ProcessGroup()
        return
    ours = not distributed.is_initialized()
    if ours:
        distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        yield ProcessGroup(distributed.get_rank(), distributed.get_world_size())
    finally:
        if ours:
            distributed.destroy_process_group()
