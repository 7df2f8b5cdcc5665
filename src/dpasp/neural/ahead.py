"""Rows of Datasets, read by other processes before they are needed.

>>> from clingo import Number
>>> rows = DataRows(torch.arange(10))
>>> Ahead({Number(0): rows}, [], workers=0).take(torch.tensor([3, 7]))
{Number(0): tensor([3, 7])}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from clingo import Symbol
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, default_collate

from dpasp.neural.data import DataRows, row_of, side_by_side


class _Numbered(Dataset[Any]):
    """A Dataset whose rows come with their numbers."""

    def __init__(self, source: Dataset[Any]) -> None:
        self.source = source

    def __getitem__(self, index: int) -> tuple[int, Any]:
        return index, row_of(self.source, index)


class Ahead:
    """The rows of batches in their order; others are read when they are asked for."""

    def __init__(
        self, data: Mapping[Symbol, DataRows], batches: Sequence[Tensor], workers: int
    ) -> None:
        self._together = side_by_side(data)
        grouped = {atom for atoms, _ in self._together for atom in atoms}
        self._data = {atom: rows for atom, rows in data.items() if atom not in grouped}
        self._coming: dict[Symbol, Iterator[tuple[Tensor, Tensor]]] = {}
        for atom, rows in data.items():
            if workers and not isinstance(rows.source, Tensor):
                loader = DataLoader(
                    _Numbered(rows.source),
                    batch_sampler=[batch.tolist() for batch in batches],
                    num_workers=workers,
                    collate_fn=default_collate,
                )
                self._coming[atom] = iter(loader)

    def take(self, batch: Tensor) -> dict[Symbol, Tensor]:
        """The rows of a batch, by data atom."""
        rows = {
            atom: self._rows(atom, rows, batch).to(batch.device)
            for atom, rows in self._data.items()
        }
        for atoms, tensor in self._together:
            taken = tensor[batch.to(tensor.device)].to(batch.device)
            rows |= dict(zip(atoms, taken.unbind(1), strict=True))
        return rows

    def _rows(self, atom: Symbol, rows: DataRows, batch: Tensor) -> Tensor:
        coming = self._coming.get(atom)
        if coming is not None:
            next_batch = next(coming, None)
            if next_batch is not None and torch.equal(next_batch[0], batch.cpu()):
                return next_batch[1]
            del self._coming[atom]  # someone asked for other rows: no order to go by
        return rows.take(batch)
