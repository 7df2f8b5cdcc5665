"""From masses to the numbers of answers: ratios that are right even where doubles end.

Answers are the ratios a / (a + d), b / (b + c) and qe / e of masses. A ratio may be an ordinary
number while both of its masses are below 1e-308, and it may itself be below that; the logarithms of
the masses are then used, which every evaluator can give.

>>> from dpasp.inference.asked import ask
>>> from dpasp.language import parse
>>> from dpasp.ground.grounding import ground
>>> from dpasp.semantics.meaning import Meaning
>>> from dpasp.inference.circuit import on_circuit
>>> text = "1e-200::a(1..2). b :- a(1), a(2). #query a(1) | b."
>>> asked = ask(ground(parse(text)), Meaning())
>>> evaluator = on_circuit(asked.ground, asked.meaning)
>>> evaluator.masses(asked.columns).a, extremes(asked, evaluator)[0].lower
(array([[0.]]), array([1.]))
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, InferenceError, LimitReached
from dpasp.inference.answers import SMALLEST
from dpasp.inference.asked import Asked
from dpasp.inference.circuit import Evaluator
from dpasp.limits import UNLIMITED, Watch
from dpasp.semantics import masses
from dpasp.semantics.leaves import LeafLayout, Weights
from dpasp.semantics.masses import Array, Masses
from dpasp.semantics.meaning import Meaning

TINY = 1e-250  # masses below this may have lost digits
LOG_TINY = float(np.log(TINY))
LN10 = float(np.log(10.0))
LEAST = float(np.nextafter(0.0, 1.0))
OF_CHOICES = (("a", "d"), ("b", "c"))  # sums of P(θ): only where P(θ) is tiny can they be
OF_MODELS = (("qe", "e"),)  # P(θ) times shares of models: those alone can make them tiny


@dataclass(frozen=True, slots=True)
class Extremes:
    """The numbers of a question [rows]: extremes over the vertices of credal choices.

    ``lower_at`` and ``upper_at`` are weights that attain the bounds. Where a limit
    ``stopped`` the search, the bounds are sure to hold the exact ones, which
    differ from them by at most the ``gap``; the weights are the best that were found, and
    ``found`` are the lower and the upper probability there.
    """

    consistent: Array
    inconsistent: Array
    possible: Array  # how possible the evidence is: 0 where it is impossible
    lower: Array  # NaN where the evidence is impossible
    upper: Array
    gap: Array
    lower_at: Weights | None = None
    upper_at: Weights | None = None
    stopped: tuple[LimitReached, ...] = ()
    found: tuple[float, float] | None = None
    logs: tuple[Array, Array] | None = None  # base 10, of both bounds, where doubles end

    def joined(self, other: Extremes) -> Extremes:
        """The extremes over the vertices of both."""
        lower, upper = np.fmin(self.lower, other.lower), np.fmax(self.upper, other.upper)
        mine, theirs, logs = (self.lower, self.upper), (other.lower, other.upper), None
        if self.logs is not None or other.logs is not None:
            mine, theirs = self.log10(), other.log10()
            logs = np.fmin(mine[0], theirs[0]), np.fmax(mine[1], theirs[1])
        first = np.fmin(mine[0], theirs[0]), np.fmax(mine[1], theirs[1])
        return Extremes(
            np.fmax(self.consistent, other.consistent),
            np.fmax(self.inconsistent, other.inconsistent),
            np.fmax(self.possible, other.possible),
            lower,
            upper,
            np.fmax(self.gap, other.gap),
            # Of two that attain the same, the first.
            self.lower_at if np.array_equal(first[0], mine[0]) else other.lower_at,
            self.upper_at if np.array_equal(first[1], mine[1]) else other.upper_at,
            (*self.stopped, *other.stopped),
            logs=logs,
        )

    def log10(self) -> tuple[Array, Array]:
        """The logarithms (base 10) of both bounds."""
        if self.logs is not None:
            return self.logs
        with np.errstate(divide="ignore"):
            return np.log10(self.lower), np.log10(self.upper)


def extremes(asked: Asked, evaluator: Evaluator) -> list[Extremes]:
    """The numbers of every question; where probabilities are intervals, over all they allow."""
    if asked.has_intervals:
        from dpasp.inference.intervals.vertices import over_intervals

        return over_intervals(asked, evaluator)
    found, logs = answer_masses(asked, evaluator, asked.columns, asked.watch)
    possible = masses.evidence_mass(found, asked.meaning)
    lower, upper = masses.lower_upper(found, asked.meaning)
    return [
        Extremes(
            found.consistent[i],
            found.inconsistent[i],
            possible[i],
            lower[i],
            upper[i],
            np.zeros(len(lower[i])),
            logs=logs and (logs[0][i], logs[1][i]),
        )
        for i in range(len(asked.questions))
    ]


def answer_masses(
    asked: Asked, evaluator: Evaluator, weights: Weights, watch: Watch = UNLIMITED
) -> tuple[Masses, tuple[Array, Array] | None]:
    """The masses [questions, batch] under weights [leaves, batch], good for ratios.

    With them the logarithms (base 10) of the lower and the upper answers, or None where every
    answer is 0 or in the range of doubles, so that the numbers say as much.
    """
    logs = partial(evaluator.masses, watch=watch, log=True)
    found = enlarged(evaluator.masses(weights, watch), weights, asked.layout, logs)
    lower, upper = masses.lower_upper(found, asked.meaning)
    small = ((lower < SMALLEST) | (upper < SMALLEST)).any(axis=0)
    shares = asked.meaning.maxent and evaluator.circuit is not None  # these may be tiny, too
    if not (shares or asked.meaning.weighted):
        small &= log_least(weights, asked.layout) < LOG_TINY
    if not small.any():
        return found, None
    with np.errstate(divide="ignore", invalid="ignore"):
        log10 = np.log10(lower), np.log10(upper)
        ends = log_lower_upper(logs(weights[:, small]), asked.meaning)
    below = False
    for log, number, precise in zip(log10, (lower, upper), ends, strict=True):
        where = number[:, small] < SMALLEST
        log[:, small] = np.where(where, precise / LN10, log[:, small])
        below |= bool(np.any(where & (precise > -np.inf)))
    return found, log10 if below else None


def enlarged(
    found: Masses, weights: Weights, layout: LeafLayout, logs: Callable[[Weights], Masses]
) -> Masses:
    """The masses; where both masses of a ratio are tiny, larger ones with the same ratio.

    ``found`` are those [questions, batch] under weights [leaves, batch], and ``logs``
    gives logarithms of them. What is 0 stays 0. The inconsistent mass stays as it is, and so
    does the consistent one, unless it became 0 in floating point: then it is the least number
    above 0.
    """
    risky = log_least(weights, layout) < LOG_TINY
    small = {pair: _tiny(found, pair) & risky for pair in OF_CHOICES}
    small |= {pair: _tiny(found, pair) for pair in OF_MODELS}
    lost = (found.consistent == 0) & risky
    columns = np.any([tiny.any(axis=0) for tiny in (lost, *small.values())], axis=0)
    if not columns.any():
        return found
    precise = logs(weights[:, columns])
    consistent = found.consistent.copy()
    there = lost[:, columns] & (precise.consistent > -np.inf)
    consistent[:, columns] = np.where(there, LEAST, consistent[:, columns])
    changed: dict[str, Array] = {"consistent": consistent}
    for pair, tiny in small.items():
        enlarged_pair = _enlarged_pair(precise, pair)
        for name, larger in zip(pair, enlarged_pair, strict=True):
            values: Array = getattr(found, name).copy()
            values[:, columns] = np.where(tiny[:, columns], larger, values[:, columns])
            changed[name] = values
    return replace(found, **changed)


def log_lower_upper(logs: Masses, meaning: Meaning) -> tuple[Array, Array]:
    """The logarithms of the lower and the upper answer, from those of the masses."""
    if meaning.maxent:
        value = np.minimum(logs.qe - logs.e, 0.0)
        return value, value
    sure, maybe = np.logaddexp(logs.a, logs.d), np.logaddexp(logs.b, logs.c)
    lower = np.where(np.isneginf(sure), 0.0, logs.a - sure)
    return lower, np.where(np.isneginf(maybe), -np.inf, logs.b - maybe)


def _enlarged_pair(logs: Masses, pair: tuple[str, str]) -> list[Array]:
    """Both masses of a pair from their logarithms, times the factor that makes the larger one 1."""
    logarithms = [getattr(logs, name) for name in pair]
    most = np.maximum(*logarithms)
    most = np.where(np.isfinite(most), most, 0.0)  # nothing to enlarge where both are 0
    return [np.exp(each - most) for each in logarithms]


def _tiny(found: Masses, pair: tuple[str, str]) -> NDArray[np.bool_]:
    """Where both masses of a pair are tiny, [questions, batch]."""
    mass, other = (getattr(found, name) for name in pair)
    small: NDArray[np.bool_] = mass + other < TINY  # unknown masses are NaN
    return small


def log_least(weights: Weights, layout: LeafLayout) -> Array:
    """The logarithm of the least P(θ) above 0, [batch]: unless it is tiny, no P(θ) is."""
    if len(layout.starts) < 2:
        return np.zeros(weights.shape[1])
    positive = np.where(weights > 0, weights, 1.0)[: layout.size]
    least: Array = np.log(np.minimum.reduceat(positive, layout.starts[:-1])).sum(axis=0)
    return least


def log_ratio(number: Array, other: Array) -> Array:
    """number / (number + other) from their logarithms; 1 where both masses are 0."""
    total = np.logaddexp(number, other)
    nothing = np.isneginf(total)
    return np.where(nothing, 1.0, np.exp(number - np.where(nothing, 0.0, total)))


def too_improbable(what: str, cause: str = "the evidence") -> InferenceError:
    """The error for answers that need the masses themselves, and not only their ratios."""
    return InferenceError(
        Diagnostic(
            "improbable-evidence",
            f"{what} cannot be given: {cause} has a probability below {TINY:g}",
            help="ask a #query, which can do with such evidence, or ask about less at once",
        )
    )
