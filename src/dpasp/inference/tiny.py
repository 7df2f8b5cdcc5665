"""Evidence so improbable that its mass is lost in floating point.

Answers are ratios of masses, a / (a + d), b / (b + c) and qe / e, which are numbers like any
other when the masses themselves are below 1e-308. Logarithms of the masses give them.

>>> from dpasp.inference.asked import ask
>>> from dpasp.language import parse
>>> from dpasp.ground import ground
>>> from dpasp.semantics.meaning import Meaning
>>> from dpasp.inference.circuit import on_circuit
>>> text = "1e-200::a(1..2). b :- a(1), a(2). #query a(1) | b."
>>> asked = ask(ground(parse(text)), Meaning())
>>> evaluator = on_circuit(asked.ground, asked.meaning)
>>> evaluator.masses(asked.columns).a, ratio_masses(evaluator, asked.columns, asked.layout).a
(array([[0.]]), array([[1.]]))
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dpasp.errors import Diagnostic, InferenceError
from dpasp.inference.asked import Asked
from dpasp.inference.circuit import Evaluator
from dpasp.limits import UNLIMITED, Watch
from dpasp.semantics.leaves import LeafLayout, Weights
from dpasp.semantics.masses import Array, Masses
from dpasp.semantics.meaning import Meaning

TINY = 1e-250  # masses below this may have lost digits
SMALLEST = float(np.finfo(np.float64).tiny)  # doubles below this have fewer digits
LN10 = float(np.log(10.0))
LEAST = float(np.nextafter(0.0, 1.0))
OF_CHOICES = (("a", "d"), ("b", "c"))  # sums of P(θ): only where P(θ) is tiny can they be
OF_MODELS = (("qe", "e"),)  # P(θ) times shares of models: those alone can make them tiny


LOG_TINY = float(np.log(TINY))


def ratio_masses(
    evaluator: Evaluator, weights: Weights, layout: LeafLayout, watch: Watch = UNLIMITED
) -> Masses:
    """The masses [questions, batch] of an evaluator, good for the ratios that answers are."""
    logs = partial(evaluator.log_masses, watch=watch)
    return enlarged(evaluator.masses(weights, watch), weights, layout, logs)


def enlarged(
    masses: Masses, weights: Weights, layout: LeafLayout, logs: Callable[[Weights], Masses]
) -> Masses:
    """The masses; where both masses of a ratio are tiny, larger ones with the same ratio.

    ``masses`` are those [questions, batch] under weights [leaves, batch], and ``logs``
    gives logarithms of them. What is 0 stays 0. The inconsistent mass stays as it is, and so
    does the consistent one, unless it became 0 in floating point: then it is the least number
    above 0.
    """
    risky = log_least(weights, layout) < LOG_TINY
    small = {pair: _tiny(masses, pair) & risky for pair in OF_CHOICES}
    small |= {pair: _tiny(masses, pair) for pair in OF_MODELS}
    lost = (masses.consistent == 0) & risky
    columns = np.any([tiny.any(axis=0) for tiny in (lost, *small.values())], axis=0)
    if not columns.any():
        return masses
    precise = logs(weights[:, columns])
    consistent = masses.consistent.copy()
    there = lost[:, columns] & (precise.consistent > -np.inf)
    consistent[:, columns] = np.where(there, LEAST, consistent[:, columns])
    changed: dict[str, Array] = {"consistent": consistent}
    for pair, tiny in small.items():
        enlarged_pair = _enlarged_pair(precise, pair)
        for name, larger in zip(pair, enlarged_pair, strict=True):
            values: Array = getattr(masses, name).copy()
            values[:, columns] = np.where(tiny[:, columns], larger, values[:, columns])
            changed[name] = values
    return replace(masses, **changed)


def log10_answers(
    asked: Asked,
    evaluator: Evaluator,
    weights: Weights,
    numbers: tuple[Array, Array],
    questions: slice = slice(None),
) -> tuple[Array, Array] | None:
    """The logarithms (base 10) of the lower and the upper answers [questions, batch].

    ``numbers`` are the answers to these ``questions``, and NaN where there is none. None where
    every answer is 0 or in the range of doubles, so that the numbers say as much.
    """
    lower, upper = numbers
    small = ((lower < SMALLEST) | (upper < SMALLEST)).any(axis=0)
    if not (asked.meaning.maxent and evaluator.circuit is not None):  # else shares may be tiny, too
        small &= log_least(weights, asked.layout) < LOG_TINY
    if not small.any():
        return None
    masses = evaluator.log_masses(weights[:, small], asked.watch)[questions]
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log10(lower), np.log10(upper)
        found = log_lower_upper(masses, asked.meaning)
    below = False
    for log, number, precise in zip(logs, numbers, found, strict=True):
        where = number[:, small] < SMALLEST
        log[:, small] = np.where(where, precise / LN10, log[:, small])
        below |= bool(np.any(where & (precise > -np.inf)))
    return logs if below else None


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


def _tiny(masses: Masses, pair: tuple[str, str]) -> NDArray[np.bool_]:
    """Where both masses of a pair are tiny, [questions, batch]."""
    mass, other = (getattr(masses, name) for name in pair)
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
