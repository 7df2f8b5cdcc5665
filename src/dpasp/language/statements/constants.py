"""``#const p = 0.3.``, and the values of constants in probabilities.

Probabilities are real numbers: ``#const p = 3/10.`` is 0.3 there, although clingo, which only has
integers, makes it 0 in a term.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from math import isinf, isnan

from clingo.ast import AST, ASTType

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, ProgramError, Span, UsageError
from dpasp.language.statements.expressions import (
    Expression,
    Number,
    Operation,
    expression_names,
    expression_text,
    lost_in,
    read_expression,
    value_of,
)
from dpasp.language.statements.plain import Plain
from dpasp.language.statements.statement import Program, Statement, clingo_terms, span_field
from dpasp.language.text import Cursor, Piece, Reading, SourceFile
from dpasp.language.text.clingo_text import walk

_FORM = "a constant is written #const p = 0.3."


@dataclass(frozen=True, slots=True)
class Const(Statement):
    """``#const p = 0.3.`` with a real value."""

    name: str
    value: Expression
    span: Span = span_field()

    words = ("#const",)
    form = "#const p = 0.3."
    about = "a constant; real numbers are for probabilities only"

    @staticmethod
    def recognise(file: SourceFile, piece: Piece) -> bool:
        return any(mark.kind == "decimal" for mark in piece.marks)

    @staticmethod
    def read(cursor: Reading) -> Const:
        cursor.next()
        name = cursor.next()
        if name.kind != "name":
            cursor.fail("const-syntax", "the name of a constant begins in lower case", name, _FORM)
        cursor.expect("=", "const-syntax", _FORM)
        value = read_expression(cursor)
        if cursor.peek().text == "." and cursor.peek(1).text == "[":
            help = "use -c NAME=VALUE to override it"
            cursor.fail("const-syntax", "a real constant has no type", cursor.peek(1), help)
        cursor.expect_end(_FORM)
        return Const(name.text, value, cursor.span)

    def __str__(self) -> str:
        return f"#const {self.name} = {expression_text(self.value, real=True)}."


def number_in(text: str) -> float | None:
    """The number in a text, possibly a fraction, or None.

    Also None if floating point cannot distinguish it from 0, 1 or infinity.

    >>> number_in("3/10"), number_in("a"), number_in("1e-400")
    (0.3, None, None)
    """
    over, slash, under = text.partition("/")
    try:
        value = float(over) / (float(under) if slash else 1.0)
    except (ValueError, ZeroDivisionError, OverflowError):
        return None
    return None if isnan(value) or isinf(value) or lost_number(text) else value


def lost_number(text: str) -> tuple[str, str] | None:
    """The result of :func:`lost_in` for a number or a part of a fraction; None for other texts."""
    for part in map(str.strip, text.split("/")):
        if part[:1] in "+-.0123456789":  # not the name inf
            with suppress(ValueError, ArithmeticError):
                if (lost := lost_in(part, float(part))) is not None:
                    return lost
    return None


def check_not_lost(name: str, text: str) -> None:
    """Refuse a given constant that floating point cannot distinguish from 0, 1 or infinity."""
    if (lost := lost_number(text)) is not None:
        raise UsageError(f"the constant {name} cannot be {text}: it is {lost[0]}", lost[1])


def numeric_constants(
    program: Program, overrides: Mapping[str, str] | None = None
) -> dict[str, float]:
    """The numeric constants by name; ``overrides`` take precedence."""
    values: dict[str, float] = {}
    pending: dict[str, Expression] = {}
    defined: dict[str, Const | Plain] = {}
    for statement in _definitions(program):
        match statement:
            case Const(name, value):
                pending[name], defined[name] = value, statement
            case Plain(node):
                if (expression := _expression(node.value)) is not None:
                    pending[node.name], defined[node.name] = expression, statement
    for name, text in (overrides or {}).items():
        pending.pop(name, None)
        if (overridden := number_in(text)) is not None:
            values[name] = overridden
        check_not_lost(name, text)
    needed = {name: expression_names(each) - values.keys() for name, each in pending.items()}
    order = TopologicalSorter(needed)
    with suppress(CycleError):  # only those on a cycle are left unsorted
        order.prepare()
    while ready := [name for name in order.get_ready() if name in pending]:
        for name in ready:
            values[name] = _value(pending.pop(name), values, defined[name])
        order.done(*ready)
    for name, expression in pending.items():
        unknown = expression_names(expression) - values.keys()
        if isinstance(expression, Operation) or unknown & pending.keys():
            message = (
                f"the constant {name} depends on {', '.join(sorted(unknown))}, which has no value"
            )
            code = "const-cycle" if pending.keys() >= unknown else "unknown-constant"
            help = "define it by a value"
            raise ProgramError.at(code, message, defined[name].span, help)
    return values


def _value(expression: Expression, values: Mapping[str, float], statement: Const | Plain) -> float:
    try:
        return value_of(expression, values)
    except ProgramError as error:
        if isinstance(statement, Const):
            raise
        (problem,) = error.diagnostics  # clingo's terms are read without their positions
        raise ProgramError(replace(problem, span=statement.span)) from error


def check_constants(program: Program, overrides: Mapping[str, str]) -> Iterator[Diagnostic]:
    """Real constants that are defined twice or used in terms, which are integers."""
    first: dict[str, Const | Plain] = {}
    numbers = {name: text for name, text in overrides.items() if number_in(text) is not None}
    real = {name for name, text in numbers.items() if not re.fullmatch(r"\s*-?\d+\s*", text)}
    for statement in _definitions(program):
        name = statement.name if isinstance(statement, Const) else str(statement.node.name)
        before = first.setdefault(name, statement)
        both_clingo = isinstance(before, Plain) and isinstance(statement, Plain)
        if before is not statement and not both_clingo:  # clingo reports these
            message = f"this constant is defined twice, first on line {before.span.line}"
            yield Diagnostic("const-twice", message, statement.span, "keep one of them")
        if isinstance(statement, Const) and name not in overrides:
            real.add(name)
    if real:
        pattern = re.compile(rf"(?<![\w'])(?:{'|'.join(map(re.escape, sorted(real)))})(?![\w'])")
        defining = set(map(id, first.values()))
        for other in program.statements:
            if id(other) not in defining:
                yield from _real_terms(program, other, real, pattern)


def _definitions(program: Program) -> Iterator[Const | Plain]:
    """The statements that define constants."""
    if not program.sources.holds("#const"):
        return
    for statement in program.statements:
        match statement:
            case Const():
                yield statement
            case Plain(node) if node.ast_type == ASTType.Definition:
                yield statement


def _real_terms(
    program: Program, statement: Statement, real: set[str], pattern: re.Pattern[str]
) -> Iterator[Diagnostic]:
    text = program.sources.text_of(statement.span)
    if text is not None and not pattern.search(text):
        return
    for node in clingo_terms(statement):
        for part in walk(node):
            if part.ast_type == ASTType.SymbolicTerm and str(part.symbol) in real:
                message = f"{part.symbol} is a real number, but terms hold only integers"
                help = "use it in probabilities only, or define an integer, scaled: #const n = 3."
                where = program.sources.span_of(part.location)
                yield Diagnostic("real-number", message, where, help)


def _expression(node: AST) -> Expression | None:
    """A clingo term as an arithmetic expression, if it is one."""
    text = str(node)
    if (value := number_in(text.strip('"'))) is not None:
        return Number(value)
    cursor = Cursor(SourceFile("", text), 0, len(text))
    try:
        expression = read_expression(cursor)
    except ProgramError:
        return None
    return expression if cursor.at_end() else None
