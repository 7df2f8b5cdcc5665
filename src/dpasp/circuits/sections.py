"""A deep, narrow circuit cut into sections that are worked out side by side.

Where a circuit is narrow, what is above depends on what is below through one or two numbers only,
and in a linear way. So it need not wait for them: it is worked out once for each of them, as if
that one were 1 and the others 0, and then multiplied by what they turn out to be. Sections of about
√depth levels, one above the other, leave about 2 · √depth levels in all.

>>> chain = Terms(np.arange(2, 102), np.zeros(100, int), np.r_[1, np.arange(2, 101)])  # x · x · …
>>> layout = EntryLayout(first=2, unit=1)
>>> shorter, level = into_sections(chain, np.arange(100), layout, np.array([101]))
>>> level.max() < 20
np.True_
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from dpasp.circuits.layers import Integers
from dpasp.circuits.regroup import Factors, Terms
from dpasp.dataclass import dataclass

SHALLOW = 32  # levels that are not worth fewer
WIDEST = 6  # numbers that a section may depend on: each of them costs a copy of it
EARLY = (32, 16, 8, 4)  # what is known after this part of all levels may be used anywhere


@dataclass(frozen=True, slots=True)
class EntryLayout:
    """Where entries stand: the sums from ``first`` on; ``unit`` is the entry that is 1."""

    first: int
    unit: int


def into_sections(
    terms: Terms, level: Integers, place: EntryLayout, wanted: Integers
) -> tuple[Terms, Integers]:
    """The products of sums so that the wanted entries are worth the same; all sums' levels.

    Sums that nothing needs any more have no products.
    """
    total = int(level.max(initial=-1)) + 1
    depth = np.concatenate([np.full(place.first, -1), level])
    last = np.full(len(depth), -1)  # the level of the last sum that needs an entry
    above = depth[terms.row]
    np.maximum.at(last, terms.left, above)
    np.maximum.at(last, terms.right, above)
    plans = [_planned(depth, last, total // part, total) for part in EARLY]
    best = min(plans, key=lambda plan: plan.levels)
    if total < SHALLOW or best.levels > total // 2:
        return terms, level
    work = _Sections(terms, depth, place)
    for number, (low, high) in enumerate(pairwise((-1, *best.cuts, total))):
        kept = (depth > best.early) & (depth <= low) & (last > low)
        inputs = np.flatnonzero(kept).tolist() if number else []
        needed = set(np.flatnonzero((depth > low) & (depth <= high) & (last > high)).tolist())
        needed.update(int(entry) for entry in wanted if low < depth[entry] <= high)
        if not work.add(low, high, inputs, needed):
            return terms, level
    return work.result()


@dataclass(frozen=True, slots=True)
class _Cuts:
    """After which levels to cut, what counts as early, and about how many levels there are then."""

    cuts: tuple[int, ...]
    early: int
    levels: int


def _planned(depth: Integers, last: Integers, early: int, total: int) -> _Cuts:
    """Cuts about √levels apart, where few entries that are not early are needed later on."""
    late = (depth > early) & (last > depth)
    change = np.bincount(depth[late], minlength=total + 1)
    change -= np.bincount(last[late], minlength=total + 1)
    width = np.cumsum(change)[:total]
    good = np.flatnonzero((width > 0) & (width <= WIDEST))
    step, cuts = max(1, round(float(np.sqrt(total)))), list[int]()
    least = max(early + 1, step)
    while len(ahead := good[good >= least]):
        near = ahead[ahead <= ahead[0] + step // 2]
        cuts.append(int(near[np.argmin(width[near])]))
        least = cuts[-1] + step
    gaps = [high - low for low, high in pairwise((-1, *cuts, total - 1))]
    return _Cuts(tuple(cuts), early, max(gaps) + len(cuts))


class _Sections:
    """Sums that are written anew, section by section, those that others need first."""

    def __init__(self, terms: Terms, depth: Integers, place: EntryLayout) -> None:
        self.place = place
        self.before: list[list[Factors]] = [[] for _ in depth]
        for row, left, right in zip(*(column.tolist() for column in _columns(terms)), strict=True):
            self.before[row].append((left, right))
        self.products: list[list[Factors]] = [[] for _ in depth]
        self.depth = np.minimum(depth, 0).tolist()
        self.order = np.argsort(depth, kind="stable")
        self.cuts = depth[self.order]

    def add(self, low: int, high: int, inputs: list[int], needed: set[int]) -> bool:
        """Write the sums of a section; whether they are linear in what comes in."""
        count = len(inputs)  # of the copies; one more is what does not depend on the inputs
        copies: dict[int, list[int | None]] = {}
        for i, entry in enumerate(inputs):
            copies[entry] = [self.place.unit if i == j else None for j in range(count + 1)]
        begin, end = np.searchsorted(self.cuts, (low, high), side="right")
        for row in self.order[begin:end].tolist():
            products = self.before[row]
            if not any(left in copies or right in copies for left, right in products):
                self._write(row, products)
                continue
            parts: list[list[Factors]] = [[] for _ in range(count + 1)]
            for left, right in products:
                if left in copies and right in copies:
                    return False
                if left not in copies and right not in copies:
                    parts[count].append((left, right))
                    continue
                varying, other = (left, right) if left in copies else (right, left)
                for part, copy in zip(parts, copies[varying], strict=True):
                    if copy is not None:
                        part.append((other, copy))
            copies[row] = [self._sum(part) for part in parts]
        for row in sorted(needed & copies.keys()):
            pairs = zip(copies[row], (*inputs, self.place.unit), strict=True)
            self._write(row, [(copy, entry) for copy, entry in pairs if copy is not None])
        return True

    def _sum(self, products: list[Factors]) -> int | None:
        """The entry that is the sum of some products; None where there are none."""
        if not products:
            return None
        if len(products) == 1 and self.place.unit in products[0]:
            left, right = products[0]
            return right if left == self.place.unit else left
        self.products.append([])
        self.depth.append(0)
        self._write(len(self.products) - 1, products)
        return len(self.products) - 1

    def _write(self, row: int, products: list[Factors]) -> None:
        self.products[row] = products
        if row >= self.place.first:
            below = (self.depth[entry] for factors in products for entry in factors)
            self.depth[row] = 1 + max(below, default=-1)

    def result(self) -> tuple[Terms, Integers]:
        """All products, and the level of every sum."""
        first = self.place.first
        lengths = [len(products) for products in self.products[first:]]
        row = np.repeat(np.arange(len(lengths)), lengths) + first
        flat = [factors for products in self.products[first:] for factors in products]
        left, right = np.array(flat, dtype=np.int64).reshape(-1, 2).T
        return Terms(row, left, right), np.array(self.depth[first:], dtype=np.int64)


def _columns(terms: Terms) -> tuple[Integers, Integers, Integers]:
    return terms.row, terms.left, terms.right
