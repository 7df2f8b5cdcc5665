"""What an engine is: something that turns leaf weights into the masses of every question."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from dpasp.semantics.leaves import Weights

Report = Callable[[float, float | None], None]  # what is done, and the total if it is known


class Evaluator(Protocol):
    """An engine that is ready to answer."""

    @property
    def name(self) -> str:
        """The engine's name: ``enumerate``, ``compile``, …"""

    @property
    def statistics(self) -> Mapping[str, int | float | str]:
        """How large it is."""

    def masses(self, weights: Weights) -> Weights:
        """The masses [questions, 7 or 8, batch] under weights [leaves, batch].

        The rows are those of :data:`dpasp.semantics.masses.FIELDS` and, if it is known
        better than by subtraction, the inconsistent mass.
        """

    def log_masses(self, weights: Weights) -> Weights:
        """The logarithms [questions, 7, batch] of the masses, also of those below 1e-308."""


def silent(done: float, total: float | None) -> None:
    """Report nothing."""
