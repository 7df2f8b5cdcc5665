"""What a statement and a program are.

A statement is a frozen node with the span it was read from. Whatever is clingo's stays
clingo's: terms, literals and unannotated statements are :class:`clingo.ast.AST` nodes
(treated as frozen). Spans never take part in comparisons, so two programs are equal when
they say the same thing.

>>> from dpasp.language import parse
>>> program = parse("0.3::a. b :- a. #query b.")
>>> [type(statement).__name__ for statement in program.statements]
['Annotated', 'Plain', 'Query']
>>> program == parse("0.3 :: a.   b:-a.   #query(b).")
True
"""

from __future__ import annotations

from dataclasses import field
from enum import Enum
from typing import NamedTuple

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, Span
from dpasp.language.text.source import Sources

NOWHERE = Span("<program>", 1, 1, 1, 1)  # of nodes that were not read from a text


def span_field() -> Span:
    """A span: kept for messages, ignored by comparisons."""
    return field(default=NOWHERE, compare=False, repr=False)


class Statement:
    """A statement of a program; each kind is a frozen dataclass in a module of its own."""

    __slots__ = ()
    span: Span


@dataclass(frozen=True, slots=True)
class Program:
    """The statements in their order, included files in place of their ``#include``.

    ``supplied`` are the names after ``@`` that the caller of ``load`` has given objects for.
    """

    statements: tuple[Statement, ...]
    sources: Sources = field(default_factory=Sources, compare=False, repr=False)
    warnings: tuple[Diagnostic, ...] = field(default=(), compare=False, repr=False)
    supplied: frozenset[str] = frozenset()

    @property
    def files(self) -> tuple[str, ...]:
        """The names of the files that were read."""
        return tuple(self.sources)


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
