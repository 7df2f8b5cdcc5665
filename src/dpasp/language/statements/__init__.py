"""Statements: one module for each kind, with its node, how it is read, printed and checked.

The table below is all that the rest of the language knows about them.
"""

from __future__ import annotations

from dpasp.language.statements import (
    annotated,
    constants,
    data,
    engines,
    include,
    learn,
    naming,
    neural,
    plain,
    python,
    questions,
    semantics,
)
from dpasp.language.statements.kind import register_kind

# Statements without a word of their own are tried in this order.
for _kind in (
    plain.KIND,
    neural.KIND,
    annotated.KIND,
    data.KIND,
    constants.KIND,
    python.KIND,
    include.KIND,
    questions.QUERY,
    questions.MAP,
    questions.EVIDENCE,
    semantics.KIND,
    learn.KIND,
    engines.KIND,
    naming.KIND,
):
    register_kind(_kind)
