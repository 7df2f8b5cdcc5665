"""What is sure about an answer when a mass r is open.

What is open may satisfy anything, so that surely

    a / (a + d + r) ≤ lower ≤ (a + r) / (a + r + d)      and the same for upper with b, c
    qe / (e + r)    ≤ value ≤ (qe + r) / (e + r)         under maxent

The gap is the largest distance between two such ends.

>>> from dpasp.inference.asked import ask
>>> from dpasp.language import parse
>>> from dpasp.ground import ground
>>> from dpasp.semantics.meaning import Meaning
>>> asked = ask(ground(parse("0.3::a. #query a.")), Meaning())
>>> from dpasp.inference.circuit import on_circuit
>>> masses = on_circuit(asked.ground, asked.meaning).masses(asked.columns)[:, 0]
>>> (bound,) = bounds_of(masses, asked.meaning, rest=0.25)
>>> round(bound.gap, 3)                    # 0.3 / 1.25 ≤ P(a) ≤ (0.3 + 0.25) / 1.25
0.2
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dpasp.dataclass import dataclass
from dpasp.inference.answers import Answer, AnswerNumber
from dpasp.inference.asked import Asked
from dpasp.semantics.masses import Masses
from dpasp.semantics.meaning import Meaning

SureInterval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Bound:
    """What is sure about an answer: its numbers, an interval that holds it, and the gap.

    Under maxent there is one number, under credal a lower and an upper one, and ``ends`` are the
    intervals that hold each of them.
    """

    numbers: tuple[float, ...]
    interval: SureInterval
    gap: float
    ends: tuple[SureInterval, ...] = ((0.0, 1.0), (0.0, 1.0))

    def narrowed(self, interval: SureInterval, other: SureInterval | None = None) -> Bound:
        """The bound that follows if the whole answer surely lies in one more interval.

        Where there is an ``other`` one, it holds the upper probability, and the first the lower.
        """
        if len(self.numbers) == 1:
            low, high = _intersection(self.interval, interval)
            known = self.interval != (0.0, 1.0)
            value = self.numbers[0] if known else (low + high) / 2
            return Bound((min(max(value, low), high),), (low, high), high - low)
        lower, upper = (
            _intersection(self.ends[0], interval),
            _intersection(self.ends[1], other or interval),
        )
        ends = (lower[0], upper[1])
        return Bound(ends, ends, max(lower[1] - lower[0], upper[1] - upper[0]), (lower, upper))

    def joined(self, other: Bound) -> Bound:
        """The bound that follows from this one and another one of the same answer."""
        if len(self.numbers) == 1:
            return self.narrowed(other.interval)
        return self.narrowed(*other.ends)

    def answer(self, query: str) -> Answer:
        """The answer to a query."""
        if len(self.numbers) == 1:
            return Answer(query, value=self.numbers[0], interval=self.interval, gap=self.gap)
        lower, upper = self.numbers
        return Answer(query, lower=lower, upper=upper, interval=self.interval, gap=self.gap)


def bounds_of(masses: Masses, meaning: Meaning, rest: float) -> list[Bound]:
    """What is sure about each query, from the masses [queries] and the open mass ``rest``."""
    bound = _maxent if meaning.maxent else _credal
    return [bound(masses[i], rest) for i in range(len(masses.consistent))]


def unsure(meaning: Meaning) -> Bound:
    """What is sure when nothing is known."""
    return Bound((0.5,) if meaning.maxent else (0.0, 1.0), (0.0, 1.0), 1.0)


def unsure_answers(asked: Asked) -> list[Answer]:
    """The answers that say nothing, to all queries; for each row of test data, if there are any."""
    answers = [unsure(asked.meaning).answer(q.text) for q in asked.queries]
    if not asked.has_rows:
        return answers
    rows = np.ones(asked.weights.shape[1])

    def each(number: AnswerNumber | None) -> AnswerNumber | None:
        return None if number is None else number * rows

    return [
        replace(a, value=each(a.value), lower=each(a.lower), upper=each(a.upper), gap=rows)
        for a in (replace(answer, interval=(0 * rows, rows)) for answer in answers)
    ]


def widest(bounds: Sequence[Bound]) -> float:
    """The largest gap."""
    return max((bound.gap for bound in bounds), default=0.0)


def _maxent(masses: Masses, rest: float) -> Bound:
    qe, e = float(masses.qe), float(masses.e)
    if not e > 0:  # nothing is known yet: what is compiled does not satisfy the evidence
        return Bound((0.5,), (0.0, 1.0), 1.0)
    low, high = qe / (e + rest), min(1.0, (qe + rest) / (e + rest))
    return Bound((min(1.0, qe / e),), (low, high), high - low)


def _credal(masses: Masses, rest: float) -> Bound:
    a, b, c, d = (float(mass) for mass in (masses.a, masses.b, masses.c, masses.d))
    if not b + d > 0:
        return Bound((0.0, 1.0), (0.0, 1.0), 1.0)
    lower = _share(a, d + rest, 1.0), _share(a + rest, d, 1.0)
    upper = _share(b, c + rest, 0.0), _share(b + rest, c, 0.0)
    ends = (lower[0], upper[1])
    gap = max(lower[1] - lower[0], upper[1] - upper[0])
    return Bound(ends, ends, gap, (lower, upper))


def _intersection(one: SureInterval, other: SureInterval) -> SureInterval:
    """What two intervals that hold the same number have in common, rounding aside."""
    low, high = max(one[0], other[0]), min(one[1], other[1])
    return (low, high) if low <= high else (high, low)


def _share(part: float, other: float, otherwise: float) -> float:
    """part / (part + other); ``otherwise`` where both are 0."""
    return part / (part + other) if part + other > 0 else otherwise
