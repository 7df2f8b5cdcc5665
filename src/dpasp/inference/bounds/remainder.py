"""Estimates for a program that is compiled in part: worlds are drawn from what is open only.

What the closed cases say is exact (see ``cases``). The open ones are strata of known probability:
a sample has one world of each, weighted by the probability of its stratum, so the mean of the
samples estimates the open mass without bias (Rao-Blackwellisation). It varies less the more is
closed, and is exact once everything is.

>>> from dpasp.inference.asked import ask
>>> from dpasp.language import parse
>>> from dpasp.ground import ground
>>> from dpasp.semantics.meaning import Meaning
>>> asked = ask(ground(parse("0.3::a. 0.5::b. c :- a. c :- b. #query a | c.")), Meaning())
>>> cases = Cases(asked, asked.queries, asked.weights, whole=False)
>>> strata(cases, 4)                      # nothing is compiled yet: what is open is all there is
[()]
"""

from __future__ import annotations

import heapq
import math
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from dpasp.circuits.join import Fallen
from dpasp.circuits.worlds import BLOCK
from dpasp.errors import LimitReached
from dpasp.inference.answers import Answer
from dpasp.inference.bounds.cases import Cases
from dpasp.inference.sampling.chains import precise
from dpasp.inference.sampling.intervals import Frame, Tally
from dpasp.inference.sampling.sample import estimated, numbered
from dpasp.inference.sampling.stream import Prepared, Stream, outcomes
from dpasp.inference.tuning import BOUNDS, SAMPLING
from dpasp.limits import Watch
from dpasp.semantics.leaves import Weights
from dpasp.semantics.masses import Array, Masses


class Remainder:
    """The open cases of queries, to be drawn from, beside the closed ones."""

    def __init__(self, cases: Cases, prepared: Prepared, seed: int, watch: Watch) -> None:
        self.cases, self.prepared, self.watch, self.seed = cases, prepared, watch, seed
        cases_drawn = strata(cases, BOUNDS.strata)
        seeds = np.random.SeedSequence(seed).generate_state(
            len(cases_drawn), np.uint64
        ) >> np.uint64(1)
        self.streams, shares = list[Stream](), list[float]()
        for fallen, stratum_seed in zip(cases_drawn, seeds.tolist(), strict=True):
            stream = Stream(prepared, fixed(cases, fallen), stratum_seed, watch)
            # The weight of no world is more than ``most``: a stratum is worth no more than that.
            share = cases.chance(fallen) * stream.most
            if share > 0:  # it may contradict the evidence
                self.streams.append(stream)
                shares.append(share)
        self.open = sum(shares)
        self._shares = [share / self.open for share in shares]
        self.worlds = self._rounds_drawn = self._blocks = 0
        self.tallies = self._tallies(set(cases_drawn))

    def draw(self, gap: float, most: float = math.inf, watch: Watch | None = None) -> bool:
        """Draw more samples; returns False if a limit stopped it.

        It ends when the answers are as precise as ``gap`` says, after ``most`` samples, or at a
        limit of the ``watch``; without a watch, at one of that which it was made with.
        """
        rounds, look = self._rounds_drawn, self._rounds_drawn * SAMPLING.look + 1.0
        limit = rounds + most
        for stream in self.streams:
            stream.watch = watch or self.watch
        try:
            for sample in self._drawn_on(most):
                for place, samples in enumerate(sample):
                    for i, tallies in enumerate(self.tallies):
                        tallies[place].add(samples[:, i])
                rounds += sample[0].shape[-1]
                self._rounds_drawn = rounds
                self.watch.report(self.worlds, None)
                if rounds >= limit:
                    return True
                if gap > 0 and rounds >= look:
                    look = rounds * SAMPLING.look
                    answers = self.answers()
                    self.watch.stage(estimated(answers))
                    if precise(answers, gap):
                        return True
        except LimitReached:
            return False
        return True

    def answers(self) -> list[Answer]:
        """The estimates, with intervals of 95 %."""
        return [
            numbered(query.text, tallies, self.worlds, planned=False)
            for query, tallies in zip(self.cases.asked.queries, self.tallies, strict=True)
        ]

    def _tallies(self, drawn: set[Fallen]) -> list[list[Tally]]:
        """By query and number, a tally: closed cases outside of the strata are known masses."""
        first = len(self.cases.first)
        known = np.zeros_like(self.cases.known)
        for closed in self.cases.closed:
            if not any(closed.fallen[:end] in drawn for end in range(first, len(closed.fallen))):
                known += closed.masses
        masses = Masses.of(known)
        if self.cases.asked.meaning.maxent:
            sides = [(masses.qe, masses.e - masses.qe)]
        else:
            sides = [(masses.a, masses.d), (masses.b, masses.c)]
        return [
            [Tally(False, Frame(float(f[i]), max(0.0, float(a[i])), self.open)) for f, a in sides]
            for i in range(known.shape[1])
        ]

    def tells(self, width: float) -> bool:
        """Whether the interval of every number is at most so wide."""
        ends = (tally.interval(planned=False) for tallies in self.tallies for tally in tallies)
        return all(high - low <= width for low, high in ends)

    def _drawn_on(self, most: float) -> Iterator[list[Array]]:
        """Samples [2, queries, samples] for each number of an answer, in pieces."""
        number, piece = self._blocks, SAMPLING.piece if self.prepared.situations else BLOCK
        while self.streams:
            self._blocks = number + 1  # what a limit leaves of a block is not drawn again
            drawn = [stream.block(number) for stream in self.streams]
            start = 0
            while start < BLOCK:
                began, count = time.monotonic(), int(min(piece, most, BLOCK - start))
                part = slice(start, start + count)
                seen_by_stratum = [
                    s.seen(d, part) for s, d in zip(self.streams, drawn, strict=True)
                ]
                self.worlds += sum(seen.count for seen in seen_by_stratum)
                yield self._joined([(seen.known, seen.weights) for seen in seen_by_stratum])
                start, most = part.stop, max(1.0, most - count)
                if time.monotonic() - began < SAMPLING.quick:
                    piece = min(2 * piece, BLOCK)
            number += 1

    def _joined(self, worlds: Sequence[tuple[Array, Weights | None]]) -> list[Array]:
        """Samples of one world of each stratum, weighed by the probabilities of the strata."""
        meaning, queries = self.cases.asked.meaning, self.cases.asked.queries
        total: list[Array] = []
        for share, (known, weights) in zip(self._shares, worlds, strict=True):
            numbers = outcomes(known, meaning, queries)
            weighed = [
                share * (number if weights is None else number * weights) for number in numbers
            ]
            total = [a + b for a, b in zip(total, weighed, strict=True)] if total else weighed
        return total


