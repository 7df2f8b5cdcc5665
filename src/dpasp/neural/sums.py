"""Sums over groups of rows that give the same bits on every run and every device.

>>> total = torch.zeros(3, 1)
>>> Sums.by(np.array([0, 2, 0])).add(total, torch.tensor([[1.0], [2.0], [3.0]]))
>>> total[:, 0].tolist()
[4.0, 0.0, 2.0]
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from dpasp.circuits.layers import Integers
from dpasp.dataclass import dataclass


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
