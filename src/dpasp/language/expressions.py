"""Probabilities as they are written: real arithmetic over numbers, constants and variables.

>>> from dpasp.language.source import SourceFile
>>> cursor = Cursor(SourceFile("", "1 - W/10"), 0, 8)
>>> evaluate(read_expression(cursor), {"W": 4.0})
0.6
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from dpasp.errors import Diagnostic, ProgramError
from dpasp.language.ast import Expression, Name, Number, Operation, Variable
from dpasp.language.cursor import Cursor, nearest

_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2, "\\": 2, "**": 4}
_UNARY = 3
_HELP = "write a number such as 0.3, a fraction such as 3/10, a constant, or an expression"


def read_expression(cursor: Cursor, level: int = 1) -> Expression:
    """Read an expression whose operators bind at least as tightly as ``level``."""
    left = _operand(cursor)
    while (precedence := _PRECEDENCE.get(cursor.peek().text, 0)) >= level:
        operator = cursor.next().text
        # '**' groups to the right, the others to the left.
        right = read_expression(cursor, precedence + (operator != "**"))
        left = Operation(operator, left, right, left.span.to(right.span))
    return left


def _operand(cursor: Cursor) -> Expression:
    token = cursor.next()
    span = cursor.file.span(token.start, token.end)
    if token.kind == "number":
        return Number(float(token.text), span)
    if token.kind == "name":
        return Name(token.text, span)
    if token.kind == "variable" and token.text.strip("_"):
        return Variable(token.text, span)
    if token.text == "-":
        operand = read_expression(cursor, _UNARY)
        return Operation("-", None, operand, span.to(operand.span))
    if token.text == "(":
        inner = read_expression(cursor)
        cursor.expect(")", "probability-syntax", "close the parenthesis")
        return inner
    what = f"'{token.text}' is not a probability" if token.text else "a probability is missing"
    cursor.fail("probability-syntax", what, token, _HELP)


def variables(expression: Expression) -> Iterator[Variable]:
    """The variables in an expression, from left to right."""
    if isinstance(expression, Variable):
        yield expression
    elif isinstance(expression, Operation):
        if expression.left is not None:
            yield from variables(expression.left)
        yield from variables(expression.right)


def evaluate(expression: Expression, values: Mapping[str, float]) -> float:
    """The value of an expression, given that of its constants and variables."""
    match expression:
        case Number(value):
            return value
        case Name(name) | Variable(name):
            if name not in values:
                what = "constant" if isinstance(expression, Name) else "variable"
                raise _error(
                    f"unknown-{what}",
                    f"the {what} {name} has no numeric value here",
                    expression,
                    nearest(name, values) or f"say '#const {name} = 0.3.' or write a number",
                )
            return values[name]
        case Operation(operator, left, right):
            first = 0.0 if left is None else evaluate(left, values)
            return _apply(operator, first, evaluate(right, values), expression)


def _apply(operator: str, left: float, right: float, expression: Operation) -> float:
    """One arithmetic operation in real numbers."""
    try:
        match operator:
            case "+":
                result = left + right
            case "-":
                result = left - right
            case "*":
                result = left * right
            case "/":
                result = left / right
            case "\\":
                result = math.fmod(left, right)
            case _:
                result = math.pow(left, right)
    except (ArithmeticError, ValueError) as error:
        zero = operator in "/\\" and right == 0
        raise _error(
            "arithmetic",
            "division by zero" if zero else f"{left:g} {operator} {right:g} is not a real number",
            expression,
            "make sure that the divisor is not 0" if zero else "",
        ) from error
    return result


def _error(code: str, message: str, expression: Expression, help: str) -> ProgramError:
    return ProgramError(Diagnostic(code, message, expression.span, help))
