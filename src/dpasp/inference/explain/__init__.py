"""Why: what is behind an answer, and why a program has no model.

- ``explanation``: the results, with trees of sentences
- ``ways``: minimal explanations
- ``numbers``: what each number of the program does to the answer
- ``traced``: models whose atoms can be traced to the rules of the text; ``telling``: the trees
- ``no_model``: a smallest set of rules and choices that leaves no model
- ``reasons``: all of it about one answer
"""

from dpasp.inference.explain.explanation import (
    Contribution,
    Explanation,
    Explanations,
    Sensitivity,
    Tree,
    Way,
)
from dpasp.inference.explain.no_model import (
    Inconsistencies,
    Inconsistency,
    NeededRule,
    why_inconsistent,
)
from dpasp.inference.explain.reasons import explain
from dpasp.inference.explain.traced import Texts, Traced

__all__ = [
    "Contribution",
    "Explanation",
    "Explanations",
    "Inconsistencies",
    "Inconsistency",
    "NeededRule",
    "Sensitivity",
    "Texts",
    "Traced",
    "Tree",
    "Way",
    "explain",
    "why_inconsistent",
]
