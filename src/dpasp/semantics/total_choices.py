"""Total choices: their probability, the most probable ones first, and drawing them.

A total choice is a value for every choice of a ground program, written as the positions of
the values among the leaves of their choices.

>>> weights = np.array([0.3, 0.7, 0.2, 0.8])                     # two choices of two values
>>> list(most_probable_first(weights, (0, 2, 4)))
[(1, 1), (0, 1), (1, 0), (0, 0)]
>>> round(probability_of((1, 1), weights, (0, 2, 4)), 6)
0.56
"""

from __future__ import annotations

import heapq
from collections.abc import Container, Iterator, Sequence
from itertools import pairwise

import numpy as np

from dpasp.ground.program import GroundProgram
from dpasp.semantics.leaves import Weights

TotalChoice = tuple[int, ...]
Changes = tuple[tuple[int, int], ...]  # (choice in order, rank of its value) where not the best


def probability_of(choice: TotalChoice, weights: Weights, starts: Sequence[int]) -> float:
    """The probability of a total choice under weights [leaves]."""
    places = np.array(starts[:-1], dtype=np.intp) + np.array(choice, dtype=np.intp)
    return float(np.prod(weights[places]))


def log_probability_of(choice: TotalChoice, weights: Weights, starts: Sequence[int]) -> float:
    """The logarithm of its probability, which may be too small to be a number itself."""
    places = np.array(starts[:-1], dtype=np.intp) + np.array(choice, dtype=np.intp)
    with np.errstate(divide="ignore"):
        return float(np.log(weights[places]).sum())


def distributions(weights: Weights, starts: Sequence[int]) -> list[Weights]:
    """The weights [leaves] choice by choice."""
    return [weights[start:end] for start, end in pairwise(starts)]


def certain(choices: Sequence[TotalChoice], starts: Sequence[int]) -> Weights:
    """Weights [leaves, total choices] with which each of the total choices is certain."""
    first = np.array(starts[:-1], dtype=np.int64)
    result = np.zeros((starts[-1], len(choices)))
    for column, choice in enumerate(choices):
        result[first + np.array(choice, dtype=np.int64), column] = 1.0
    return result


def selector_literals(
    ground: GroundProgram, choice: TotalChoice, possible: Container[int]
) -> list[int]:
    """A total choice as literals over the possible selectors, as a solver assumes them."""
    return [
        selector if position == value else -selector
        for among, value in zip(ground.choices, choice, strict=True)
        for position, selector in enumerate(among.selectors)
        if selector in possible
    ]


def draw(
    generator: np.random.Generator, weights: Weights, starts: Sequence[int], n: int
) -> list[TotalChoice]:
    """``n`` independent total choices, each by its probability under weights [leaves]."""
    columns = [
        generator.choice(len(distribution), size=n, p=distribution / distribution.sum())
        for distribution in distributions(weights, starts)
    ]
    return list(zip(*(column.tolist() for column in columns), strict=True)) or [()] * n


def most_probable_first(weights: Weights, starts: Sequence[int]) -> Iterator[TotalChoice]:
    """The total choices of positive probability, in the order of it.

    Every choice has its values ranked; a total choice costs what its ranks lose against
    the best. With the choices in the order of what the second value loses, each total
    choice has one cheaper or equal parent, so that a heap gives all of them in order.
    """
    ranked = [
        np.argsort(-distribution, kind="stable") for distribution in distributions(weights, starts)
    ]
    losses = [
        [
            float(np.log(distribution[order[0]]) - np.log(distribution[k]))
            for k in order
            if distribution[k] > 0
        ]
        for distribution, order in zip(distributions(weights, starts), ranked, strict=True)
    ]
    order = sorted(
        (i for i, lost in enumerate(losses) if len(lost) > 1), key=lambda i: losses[i][1]
    )
    sizes = [len(losses[i]) for i in order]
    best = [int(order_of[0]) for order_of in ranked]
    heap: list[tuple[float, Changes]] = [(0.0, ())]
    while heap:
        cost, changes = heapq.heappop(heap)
        values = best.copy()
        for place, rank in changes:
            values[order[place]] = int(ranked[order[place]][rank])
        yield tuple(values)
        for following in _following(changes, sizes):
            extra = sum(losses[order[place]][rank] for place, rank in following)
            heapq.heappush(heap, (max(cost, extra), following))


def _following(changes: Changes, sizes: Sequence[int]) -> Iterator[Changes]:
    """The total choices that come right after one; each has only one that it comes after."""
    if not changes:
        if sizes:
            yield ((0, 1),)
        return
    *before, (place, rank) = changes
    if rank + 1 < sizes[place]:
        yield (*before, (place, rank + 1))
    if place + 1 < len(sizes):
        yield (*changes, (place + 1, 1))
        if rank == 1:
            yield (*before, (place + 1, 1))
