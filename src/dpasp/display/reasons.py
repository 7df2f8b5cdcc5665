"""Reasons (see :mod:`dpasp.display.outline`) as text, as HTML that unfolds, and as a picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dpasp.display import outline
from dpasp.display.html import FAINT, answer_line, bar, table, warnings_html
from dpasp.display.outline import Reason
from dpasp.display.scene import (
    Box,
    Picture,
    PlacedShape,
    Stroke,
    TextLine,
    above,
    shortened,
    text_width,
)
from dpasp.errors import UsageError
from dpasp.inference.explain import (
    Explanation,
    Explanations,
    Inconsistencies,
    Inconsistency,
    Tree,
)
from dpasp.writing import harmless, markup, printable

# Each kind of reason has a colour that is readable on white and on black, another one in pictures,
# and a meaning, which the legend of a picture gives.
KINDS = {
    "fact": ("#12a594", "second", "a fact"),
    "rule": ("#4c7bf0", "accent", "by a rule"),
    "choice": ("#c77d0a", "warm", "chosen, or not"),
    "free": ("#c77d0a", "warm", "chosen, or not"),
    "none": ("#8a8f98", "faint", "does not hold"),
    "blocked": ("#d2553f", "line", "a rule that does not apply"),
    "undefined": ("#b0489c", "loop", "undefined, or no model"),
    "loop": ("#b0489c", "loop", "a loop"),
    "condition": ("#4c7bf0", "accent", "by a rule"),
    "again": ("", "faint", "does not hold"),
}
LIST = (
    "list-style:none;margin:.15em 0 .15em .35em;padding-left:.9em;"
    "border-left:1px solid rgba(127,127,127,.35)"
)
ROW, STEP, MARGIN = 24.0, 24.0, 24.0  # pixels of a picture
WIDEST = 760.0  # of a line
BAR = 70.0


# --- text --------------------------------------------------------------------------------------


def explanation_text(explanation: Explanation, everything: bool = False) -> str:
    """What the command line prints for an explanation, without a final line end.

    With ``everything``, also the most probable total choices. Tables come before trees.
    """
    root = outline.explanation_outline(explanation, everything)
    lines = [str(explanation.answer)]
    for section in sorted(root.below, key=lambda section: bool(section.below and not section.head)):
        if section.head:
            note = f" ({section.note})" if section.note else ""
            lines += [f"  {section.text}{note}:", *_table_lines(section)]
        elif section.below:
            lines.append(f"  {section.text}, {section.note}:")
            lines += (line for below in section.below for line in _tree_lines(below, 2))
        else:
            lines.append(f"  {section.text}")
    return printable(harmless("\n".join(lines)))


def tree_text(tree: Tree) -> str:
    """A tree as indented lines."""
    return _text(outline.tree_outline(tree))


def inconsistencies_text(inconsistencies: Inconsistencies) -> str:
    """All reasons why there is no model."""
    return _text(outline.inconsistencies_outline(inconsistencies))


def inconsistency_text(inconsistency: Inconsistency) -> str:
    """One reason why there is no model."""
    return _text(outline.inconsistency_outline(inconsistency))


def _text(root: Reason) -> str:
    return harmless("\n".join(_tree_lines(root, 0)))


def _tree_lines(reason: Reason, depth: int) -> Iterator[str]:
    note = f"  ({reason.note})" if reason.note else ""
    yield f"{'  ' * depth}{reason.text}{note}"
    for below in reason.below:
        yield from _tree_lines(below, depth + 1)


def _table_lines(section: Reason) -> Iterator[str]:
    """The rows below their head; the last column is not padded."""
    rows = [section.head, *(line.cells for line in section.below if line.cells)]
    widths = [max(map(len, column)) for column in list(zip(*rows, strict=True))[:-1]]
    for row in rows:
        cells = [cell.rjust(width) for cell, width in zip(row, widths, strict=False)]
        yield f"    {'  '.join(cells)}  {row[-1]}"
    yield from (f"    {line.text}" for line in section.below if not line.cells)


# --- HTML --------------------------------------------------------------------------------------


def explanations_html(explanations: Explanations) -> str:
    """All explanations, one below the other."""
    return "".join(map(explanation_html, explanations)) + warnings_html(explanations.warnings)


def explanation_html(explanation: Explanation) -> str:
    """An answer with all that is behind it; each part unfolds."""
    sections = outline.explanation_outline(explanation, total_choices=True).below
    parts = [table([answer_line(explanation.answer)]), *map(_section_html, sections)]
    return f"<div>{''.join(parts)}</div>"


def _section_html(section: Reason) -> str:
    note = f", {section.note}" if section.note else ""
    title = markup(f"{section.text}{note}")
    if not section.below:
        return f'<p style="{FAINT}">{title}</p>'
    body = _table_html(section) if section.head else _branch(section.below)
    opened = " open" if section.open else ""
    return f"<details{opened}><summary>{title}</summary>{body}</details>"


def _table_html(section: Reason) -> str:
    """The rows, each with a bar in front of it where it has a share."""
    bars = any(line.share is not None for line in section.below)
    rows = []
    for line in section.below:
        if line.cells:
            *cells, name = map(markup, line.cells)
            drawn = "" if line.share is None else bar([line.share])
            rows.append([*([drawn] if bars else []), *cells, f"<code>{name}</code>"])
    rest = [f"<p>{markup(line.text)}</p>" for line in section.below if not line.cells]
    return table(rows, [*([""] if bars else []), *map(markup, section.head)]) + "".join(rest)


def tree_html(tree: Tree) -> str:
    """A tree that unfolds."""
    return _branch([outline.tree_outline(tree)])


def inconsistencies_html(inconsistencies: Inconsistencies) -> str:
    """All reasons why there is no model."""
    root = outline.inconsistencies_outline(inconsistencies)
    return f"<div><p>{markup(root.text)}</p>{_branch(root.below)}</div>"


def inconsistency_html(inconsistency: Inconsistency) -> str:
    """One reason why there is no model."""
    return f"<div>{_branch([outline.inconsistency_outline(inconsistency)])}</div>"


def _branch(reasons: Sequence[Reason]) -> str:
    """Lines that unfold where there is something below them."""
    if not reasons:
        return ""
    lines = "".join(f'<li style="margin:.15em 0">{_leaf(reason)}</li>' for reason in reasons)
    return f'<ul style="{LIST}">{lines}</ul>'


def _leaf(reason: Reason) -> str:
    colour = KINDS.get(reason.kind, ("",))[0]
    dot = f'<span style="color:{colour}" aria-hidden="true">●</span> ' if colour else ""
    note = reason.note or reason.rule
    beside = f' <code style="{FAINT}">{markup(note)}</code>' if note else ""
    text = f"{dot}{markup(reason.text)}{beside}"
    if not reason.below:
        return text
    opened = " open" if reason.open else ""
    return f"<details{opened}><summary>{text}</summary>{_branch(reason.below)}</details>"


# --- pictures ----------------------------------------------------------------------------------


def explanation_picture(explanation: Explanation) -> Picture:
    """An answer with its reasons."""
    return _picture(outline.explanation_outline(explanation))


def explanations_picture(explanations: Explanations) -> Picture:
    """All answers with their reasons, one below the other."""
    if not explanations.explanations:
        raise UsageError("there is nothing to draw", help="add a #query, or use --query")
    return above(list(map(explanation_picture, explanations)), "reasons")


def tree_picture(tree: Tree) -> Picture:
    """The reasons of one literal."""
    return _picture(Reason(tree.literal, below=(outline.tree_outline(tree),)))


def inconsistencies_picture(inconsistencies: Inconsistencies) -> Picture:
    """What leaves no model."""
    return _picture(outline.inconsistencies_outline(inconsistencies))


def _picture(root: Reason) -> Picture:
    """Lines with lines below them, joined, and a legend of their colours."""
    title = f"{root.text} = {root.note}" if root.note else root.text
    shapes: list[PlacedShape] = [TextLine(MARGIN, MARGIN + 8, title, 15, "start", bold=True)]
    top = MARGIN + 34.0
    rows = list(_rows(root.below, 0, None))
    right = MARGIN + text_width(title, 15)
    for row, (reason, depth, parent) in enumerate(rows):
        x, y = MARGIN + STEP * depth, top + ROW * row
        if parent is not None:
            left, start = x - STEP + 5, top + ROW * parent + 9
            shapes.append(Stroke(((left, start), (left, y), (x - 3, y)), "rule"))
        right = max(right, _draw_line(shapes, reason, x, y))
    height = top + ROW * len(rows)
    shapes += _legend([reason.kind for reason, _, _ in rows], MARGIN, height + 8)
    return Picture(max(right, 620.0) + MARGIN, height + 34, tuple(shapes), title)


def _draw_line(shapes: list[PlacedShape], reason: Reason, x: float, y: float) -> float:
    """Draw one line; give back where it ends."""
    if reason.kind:
        colour = KINDS.get(reason.kind, ("", "ink"))[1]
        shapes.append(Box(x, y - 5, 10, 10, colour, radius=5))
    text = shortened(reason.text, WIDEST)
    start = x + (16 if reason.kind else 0)
    bold = bool(reason.below) and not reason.kind
    shapes.append(TextLine(start, y + 4.5, text, 13, "start", "ink", bold))
    end = start + text_width(text) * (1.16 if bold else 1.0)
    if reason.share is not None:
        shapes.append(Box(end + 12, y - 4, BAR, 8, "accent_soft", radius=2))
        shapes.append(Box(end + 12, y - 4, BAR * min(1.0, reason.share), 8, "accent", radius=2))
        end += 12 + BAR
    if note := shortened(reason.note or reason.rule, WIDEST, 11):
        shapes.append(TextLine(end + 12, y + 4, note, 11, "start", "faint"))
        end += 12 + text_width(note, 11)
    return end


def _rows(
    reasons: Sequence[Reason], depth: int, parent: int | None, start: int = 0
) -> Iterator[tuple[Reason, int, int | None]]:
    """Every line with how deep it is and the row of the line that it belongs to."""
    row = start
    for reason in reasons:
        yield reason, depth, parent
        below = list(_rows(reason.below, depth + 1, row, row + 1))
        yield from below
        row += 1 + len(below)


def _legend(kinds: Sequence[str], x: float, y: float) -> Iterator[PlacedShape]:
    for colour, meaning in dict.fromkeys(KINDS[kind][1:] for kind in kinds if kind in KINDS):
        yield Box(x, y - 4, 8, 8, colour, radius=4)
        yield TextLine(x + 13, y + 4, meaning, 11, "start", "faint")
        x += 30 + text_width(meaning, 11)
