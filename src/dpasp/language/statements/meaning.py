"""The semantics that a program can have: which models count, and how probability is spread.

>>> SemanticsPair()
SemanticsPair(logic=<Logic.STABLE: 'stable'>, probability=<Probability.CREDAL: 'credal'>)
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Logic(Enum):
    """Which models a total choice has."""

    STABLE = "stable"
    PARTIAL = "partial"
    LSTABLE = "lstable"
    SMPROBLOG = "smproblog"
    WELLFOUNDED = "wellfounded"

    @property
    def three_valued(self) -> bool:
        """Whether an atom can be undefined."""
        return self is not Logic.STABLE


class Probability(Enum):
    """How the mass of a total choice spreads over its models."""

    CREDAL = "credal"
    MAXENT = "maxent"


class SemanticsPair(NamedTuple):
    """The two semantics under which a program is read."""

    logic: Logic = Logic.STABLE
    probability: Probability = Probability.CREDAL
