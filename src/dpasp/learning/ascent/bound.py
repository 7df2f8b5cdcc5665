"""A lower bound of the likelihood: that of the circuits which are there.

What is compiled says what the observations have at least, under any parameters; so its logarithm
is below the likelihood's, and what raises it is worth as much. Where some total choices have no
model, it is divided by what the others have at most. Between iterations more is compiled, where
the parameters of now make it matter.

>>> import dpasp
>>> history = dpasp.loads("?::a. b :- a.").learn([["b"], ["not b"]], niters=2, likelihood="bound")
>>> history.likelihood, history[0].gap             # all of so small a program is compiled
('bound', 0.0)
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Protocol, Self

import torch
from torch import Tensor

from dpasp.dataclass import dataclass
from dpasp.learning.history import AscentKind
from dpasp.neural.likelihood import AsRoots, Normalised
from dpasp.neural.mixtures import MassMixture
from dpasp.neural.pieces import CircuitPieces
from dpasp.semantics.leaves import Weights

LEAST = 1e-300  # what a probability of 0 counts as, for the gap


class Source(Protocol):
    """Where the circuits of a bound come from."""

    @property
    def engine(self) -> CircuitPieces:
        """The circuits that are there."""

    @property
    def exact(self) -> list[bool]:
        """Which observations have no more than their bound."""

    @property
    def mixture(self) -> MassMixture:
        """What a probability is of their masses."""

    @property
    def consistent(self) -> AsRoots | None:
        """The probability of a model, at most; None where there always is one."""

    def most(self, weights: Tensor, joint: Tensor) -> Tensor:
        """The probability [observations, batch] that each has at most.

        ``joint`` is what each has at least together with a model.
        """

    def tightened(self, weights: Weights, iteration: int) -> Self:
        """With more of it compiled."""

    @property
    def state(self) -> list[Any]:
        """What is compiled, as JSON has it."""

    def restored(self, state: list[Any]) -> Self:
        """What was written as ``state``."""


@dataclass(frozen=True)
class BoundAscent:
    """The lower bound by a source, on a device."""

    source: Source
    likelihood: AsRoots | Normalised
    iteration: int = -1  # after which it was last tightened
    kind: ClassVar[AscentKind] = "bound"

    @classmethod
    def of(cls, source: Source, iteration: int = -1) -> BoundAscent:
        """The bound that a source gives now."""
        joint, given = AsRoots(source.engine, source.mixture), source.consistent
        return cls(source, joint if given is None else Normalised(joint, given), iteration)

    def to(self, device: torch.device) -> BoundAscent:
        """The same on a device."""
        return replace(self, likelihood=self.likelihood.to(device))

    def above(self, weights: Tensor, ids: Tensor) -> Tensor:
        """By how much log P [batch] is above the bound, at most."""
        joint = self.likelihood.joint
        assert isinstance(joint, AsRoots)
        least_joint = joint.probability(weights.detach())
        low = least_joint
        if isinstance(self.likelihood, Normalised):
            low = self.likelihood.probability(weights.detach())
        high = self.source.most(weights.detach(), least_joint)
        place = ids, torch.arange(len(ids), device=ids.device)
        if weights.shape[1] == 1:
            place = ids, torch.zeros_like(ids)
        least, most = low[place].clamp(LEAST, 1.0), high[place].clamp(LEAST, 1.0)
        return (most.log() - least.log()).clamp(min=0.0)

    def tightened(self, weights: Weights, iteration: int) -> BoundAscent:
        """With more compiled, where that matters under the weights; once an iteration."""
        if iteration == self.iteration:
            return self
        return self._with(self.source.tightened(weights, iteration), iteration)

    @property
    def state(self) -> list[Any]:
        """What is compiled, as JSON has it."""
        return [self.iteration, self.source.state]

    def restored(self, state: list[Any]) -> BoundAscent:
        """The bound that was written as ``state``."""
        iteration, source = state
        return self._with(self.source.restored(source), iteration)

    def _with(self, source: Source, iteration: int) -> BoundAscent:
        device = self.likelihood.joint.mixture.constant.device
        return BoundAscent.of(source, iteration).to(device)

    def begin(self, iteration: int, step: int) -> None:
        """Nothing is random within a step."""
