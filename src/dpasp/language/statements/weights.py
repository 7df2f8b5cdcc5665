"""Annotations before ``::``: a probability, an interval, or a parameter to learn.

>>> from dpasp.language.text.source import SourceFile
>>> cursor = Cursor(SourceFile("", "[0.2, 1/2]"), 0, 10)
>>> weight_text(read_weight(cursor, Token("symbol", "::", 10, 12)))
'[0.2, 1/2]'
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NoReturn

from clingo.ast import AST, ASTType

from dpasp.dataclass import dataclass
from dpasp.errors import Span
from dpasp.language.statements.expressions import (
    PREFIX,
    Expression,
    Variable,
    expression_text,
    expression_variables,
    read_expression,
)
from dpasp.language.statements.statement import span_field
from dpasp.language.text import Cursor, Token
from dpasp.language.text.trees import exact

FORM = "write a probability such as 0.3::a, an interval [0.2, 0.7]::a, or ?::a to learn it"
_INTERVAL_HELP = "an interval is written [0.2, 0.7]::a"


@dataclass(frozen=True, slots=True)
class Fixed:
    """``0.3::``, a fixed probability."""

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
    """``?::``, ``0.5?::``, ``?(X)::``: one parameter for each value of the ``key`` variables.

    With an empty key, one for the whole rule.
    """

    initial: Expression | None
    key: tuple[str, ...]
    span: Span = span_field()


Weight = Fixed | Interval | Learnable


@dataclass(frozen=True)
class Head:
    """One annotated head: its weight and its atom (a ``SymbolicAtom`` node)."""

    weight: Weight
    atom: AST
    span: Span = span_field()

    @classmethod
    def of_rule(cls, weight: Weight, rule: Callable[[], AST], place: int, span: Span) -> Head:
        """The head at an index of a rule, whose atom is extracted on first use.

        That is slow, and rows of large tables are mostly handled as text.
        """
        head = cls.__new__(cls)
        head.__dict__.update(weight=weight, span=span, _rule=(rule, place))
        return head

    if not TYPE_CHECKING:  # a type checker sees a plain field

        def __getattr__(self, name: str) -> AST:
            if name != "atom" or "_rule" not in self.__dict__:
                raise AttributeError(name)
            rule, place = self.__dict__["_rule"]
            head = rule().head
            single = head.ast_type == ASTType.Literal
            atom = head.atom if single else head.elements[place].literal.atom
            self.__dict__["atom"] = atom
            return atom


def expressions(weight: Weight) -> tuple[Expression, ...]:
    """The expressions in an annotation."""
    match weight:
        case Fixed(probability):
            return (probability,)
        case Interval(lower, upper):
            return (lower, upper)
        case Learnable(initial):
            return () if initial is None else (initial,)


def weight_variables(weight: Weight) -> Iterator[Variable]:
    """The variables in an annotation."""
    for expression in expressions(weight):
        yield from expression_variables(expression)


def read_weight(cursor: Cursor, mark: Token) -> Weight:
    """Read the annotation before a ``::``."""
    if cursor.at_end():
        message = "a probability is missing before '::'"
        cursor.fail("probability-syntax", message, mark, FORM)
    first = cursor.peek()
    if first.text == "!":
        message = "'!' stands before the head of a neural statement only"
        help = "write a probability, or name a network: !::f(X, {a,b}) as @net :- input(X)."
        cursor.fail("frozen-not-neural", message, first, help)
    if first.text == "t" and cursor.peek(1).text == "(":
        message = "t(…) is how ProbLog writes a learnable probability"
        inner = cursor.peek(2)
        start = inner.text if inner.kind == "number" else ""
        cursor.fail("problog-learn", message, first, f"write {start}?::a")
    weight = _interval(cursor) if first.text == "[" else _fixed_or_learnable(cursor)
    if not cursor.at_end():
        _refuse_rest(cursor, first)
    return weight


def _refuse_rest(cursor: Cursor, first: Token) -> NoReturn:
    """Refuse what is left before the ``::``."""
    rest = cursor.peek()
    message, help = f"unexpected '{rest.text}' before '::'", FORM
    if first.text == "(" and rest.text == ",":
        help = _INTERVAL_HELP
    elif first.text == "[":
        message, help = "the bounds of an interval are not learned", "write 0.5?::a or ?::a"
    elif first.text == "?":
        message = f"unexpected '{rest.text}' after '?'"
        help = "an initial value stands before it, 0.5?::a; a key in parentheses, ?(X)::a(X)"
    elif rest.text == "^":
        help = "a power is written 0.3**2"
    elif rest.text == ",":
        help = "a number has a dot, 0.3, and an interval square brackets, [0.2, 0.7]"
    cursor.fail("probability-syntax", message, rest, help)


def _interval(cursor: Cursor) -> Interval:
    opening = cursor.next()
    if (token := cursor.peek()).text in ("]", ""):
        cursor.fail("interval-syntax", "the bounds are missing", opening, _INTERVAL_HELP)
    lower = read_expression(cursor)
    comma = cursor.next()
    if comma.text != ",":
        message = "an interval has two bounds with ',' between them"
        where = comma if comma.text else (token.start, cursor.end)
        cursor.fail("interval-syntax", message, where, _INTERVAL_HELP)
    upper = read_expression(cursor)
    if cursor.peek().text == ",":
        cursor.fail("interval-syntax", "a third bound", cursor.peek(), _INTERVAL_HELP)
    closing = cursor.expect("]", "interval-syntax", _INTERVAL_HELP)
    return Interval(lower, upper, cursor.file.span(opening.start, closing.end))


def _fixed_or_learnable(cursor: Cursor) -> Fixed | Learnable:
    first = cursor.peek()
    tied = cursor.accept("*") is not None
    initial = None if cursor.peek().text == "?" else read_expression(cursor)
    if cursor.accept("?") is None:
        if tied or initial is None:
            help = "write ?*::a for one parameter shared by all instances"
            cursor.fail("probability-syntax", "'*' goes with a learnable '?'", first, help)
        return Fixed(initial, initial.span)
    key: tuple[str, ...] = ()
    if cursor.peek().text == "(":
        key = _key(cursor)
    elif not tied:
        cursor.accept("*")
    last = cursor.peek(-1)
    return Learnable(initial, key, cursor.file.span(first.start, last.end))


def _key(cursor: Cursor) -> tuple[str, ...]:
    """The variables in ``?(X, Y)``."""
    opening = cursor.next()
    names: list[str] = []
    help = "the key of a parameter is a list of variables, as in ?(X,Y)::edge(X,Y) :- …"
    if cursor.peek().text == ")":
        message = "the key of this parameter is empty"
        where = (opening.start, cursor.peek().end)
        cursor.fail("parameter-key", message, where, "write ?::a for one parameter for the rule")
    while True:
        token = cursor.next()
        if token.kind != "variable" or not token.text.strip("_"):
            what = f"'{token.text}' is not a variable" if token.text else "a variable is missing"
            cursor.fail("parameter-key", what, token, help)
        if token.text in names:
            cursor.fail("parameter-key", f"{token.text} is in the key twice", token, "keep one")
        names.append(token.text)
        if cursor.accept(")"):
            return tuple(names)
        cursor.expect(",", "parameter-key", help)


def weight_text(weight: Weight) -> str:
    """The annotation before ``::``."""
    match weight:
        case Fixed(probability):
            return expression_text(probability)
        case Interval(lower, upper):
            return f"[{expression_text(lower)}, {expression_text(upper)}]"
        case Learnable(initial, key):
            start = "" if initial is None else expression_text(initial, PREFIX)
            return f"{start}?" + (f"({','.join(key)})" if key else "")


def head_text(head: Head) -> str:
    """``0.3::a``."""
    return f"{weight_text(head.weight)}::{exact(head.atom)}"
