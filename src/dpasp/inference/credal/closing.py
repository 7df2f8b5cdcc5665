"""Boxes of a search over intervals, as a job for the workers of a pool.

>>> from dpasp.circuits import compile
>>> from dpasp.inference.asked import ask
>>> from dpasp.inference.credal.vertices import corners
>>> from dpasp.language import parse
>>> from dpasp.limits import UNLIMITED
>>> from dpasp.logic import ground
>>> from dpasp.semantics.meaning import Meaning
>>> asked = ask(ground(parse("[0.2, 0.4]::a. 0.5::b. c :- a, b. #query c.")), Meaning())
>>> circuit = compile(asked.ground, asked.meaning)
>>> job = Closing(circuit, 0, asked.weights, corners(asked.ground), "lower")
>>> everything = OpenBox(np.array([-1]), 0.2, np.array([1]))  # no corner is fixed; 0.2 is known
>>> job.start(UNLIMITED)(everything, UNLIMITED).best
0.1
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dpasp.circuits import Circuit
from dpasp.dataclass import dataclass
from dpasp.inference.credal.relax import MASSES, BoundGoal, relaxation
from dpasp.inference.credal.search import ClosedBox, OpenBox, Score, close_box
from dpasp.inference.credal.vertices import Corners
from dpasp.inference.engines.tiny import TINY, log_ratio
from dpasp.limits import Watch
from dpasp.semantics.leaves import Weights
from dpasp.semantics.masses import FIELDS, Array


@dataclass(frozen=True)
class Closing:
    """The job of looking into boxes for a goal of a question, under weights [leaves]."""

    circuit: Circuit
    question: int
    weights: Weights
    corners: Sequence[Corners]
    goal: BoundGoal

    def __reduce__(self) -> tuple[Any, ...]:
        data = self.circuit.to_bytes()
        return _closing, (data, self.question, self.weights, tuple(self.corners), self.goal)

    def start(self, watch: Watch) -> Callable[[OpenBox, Watch], ClosedBox]:
        """The function that looks into a box."""
        relaxed = relaxation(self.circuit, self.question, self.weights, self.corners)
        assert relaxed is not None  # the search that handed out the boxes has one
        score = fraction(self.circuit, self.question, self.goal)

        def close(start: OpenBox, watch: Watch) -> ClosedBox:
            return close_box(relaxed, self.goal, score, watch, start)

        return close


def _closing(
    data: bytes, question: int, weights: Weights, corners: Sequence[Corners], goal: BoundGoal
) -> Closing:
    return Closing(Circuit.from_bytes(data), question, weights, corners, goal)


def fraction(circuit: Circuit, question: int, goal: BoundGoal) -> Score:
    """The fraction that is minimised: the lower probability, or 1 minus the upper one.

    It is 1 where the evidence is impossible.
    """
    names = MASSES[goal] if goal == "lower" else MASSES[goal][::-1]
    number, other = map(FIELDS.index, names)

    def score(weights: Weights) -> Array:
        pair = circuit.masses(weights, fields=names)[question]
        total = pair[number] + pair[other]
        tiny = total < TINY
        ratio: Array = pair[number] / np.where(tiny, 1.0, total)
        if np.any(tiny):
            logs = circuit.masses(weights[:, tiny], fields=names, log=True)[question]
            ratio[tiny] = log_ratio(logs[number], logs[other])
        return ratio

    return score
