"""Lower and upper bounds of observations that the choices of a program determine.

Each observation is a goal (see :mod:`dpasp.inference.bounds.relaxed`): what surely holds of it
when some choices are unknown has a circuit, and so has its complement. Where constraints leave some
total choices without a model, that there is one is one more goal.

>>> import dpasp
>>> ground = dpasp.loads("?::a. b :- a. {c}.").ground()
>>> bound_by_goals(ground, Meaning(), {}, 1000) is None       # no observation yet
False
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
from dpasp.inference.bounds.relaxed import RelaxedGoal, determined_part
from dpasp.inference.bounds.unknown_choices import Budget, Growing
from dpasp.limits import UNLIMITED, Watch
from dpasp.neural.engines import NativeEngine
from dpasp.neural.likelihood import AsRoots
from dpasp.neural.mixtures import MassMixture
from dpasp.neural.observations import Observation
from dpasp.neural.pieces import CircuitPiece, CircuitPieces
from dpasp.semantics.leaves import Weights, layout
from dpasp.semantics.masses import ROUNDING
from dpasp.semantics.meaning import Meaning

WORK = 1_000_000  # of an attempt to know more, shared by all observations,
LEAST_WORK = 50_000  # but not less than this
SOME = 4  # observations that are tightened after an iteration: those with the largest gaps
REASONS = 400  # that are looked at, shared alike
CLOSE = 1e-6  # a gap below this is none
LEAST = 1e-300  # what a probability of 0 counts as
AGAIN = 8  # iterations after which what is stuck is chosen anew
TIME = 0.3  # of what is left, where there is a limit
FIELD = ("a",)


@dataclass(frozen=True)
class ByGoals:
    """For each observation, what surely makes it hold and what surely makes it fail.

    With constraints, the last of the sides are those of there being a model.
    """

    sides: tuple[tuple[Growing, Growing], ...]
    counts: tuple[int, ...]  # examples of each
    leaves: int
    budget: Budget
    watch: Watch
    constrained: bool = False

    @property
    def _observed(self) -> tuple[tuple[Growing, Growing], ...]:
        """The sides of the observations."""
        return self.sides[:-1] if self.constrained else self.sides

    @property
    def engine(self) -> CircuitPieces:
        """The circuits of what makes the observations hold."""
        return self._engine([held for held, _ in self._observed])

    @property
    def consistent(self) -> AsRoots | None:
        """The probability of a model, at most; None where there always is one."""
        if not self.constrained:
            return None
        held, fails = self.sides[-1]
        one = torch.ones(1, 1, dtype=torch.float64)
        if held.whole:  # no more than it has at least
            return AsRoots(self._engine([held]), MassMixture(FIELD, one, 0.0 * one[0], True))
        slack = one[0] + ROUNDING  # what is left of 1 is rounded up
        return AsRoots(self._engine([fails]), MassMixture(FIELD, -one, slack, False))

    @property
    def exact(self) -> list[bool]:
        """Which observations have no more than their bound."""
        return [held.whole for held, _ in self._observed]

    @property
    def mixture(self) -> MassMixture:
        """A probability is one mass of the circuits."""
        rows = torch.ones(len(self._observed), 1, dtype=torch.float64)
        return MassMixture(FIELD, rows, torch.zeros(len(rows), dtype=torch.float64), True)

    def most(self, weights: Tensor, joint: Tensor) -> Tensor:
        """The probability [observations, batch] that each has at most."""
        against = self._engine([fails for _, fails in self._observed]).to(weights.device)
        most = 1.0 - against.masses(weights, FIELD)[:, 0]
        if not self.constrained:
            return most
        # Of the mass of models, that of the observation is a part.
        given = self._engine([self.sides[-1][0]]).to(weights.device).masses(weights, FIELD)[0]
        return most / torch.maximum(most, given).clamp(min=LEAST)

    def tightened(self, weights: Weights, iteration: int) -> ByGoals:
        """With more choices known, as far as the budget and a part of the time go.

        After the first time, that is done for a few observations: those with the largest gaps.
        """
        gaps = {place: self._gap(place, weights) for place in range(len(self.sides))}
        open_ = sorted((p for p in gaps if gaps[p] > CLOSE), key=lambda place: -gaps[place])
        chosen = open_ if iteration == 0 else open_[:SOME]
        left = self.watch.remaining()
        watch = self.watch.within(None if left is None else TIME * left)
        sides = list(self.sides)
        for turn, place in enumerate(chosen):
            part = watch.share(len(chosen) - turn)
            held, fails = sides[place]
            sides[place] = (
                self._grown(held, weights, iteration, part.share(2)),
                self._grown(fails, weights, iteration, part),
            )
        return replace(self, sides=tuple(sides))

    def _gap(self, place: int, weights: Weights) -> float:
        """How far the log-likelihood of an observation's examples may be above its bound."""
        held, fails = self.sides[place]
        low, high = held.at_least(weights), 1.0 - fails.at_least(weights)
        return self.counts[place] * (math.log(max(high, LEAST)) - math.log(max(low, LEAST)))

    def _grown(self, growing: Growing, weights: Weights, iteration: int, watch: Watch) -> Growing:
        """As large as it gets before an attempt fails; one that is stuck is renewed at times."""
        if growing.whole or (growing.stuck and iteration % AGAIN):
            return growing
        budget = self.budget
        try:
            ranked = budget.ranked(growing.goal, weights, iteration, watch)
            if growing.stuck:
                return growing.renewed(ranked, weights, budget, watch)
            while True:
                known, growing = growing.known, growing.grown(ranked, budget, watch)
                if growing.known == known or growing.whole:
                    break
        except LimitReached:
            pass  # with what there is by then
        return growing

    @property
    def state(self) -> list[Any]:
        """Which choices are known, to go on from there."""
        return [[[sorted(part.known), part.step] for part in pair] for pair in self.sides]

    def restored(self, state: list[Any]) -> ByGoals:
        """What was written as ``state``."""
        sides = [
            (self._restored(held, *one), self._restored(fails, *other))
            for (held, fails), (one, other) in zip(self.sides, state, strict=True)
        ]
        return replace(self, sides=tuple(sides))

    def _restored(self, growing: Growing, known: Sequence[int], step: int) -> Growing:
        if not known and growing.goal.numbers:
            return Growing(growing.goal, step=step)
        circuit = self.budget.compiled(growing.goal, known, self.watch)
        return Growing(growing.goal, frozenset(known), circuit, step)

    def _engine(self, parts: Sequence[Growing]) -> CircuitPieces:
        every, none = torch.arange(self.leaves), torch.empty(0, dtype=torch.int64)
        pieces = [
            CircuitPiece(NativeEngine(part.circuit), (number,), every, none)
            for number, part in enumerate(parts)
            if part.circuit is not None
        ]
        return CircuitPieces(tuple(pieces), len(parts))


def bound_by_goals(
    ground: GroundProgram,
    meaning: Meaning,
    observations: Mapping[Observation, int],
    nodes: int,
    watch: Watch = UNLIMITED,
) -> ByGoals | None:
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
        goals: tuple[RelaxedGoal, RelaxedGoal] = (
            part.goal([literals]),
            part.complement([(-literal,) for literal in literals]),
        )
        sides.append((Growing(goals[0]), Growing(goals[1])))
    counts = tuple(observations.values())
    if part.constraints:
        sides.append((Growing(part.goal([()])), Growing(part.complement([]))))
        counts = (*counts, sum(counts))
    share = max(1, 2 * len(sides))
    budget = Budget(
        max(100, nodes // share),
        max(LEAST_WORK, WORK // share),
        min(500, max(20, REASONS // share)),
    )
    leaves = layout(ground.choices).size
    return ByGoals(tuple(sides), counts, leaves, budget, watch, bool(part.constraints))
