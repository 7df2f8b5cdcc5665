"""clingo's syntax trees: traversal, variables, printing.

>>> from clingo.ast import parse_string
>>> rules = []
>>> parse_string("a(X) :- b(X,Y), 1 < #count{Z : c(Y,Z)}, d(f()).", rules.append)
>>> list(global_variables([rules[1]])), exact(rules[1].body[2])
(['X', 'Y'], 'd(f())')
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from math import prod

from clingo.ast import (
    AST,
    ASTType,
    Literal,
    Location,
    Position,
    Sign,
    SymbolicAtom,
    Variable,
)

_NAMES = re.compile(r"[_']*[A-Z][\w']*", re.ASCII)  # of variables, and a few others
_LEAVES = frozenset((ASTType.Variable, ASTType.SymbolicTerm))
_LOCAL = frozenset(
    (
        ASTType.ConditionalLiteral,
        ASTType.BodyAggregateElement,
        ASTType.HeadAggregateElement,
        ASTType.TheoryAtomElement,
    )
)


def children(node: AST) -> Iterable[AST]:
    """The direct children of a node, from left to right."""
    kind = node.ast_type
    if kind == ASTType.Function:  # common kinds first: attribute access is slow
        return list(node.arguments)
    if kind == ASTType.SymbolicAtom:
        return (node.symbol,)
    return () if kind in _LEAVES else _all_children(node)


def _all_children(node: AST) -> Iterator[AST]:
    for key in node.child_keys:
        child = getattr(node, key)
        if isinstance(child, AST):
            yield child
        elif child is not None:
            yield from child


def walk(node: AST, below: Callable[[AST], Iterable[AST]] = children) -> Iterator[AST]:
    """A node and its descendants in pre-order; ``below`` chooses the children."""
    stack = [node]
    while stack:
        part = stack.pop()
        yield part
        stack += reversed(list(below(part)))


def unpooled(node: AST, most: int) -> int:
    """How many statements one with pools stands for, counted up to ``most``.

    >>> from clingo.ast import parse_string
    >>> rules = []
    >>> parse_string("a(1;2) :- b(3;4;5), 1 { c(6;7); c(8;9) }.", rules.append)
    >>> unpooled(rules[1], 1000)
    6
    """
    frames: list[tuple[AST, list[AST], list[int]]] = [(node, list(children(node)), [])]
    while True:
        part, below, counts = frames[-1]
        if len(counts) < len(below):
            child = below[len(counts)]
            frames.append((child, list(children(child)), []))
            continue
        frames.pop()
        count = max(1, sum(counts)) if part.ast_type == ASTType.Pool else prod(counts)
        if count > most or not frames:
            return count
        # Pools in an aggregate or after a colon make more elements, not more statements.
        frames[-1][2].append(1 if part.ast_type in _LOCAL else count)


def variables(node: AST, below: Callable[[AST], Iterable[AST]] = children) -> Iterator[AST]:
    """The variables in a node, without ``_``."""
    for part in walk(node, below):
        if part.ast_type == ASTType.Variable and part.name != "_":
            yield part


def global_variables(nodes: Iterable[AST]) -> dict[str, AST]:
    """The first occurrence of every global variable.

    Variables that occur only in conditional literals or elements of aggregates are local; ``_``
    does not count.
    """
    first: dict[str, AST] = {}
    for node in nodes:
        if all(name in first for name in _NAMES.findall(str(node))):
            continue  # inspecting nodes is slow
        for variable in variables(node, _global_children):
            first.setdefault(variable.name, variable)
    return first


def _global_children(node: AST) -> Iterable[AST]:
    return () if node.ast_type in _LOCAL else children(node)


# --- printing ----------------------------------------------------------------------------------

_START = Position("", 1, 1)
_PLACE = Location(_START, _START)
_WITH_COLON = (ASTType.ConditionalLiteral, ASTType.Disjunction, ASTType.Rule)
# an atom of numbers and variables, which clingo always prints correctly
_PLAIN = re.compile(r"-?_*[a-z][\w']*(?:\((?:(?:-?\d+|_|_*[A-Z][\w']*),?)+(?<!,)\))?")
_NOTHING = Literal(_PLACE, Sign.NoSign, SymbolicAtom(Variable(_PLACE, "")))  # prints as ""


def exact(node: AST) -> str:
    """The text of a node that reads back as the same node.

    clingo drops the parentheses of ``f()`` and the colon before an empty condition.
    """
    text = str(node)
    if node.ast_type not in _WITH_COLON and _PLAIN.fullmatch(text):
        return text  # inspecting nodes is slow
    if next(_misprinted(node), None) is None:
        return str(node)
    node = deepcopy(node)
    for part in list(_misprinted(node)):
        if part.ast_type == ASTType.Function:
            part.name += "()"
        else:
            part.condition = [_NOTHING]
    return str(node)


def body_text(body: Sequence[AST]) -> str:
    """The end of a rule: `` :- a, b.``, or a dot without a body."""
    if not body:
        return "."
    # After a condition ',' would continue the condition.
    ends = ["; " if part.ast_type == ASTType.ConditionalLiteral else ", " for part in body[:-1]]
    parts = (exact(part) + end for part, end in zip(body, [*ends, "."], strict=True))
    return f" :- {''.join(parts)}"


def _misprinted(node: AST) -> Iterator[AST]:
    """The descendants that clingo prints as something else."""
    for part in walk(node, _terms_below):
        match part.ast_type:
            case ASTType.Function:
                if not part.arguments and part.name and not part.external:
                    yield part
            case ASTType.ConditionalLiteral if not part.condition:
                yield part
            case ASTType.BodyAggregateElement if not part.condition and not part.terms:
                yield part


def _terms_below(node: AST) -> Iterable[AST]:
    """The children of a node that are terms: not the names of atoms and pools."""
    kind = node.ast_type
    if kind == ASTType.SymbolicAtom:
        symbol = node.symbol
        bare = symbol.argument if symbol.ast_type == ASTType.UnaryOperation else symbol
        return list(bare.arguments) if bare.ast_type == ASTType.Function else (symbol,)
    if kind == ASTType.Pool and _is_named(node):
        return [argument for part in node.arguments for argument in part.arguments]
    return children(node)


def _is_named(pool: AST) -> bool:
    """Whether a pool consists of argument lists, ``f(a;b)``."""
    kinds = {part.ast_type for part in pool.arguments}
    return kinds == {ASTType.Function} and len({part.name for part in pool.arguments}) == 1
