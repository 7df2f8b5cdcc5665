"""What the constants of a program are worth inside a probability.

Probabilities are computed in real numbers, so ``#const p = 3/10.`` is 0.3 there
(clingo, which has integers only, makes it 0 in a term).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from clingo.ast import AST, ASTType, BinaryOperator, UnaryOperator

from dpasp.errors import Diagnostic, ProgramError, Span
from dpasp.language import ast
from dpasp.language.expressions import evaluate
from dpasp.language.nodes import walk

_OPERATORS = {
    BinaryOperator.Plus: "+",
    BinaryOperator.Minus: "-",
    BinaryOperator.Multiplication: "*",
    BinaryOperator.Division: "/",
    BinaryOperator.Modulo: "\\",
    BinaryOperator.Power: "**",
}


def number(text: str) -> float | None:
    """The number that a text says, a fraction included, or None.

    >>> number("3/10"), number("a")
    (0.3, None)
    """
    over, slash, under = text.partition("/")
    try:
        return float(over) / (float(under) if slash else 1.0)
    except (ValueError, ZeroDivisionError):
        return None


def numeric_constants(
    program: ast.Program, given: Mapping[str, str] | None = None
) -> dict[str, float]:
    """The numeric constants by name; those ``given`` from outside win over the program's."""
    values: dict[str, float] = {}
    pending: dict[str, ast.Expression] = {}
    spans: dict[str, Span] = {}
    for statement in _definitions(program):
        match statement:
            case ast.Const(name, value, span):
                pending[name], spans[name] = value, span
            case ast.Plain(node, span):
                if (expression := _expression(node.value)) is not None:
                    pending[node.name], spans[node.name] = expression, span
    for name, text in (given or {}).items():
        pending.pop(name, None)
        if (value_given := number(text)) is not None:
            values[name] = value_given
    progress = True
    while pending and progress:
        progress = False
        for name, expression in list(pending.items()):
            if _names(expression) <= values.keys():
                values[name] = evaluate(pending.pop(name), values)
                progress = True
    for name, expression in pending.items():
        if isinstance(expression, ast.Operation) or _names(expression) & pending.keys():
            unknown = sorted(_names(expression) - values.keys())
            message = f"the constant {name} depends on {', '.join(unknown)}, which has no value"
            code = "const-cycle" if pending.keys() >= set(unknown) else "unknown-constant"
            raise ProgramError(Diagnostic(code, message, spans[name], "define it by a value"))
    return values


def check_constants(program: ast.Program, given: Mapping[str, str]) -> Iterator[Diagnostic]:
    """Real constants that are defined twice, or that terms use (which hold integers only)."""
    first: dict[str, ast.Const | ast.Plain] = {}
    real = {name for name, text in given.items() if _is_real(text)}
    for statement in _definitions(program):
        name = statement.name if isinstance(statement, ast.Const) else str(statement.node.name)
        before = first.setdefault(name, statement)
        both_clingo = isinstance(before, ast.Plain) and isinstance(statement, ast.Plain)
        if before is not statement and not both_clingo:  # clingo reports its own
            message = f"this constant is defined twice, first on line {before.span.line}"
            yield Diagnostic("const-twice", message, statement.span, "keep one of them")
        if isinstance(statement, ast.Const) and name not in given:
            real.add(name)
    if real:
        pattern = re.compile(rf"(?<![\w'])(?:{'|'.join(map(re.escape, sorted(real)))})(?![\w'])")
        defining = set(map(id, first.values()))
        for other in program.statements:
            if id(other) not in defining:
                yield from _real_terms(program, other, real, pattern)


def _is_real(text: str) -> bool:
    """Whether a constant given from outside is a real number, which clingo does not have."""
    value = number(text)
    return value is not None and not re.fullmatch(r"\s*-?\d+\s*", text)


def _definitions(program: ast.Program) -> Iterator[ast.Const | ast.Plain]:
    """The statements that define constants."""
    if not program.sources.holds("#const"):
        return
    for statement in program.statements:
        match statement:
            case ast.Const():
                yield statement
            case ast.Plain(node) if node.ast_type == ASTType.Definition:
                yield statement


def _real_terms(
    program: ast.Program, statement: ast.Statement, real: set[str], pattern: re.Pattern[str]
) -> Iterator[Diagnostic]:
    text = program.sources.text_of(statement.span)
    if text is not None and not pattern.search(text):
        return
    for node in ast.clingo_nodes(statement):
        for part in walk(node):
            if part.ast_type == ASTType.SymbolicTerm and str(part.symbol) in real:
                message = f"{part.symbol} is a real number, and terms hold integers only"
                help = "use it in probabilities only, or define an integer, scaled: #const n = 3."
                where = program.sources.span_of(part.location)
                yield Diagnostic("real-number", message, where, help)


def _names(expression: ast.Expression) -> set[str]:
    match expression:
        case ast.Name(name) | ast.Variable(name):
            return {name}
        case ast.Operation(_, left, right):
            return (_names(left) if left else set()) | _names(right)
    return set()


def _expression(node: AST) -> ast.Expression | None:
    """A term of clingo's as an arithmetic expression, if it is one."""
    if node.ast_type == ASTType.SymbolicTerm:
        symbol = node.symbol
        if symbol.type.name == "Number":
            return ast.Number(float(symbol.number))
        if symbol.type.name == "String":
            value = number(symbol.string)
            return None if value is None else ast.Number(value)
        if symbol.type.name == "Function" and not symbol.arguments and symbol.positive:
            return ast.Name(symbol.name)
    if node.ast_type == ASTType.BinaryOperation and node.operator_type in _OPERATORS:
        left, right = _expression(node.left), _expression(node.right)
        if left is not None and right is not None:
            return ast.Operation(_OPERATORS[node.operator_type], left, right)
    if node.ast_type == ASTType.UnaryOperation and node.operator_type == UnaryOperator.Minus:
        inner = _expression(node.argument)
        return None if inner is None else ast.Operation("-", None, inner)
    return None
