"""Terms with variables against symbols: which values make them the same.

>>> from clingo import parse_term
>>> from dpasp.language import parse
>>> atom = parse("a(X, Y+1, f(X)).").statements[0].node.head.atom.symbol
>>> match(atom, parse_term("a(1, 3, f(1))"), {"Y": parse_term("2")})
{'Y': Number(2), 'X': Number(1)}
>>> match(atom, parse_term("a(1, 3, f(2))"), {}) is None
True
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clingo import Number, Symbol, SymbolType
from clingo.ast import AST, ASTType

from dpasp.logic.constants import term_value
from dpasp.logic.terms import split_atom

Values = Mapping[str, Symbol]  # of variables and constants, by name


def match(atom: AST, symbol: Symbol, known: Values) -> Values | None:
    """The values with which an atom (given as a term) is a symbol; None if there are none.

    What cannot be decided (arithmetic over variables whose values are not known, calls of
    functions) is taken to fit.
    """
    if atom.ast_type == ASTType.Pool:
        matches = (match(part, symbol, known) for part in atom.arguments)
        return next((values for values in matches if values is not None), None)
    signature, arguments = split_atom(atom)
    symbols = symbol.arguments
    if (signature.name, signature.arity, signature.positive) != (
        symbol.name,
        len(symbols),
        symbol.positive,
    ):
        return None
    return _terms(arguments, symbols, known)


def _terms(terms: Sequence[AST], symbols: Sequence[Symbol], known: Values) -> Values | None:
    for term, symbol in zip(terms, symbols, strict=True):
        matched = _term(term, symbol, known)
        if matched is None:
            return None
        known = matched
    return known


def _term(term: AST, symbol: Symbol, known: Values) -> Values | None:
    match term.ast_type:
        case ASTType.Variable:
            if term.name == "_":
                return known
            if term.name in known:
                return known if known[term.name] == symbol else None
            return {**known, term.name: symbol}
        case ASTType.Function if not term.external:
            return _function(term, symbol, known)
        case ASTType.Interval:
            ends = term_value(term.left, known), term_value(term.right, known)
            if symbol.type != SymbolType.Number:
                return None
            if ends[0] is None or ends[1] is None:
                return known
            return known if ends[0] <= Number(symbol.number) <= ends[1] else None
        case ASTType.Pool:
            matches = (_term(part, symbol, known) for part in term.arguments)
            return next((values for values in matches if values is not None), None)
    value = term_value(term, known)
    return known if value is None or value == symbol else None


def _function(term: AST, symbol: Symbol, known: Values) -> Values | None:
    if not term.arguments and term.name in known:  # a constant
        return known if known[term.name] == symbol else None
    if symbol.type != SymbolType.Function or not symbol.positive:
        return None
    if (symbol.name, len(symbol.arguments)) != (term.name, len(term.arguments)):
        return None
    return _terms(term.arguments, symbol.arguments, known)
