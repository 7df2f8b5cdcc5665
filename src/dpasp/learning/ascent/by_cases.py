"""Lower and upper bounds of any observations: the program in cases, compiled one by one.

A case says how some choices fell. The most probable case that is open, under the weights of
now, is compiled if it is small enough and else split by one more choice; what is still open is
worth nothing in the lower bound, and all of its probability in the upper one.

>>> import dpasp
>>> program = dpasp.loads("?::x(1..2). {a}. a :- x(1), x(2).")
>>> program.learn([["a"], ["not a"]], niters=2, likelihood="bound")[1].likelihood
'bound'
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dpasp import circuits
from dpasp.circuits.join import Fallen
from dpasp.dataclass import dataclass
from dpasp.errors import MemoryLimit, SizeLimit, TimeLimit
from dpasp.ground.program import GroundProgram
from dpasp.inference.bounds.cases import by_influence, restricted
from dpasp.inference.circuit import on_circuit
from dpasp.limits import Watch
from dpasp.neural.engines import NativeEngine
from dpasp.neural.likelihood import AsRoots, never_missing, surely_consistent
from dpasp.neural.mixtures import MassMixture, consistent_mass, mixture_of
from dpasp.neural.observations import Observation, questions_of
from dpasp.neural.pieces import Certain, CircuitPiece, CircuitPieces
from dpasp.semantics.leaves import Weights, layout
from dpasp.semantics.meaning import Meaning, Objective

STEPS = 1000  # cases that are split or compiled in one go,
ATTEMPTS = 16  # and those among them that the compiler tries
WORK = 5_000_000  # of one of them
ENUMERATED = 256  # total choices that are enumerated where there is no way to compile them
LEAST = 1e-300  # what a probability of 0 counts as, to divide by
CLOSE = 1e-6  # an open probability below this is worth no more work


@dataclass(frozen=True, slots=True)
class Compiled:
    """A case with its circuit."""

    fallen: Fallen
    engine: NativeEngine


@dataclass(frozen=True)
class ByCases:
    """The cases of a program: those that are compiled, and those that are open."""

    ground: GroundProgram
    meaning: Meaning
    observations: tuple[Observation, ...]
    lower: float  # the share of the lower probability in what is maximised
    nodes: int  # that are left
    watch: Watch
    closed: tuple[Compiled, ...] = ()
    open: tuple[Fallen, ...] = ((),)

    @property
    def engine(self) -> CircuitPieces:
        """The circuits of the cases that are compiled."""
        return CircuitPieces(tuple(self._pieces()), len(self.observations))

    def _pieces(self) -> Iterator[CircuitPiece]:
        place = layout(self.ground.choices)
        every = tuple(range(len(self.observations)))
        for case in self.closed:
            fallen = dict(case.fallen)
            kept = [
                np.arange(place.of(i).start, place.of(i).stop)
                for i in range(len(self.ground.choices))
                if i not in fallen
            ]
            leaves = torch.from_numpy(np.concatenate(kept) if kept else np.empty(0, np.int64))
            fell = torch.tensor(self._leaves(case.fallen), dtype=torch.int64)
            yield CircuitPiece(case.engine, every, leaves, fell)

    @property
    def consistent(self) -> AsRoots | None:
        """The probability of a model, at most: of open cases all; None where there always is one.

        The circuit of every observation tells it; that of the first does.
        """
        if self._total:
            return None
        none = torch.empty(0, dtype=torch.int64)
        rest = [
            CircuitPiece(Certain(), (0,), none, torch.tensor(self._leaves(fallen)).long())
            for fallen in self.open
        ]
        engine = CircuitPieces((*self._pieces(), *rest), len(self.observations))
        return AsRoots(engine, consistent_mass(len(self.observations)))

    @cached_property
    def _total(self) -> bool:
        """Whether every total choice surely has a model, those of open cases aside."""
        if surely_consistent(self.ground, self.meaning):
            return True
        return all(
            never_missing(case.engine, restricted(self.ground, dict(case.fallen)))
            for case in self.closed
        )

    @property
    def exact(self) -> list[bool]:
        """Which observations have no more than their bound."""
        return [not self.open] * len(self.observations)

    @property
    def mixture(self) -> MassMixture:
        """What the semantics makes of the masses."""
        definite = all(case.engine.definite for case in self.closed)
        return mixture_of(definite, self.meaning, self.observations, self.lower)

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
        for _ in range(STEPS):
            chance = {fallen: self._chance(fallen, weights) for fallen in cases.open}
            fallen = max(chance, key=chance.__getitem__, default=())
            if tried >= ATTEMPTS or cases.nodes <= 0 or chance.get(fallen, 0.0) <= CLOSE:
                break
            engine = None
            if cases._worth_a_try(fallen):
                tried += 1
                try:
                    engine = cases._compiled(fallen)
                except (TimeLimit, MemoryLimit):
                    break  # with what there is by then
            if engine is not None:
                cases = cases._closed(fallen, engine)
            elif len(fallen) < len(self.ground.choices):
                cases = cases._split(fallen)
            else:
                break  # there is nothing left to split, and no room
        return cases

    @property
    def state(self) -> list[Any]:
        """Which cases are compiled and which are open, to go on from there."""
        return [[case.fallen for case in self.closed], self.open]

    def restored(self, state: list[Any]) -> ByCases:
        """What was written as ``state``, in place of the cases that are here."""
        closed, still = ([tuple(map(tuple, case)) for case in cases] for cases in state)
        known = {case.fallen: case.engine for case in self.closed}
        room = self.nodes + sum(engine.circuit.statistics.nodes for engine in known.values())
        cases = replace(self, closed=(), open=tuple(still), nodes=room)
        for fallen in closed:
            engine = known.get(fallen) or cases._compiled(fallen)
            assert engine is not None
            cases = cases._closed(fallen, engine)
        return cases

    def _closed(self, fallen: Fallen, engine: NativeEngine) -> ByCases:
        return replace(
            self,
            closed=(*self.closed, Compiled(fallen, engine)),
            open=tuple(case for case in self.open if case != fallen),
            nodes=self.nodes - engine.circuit.statistics.nodes,
        )

    def _leaves(self, fallen: Fallen) -> list[int]:
        starts = layout(self.ground.choices).starts
        return [starts[choice] + value for choice, value in fallen]

    def _chance(self, fallen: Fallen, weights: Weights) -> float:
        return math.prod(float(weights[leaf]) for leaf in self._leaves(fallen))

    def _worth_a_try(self, fallen: Fallen) -> bool:
        """Whether a case was made much smaller since it was tried: by 1, 2, 4, 8, … choices."""
        depth = len(fallen)
        return (depth & (depth - 1)) == 0 or depth == len(self.ground.choices)

    def _compiled(self, fallen: Fallen) -> NativeEngine | None:
        """The circuit of a case; None if it is too large."""
        program = replace(
            restricted(self.ground, dict(fallen)), questions=questions_of(self.observations)
        )
        options = circuits.Options(nodes=self.nodes, work=WORK)
        try:
            return NativeEngine(
                circuits.compile(program, self.meaning, options=options, watch=self.watch)
            )
        except SizeLimit:
            return None
        except circuits.HeadCycle:
            if layout(program.choices).total > ENUMERATED:
                return None
            return NativeEngine(on_circuit(program, self.meaning, watch=self.watch).circuit)

    def _split(self, fallen: Fallen) -> ByCases:
        known = dict(fallen)
        choice = next(c for c in by_influence(self.ground) if c not in known)
        leaves = layout(self.ground.choices).of(choice)
        split = [(*fallen, (choice, value)) for value in range(leaves.stop - leaves.start)]
        rest = (case for case in self.open if case != fallen)
        return replace(self, open=(*rest, *split))


def bound_by_cases(
    ground: GroundProgram,
    meaning: Meaning,
    observations: Sequence[Observation],
    objective: Objective,
    nodes: int,
    watch: Watch,
) -> ByCases:
    """Nothing known yet of the observations."""
    return ByCases(ground, meaning, tuple(observations), objective.lower, nodes, watch)
