"""All nodes of a program under one name, and their text.

>>> from dpasp.language import parse
>>> print(to_text(parse("0.3 :: a ; 7/10::b:-c . #query(a|not b).")), end="")
0.3::a; 7/10::b :- c.
#query a | not b.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from clingo.ast import AST, ASTType

from dpasp.language.statements.annotated import Annotated
from dpasp.language.statements.constants import Const
from dpasp.language.statements.data import Data
from dpasp.language.statements.decisions import Decision
from dpasp.language.statements.engines import Inference, Learn
from dpasp.language.statements.expressions import Expression, Name, Number, Operation, Variable
from dpasp.language.statements.factors import Factor, FactorTable
from dpasp.language.statements.naming import Naming
from dpasp.language.statements.neural import Network, Neural
from dpasp.language.statements.options import Call, File, Option, OptionValue, Origin
from dpasp.language.statements.plain import Include, Plain
from dpasp.language.statements.python import Python
from dpasp.language.statements.questions import (
    ASKING,
    Decide,
    Evidence,
    Expect,
    Literal,
    Map,
    Mode,
    Query,
    Question,
    Utility,
)
from dpasp.language.statements.semantics import Semantics
from dpasp.language.statements.statement import (
    NOWHERE,
    Logic,
    Probability,
    Program,
    SemanticsPair,
    Statement,
    clingo_terms,
    kind_of,
    span_field,
)
from dpasp.language.statements.statistical import Statistical
from dpasp.language.statements.weights import Fixed, Head, Interval, Learnable, Weight
from dpasp.language.text.clingo_text import children, walk


def to_text(program: Program) -> str:
    """The text of a program, one statement a line; it reads back as the same program."""
    return "".join(f"{statement_text(statement)}\n" for statement in program.statements)


def statement_text(statement: Statement) -> str:
    """The text of a statement."""
    return kind_of(statement).text(statement)


def derived_atoms(statement: Statement) -> Iterator[AST]:
    """The atoms in the heads of a statement; those of conditions are not derived."""
    match statement:
        case Annotated(heads=heads):
            yield from (head.atom for head in heads)
        case Plain(node) | Statistical(node) | Decision(node) if node.ast_type == ASTType.Rule:
            for part in walk(node.head, _without_conditions):
                if part.ast_type == ASTType.SymbolicAtom:
                    yield part
        case Plain(node) if node.ast_type == ASTType.External:
            yield node.atom


def _without_conditions(node: AST) -> Iterable[AST]:
    return (node.literal,) if node.ast_type == ASTType.ConditionalLiteral else children(node)


def body_nodes(statement: Statement) -> Iterator[AST]:
    """The nodes of a statement whose atoms it looks at: its body, and conditions in its head."""
    match statement:
        case Plain(node) | Statistical(node) | Decision(node):
            if node.ast_type == ASTType.Rule:
                for part in walk(node.head):
                    if part.ast_type == ASTType.ConditionalLiteral:
                        yield from part.condition
            if node.ast_type in _WITH_BODY:
                yield from node.body
        case Annotated() | Neural() | Data() | Factor():
            yield from statement.body


_WITH_BODY = (
    ASTType.Rule,
    ASTType.External,
    ASTType.Edge,
    ASTType.ShowTerm,
    ASTType.Minimize,
)

__all__ = [
    "ASKING",
    "Annotated",
    "Call",
    "Const",
    "Data",
    "Decide",
    "Decision",
    "Evidence",
    "Expect",
    "Expression",
    "Factor",
    "FactorTable",
    "File",
    "Fixed",
    "Head",
    "Include",
    "Inference",
    "Interval",
    "Learn",
    "Learnable",
    "Literal",
    "Logic",
    "Map",
    "SemanticsPair",
    "Mode",
    "NOWHERE",
    "Name",
    "Naming",
    "Network",
    "Neural",
    "Number",
    "Operation",
    "Option",
    "Origin",
    "Plain",
    "Probability",
    "Program",
    "Python",
    "Query",
    "Question",
    "Semantics",
    "Statement",
    "Statistical",
    "OptionValue",
    "Utility",
    "Variable",
    "Weight",
    "body_nodes",
    "clingo_terms",
    "derived_atoms",
    "span_field",
    "statement_text",
    "to_text",
]
