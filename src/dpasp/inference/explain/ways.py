"""Minimal explanations: what must be chosen for query and evidence to hold, and no more.

A *way* is a minimal set of values of choices such that query and evidence hold in every model
(a *sure* way), or in some model, of every total choice with these values. Total choices without a
model do not count, as in answers.

A set of values with which no total choice satisfies query and evidence is a *block*: a way must
contain another value of one of its choices. So the most probable ways are those that avoid all
blocks at the least cost, -log P. A best-first search finds them in order: the circuit says
whether a set of values is a way and, if not, yields one more block.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from enum import Enum
from itertools import combinations, pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dpasp.dataclass import dataclass
from dpasp.errors import LimitReached
from dpasp.inference.circuit import OnCircuit
from dpasp.limits import Watch
from dpasp.semantics.leaves import LeafLayout, Weights
from dpasp.semantics.masses import Masses

Item = TypeVar("Item")


def smallest(items: Sequence[Item], enough: Callable[[Sequence[Item]], bool]) -> list[Item]:
    """A part of the items that is still enough, and from which none can be left out.

    ``enough`` says whether some of the items are enough; all of them must be. That none can be
    left out of the result is so where more items are never worse than fewer. Large blocks are
    tried first, then smaller ones, so that ``enough`` is called seldom where little is needed.
    """
    kept = list(items)
    size = max(1, len(kept) // 2)
    while kept:
        at = 0
        while at < len(kept):
            rest = kept[:at] + kept[at + size :]
            if enough(rest):
                kept = rest
            else:
                at += size
        if size == 1:
            return kept
        size //= 2
    return kept


class Certainty(Enum):
    """What a set of values has to make of every total choice that has a model."""

    SURE = "query and evidence hold in every model"
    POSSIBLE = "query and evidence hold in some model"
    NEVER = "there is none, or query and evidence hold in no model"


Partial = Mapping[int, int]  # values (positions among their leaves) of some choices
ChoiceValue = tuple[int, int]  # a choice and a value of it
LOOKED_AT = 5_000  # the most sets of values that are tested
SMALLEST = -600.0  # where logarithms of probabilities may be below this, masses are logarithms
BATCH = 256
Flags = NDArray[np.bool_]


@dataclass
class Ways:
    """The ways of one question of a circuit, whose evidence is empty.

    ``high`` are the largest weights that the leaves can have; those with 0 cannot be chosen.
    ``circuit`` answers with credal masses.
    """

    circuit: OnCircuit
    question: int
    high: Weights
    watch: Watch
    blocks: list[frozenset[ChoiceValue]] = field(default_factory=list)  # the values past each
    complete: bool = True
    best: Partial | None = None  # the most probable way that was found first
    failing: Partial | None = None  # values with which all total choices fail, if there are some

    def __post_init__(self) -> None:
        self._layout: LeafLayout = self.circuit.layout
        self._live = [
            np.flatnonzero(self.high[start:end] > 0).tolist()
            for start, end in pairwise(self._layout.starts)
        ]
        self._open = [i for i, values in enumerate(self._live) if len(values) > 1]
        least = -sum(math.log(max(1, len(values))) for values in self._live)
        self._tiny = least < SMALLEST

    def find(self, certainty: Certainty, most: int) -> Iterator[Partial]:
        """The most probable ways, in order; ``complete`` is False if a limit stopped it.

        A set of values that does not get past a known block grows by one value that does. One
        that gets past all of them is tested: it is a way, or there is one more block.
        """
        self.blocks.clear()
        minimal: list[frozenset[ChoiceValue]] = []
        heap: list[tuple[float, int, tuple[ChoiceValue, ...]]] = [(0.0, 0, ())]
        seen: set[tuple[ChoiceValue, ...]] = {()}
        listed = checked = 0
        while heap and listed < most:
            _, _, key = heapq.heappop(heap)
            values = frozenset(key)
            if any(known <= values for known in minimal):
                continue
            block = next((pairs for pairs in self.blocks if not pairs & values), None)
            if block is None:
                checked += 1
                if checked > LOOKED_AT:
                    self.complete = False
                    return
                try:
                    block = self._block(dict(key), certainty)
                except LimitReached:
                    self.complete = False
                    return
            if block is None:
                minimal.append(values)
                if self._has_models(dict(key), certainty):
                    listed += 1
                    self.best = self.best or dict(key)
                    yield dict(key)
                continue
            for pair in block:
                if pair[0] in dict(key):
                    continue
                longer = tuple(sorted((*key, pair)))
                if longer not in seen:
                    seen.add(longer)
                    heapq.heappush(heap, (self._cost(longer), len(longer), longer))

    def _cost(self, values: Sequence[ChoiceValue]) -> float:
        """-log P of values."""
        starts = self._layout.starts
        return math.fsum(-math.log(min(1.0, self.high[starts[i] + value])) for i, value in values)

    def _block(self, values: dict[int, int], certainty: Certainty) -> frozenset[ChoiceValue] | None:
        """A block that these values do not get past, as the values that do; None for a way.

        Choices that are open are fixed one by one, so that some total choice still fails, until
        all do; then what is not needed for that is left out.
        """
        if not self._fails([values], certainty)[0]:
            return None
        block = dict(values)
        for choice in self._open:
            if choice in block:
                continue
            if self._all_fail(block, certainty):
                break
            tries = [{**block, choice: value} for value in self._live[choice]]
            block = tries[int(np.argmax(self._fails(tries, certainty)))]
        kept = smallest(
            # Values that the set does not fix come last: they are what it can change.
            sorted(block.items(), key=lambda pair: pair[0] not in values),
            lambda some: self._all_fail(dict(some), certainty),
        )
        if not values:
            self.failing = dict(kept)
        past = frozenset(
            (choice, other)
            for choice, value in kept
            for other in self._live[choice]
            if other != value
        )
        self.blocks.append(past)
        return past

    def _has_models(self, values: Partial, certainty: Certainty) -> bool:
        """Whether some total choice with these values has a model that counts."""
        some = self._masses([values])
        return bool(self._good(some, certainty)[0]) or certainty is Certainty.NEVER

    def _fails(self, tries: Sequence[Partial], certainty: Certainty) -> Flags:
        """Whether some total choice with these values fails."""
        some = self._masses(tries)
        return _by(certainty, some.d, some.c, some.b)

    def _all_fail(self, values: Partial, certainty: Certainty) -> bool:
        """Whether all total choices with these values fail."""
        some = self._masses([values])
        return not (some.inconsistent[0] or self._good(some, certainty)[0])

    def _good(self, some: _Some, certainty: Certainty) -> Flags:
        """Whether some total choice with a model does not fail."""
        return _by(certainty, some.a, some.b, some.c)

    def _masses(self, tries: Sequence[Partial]) -> _Some:
        """Which masses are not 0 if the other choices take all their values alike."""
        self.watch.check()
        columns = np.stack([self._column(values) for values in tries], axis=1)
        masses = self.circuit.masses(columns, self.watch)[self.question]
        lost = masses.inconsistent > 0
        if self._tiny:
            logs = self.circuit.masses(columns, self.watch, log=True)[self.question]
            none = -np.inf
            return _Some(logs.a > none, logs.b > none, logs.c > none, logs.d > none, lost)
        return _Some(masses.a > 0, masses.b > 0, masses.c > 0, masses.d > 0, lost)

    def _column(self, values: Partial) -> Weights:
        """Weights [leaves] with these values certain, and all others of a choice alike."""
        column = np.zeros(self._layout.size)
        for choice, live in enumerate(self._live):
            start = self._layout.starts[choice]
            if choice in values:
                column[start + values[choice]] = 1.0
            else:
                column[[start + value for value in live]] = 1.0 / len(live)
        return column


def _by(certainty: Certainty, sure: Flags, possible: Flags, never: Flags) -> Flags:
    """That one of the three which belongs to a certainty."""
    return {Certainty.SURE: sure, Certainty.POSSIBLE: possible, Certainty.NEVER: never}[certainty]


@dataclass(frozen=True, slots=True)
class _Some:
    """Which masses are not 0, by weight vector."""

    a: Flags
    b: Flags
    c: Flags
    d: Flags
    inconsistent: Flags


def certain_columns(
    weights: Weights, layout: LeafLayout, some: Sequence[Partial]
) -> tuple[Weights, Weights]:
    """Weights [leaves, sets] that make the values of each set certain, and their P [sets]."""
    columns = np.repeat(weights[:, np.newaxis], len(some), axis=1)
    chances = np.ones(len(some))
    for column, values in enumerate(some):
        for choice, value in values.items():
            leaves = layout.of(choice)
            chances[column] *= weights[leaves.start + value]
            columns[leaves, column] = 0.0
            columns[leaves.start + value, column] = 1.0
    return columns, chances


def unions(some: Sequence[Partial]) -> list[tuple[int, Partial]]:
    """Inclusion and exclusion: the unions of the sets that fit together, with their signs."""
    signed: list[tuple[int, Partial]] = []
    for size in range(1, len(some) + 1):
        for group in combinations(some, size):
            union: dict[int, int] = {}
            if all(union.setdefault(c, v) == v for values in group for c, v in values.items()):
                signed.append((1 if size % 2 else -1, union))
    return signed


def behind(masses: Masses, maxent: bool) -> Weights:
    """The mass that is behind an answer: of query and evidence, or where they are possible."""
    return masses.qe if maxent else masses.b
