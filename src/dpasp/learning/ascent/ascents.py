"""What learning ascends, seen from the steps: a log-likelihood with its gradient.

>>> import dpasp
>>> history = dpasp.loads("?::a. b :- a.").learn([["b"], ["not b"]], niters=2)
>>> history.likelihood, history[0].gap
('exact', None)
"""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

import torch
from torch import Tensor

from dpasp.dataclass import dataclass
from dpasp.learning.history import AscentKind
from dpasp.neural.likelihood import Likelihood
from dpasp.semantics.leaves import Weights


class LogLikelihood(Protocol):
    """The logarithms of the probabilities of distinct observations, with their gradient."""

    @property
    def count(self) -> int:
        """How many distinct observations there are."""

    def log(self, weights: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
        """log P [batch] of each column's observation, and its gradient [leaves, batch]."""

    def log_by_logs(self, logs: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
        """As :meth:`log`, of logarithms of the weights, and the gradient is by those."""

    def log_shared(self, weights: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
        """log P [distinct observations] under one weight vector, and the total gradient."""

    def tries(self, weights: Tensor, ids: Tensor) -> Tensor | None:
        """How many total choices [batch] are drawn until one has a model; None: one, always.

        The weights are those of each observation, or one column for all of them.
        """


class Ascent(Protocol):
    """What is ascended, and how far it may be from the likelihood."""

    @property
    def kind(self) -> AscentKind:
        """Which of the three it is."""

    @property
    def likelihood(self) -> LogLikelihood:
        """What is ascended."""

    def to(self, device: torch.device) -> Ascent:
        """The same on a device."""

    def above(self, weights: Tensor, ids: Tensor) -> Tensor | None:
        """By how much log P [batch] is above what is ascended, at most; None: not at all."""

    def tightened(self, weights: Weights, iteration: int) -> Ascent:
        """What is closer to the likelihood, as far as the budget goes, after an iteration.

        ``weights`` [leaves] are those of now, the mean of them if examples differ.
        """

    def begin(self, iteration: int, step: int) -> None:
        """Say which step comes, for what is random."""

    @property
    def state(self) -> list[Any]:
        """What a run needs to go on with the same, as JSON has it."""

    def restored(self, state: list[Any]) -> Ascent:
        """The same as when ``state`` was written."""


@dataclass(frozen=True, slots=True)
class Exact:
    """The likelihood itself, on a circuit."""

    likelihood: Likelihood
    kind: ClassVar[AscentKind] = "exact"

    def to(self, device: torch.device) -> Exact:
        """The same on a device."""
        return Exact(self.likelihood.to(device))

    def above(self, weights: Tensor, ids: Tensor) -> None:
        """Nothing is missing."""

    def tightened(self, weights: Weights, iteration: int) -> Exact:
        """The same: it is exact."""
        return self

    def begin(self, iteration: int, step: int) -> None:
        """Nothing is random."""

    @property
    def state(self) -> list[Any]:
        """Nothing changes."""
        return []

    def restored(self, state: list[Any]) -> Exact:
        """The same."""
        return self
