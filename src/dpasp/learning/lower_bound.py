"""A lower bound of the likelihood: that of the circuits which are there.

The compiled part is what the observations have at least, under any parameters, so its logarithm
is below the log-likelihood. Where some total choices have no model, it is divided by an upper bound
of the mass of the others. Between iterations more is compiled, where it matters most now.

Each observation is a goal, as in :mod:`dpasp.inference.bounds.relaxed`: what surely holds of it
while some choices are unknown has a circuit, and so has its complement.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from dpasp.dataclass import dataclass
from dpasp.errors import LimitReached
from dpasp.ground.program import GroundProgram
from dpasp.inference.bounds.relaxed import Budget, Growing, determined_part
from dpasp.learning.likelihood import AsRoots, Normalised
from dpasp.learning.masses import CircuitEngine, MassMixture, SideBySide
from dpasp.learning.observations import Observation
from dpasp.learning.tuning import TUNING
from dpasp.limits import UNLIMITED, Watch
from dpasp.semantics.leaves import Weights
from dpasp.semantics.masses import ROUNDING
from dpasp.semantics.meaning import Meaning

LEAST = 1e-300  # what a probability of 0 counts as, for the gap
FIELD = ("a",)


@dataclass(frozen=True)
class LowerBound:
    """For each observation, what surely makes it hold and what surely makes it fail.

    With constraints, the last of the sides are those of there being a model.
    """

    sides: tuple[tuple[Growing, Growing], ...]
    counts: tuple[int, ...]  # examples of each
    budget: Budget
    watch: Watch
    constrained: bool = False
    iteration: int = -1  # after which it was last tightened

    @property
    def _observed(self) -> tuple[tuple[Growing, Growing], ...]:
        """The sides of the observations."""
        return self.sides[:-1] if self.constrained else self.sides

    @property
    def likelihood(self) -> AsRoots | Normalised:
        """The bound that there is now: its circuits are what makes the observations hold."""
        joint = _as_roots([held for held, _ in self._observed])
        if not self.constrained:
            return joint
        held, fails = self.sides[-1]  # the probability of a model, at most
        if held.whole:  # no more than it has at least
            return Normalised(joint, _as_roots([held]))
        rest = _as_roots([fails])
        slack = rest.mixture.constant + 1.0 + ROUNDING  # what is left of 1 is rounded up
        less = MassMixture(FIELD, -rest.mixture.coefficients, slack, False)
        return Normalised(joint, replace(rest, mixture=less))

    @property
    def exact(self) -> list[bool]:
        """Which observations have no more than their bound."""
        return [held.whole for held, _ in self._observed]

    def above(self, bound: AsRoots | Normalised, weights: Tensor, ids: Tensor) -> Tensor:
        """By how much log P [batch] is above its ``bound``, which is the likelihood, at most."""
        most = 1.0 - self._traced([fails for _, fails in self._observed], weights)
        if self.constrained:  # of the mass of models, that of the observation is a part
            given = self._traced([self.sides[-1][0]], weights)
            most = most / torch.maximum(most, given).clamp(min=LEAST)
        columns = torch.arange(len(ids), device=ids.device) if weights.shape[1] > 1 else 0 * ids
        ends = (most, bound.probability(weights))
        high, low = (end[ids, columns].clamp(LEAST, 1.0).log() for end in ends)
        return (high - low).clamp(min=0.0)

    def _traced(self, parts: Sequence[Growing], weights: Tensor) -> Tensor:
        """The probability [parts, batch] of what is sure of some goals."""
        return _side_by_side(parts).to(weights.device).traced(weights, FIELD)[0][:, 0]

    def tightened(self, weights: Weights, iteration: int) -> LowerBound:
        """With more choices known, as far as the budget and a part of the time go.

        After the first time, that is done for a few observations: those with the largest gaps.
        """
        gaps = {place: self._gap(place, weights) for place in range(len(self.sides))}
        open_ = sorted((p for p in gaps if gaps[p] > TUNING.gap), key=lambda place: -gaps[place])
        chosen = open_ if iteration == 0 else open_[: TUNING.tightened]
        left = self.watch.remaining()
        watch = self.watch.within(None if left is None else TUNING.tightening_time * left)
        sides = list(self.sides)
        for turn, place in enumerate(chosen):
            part = watch.share(len(chosen) - turn)
            held, fails = sides[place]
            sides[place] = (
                self._grown(held, weights, iteration, part.share(2)),
                self._grown(fails, weights, iteration, part),
            )
        return replace(self, sides=tuple(sides), iteration=iteration)

    def _gap(self, place: int, weights: Weights) -> float:
        """How far the log-likelihood of an observation's examples may be above its bound."""
        held, fails = self.sides[place]
        low, high = held.at_least(weights), 1.0 - fails.at_least(weights)
        return self.counts[place] * (math.log(max(high, LEAST)) - math.log(max(low, LEAST)))

    def _grown(self, growing: Growing, weights: Weights, iteration: int, watch: Watch) -> Growing:
        """As large as it gets before an attempt fails."""
        if growing.whole or growing.stuck:
            return growing
        budget = self.budget
        try:
            ranked = budget.ranked(growing.goal, weights, iteration, watch)
            while True:
                known, growing = growing.known, growing.grown(ranked, budget, watch)
                if growing.known == known or growing.whole:
                    break
        except LimitReached:
            pass  # keep what was found so far
        return growing

    @property
    def state(self) -> list[Any]:
        """When it was last tightened, and which choices are known, to continue from there."""
        known = [[[sorted(part.known), part.step] for part in pair] for pair in self.sides]
        return [self.iteration, known]

    def restored(self, state: list[Any]) -> LowerBound:
        iteration, known = state
        sides = [
            (self._restored(held, *one), self._restored(fails, *other))
            for (held, fails), (one, other) in zip(self.sides, known, strict=True)
        ]
        return replace(self, sides=tuple(sides), iteration=iteration)

    def _restored(self, growing: Growing, known: Sequence[int], step: int) -> Growing:
        if not known and growing.goal.numbers:
            return Growing(growing.goal, step=step)
        circuit = self.budget.compiled(growing.goal, known, self.watch)
        return Growing(growing.goal, frozenset(known), circuit, step)


