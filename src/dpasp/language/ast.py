"""All nodes of a program under one name, and their text.

>>> from dpasp.language import parse
>>> print(to_text(parse("0.3 :: a ; 7/10::b:-c . #query(a|not b).")), end="")
0.3::a; 7/10::b :- c.
#query a | not b.
"""

from __future__ import annotations

from dpasp.language.statements.annotated import Annotated
from dpasp.language.statements.constants import Const
from dpasp.language.statements.data import Data
from dpasp.language.statements.decisions import Decision
from dpasp.language.statements.engines import Inference, Learn
from dpasp.language.statements.expressions import Expression, Name, Number, Operation, Variable
from dpasp.language.statements.factors import AtomSet, Factor, FactorTable
from dpasp.language.statements.naming import Naming
from dpasp.language.statements.neural import Network, Neural
from dpasp.language.statements.options import Call, File, Option, OptionValue, Origin
from dpasp.language.statements.plain import Include, Plain
from dpasp.language.statements.python import Python
from dpasp.language.statements.questions import (
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


def to_text(program: Program) -> str:
    """The text of a program, one statement a line; it reads back as the same program."""
    return "".join(f"{statement_text(statement)}\n" for statement in program.statements)


def statement_text(statement: Statement) -> str:
    """The text of a statement."""
    return kind_of(statement).text(statement)


__all__ = [
    "Annotated",
    "AtomSet",
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
    "clingo_terms",
    "span_field",
    "statement_text",
    "to_text",
]
