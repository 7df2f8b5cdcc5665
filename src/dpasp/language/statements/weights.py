"""Annotations before ``::``, and the distribution over the heads that they stand for.

An annotation is a probability, an interval, or a parameter to learn.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, reduce
from typing import TYPE_CHECKING, NoReturn

from clingo.ast import AST

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, ProgramError, Span, nearest
from dpasp.language.statements.expressions import (
    PREFIX,
    Expression,
    Number,
    Operation,
    Variable,
    decimal,
    evaluate,
    expression_text,
    expression_variables,
    nearest_float,
    read_expression,
    unknown_variables,
)
from dpasp.language.statements.statement import FromRow, span_field
from dpasp.language.text import Cursor, Token
from dpasp.language.text.clingo_text import exact
from dpasp.language.tuning import TUNING

if TYPE_CHECKING:
    from decimal import Decimal
    from fractions import Fraction


FORM = "write a probability such as 0.3::a, an interval [0.2, 0.7]::a, or ?::a to learn it"
_INTERVAL_HELP = "an interval is written [0.2, 0.7]::a"
ULP = 2.0**-52


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
class Head(FromRow):
    """One annotated head: its weight and its atom (a ``SymbolicAtom`` node)."""

    weight: Weight
    atom: AST
    span: Span = span_field()

    def __str__(self) -> str:
        return f"{weight_text(self.weight)}::{exact(self.atom)}"


def expressions(weight: Weight) -> tuple[Expression, ...]:
    match weight:
        case Fixed(probability):
            return (probability,)
        case Interval(lower, upper):
            return (lower, upper)
        case Learnable(initial):
            return () if initial is None else (initial,)


def weight_variables(weight: Weight) -> Iterator[Variable]:
    for expression in expressions(weight):
        yield from expression_variables(expression)


def unknown_names(
    weights: Iterable[Weight], known: Collection[str], where: str, key_help: str
) -> Iterator[Diagnostic]:
    """Variables in annotations, and in the keys of parameters, that do not occur ``where``."""
    for weight in weights:
        used = weight_variables(weight)
        yield from unknown_variables(used, known, where, "in a positive body literal")
        for name in weight.key if isinstance(weight, Learnable) else ():
            if name not in known:
                message = f"the variable {name} does not occur {where}"
                help = nearest(name, known) or key_help
                yield Diagnostic("parameter-key", message, weight.span, help)


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
    weight = _interval(cursor) if first.text == "[" else read_parameter(cursor)
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


def read_parameter(cursor: Cursor) -> Fixed | Learnable:
    """Read a number, or a parameter to learn, as far as it goes."""
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
    match weight:
        case Fixed(probability):
            return expression_text(probability)
        case Interval(lower, upper):
            return f"[{expression_text(lower)}, {expression_text(upper)}]"
        case Learnable(initial, key):
            start = "" if initial is None else expression_text(initial, PREFIX)
            return f"{start}?" + (f"({','.join(key)})" if key else "")


NamedNumbers = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Known:
    """Fixed probabilities."""

    probabilities: tuple[float, ...]
    nothing: bool


@dataclass(frozen=True, slots=True)
class Bounded:
    """Bounds of the probabilities."""

    lower: tuple[float, ...]
    upper: tuple[float, ...]
    nothing: bool


@dataclass(frozen=True, slots=True)
class Start:
    """The initial values of a learnable distribution; ``fixed`` ones are not learned."""

    initial: tuple[float, ...]
    fixed: tuple[bool, ...]
    nothing: bool


Distribution = Known | Bounded | Start


def distribution(heads: Sequence[Head], values: NamedNumbers) -> Distribution:
    """The distribution over the heads of a statement.

    ``values`` are those of its constants and variables. Raises :class:`ProgramError` for a number
    out of range or a sum above 1.
    """
    weights = [head.weight for head in heads]
    kinds = set(map(type, weights))
    if Learnable in kinds:
        return _start(weights, values, heads)
    if Interval in kinds:
        return _bounded(weights, values, heads)
    written = [e for weight in weights for e in expressions(weight)]
    numbers, left = _numbers(written, values, heads)
    return Known(numbers, left > 0)


def _numbers(
    written: Sequence[Expression], values: NamedNumbers, heads: Sequence[Head]
) -> tuple[tuple[float, ...], float]:
    """The given probabilities, and the rest up to 1."""
    plain = tuple(e.value for e in written if type(e) is Number)
    if len(plain) == len(written) and (not plain or are_probabilities(plain)):
        return _scaled(plain), rest(plain)
    exact = [probability(expression, values) for expression in written]
    if sum(exact) > 1 + TUNING.sum_slack:
        message = f"the probabilities sum to {float(sum(exact)):.10g}, which is more than 1"
        help = "lower them to at most 1 in all, or write separate statements, 0.6::a. 0.6::b."
        raise ProgramError.at("disjunction-sum", message, _whole(heads), help)
    numbers = tuple(map(nearest_float, exact, written))
    as_written = [n for value, n in zip(exact, numbers, strict=True) if value == decimal(n)]
    return _scaled(numbers), _left(1 - sum(exact), len(exact), as_written)


def are_probabilities(numbers: Sequence[float]) -> bool:
    """Whether the numbers are valid probabilities of one statement."""
    return min(numbers) >= 0 and max(numbers) <= 1 and math.fsum(numbers) <= 1 + TUNING.sum_slack


def known(numbers: tuple[float, ...]) -> Known:
    """The distribution of valid probabilities."""
    return Known(_scaled(numbers), rest(numbers) > 0)


def rest(numbers: Sequence[float]) -> float:
    """One minus the sum of some probabilities, exactly rounded.

    >>> rest((0.999999999999, 1e-13)), rest((0.1, 0.2, 0.7))
    (9e-13, 0.0)
    """
    left = 1.0 - math.fsum(numbers)
    if left > TUNING.float_rest:
        return left
    if 1 < len(numbers) > 2 * left / ULP and any(map(_is_rounded, numbers)):
        return 0.0  # the same as below, but faster
    return _exact_rest(tuple(numbers))


@lru_cache(maxsize=1_000)  # the instances of a rule have the same numbers
def _exact_rest(numbers: tuple[float, ...]) -> float:
    from decimal import Context, Decimal  # faster than fractions

    digits = Context(prec=400)  # enough for every sum of floats
    left = reduce(digits.subtract, map(Decimal, map(repr, numbers)), Decimal(1))
    return _left(left, len(numbers), numbers)


def _left(exact: Fraction | Decimal | int, count: int, written: Sequence[float]) -> float:
    """The rest up to 1 for some probabilities, given the exact difference.

    Numbers ``written`` with more than 15 digits are rounded (thirds, outputs of a program), so a
    rest within rounding errors is then 0.
    """
    rounded = count > 1 and any(map(_is_rounded, written))
    return float(exact) if exact > (count * ULP if rounded else 0) else 0.0


def _is_rounded(number: float) -> bool:
    return float(f"{number:.15g}") != number


def probability(expression: Expression, values: NamedNumbers) -> Fraction:
    """The value of an expression, which must be a probability."""
    value = evaluate(expression, values)
    slack = 0 if isinstance(expression, Number) else TUNING.rounding
    if -slack <= value <= 1 + slack:
        return min(max(value, value * 0), value * 0 + 1)
    shown = f"{nearest_float(value, expression):.10g}"
    if shown in ("0", "1", "-0"):
        shown = repr(float(value))
    message = f"this is {shown}, which is not a probability"
    match expression:
        case Number() | Operation("-", None, Number()):
            message = f"{shown} is not a probability"
    help = "a probability lies between 0 and 1"
    if isinstance(expression, Number) and 1.01 <= value <= 100:
        help += f"; {shown} % is written {float(value) / 100:g}"
    raise ProgramError.at("probability-range", message, expression.span, help)


def _whole(heads: Sequence[Head]) -> Span:
    return heads[0].span.to(heads[-1].span)


def _scaled(numbers: tuple[float, ...]) -> tuple[float, ...]:
    """Probabilities scaled to a sum of at most 1."""
    total = math.fsum(numbers)
    return tuple(p / total for p in numbers) if total > 1 else numbers


def _start(weights: Sequence[Weight], values: NamedNumbers, heads: Sequence[Head]) -> Start:
    """Initial values; those not given share the rest evenly."""
    for weight in weights:
        if isinstance(weight, Interval):
            message = "intervals and learnable parameters do not go together in one statement"
            help = "learn a precise probability, or give an interval for every head"
            raise ProgramError.at("mixed-annotations", message, weight.span, help)
    written = [next(iter(expressions(weight)), None) for weight in weights]
    given, left = _numbers([e for e in written if e is not None], values, heads)
    fixed = tuple(isinstance(weight, Fixed) for weight in weights)
    missing = len(written) - len(given)
    if not missing:
        # A single parameter can always fall below 1.
        return Start(given, fixed, len(given) == 1 or left > 0)
    if len(written) == 1:
        return Start((0.5,), fixed, True)
    if left <= 0:
        empty = weights[written.index(None)]
        message = "no probability is left for this parameter to start with"
        help = "give it an initial value such as 0.1?, and lower the others"
        raise ProgramError.at("parameter-start", message, empty.span, help)
    numbers = iter(given)
    shared = left / missing
    return Start(tuple(shared if e is None else next(numbers) for e in written), fixed, False)


def _bounded(weights: Sequence[Weight], values: NamedNumbers, heads: Sequence[Head]) -> Bounded:
    """Intervals; those of several heads must allow probabilities that sum to 1."""
    bounds = [_bounds(weight, values) for weight in weights]
    lower, upper = (tuple(side) for side in zip(*bounds, strict=True))
    if len(bounds) == 1:
        return Bounded(lower, upper, True)
    if math.fsum(lower) > 1 + TUNING.sum_slack:
        message = f"the lower bounds sum to {math.fsum(lower):.10g}, which is more than 1"
        help = "lower them until they sum to at most 1"
        raise ProgramError.at("disjunction-sum", message, _whole(heads), help)
    if math.fsum(upper) < 1 - TUNING.sum_slack:
        message = f"the upper bounds sum to {math.fsum(upper):.10g}, which is less than 1"
        help = "raise them until they sum to at least 1, or add a head for the rest"
        raise ProgramError.at("interval-sum", message, _whole(heads), help)
    low, high = math.fsum(lower), math.fsum(upper)  # only rounding errors
    lower = tuple(p / low for p in lower) if low > 1 else lower
    upper = tuple(p / high for p in upper) if high < 1 else upper
    return Bounded(lower, tuple(map(max, lower, upper)), False)


def _bounds(weight: Weight, values: NamedNumbers) -> tuple[float, float]:
    ends = [nearest_float(probability(e, values), e) for e in expressions(weight)]
    low, high = ends[0], ends[-1]
    if low > high:
        message = f"the interval [{low:.10g}, {high:.10g}] is empty"
        raise ProgramError.at("interval-order", message, weight.span, "write the lower bound first")
    return low, high
