"""Explanations as text: small tables below each answer, and trees of reasons."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from dpasp.display import outline
from dpasp.display.outline import Reason
from dpasp.inference.answers import bounds_text, decimal_text
from dpasp.inference.explain import (
    Contribution,
    Explanation,
    Inconsistencies,
    Inconsistency,
    Sensitivity,
    Tree,
    Way,
)
from dpasp.shown import harmless, printable

LINES = 20  # contributions and numbers that are shown


def explanation_text(explanation: Explanation, everything: bool = False) -> str:
    """What the command line prints for an explanation, without a final line end.

    With ``everything``, also the most probable total choices.
    """
    lines = [str(explanation.answer), *_attained(explanation)]
    if explanation.ways:
        note = outline.ways_note(explanation)
        lines.append(f"  what must be chosen for it{f' ({note})' if note else ''}:")
        lines += _table(("share", "probability", "sure", "values"), map(_way, explanation.ways))
    elif not any(explanation.answer.numbers):
        lines.append("  impossible: no total choice is behind it")
    if explanation.total_choices and everything:
        few = "" if explanation.complete else " (of those that were looked at)"
        lines.append(f"  the most probable total choices behind it{few}:")
        ways = map(_way, explanation.total_choices)
        lines += _table(("share", "probability", "sure", "total choice"), ways)
    lines += _contributions(explanation.contributions)
    lines += _numbers(explanation)
    for title, tree in (("why it holds", explanation.tree), ("why not", explanation.why_not)):
        if tree is not None:
            lines += [
                f"  {title}, {outline.where(tree)}:",
                *_outline(outline.tree_outline(tree), 2),
            ]
    return printable(harmless("\n".join(lines)))


def tree_text(tree: Tree) -> str:
    """A tree as indented lines."""
    return harmless("\n".join(_outline(outline.tree_outline(tree), 0)))


def inconsistencies_text(inconsistencies: Inconsistencies) -> str:
    """All reasons why there is no model."""
    return harmless("\n".join(_outline(outline.inconsistencies_outline(inconsistencies), 0)))


def inconsistency_text(inconsistency: Inconsistency) -> str:
    """One reason why there is no model."""
    return harmless("\n".join(_outline(outline.inconsistency_outline(inconsistency), 0)))


def _outline(reason: Reason, depth: int) -> Iterator[str]:
    note = f"  ({reason.note})" if reason.note and not reason.kind else ""
    if reason.kind == "undefined" and reason.note.startswith("probability"):
        note = f"  ({reason.note})"
    yield f"{'  ' * depth}{reason.text}{note}"
    for below in reason.below:
        yield from _outline(below, depth + 1)


def _attained(explanation: Explanation) -> Iterator[str]:
    """Where in the intervals the bounds are attained."""
    sides = (("lower", explanation.answer.lower_at), ("upper", explanation.answer.upper_at))
    for name, at in sides:
        if at:
            values = ", ".join(f"{value} = {decimal_text(number)}" for value, number in at.items())
            yield f"  the {name} value is attained at {values}"


def _way(way: Way) -> tuple[str, ...]:
    share = "" if way.share is None else decimal_text(way.share, way.log_share)
    chosen = ", ".join(way.values) or "nothing"
    return share, bounds_text(way.bounds, way.logs), "yes" if way.sure else "no", chosen


def _contributions(contributions: Sequence[Contribution]) -> Iterator[str]:
    if not contributions:
        return
    yield "  what the choices contribute:"
    rows = [
        (decimal_text(c.prior), _posterior(c.posterior), _ends(c.certain), c.value)
        for c in contributions[:LINES]
    ]
    yield from _table(("prior", "given query", "if certain", "value"), rows)
    if len(contributions) > LINES:
        yield f"    and {len(contributions) - LINES} more"


def _numbers(explanation: Explanation) -> Iterator[str]:
    some = outline.moving(explanation)
    if not some:
        return
    yield "  what the numbers of the program do to it:"
    target = explanation.target
    head = ["slope", *([f"for {target:g}"] if target is not None else []), "line"]
    rows = [(*_slope(number, target), str(number.line), number.name) for number in some[:LINES]]
    yield from _table((*head, "number"), rows)
    if len(some) > LINES:
        yield f"    and {len(some) - LINES} more"


def _slope(number: Sensitivity, target: float | None) -> list[str]:
    reach = ["none" if value is None else decimal_text(value) for value in number.reach]
    slope = _pair([decimal_text(slope) for slope in number.slope])
    return [slope, *([_pair(reach)] if target is not None else [])]


def _posterior(posterior: float | None) -> str:
    return "impossible" if posterior is None else decimal_text(posterior)


def _ends(numbers: Sequence[float]) -> str:
    return bounds_text(numbers) if numbers else "impossible"


def _pair(texts: Sequence[str]) -> str:
    return texts[0] if len(set(texts)) == 1 else f"[{', '.join(texts)}]"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The rows below their head; the last column is not padded, empty ones are left out."""
    table = [list(head), *map(list, rows)]
    kept = [i for i in range(len(head)) if any(row[i] for row in table[1:])]
    table = [[row[i] for i in kept] for row in table]
    widths = [max(len(row[i]) for row in table) for i in range(len(kept) - 1)]
    return [
        "    "
        + "  ".join([cell.rjust(width) for cell, width in zip(row, widths, strict=False)])
        + f"  {row[-1]}"
        for row in table
    ]
