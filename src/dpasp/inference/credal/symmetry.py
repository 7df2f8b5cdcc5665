"""Credal choices that are interchangeable in a question: their vertices are tried once for all.

Two choices are alike if swapping them leaves all masses of the question as they are,
whatever the probabilities. That is an identity of polynomials, and it is tested at
random points of a finite field, where nothing is rounded: polynomials that differ are taken
for equal with a chance of about one in 10^15. Equal fixed probabilities are the same random
number.

>>> from dpasp.inference.asked import ask
>>> from dpasp.language import parse
>>> from dpasp.logic import ground
>>> from dpasp.semantics.meaning import Meaning
>>> from dpasp.circuits import compile
>>> from dpasp.inference.credal.vertices import corners
>>> text = "[0.2, 0.4]::a(1..3). c :- a(1), a(2), a(3). #query c."
>>> asked = ask(ground(parse(text)), Meaning())
>>> intervals, circuit = corners(asked.ground), compile(asked.ground, asked.meaning)
>>> classes = symmetric_choices(circuit, 0, asked.weights, asked.layout, intervals)
>>> classes, count_vertices(classes, intervals)      # of eight vertices
([[0, 1, 2]], 4)
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement, product

import numpy as np
from numpy.typing import NDArray

from dpasp.circuits import Circuit
from dpasp.circuits.channels import LeafValues
from dpasp.circuits.layers import Layer, Layers, Numbers, same_in_columns, sweep
from dpasp.inference.credal.vertices import Corners
from dpasp.semantics.leaves import LeafLayout, Weights

PRIME = np.uint64(2**31 - 1)
SEED = 20
MOST = 1 << 26  # nodes times choices: what is held at once, 8 bytes each

Field = NDArray[np.uint64]  # numbers below PRIME
Class = list[int]  # credal choices that are alike, by position among the corners

# What multiplies over products and determines the masses a, b, c and d.
CHANNELS = (
    "consistent",
    "a",
    "b",
    "some e",
    "every e is qe",
    "every is e",
    "every is e, some qe",
)


def symmetric_choices(
    circuit: Circuit,
    question: int,
    weights: Weights,
    layout: LeafLayout,
    corners: Sequence[Corners],
) -> list[Class]:
    """The credal choices in classes; those of a class are interchangeable in the question.

    Every choice is a class of its own where the circuit is too large to find out. Candidates are
    first told apart by one evaluation for all of a group, which costs little, and then tested.
    """
    layers, values = circuit.below(question), circuit.values
    random = np.random.default_rng(SEED)
    if len(layers) * len(corners) > MOST:
        return [[position] for position in range(len(corners))]
    groups: dict[bytes, Class] = {}
    for position, corner in enumerate(corners):
        groups.setdefault(corner.points.tobytes(), []).append(position)
    classes = []
    for group in groups.values():
        point = _point(random, weights, layout, corners)
        roots = _root_values(layers, values, _one_different(random, point, group, corners))
        similar: dict[bytes, Class] = {}
        for column, position in enumerate(group):
            similar.setdefault(roots[:, column].tobytes(), []).append(position)
        for rest in similar.values():
            while rest:  # those that can be swapped with the first of them are a class
                points = [_point(random, weights, layout, corners) for _ in range(2)]
                swapped = [_swaps(point, rest, corners) for point in points]
                at_swaps = np.concatenate([_root_values(layers, values, swap) for swap in swapped])
                same = np.all(at_swaps == at_swaps[:, :1], axis=0)
                classes.append([rest[k] for k in np.flatnonzero(same)])
                rest = [rest[k] for k in np.flatnonzero(~same)]
    return classes


def count_vertices(classes: Sequence[Class], corners: Sequence[Corners]) -> int:
    """How many vertices differ if of a class it only matters how many take each corner."""
    sizes = [(len(members), len(corners[members[0]].points)) for members in classes]
    return math.prod(math.comb(n + size - 1, size - 1) for n, size in sizes)


def different_vertices(
    classes: Sequence[Class], corners: Sequence[Corners], weights: Weights, most: int
) -> Iterator[Weights]:
    """The weights [leaves] at all vertices that differ, as batches [leaves, vertices]."""
    multisets = [
        combinations_with_replacement(range(len(corners[members[0]].points)), len(members))
        for members in classes
    ]
    picks = list(product(*multisets))
    for start in range(0, len(picks), most):
        some = picks[start : start + most]
        batch = np.repeat(weights[:, np.newaxis], len(some), axis=1)
        for column, picked in enumerate(some):
            for members, pick in zip(classes, picked, strict=True):
                for position, corner in zip(members, pick, strict=True):
                    here = corners[position]
                    batch[here.leaves, column] = here.points[corner]
        yield batch


def _point(
    random: np.random.Generator, weights: Weights, layout: LeafLayout, corners: Sequence[Corners]
) -> Field:
    """Random weights [leaves]; those of each choice sum to 1, as probabilities do."""
    distinct, which = np.unique(weights, return_inverse=True)
    values = random.integers(2, PRIME, len(distinct), dtype=np.uint64)
    for known in (0, 1):
        values[distinct == known] = known
    result: Field = values[which.reshape(-1)]
    for corner in corners:
        size = corner.leaves.stop - corner.leaves.start
        result[corner.leaves] = random.integers(2, PRIME, size, dtype=np.uint64)
    for choice in range(len(layout.starts) - 1):
        leaves = layout.of(choice)
        others = result[leaves.start : leaves.stop - 1].sum() % PRIME
        result[leaves.stop - 1] = (PRIME + np.uint64(1) - others) % PRIME
    return result


def _one_different(
    random: np.random.Generator, point: Field, group: Class, corners: Sequence[Corners]
) -> Field:
    """A column for each choice of a group: it alone differs from the others of the group."""
    columns = np.repeat(point[:, np.newaxis], len(group), axis=1)
    usual = point[corners[group[0]].leaves]
    special = usual.copy()
    if len(usual) > 1:
        move = random.integers(1, PRIME, dtype=np.uint64)
        special[0] = (usual[0] + move) % PRIME
        special[-1] = (usual[-1] + PRIME - move) % PRIME
    for position in group:
        columns[corners[position].leaves] = usual[:, np.newaxis]
    for column, position in enumerate(group):
        columns[corners[position].leaves, column] = special
    return columns


def _swaps(point: Field, some: Class, corners: Sequence[Corners]) -> Field:
    """A column for each choice, in which it is swapped with the first of them."""
    columns = np.repeat(point[:, np.newaxis], len(some), axis=1)
    first = corners[some[0]].leaves
    for column, position in enumerate(some):
        other = corners[position].leaves
        columns[first, column], columns[other, column] = point[other], point[first]
    return columns


def _root_values(layers: Layers, values: LeafValues, weights: Field) -> Field:
    """The values [channels, columns] of the root under weights [leaves, columns]."""
    wide = np.concatenate([weights, np.ones((1, weights.shape[1]), dtype=np.uint64)])
    return np.stack([_value(layers, values.channel(name), wide) for name in CHANNELS])


def _value(layers: Layers, values: Numbers, weights: Field) -> Field:
    """The values [columns] of one channel at the root, computed modulo ``PRIME``."""

    def add(layer: Layer, below: Sequence[Numbers]) -> list[Numbers]:
        return [layer.sum(weights[layer.weights] * below[0] % PRIME) % PRIME]

    def multiply(_: Layer, left: Sequence[Numbers], right: Sequence[Numbers]) -> list[Numbers]:
        return [left[0] * right[0] % PRIME]

    leaves = same_in_columns(values.astype(np.uint64), weights.shape[1])
    (channel,) = sweep(layers, [leaves], add, multiply)
    root: Field = channel[layers.root]
    return root
