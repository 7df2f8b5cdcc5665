"""The limits and thresholds of grounding."""

from __future__ import annotations

from dpasp.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Tuning:
    """Each number with its unit and its reason; a guard bounds memory or seconds."""

    demands: int = 40_000  # a guard: rules of demands, which need not end; paths over 22,500 cells
    # are ground as quickly with 100 as with 40,000
    messages: int = 1_000  # a guard: of clingo's about one program
    long: float = 0.5  # seconds of grounding after which help says that a rule may have no end
    candidates: int = 2_000  # a guard: atoms that are compared with one that cannot occur
    partial_sums: int = 200_000  # a guard: values of a sum that are distinguished
    links: int = 8  # a guard of recursion: rules from a literal of a sum down to its choice
    tick: float = 0.05  # seconds between two looks at the clock and at Ctrl-C


TUNING = Tuning()
