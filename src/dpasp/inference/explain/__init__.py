"""Why: what is behind an answer, and what leaves no model.

- ``trees``: why a literal holds in a model, and why not, as a tree
- ``explanation``: what is given back
- ``shrink``: leaving out what is not needed; ``ways``: minimal explanations
- ``contributions``: what each choice does to the answer; ``numbers``: what each number does
- ``traced``: models whose atoms can be traced to rules; ``bodies``: the rules of the text, with
  values; ``in_model``: the one in the other; ``telling``: the trees of sentences
- ``core``: a smallest set of rules and choices that leaves no model
- ``reasons``: all of it about one answer
"""

from dpasp.inference.explain.bodies import Texts
from dpasp.inference.explain.core import (
    Inconsistencies,
    Inconsistency,
    NeededRule,
    why_inconsistent,
)
from dpasp.inference.explain.explanation import (
    Contribution,
    Explanation,
    Explanations,
    Sensitivity,
    Way,
)
from dpasp.inference.explain.reasons import explain
from dpasp.inference.explain.traced import Traced
from dpasp.inference.explain.trees import Tree

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
