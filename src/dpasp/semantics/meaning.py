"""What a program means: the semantics of its logic and of its probabilities, as one value.

The rest of the system asks a :class:`Meaning` for what it needs to know and never compares
the names of semantics itself.

>>> Meaning(Logic.STABLE, Probability.MAXENT).fields
('consistent', 'qe', 'e')
>>> Meaning(Logic.SMPROBLOG).has_undefined_model
True
"""

from __future__ import annotations

from collections.abc import Iterable

from dpasp.dataclass import dataclass
from dpasp.language.ast import Logic, Mode, Probability
from dpasp.logic.program import GroundLiteral


@dataclass(frozen=True, slots=True)
class Meaning:
    """The two semantics under which questions are answered."""

    logic: Logic = Logic.STABLE
    probability: Probability = Probability.CREDAL

    def __str__(self) -> str:
        return f"{self.logic.value}, {self.probability.value}"

    @property
    def maxent(self) -> bool:
        """Whether all models of a total choice count alike, so that an answer is one number.

        Otherwise the semantics is credal: an answer is a lower and an upper probability.
        """
        return self.probability is Probability.MAXENT

    @property
    def fields(self) -> tuple[str, ...]:
        """The masses that its answers are made of (see :mod:`dpasp.semantics.masses`)."""
        return ("consistent", "qe", "e") if self.maxent else ("consistent", "a", "b", "c", "d")

    @property
    def has_undefined_model(self) -> bool:
        """Whether a total choice without stable models has one model, with every atom undefined.

        It is so under smproblog. Under the other semantics it is inconsistent.
        """
        return self.logic is Logic.SMPROBLOG

    @property
    def existence(self) -> Logic:
        """The simplest logic semantics under which the same total choices have models.

        The least undefined models are some of the partial ones; and where there is no stable
        model, the one in which every atom is undefined does not count.
        """
        return {Logic.LSTABLE: Logic.PARTIAL, Logic.SMPROBLOG: Logic.STABLE}.get(
            self.logic, self.logic
        )

    def holds_without_models(self, literals: Iterable[GroundLiteral]) -> bool:
        """Whether a total choice without stable models satisfies the literals all the same."""
        return self.has_undefined_model and all(
            literal.mode is Mode.UNDEFINED for literal in literals
        )
