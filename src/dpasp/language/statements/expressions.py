"""The exact arithmetic of probabilities over numbers, constants and variables.

Numbers are exact decimals: 0.7 + 0.2 + 0.1 is 1.

>>> from dpasp.language.text.source import SourceFile
>>> cursor = Cursor(SourceFile("", "1 - W/10"), 0, 8)
>>> evaluate(read_expression(cursor), {"W": 4.0})
Fraction(3, 5)
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NoReturn

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, ProgramError, Span, nearest
from dpasp.language.statements.statement import span_field
from dpasp.language.text import Cursor, Token
from dpasp.language.tuning import TUNING

if TYPE_CHECKING:
    from fractions import Fraction  # imported on use: most programs only have plain numbers

_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2, "\\": 2, "**": 4}
PREFIX = 3  # precedence of unary minus
FUNCTIONS = {"exp": math.exp, "log": math.log}
_HELP = "write a number such as 0.3, a fraction such as 3/10, a constant, or an expression"


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
    r"""``left operator right``, or without a left ``-right``, ``exp(right)``, ``log(right)``.

    The operators are + - * / \ **.
    """

    operator: str
    left: Expression | None
    right: Expression
    span: Span = span_field()


Expression = Number | Name | Variable | Operation


# --- reading -----------------------------------------------------------------------------------


def read_expression(cursor: Cursor) -> Expression:
    """Read an expression as far as it goes."""
    return _binary(cursor, 1, 0)


def _binary(cursor: Cursor, level: int, depth: int) -> Expression:
    """Operations that bind at least as tightly as ``level``; ``depth`` is the nesting."""
    left, inside = _operand(cursor, depth), depth
    while (precedence := _PRECEDENCE.get(cursor.peek().text, 0)) >= level:
        operator = cursor.next()
        inside += 1
        _check_depth(cursor, inside, operator)
        # '**' is right-associative, the others left-associative.
        right = _binary(cursor, precedence + (operator.text != "**"), inside)
        left = Operation(operator.text, left, right, left.span.to(right.span))
    return left


def _operand(cursor: Cursor, depth: int) -> Expression:
    token = cursor.next()
    span = cursor.where(token)
    _check_depth(cursor, depth, token)
    if token.kind == "number":
        return Number(real_value(cursor, token), span)
    if token.text in FUNCTIONS and cursor.peek().text == "(":
        cursor.next()
        inner = _binary(cursor, 1, depth + 1)
        help = f"close the parenthesis with ')', as in {token.text}(1.5)"
        closing = cursor.expect(")", "probability-syntax", help)
        where = cursor.where(token, closing)
        return Operation(token.text, None, inner, where)
    if token.kind == "name":
        return Name(token.text, span)
    if token.kind == "variable" and token.text.strip("_"):
        return Variable(token.text, span)
    if token.text == "-":
        operand = _binary(cursor, PREFIX, depth + 1)
        return Operation("-", None, operand, span.to(operand.span))
    if token.text == "(":
        inner = _binary(cursor, 1, depth + 1)
        help = "close the parenthesis with ')'; an interval is written [0.2, 0.7]::a"
        cursor.expect(")", "probability-syntax", help)
        return inner
    _refuse(cursor, token)


def _check_depth(cursor: Cursor, depth: int, token: Token) -> None:
    if depth > TUNING.expression_depth:
        message = "this expression is nested too deeply"
        cursor.fail("too-deep", message, token, "give a part of it a name with #const")


def _refuse(cursor: Cursor, token: Token) -> NoReturn:
    if token.text.startswith("_"):
        what, help = "'_' has no value", "name a variable that the body binds"
    elif token.kind == "string":
        what, help = f"{token.text} is text, not a number", "write the number without quotes"
    elif token.kind == "call":
        what = "a probability cannot be computed by a function"
        help = "bind its value to a variable in the body: P/100::a :- P = @f."
    elif token.text in _PRECEDENCE or token.kind == "end":
        what, help = "a number is missing here", _HELP
    elif token.text in ("#inf", "#infimum", "#sup", "#supremum"):
        what, help = f"'{token.text}' is not a number", "only finite numbers are allowed here"
    else:
        what, help = f"'{token.text}' is not a probability", _HELP
    cursor.fail("probability-syntax", what, token, help)


def real_value(cursor: Cursor, token: Token) -> float:
    value = float(token.text)
    if (lost := lost_in(token.text, value)) is not None:
        cursor.fail("number-range", f"this number is {lost[0]}", token, lost[1])
    return value


def lost_in(text: str, value: float) -> tuple[str, str] | None:
    """Why a number is lost in floating point (it becomes 0, 1 or infinity), with help; or None.

    >>> lost_in("0.99999999999999999", 1.0)[0], lost_in("0.9", 0.9)
    ('too close to 1 to be distinguished from it', None)
    """
    if math.isinf(value):
        return "too large", "write a smaller one"
    if value not in _LOST or text in _PLAIN:
        return None
    if value == 0:
        lost = any(digit in "123456789" for digit in text.lower().split("e")[0])
    else:
        from decimal import Decimal

        lost = Decimal(text) != 1
    return _LOST[value] if lost else None


_PLAIN = ("0", "1", "0.0", "1.0", "0.", "1.")
_LOST = {
    0.0: ("too small to be distinguished from 0", "write 0, or a number of at least 1e-308"),
    1.0: ("too close to 1 to be distinguished from it", "write 1, or a number at most 1 - 1e-15"),
    math.inf: ("too large", "use smaller numbers"),
}


# --- values ------------------------------------------------------------------------------------


def expression_variables(expression: Expression) -> Iterator[Variable]:
    """The variables in an expression, from left to right."""
    return (part for part in _parts(expression) if isinstance(part, Variable))


def unknown_variables(
    used: Iterable[Variable], known: Collection[str], where: str, bind: str
) -> Iterator[Diagnostic]:
    """Variables in a number that do not occur ``where`` they must be bound."""
    for variable in used:
        if variable.name not in known:
            message = f"the variable {variable.name} does not occur {where}"
            help = nearest(variable.name, known) or f"bind it {bind}"
            yield Diagnostic("unknown-variable", message, variable.span, help)


def expression_names(expression: Expression) -> set[str]:
    return {part.name for part in _parts(expression) if isinstance(part, Name | Variable)}


def _parts(expression: Expression) -> Iterator[Expression]:
    yield expression
    if isinstance(expression, Operation):
        if expression.left is not None:
            yield from _parts(expression.left)
        yield from _parts(expression.right)


def evaluate(expression: Expression, values: Mapping[str, float]) -> Fraction:
    """The exact value of an expression, given those of its constants and variables."""
    match expression:
        case Number(value):
            return decimal(value)
        case Name(name) | Variable(name) if name in values:
            return decimal(values[name])
        case Name(name):
            help = nearest(name, values) or f"say '#const {name} = 0.3.', or write a number"
            message = f"the constant {name} has no numeric value"
            raise ProgramError.at("unknown-constant", message, expression.span, help)
        case Variable(name):
            help = nearest(name, values) or "bind it to a number in the body"
            message = f"the variable {name} has no numeric value here"
            raise ProgramError.at("unknown-variable", message, expression.span, help)
        case Operation(operator, None, right) if operator in FUNCTIONS:
            return _call(operator, evaluate(right, values), expression)
        case Operation(operator, left, right):
            second = evaluate(right, values)
            first = second - second if left is None else evaluate(left, values)
            result = _apply(operator, first, second, expression)
            if _bits(result) > TUNING.exact_bits:
                return decimal(nearest_float(result, expression))
            return result


def value_of(expression: Expression, values: Mapping[str, float]) -> float:
    """The float nearest to the value of an expression."""
    return nearest_float(evaluate(expression, values), expression)


def decimal(value: float) -> Fraction:
    """The shortest decimal that reads as this float: the number as written, up to 15 digits.

    >>> decimal(0.1)
    Fraction(1, 10)
    """
    from fractions import Fraction

    return Fraction(repr(float(value)))


def nearest_float(value: Fraction, expression: Expression) -> float:
    """The float nearest to the value of an expression.

    Raises :class:`ProgramError` if that is 0, 1 or infinite and the value is not.
    """
    try:
        found = float(value)
    except OverflowError:
        found = math.inf
    return _kept(found, value, expression)


def _kept(found: float, value: Fraction | float, expression: Expression) -> float:
    """The float; refused if it is 0, 1 or infinite but the exact value is not."""
    if found in _LOST and value != found:
        lost, help = _LOST[found]
        raise ProgramError.at("number-range", f"this is {lost}", expression.span, help)
    return found


_EXACT: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "\\": lambda left, right: left - right * math.trunc(left / right),
}


def _apply(operator: str, left: Fraction, right: Fraction, expression: Operation) -> Fraction:
    try:
        if operator == "**":
            return _power(left, right, expression)
        return _EXACT[operator](left, right)
    except (ArithmeticError, ValueError) as error:
        if operator in "/\\" and right == 0:
            help = "make sure that the divisor is not 0"
            raise ProgramError.at(
                "arithmetic", "division by zero", expression.span, help
            ) from error
        base, other = _shown(left), _shown(right)
        shown = f"({base})" if left < 0 else base
        message = f"{shown} {operator} {other} is not a real number"
        help = "make sure that the result is a number from 0 to 1"
        raise ProgramError.at("arithmetic", message, expression.span, help) from error


def _call(name: str, argument: Fraction, expression: Operation) -> Fraction:
    """The exponential or the logarithm of a number, in floating point unless it is exact."""
    try:
        result = FUNCTIONS[name](argument)
    except (ArithmeticError, ValueError) as error:
        if name == "exp" and argument > 0:
            _kept(math.inf, argument, expression)
        message = f"{name}({_shown(argument)}) is not a real number"
        help = "the logarithm is that of a number above 0"
        raise ProgramError.at("arithmetic", message, expression.span, help) from error
    return decimal(_kept(result, argument + 1, expression) if name == "exp" else result)


def _power(base: Fraction, exponent: Fraction, expression: Operation) -> Fraction:
    """A power: exact if it has few digits, in floating point otherwise."""
    if exponent.denominator == 1 and abs(exponent) * _bits(base) <= TUNING.exact_bits:
        return base**exponent.numerator
    return decimal(_kept(math.pow(base, exponent), base, expression))


def _bits(value: Fraction) -> int:
    return value.numerator.bit_length() + value.denominator.bit_length()


def _shown(value: Fraction) -> str:
    from decimal import Decimal

    return f"{Decimal(value.numerator) / Decimal(value.denominator):.6g}"


# --- printing ----------------------------------------------------------------------------------


def expression_text(expression: Expression, level: int = 0, real: bool = False) -> str:
    """An expression, in parentheses if it binds less tightly than ``level``.

    With ``real``, numbers are written so that they are not read as integers.
    """
    match expression:
        case Number(value):
            return repr(value) if real else number_text(value)
        case Name(name) | Variable(name):
            return name
        case Operation(operator, None, right) if operator in FUNCTIONS:
            return f"{operator}({expression_text(right, 0, real)})"
        case Operation(operator, left, right) if left is None:
            text, binds = f"-{expression_text(right, PREFIX, real)}", PREFIX
        case Operation(operator, left, right):
            assert left is not None
            binds = _PRECEDENCE[operator]
            first, second = (binds + 1, binds) if operator == "**" else (binds, binds + 1)
            shown, other = expression_text(left, first, real), expression_text(right, second, real)
            text = f"{shown}{operator}{other}"
    return f"({text})" if binds < level else text


def number_text(value: float) -> str:
    """The shortest text that reads back as the same number.

    >>> number_text(3.0), number_text(0.1), number_text(1e-300)
    ('3', '0.1', '1e-300')
    """
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
