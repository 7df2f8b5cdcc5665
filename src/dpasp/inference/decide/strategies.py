"""Strategies: which there are, what each is worth, and the best one.

A strategy takes some of the atoms that are decided and leaves the others. In the ground program
each is a choice without a probability, so that one circuit is evaluated for many strategies at
once. Few strategies are all tried; many are searched (:mod:`dpasp.inference.decide.search`).

>>> from dpasp.ground import ground
>>> from dpasp.inference.asked import ask
>>> from dpasp.language import parse
>>> from dpasp.semantics.meaning import Meaning
>>> text = "0.3::rain. #decision {hat; coat}. #utility 10 : rain, coat. #utility -2 : coat."
>>> asked = ask(ground(parse(text)), Meaning())
>>> deciding = Deciding.of(asked, asked.ground.utilities, ())
>>> best = deciding.best(lower)
>>> deciding.named(best.strategy), round(best.score, 6)
({'hat': False, 'coat': True}, 1.0)
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations, islice, product

import numpy as np
from numpy.typing import NDArray

from dpasp.dataclass import dataclass
from dpasp.errors import ImpossibleEvidence, LimitReached
from dpasp.ground.program import Decided, GroundLiteral, GroundProgram, GroundUtility
from dpasp.ground.text import atom_names
from dpasp.inference.asked import Asked
from dpasp.inference.circuit import Evaluator
from dpasp.inference.decide.expected import (
    ExpectedValue,
    Values,
    evaluator_of,
    over_vertices,
    values,
)
from dpasp.inference.tuning import DECIDING
from dpasp.semantics import masses
from dpasp.semantics.leaves import Weights
from dpasp.semantics.masses import Array

Strategy = NDArray[np.bool_]  # by decided atom
Score = Callable[[ExpectedValue], Array]
SAME = 1e-9  # what values that count as the same may differ by, relatively


def lower(value: ExpectedValue) -> Array:
    """The score of maximin, and under maxent the value itself."""
    return value.lower


def upper(value: ExpectedValue) -> Array:
    """The score of maximax."""
    return value.upper


@dataclass(frozen=True, slots=True)
class Best:
    """The best strategy that was found; no strategy has a score above ``most``."""

    strategy: Strategy
    score: float
    most: float
    value: ExpectedValue  # of that strategy alone
    stopped: LimitReached | None = None
    tried: int = 0  # strategies, or parts of the search

    @property
    def exact(self) -> bool:
        """Whether no other strategy is better."""
        return self.most <= self.score + tolerance(self.score)


def tolerance(score: float) -> float:
    """How far above a score another may be and still count as the same."""
    return SAME * max(1.0, abs(score))


@dataclass(frozen=True)
class Deciding:
    """The decisions of a program, and what strategies are worth under one row of weights."""

    asked: Asked
    values: Values
    evaluator: Evaluator
    row: int = 0

    @classmethod
    def of(
        cls, asked: Asked, terms: Sequence[GroundUtility], evidence: tuple[GroundLiteral, ...]
    ) -> Deciding:
        """What is to be decided, where the terms are what counts given the evidence."""
        wanted = values(asked.ground, asked.meaning, terms, evidence)
        return cls(asked, wanted, evaluator_of(asked, wanted))

    def of_row(self, row: int) -> Deciding:
        """The same under another row of the weights."""
        return replace(self, row=row)

    @property
    def ground(self) -> GroundProgram:
        """The ground program."""
        return self.asked.ground

    @cached_property
    def decided(self) -> list[int]:
        """The choices that are decided, in order."""
        return decided_choices(self.ground)

    @cached_property
    def groups(self) -> list[tuple[tuple[int, ...], int, int]]:
        """The decisions: places of their atoms in a strategy, and how many are taken."""
        place = {choice: i for i, choice in enumerate(self.decided)}
        return [
            (tuple(place[choice] for choice in decision.choices), decision.least, decision.most)
            for decision in self.ground.decisions
        ]

    @cached_property
    def names(self) -> list[str]:
        """The names of the decided atoms."""
        return decided_names(self.ground)

    def named(self, strategy: Strategy) -> dict[str, bool]:
        """A strategy by the names of its atoms."""
        return dict(zip(self.names, map(bool, strategy), strict=True))

    @cached_property
    def count(self) -> int:
        """How many strategies there are."""
        return math.prod(
            sum(math.comb(len(places), taken) for taken in range(least, most + 1))
            for places, least, most in self.groups
        )

    def strategies(self) -> Iterator[Strategy]:
        """All strategies, those that take fewer atoms of the last decisions first."""
        options = [
            [taken for n in range(least, most + 1) for taken in combinations(places, n)]
            for places, least, most in self.groups
        ]
        for chosen in product(*options):
            strategy = np.zeros(len(self.decided), dtype=np.bool_)
            strategy[[place for taken in chosen for place in taken]] = True
            yield strategy

    def columns(self, strategies: NDArray[np.bool_] | Array) -> Weights:
        """The weights [leaves, strategies] under strategies [strategies, decided atoms]."""
        weights = np.repeat(self.asked.columns[:, [self.row]], len(strategies), axis=1)
        taken = self.leaves
        weights[taken] = strategies.T
        weights[taken + 1] = 1.0 - strategies.T
        return weights

    @cached_property
    def leaves(self) -> NDArray[np.intp]:
        """The leaf of each decided atom that says that it is taken; the next says that not."""
        starts = self.asked.layout.starts
        return np.array([starts[choice] for choice in self.decided], dtype=np.intp)

    def worth(self, strategies: NDArray[np.bool_]) -> ExpectedValue:
        """The expected values of strategies [strategies, decided atoms]."""
        parts = [
            over_vertices(
                self.asked,
                self.evaluator,
                self.values,
                self.columns(strategies[start : start + DECIDING.batch]),
                self.asked.watch,
            )
            for start in range(0, len(strategies), DECIDING.batch)
        ]
        names = ExpectedValue.__slots__
        return ExpectedValue(*(np.concatenate([getattr(p, n) for p in parts]) for n in names))

    @property
    def few(self) -> bool:
        """Whether all strategies can be tried."""
        nodes = float(self.evaluator.statistics.get("circuit_nodes", 1000))
        return self.count <= DECIDING.tried and self.count * max(nodes, 100.0) <= DECIDING.work

    def best(self, score: Score) -> Best:
        """The strategy with the best score; of several, one that takes the fewest atoms.

        Raises :class:`ImpossibleEvidence` where no strategy allows the evidence.
        """
        if self.few:
            return self._best_of_all(score)
        from dpasp.inference.decide.search import searched

        return searched(self, score)

    def _best_of_all(self, score: Score) -> Best:
        best: Best | None = None
        every = self.strategies()
        while len(batch := np.array(list(islice(every, DECIDING.batch)))):
            value = self.worth(batch)
            best = better(best, batch, value, score)
        if best is None:
            raise self.impossible()
        return replace(best, most=best.score, tried=self.count)

    def impossible(self) -> ImpossibleEvidence:
        """What to say where no strategy is a candidate."""
        evidence = self.values.ground.questions[0].evidence
        if not evidence:
            masses.check_consistent(np.zeros(1), np.ones(1))
        found = masses.impossible_evidence(evidence)
        return ImpossibleEvidence(replace(found, message=f"{found.message} under every strategy"))


def better(
    best: Best | None, strategies: NDArray[np.bool_], value: ExpectedValue, score: Score
) -> Best | None:
    """The better of the best so far and the best of some strategies."""
    scores = score(value)
    known = np.flatnonzero(~np.isnan(scores))
    if not len(known):
        return best
    top = float(scores[known].max())
    near = known[scores[known] >= top - tolerance(top)]
    first = int(near[np.argmin(strategies[near].sum(axis=1))])
    found = float(scores[first])
    if best is not None:
        close = tolerance(best.score)
        fewer = strategies[first].sum() < best.strategy.sum()
        if found < best.score - close or (found <= best.score + close and not fewer):
            return best
    alone = ExpectedValue(*(getattr(value, n)[[first]] for n in ExpectedValue.__slots__))
    return Best(strategies[first].copy(), found, math.inf, alone)


def decided_choices(ground: GroundProgram) -> list[int]:
    """The choices that are decided, in order."""
    return [i for i, c in enumerate(ground.choices) if isinstance(c.weight, Decided)]


def decided_names(ground: GroundProgram) -> list[str]:
    """A name for each decided atom: with what is known when it is decided, where atoms repeat."""
    names = atom_names(ground)
    plain = [names[ground.choices[i].heads[0]] for i in decided_choices(ground)]
    often = Counter(plain)
    if max(often.values(), default=0) < 2:
        return plain
    bodies = {rule.body[0]: rule.body[1:] for rule in reversed(ground.rules) if rule.body}
    labels = []
    for name, place in zip(plain, decided_choices(ground), strict=True):
        choice = ground.choices[place]
        body = bodies.get(choice.selectors[0], ())
        told = ", ".join(names[lit] if lit > 0 else f"not {names[-lit]}" for lit in body)
        labels.append(f"{name} if {told}" if often[name] > 1 and told else name)
    seen: Counter[str] = Counter()
    often = Counter(labels)
    for i, label in enumerate(labels):
        if often[label] > 1:
            seen[label] += 1
            labels[i] = f"{label} #{seen[label]}"
    return labels


def strategy_weights(ground: GroundProgram, weights: Weights, strategy: Strategy) -> Weights:
    """The weights with those of decided atoms as a strategy says."""
    from dpasp.semantics.leaves import layout

    changed, places = weights.copy(), layout(ground.choices)
    for taken, choice in zip(strategy, decided_choices(ground), strict=True):
        changed[places.of(choice)] = np.array([taken, not taken], dtype=np.float64).reshape(
            2, *[1] * (weights.ndim - 1)
        )
    return changed
