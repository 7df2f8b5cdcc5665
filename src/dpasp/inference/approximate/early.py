"""Approximate answers: the engines that look at some of the total choices only."""

from __future__ import annotations

from dataclasses import dataclass

from dpasp.errors import Diagnostic
from dpasp.inference.answers import Answer


@dataclass(frozen=True, slots=True)
class Approximate:
    """The answers under one weight vector, the inconsistent mass seen, and what to tell."""

    answers: tuple[Answer, ...]
    inconsistent: float
    warnings: tuple[Diagnostic, ...]


def stopped_early(stopped: str, gap: float) -> Diagnostic:
    """The warning about answers that a limit left with a gap; ``stopped`` says which limit."""
    return Diagnostic("stopped-early", f"{stopped}, with a gap of {gap:g}", severity="warning")
