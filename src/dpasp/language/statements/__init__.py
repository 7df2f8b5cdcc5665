"""Statements: one module for each kind, with its node, reader, printer and checks."""

from __future__ import annotations

from dpasp.language.statements import (
    annotated,
    constants,
    data,
    decisions,
    engines,
    factors,
    naming,
    neural,
    plain,
    python,
    questions,
    semantics,
    statistical,
)
from dpasp.language.statements.statement import register_kind

# The table of kinds. Those without a directive of their own are tried in this order.
for _kind in (
    plain.KIND,
    neural.KIND,
    annotated.KIND,
    factors.KIND,
    factors.TABLE,
    data.KIND,
    statistical.KIND,
    constants.KIND,
    python.KIND,
    plain.INCLUDE,
    questions.QUERY,
    questions.MAP,
    questions.EVIDENCE,
    decisions.DECISION,
    questions.UTILITY,
    questions.EXPECT,
    decisions.DECIDE,
    semantics.KIND,
    engines.LEARN_KIND,
    engines.KIND,
    naming.KIND,
):
    register_kind(_kind)
