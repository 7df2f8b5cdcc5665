"""A lower bound of the likelihood: that of the circuits which are there.

The compiled part is what the observations have at least, under any parameters, so its logarithm
is below the log-likelihood. Where some total choices have no model, it is divided by an upper bound
of the mass of the others. Between iterations more is compiled, where it matters most now.

The circuits come from one of two sources. Where the choices determine the observations, each of
them is a goal, as in :mod:`dpasp.inference.bounds.relaxed`: what surely holds of it while some
choices are unknown has a circuit, and so has its complement (:class:`ByGoals`). Otherwise the
program is split into cases (:class:`ByCases`): the most probable open case is compiled if it is
small enough, and else split by one more choice; an open case is worth nothing in the lower bound.

>>> import dpasp
>>> history = dpasp.loads("?::a. b :- a.").learn([["b"], ["not b"]], niters=2, likelihood="bound")
>>> history.likelihood, history[0].gap             # all of so small a program is compiled
('bound', 0.0)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import Any, ClassVar

import torch
from torch import Tensor

from dpasp.circuits import Circuit, Options
from dpasp.circuits.gpu.walks import Fields, Pullback
from dpasp.circuits.join import Fallen, constant_circuit, join
from dpasp.dataclass import dataclass
from dpasp.errors import LimitReached, MemoryLimit, SizeLimit, TimeLimit
from dpasp.ground.program import GroundProgram
from dpasp.inference.bounds.cases import by_influence, case_circuit, restricted
from dpasp.inference.bounds.relaxed import Budget, Growing, RelaxedGoal, determined_part
from dpasp.learning.likelihood import AsRoots, Normalised, never_missing, surely_consistent
from dpasp.learning.masses import (
    CircuitEngine,
    MassMixture,
    consistent_mass,
    mixture_of,
)
from dpasp.learning.observations import Observation, questions_of
from dpasp.learning.tuning import TUNING
from dpasp.limits import UNLIMITED, Watch
from dpasp.semantics.leaves import Weights, layout
from dpasp.semantics.masses import ROUNDING
from dpasp.semantics.meaning import Meaning

LEAST = 1e-300  # what a probability of 0 counts as, for the gap
FIELD = ("a",)


@dataclass(frozen=True, slots=True)
class SideBySide:
    """Circuits with one question each, as one engine; a question without one has no mass."""

    parts: tuple[CircuitEngine | None, ...]
    scaled: ClassVar[bool] = False

    @property
    def questions(self) -> int:
        return len(self.parts)

    @property
    def size(self) -> int:
        return sum(part.size for part in self.parts if part is not None)

    def to(self, device: torch.device) -> SideBySide:
        return SideBySide(tuple(part and part.to(device) for part in self.parts))

    def traced(self, weights: Tensor, fields: Fields, log: bool = False) -> tuple[Tensor, Pullback]:
        nothing = weights.new_full((1, len(fields), weights.shape[1]), -torch.inf if log else 0.0)
        values = [part.traced(weights, fields, log)[0] if part else nothing for part in self.parts]
        return torch.cat(values), lambda seeds: self.gradient(weights, seeds, fields, log)[1]

    def gradient(
        self, weights: Tensor, seeds: Tensor, fields: Fields, log: bool = False
    ) -> tuple[Tensor, Tensor]:
        def one(part: CircuitEngine, at: Tensor, up: Tensor) -> tuple[Tensor, Tensor]:
            return part.gradient(at, up, fields, log)

        return self._where_asked(weights, seeds, one, -torch.inf if log else 0.0)

    def gradient_by_logs(
        self, logs: Tensor, seeds: Tensor, fields: Fields
    ) -> tuple[Tensor, Tensor]:
        def one(part: CircuitEngine, at: Tensor, up: Tensor) -> tuple[Tensor, Tensor]:
            return part.gradient_by_logs(at, up, fields)

        return self._where_asked(logs, seeds, one, -torch.inf)

    def _where_asked(
        self,
        at: Tensor,
        seeds: Tensor,
        one: Callable[[CircuitEngine, Tensor, Tensor], tuple[Tensor, Tensor]],
        nothing: float,
    ) -> tuple[Tensor, Tensor]:
        """The values and slopes of each part, in the columns whose seeds ask for it."""
        total, slopes = torch.full_like(seeds, nothing), torch.zeros_like(at)
        for row, part in enumerate(self.parts):
            used = seeds[row].abs().sum(dim=0).nonzero()[:, 0]
            if part is not None and len(used):
                values, back = one(part, at[:, used], seeds[row : row + 1, :, used])
                total[row, :, used] = values[0]
                slopes[:, used] += torch.where(back.isfinite(), back, 0.0)
        return total, slopes

    def curvature(
        self, weights: Tensor, seeds: Tensor, directions: Tensor, fields: Fields, log: bool = False
    ) -> tuple[Tensor, Tensor]:
        tangents, second = torch.zeros_like(seeds), torch.zeros_like(weights)
        for row, part in enumerate(self.parts):
            if part is not None:
                asked = slice(row, row + 1)
                found = part.curvature(weights, seeds[asked], directions, fields, log)
                tangents[asked], second = found[0], second + found[1]
        return tangents, second


@dataclass(frozen=True)
class ByGoals:
    """For each observation, what surely makes it hold and what surely makes it fail.

    With constraints, the last of the sides are those of there being a model.
    """

    sides: tuple[tuple[Growing, Growing], ...]
    counts: tuple[int, ...]  # examples of each
    budget: Budget
    watch: Watch
    constrained: bool = False

    @property
    def _observed(self) -> tuple[tuple[Growing, Growing], ...]:
        """The sides of the observations."""
        return self.sides[:-1] if self.constrained else self.sides

    @property
    def engine(self) -> SideBySide:
        """The circuits of what makes the observations hold."""
        return _side_by_side([held for held, _ in self._observed])

    @property
    def consistent(self) -> AsRoots | None:
        """The probability of a model, at most; None where there always is one."""
        if not self.constrained:
            return None
        held, fails = self.sides[-1]
        one = torch.ones(1, 1, dtype=torch.float64)
        if held.whole:  # no more than it has at least
            return AsRoots(_side_by_side([held]), MassMixture(FIELD, one, 0.0 * one[0], True))
        slack = one[0] + ROUNDING  # what is left of 1 is rounded up
        return AsRoots(_side_by_side([fails]), MassMixture(FIELD, -one, slack, False))

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
        against = _side_by_side([fails for _, fails in self._observed]).to(weights.device)
        most = 1.0 - against.traced(weights, FIELD)[0][:, 0]
        if not self.constrained:
            return most
        # Of the mass of models, that of the observation is a part.
        held = _side_by_side([self.sides[-1][0]]).to(weights.device)
        given = held.traced(weights, FIELD)[0][0]
        return most / torch.maximum(most, given).clamp(min=LEAST)

    def tightened(self, weights: Weights, iteration: int) -> ByGoals:
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
        return replace(self, sides=tuple(sides))

    def _gap(self, place: int, weights: Weights) -> float:
        """How far the log-likelihood of an observation's examples may be above its bound."""
        held, fails = self.sides[place]
        low, high = held.at_least(weights), 1.0 - fails.at_least(weights)
        return self.counts[place] * (math.log(max(high, LEAST)) - math.log(max(low, LEAST)))

    def _grown(self, growing: Growing, weights: Weights, iteration: int, watch: Watch) -> Growing:
        """As large as it gets before an attempt fails; one that is stuck is renewed at times."""
        if growing.whole or (growing.stuck and iteration % TUNING.again):
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
            pass  # keep what was found so far
        return growing

    @property
    def state(self) -> list[Any]:
        """Which choices are known, to continue from there."""
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


