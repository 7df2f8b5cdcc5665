"""All nodes of a program under one name, the table of kinds of statements, and their text.

>>> from dpasp.language import parse
>>> print(to_text(parse("0.3 :: a ; 7/10::b:-c . #query(a|not b).")), end="")
0.3::a; 7/10::b :- c.
#query a | not b.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from clingo.ast import AST, ASTType

from dpasp.language.statements.annotated import Annotated as Annotated
from dpasp.language.statements.constants import Const as Const
from dpasp.language.statements.data import Data as Data
from dpasp.language.statements.decisions import Decide as Decide
from dpasp.language.statements.decisions import Decision as Decision
from dpasp.language.statements.engines import Inference as Inference
from dpasp.language.statements.engines import Learn as Learn
from dpasp.language.statements.expressions import Expression as Expression
from dpasp.language.statements.expressions import Name as Name
from dpasp.language.statements.expressions import Number as Number
from dpasp.language.statements.expressions import Operation as Operation
from dpasp.language.statements.expressions import Variable as Variable
from dpasp.language.statements.factors import Factor as Factor
from dpasp.language.statements.factors import FactorTable as FactorTable
from dpasp.language.statements.naming import Naming as Naming
from dpasp.language.statements.neural import Network as Network
from dpasp.language.statements.neural import Neural as Neural
from dpasp.language.statements.options import Call as Call
from dpasp.language.statements.options import File as File
from dpasp.language.statements.options import Option as Option
from dpasp.language.statements.options import OptionValue as OptionValue
from dpasp.language.statements.options import Origin as Origin
from dpasp.language.statements.plain import Include as Include
from dpasp.language.statements.plain import Plain as Plain
from dpasp.language.statements.python import Python as Python
from dpasp.language.statements.questions import Evidence as Evidence
from dpasp.language.statements.questions import Expect as Expect
from dpasp.language.statements.questions import Literal as Literal
from dpasp.language.statements.questions import Map as Map
from dpasp.language.statements.questions import Mode as Mode
from dpasp.language.statements.questions import Query as Query
from dpasp.language.statements.questions import Question as Question
from dpasp.language.statements.questions import Utility as Utility
from dpasp.language.statements.semantics import Semantics as Semantics
from dpasp.language.statements.statement import NOWHERE as NOWHERE
from dpasp.language.statements.statement import Logic as Logic
from dpasp.language.statements.statement import Probability as Probability
from dpasp.language.statements.statement import Program as Program
from dpasp.language.statements.statement import SemanticsPair as SemanticsPair
from dpasp.language.statements.statement import Statement as Statement
from dpasp.language.statements.statement import clingo_terms as clingo_terms
from dpasp.language.statements.statement import register_kind
from dpasp.language.statements.statement import span_field as span_field
from dpasp.language.statements.statistical import Statistical as Statistical
from dpasp.language.statements.weights import Fixed as Fixed
from dpasp.language.statements.weights import Head as Head
from dpasp.language.statements.weights import Interval as Interval
from dpasp.language.statements.weights import Learnable as Learnable
from dpasp.language.statements.weights import Weight as Weight
from dpasp.language.text.clingo_text import children, walk

# The table of kinds. Those without a directive of their own are tried in this order.
for _kind in (
    Plain,
    Neural,
    Annotated,
    Factor,
    FactorTable,
    Data,
    Statistical,
    Const,
    Python,
    Include,
    Query,
    Map,
    Evidence,
    Decision,
    Utility,
    Expect,
    Decide,
    Semantics,
    Learn,
    Inference,
    Naming,
):
    register_kind(_kind)


def to_text(program: Program) -> str:
    """The text of a program, one statement per line; it reads back as the same program."""
    return "".join(f"{statement_text(statement)}\n" for statement in program.statements)


def statement_text(statement: Statement) -> str:
    return str(statement)


ASKING = (Query, Map, Expect, Decide)  # the questions that have answers


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
    """The nodes whose atoms a statement reads: its body, and conditions in its head."""
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
