"""clingo's syntax trees: walked, searched for variables, and printed.

>>> from clingo.ast import parse_string
>>> rules = []
>>> parse_string("a(X) :- b(X,Y), 1 < #count{Z : c(Y,Z)}, d(f()).", rules.append)
>>> list(global_variables([rules[1]]))
['X', 'Y']
>>> exact(rules[1].body[2])
'd(f())'
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

_NAMES = re.compile(r"[_']*[A-Z][\w']*", re.ASCII)  # of variables, and more
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
    """The nodes right below a node, from left to right."""
    kind = node.ast_type
    if kind == ASTType.Function:  # the common kinds first: looking at a node is slow
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
    """A node and all nodes below it, from left to right; ``below`` says where to go on."""
    stack = [node]
    while stack:
        part = stack.pop()
        yield part
        stack += reversed(list(below(part)))


def unpooled(node: AST, most: int) -> int:
    """How many statements one with pools stands for; counted no further than above ``most``.

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
        # Inside an aggregate or after a colon, pools make more elements and not more statements.
        frames[-1][2].append(1 if part.ast_type in _LOCAL else count)


def variables(node: AST, below: Callable[[AST], Iterable[AST]] = children) -> Iterator[AST]:
    """The variables in a node, from left to right, ``_`` left out."""
    for part in walk(node, below):
        if part.ast_type == ASTType.Variable and part.name != "_":
            yield part


def global_variables(nodes: Iterable[AST]) -> dict[str, AST]:
    """The first occurrence of every global variable.

    Variables that occur only inside conditional literals or the elements of aggregates
    are local, and ``_`` is no variable here.
    """
    first: dict[str, AST] = {}
    for node in nodes:
        if all(name in first for name in _NAMES.findall(str(node))):
            continue  # looking inside a node is slow
        for variable in variables(node, _global_children):
            first.setdefault(variable.name, variable)
    return first


def _global_children(node: AST) -> Iterable[AST]:
    return () if node.ast_type in _LOCAL else children(node)


# --- printing ----------------------------------------------------------------------------------

_START = Position("", 1, 1)
_PLACE = Location(_START, _START)
_WITH_COLON = (ASTType.ConditionalLiteral, ASTType.Disjunction, ASTType.Rule)
# an atom of numbers and variables, in which nothing can be left out
_PLAIN = re.compile(r"-?_*[a-z][\w']*(?:\((?:(?:-?\d+|_|_*[A-Z][\w']*),?)+(?<!,)\))?")
_NOTHING = Literal(_PLACE, Sign.NoSign, SymbolicAtom(Variable(_PLACE, "")))  # prints as ""


def exact(node: AST) -> str:
    """The text of a node that reads back as the same node.

    clingo leaves out the parentheses of ``f()`` and the colon before an empty condition.
    """
    text = str(node)
    if node.ast_type not in _WITH_COLON and _PLAIN.fullmatch(text):
        return text  # looking inside a node is slow
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
    """The body of a rule with what surrounds it: `` :- a, b.``; a dot for an empty one."""
    if not body:
        return "."
    # Only after a condition, ',' would go on with it.
    ends = ["; " if part.ast_type == ASTType.ConditionalLiteral else ", " for part in body[:-1]]
    parts = (exact(part) + end for part, end in zip(body, [*ends, "."], strict=True))
    return f" :- {''.join(parts)}"


def _misprinted(node: AST) -> Iterator[AST]:
    """The nodes below a node that clingo prints as if they were others."""
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
    """The nodes right below a node; the names of atoms and of pools are not terms."""
    kind = node.ast_type
    if kind == ASTType.SymbolicAtom:
        symbol = node.symbol
        bare = symbol.argument if symbol.ast_type == ASTType.UnaryOperation else symbol
        return list(bare.arguments) if bare.ast_type == ASTType.Function else (symbol,)
    if kind == ASTType.Pool and _is_named(node):
        return [argument for part in node.arguments for argument in part.arguments]
    return children(node)


def _is_named(pool: AST) -> bool:
    """Whether a pool is one of argument lists, ``f(a;b)``, whose name is printed once."""
    kinds = {part.ast_type for part in pool.arguments}
    return kinds == {ASTType.Function} and len({part.name for part in pool.arguments}) == 1
