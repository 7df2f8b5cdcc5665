"""The models of a program, total choice by total choice, the most probable first.

>>> from dpasp.inference.asked import ask
>>> from dpasp.language import parse
>>> from dpasp.ground import ground
>>> from dpasp.semantics.meaning import Meaning
>>> from dpasp.ground.text import shown_by
>>> shown = shown_by(parse("0.3::a. b :- not a. #show b/0."))
>>> asked = ask(ground(shown.program), Meaning())
>>> [(model.choice, model.probability, model.true) for model in models(asked, shown)]
[(('not a',), (0.7,), ('b',)), (('a',), (0.3,), ())]
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from dpasp.dataclass import dataclass
from dpasp.errors import ImpossibleEvidence
from dpasp.ground.text import Shown
from dpasp.inference.answers import SMALLEST, Assignment, bounds_text
from dpasp.inference.asked import Asked
from dpasp.inference.sampling.draws import ModelSource, contradictory
from dpasp.semantics.leaves import ends, leaf_names
from dpasp.semantics.masses import impossible_evidence
from dpasp.semantics.total_choices import log_probability_of, most_probable_first, probability_of
from dpasp.writing import harmless

LN10 = math.log(10.0)
LOG_ENDS = ("log10_lower", "log10_upper")


@dataclass(frozen=True, slots=True)
class Model:
    """A model: the total choice it belongs to, its probability, and what is shown of it.

    The probability is that of the total choice, which all its models share; with
    intervals it is the lowest and the highest one. The ``logs`` (base 10) are those of the
    probability, for when it is below the range of floating-point numbers.
    """

    choice: tuple[str, ...]
    probability: tuple[float, ...]
    true: tuple[str, ...]
    undefined: tuple[str, ...]
    values: Assignment  # of all atoms, shown or not
    logs: tuple[float, ...] = ()

    @property
    def log10(self) -> float | None:
        """The logarithm of the probability; None where that is an interval."""
        return self.logs[0] if len(set(self.logs)) == 1 else None

    def to_dict(self) -> dict[str, object]:
        """The JSON form."""
        low, high = self.probability[0], self.probability[-1]
        bounds = {"probability": low} if low == high else {"lower": low, "upper": high}
        if low < SMALLEST and self.logs and self.logs[-1] > -math.inf:
            ends = [None if log == -math.inf else log for log in self.logs]
            alone = ends[0] == ends[-1]
            logs = {"log10": ends[0]} if alone else dict(zip(LOG_ENDS, ends, strict=True))
            bounds = {**bounds, **{k: v for k, v in logs.items() if v is not None}}
        record: dict[str, object] = {"choice": list(self.choice), **bounds, "true": list(self.true)}
        return record | ({"undefined": list(self.undefined)} if self.undefined else {})

    @property
    def choice_text(self) -> str:
        """The total choice and its probability, on a line."""
        return f"{', '.join(self.choice)}  {bounds_text(self.probability, self.logs or None)}"

    def __str__(self) -> str:
        return harmless(" ".join([*self.true, *(f"undef({name})" for name in self.undefined)]))


def models(asked: Asked, shown: Shown) -> Iterator[Model]:
    """The models that satisfy the program's evidence, as they are found.

    Raises :class:`ImpossibleEvidence` if the evidence contradicts itself.
    """
    ground, weights = asked.ground, asked.weights
    if contradictory(ground.evidence):
        raise ImpossibleEvidence(impossible_evidence(ground.evidence))
    source = ModelSource(asked)
    names = leaf_names(ground)
    sides = ends(ground, weights) if asked.has_intervals else (weights,)
    for choice in most_probable_first(weights, source.starts):
        asked.watch.check()
        taken = tuple(names[start + value] for start, value in zip(source.starts, choice))  # noqa: B905
        probability = tuple(probability_of(choice, end, source.starts) for end in sides)
        logs = tuple(log_probability_of(choice, end, source.starts) / LN10 for end in sides)
        for values in source.each(choice):
            true, undefined = shown.names(values), shown.names(values, "undef")
            yield Model(taken, probability, tuple(true), tuple(undefined), values, logs)
