"""Constants given from outside, as clingo takes them.

>>> from dpasp.language import parse
>>> program = parse("#const n = 3. #const q = 0.25.")
>>> [str(node) for node in override(program, {"n": "4", "q": "0.5"})]
['#const n = 4. [override]']
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clingo import Function, MessageCode, Number, Symbol, SymbolType, parse_term
from clingo.ast import AST, ASTType, BinaryOperator, Definition, UnaryOperator

from dpasp.errors import Diagnostic, UsageError, nearest
from dpasp.language import ast
from dpasp.language.statements.constants import number_in
from dpasp.language.text.trees import walk
from dpasp.logic.terms import NO_LOCATION, symbolic


def override(program: ast.Program, overrides: Mapping[str, str]) -> list[AST]:
    """The ``#const`` statements that give constants other values than the program does.

    Real numbers are left out, since clingo does not have them; a definition that
    says ``[override]`` itself stays as it is.
    """
    settled = {node.name for node in const_statements(program) if not node.is_default}
    terms = {name: _term(name, text) for name, text in overrides.items() if name not in settled}
    return [
        Definition(NO_LOCATION, name, symbolic(term), False)
        for name, term in terms.items()
        if term is not None
    ]


def unused_constants(program: ast.Program, overrides: Mapping[str, str]) -> list[Diagnostic]:
    """Warnings about constants that were given from outside and that the program does not name."""
    known = [node.name for node in const_statements(program)]
    known += (s.name for s in program.statements if isinstance(s, ast.Const))
    return [
        Diagnostic(
            "unused-constant",
            f"the program does not name the constant {name}",
            help=nearest(name, known) or f"leave {name} out, or write '#const {name} = …'",
            severity="warning",
        )
        for name in overrides
        if not program.sources.holds(name)
    ]


def const_statements(program: ast.Program) -> Iterator[AST]:
    """clingo's own ``#const`` statements in a program."""
    for statement in program.statements:
        if isinstance(statement, ast.Plain) and statement.node.ast_type == ASTType.Definition:
            yield statement.node


def symbol_constants(program: ast.Program, overrides: Mapping[str, str]) -> dict[str, Symbol]:
    """The values of the constants that terms can hold, by name.

    >>> from dpasp.language import parse
    >>> symbol_constants(parse("#const n = 3. #const m = n+1."), {"n": "5"})
    {'n': Number(5), 'm': Number(6)}
    """
    pending = {node.name: node.value for node in const_statements(program)}
    pending |= {node.name: node.value for node in override(program, overrides)}
    values: dict[str, Symbol] = {}
    settled = True
    while settled:
        settled = False
        for name, term in list(pending.items()):
            if not any(str(part) in pending for part in walk(term)):
                del pending[name]
                settled = True
                if (value := term_value(term, values)) is not None:
                    values[name] = value
    return values


def term_value(term: AST, constants: Mapping[str, Symbol]) -> Symbol | None:
    """The symbol that a term is; None when it is none or not a single one.

    ``constants`` gives the values of variables, too.
    """
    match term.ast_type:
        case ASTType.Variable:
            return constants.get(term.name)
        case ASTType.SymbolicTerm:
            symbol: Symbol = term.symbol
            named = symbol.type == SymbolType.Function and not symbol.arguments
            return constants.get(symbol.name, symbol) if named else symbol
        case ASTType.Function if not term.external:
            parts = [term_value(part, constants) for part in term.arguments]
            symbols = [part for part in parts if part is not None]
            return Function(term.name, symbols) if len(symbols) == len(parts) else None
        case ASTType.UnaryOperation if term.operator_type == UnaryOperator.Minus:
            return _computed(BinaryOperator.Minus, Number(0), term_value(term.argument, constants))
        case ASTType.BinaryOperation:
            left, right = term_value(term.left, constants), term_value(term.right, constants)
            return _computed(term.operator_type, left, right)
    return None


def _computed(operator: int, left: Symbol | None, right: Symbol | None) -> Symbol | None:
    """The integer that clingo would compute."""
    if left is None or right is None or {left.type, right.type} != {SymbolType.Number}:
        return None
    match operator:
        case BinaryOperator.Plus:
            return Number(left.number + right.number)
        case BinaryOperator.Minus:
            return Number(left.number - right.number)
        case BinaryOperator.Multiplication:
            return Number(left.number * right.number)
    return None


def parse_symbol(text: str) -> Symbol | None:
    """The symbol that a text says, or None when it is not a ground term of clingo's."""
    try:
        return parse_term(text, logger=_silent)
    except RuntimeError:
        return None


def _silent(code: MessageCode, message: str) -> None:
    """clingo's message is not needed: the caller has its own words."""


def _term(name: str, text: str) -> Symbol | None:
    symbol = parse_symbol(text)
    if symbol is None and number_in(text) is None:
        help = f"write -c {name}=0.3, -c {name}=5 or -c {name}=some_name"
        raise UsageError(f"'{text}' is no value for the constant {name}", help)
    return symbol


def symbol_number(symbol: Symbol) -> float | None:
    """The number that a symbol stands for in a probability: integers, and strings like "0.3"."""
    if symbol.type == SymbolType.Number:
        return float(symbol.number)
    return number_in(symbol.string) if symbol.type == SymbolType.String else None
