"""What a program is: frozen nodes with the spans they were read from.

Whatever is clingo's stays clingo's: terms, literals and unannotated statements
are :class:`clingo.ast.AST` nodes (treated as frozen); the classes here are what
dPASP adds. Spans never take part in comparisons, so two programs are equal when
they say the same thing.

>>> from dpasp.language import parse
>>> program = parse("0.3::a. b :- a. #query b.")
>>> [type(statement).__name__ for statement in program.statements]
['Annotated', 'Plain', 'Query']
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from clingo.ast import AST

from dpasp.errors import Diagnostic, Span
from dpasp.language.source import Sources

NOWHERE = Span("<program>", 1, 1, 1, 1)  # of nodes that were not read from a text


def span_field() -> Span:
    """A span: kept for messages, ignored by comparisons."""
    return field(default=NOWHERE, compare=False, repr=False)


# --- probabilities ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Number:
    """A real number."""

    value: float
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Name:
    """A constant, given by ``#const`` or on the command line."""

    name: str
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of the statement's body."""

    name: str
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Operation:
    """``left operator right``, or ``-right`` when there is no left: + - * / \\ **."""

    operator: str
    left: Expression | None
    right: Expression
    span: Span = span_field()


Expression = Number | Name | Variable | Operation


@dataclass(frozen=True, slots=True)
class Fixed:
    """``0.3::``, a probability that stays as it is."""

    probability: Expression
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Interval:
    """``[0.2, 0.7]::``, any probability in between."""

    lower: Expression
    upper: Expression
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Learnable:
    """``?::``, ``0.5?::``, ``?(X)::``: a parameter, one for each value of the ``key`` variables.

    The empty key is one parameter for the whole rule.
    """

    initial: Expression | None
    key: tuple[str, ...]
    span: Span = span_field()


Weight = Fixed | Interval | Learnable


# --- statements ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Plain:
    """A statement of clingo's own: a rule, ``#show``, ``#const``, ``#script``, …"""

    node: AST
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Const:
    """``#const p = 0.3.`` with a real value, which clingo does not have."""

    name: str
    value: Expression
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Head:
    """One annotated head: its weight and its atom (a ``SymbolicAtom`` node)."""

    weight: Weight
    atom: AST
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Annotated:
    """A probabilistic or credal fact, rule or annotated disjunction."""

    heads: tuple[Head, ...]
    body: tuple[AST, ...]
    span: Span = span_field()


Value = int | float | str | bool | tuple[int | float, ...]


@dataclass(frozen=True, slots=True)
class Option:
    """``lr = 0.001``; a name alone is true."""

    name: str
    value: Value
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Call:
    """``@f``, ``@f(0, "x")`` or ``@package.module:f``; the arguments are term nodes."""

    function: str
    arguments: tuple[AST, ...] = ()
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class File:
    """A file named in the program, as written there."""

    path: str
    span: Span = span_field()


Origin = Call | File


@dataclass(frozen=True, slots=True)
class Network:
    """``@net``, ``@net on "owner/repo" at "github"``, ``@net on "folder"``."""

    factory: Call
    repository: str | None = None
    host: str | None = None
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Neural:
    """A neural fact (``values`` empty) or annotated disjunction.

    ``?::f(X, {a,b}; {0..8}) as @net :- g(X).`` has the arguments ``X``, the values
    ``a, b`` and the outcomes ``0, …, 8``; its atoms are ``f(X, value, outcome)``.
    """

    name: str
    positive: bool
    arguments: tuple[AST, ...]
    values: tuple[AST, ...]
    outcomes: tuple[AST, ...]
    learnable: bool
    network: Network
    options: tuple[Option, ...]
    body: tuple[AST, ...]
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Data:
    """``input(0) ~ test(@te(0)), train("tr.csv").``"""

    name: str
    argument: AST
    test: Origin | None
    train: Origin | None
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Python:
    """``#python … #end.``; ``code`` is the text in between."""

    code: str
    span: Span = span_field()


class Mode(Enum):
    """How a literal of a query wants its atom."""

    TRUE = ""
    FALSE = "not "
    UNDEFINED = "undef "


@dataclass(frozen=True, slots=True)
class Literal:
    """``a``, ``not a`` or ``undef a`` in a query; the atom is a ``SymbolicAtom`` node."""

    mode: Mode
    atom: AST
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Query:
    """``#query a, not b | undef c.`` with comparisons as conditions on its variables."""

    literals: tuple[Literal, ...]
    evidence: tuple[Literal, ...]
    guards: tuple[AST, ...] = ()
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Map:
    """``#map a?, b? | e.``; ``#mpe | e.`` marks nothing and stands for all choices."""

    atoms: tuple[AST, ...]
    evidence: tuple[Literal, ...]
    guards: tuple[AST, ...] = ()
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Evidence:
    """``#evidence a, not b.``, joined to the evidence of every query."""

    literals: tuple[Literal, ...]
    span: Span = span_field()


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


@dataclass(frozen=True, slots=True)
class Semantics:
    """``#semantics lstable, maxent.``; None is what was not said."""

    logic: Logic | None
    probability: Probability | None
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Learn:
    """``#learn @labels, lr = 0.001.``"""

    observations: Origin
    options: tuple[Option, ...]
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Inference:
    """``#inference sample, n = 10000.``"""

    method: str
    options: tuple[Option, ...]
    span: Span = span_field()


Statement = (
    Plain
    | Const
    | Annotated
    | Neural
    | Data
    | Python
    | Query
    | Map
    | Evidence
    | Semantics
    | Learn
    | Inference
)


def clingo_nodes(statement: Statement) -> Iterator[AST]:
    """The parts of a statement that are clingo's: bodies, atoms and other terms."""
    match statement:
        case Plain(node):
            yield node
        case Annotated(heads, body):
            yield from (head.atom for head in heads)
            yield from body
        case Neural(arguments=arguments, values=values, outcomes=outcomes, body=body):
            yield from (*arguments, *values, *outcomes, *body, *statement.network.factory.arguments)
        case Data(argument=argument, test=test, train=train):
            yield argument
            for origin in (test, train):
                yield from origin.arguments if isinstance(origin, Call) else ()
        case Query(literals, evidence, guards):
            yield from (literal.atom for literal in (*literals, *evidence))
            yield from guards
        case Map(atoms, evidence, guards):
            yield from (*atoms, *(literal.atom for literal in evidence), *guards)
        case Evidence(literals):
            yield from (literal.atom for literal in literals)
        case Learn(observations=Call(arguments=arguments)):
            yield from arguments


@dataclass(frozen=True, slots=True)
class Program:
    """The statements in their order, included files in place of their ``#include``."""

    statements: tuple[Statement, ...]
    sources: Sources = field(default_factory=Sources, compare=False, repr=False)
    warnings: tuple[Diagnostic, ...] = field(default=(), compare=False, repr=False)

    @property
    def files(self) -> tuple[str, ...]:
        """The names of the files that were read."""
        return tuple(self.sources)
