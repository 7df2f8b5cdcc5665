"""Walking over clingo's syntax trees."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from clingo.ast import AST, ASTType

_LOCAL = (ASTType.ConditionalLiteral, ASTType.BodyAggregateElement, ASTType.TheoryAtomElement)


def walk(node: AST, inside: Callable[[AST], bool] = lambda node: True) -> Iterator[AST]:
    """A node and all nodes below it, in no order; not below those that are not ``inside``."""
    stack = [node]
    while stack:
        part = stack.pop()
        if not inside(part):
            continue
        yield part
        stack += children(part)


def children(node: AST) -> Iterator[AST]:
    """The nodes right below a node."""
    for key in node.child_keys:
        child = getattr(node, key)
        if isinstance(child, AST):
            yield child
        elif child is not None:
            yield from child


def global_variables(node: AST) -> set[str]:
    """The names of the global variables in a node: not those inside conditions or elements."""
    found = walk(node, lambda part: part.ast_type not in _LOCAL)
    return {part.name for part in found if part.ast_type == ASTType.Variable} - {"_"}
