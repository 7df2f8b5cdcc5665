"""Explanations as text: two small tables below each answer."""

from __future__ import annotations

from collections.abc import Sequence

from dpasp.inference.answers import bounds_text, number_text
from dpasp.inference.explain import Explanation
from dpasp.shown import harmless, printable

LINES = 20  # contributions that are shown


def explanation_text(found: Explanation) -> str:
    """What the command line prints for an explanation, without a final line end."""
    lines = [str(found.answer)]
    if found.ways:
        few = "" if found.complete else " (of those that were looked at)"
        lines.append(f"  the most probable total choices behind it{few}:")
        ways = [
            (number_text(w.share), number_text(w.probability), ", ".join(w.values) or "nothing")
            for w in found.ways
        ]
        lines += _table(("share", "probability", "total choice"), ways)
    elif not any(found.answer.numbers):
        lines.append("  impossible: no total choice is behind it")
    if found.contributions:
        lines.append("  what the choices contribute:")
        rows = [
            (number_text(c.prior), _given(c.posterior), _numbers(c.certain), c.value)
            for c in found.contributions[:LINES]
        ]
        lines += _table(("prior", "given query", "if certain", "value"), rows)
        more = len(found.contributions) - LINES
        lines += [f"    and {more} more"] if more > 0 else []
    return printable(harmless("\n".join(lines)))


def _given(posterior: float | None) -> str:
    return "impossible" if posterior is None else number_text(posterior)


def _numbers(numbers: Sequence[float]) -> str:
    return bounds_text(numbers) if numbers else "impossible"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The rows below their head; the last column is not padded."""
    table = [head, *rows]
    widths = [max(len(row[i]) for row in table) for i in range(len(head) - 1)]
    return [
        "    "
        + "  ".join([cell.rjust(width) for cell, width in zip(row, widths, strict=False)])
        + f"  {row[-1]}"
        for row in table
    ]
