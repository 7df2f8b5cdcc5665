"""The limits and thresholds of grounding."""

from __future__ import annotations

from dpasp.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Tuning:
    """Each number with its unit and its reason; a guard bounds memory or seconds."""

    demands: int = 5_000  # rules of demands; with more, grounding everything is quicker
    endless_demands: int = 40_000  # the same if grounding everything might never end
    messages: int = 1_000  # a guard: of clingo's about one program
    long: float = 0.5  # seconds of grounding after which a rule may have no end
    candidates: int = 2_000  # a guard: atoms that are compared with one that cannot occur
    partial_sums: int = 200_000  # a guard: values of a sum that are distinguished
    links: int = 8  # rules from a literal of a sum down to the choice whose value it is
    tick: float = 0.05  # seconds between two looks at the clock and at Ctrl-C


TUNING = Tuning()
