"""``#edge``: the graph of all edges that hold has no cycle, said by rules.

>>> from dpasp.language import parse
>>> node = parse("#edge (X,Y) : e(X,Y).").statements[0].node
>>> for rule in acyclic([node]):
...     print(rule)
_dpasp_edge(X,Y) :- e(X,Y).
_dpasp_path(X,Y) :- _dpasp_edge(X,Y).
_dpasp_path(X,Z) :- _dpasp_edge(X,Y); _dpasp_path(Y,Z).
#false :- _dpasp_path(X,X).
"""

from __future__ import annotations

from collections.abc import Sequence

from clingo.ast import AST, ASTType, BooleanConstant, Literal, Rule, Sign, Variable

from dpasp.language import ast
from dpasp.logic.markers import HIDDEN
from dpasp.logic.terms import NO_LOCATION, atom_literal, function, rule

EDGE, PATH = f"{HIDDEN}edge", f"{HIDDEN}path"


def acyclic(edges: Sequence[AST]) -> list[AST]:
    """The rules that stand for some ``#edge`` statements, which share one graph."""
    if not edges:
        return []
    x, y, z = (Variable(NO_LOCATION, name) for name in "XYZ")
    where = edges[0].location
    false = Literal(where, Sign.NoSign, BooleanConstant(False))
    edge, path = function(EDGE, [x, y]), function(PATH, [x, y])
    further = [atom_literal(edge), atom_literal(function(PATH, [y, z]))]
    return [
        *(rule(function(EDGE, [e.node_u, e.node_v]), e.body, e.location) for e in edges),
        rule(path, [atom_literal(edge)]),
        rule(function(PATH, [x, z]), further),
        Rule(where, false, [atom_literal(function(PATH, [x, x]))]),
    ]


def edges_of(program: ast.Program) -> list[AST]:
    """The ``#edge`` statements of a program."""
    if not program.sources.holds("#edge"):
        return []
    plain = (s.node for s in program.statements if isinstance(s, ast.Plain))
    return [node for node in plain if node.ast_type == ASTType.Edge]
