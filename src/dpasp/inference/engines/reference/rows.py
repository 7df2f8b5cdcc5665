"""Distinct rows of bits with how often they came, kept small while millions stream in.

>>> rows = BitRows(width=2)
>>> rows.add(np.array([[True, False], [False, True], [True, False]]))
>>> distinct, counts = rows.sorted()
>>> distinct.tolist(), counts.tolist()
([[False, True], [True, False]], [1, 2])
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Bits = NDArray[np.bool_]
Counts = NDArray[np.int64]
PackedBits = NDArray[np.uint64]

ROOM = 1 << 18  # rows that wait before equal ones are merged


class BitRows:
    """A multiset of rows of ``width`` bits."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.added = 0
        self._merged = pack(np.empty((0, width), dtype=np.bool_)), np.empty(0, dtype=np.int64)
        self._waiting: list[PackedBits] = []
        self._room = ROOM

    def add(self, block: Bits) -> None:
        """Add the rows of a block."""
        self._waiting.append(pack(block))
        self.added += len(block)
        self._room -= len(block)
        if self._room <= 0:
            self._merge()

    @property
    def distinct(self) -> int:
        """How many distinct rows are merged so far."""
        return len(self._merged[1])

    def sorted(self) -> tuple[Bits, Counts]:
        """The distinct rows in lexicographic order, and how often each was added."""
        self._merge()
        words, counts = self._merged
        return unpack(words, self.width), counts

    def _merge(self) -> None:
        """Merge the rows that wait with those that are merged, adding up how often they came."""
        words, counts = self._merged
        new = np.concatenate([words, *self._waiting])
        weight = np.concatenate([counts, np.ones(len(new) - len(counts), dtype=np.int64)])
        order = sort_order(new)
        new, weight = new[order], weight[order]
        starts = run_starts(new)
        self._merged = new[starts], np.add.reduceat(weight, starts) if len(new) else weight
        self._waiting = []
        self._room = max(ROOM, len(starts))  # merging stays linear in what comes in


def pack(bits: Bits) -> PackedBits:
    """Rows of bits as rows of machine words that compare in the same order."""
    data = np.packbits(bits, axis=1)
    words = max(1, -(-data.shape[1] // 8))  # rows without bits are one word as well
    data = np.pad(data, ((0, 0), (0, 8 * words - data.shape[1])))
    return np.ascontiguousarray(data).view(">u8").astype(np.uint64)


def unpack(words: PackedBits, width: int) -> Bits:
    """The rows of bits that :func:`pack` packed."""
    data = np.ascontiguousarray(words.astype(">u8")).view(np.uint8)
    return np.unpackbits(data, axis=1, count=width).astype(np.bool_)


def sort_order(words: PackedBits) -> NDArray[np.intp]:
    """The order that sorts the rows."""
    if words.shape[1] == 1:
        return np.argsort(words[:, 0], kind="stable")
    return np.lexsort(words.T[::-1])


def run_starts(rows: NDArray[np.generic]) -> NDArray[np.intp]:
    """Where runs of equal rows start."""
    if not len(rows):
        return np.empty(0, dtype=np.intp)
    new = np.ones(len(rows), dtype=np.bool_)
    np.any(rows[1:] != rows[:-1], axis=1, out=new[1:])
    return np.flatnonzero(new)
