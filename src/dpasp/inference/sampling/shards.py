"""Samples in shards, which any worker may draw: which worlds they are depends on the seed alone.

World number i of a seed is always the same, and shards are cut without regard to who draws
them, so that the same seed gives the same answer whatever the number of workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np

from dpasp.dataclass import dataclass
from dpasp.errors import LimitReached
from dpasp.inference.asked import Asked
from dpasp.inference.sampling.stream import Prepared, Stream, outcomes
from dpasp.inference.travel import light
from dpasp.limits import Watch
from dpasp.logic.program import GroundQuery
from dpasp.semantics.leaves import Weights
from dpasp.semantics.masses import Array

FIRST, MOST = 2**10, 2**20  # worlds of the first shards, and of later ones at most
SLOW_FIRST, SLOW_MOST = 2**8, 2**16  # where models of a world must be found
ALIKE = 16  # shards in a row of the same size
NUMBERS = 2**22  # worlds times queries of a shard, at most


@dataclass(frozen=True, slots=True)
class Shard:
    """The worlds of a seed from number ``begin`` on, ``count`` of them."""

    begin: int
    count: int


@dataclass(frozen=True, slots=True)
class Sampled:
    """What the worlds of a shard say.

    ``samples`` has for each number of an answer an array [2, queries, worlds]: how much of each
    world is for the query and against it; where that is all or nothing, only the sums
    [2, queries, 1]. Where a limit ``stopped`` the drawing, these are the first worlds of the
    shard.
    """

    count: int
    lost: int  # worlds without a model
    weight: float  # of the worlds that say something about the query
    squares: float  # the sum of the squares of those weights
    samples: tuple[Array, ...]
    stopped: LimitReached | None = None


def shards(wanted: int, queries: int, slow: bool) -> Iterator[Shard]:
    """The shards of the ``wanted`` worlds; with ``slow``, models of each world must be found.

    >>> [shard.count for shard in shards(20_000, 1, slow=False)][-3:]
    [1024, 2048, 1568]
    """
    first, most = (SLOW_FIRST, SLOW_MOST) if slow else (FIRST, MOST)
    most = max(1, min(most, NUMBERS // max(1, queries)))
    begin = number = 0
    while begin < wanted:
        size = min(first << (number // ALIKE), most) if number < 64 * ALIKE else most
        count = min(size, wanted - begin)
        yield Shard(begin, count)
        begin, number = begin + count, number + 1


@dataclass(frozen=True)
class Samples:
    """The job of drawing worlds under weights [leaves], for queries with the same evidence."""

    asked: Asked
    queries: Sequence[GroundQuery]
    weights: Weights
    seed: int
    prepared: Prepared | None = field(default=None, compare=False)  # here; others make their own

    def __reduce__(self) -> tuple[Any, ...]:
        return Samples, (light(self.asked), tuple(self.queries), self.weights, self.seed)

    def start(self, watch: Watch) -> Callable[[Shard, Watch], Sampled]:
        """The function that draws a shard."""
        asked = replace(self.asked, watch=watch)
        prepared = self.prepared or Prepared(asked, self.queries)
        stream = Stream(prepared, self.weights, self.seed, watch)

        def draw(shard: Shard, watch: Watch) -> Sampled:
            stream.watch = watch
            return _drawn(stream, self.queries, shard)

        return draw


def _drawn(stream: Stream, queries: Sequence[GroundQuery], shard: Shard) -> Sampled:
    """The worlds of a shard, as many as the watch allows."""
    prepared = stream.prepared
    meaning, binary = prepared.asked.meaning, prepared.binary
    ends = 1 if meaning.maxent else 2
    parts: list[list[Array]] = [[np.empty((2, len(queries), 0))] for _ in range(ends)]
    informative = [np.empty(0)]
    count = lost = 0
    stopped = None
    try:
        for seen in stream.worlds(shard.count, shard.begin):
            numbers = outcomes(seen.known, meaning, queries)
            weights = np.ones(seen.count) if seen.weights is None else seen.weights
            for pieces, number in zip(parts, numbers, strict=True):
                weighted = number * weights
                pieces.append(weighted.sum(axis=2, keepdims=True) if binary else weighted)
            informative.append(weights * (numbers[0][:, 0].sum(axis=0) > 0))
            lost += int(np.count_nonzero(seen.lost))
            count += seen.count
    except LimitReached as limit:
        stopped = limit
    # Added up in one go: rounding must not depend on the pieces, whose sizes depend on time.
    weights = np.concatenate(informative)
    samples = [np.concatenate(pieces, axis=2) for pieces in parts]
    if binary:
        samples = [sums.sum(axis=2, keepdims=True) for sums in samples]
    squares = float((weights**2).sum())
    return Sampled(count, lost, float(weights.sum()), squares, tuple(samples), stopped)
