"""Decisions as HTML and as pictures: the alternatives, with what each costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpasp.display.html import FAINT, answer_line, table
from dpasp.display.scene import Box, Picture, PlacedShape, Stroke, TextLine, text_width
from dpasp.inference.answers import Decision, strategy_text
from dpasp.writing import markup

if TYPE_CHECKING:
    from dpasp.inference.decide.reasons import Reasons

ROW, BAR, MARGIN = 30.0, 320.0, 20.0
MOST = 24  # bars


def reasons_html(reasons: Reasons) -> str:
    """A table of reasons."""
    head, *rows = [[markup(cell) for cell in row] for row in reasons.cells()]
    note = f'<p style="{FAINT}">{markup(reasons.note)}</p>' if reasons.note else ""
    return f"<div>{table(rows, head)}{note}</div>"


def decision_html(decision: Decision) -> str:
    """The strategy with its value and, below, the alternatives."""
    parts = [table([answer_line(decision)])]
    if decision.why is not None and len(decision.alternatives):
        parts.append(reasons_html(decision.alternatives))
    return f"<div>{''.join(parts)}</div>"


def decision_picture(decision: Decision) -> Picture:
    """A bar for the best strategy and for each alternative, the best first."""
    numbers = decision.numbers
    best = numbers[0] if len(numbers) == 1 else (numbers[0], numbers[-1])
    rows = [(strategy_text(decision.strategy), best, 0.0)]
    if decision.why is not None:
        rows += [(row.instead, row.value, row.loss) for row in decision.alternatives]
    rows = rows[:MOST]
    ends = [value if isinstance(value, tuple) else (value, value) for _, value, _ in rows]
    low = min(0.0, *(end[0] for end in ends))
    high = max(0.0, *(end[1] for end in ends))
    span = (high - low) or 1.0
    left = MARGIN + max(text_width(name) for name, _, _ in rows) + 12
    top = MARGIN + 34.0
    shapes: list[PlacedShape] = [
        TextLine(MARGIN, MARGIN + 8, decision.name, 15, "start", bold=True)
    ]

    def place(number: float) -> float:
        return left + BAR * (number - low) / span

    bottom = top + ROW * len(rows)
    shapes.append(Stroke(((place(0.0), top), (place(0.0), bottom)), "rule", 1))
    widest = 0.0
    for i, ((name, _, loss), (first, last)) in enumerate(zip(rows, ends, strict=True)):
        y = top + ROW * i + ROW / 2
        shapes.append(TextLine(left - 12, y + 4.5, name, anchor="end"))
        start = min(place(0.0), place(last)) if first == last else place(first)
        width = abs(place(last) - place(0.0)) if first == last else place(last) - place(first)
        shapes.append(Box(start, y - 7, width, 14, "accent" if i == 0 else "second", radius=1))
        number = f"{first:.6g}" if first == last else f"[{first:.6g}, {last:.6g}]"
        text = number if i == 0 else f"{number}  (loses {loss:.6g})"
        widest = max(widest, text_width(text, 12))
        shapes.append(TextLine(left + BAR + 12, y + 4, text, 12, "start"))
    return Picture(left + BAR + 12 + widest + MARGIN, bottom + MARGIN, tuple(shapes), decision.name)
