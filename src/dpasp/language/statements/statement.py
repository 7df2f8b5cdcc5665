"""Statement, Program and semantics.

A statement is a frozen node with its span. Terms, literals and clingo's own statements stay
:class:`clingo.ast.AST` nodes (treated as frozen). Spans are not compared, so two programs are equal
if they say the same thing.

>>> from dpasp.language import parse
>>> parse("0.3::a. b :- a. #query b.") == parse("0.3 :: a.   b:-a.   #query(b).")
True
"""

from __future__ import annotations

from dataclasses import field
from enum import Enum
from typing import NamedTuple

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, Span
from dpasp.language.text import Sources

NOWHERE = Span("<program>", 1, 1, 1, 1)  # of nodes made without a text


def span_field() -> Span:
    """A span: kept for messages, ignored by comparisons."""
    return field(default=NOWHERE, compare=False, repr=False)


def lazy_span_field() -> Span:
    """A span that ``__getattr__`` may make on first use."""
    return field(default_factory=lambda: NOWHERE, compare=False, repr=False)


set_field = object.__setattr__  # of a frozen object that makes some of its fields on first use


class Statement:
    """A statement of a program; each kind is a frozen dataclass."""

    __slots__ = ()
    span: Span


@dataclass(frozen=True, slots=True)
class Program:
    """The statements in order, with included files in place of their ``#include``.

    ``supplied`` are the names after ``@`` for which the caller of ``load`` gave objects.
    """

    statements: tuple[Statement, ...]
    sources: Sources = field(default_factory=Sources, compare=False, repr=False)
    warnings: tuple[Diagnostic, ...] = field(default=(), compare=False, repr=False)
    supplied: frozenset[str] = frozenset()

    @property
    def files(self) -> tuple[str, ...]:
        """The names of the files."""
        return tuple(self.sources)


class Logic(Enum):
    """The models of a total choice."""

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
    """How the mass of a total choice is spread over its models.

    Under ``WEIGHTED`` every model has a weight of its own, and all weights are normalised together.
    """

    CREDAL = "credal"
    MAXENT = "maxent"
    WEIGHTED = "weighted"


class SemanticsPair(NamedTuple):
    """The semantics of a program."""

    logic: Logic = Logic.STABLE
    probability: Probability = Probability.CREDAL
