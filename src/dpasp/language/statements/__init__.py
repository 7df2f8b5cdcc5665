"""Statements: one module for each kind, with its class and what helps to read it."""

from __future__ import annotations

from dpasp.language.statements.annotated import Annotated
from dpasp.language.statements.constants import Const
from dpasp.language.statements.data import Data
from dpasp.language.statements.decisions import Decide, Decision
from dpasp.language.statements.engines import Inference, Learn
from dpasp.language.statements.factors import Factor, FactorTable
from dpasp.language.statements.naming import Naming
from dpasp.language.statements.neural import Neural
from dpasp.language.statements.plain import Include, Plain
from dpasp.language.statements.python import Python
from dpasp.language.statements.questions import Evidence, Expect, Map, Query, Utility
from dpasp.language.statements.semantics import Semantics
from dpasp.language.statements.statement import register_kind
from dpasp.language.statements.statistical import Statistical

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
