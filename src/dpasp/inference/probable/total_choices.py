"""The most probable total choices on a circuit: a maximum in place of every sum.

>>> from dpasp.inference.asked import ask
>>> from dpasp.language import parse
>>> from dpasp.logic import ground
>>> from dpasp.semantics.meaning import Meaning
>>> from dpasp.inference.engines.circuit import on_circuit
>>> asked = ask(ground(parse("0.3::a. 0.6::b. #mpe | a.")), Meaning())
>>> task = MapTask(asked, 0, on_circuit(asked.ground, asked.meaning))
>>> upper, lower = best_total_choices(task, part_of(task))
>>> upper.assignments.tolist(), round(upper.value, 9)
([[0, 0]], 0.6)
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Protocol

import numpy as np

from dpasp.circuits.channels import LeafValues
from dpasp.circuits.layers import Layers
from dpasp.dataclass import dataclass
from dpasp.inference.probable.best import CLOSE, MOST_TIES, Best, best_at
from dpasp.inference.probable.maxproduct import MaxProduct, max_product
from dpasp.inference.probable.task import MapTask
from dpasp.semantics.leaves import LeafLayout, Weights
from dpasp.semantics.total_choices import (
    TotalChoice,
    certain,
    log_probability_of,
    most_probable_first,
)

BATCH = 256  # total choices that are looked at together


class BestChoices(Protocol):
    """The total choices of some kind that have the largest value."""

    @property
    def value(self) -> float:
        """The logarithm of that value."""

    def choices(self, every: bool = False) -> Iterator[TotalChoice]:
        """The total choices that have it; with ``every``, all of the kind."""


@dataclass(frozen=True, slots=True)
class Listed:
    """Total choices that were looked for one by one."""

    value: float
    rows: tuple[TotalChoice, ...]

    def choices(self, every: bool = False) -> Iterator[TotalChoice]:
        """The total choices."""
        return iter(self.rows)


@dataclass(frozen=True, slots=True)
class AskedPart:
    """The part of the circuit that a question needs, with the values of its leaves."""

    layers: Layers
    values: LeafValues
    layout: LeafLayout

    def maximum(self, channel: str, weights: Weights) -> MaxProduct:
        """The largest P(θ) times the value of its leaf, under weights [leaves]."""
        return max_product(self.layers, self.values.channel(channel), self.layout, weights)


def part_of(task: MapTask) -> AskedPart:
    """The part of the circuit that a question needs."""
    return AskedPart(
        task.circuit.below(task.place),
        task.circuit.values,
        task.layout,
    )


def best_total_choices(task: MapTask, circuit: AskedPart) -> tuple[Best] | tuple[Best, Best]:
    """The best total choices: by probability, or by upper and by lower probability.

    If every model of θ satisfies the evidence, the bounds of P(θ | e) are P(θ) divided by the
    masses that may and that must satisfy it, b and a. If only some models do, they are 0 and
    P(θ) / (P(θ) + a).
    """
    total = task.log_evidence_masses()
    if task.meaning.maxent:
        likeliest = circuit.maximum("qe", task.weights)
        sources = [likeliest, *undefined_choices(task, likeliest.value)]
        most = max(source.value for source in sources)
        return (best_of(most - float(total.e), _winners(sources, most)),)
    some = circuit.maximum("b", task.weights)
    sure_mass, possible = float(total.a), float(total.b)
    if np.isneginf(sure_mass):  # no total choice surely satisfies it: all upper ones are 1
        alone = len(list(islice(some.choices(every=True), 2))) == 1
        everything = best_of(0.0, [some], every=True)
        return everything, best_at(0.0 if alone else -math.inf, everything.assignments)
    surest = sure_choices(task, circuit)
    most = max(source.value for source in surest)
    sure, maybe = most - sure_mass, -math.inf
    if some.value > most:  # then only some models of those satisfy the evidence
        maybe = some.value - float(np.logaddexp(some.value, sure_mass))
    winners = _winners(surest, most) if sure >= maybe else []
    winners += [some] if maybe >= sure else []
    lower = best_of(most - possible, _winners(surest, most))
    return best_of(max(sure, maybe), winners), lower


def sure_choices(task: MapTask, circuit: AskedPart) -> list[BestChoices]:
    """The most probable total choices whose models all satisfy the evidence."""
    likeliest = circuit.maximum("a", task.weights)
    return [likeliest, *undefined_choices(task, likeliest.value)]


def possible_choices(task: MapTask, circuit: AskedPart) -> list[BestChoices]:
    """The total choices some model of which satisfies the evidence."""
    return [circuit.maximum("b", task.weights), *undefined_choices(task, -np.inf)]


def _winners(sources: Sequence[BestChoices], most: float) -> list[BestChoices]:
    """The sources whose value is the largest."""
    return [source for source in sources if source.value >= most - CLOSE]


def best_of(log: float, sources: Sequence[BestChoices], every: bool = False) -> Best:
    """The total choices of some sources, sorted, with the logarithm of their probability."""
    rows = sorted(
        {row for source in sources for row in islice(source.choices(every), MOST_TIES + 1)}
    )
    return best_at(log, np.array(rows, dtype=np.int64).reshape(len(rows), -1))


def undefined_choices(task: MapTask, enough: float) -> list[BestChoices]:
    """The most probable total choices without stable models, where they satisfy the evidence.

    They are looked for from the most probable total choice on, as long as its logarithm is not
    below ``enough``.
    """
    if not task.undefined():
        return []
    starts, watch = task.layout.starts, task.watch
    stream = most_probable_first(task.weights, starts)
    best, rows = -np.inf, list[TotalChoice]()
    while some := list(islice(stream, BATCH)):
        watch.check()
        single = certain(some, starts)
        models = task.circuit.masses(single, fields=("consistent",), watch=watch)[task.place, 0]
        for choice, count in zip(some, models.tolist(), strict=True):
            chance = log_probability_of(choice, task.weights, starts)
            if chance < max(best, enough) - CLOSE or len(rows) > MOST_TIES:
                return [Listed(best, tuple(rows))] if rows else []
            if count == 0:
                best = max(best, chance)
                rows.append(choice)
    return [Listed(best, tuple(rows))] if rows else []
