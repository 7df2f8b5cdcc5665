"""What a stream of samples comes to: an estimate and the interval that holds the answer.

>>> tally = Tally(binary=True)
>>> tally.add(np.array([[1.0, 1.0, 0.0, 1.0], [0.0, 0.0, 1.0, 0.0]]))      # three for, one against
>>> tally.value, tuple(round(end, 2) for end in tally.interval(planned=True))
(0.75, (0.19, 0.99))
"""

from __future__ import annotations

from dataclasses import field

import numpy as np

from dpasp.dataclass import dataclass
from dpasp.inference.sampling.intervals import ALL_OPEN, Ends, Frame, betting, binomial
from dpasp.semantics.masses import Array

ALONE = 2048  # the first samples are kept one by one,
LATER = 2048  # then so many means of 2 samples each, so many means of 4, of 8, …
NOTHING: Ends = (0.0, 1.0)


@dataclass(slots=True)
class Tally:
    """How much of the samples was for a query and how much against it.

    With ``binary``, every sample is wholly for it, wholly against it, or neither, and counts
    are enough. Others are kept as means of more and more samples: a mean is a sample with the
    same expectation, and so there are few to keep. With a ``frame``, the samples are of what is
    open, and the rest is known.
    """

    binary: bool
    frame: Frame = ALL_OPEN
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
            stage = 0 if self._kept < ALONE else 1 + (self._kept - ALONE) // LATER
            size = 2**stage
            room = ALONE - self._kept if not stage else LATER - (self._kept - ALONE) % LATER
            means = min(room, self._rest.shape[1] // size)
            if not means:
                return
            grouped = self._rest[:, : means * size].reshape(2, means, size)
            self._means.append(grouped.mean(axis=2))
            self._rest = self._rest[:, means * size :]
            self._kept += means

    @property
    def value(self) -> float | None:
        """The estimate; None where no sample says anything."""
        share = self.frame.open / self.count if self.count else 0.0
        for_ = self.frame.for_ + share * self.for_
        total = for_ + self.frame.against + share * self.against
        return for_ / total if total > 0 else None

    def interval(self, planned: bool) -> Ends:
        """The interval of 95 %.

        With ``planned``, the number of samples must not have depended on what they were.
        """
        frame = self.frame
        if not self.for_ + self.against + frame.for_ + frame.against > 0:
            return NOTHING
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
        # Where nothing is known beforehand, samples that say nothing change no capital.
        seen = (counts > 0) & ((pairs.sum(axis=0) > 0) | (frame != ALL_OPEN))
        total = int(counts.sum()) if planned else None
        return betting(pairs[0, seen], pairs[1, seen], counts[seen], total, frame)
