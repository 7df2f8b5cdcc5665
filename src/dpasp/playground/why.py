"""Why an answer is what it is, as a tree that the page unfolds."""

from __future__ import annotations

from dpasp.display.outline import Reason, explanation_outline
from dpasp.limits import Limits
from dpasp.program import Program

TOP = 8  # ways


def why(program: Program, query: str, semantics: str, limits: Limits) -> Reason:
    """The reasons of one answer."""
    (only,) = program.explain(query, semantics=semantics, top=TOP, limits=limits)
    return explanation_outline(only)
