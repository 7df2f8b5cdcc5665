"""The most probable total choices on a circuit: a maximum in place of every sum."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

import numpy as np

from dpasp.circuits.channels import LeafValues
from dpasp.circuits.layers import Layers
from dpasp.inference.approximate.bounds import most_probable_first
from dpasp.inference.probable.asked import Asked
from dpasp.inference.probable.best import CLOSE, MOST_TIES, Best
from dpasp.inference.probable.maxproduct import MaxProduct, Values, max_product
from dpasp.language.ast import Probability
from dpasp.semantics.leaves import Leaves, Weights, layout

BATCH = 256  # total choices that are looked at together


class Source(Protocol):
    """The total choices of some kind that have the largest value."""

    @property
    def value(self) -> float:
        """The logarithm of that value."""

    def choices(self, every: bool = False) -> Iterator[Values]:
        """The total choices that have it, or all of the kind."""


@dataclass(frozen=True, slots=True)
class Listed:
    """Total choices that were looked for one by one."""

    value: float
    rows: tuple[Values, ...]

    def choices(self, every: bool = False) -> Iterator[Values]:
        """The total choices."""
        return iter(self.rows)


@dataclass(frozen=True, slots=True)
class Below:
    """The part of the circuit that a question needs, with the values of its leaves."""

    layers: Layers
    values: LeafValues
    leaves: Leaves

    def maximum(self, channel: str, weights: Weights) -> MaxProduct:
        """The largest P(θ) times the value of its leaf, under weights [leaves]."""
        return max_product(self.layers, self.values.channel(channel), self.leaves, weights)


def below(asked: Asked) -> Below:
    """The part of the circuit that a question needs."""
    circuit = asked.evaluator.circuit
    return Below(circuit.below(asked.place), circuit.values, layout(asked.ground.choices))


def total_choices(asked: Asked, circuit: Below) -> tuple[Best] | tuple[Best, Best]:
    """The best total choices: by probability, or by upper and by lower probability.

    Given that every model of θ satisfies the evidence, P(θ | e) is P(θ) divided by what
    may satisfy it at most and at least; if only some do, the bounds are 0 and
    P(θ) / (P(θ) + what certainly satisfies it).
    """
    total = asked.log_total()
    if asked.probability is Probability.MAXENT:
        found = circuit.maximum("qe", asked.weights)
        sources = [found, *undefined_choices(asked, found.value)]
        most = max(source.value for source in sources)
        return (_best(math.exp(most - float(total.e)), _winners(sources, most)),)
    some = circuit.maximum("b", asked.weights)
    certain, possible = float(total.a), float(total.b)
    if np.isneginf(certain):
        alone = len(list(islice(some.choices(every=True), 2))) == 1
        everything = _best(1.0, [some], every=True)
        return everything, Best(1.0 if alone else 0.0, everything.assignments)
    surest = sure_choices(asked, circuit)
    most = max(source.value for source in surest)
    sure, maybe = math.exp(most - certain), 0.0
    if some.value > most:  # those are not among the sure ones
        maybe = math.exp(some.value - float(np.logaddexp(some.value, certain)))
    winners = _winners(surest, most) if sure >= maybe else []
    winners += [some] if maybe >= sure else []
    lower = _best(math.exp(most - possible), _winners(surest, most))
    return _best(max(sure, maybe), winners), lower


def sure_choices(asked: Asked, circuit: Below) -> list[Source]:
    """The most probable total choices whose models all satisfy the evidence."""
    found = circuit.maximum("a", asked.weights)
    return [found, *undefined_choices(asked, found.value)]


def _winners(sources: Sequence[Source], most: float) -> list[Source]:
    return [source for source in sources if source.value >= most - CLOSE]


def _best(value: float, found: Sequence[Source], every: bool = False) -> Best:
    """The total choices of some sources, in order."""
    rows = sorted({row for one in found for row in islice(one.choices(every), MOST_TIES + 1)})
    return Best(value, np.array(rows, dtype=np.int64).reshape(len(rows), -1))


def undefined_choices(asked: Asked, enough: float) -> list[Source]:
    """Under smproblog, the most probable total choices without models.

    All atoms are undefined then, as the evidence may ask for. They are looked for from
    the most probable total choice on, and of no interest below ``enough``.
    """
    if not asked.undefined():
        return []
    starts = layout(asked.ground.choices).starts
    first = np.array(starts[:-1], dtype=np.int64)
    with np.errstate(divide="ignore"):
        logs = np.log(asked.weights)
    stream = most_probable_first(asked.weights, starts)
    best, rows = -np.inf, list[Values]()
    while some := list(islice(stream, BATCH)):
        asked.watch.check()
        single = single_choices(asked, some)
        models = asked.evaluator.circuit.masses(single, fields=("consistent",))[asked.place, 0]
        for choice, count in zip(some, models.tolist(), strict=True):
            chance = float(logs[first + np.array(choice, dtype=np.int64)].sum())
            if chance < max(best, enough) - CLOSE or len(rows) > MOST_TIES:
                return [Listed(best, tuple(rows))] if rows else []
            if count == 0:
                best = max(best, chance)
                rows.append(choice)
    return [Listed(best, tuple(rows))] if rows else []


def single_choices(asked: Asked, rows: Sequence[Values]) -> Weights:
    """Weights [leaves, rows] with which a total choice is the only one."""
    starts = np.array(layout(asked.ground.choices).starts, dtype=np.int64)
    result = np.zeros((starts[-1], len(rows)))
    for column, row in enumerate(rows):
        result[starts[:-1] + np.array(row, dtype=np.int64), column] = 1.0
    return result
