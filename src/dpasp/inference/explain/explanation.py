"""The results of explanations: the reasons behind an answer, or for having no model."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, Span, UsageError
from dpasp.inference.answers import SMALLEST, Answer, Listed

if TYPE_CHECKING:
    from dpasp.display.scene import Picture


class Outlined:
    """An explanation that is printed, drawn, and shown in notebooks by means of its outline."""

    __slots__ = ()

    def plot(self, path: str | Path | None = None) -> Picture:
        """The explanation as a picture; saved if there is a path."""
        from dpasp.display.reasons import as_picture, outline

        return as_picture(outline(self)).saved(path)

    def __str__(self) -> str:
        from dpasp.display.reasons import as_text, outline

        return as_text(outline(self))

    def _repr_html_(self) -> str:
        from dpasp.display.reasons import as_html, outline

        return as_html(outline(self, total_choices=True))


@dataclass(frozen=True, slots=True)
class Tree(Outlined):
    """A literal with its value in a model, and the reasons below it.

    ``words`` is a sentence. ``kind`` is the kind of reason: ``fact``, ``rule``, ``choice`` (a value
    of a choice), ``free`` (a choice rule leaves it open), ``none`` (no rule for it applies),
    ``blocked`` (a rule that does not apply), ``undefined``, ``loop`` (explained above in a circle),
    ``again`` (explained elsewhere), ``condition`` (not an atom) or ``all`` (several literals).
    ``rule`` is the text of the rule, ``span`` its place. The root of a tree says what is ``chosen``
    in its model, and which ``factors`` apply there.
    """

    literal: str
    value: bool | str | None  # True, False or "undef"; None if it is not a literal
    kind: str
    words: str
    rule: str = ""
    span: Span | None = None
    below: tuple[Tree, ...] = ()
    chosen: tuple[str, ...] = ()
    factors: tuple[str, ...] = ()

    @property
    def line(self) -> int | None:
        return None if self.span is None else self.span.line

    def walk(self) -> Iterator[Tree]:
        """This and everything below."""
        yield self
        for tree in self.below:
            yield from tree.walk()

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        fields = _fields(self, "literal", "value", "kind", "words")
        if self.span is not None:
            fields |= {"rule": self.rule, "file": self.span.file, "line": self.span.line}
        told = [name for name in ("chosen", "factors") if getattr(self, name)]
        return fields | _fields(self, *told, "below")

    def plot(self, path: str | Path | None = None) -> Picture:
        """The tree as a picture; saved if there is a path."""
        from dpasp.display.reasons import Reason, as_picture, outline

        return as_picture(Reason(self.literal, below=(outline(self),))).saved(path)


def _fields(result: object, *names: str) -> dict[str, Any]:
    return {name: _json(getattr(result, name)) for name in names}


def _json(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_json(part) for part in value]
    return value.to_dict() if hasattr(value, "to_dict") else value


def _bounds_dict(name: str, bounds: tuple[float, ...]) -> dict[str, float]:
    """One number by its name, or two as the ends of an interval."""
    return {name: bounds[0]} if len(bounds) == 1 else {"lower": bounds[0], "upper": bounds[1]}


@dataclass(frozen=True, slots=True)
class Way:
    """Values of choices under which query and evidence hold, whatever the other choices are.

    A ``sure`` way makes them hold in every model; otherwise, every total choice with these values
    (and a model) has some model in which they hold. ``bounds`` is its probability, or the lowest
    and the highest one if probabilities are intervals. ``share`` is how much of the answer it
    covers; as ways overlap, shares may sum to more than 1. It is None with intervals. ``logs`` are
    the logarithms (base 10) of the ``bounds``, and ``log_share`` that of the share: they may be too
    small for doubles.
    """

    values: tuple[str, ...]
    bounds: tuple[float, ...]
    share: float | None
    sure: bool
    logs: tuple[float, ...] | None = field(default=None, compare=False)
    log_share: float | None = field(default=None, compare=False)

    @property
    def probability(self) -> float | None:
        """The probability; None for an interval."""
        return self.bounds[0] if len(self.bounds) == 1 else None

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        chance = _bounds_dict("probability", self.bounds)
        shared = () if self.share is None else ("share",)
        record = _fields(self, "values") | chance | _fields(self, *shared, "sure")
        if self.logs is not None and -math.inf < self.logs[0] and self.bounds[0] < SMALLEST:
            names = ("log10",) if len(self.logs) == 1 else ("log10_lower", "log10_upper")
            record |= dict(zip(names, self.logs, strict=True))
        return record


@dataclass(frozen=True, slots=True)
class Contribution:
    """A value of a choice, with its probability before and after query and evidence are known.

    The ``posterior`` is None if query and evidence cannot hold together. ``certain`` is the answer
    if the value were certain: one number under maxent, two under credal, none if the evidence is
    then impossible.
    """

    value: str
    prior: float
    posterior: float | None
    certain: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return _fields(self, "value", "prior", "posterior", "certain")


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """A number of the program, and how much the answer changes with it.

    ``bounds`` is its value, or both ends of an interval. ``slope`` is the derivative of the answer:
    one number under maxent, those of the lower and the upper value under credal (by the end of an
    interval that attains the value). ``reach`` is the nearest value between 0 and 1 for which the
    answer (or each bound) is the target; None if there is none.
    """

    name: str
    line: int
    bounds: tuple[float, ...]
    slope: tuple[float, ...]
    reach: tuple[float | None, ...] = ()

    @property
    def value(self) -> float | None:
        """The number; None for an interval."""
        return self.bounds[0] if len(self.bounds) == 1 else None

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        number = _fields(self, "name", "line") | _bounds_dict("value", self.bounds)
        return number | _fields(self, "slope", *(["reach"] if self.reach else []))


@dataclass(frozen=True, slots=True)
class Explanation(Outlined):
    """An answer and what is behind it.

    - ``ways``: what must be chosen for the query to hold, the most probable first. The sure ones
      make up the lower value, all together the upper one; ``covered`` is the share of the answer
      that they cover.
    - ``total_choices``: the total choices behind it, the largest share first.
    - ``contributions``: how the values of choices affect it, and how it affects them.
    - ``sensitivity``: the numbers of the program, those that change the answer most first.
    - ``tree``: why it holds in a model of the most probable way; None if it cannot hold.
    - ``why_not``: why it does not hold in a model of the most probable total choice where it does
      not; None if it always holds. Under weighted, both are about the most probable model.

    ``complete`` is false if a limit was reached before the most probable ones were certain.
    """

    answer: Answer
    ways: tuple[Way, ...]
    contributions: tuple[Contribution, ...]
    complete: bool
    total_choices: tuple[Way, ...] = ()
    covered: float | None = None
    sensitivity: tuple[Sensitivity, ...] = ()
    target: float | None = None
    tree: Tree | None = None
    why_not: Tree | None = None

    def __repr__(self) -> str:
        return str(self)

    def to_dict(self) -> Mapping[str, Any]:
        """The JSON form."""
        names = "ways covered total_choices complete contributions sensitivity tree why_not".split()
        fields = self.answer.to_dict() | _fields(self, *names)
        for name, at in (("lower_at", self.answer.lower_at), ("upper_at", self.answer.upper_at)):
            if at:
                fields[name] = dict(at)
        return fields | ({} if self.target is None else {"target": self.target})


@dataclass(frozen=True, slots=True)
class Explanations(Listed[Explanation]):
    """The explanations in the order of the queries, with warnings."""

    listed: ClassVar = "explanations"
    explanations: tuple[Explanation, ...]
    inconsistent: float = 0.0  # the mass of total choices without a model
    warnings: tuple[Diagnostic, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        names = ["inconsistent", "explanations", *(["warnings"] if self.warnings else [])]
        return _fields(self, *names)

    def plot(self, path: str | Path | None = None) -> Picture:
        """The trees as pictures, one below the other; saved if there is a path."""
        from dpasp.display.scene import above

        if not self.explanations:
            raise UsageError("there is nothing to draw", help="add a #query, or use --query")
        return above([each.plot() for each in self], "reasons").saved(path)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return "\n".join(map(str, self.explanations))

    def _repr_html_(self) -> str:
        from dpasp.display.html import warnings_html

        return "".join(each._repr_html_() for each in self) + warnings_html(self.warnings)


@dataclass(frozen=True, slots=True)
class NeededRule:
    """An instance of a rule that is needed: the rule as written, and with its values."""

    text: str
    instance: str
    span: Span

    @property
    def line(self) -> int:
        return self.span.line

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        place = {"file": self.span.file, "line": self.span.line}
        return {"rule": self.text, "instance": self.instance, **place}


@dataclass(frozen=True, slots=True)
class Inconsistency(Outlined):
    """Values of choices, instances of rules and evidence that together rule out all models.

    ``bounds`` is the probability of the values, or the lowest and highest one with intervals.
    ``facts`` are the certain atoms that the rules rely on.
    """

    values: tuple[str, ...]
    bounds: tuple[float, ...]
    rules: tuple[NeededRule, ...]
    evidence: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()

    @property
    def probability(self) -> float | None:
        """The probability of the values; None for an interval."""
        return self.bounds[0] if len(self.bounds) == 1 else None

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        chance = _bounds_dict("probability", self.bounds)
        return _fields(self, "values") | chance | _fields(self, "rules", "evidence", "facts")


@dataclass(frozen=True, slots=True)
class Inconsistencies(Outlined, Listed[Inconsistency]):
    """The most probable reasons why total choices have no model.

    ``mass`` is the probability of all total choices without a model (that satisfies the evidence,
    if there is any); with intervals, in the middle of them. ``complete`` is false if a limit was
    reached. If ``collapses``, the semantics makes every atom undefined in total choices without a
    stable model. Models that a factor of weight 0 excludes do not count, unless ``all_factors`` is
    false.
    """

    listed: ClassVar = "reasons"
    reasons: tuple[Inconsistency, ...]
    mass: float
    evidence: tuple[str, ...] = ()
    complete: bool = True
    collapses: bool = False
    all_factors: bool = True

    def __repr__(self) -> str:
        return str(self)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {"inconsistent": self.mass, **_fields(self, "evidence", "complete", "reasons")}
