"""Sums of products regrouped so that fewer stand one above the other.

A machine that walks a circuit level by level waits after every level, so a deep, narrow circuit
takes long however little there is to add. Two laws make it less deep. Factors that are known early
are multiplied first: x · (y · late) becomes (x · y) · late. And a sum that is used only once is
written out: x · (y · late + z · later) becomes (x · y) · late + (x · z) · later.

>>> terms = Terms(np.array([4, 5, 6]), np.array([0, 1, 2]), np.array([3, 4, 5]))
>>> regrouped, level = regroup(terms, np.array([0, 1, 2]), first=4, unit=9)   # 2 · (1 · (0 · 3))
>>> level.max()
np.int64(1)
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dpasp.circuits.layers import Integers
from dpasp.dataclass import dataclass

NARROW = 64  # products a level, on average: wider circuits keep a machine busy as they are
LONGEST = 16  # products that a sum may grow to

Factors = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Terms:
    """Products of two entries, each a part of the sum ``row``."""

    row: Integers
    left: Integers
    right: Integers


def is_narrow(terms: Terms, level: Integers) -> bool:
    """Whether there is so little to add on a level that fewer levels are worth more."""
    return len(terms.row) < NARROW * (int(level.max(initial=0)) + 1)


def regroup(terms: Terms, level: Integers, first: int, unit: int) -> tuple[Terms, Integers]:
    """The products of sums that are worth the same, those of new sums too; all sums' levels.

    The sums are the entries from ``first`` on, ``unit`` is the entry that is 1, and ``level``
    says which sums come before which. Sums that nothing needs any more stay.
    """
    work = _Regrouping(terms, first, len(level), unit)
    for row in np.argsort(level, kind="stable").tolist():
        work.settle(first + row)
    return work.result()


class _Regrouping:
    """Sums that are settled one after the other, those that others need first."""

    def __init__(self, terms: Terms, first: int, sums: int, unit: int) -> None:
        self.first, self.unit = first, unit
        self.products: list[list[Factors]] = [[] for _ in range(first + sums)]
        self.depth = [-1] * (first + sums)  # how many sums stand below an entry
        self.uses = [0] * (first + sums)
        self.made: dict[Factors, int] = {}
        columns = (terms.row.tolist(), terms.left.tolist(), terms.right.tolist())
        for row, left, right in zip(*columns, strict=True):
            self.products[row].append((left, right))
            self.uses[left] += 1
            self.uses[right] += 1

    def settle(self, row: int) -> None:
        """Write a sum as early as it can be, and note how deep it is then."""
        products = [self._ordered(*factors) for factors in self.products[row]]
        while products:
            deepest = max(self.depth[late] for _, late in products)
            written = self._written_out(products, deepest)
            if written is None:
                break
            products = written
        self.products[row] = products
        self.depth[row] = 1 + max((self.depth[late] for _, late in products), default=-1)

    def _ordered(self, left: int, right: int) -> Factors:
        """The factor that is known first, and the other."""
        return (left, right) if self.depth[left] <= self.depth[right] else (right, left)

    def _written_out(self, products: list[Factors], deepest: int) -> list[Factors] | None:
        """The products without those of depth ``deepest``; None where some cannot be avoided."""
        if deepest < 0:
            return None
        kept = [factors for factors in products if self.depth[factors[1]] < deepest]
        length = len(kept)
        for early, late in products:
            if self.depth[late] < deepest:
                continue
            inner = self.products[late]
            length += len(inner)
            once = len(inner) == 1 or self.uses[late] == 1
            if not once or length > LONGEST or self.depth[early] >= deepest - 1:
                return None
            if any(self.depth[factor] >= deepest - 1 for factor, _ in inner if early != self.unit):
                return None
        for early, late in products:
            if self.depth[late] == deepest:
                inner = self.products[late]
                kept += [self._ordered(self._product(early, x), y) for x, y in inner]
        return kept

    def _product(self, left: int, right: int) -> int:
        """The entry for a product of two entries, made once."""
        if self.unit in (left, right):
            return right if left == self.unit else left
        factors = (min(left, right), max(left, right))
        if factors not in self.made:
            self.made[factors] = len(self.products)
            self.products.append([self._ordered(*factors)])
            self.depth.append(1 + max(self.depth[left], self.depth[right]))
            self.uses.append(0)
        return self.made[factors]

    def result(self) -> tuple[Terms, Integers]:
        """All products, and the level of every sum."""
        sums = self.products[self.first :]
        row = np.repeat(np.arange(len(sums)), [len(products) for products in sums]) + self.first
        left = _integers(early for products in sums for early, _ in products)
        right = _integers(late for products in sums for _, late in products)
        return Terms(row, left, right), np.array(self.depth[self.first :], dtype=np.int64)


def _integers(values: Iterable[int]) -> Integers:
    return np.fromiter(values, dtype=np.int64)