def _side_by_side(parts: Sequence[Growing]) -> SideBySide:
    found = (part.circuit for part in parts)
    return SideBySide(tuple(None if one is None else CircuitEngine(one) for one in found))


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
        max(TUNING.least_goal_work, TUNING.goal_work // share),
        min(500, max(20, TUNING.reasons // share)),
    )
    return ByGoals(tuple(sides), counts, budget, watch, bool(part.constraints))


@dataclass(frozen=True)
class ByCases:
    """The cases of a program: those that are compiled, and those that are open."""

    ground: GroundProgram
    meaning: Meaning
    observations: tuple[Observation, ...]
    lower: float  # the share of the lower probability in what is maximised
    nodes: int  # that are left
    watch: Watch
    closed: Mapping[Fallen, Circuit] = field(default_factory=dict)
    open: tuple[Fallen, ...] = ((),)

    @cached_property
    def engine(self) -> CircuitEngine:
        """The circuit of all cases; open ones have a model, in which no observation holds."""
        unknown = constant_circuit(False, len(self.observations))
        cases = {**self.closed, **dict.fromkeys(self.open, unknown)}
        return CircuitEngine(join(cases, self.ground.choices, self.meaning, watch=self.watch))

    @cached_property
    def consistent(self) -> AsRoots | None:
        """The probability of a model, at most: of open cases all; None where there always is one.

        The circuit of every observation tells it.
        """
        if surely_consistent(self.ground, self.meaning) or never_missing(self.engine, self.ground):
            return None
        return AsRoots(self.engine, consistent_mass(len(self.observations)))

    @property
    def exact(self) -> list[bool]:
        """Which observations have no more than their bound."""
        return [not self.open] * len(self.observations)

    @property
    def mixture(self) -> MassMixture:
        """What the semantics makes of the masses."""
        return mixture_of(self.engine.definite, self.meaning, self.observations, self.lower)

    def most(self, weights: Tensor, joint: Tensor) -> Tensor:
        """The probability [observations, batch] that each has at most: in open cases, always."""
        rest = weights.new_zeros(weights.shape[1])
        for fallen in self.open:
            rest += weights[self._leaves(fallen)].prod(dim=0)
        given = self.consistent
        if given is None:
            return joint + rest
        return (joint + rest) / given.to(weights.device).probability(weights)[0].clamp(min=LEAST)

    def tightened(self, weights: Weights, iteration: int) -> ByCases:
        """With more cases compiled, the most probable ones under the weights first."""
        cases, tried = self, 0
        for _ in range(TUNING.cases):
            chance = {case: float(weights[self._leaves(case)].prod()) for case in cases.open}
            fallen = max(chance, key=chance.__getitem__, default=())
            if (
                tried >= TUNING.attempts
                or cases.nodes <= 0
                or chance.get(fallen, 0.0) <= TUNING.gap
            ):
                break
            circuit = None
            if cases._worth_a_try(fallen):
                tried += 1
                try:
                    circuit = cases._compiled(fallen)
                except (TimeLimit, MemoryLimit):
                    break  # keep what was found so far
            if circuit is not None:
                cases = cases._closed(fallen, circuit)
            elif len(fallen) < len(self.ground.choices):
                cases = cases._split(fallen)
            else:
                break  # there is nothing left to split, and no room
        return cases

    @property
    def state(self) -> list[Any]:
        """Which cases are compiled and which are open, to continue from there."""
        return [list(self.closed), self.open]

    def restored(self, state: list[Any]) -> ByCases:
        """What was written as ``state``, in place of the cases that are here."""
        closed, still = ([tuple(map(tuple, case)) for case in cases] for cases in state)
        known = self.closed
        room = self.nodes + sum(circuit.statistics.nodes for circuit in known.values())
        cases = replace(self, closed={}, open=tuple(still), nodes=room)
        for fallen in closed:
            circuit = known.get(fallen) or cases._compiled(fallen)
            assert circuit is not None
            cases = cases._closed(fallen, circuit)
        return cases

    def _closed(self, fallen: Fallen, circuit: Circuit) -> ByCases:
        return replace(
            self,
            closed={**self.closed, fallen: circuit},
            open=tuple(case for case in self.open if case != fallen),
            nodes=self.nodes - circuit.statistics.nodes,
        )

    def _leaves(self, fallen: Fallen) -> list[int]:
        starts = layout(self.ground.choices).starts
        return [starts[choice] + value for choice, value in fallen]

    def _worth_a_try(self, fallen: Fallen) -> bool:
        """Whether a case was made much smaller since it was tried: by 1, 2, 4, 8, … choices."""
        depth = len(fallen)
        return (depth & (depth - 1)) == 0 or depth == len(self.ground.choices)

    def _compiled(self, fallen: Fallen) -> Circuit | None:
        """The circuit of a case; None if it is too large."""
        program = replace(
            restricted(self.ground, dict(fallen)), questions=questions_of(self.observations)
        )
        options = Options(nodes=self.nodes, work=TUNING.case_work)
        try:
            return case_circuit(program, self.meaning, options, self.watch)
        except SizeLimit:
            return None

    def _split(self, fallen: Fallen) -> ByCases:
        known = dict(fallen)
        choice = next(c for c in by_influence(self.ground) if c not in known)
        leaves = layout(self.ground.choices).of(choice)
        split = [(*fallen, (choice, value)) for value in range(leaves.stop - leaves.start)]
        rest = (case for case in self.open if case != fallen)
        return replace(self, open=(*rest, *split))


BoundSource = ByGoals | ByCases


def lower_bound(source: BoundSource) -> AsRoots | Normalised:
    """The bound that a source gives now."""
    joint, given = AsRoots(source.engine, source.mixture), source.consistent
    return joint if given is None else Normalised(joint, given)


def gap(source: BoundSource, bound: AsRoots | Normalised, weights: Tensor, ids: Tensor) -> Tensor:
    """By how much log P [batch] is above its bound, at most."""
    assert isinstance(bound.joint, AsRoots)
    joint = bound.joint.probability(weights)
    low = bound.probability(weights) if isinstance(bound, Normalised) else joint
    columns = torch.arange(len(ids), device=ids.device) if weights.shape[1] > 1 else 0 * ids
    ends = (source.most(weights, joint), low)
    most, least = (end[ids, columns].clamp(LEAST, 1.0).log() for end in ends)
    return (most - least).clamp(min=0.0)
