"""The semantics of a program's logic and of its probabilities, as one value.

The rest of the system asks a :class:`Meaning` for properties and never compares the names of
semantics. An :class:`Objective` says what learning maximises if the probability of an observation
is an interval.
"""

from __future__ import annotations

from collections.abc import Iterable

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, UsageError, nearest
from dpasp.ground.program import GroundLiteral
from dpasp.language.ast import Logic, Mode, Probability, Program
from dpasp.language.statements.options import SHARE
from dpasp.language.statements.semantics import effective_semantics


@dataclass(frozen=True, slots=True)
class Meaning:
    """The two semantics under which questions are answered."""

    logic: Logic = Logic.STABLE
    probability: Probability = Probability.CREDAL

    @classmethod
    def of(cls, program: Program, semantics: str | None = None) -> Meaning:
        """The meaning of a program; ``semantics`` overrides what its text says."""
        return cls(*effective_semantics(program, semantics))

    def __str__(self) -> str:
        return f"{self.logic.value}, {self.probability.value}"

    @property
    def maxent(self) -> bool:
        """Whether an answer is one number: models count equally, or by their weights.

        Otherwise the semantics is credal: an answer is a lower and an upper probability.
        """
        return self.probability is not Probability.CREDAL

    @property
    def weighted(self) -> bool:
        """Whether models have weights, which are normalised together.

        The ground program is then one of :mod:`dpasp.semantics.weighted`.
        """
        return self.probability is Probability.WEIGHTED

    @property
    def fields(self) -> tuple[str, ...]:
        """The masses needed for answers (see :mod:`dpasp.semantics.masses`)."""
        return ("consistent", "qe", "e") if self.maxent else ("consistent", "a", "b", "c", "d")

    @property
    def has_undefined_model(self) -> bool:
        """Whether a total choice without stable models has one model, with every atom undefined.

        This is the case under smproblog; under other semantics it is inconsistent. Under weighted,
        that model is a separate total choice (see :mod:`dpasp.semantics.weighted`).
        """
        return self.logic is Logic.SMPROBLOG and not self.weighted

    @property
    def existence(self) -> Logic:
        """The simplest logic semantics under which the same total choices have models.

        Least undefined models are partial ones, and without stable models, the one in which every
        atom is undefined does not count.
        """
        return {Logic.LSTABLE: Logic.PARTIAL, Logic.SMPROBLOG: Logic.STABLE}.get(
            self.logic, self.logic
        )

    def holds_without_models(self, literals: Iterable[GroundLiteral]) -> bool:
        """Whether a total choice without stable models still satisfies the literals."""
        return self.has_undefined_model and all(
            literal.mode is Mode.UNDEFINED for literal in literals
        )


_LOWER = {"lower": 1.0, "upper": 0.0, "midpoint": 0.5}
NAMES = (*_LOWER, "hurwicz")


@dataclass(frozen=True, slots=True)
class Objective:
    """A mean of the lower and upper probability.

    For ``hurwicz``, ``weight`` is the share of the lower one (1 is the most cautious).
    """

    name: str = "midpoint"
    weight: float | None = None

    def __post_init__(self) -> None:
        """Refuse unknown names and weights outside of [0, 1]."""
        if self.name not in NAMES:
            message = f"the objective is lower, upper, midpoint or hurwicz, not {self.name!r}"
            help = nearest(str(self.name), NAMES) or 'say objective = "midpoint"'
            raise UsageError(Diagnostic("option-value", message, help=help))
        if self.weight is not None and self.name != "hurwicz":
            message = f'weight goes with objective = "hurwicz", not with {self.name}'
            help = f'say objective = "hurwicz", weight = {self.weight}, or leave weight out'
            raise UsageError(Diagnostic("option-value", message, help=help))
        if self.weight is not None and not SHARE.holds(self.weight):
            message = f"the weight of the lower probability is from 0 to 1, not {self.weight!r}"
            raise UsageError(Diagnostic("option-value", message, help="say weight = 0.5"))

    @property
    def lower(self) -> float:
        """The share of the lower probability."""
        return _LOWER.get(self.name, 0.5 if self.weight is None else self.weight)

    def __str__(self) -> str:
        return self.name if self.name in _LOWER else f"{self.name}, weight {self.lower:g}"