def strata(cases: Cases, most: int) -> list[Fallen]:
    """Cases that exclude each other and together hold every open case.

    There are about ``most``: where there are more open cases, some stay joined under a case that
    they were split from, those first under which least is closed. Closed cases in there are
    drawn from again. ``shut`` is the closed mass below each case of the tree.
    """
    first, shut = len(cases.first), defaultdict[Fallen, float](float)
    children, left = defaultdict[Fallen, set[Fallen]](set), set[Fallen]()
    for fallen, chance in (
        *((closed.fallen, cases.chance(closed.fallen)) for closed in cases.closed),
        *((fallen, 0.0) for fallen in cases.open),
    ):
        for end in range(first, len(fallen) + 1):
            shut[fallen[:end]] += chance
            if end > first:
                children[fallen[: end - 1]].add(fallen[:end])
    for fallen in cases.open:
        left.update(fallen[:end] for end in range(first, len(fallen) + 1))
    whole = [node for node in (cases.first,) if node in left]
    split = [(-shut[node], node) for node in whole if shut[node] > 0]
    untouched = [node for node in whole if not shut[node] > 0]
    while split and len(split) + len(untouched) < most:
        _, node = heapq.heappop(split)
        for child in sorted(children[node] & left):
            if shut[child] > 0:
                heapq.heappush(split, (-shut[child], child))
            else:
                untouched.append(child)
    return untouched + [node for _, node in split]


def fixed(cases: Cases, fallen: Fallen) -> Weights:
    """The weights [leaves] in a case: the choices that it fixes are certain."""
    weights = cases.weights.copy()
    for choice, value in fallen:
        leaves = cases.asked.layout.of(choice)
        weights[leaves] = 0.0
        weights[cases.asked.layout.starts[choice] + value] = 1.0
    return weights
