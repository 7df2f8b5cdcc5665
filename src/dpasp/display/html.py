"""Results as HTML, for notebooks and reports.

Every piece stands alone: it contains its styles, takes its colours from the page around it, and
fetches nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from dpasp.circuits import Circuit
from dpasp.circuits.compiler import Plan
from dpasp.display.answers import by_rows, most_probable_rows
from dpasp.display.charts import learning_curve
from dpasp.display.diagnostics import render
from dpasp.display.programs import statistics_text
from dpasp.errors import Diagnostic, Error, ProgramWarning
from dpasp.ground.program import GroundProgram
from dpasp.ground.text import ground_text
from dpasp.inference.answers import (
    Answer,
    Answers,
    AnyAnswer,
    Decision,
    Expectation,
    MapAnswers,
    as_point,
    interval_text,
)
from dpasp.language.text.lexer import tokens
from dpasp.writing import counted, markup

if TYPE_CHECKING:
    from dpasp.inference.decide.why import Reasons
    from dpasp.learning.history import History

# Readable on white and on black.
COLOURS = {
    "comment": "#808890",
    "directive": "#c2478f",
    "keyword": "#8a63d2",
    "number": "#1a86c7",
    "string": "#3f9142",
    "variable": "#c06a1b",
    "call": "#c2478f",
}
KEYWORDS = frozenset((":-", "::", "not", "undef", "~"))
SHOWN = 60  # the most lines of a table
LINES = 30  # lines of a ground program shown at first
SMALL = 60  # the most nodes of a circuit that is drawn unasked
VALUE, BOUNDS = "#4c7bf0", "#12a594"  # readable on white and on black
CELL = "text-align:left;padding:3px 12px 3px 0;vertical-align:middle;border:0"
FAINT = "opacity:.7;font-size:90%"
MONO = "font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace"


def page(title: str, body: str, style: str = "") -> str:
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{markup(title)}</title>\n<style>{style}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def answers_html(shown: Answers) -> str:
    """A line for each answer, with a bar; below, warnings and details."""
    single = [each for each in shown if not (isinstance(each, Answer) and by_rows(each))]
    parts = [table([answer_line(each) for each in single[:SHOWN]])]
    if len(single) > SHOWN:
        parts.append(f'<p style="{FAINT}">and {len(single) - SHOWN:,} more</p>')
    rows = [each for each in shown if isinstance(each, Answer) and by_rows(each)]
    if rows:
        parts.append(_rows_table(rows, shown.row_labels))
    lost = f" · {shown.inconsistent:.3g} inconsistent" if shown.inconsistent else ""
    method = f"{shown.logic}, {shown.probability} · {shown.engine}{lost}"
    parts.append(f'<p style="{FAINT}">{markup(method)}</p>')
    return f"<div>{''.join(parts)}{warnings_html(shown.warnings)}</div>"


def answer_html(shown: AnyAnswer) -> str:
    if isinstance(shown, Answer) and by_rows(shown):
        return f"<div>{_rows_table([shown])}</div>"
    return f"<div>{table([answer_line(shown)])}</div>"


def decision_html(shown: Decision) -> str:
    """The strategy with its value and, below, the alternatives."""
    parts = [table([answer_line(shown)])]
    if shown.why is not None and len(shown.alternatives):
        parts.append(reasons_html(shown.alternatives))
    return f"<div>{''.join(parts)}</div>"


def reasons_html(shown: Reasons) -> str:
    head, *rows = [[markup(cell) for cell in row] for row in shown.cells()]
    note = f'<p style="{FAINT}">{markup(shown.note)}</p>' if shown.note else ""
    return f"<div>{table(rows, head)}{note}</div>"


def bar(ends: Sequence[float], logs: Sequence[float] | None = None) -> str:
    """A bar from 0 to a probability, or a segment; both ends are marked, even for [0, 0].

    ``logs`` are the logarithms (base 10) of ends that are too small for a double.
    """
    low, high = (0.0, ends[0]) if len(ends) == 1 else (ends[0], ends[-1])
    colour = VALUE if len(ends) == 1 else BOUNDS
    marks = [high] if len(ends) == 1 else [low, high]
    inner = (
        f'<div style="position:absolute;left:{100 * low:.2f}%;width:{100 * (high - low):.2f}%;'
        f'top:3px;bottom:3px;background:{colour}"></div>'
    )
    inner += "".join(
        f'<div style="position:absolute;left:calc({100 * mark:.2f}% - 1px);width:3px;top:0;'
        f'bottom:0;background:{colour}"></div>'
        for mark in marks
    )
    label = markup(interval_text(ends, logs))
    return (
        f'<div role="img" aria-label="{label}" style="position:relative;'
        'width:180px;height:14px;background:rgba(127,127,127,.16);border-radius:2px">'
        f"{inner}</div>"
    )


def answer_line(shown: AnyAnswer) -> Sequence[str]:
    """The cells of an answer: the question, the bar, the numbers."""
    if isinstance(shown, Expectation):
        return f"<code>{markup(shown.name)}</code>", "", markup(str(shown).partition(" = ")[2])
    if isinstance(shown, Answer):
        logs = [float(log) for log in shown.logarithms()]
        ends = [float(number) for number in shown.numbers]
        if shown.interval is None:
            ends = as_point(ends, logs)
        _, _, numbers = str(shown).partition(" = ")
        picture = bar(ends, logs[: len(ends)])
        return f"<code>ℙ({markup(shown.query)})</code>", picture, markup(numbers)
    if isinstance(shown, MapAnswers):
        _, *rows = str(shown).splitlines()
        name = f"<code>max ℙ({markup(shown.query)})</code>"
        return name, "", "<br>".join(markup(row.strip()) for row in rows)
    lines = [line.partition(" = ") for line in str(shown).splitlines()]
    names = "<br>".join(f"<code>{markup(name)}</code>" for name, _, _ in lines)
    return names, "", "<br>".join(markup(value) for _, _, value in lines)


def _rows_table(shown: Sequence[Answer], labels: Any = None) -> str:
    head, rows = most_probable_rows(shown, labels=labels)
    cells = [[markup(cell) for cell in row] for row in rows]
    return table(cells, [markup(cell) for cell in head])


def warnings_html(diagnostics: Iterable[Diagnostic]) -> str:
    told = (ProgramWarning(diagnostic) for diagnostic in diagnostics)
    return "".join(f'<p style="{FAINT}">⚠ {markup(str(warning))}</p>' for warning in told)


def table(rows: Sequence[Sequence[str]], head: Sequence[str] = ()) -> str:
    if not rows:
        return ""
    top = "".join(f'<th style="{CELL};opacity:.7;font-weight:600">{cell}</th>' for cell in head)
    lines = [f"<tr>{top}</tr>"] if head else []
    for row in rows:
        cells = "".join(f'<td style="{CELL}">{cell}</td>' for cell in row)
        lines.append(f'<tr style="background:none">{cells}</tr>')
    return f'<table style="border-collapse:collapse;border:0">{"".join(lines)}</table>'


# --- programs, circuits, learning, errors ----------------------------------------------------


def ground_html(shown: GroundProgram) -> str:
    """The ground program as text; the rest of a long one unfolds."""
    lines = ground_text(shown).splitlines()
    first = source_html("\n".join(lines[:LINES]))
    if len(lines) <= LINES:
        return first
    rest = source_html("\n".join(lines[LINES:]))
    more = f"<summary>{counted(len(lines) - LINES, 'more line')}</summary>"
    return f"{first}<details>{more}{rest}</details>"


def circuit_html(shown: Circuit) -> str:
    """The statistics of a circuit, and the picture of a small one (if it can be drawn)."""
    facts = [
        line.split(": ", 1) for line in statistics_text(shown.statistics, parts=False).splitlines()
    ]
    numbers = table([(markup(name), markup(value)) for name, value in facts])
    if shown.statistics.nodes > SMALL:
        return numbers
    try:
        return f"{numbers}{shown.plot().svg}"
    except Error:  # the package that arranges graphs is not installed
        return numbers


def plan_html(shown: Plan) -> str:
    return f"<p>{markup(str(shown))}</p>"


def history_html(shown: History) -> str:
    """The curve of the log-likelihood, and why learning stopped."""
    picture = learning_curve(shown.to_list()).svg
    return f'<div>{picture}<p style="{FAINT}">{markup(str(shown))}</p></div>'


def error_html(shown: Error) -> str:
    """The diagnostics as on a terminal, with carets under the places."""
    return f'<pre style="{MONO};color:inherit">{markup(render(shown.diagnostics))}</pre>'


def source_html(text: str) -> str:
    return f'<pre style="{MONO};line-height:1.5;overflow-x:auto">{highlighted(text)}</pre>'


def highlighted(text: str) -> str:
    """A program's text as HTML with syntax colours.

    >>> highlighted("a :- b. % why")
    'a <span style="color:#8a63d2">:-</span> b. <span style="color:#808890">% why</span>'
    """
    parts: list[str] = []
    at = 0
    for token in tokens(text, 0, len(text)):
        parts.append(_between(text[at : token.start]))
        kind = "keyword" if token.text in KEYWORDS else token.kind
        parts.append(_coloured(token.text, kind))
        at = token.end
    parts.append(_between(text[at:]))
    return "".join(parts)


def _between(text: str) -> str:
    """The space and comments between tokens."""
    if not text.strip():
        return text
    inner = text.strip()
    start = text.index(inner)
    return text[:start] + _coloured(inner, "comment") + text[start + len(inner) :]


def _coloured(text: str, kind: str) -> str:
    shown = markup(text, quote=False)
    return f'<span style="color:{COLOURS[kind]}">{shown}</span>' if kind in COLOURS else shown
