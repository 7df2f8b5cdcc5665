"""Reasons as a picture: lines with lines below them, joined, in the colours of their kinds."""

from __future__ import annotations

from collections.abc import Iterator

from dpasp.display import outline
from dpasp.display.outline import Reason
from dpasp.errors import UsageError
from dpasp.inference.explain import Explanation, Explanations, Inconsistencies, Tree
from dpasp.pictures.scene import (
    Box,
    PlacedShape,
    Scene,
    Stroke,
    TextLine,
    moved,
    shortened,
    text_width,
)

ROW, STEP, MARGIN = 24.0, 24.0, 24.0
WIDEST = 760.0  # of a line
BAR = 70.0
KINDS = {
    "fact": ("second", "a fact"),
    "rule": ("accent", "by a rule"),
    "choice": ("warm", "chosen, or not"),
    "free": ("warm", "chosen, or not"),
    "none": ("faint", "does not hold"),
    "blocked": ("line", "a rule that does not apply"),
    "undefined": ("loop", "undefined, or no model"),
    "loop": ("loop", "a loop"),
    "condition": ("accent", "by a rule"),
    "again": ("faint", "does not hold"),
}


def explanation_picture(explanation: Explanation) -> Scene:
    """An answer with its reasons."""
    return _scene(outline.explanation_outline(explanation))


def explanations_picture(explanations: Explanations) -> Scene:
    """All answers with their reasons, one below the other."""
    if not explanations.explanations:
        raise UsageError("there is nothing to draw", help="add a #query, or use --query")
    shapes: list[PlacedShape] = []
    down = width = 0.0
    for each in explanations:
        scene = explanation_picture(each)
        shapes += (moved(shape, 0, down) for shape in scene.shapes)
        down += scene.height
        width = max(width, scene.width)
    return Scene(width, down, tuple(shapes), "reasons")


def tree_picture(tree: Tree) -> Scene:
    """The reasons of one literal."""
    below = (outline.tree_outline(tree),)
    return _scene(Reason(tree.literal, outline.where(tree), None, below))


def inconsistencies_picture(inconsistencies: Inconsistencies) -> Scene:
    """What leaves no model."""
    return _scene(outline.inconsistencies_outline(inconsistencies))


def _scene(root: Reason) -> Scene:
    title = f"{root.text} = {root.note}" if root.note and root.text.startswith("ℙ") else root.text
    shapes: list[PlacedShape] = [TextLine(MARGIN, MARGIN + 8, title, 15, "start", bold=True)]
    top = MARGIN + 34.0
    row, right = 0, MARGIN + text_width(title, 15)
    for reason, depth, parent in _rows(root.below, 0, None):
        x, y = MARGIN + STEP * depth, top + ROW * row
        if parent is not None:
            above = top + ROW * parent
            shapes.append(
                Stroke(((x - STEP + 5, above + 9), (x - STEP + 5, y), (x - 3, y)), "rule")
            )
        right = max(right, _line(shapes, reason, x, y))
        row += 1
    height = top + ROW * row
    shapes += _legend(root, MARGIN, height + 8)
    return Scene(max(right, 620.0) + MARGIN, height + 34, tuple(shapes), title)


def _line(shapes: list[PlacedShape], reason: Reason, x: float, y: float) -> float:
    """Draw one line; give back where it ends."""
    colour = KINDS.get(reason.kind, ("ink", ""))[0]
    if reason.kind:
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
    if reason.note:
        note = shortened(reason.note, WIDEST, 11)
        shapes.append(TextLine(end + 12, y + 4, note, 11, "start", "faint"))
        end += 12 + text_width(note, 11)
    return end


def _rows(
    reasons: tuple[Reason, ...], depth: int, parent: int | None, start: int = 0
) -> Iterator[tuple[Reason, int, int | None]]:
    """Every line with how deep it is and the row of the line that it belongs to."""
    row = start
    for reason in reasons:
        yield reason, depth, parent
        below = list(_rows(reason.below, depth + 1, row, row + 1))
        yield from below
        row += 1 + len(below)


def _legend(root: Reason, x: float, y: float) -> Iterator[PlacedShape]:
    used = dict.fromkeys(KINDS[reason.kind] for reason in _walk(root) if reason.kind in KINDS)
    for colour, meaning in used:
        yield Box(x, y - 4, 8, 8, colour, radius=4)
        yield TextLine(x + 13, y + 4, meaning, 11, "start", "faint")
        x += 30 + text_width(meaning, 11)


def _walk(reason: Reason) -> Iterator[Reason]:
    yield reason
    for below in reason.below:
        yield from _walk(below)
