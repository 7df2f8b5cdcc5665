"""Evidence so improbable that its mass is lost in floating point.

Answers are ratios of masses, a / (a + d), b / (b + c) and qe / e, which are numbers like any
other when the masses themselves are below 1e-308. Logarithms of the masses give them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dpasp.errors import Diagnostic, InferenceError
from dpasp.semantics.leaves import Leaves, Weights
from dpasp.semantics.masses import FIELDS

TINY = 1e-250  # masses below this may have lost digits
LOG_TINY = float(np.log(TINY))
CERTAIN = (("a", "d"), ("b", "c"))  # sums of P(θ), so none of less than the least P(θ)
COUNTED = (("qe", "e"),)  # weighted by shares of models, which may be small too


def enlarge(
    values: Weights, weights: Weights, leaves: Leaves, logs: Callable[[Weights], Weights]
) -> None:
    """Where the masses of an answer are tiny, replace them: right up to a common factor.

    ``values`` are masses [questions, 7 or 8, batch] under weights [leaves, batch], and ``logs``
    gives logarithms of them. What is 0 stays 0. The consistent and the inconsistent mass
    stay as they are.
    """
    risky = log_least(weights, leaves) < LOG_TINY
    small = {pair: _tiny(values, pair) & risky for pair in CERTAIN}
    small |= {pair: _tiny(values, pair) for pair in COUNTED}
    columns = np.any([tiny.any(axis=0) for tiny in small.values()], axis=0)
    if not columns.any():
        return
    precise = np.full(values.shape, -np.inf)
    precise[:, : len(FIELDS), columns] = logs(weights[:, columns])
    for (one, other), tiny in small.items():
        i, j = FIELDS.index(one), FIELDS.index(other)
        most = np.maximum(precise[:, i], precise[:, j])[tiny]
        most = np.where(np.isfinite(most), most, 0.0)
        for place in (i, j):
            values[:, place][tiny] = np.exp(precise[:, place][tiny] - most)


def _tiny(values: Weights, pair: tuple[str, str]) -> NDArray[np.bool_]:
    i, j = map(FIELDS.index, pair)
    small: NDArray[np.bool_] = values[:, i] + values[:, j] < TINY  # unknown masses are NaN
    return small


def log_least(weights: Weights, leaves: Leaves) -> Weights:
    """The logarithm of the least P(θ) that is not 0 [batch]: nothing is lost unless it is tiny."""
    if len(leaves.starts) < 2:
        return np.zeros(weights.shape[1])
    positive = np.where(weights > 0, weights, 1.0)[: leaves.size]
    least: Weights = np.log(np.minimum.reduceat(positive, leaves.starts[:-1])).sum(axis=0)
    return least


def log_ratio(number: Weights, other: Weights) -> Weights:
    """n / (n + o) from logarithms; 1 where both masses are 0."""
    total = np.logaddexp(number, other)
    nothing = np.isneginf(total)
    return np.where(nothing, 1.0, np.exp(number - np.where(nothing, 0.0, total)))


def too_improbable(what: str, cause: str = "the evidence") -> InferenceError:
    """What is said where only masses that floating point can hold will do."""
    return InferenceError(
        Diagnostic(
            "improbable-evidence",
            f"{what} cannot be given: {cause} has a probability below {TINY:g}",
            help="ask a #query, which can do with such evidence, or ask about less at once",
        )
    )
