"""Charts of answers and decisions, and the curve of learning."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpasp.display.scene import (
    Box,
    Picture,
    PlacedShape,
    Stroke,
    TextLine,
    above,
    shortened,
    text_width,
    titled,
)
from dpasp.errors import UsageError
from dpasp.inference.answers import (
    Answer,
    Answers,
    Decision,
    as_point,
    interval_text,
    strategy_text,
)

if TYPE_CHECKING:
    from dpasp.learning.history import History

LN10 = math.log(10.0)
MOST_BARS = 60
ROW = 26.0
BAR = 320.0
LONGEST = 300.0  # characters of a query
MARGIN = 24.0
PLOT = (460.0, 220.0)  # size of a curve
QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)


class Row(NamedTuple):
    """A line of a bar chart: a number (a bar from 0) or the two ends of an interval."""

    label: str
    ends: Sequence[float]
    text: str  # beside the bar
    colour: str


def answers_picture(answers: Answers) -> Picture:
    """Bars for probabilities, segments for intervals; below, the learning curve."""
    asked = [answer for answer in answers if isinstance(answer, Answer)]
    decisions = [answer for answer in answers if isinstance(answer, Decision)]
    if not asked and not decisions and not answers.history:
        raise UsageError("there is nothing to draw", help="add a #query, or use --query")
    files = [Path(file).name for file in answers.files if not file.startswith("<")]
    title = " · ".join(filter(None, (", ".join(files), f"{answers.logic}, {answers.probability}")))
    pictures = [bars(asked, title)] if asked else []
    pictures += map(decision_picture, decisions[:MOST_BARS])
    if answers.history:
        pictures.append(learning_curve(answers.history, "learning"))
    return above(pictures, pictures[0].title)


def bars(answers: Sequence[Answer], title: str = "") -> Picture:
    """A row for each answer; those with a number for each test row show their mean."""
    rows = []
    for answer in answers[:MOST_BARS]:
        ends, text = _numbers(answer)
        colour = "accent" if len(ends) == 1 else "second"
        rows.append(Row(shortened(f"P({answer.query})", LONGEST), ends, text, colour))
    return _bar_chart(rows, title, "probabilities", list(_notes(answers)), QUARTERS)


def decision_picture(decision: Decision) -> Picture:
    """A bar for the best strategy and for each alternative, the best first."""
    best = as_point(decision.numbers)
    rows = [Row(strategy_text(decision.strategy), best, _value(best), "accent")]
    if decision.why is not None:
        for other in decision.alternatives[: MOST_BARS - 1]:
            ends = other.value if isinstance(other.value, tuple) else (other.value,)
            text = f"{_value(ends)}  (loses {other.loss:.6g})"
            rows.append(Row(other.instead, ends, text, "second"))
    return _bar_chart(rows, decision.name, decision.name)


def _value(ends: Sequence[float]) -> str:
    return f"{ends[0]:.6g}" if len(ends) == 1 else f"[{ends[0]:.6g}, {ends[1]:.6g}]"


def _numbers(answer: Answer) -> tuple[list[float], str]:
    logs = [_log_mean(np.asarray(log)) for log in answer.logarithms()]
    ends = as_point([_mean(np.asarray(number)) for number in answer.numbers], logs)
    text = interval_text(ends, logs[: len(ends)])
    rows = max(np.size(number) for number in answer.numbers)
    return ends, f"mean {text}" if rows > 1 else text


def _mean(numbers: NDArray[np.float64]) -> float:
    """The mean over rows whose evidence is possible; 0 without any."""
    known = numbers[~np.isnan(numbers)]
    return float(known.mean()) if known.size else 0.0


def _log_mean(logs: NDArray[np.float64]) -> float:
    """The logarithm (base 10) of the mean of numbers, from their logarithms."""
    known = np.ravel(logs)[~np.isnan(np.ravel(logs))]
    total = np.logaddexp.reduce(known * LN10) / LN10
    return float(total) - math.log10(max(1, known.size))


def _notes(answers: Sequence[Answer]) -> Iterator[str]:
    if len(answers) > MOST_BARS:
        yield f"the first {MOST_BARS} of {len(answers):,} answers"
    if any(np.ndim(number) for answer in answers for number in answer.numbers):
        yield "answers with a number for each test row show their mean"


def _bar_chart(
    rows: Sequence[Row],
    title: str,
    name: str,
    notes: Sequence[str] = (),
    ticks: Sequence[float] = (0.0,),
) -> Picture:
    """The rows below each other, on a scale with room for all numbers and ticks."""
    every = [*ticks, *(end for row in rows for end in row.ends if math.isfinite(end))]
    low, span = min(every), (max(every) - min(every)) or 1.0
    left = MARGIN + max((text_width(row.label) for row in rows), default=0.0) + 12
    top = MARGIN + (34.0 if title else 6.0)
    bottom = top + ROW * len(rows)

    def place(number: float) -> float:
        return left + BAR * min(1.0, max(0.0, (number - low) / span))

    shapes: list[PlacedShape] = [*titled(title, MARGIN, MARGIN + 8)]
    for tick in ticks:
        x = place(tick)
        shapes.append(Stroke(((x, top), (x, bottom + 4)), "rule", 1))
        shapes.append(TextLine(x, bottom + 19, f"{tick:g}", 11, fill="faint"))
    for i, row in enumerate(rows):
        y = top + ROW * i + ROW / 2
        shapes.append(TextLine(left - 12, y + 4.5, row.label, anchor="end"))
        shapes += _bar([place(end) for end in row.ends], place(0.0), y, row.colour)
        shapes.append(TextLine(left + BAR + 12, y + 4, row.text, 12, "start"))
    for i, note in enumerate(notes):
        shapes.append(TextLine(left, bottom + 40 + 18 * i, note, 12, "start", fill="faint"))
    right = max((text_width(row.text, 12) for row in rows), default=0.0)
    width = left + BAR + 12 + right + MARGIN
    return Picture(width, bottom + 34 + 18 * len(notes), tuple(shapes), title or name)


def _bar(ends: Sequence[float], zero: float, y: float, colour: str) -> Iterator[PlacedShape]:
    """The bar or segment, with marks at its ends that are visible even at length 0."""
    start, end = (zero, ends[0]) if len(ends) == 1 else ends
    height = 14 if len(ends) == 1 else 8
    yield Box(min(start, end), y - height / 2, abs(end - start), height, colour, radius=1)
    for x in ends:
        yield Box(x - 1.5, y - 9, 3, 18, colour, radius=1)


def history_picture(history: History) -> Picture:
    if not len(history):
        raise UsageError("there is nothing to draw: no iteration was done")
    return learning_curve(history.to_list(), "learning")


def learning_curve(records: Sequence[Mapping[str, Any]], title: str = "") -> Picture:
    """The log-likelihood by iteration, and that of the held-out examples."""
    values = [float(record["log_likelihood"]) for record in records]
    validation = [float(record["validation"]) for record in records if "validation" in record]
    utility = any(record.get("likelihood") == "utility" for record in records)
    what = "expected utility" if utility else "log-likelihood"
    width, height = PLOT
    left, top = MARGIN + 70, MARGIN + (34.0 if title else 6.0)
    every = [v for v in (*values, *validation) if math.isfinite(v)]
    low, high = (min(every), max(every)) if every else (0.0, 1.0)
    room = (high - low) or max(abs(high), 1.0)
    low, high = low - 0.06 * room, high + 0.06 * room

    def place(i: int, value: float) -> tuple[float, float]:
        across = i / max(1, len(values) - 1)
        return left + width * across, top + height * (high - value) / (high - low)

    shapes: list[PlacedShape] = [*titled(title, MARGIN, MARGIN + 8)]
    for share in QUARTERS:
        y = top + height * share
        shapes.append(Stroke(((left, y), (left + width, y)), "rule", 1))
        number = high - share * (high - low)
        shapes.append(TextLine(left - 8, y + 4, f"{number:.5g}", 11, "end", "faint"))
    for i in sorted({0, len(values) // 2, len(values) - 1} & set(range(len(values)))):
        shapes.append(TextLine(place(i, low)[0], top + height + 18, f"{i + 1}", 11, fill="faint"))
    shapes.append(TextLine(left + width / 2, top + height + 38, "iteration", 12, fill="faint"))
    lines = [(values, "accent", what)]
    lines += [(validation, "warm", "validation")] if validation else []
    for i, (numbers, colour, name) in enumerate(lines):
        points = [place(k, v) for k, v in enumerate(numbers) if math.isfinite(v)]
        if len(points) > 1:
            shapes.append(Stroke(tuple(points), colour, 2))
        if len(points) <= 30:  # few enough to mark each iteration
            shapes += (Box(x - 2.5, y - 2.5, 5, 5, colour, radius=2.5) for x, y in points)
        y = top + height + 58
        shapes.append(Box(left + 140 * i, y - 8, 14, 4, colour))
        shapes.append(TextLine(left + 20 + 140 * i, y - 2, name, 12, "start", fill="faint"))
    size = left + width + MARGIN, top + height + 74
    return Picture(*size, tuple(shapes), title or what)
