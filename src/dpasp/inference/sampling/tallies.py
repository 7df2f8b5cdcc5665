"""Valid confidence intervals of a ratio of means, for any number of samples.

A sample is a pair (x, z) with x, z ≥ 0 and x + z ≤ 1: how much of it is for the query, and how much
against it. The answer is E[x] / E[x + z]. If it is r, a gambler who bets a share c of the capital
on every sample keeps the capital on average:

    E[1 + c · (x · (1 - r) / r - z)] = 1

By Ville's inequality, the probability that the capital ever reaches 1 / level is at most ``level``.
So answers r that would have made the gambler that rich are ruled out. The bets are spread over
several shares c, one of which is good however much the samples vary (as Waudby-Smith and Ramdas,
2024, do for means). This holds at every number of samples at once, so that drawing may stop at any
time; it assumes no normal distribution and is valid even if all samples are equal.

If every sample is wholly for the query, wholly against it or does not count, and their number does
not depend on what they are, the interval of Clopper and Pearson (1934) is smaller.

>>> [round(end, 4) for end in binomial(0, 10)]
[0.0, 0.3085]
>>> [round(end, 4) for end in betting(np.zeros(1), np.ones(1), np.full(1, 10.0))]
[0.0, 0.4669]
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import field

import numpy as np

from dpasp.dataclass import dataclass
from dpasp.inference.tuning import SAMPLING
from dpasp.semantics.masses import Array

Ends = tuple[float, float]

MISSED = 0.025  # the probability that the answer lies beyond one end: both hold in 95 %
SHARES: Array = 2.0 ** -np.arange(15.0)  # of the capital: one of them is near the best one
TINY = 1e-300  # an end below this is as good as 0


def binomial(hits: int, n: int) -> Ends:
    """Clopper's and Pearson's interval of a proportion."""
    low = 0.0 if hits == 0 else _least(lambda p: _at_least(hits, n, p) >= MISSED)
    high = 1.0 if hits == n else 1 - _least(lambda p: _at_least(n - hits, n, p) >= MISSED)
    return low, high


def betting(for_: Array, against: Array, counts: Array, planned: int | None = None) -> Ends:
    """The interval of a ratio of means, from distinct samples and how often each occurred.

    If their number was ``planned`` in advance, the bets are chosen for it.
    """
    low = _ruled_out(for_, against, counts, planned)
    return low, 1 - _ruled_out(against, for_, counts, planned)


def _ruled_out(for_: Array, against: Array, counts: Array, planned: int | None) -> float:
    """The lower end of the interval: all smaller ratios are ruled out."""
    if not counts @ for_ > 0:
        return 0.0

    def possible(ratio: float) -> bool:
        """Whether the ratio is not ruled out: betting against it does not make the gambler rich."""
        # The gambler wins if the answer is above the ratio. The capital decreases with the ratio,
        # whatever the shares; so all ratios above a possible one are possible.
        shares, parts = _shares(ratio, planned)
        gains = for_ * (1 - ratio) / ratio - against
        with np.errstate(divide="ignore"):
            logs = np.log1p(np.maximum(np.multiply.outer(shares, gains), -1.0)) @ counts
        logs += np.log(parts)
        most = float(logs.max())
        if most == -math.inf:
            return True  # the gambler lost everything
        return most + math.log(float(np.exp(logs - most).sum())) < -math.log(MISSED)

    return _least(possible)


def _shares(ratio: float, planned: int | None) -> tuple[Array, Array]:
    """The shares of the capital that are bet, and the parts into which the capital is split.

    If the number of samples is known, half of the capital is bet in the best way for samples that
    vary as much as possible; the other half is for samples that vary less.
    """
    if planned is None:
        return SHARES, np.full(len(SHARES), 1 / len(SHARES))
    best = min(0.5, math.sqrt(2 * math.log(2 / MISSED) * ratio / (1 - ratio) / planned))
    more = math.ceil(-math.log2(best))
    shares: Array = np.minimum(best * 2.0 ** np.arange(1.0 + more), 1.0)
    return shares, np.array([0.5, *[0.5 / more] * more])


def _least(possible: Callable[[float], bool]) -> float:
    """A number just below the smallest possible one from 0 to 1; all larger ones are possible."""
    low, high = 0.0, 1.0
    while high - low > SAMPLING.precise * high and high > TINY:
        # Small numbers are bisected by exponent; bisecting the interval would take long.
        middle = (low + high) / 2 if high > 0.01 else math.sqrt(max(low, TINY) * high)
        if possible(middle):
            high = middle
        else:
            low = middle
    return low


def _at_least(hits: int, n: int, p: float) -> float:
    """The probability of at least ``hits`` successes in n trials with probability p."""
    if p <= 0 or p >= 1:
        return float(p >= 1)
    if hits < n * p:  # beyond the mean, the terms of the sum soon become negligible
        return 1 - _at_least(n - hits + 1, n, 1 - p)
    first = math.lgamma(n + 1) - math.lgamma(hits + 1) - math.lgamma(n - hits + 1)
    first += hits * math.log(p) + (n - hits) * math.log1p(-p)
    terms = min(n - hits, 100 + int(9 * math.sqrt(n * p * (1 - p))))
    more = np.arange(hits + 1.0, hits + terms + 1)
    ratios = (n + 1 - more) / more * (p / (1 - p))
    return math.exp(first) * (1 + float(np.cumprod(ratios).sum()))


@dataclass(slots=True)
class Tally:
    """How much of the samples was for a query and how much against it.

    With ``binary``, every sample is wholly for it, wholly against it, or neither; then counts
    suffice. Other samples are merged into means of more and more of them, so that only few are
    kept: a mean is itself a sample with the same expectation.
    """

    binary: bool
    for_: float = 0.0
    against: float = 0.0
    count: int = 0
    _means: list[Array] = field(default_factory=list)  # [2, samples] each
    _rest: Array = field(default_factory=lambda: np.empty((2, 0)))
    _kept: int = 0

    def add(self, samples: Array) -> None:
        """Add samples [2, n]: for and against."""
        self.for_ += float(samples[0].sum())
        self.against += float(samples[1].sum())
        self.count += samples.shape[1]
        if self.binary:
            return
        self._rest = np.concatenate([self._rest, samples], axis=1)
        while True:
            stage, filled = divmod(self._kept, SAMPLING.kept)
            size = 2**stage
            means = min(SAMPLING.kept - filled, self._rest.shape[1] // size)
            if not means:
                return
            grouped = self._rest[:, : means * size].reshape(2, means, size)
            self._means.append(grouped.mean(axis=2))
            self._rest = self._rest[:, means * size :]
            self._kept += means

    @property
    def value(self) -> float | None:
        """The estimate; None if no sample counts."""
        total = self.for_ + self.against
        return self.for_ / total if total > 0 else None

    def interval(self, planned: bool) -> Ends:
        """The 95 % interval.

        With ``planned``, the number of samples must not have depended on what they were.
        """
        if not self.for_ + self.against > 0:
            return 0.0, 1.0
        if self.binary:
            if planned:
                return binomial(round(self.for_), round(self.for_ + self.against))
            pairs = np.array([[1.0, 0.0], [0.0, 1.0]])
            counts = np.array([self.for_, self.against])
        else:
            rest = self._rest
            last = [rest.mean(axis=1, keepdims=True)] if planned and rest.shape[1] else []
            pairs = np.concatenate([*self._means, *last, np.empty((2, 0))], axis=1)
            pairs, counted = np.unique(pairs, axis=1, return_counts=True)
            counts = counted.astype(np.float64)
        seen = (counts > 0) & (pairs.sum(axis=0) > 0)  # others do not change the capital
        total = int(counts.sum()) if planned else None
        return betting(pairs[0, seen], pairs[1, seen], counts[seen], total)
