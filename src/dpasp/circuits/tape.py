"""A circuit as one list of sums of products, for machines that walk it in one go.

An *entry* is a number: a weight, a constant or a node in one channel. Every node is a sum of
products of two earlier entries, so a tape needs no kinds of nodes and no kinds of masses:
c and d, which follow a product rule, are products of other channels like everything else.
The way back is a tape too: the slope of an entry is a sum of (slope of a parent) times
(value of the other factor).

>>> import numpy as np
>>> half = {"op": [0, 0, 1], "begin": [0, 1, 0], "end": [0, 0, 2], "weight": [0, 1],
...         "child": [0, 1], "layers": [0, 2, 3], "roots": [2], "kinds": [1, 2],
...         "qe": [1.0, 0.0], "e": [1.0, 1.0]}
>>> tape = forward_tape({name: np.array(part) for name, part in half.items()}, 2, ("qe",))
>>> tape.pairs.tolist()                      # the weight 0, times one (the entry 2)
[[0, 2]]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

QE, E, OTHER = 1, 2, 4  # kinds of models: of query and evidence, of evidence only, others
LEAF, SUM, PRODUCT = 0, 1, 2
LONGEST = 64  # products in one sum; a longer one is cut into pieces that are added up

# The channels of each mass, itself first, and the products that make it at a product node.
RULES: dict[str, tuple[tuple[str, str], ...]] = {
    "c": (("c", "all are e"), ("all are e, some qe", "c")),
    "d": (("d", "some e"), ("all e are qe", "d")),
}


@dataclass(frozen=True, slots=True)
class Tape:
    """Sums of products, level by level; each level reads only entries before it.

    The entries are ``heads`` numbers from outside, the ``constants``, and then one for each
    sum: the sum ``i`` adds the products of ``pairs[starts[i]:starts[i + 1]]``, and the level
    ``k`` holds the sums ``levels[k]:levels[k + 1]``.
    """

    heads: int
    constants: Floats
    levels: Integers
    starts: Integers
    pairs: Integers  # [products, 2]
    out: Integers  # the entries that are the result, in the order of the questions and fields

    @property
    def entries(self) -> int:
        """How many numbers a walk over the tape holds."""
        return self.heads + len(self.constants) + len(self.starts) - 1


@dataclass(frozen=True, slots=True)
class _Terms:
    """Products, each of a sum; a sum has a level."""

    row: Integers
    left: Integers
    right: Integers


def forward_tape(arrays: Mapping[str, NDArray[Any]], leaves: int, fields: tuple[str, ...]) -> Tape:
    """The masses of a circuit's questions: heads are the weights, results [questions × fields].

    ``arrays`` is what ``Circuit.arrays()`` gives.
    """
    flat = {name: np.asarray(part) for name, part in arrays.items()}
    channels = list(dict.fromkeys(name for field in fields for name in _channels(field)))
    nodes = len(flat["op"])
    constants = [_constants(name, flat) for name in channels]
    numbers = np.unique(np.concatenate([np.array([0.0, 1.0]), *constants]))
    numbers = np.concatenate([[1.0, 0.0], numbers[(numbers != 0.0) & (numbers != 1.0)]])
    first = leaves + len(numbers)
    entry = _entries(flat, constants, numbers, leaves, first)
    terms = _terms(flat, channels, entry, leaves)
    roots = entry[:, flat["roots"].astype(np.int64)]  # [channels, questions]
    wanted = roots[[channels.index(name) for name in fields]].T.ravel()
    layer = np.searchsorted(flat["layers"], np.arange(nodes), side="right") - 1
    level = np.tile(layer, len(channels))
    kept, live = _useful(terms, level, first, leaves + 1, wanted)
    wanted = np.where((wanted < first) | live[np.maximum(wanted - first, 0)], wanted, leaves + 1)
    nodes = np.unique(kept.row)  # the sums of the tape, before they are put in order
    code = np.arange(first + len(level))
    code[nodes] = first + np.arange(len(nodes))
    kept = _Terms(code[kept.row] - first, code[kept.left], code[kept.right])
    plan = _schedule(kept, level[nodes - first], first, leaves)
    pairs = _moved(plan.pairs, first, plan.place)
    return Tape(
        leaves, numbers, plan.levels, plan.starts, pairs, _moved(code[wanted], first, plan.place)
    )


def backward_tape(tape: Tape) -> Tape:
    """The slopes of Σ seeds · results: heads are the seeds, results [heads of the tape].

    The first factor of each pair is an entry of the slopes, the second one of the values.
    """
    values, seeds, one = tape.heads + len(tape.constants), len(tape.out), tape.heads
    parent = values + np.repeat(np.arange(len(tape.starts) - 1), np.diff(tape.starts))
    left, right = tape.pairs[:, 0], tape.pairs[:, 1]
    first = seeds + 1  # after the seeds there is a zero, for weights that nothing depends on
    row = np.concatenate([left, right, tape.out])
    variable = (row < tape.heads) | (row >= values)
    entries = np.unique(row[variable])
    code = np.full(tape.entries, -1)
    code[entries] = np.arange(len(entries))
    slope = np.concatenate([first + code[parent], first + code[parent], np.arange(seeds)])
    other = np.concatenate([right, left, np.full(seeds, one)])
    terms = _Terms(code[row[variable]], slope[variable], other[variable])
    depth = len(tape.levels) - 1
    level = np.full(tape.entries, depth)  # the weights come last
    level[values:] = depth - 1 - np.repeat(np.arange(depth), np.diff(tape.levels))
    plan = _schedule(terms, level[entries], first, one)
    pairs = np.stack([_moved(plan.pairs[:, 0], first, plan.place), plan.pairs[:, 1]], axis=1)
    found = code[: tape.heads]
    out = np.where(found < 0, seeds, first + plan.place[np.maximum(found, 0)])
    return Tape(seeds, np.zeros(1), plan.levels, plan.starts, pairs, out)


def _channels(field: str) -> tuple[str, ...]:
    """The channels that a mass needs."""
    return tuple(
        dict.fromkeys(name for pair in RULES.get(field, ((field, field),)) for name in pair)
    )


def _constants(channel: str, arrays: Mapping[str, NDArray[Any]]) -> Floats:
    """By value of a leaf, what it is worth in a channel."""
    kinds = arrays["kinds"].astype(np.int64)
    some, evidence, other = (kinds & QE) != 0, (kinds & E) != 0, (kinds & OTHER) != 0
    match channel:
        case "qe" | "e":
            return arrays[channel].astype(np.float64)
        case "consistent":
            chosen = kinds != 0
        case "a":
            chosen = kinds == QE
        case "b":
            chosen = some
        case "c":
            chosen = kinds == E
        case "d":
            chosen = evidence
        case "some e":
            chosen = some | evidence
        case "all e are qe":
            chosen = some & ~evidence
        case "all are e":
            chosen = (some | evidence) & ~other
        case _:  # all are e, some qe
            chosen = some & ~other
    return chosen.astype(np.float64)


def _entries(
    arrays: Mapping[str, NDArray[Any]],
    constants: list[Floats],
    numbers: Floats,
    leaves: int,
    first: int,
) -> Integers:
    """By channel and node, its entry: a constant for leaves, else a number from ``first`` on."""
    op, begin = arrays["op"].astype(np.int64), arrays["begin"].astype(np.int64)
    order = np.argsort(numbers, kind="stable")
    entry = first + np.arange(len(constants) * len(op)).reshape(len(constants), len(op))
    for channel, values in enumerate(constants):
        place = leaves + order[np.searchsorted(numbers[order], values)]
        entry[channel, op == LEAF] = place[begin[op == LEAF]]
    return entry


def _terms(
    arrays: Mapping[str, NDArray[Any]], channels: list[str], entry: Integers, leaves: int
) -> _Terms:
    """All products, in all channels."""
    op, begin, end, weight, child = (
        arrays[name].astype(np.int64) for name in ("op", "begin", "end", "weight", "child")
    )
    sums, products = np.flatnonzero(op == SUM), np.flatnonzero(op == PRODUCT)
    counts = end[sums] - begin[sums]
    starts = np.cumsum(counts) - counts
    edges = np.repeat(begin[sums] - starts, counts) + np.arange(counts.sum())
    factor = np.where(weight[edges] < 0, leaves, weight[edges])
    above, below = np.repeat(sums, counts), child[edges]
    one, two = child[begin[products]], child[begin[products] + 1]
    parts: list[tuple[Integers, Integers, Integers]] = []
    for i, name in enumerate(channels):
        parts.append((entry[i, above], factor, entry[i, below]))
        for left, right in RULES.get(name, ((name, name),)):
            x, y = channels.index(left), channels.index(right)
            parts.append((entry[i, products], entry[x, one], entry[y, two]))
    return _Terms(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _useful(
    terms: _Terms, level: Integers, first: int, zero: int, wanted: Integers
) -> tuple[_Terms, NDArray[np.bool_]]:
    """The products that are not always 0 and that a result needs; and which nodes are not 0."""
    total = first + len(level)
    live = np.ones(total, dtype=np.bool_)
    live[first:] = False
    live[zero] = False
    order = np.argsort(level[terms.row - first], kind="stable")
    row, left, right = terms.row[order], terms.left[order], terms.right[order]
    cuts = np.searchsorted(level[row - first], np.arange(level.max(initial=0) + 2))
    for begin, end in zip(cuts[:-1], cuts[1:], strict=True):
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
    return _Terms(row[keep], left[keep], right[keep]), live[first:]


def _moved(entries: Integers, first: int, place: Integers) -> Integers:
    """The entries, with the sums from ``first`` on at their new places."""
    moved = entries.copy()
    sums = entries >= first
    moved[sums] = first + place[entries[sums] - first]
    return moved


@dataclass(frozen=True, slots=True)
class _Plan:
    """Sums in the order of their levels; ``place`` says where each of the old ones stands."""

    levels: Integers
    starts: Integers
    pairs: Integers  # still with the old numbers of the sums
    place: Integers


def _schedule(terms: _Terms, level: Integers, first: int, one: int) -> _Plan:
    """Put sums into levels, the longest first in each, after cutting long ones into pieces.

    The sums are numbered from 0; as factors they are the entries from ``first`` on.
    """
    order = np.argsort(terms.row, kind="stable")
    row, left, right = terms.row[order], terms.left[order], terms.right[order]
    sums = len(level)
    counts = np.bincount(row, minlength=sums)
    position = np.arange(len(row)) - (np.cumsum(counts) - counts)[row]
    long = counts[row] > LONGEST
    new = position[long] % LONGEST == 0
    number = sums + np.cumsum(new) - 1  # by product of a long sum, its piece
    owner = row[long][new]
    row = row.copy()
    row[long] = number
    pieces = np.arange(sums, sums + len(owner))
    row = np.concatenate([row, owner])
    left = np.concatenate([left, first + pieces])
    right = np.concatenate([right, np.full(len(owner), one)])
    deep = np.concatenate([2 * level + 1, 2 * level[owner]])
    counts = np.bincount(row, minlength=len(deep))
    ranked = np.lexsort((-counts, deep))
    place = np.empty(len(deep), dtype=np.int64)
    place[ranked] = np.arange(len(deep))
    order = np.argsort(place[row], kind="stable")
    starts = np.concatenate([[0], np.cumsum(counts[ranked])])
    cuts = np.flatnonzero(np.diff(deep[ranked])) + 1
    levels = np.concatenate([[0], cuts, [len(deep)]]) if len(deep) else np.zeros(1, np.int64)
    return _Plan(levels, starts, np.stack([left[order], right[order]], axis=1), place)
