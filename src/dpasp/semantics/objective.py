"""What learning maximises where the probability of an observation is an interval.

>>> Objective("hurwicz", 0.25).lower
0.25
"""

from __future__ import annotations

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, UsageError, nearest
from dpasp.language.statements.options import SHARE

_LOWER = {"lower": 1.0, "upper": 0.0, "midpoint": 0.5}
NAMES = (*_LOWER, "hurwicz")


@dataclass(frozen=True, slots=True)
class Objective:
    """A share of the lower probability, and the rest of the upper one.

    ``weight`` is that share for ``hurwicz`` (1 is the greatest caution); the others have their own.
    """

    name: str = "midpoint"
    weight: float | None = None

    def __post_init__(self) -> None:
        """Refuse names and weights that there are not."""
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
