"""A *tape*: a circuit as a list of sums of products on few levels, for evaluation on a GPU.

An *entry* is a number: a weight, a constant, or the value of a node in one channel. Every node,
whatever its kind, is a sum of products of two earlier entries. The gradient has a tape, too: the
slope of an entry is the sum over its parents of the parent's slope times the other factor.

A GPU must synchronise after every level, so a deep, narrow circuit is cut into *sections*. If a
section depends on what is below only through a few numbers, and linearly, it can be computed before
these are known: once for each number, as if that one were 1 and the others 0. The results are then
multiplied by the numbers. Sections of √depth levels leave about 2 · √depth levels in total; shorter
sections leave a chain of products, which is cut again.

>>> from dpasp import loads
>>> circuit = loads("0.3::a. 0.5::b. c :- a. c :- b. #query c.").circuit()
>>> there = forward_tape(circuit, ("a", "d"))        # the masses a and d of every question
>>> back = backward_tape(there)                      # and their slopes by the weights
>>> there.heads, len(there.out), len(back.out)
(4, 2, 4)
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dpasp.circuits.circuit import Circuit
from dpasp.circuits.layers import MIXED, Integers, Layers
from dpasp.dataclass import dataclass

NARROW = 64  # products per level: wider circuits keep a GPU busy without sections, and a level
# costs as much as so many products
# Products of a sum; longer sums are cut into pieces that are added up. With 4, a walk over addition
# 30 costs 1.6 times as much, as `_cost` estimates it, by which the other numbers were chosen, too.
LONGEST = 16
SHALLOW = 8  # with fewer levels, sections are not worthwhile. With 2 or 32: chain 200, 1.1 times
DEEP = 64  # from this number of levels on, a circuit counts as deep
# How many numbers a section may depend on (each costs a copy of it), for shallow and deep circuits.
# With 6 in place of 20: smokers 8, 1.6 times; with 64 and 20: chain 200, 1.2 times.
WIDEST = (20, 6)
# Entries in the first 1/128, … of all levels need no copies. With one of these: chain 200, twice.
EARLY = (128, 64, 32, 16, 8, 4, 2)
ROOTS = (2, 3)  # levels of a section: one of these roots of all. With 2: chain 200, 1.3 times
ROUNDS = 8  # a guard: how often long sums are cut into pieces, of up to 16^8 products


Factors = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Terms:
    """Products of two entries; each is a term of the sum ``row``."""

    row: Integers
    left: Integers
    right: Integers

    def by_sum(self, entries: int) -> list[list[Factors]]:
        """The products of each entry; ``entries`` is their number."""
        products: list[list[Factors]] = [[] for _ in range(entries)]
        columns = (column.tolist() for column in (self.row, self.left, self.right))
        for row, left, right in zip(*columns, strict=True):
            products[row].append((left, right))
        return products


def into_sections(
    terms: Terms, level: Integers, first: int, unit: int, wanted: Integers
) -> tuple[Terms, Integers]:
    """The products after cutting into sections, which do not change the wanted entries.

    The second result has the levels of all sums. Sums that are no longer needed have no products.
    """
    total = int(level.max(initial=-1)) + 1
    depth = np.concatenate([np.full(first, -1), level])
    last = np.full(len(depth), -1)  # for each entry, the level of the last sum that needs it
    above = depth[terms.row]
    np.maximum.at(last, terms.left, above)
    np.maximum.at(last, terms.right, above)
    plans = [_planned(depth, last, total // p, total, root) for p in EARLY for root in ROOTS]
    levels, early, cuts = min(plans)
    if total < SHALLOW or levels >= total:
        return terms, level
    work = _Sections(terms, depth, first, unit)
    for number, (low, high) in enumerate(pairwise((-1, *cuts, total))):
        kept = (depth > early) & (depth <= low) & (last > low)
        inputs = np.flatnonzero(kept).tolist() if number else []
        needed = set(np.flatnonzero((depth > low) & (depth <= high) & (last > high)).tolist())
        needed.update(int(entry) for entry in wanted if low < depth[entry] <= high)
        if not work.add(low, high, inputs, needed):
            return terms, level
    return work.written()


def _planned(
    depth: Integers, last: Integers, early: int, total: int, root: int
) -> tuple[int, int, tuple[int, ...]]:
    """The approximate number of levels after cuts, the limit for early entries, and the cuts.

    The distance between cuts is about a root of all levels; they are where few entries that are not
    early are needed later on. Many cuts leave a chain that is cut again.
    """
    late = (depth > early) & (last > depth)
    change = np.bincount(depth[late], minlength=total + 1)
    change -= np.bincount(last[late], minlength=total + 1)
    width = np.cumsum(change)[:total]
    good = np.flatnonzero((width > 0) & (width <= WIDEST[total >= DEEP]))
    step, cuts = max(1, round(total ** (1 / root))), list[int]()
    least = max(early + 1, step)
    while len(ahead := good[good >= least]):
        near = ahead[ahead <= ahead[0] + step // 2]
        cuts.append(int(near[np.argmin(width[near])]))
        least = cuts[-1] + step
    gaps = [high - low for low, high in pairwise((-1, *cuts, total - 1))]
    chain = len(cuts) if len(cuts) < SHALLOW else round(2 * len(cuts) ** 0.5)
    return max(gaps) + chain, early, tuple(cuts)


class _Sections:
    """Rewrites sums section by section; sums that others need come first."""

    def __init__(self, terms: Terms, depth: Integers, first: int, unit: int) -> None:
        self.first, self.unit = first, unit
        self.before = terms.by_sum(len(depth))
        self.products: list[list[Factors]] = [[] for _ in depth]
        self.depth = np.minimum(depth, 0).tolist()
        self.order = np.argsort(depth, kind="stable")
        self.cuts = depth[self.order]

    def add(self, low: int, high: int, inputs: list[int], needed: set[int]) -> bool:
        """Write the sums of a section; returns whether they are linear in the inputs."""
        count = len(inputs)  # one copy for each input, and one for what does not depend on inputs
        copies: dict[int, list[int | None]] = {}
        for i, entry in enumerate(inputs):
            copies[entry] = [self.unit if i == j else None for j in range(count + 1)]
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
            pairs = zip(copies[row], (*inputs, self.unit), strict=True)
            self._write(row, [(copy, entry) for copy, entry in pairs if copy is not None])
        return True

    def written(self) -> tuple[Terms, Integers]:
        """The products of all sums, and the levels of the sums."""
        sums = self.products[self.first :]
        row = np.repeat(np.arange(len(sums)), [len(factors) for factors in sums]) + self.first
        flat = [factors for products in sums for factors in products]
        left, right = np.array(flat, dtype=np.int64).reshape(-1, 2).T
        return Terms(row, left, right), np.array(self.depth[self.first :], dtype=np.int64)

    def _sum(self, products: list[Factors]) -> int | None:
        """The entry for a sum of products; None if there are no products."""
        if not products:
            return None
        if len(products) == 1 and self.unit in products[0]:
            left, right = products[0]
            return right if left == self.unit else left
        self.products.append([])
        self.depth.append(0)
        self._write(len(self.products) - 1, products)
        return len(self.products) - 1

    def _write(self, row: int, products: list[Factors]) -> None:
        self.products[row] = products
        if row >= self.first:
            below = (self.depth[entry] for factors in products for entry in factors)
            self.depth[row] = 1 + max(below, default=-1)


Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Tape:
    """Sums of products, level by level; each level reads only earlier entries.

    The entries are the ``heads``, which are given, the ``constants``, and one for each sum. Sum
    ``i`` adds the products of ``pairs[starts[i]:starts[i + 1]]``; level ``k`` has the sums
    ``levels[k]:levels[k + 1]``.
    """

    heads: int
    constants: Floats
    levels: Integers
    starts: Integers
    pairs: Integers  # [products, 2]
    out: Integers  # the entries of the results, in the order of the questions and fields

    @property
    def entries(self) -> int:
        """The number of all entries."""
        return self.heads + len(self.constants) + len(self.starts) - 1


def _cost(terms: Terms, level: Integers) -> int:
    """The cost of an evaluation in products; each level costs as much as ``NARROW`` of them."""
    return len(terms.row) + NARROW * (int(level.max(initial=0)) + 1)


def forward_tape(circuit: Circuit, fields: tuple[str, ...]) -> Tape:
    """The tape for the masses of a circuit's questions.

    The heads are the weights. The results are the masses of each question in turn, in the order of
    ``fields``. Entries that are always 0 and those that no result needs are left out.
    """
    layers, weights = circuit.layers, circuit.leaves
    channels = list(dict.fromkeys(name for field in fields for name in _channels(field)))
    leaf_values = [circuit.values.channel(name) for name in channels]
    others = np.setdiff1d(np.concatenate(leaf_values), [0.0, 1.0])
    constants = np.concatenate([[1.0, 0.0], others])  # the entries ONE and ZERO come first
    unit, zero, first = weights, weights + 1, weights + len(constants)
    entry = _entries(layers, leaf_values, constants, weights)
    level = np.tile(_levels(layers), len(channels))
    roots = entry[:, layers.roots]  # [channels, questions]
    wanted = roots[[channels.index(name) for name in fields]].T.ravel()
    kept, live = _useful(_terms(layers, channels, entry, unit), level, first, zero, wanted)
    wanted = np.where((wanted < first) | live[np.maximum(wanted - first, 0)], wanted, zero)
    if len(kept.row) < NARROW * (int(level.max(initial=0)) + 1):  # levels are narrow
        while True:
            cut, depth = into_sections(kept, level, first, unit, wanted)
            cut, _ = _useful(cut, depth, first, zero, wanted)
            if _cost(cut, depth) >= _cost(kept, level):
                break
            kept, level = cut, depth
    nodes = np.unique(kept.row)  # the sums of the tape, before they are ordered
    code = np.arange(first + len(level))
    code[nodes] = first + np.arange(len(nodes))
    kept = Terms(code[kept.row] - first, code[kept.left], code[kept.right])
    plan = _schedule(kept, level[nodes - first], first, unit)
    pairs = _moved(plan.pairs, first, plan.place)
    out = _moved(code[wanted], first, plan.place)
    return Tape(weights, constants, plan.levels, plan.starts, pairs, out)


def backward_tape(tape: Tape) -> Tape:
    """The tape for the slopes of Σ seeds · results by the heads of a tape.

    Its own heads are the seeds. The first factor of each pair is a slope, the second one an entry
    of the given tape.
    """
    values, seeds, unit = tape.heads + len(tape.constants), len(tape.out), tape.heads
    parent = values + np.repeat(np.arange(len(tape.starts) - 1), np.diff(tape.starts))
    left, right = tape.pairs[:, 0], tape.pairs[:, 1]
    first = seeds + 1  # the seeds are followed by a zero, for weights that nothing depends on
    row = np.concatenate([left, right, tape.out])
    variable = (row < tape.heads) | (row >= values)
    entries = np.unique(row[variable])
    code = np.full(tape.entries, -1)
    code[entries] = np.arange(len(entries))
    slope = np.concatenate([first + code[parent], first + code[parent], np.arange(seeds)])
    other = np.concatenate([right, left, np.full(seeds, unit)])
    terms = Terms(code[row[variable]], slope[variable], other[variable])
    depth = len(tape.levels) - 1
    level = np.full(tape.entries, depth)  # the weights come last
    level[values:] = depth - 1 - np.repeat(np.arange(depth), np.diff(tape.levels))
    plan = _schedule(terms, level[entries], first, unit)
    pairs = np.stack([_moved(plan.pairs[:, 0], first, plan.place), plan.pairs[:, 1]], axis=1)
    codes = code[: tape.heads]
    out = np.where(codes < 0, seeds, first + plan.place[np.maximum(codes, 0)])
    return Tape(seeds, np.zeros(1), plan.levels, plan.starts, pairs, out)


def _channels(field: str) -> tuple[str, ...]:
    """The channels that a mass needs: its own, and those of its product rule."""
    return (field, *MIXED[field]) if field in MIXED else (field,)


def _entries(
    layers: Layers, leaf_values: list[Floats], constants: Floats, weights: int
) -> Integers:
    """The entry for each channel and node: a constant for a leaf, otherwise a new entry."""
    first, leaf = weights + len(constants), layers.value >= 0
    shape = (len(leaf_values), len(layers))
    entry: Integers = first + np.arange(shape[0] * shape[1], dtype=np.int64).reshape(shape)
    order = np.argsort(constants)
    for channel, values in enumerate(leaf_values):
        place = weights + order[np.searchsorted(constants[order], values)]
        entry[channel, leaf] = place[layers.value[leaf]]
    return entry


def _levels(layers: Layers) -> Integers:
    """For each node, the number of its layer."""
    level = np.zeros(len(layers), dtype=np.int64)
    for number, layer in enumerate(layers.layers):
        level[layer.sums] = level[layer.products] = number
    return level


def _terms(layers: Layers, channels: list[str], entry: Integers, unit: int) -> Terms:
    """The products of all nodes in all channels."""
    parts: list[tuple[Integers, Integers, Integers]] = []
    for layer in layers.layers:
        above = np.repeat(layer.sums, layer.lengths) if len(layer.sums) else layer.sums
        factor = np.where(layer.weights < 0, unit, layer.weights)
        for i, name in enumerate(channels):
            parts.append((entry[i, above], factor, entry[i, layer.children]))
            rule = MIXED.get(name)
            both = [(name, name)] if rule is None else [(name, rule.whole), (rule.part, name)]
            for left, right in both:
                x, y = channels.index(left), channels.index(right)
                pair = entry[x, layer.left], entry[y, layer.right]
                parts.append((entry[i, layer.products], *pair))
    return Terms(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _useful(
    terms: Terms, level: Integers, first: int, zero: int, wanted: Integers
) -> tuple[Terms, NDArray[np.bool_]]:
    """The products that are not always 0 and that a result needs, and which nodes are not 0.

    ``first`` is the entry of the first node, ``zero`` that of the constant 0.
    """
    total = first + len(level)
    live = np.ones(total, dtype=np.bool_)
    live[first:] = False
    live[zero] = False
    order = np.argsort(level[terms.row - first], kind="stable")
    row, left, right = terms.row[order], terms.left[order], terms.right[order]
    cuts = np.searchsorted(level[row - first], np.arange(level.max(initial=0) + 2))
    for begin, end in pairwise(cuts):
        here = slice(begin, end)
        live[row[here][live[left[here]] & live[right[here]]]] = True
    good = live[left] & live[right]
    needed = np.zeros(total, dtype=np.bool_)
    needed[wanted] = True
    for begin, end in zip(cuts[-2::-1], cuts[:0:-1], strict=True):
        here = slice(begin, end)
        used = good[here] & needed[row[here]]
        needed[left[here][used]] = True
        needed[right[here][used]] = True
    keep = good & needed[row]
    return Terms(row[keep], left[keep], right[keep]), live[first:]


def _moved(entries: Integers, first: int, place: Integers) -> Integers:
    """The entries, with the sums from ``first`` on at their new places."""
    moved = entries.copy()
    sums = entries >= first
    moved[sums] = first + place[entries[sums] - first]
    return moved


@dataclass(frozen=True, slots=True)
class _Plan:
    """Sums in the order of their levels; ``place`` has the new place of each sum."""

    levels: Integers
    starts: Integers
    pairs: Integers  # still with the old numbers of the sums
    place: Integers


def _schedule(terms: Terms, level: Integers, first: int, unit: int) -> _Plan:
    """Cut long sums into pieces, and sort the sums by level, the longest first on each level.

    The sums are numbered from 0; as factors they are the entries from ``first`` on.
    """
    deep = (level + 1) * ROUNDS - 1  # there is room below each level for the pieces of its sums
    for turn in range(ROUNDS - 1):
        owner, terms = _cut(terms, len(deep), first, unit)
        deep = np.concatenate([deep, deep[owner] // ROUNDS * ROUNDS + turn])
    counts = np.bincount(terms.row, minlength=len(deep))
    ranked = np.lexsort((-counts, deep))
    place = np.empty(len(deep), dtype=np.int64)
    place[ranked] = np.arange(len(deep))
    order = np.argsort(place[terms.row], kind="stable")
    starts = np.concatenate([[0], np.cumsum(counts[ranked])])
    cuts = np.flatnonzero(np.diff(deep[ranked])) + 1
    levels = np.concatenate([[0], cuts, [len(deep)]]) if len(deep) else np.zeros(1, np.int64)
    return _Plan(levels, starts, np.stack([terms.left[order], terms.right[order]], axis=1), place)


def _cut(terms: Terms, sums: int, first: int, unit: int) -> tuple[Integers, Terms]:
    """Cut sums of more than ``LONGEST`` products into new sums, which are then added up.

    Returns the sum that each new one belongs to, and all products.
    """
    order = np.argsort(terms.row, kind="stable")
    row, left, right = terms.row[order], terms.left[order], terms.right[order]
    counts = np.bincount(row, minlength=sums)
    position = np.arange(len(row)) - (np.cumsum(counts) - counts)[row]
    long = counts[row] > LONGEST
    begins = position[long] % LONGEST == 0
    owner = row[long][begins]
    new = np.arange(sums, sums + len(owner))
    row[long] = sums + np.cumsum(begins) - 1
    return owner, Terms(
        np.concatenate([row, owner]),
        np.concatenate([left, first + new]),
        np.concatenate([right, np.full(len(owner), unit)]),
    )
