"""Why: what is behind an answer, and why a program has no model.

- ``explanation``: the results, with trees of sentences
- ``trees``: models that can be traced to the rules of the text, and why a literal holds there
- ``ways``: minimal explanations, and a smallest set of rules and choices that leaves no model
- ``reasons``: all of it about one answer, and what each number of the program does to it
"""

from dpasp.inference.explain.explanation import (
    Contribution,
    Explanation,
    Explanations,
    Inconsistencies,
    Inconsistency,
    NeededRule,
    Outlined,
    Sensitivity,
    Tree,
    Way,
)
from dpasp.inference.explain.reasons import explain
from dpasp.inference.explain.trees import Texts, Traced
from dpasp.inference.explain.ways import why_inconsistent

__all__ = [
    "Contribution",
    "Explanation",
    "Explanations",
    "Inconsistencies",
    "Inconsistency",
    "NeededRule",
    "Outlined",
    "Sensitivity",
    "Texts",
    "Traced",
    "Tree",
    "Way",
    "explain",
    "why_inconsistent",
]
