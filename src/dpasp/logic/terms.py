"""Questions about clingo's terms, atoms and literals, and the few that we build.

>>> from dpasp.language import parse
>>> rule = parse("0.5::a(X, Y+1) :- b(X;2), Y = #count{Z : c(X,Z)}.").statements[0]
>>> list(global_variables(rule.body))
['X', 'Y']
>>> split_atom(rule.heads[0].atom.symbol)[0]
Signature(name='a', arity=2, positive=True)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
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

from dpasp.language.text.trees import children

_AGGREGATES = frozenset((ASTType.Aggregate, ASTType.BodyAggregate))
_LOCAL = _AGGREGATES | {ASTType.ConditionalLiteral, ASTType.TheoryAtom}
_NAMES = re.compile(r"[_']*[A-Z][\w']*", re.ASCII)  # of variables, and more
_HERE = Position("<string>", 1, 1)
NOWHERE = Location(_HERE, _HERE)


class Signature(NamedTuple):
    """The name, arity and sign of a predicate."""

    name: str
    arity: int
    positive: bool

    def __str__(self) -> str:
        return f"{'' if self.positive else '-'}{self.name}/{self.arity}"


# --- looking -----------------------------------------------------------------------------------


def variables(node: AST) -> Iterator[AST]:
    """The variables below a node, from left to right, ``_`` left out."""
    stack = [node]
    while stack:
        node = stack.pop()
        kind = node.ast_type
        if kind == ASTType.Variable:
            if node.name != "_":
                yield node
        elif kind == ASTType.Function:  # the common kinds first: looking at a node is slow
            stack += reversed(node.arguments)
        elif kind == ASTType.SymbolicAtom:
            stack.append(node.symbol)
        elif kind != ASTType.SymbolicTerm:
            stack += reversed(list(children(node)))


def descendants(node: AST) -> Iterator[AST]:
    """A node and all nodes below it."""
    yield node
    for child in children(node):
        yield from descendants(child)


def global_variables(nodes: Iterable[AST]) -> dict[str, AST]:
    """The first occurrence of every global variable in atoms and body literals.

    Variables that occur only inside conditional literals or the elements of
    aggregates are local, and ``_`` is no variable here.
    """
    found: dict[str, AST] = {}
    for node in nodes:
        if all(name in found for name in _NAMES.findall(str(node))):
            continue  # looking inside a node is slow
        kind = node.ast_type
        if kind == ASTType.Literal:
            node = node.atom
            kind = node.ast_type
        parts: tuple[AST, ...] = (node,)
        if kind in _LOCAL:
            parts = _guards(node) if kind in _AGGREGATES else ()
        for part in parts:
            for variable in variables(part):
                found.setdefault(variable.name, variable)
    return found


def _guards(aggregate: AST) -> tuple[AST, ...]:
    """The parts of an aggregate in which variables are global."""
    guards = (aggregate.left_guard, aggregate.right_guard)
    return tuple(guard for guard in guards if guard is not None)


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
    literal = Literal(NOWHERE, Sign.NoSign, atom)
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


def number(value: int) -> AST:
    """An integer as a term."""
    return symbolic(Number(value))


def symbolic(symbol: Symbol, location: Location = NOWHERE) -> AST:
    """A symbol as a term."""
    return SymbolicTerm(location, symbol)


def function(name: str, arguments: Sequence[AST], location: Location = NOWHERE) -> AST:
    """A function term; with an empty name, a tuple."""
    return Function(location, name, arguments, False)


def atom_literal(symbol: AST, location: Location = NOWHERE) -> AST:
    """A positive literal over an atom given as a term."""
    return Literal(location, Sign.NoSign, SymbolicAtom(symbol))


def rule(head: AST, body: Sequence[AST], location: Location = NOWHERE) -> AST:
    """``head :- body.`` with an atom given as a term."""
    return Rule(location, atom_literal(head, location), body)


def choice_rule(head: AST, body: Sequence[AST], location: Location = NOWHERE) -> AST:
    """``{head} :- body.`` with an atom given as a term."""
    element = ConditionalLiteral(location, atom_literal(head, location), [])
    return Rule(location, Aggregate(location, None, [element], None), body)
