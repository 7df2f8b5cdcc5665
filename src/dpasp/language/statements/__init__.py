"""Statements: one module for each kind, with its node, reader, printer and checks."""

from __future__ import annotations

from dpasp.language.statements import (
    annotated,
    constants,
    data,
    decisions,
    engines,
    factors,
    include,
    learn,
    naming,
    neural,
    plain,
    python,
    questions,
    semantics,
    tables,
)
from dpasp.language.statements.kind import register_kind

# The table of kinds. Those without a directive of their own are tried in this order.
for _kind in (
    plain.KIND,
    neural.KIND,
    annotated.KIND,
    factors.KIND,
    tables.KIND,
    data.KIND,
    constants.KIND,
    python.KIND,
    include.KIND,
    questions.QUERY,
    questions.MAP,
    questions.EVIDENCE,
    decisions.DECISION,
    decisions.UTILITY,
    decisions.EXPECT,
    decisions.DECIDE,
    semantics.KIND,
    learn.KIND,
    engines.KIND,
    naming.KIND,
):
    register_kind(_kind)
