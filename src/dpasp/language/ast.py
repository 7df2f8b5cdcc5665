"""All that a program can consist of, by one name: ``from dpasp.language import ast``.

Every kind of statement is defined in its own module of :mod:`dpasp.language.statements`.

>>> from dpasp.language import parse
>>> isinstance(parse("#query a.").statements[0], Query)
True
"""

from __future__ import annotations

from dpasp.language.statements.annotated import Annotated
from dpasp.language.statements.constants import Const
from dpasp.language.statements.data import Data
from dpasp.language.statements.expressions import Expression, Name, Number, Operation, Variable
from dpasp.language.statements.include import Include
from dpasp.language.statements.inference import Inference
from dpasp.language.statements.kind import clingo_terms
from dpasp.language.statements.learn import Learn
from dpasp.language.statements.meaning import Logic, Probability, SemanticsPair
from dpasp.language.statements.naming import Naming
from dpasp.language.statements.neural import Network, Neural
from dpasp.language.statements.options import Call, File, Option, OptionValue, Origin
from dpasp.language.statements.plain import Plain
from dpasp.language.statements.python import Python
from dpasp.language.statements.questions import Evidence, Literal, Map, Mode, Query
from dpasp.language.statements.semantics import Semantics
from dpasp.language.statements.statement import NOWHERE, Program, Statement, span_field
from dpasp.language.statements.weights import Fixed, Head, Interval, Learnable, Weight

__all__ = [
    "Annotated",
    "Call",
    "Const",
    "Data",
    "Evidence",
    "Expression",
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
    "Semantics",
    "Statement",
    "OptionValue",
    "Variable",
    "Weight",
    "clingo_terms",
    "span_field",
]