def _side_by_side(parts: Sequence[Growing]) -> SideBySide:
    found = (part.circuit for part in parts)
    return SideBySide(tuple(None if one is None else CircuitEngine(one) for one in found))


def _as_roots(parts: Sequence[Growing]) -> AsRoots:
    """The probabilities of what is sure of some goals: one mass of each."""
    rows = torch.ones(len(parts), 1, dtype=torch.float64)
    return AsRoots(_side_by_side(parts), MassMixture(FIELD, rows, 0.0 * rows[:, 0], True))


def lower_bound(
    ground: GroundProgram,
    meaning: Meaning,
    observations: Mapping[Observation, int],
    nodes: int,
    watch: Watch = UNLIMITED,
) -> LowerBound | None:
    """Nothing known yet of observations, each with the number of its examples.

    None if the choices do not determine them all.
    """
    part = determined_part(ground, meaning, watch)
    if part is None:
        return None
    sides: list[tuple[Growing, Growing]] = []
    for observation in observations:
        literals = part.conjunction(observation)
        if literals is None:
            return None
        fails = part.complement([(-literal,) for literal in literals])
        sides.append((Growing(part.goal([literals])), Growing(fails)))
    counts = tuple(observations.values())
    if part.constraints:
        sides.append((Growing(part.goal([()])), Growing(part.complement([]))))
        counts = (*counts, sum(counts))
    share = max(1, 2 * len(sides))
    budget = Budget(
        max(100, nodes // share),
        max(TUNING.least_goal_work, TUNING.goal_work // share),
        min(500, max(20, TUNING.reasons // share)),
    )
    return LowerBound(tuple(sides), counts, budget, watch, bool(part.constraints))
