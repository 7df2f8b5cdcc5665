"""What each value of a choice contributes to an answer.

Masses are linear in the weights of a choice, so the masses with one value made certain tell what
the answer would be then, and how probable the value is given query and evidence.

>>> from dpasp import loads
>>> explanation = loads("0.3::a. 0.5::b. c :- a. c :- b.").explain("c")[0]
>>> [(each.value, each.prior, round(each.posterior, 3)) for each in explanation.contributions]
[('b', 0.5, 0.769), ('a', 0.3, 0.462)]
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from dpasp.inference.asked import Asked
from dpasp.inference.engines.circuit import OnCircuit
from dpasp.inference.explain.explanation import Contribution
from dpasp.inference.explain.ways import behind
from dpasp.semantics import masses
from dpasp.semantics.leaves import Weights
from dpasp.semantics.masses import Array, Masses, joined
from dpasp.semantics.meaning import Meaning

VECTORS = 256  # weight vectors that are evaluated together


def conditional_masses(asked: Asked, evaluator: OnCircuit, weights: Weights) -> Masses:
    """The masses [queries, 1 + leaves]: as things are, then with each leaf in turn certain."""
    columns = [weights]
    for start, end in pairwise(asked.layout.starts):
        for leaf in range(start, end):
            column = weights.copy()
            column[start:end] = 0.0
            column[leaf] = 1.0
            columns.append(column)
    parts = []
    for first in range(0, len(columns), VECTORS):
        batch = np.stack(columns[first : first + VECTORS], axis=1)
        parts.append(evaluator.masses(batch, asked.watch))
    return joined(parts)


def contributions(
    asked: Asked, names: Sequence[str], conditional: Masses
) -> tuple[Contribution, ...]:
    """What each value of a choice contributes to an answer, the most telling ones first.

    ``conditional`` are the masses of its query that :func:`conditional_masses` gives.
    """
    mass = behind(conditional, asked.meaning.maxent)
    certain = _numbers(conditional, asked.meaning)
    values = []
    for i, choice in enumerate(asked.ground.choices):
        start = asked.layout.starts[i]
        for leaf in range(start, start + len(choice.selectors)):
            prior = float(asked.weights[leaf])
            after = None
            if mass[0] > 0:
                after = min(1.0, prior * float(mass[leaf + 1] / mass[0]))
            numbers = [float(n) for n in certain[:, leaf + 1] if not np.isnan(n)]
            values.append(Contribution(names[leaf], prior, after, tuple(numbers)))
    return tuple(sorted(values, key=_surprise))


def _surprise(contribution: Contribution) -> float:
    """Smaller for those that the answer tells more about."""
    return (
        0.0 if contribution.posterior is None else -abs(contribution.posterior - contribution.prior)
    )


def _numbers(outcome: Masses, meaning: Meaning) -> Array:
    """The answers [1 or 2, batch]."""
    lower, upper = masses.lower_upper(outcome, meaning)
    return lower[np.newaxis] if meaning.maxent else np.stack([lower, upper])
