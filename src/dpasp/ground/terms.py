"""Questions about clingo's terms, atoms and literals, and the few that we build.

>>> from dpasp.language import parse
>>> rule = parse("0.5::a(X, Y+1) :- b(X;2), Y = #count{Z : c(X,Z)}.").statements[0]
>>> split_atom(rule.heads[0].atom.symbol)[0]
Signature(name='a', arity=2, positive=True)
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

from clingo import Number, Symbol
from clingo.ast import (
    AST,
    Aggregate,
    ASTSequence,
    ASTType,
    ConditionalLiteral,
    Function,
    Literal,
    Location,
    Position,
    Rule,
    Sign,
    SymbolicAtom,
    SymbolicTerm,
)

_AGGREGATES = frozenset((ASTType.Aggregate, ASTType.BodyAggregate))
_LOCAL = _AGGREGATES | {ASTType.ConditionalLiteral, ASTType.TheoryAtom}
_HERE = Position("<string>", 1, 1)
NO_LOCATION = Location(_HERE, _HERE)


class Signature(NamedTuple):
    """The name, arity and sign of a predicate."""

    name: str
    arity: int
    positive: bool

    def __str__(self) -> str:
        return f"{'' if self.positive else '-'}{self.name}/{self.arity}"


# --- looking -----------------------------------------------------------------------------------


def split_atom(symbol: AST) -> tuple[Signature, ASTSequence]:
    """The signature and the arguments of an atom that has no pool at its top."""
    positive = True
    while symbol.ast_type == ASTType.UnaryOperation:
        positive, symbol = not positive, symbol.argument
    arguments = symbol.arguments
    return Signature(symbol.name, len(arguments), positive), arguments


def unpooled_atoms(atom: AST) -> list[AST]:
    """The symbols of an atom, one for each way to choose from its pools."""
    if ";" not in str(atom):
        return [atom.symbol]
    literal = Literal(NO_LOCATION, Sign.NoSign, atom)
    return [alternative.atom.symbol for alternative in literal.unpool()]


def unpooled_bodies(body: Sequence[AST]) -> list[tuple[AST, ...]]:
    """The bodies that a body with pools stands for: rules with the same head."""
    if not any(_is_pooled(node) for node in body):
        return [tuple(body)]
    return list(product(*(node.unpool() if _is_pooled(node) else (node,) for node in body)))


def _is_pooled(node: AST) -> bool:
    if ";" not in str(node) or node.ast_type != ASTType.Literal:
        return False
    return node.atom.ast_type not in _LOCAL


# --- building ----------------------------------------------------------------------------------


def integer_term(value: int) -> AST:
    """An integer as a term."""
    return symbolic(Number(value))


def symbolic(symbol: Symbol, location: Location = NO_LOCATION) -> AST:
    """A symbol as a term."""
    return SymbolicTerm(location, symbol)


def function(name: str, arguments: Sequence[AST], location: Location = NO_LOCATION) -> AST:
    """A function term; with an empty name, a tuple."""
    return Function(location, name, arguments, False)


def atom_literal(symbol: AST, location: Location = NO_LOCATION) -> AST:
    """A positive literal over an atom given as a term."""
    return Literal(location, Sign.NoSign, SymbolicAtom(symbol))


def rule(head: AST, body: Sequence[AST], location: Location = NO_LOCATION) -> AST:
    """``head :- body.`` with an atom given as a term."""
    return Rule(location, atom_literal(head, location), body)


def choice_rule(head: AST, body: Sequence[AST], location: Location = NO_LOCATION) -> AST:
    """``{head} :- body.`` with an atom given as a term."""
    element = ConditionalLiteral(location, atom_literal(head, location), [])
    return Rule(location, Aggregate(location, None, [element], None), body)
