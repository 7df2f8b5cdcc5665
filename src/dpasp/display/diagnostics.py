"""Diagnostics on a terminal: the place, the line, a caret under it, and what to do.

>>> span = Span("p.plp", 1, 1, 1, 4)
>>> problem = Diagnostic("probability-range", "1.5 is not a probability", span, "at most 1")
>>> print(render([problem], {"p.plp": "1.5::a."}.get))
p.plp:1:1: error: 1.5 is not a probability [probability-range]
  1 | 1.5::a.
    | ^^^
  help: at most 1
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from textwrap import fill
from typing import TextIO
from unicodedata import category, east_asian_width

from dpasp.errors import Diagnostic, Span

SourceLookup = Callable[[str], str | None]

LONGEST = 100  # cells of a source line that are shown; longer lines are cut around the place
_LONG_WORD = re.compile(r"(\S{60})\S{80,}+(?<=(\S{20}))")
RESET = "\x1b[0m"
STYLES = {
    "error": "\x1b[1;31m",
    "warning": "\x1b[1;33m",
    "help": "\x1b[1;36m",
    "place": "\x1b[1m",
    "faint": "\x1b[2m",
}
TAB = 8
SHOWN_LINES = 5  # lines of a span that are shown; the middle of longer spans is left out


def read_source(file: str) -> str | None:
    """The text of a file on disk; None if it cannot be read (again)."""
    if not os.path.isfile(file):  # not pipes or devices: reading them may wait for ever
        return None
    try:
        with open(file, encoding="utf-8-sig", errors="replace", newline="") as stream:
            return stream.read()
    except OSError:
        return None


def render(
    diagnostics: Iterable[Diagnostic], sources: SourceLookup = read_source, colour: bool = False
) -> str:
    """All diagnostics as text, in their order, without a final line end."""
    text_of, lines_of = cache(sources), cache(split_lines)  # there may be thousands of mistakes

    def lines(span: Span) -> list[str]:
        return lines_of((text_of(span.file) if span.text is None else span.text) or "")

    return "\n".join(_rendered(diagnostic, lines, colour) for diagnostic in diagnostics)


def _rendered(diagnostic: Diagnostic, lines: Callable[[Span], list[str]], colour: bool) -> str:
    place = f"{diagnostic.span}: " if diagnostic.span else ""
    severity = diagnostic.severity
    parts = [
        paint(clean(place), "place", colour)
        + paint(f"{severity}:", severity, colour)
        + f" {clean(_shortened(diagnostic.message))} "
        + paint(f"[{diagnostic.code}]", "faint", colour)
    ]
    if diagnostic.span:
        parts += excerpt(lines(diagnostic.span), diagnostic.span, severity, colour)
    if diagnostic.help:
        label = paint("help:", "help", colour)
        parts.append(f"  {label} " + _wrapped(clean(_shortened(diagnostic.help))))
    return "\n".join(parts)


def to_dict(diagnostics: Iterable[Diagnostic]) -> dict[str, list[dict[str, str | int | None]]]:
    """The errors and, if there are any, the warnings, as JSON values."""
    every = list(diagnostics)
    report = {"errors": [d.to_dict() for d in every if d.severity == "error"]}
    warnings = [d.to_dict() for d in every if d.severity == "warning"]
    return {**report, "warnings": warnings} if warnings else report


def excerpt(lines: Sequence[str], span: Span, style: str, colour: bool) -> list[str]:
    """The lines of a span with carets under it; empty if it lies outside the text."""
    if not 1 <= span.line <= len(lines):
        return []
    last = min(max(span.end_line, span.line), len(lines))
    # A span that ends before the first column of a line does not reach into it.
    if last > span.line and span.end_line == last and span.end_column <= 1:
        last -= 1
    margin = max(len(str(last)), 1)
    shown: list[str] = []
    numbers: list[int | None] = [*range(span.line, last + 1)]
    if len(numbers) > SHOWN_LINES:
        numbers[SHOWN_LINES - 2 : -1] = [None]  # the middle is left out
    for number in numbers:
        if number is None:
            shown.append(paint(f"  {'⋮':>{margin}} |", "faint", colour))
            continue
        line = lines[number - 1]
        start = span.column - 1 if number == span.line else len(line) - len(line.lstrip())
        end = span.end_column - 1 if number == span.end_line else len(line.rstrip())
        source, carets = _marked(line, start, end)
        shown.append(paint(f"  {number:>{margin}} |", "faint", colour) + f" {source}".rstrip())
        if carets.strip():
            bar = paint(f"  {'':>{margin}} |", "faint", colour)
            shown.append(f"{bar} {paint(carets, style, colour)}")
    return shown


def split_lines(text: str) -> list[str]:
    """The lines as editors and clingo count them: ended by ``\\n`` (or ``\\r\\n``) only."""
    return [line.removesuffix("\r") for line in text.split("\n")]


def _marked(line: str, start: int, end: int) -> tuple[str, str]:
    """A line as a terminal can show it, and the carets under ``line[start:end]`` (at least one)."""
    start = max(0, min(start, len(line)))
    end = max(start, min(end, len(line)))
    if not line.strip() and end == start:
        return visible_line(line), " " * text_cells(line[:start]) + "^"
    line, start, end = _cut(line, start, end)
    before = text_cells(line[:start])
    under = text_cells(line[:end]) - before
    return visible_line(line), " " * before + "^" * max(1, under)


def _cut(line: str, start: int, end: int) -> tuple[str, int, int]:
    """A long line cut to a window around ``[start, end)``, with … where text is missing."""
    if len(line) <= 4 * LONGEST and text_cells(line) <= LONGEST:
        return line, start, end
    left = max(0, min(start - LONGEST // 3, len(line) - LONGEST))
    right = min(len(line), left + LONGEST)
    end = min(end, right)
    front, back = "…" if left else "", "…" if right < len(line) else ""
    piece = front + line[left:right].replace("\t", " ") + back
    return piece, start - left + len(front), end - left + len(front)


def _shortened(text: str) -> str:
    """A message with long words (numbers, names, strings) cut in the middle."""
    return _LONG_WORD.sub(r"\1…\2", text)


def _wrapped(text: str) -> str:
    """Help text with long lines folded under its first word; existing line breaks are kept."""
    indent = " " * len("  help: ")
    folded = (
        fill(line, LONGEST, initial_indent=indent, subsequent_indent=indent, break_long_words=False)
        if len(line) + len(indent) > LONGEST
        else indent + line
        for line in text.split("\n")
    )
    return "\n".join(folded)[len(indent) :]


# --- terminals: colours, and text cell by cell ---------------------------------------------------


def in_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except ValueError:  # closed
        return False


def wants_colour(stream: TextIO) -> bool:
    """Whether to write colours to a stream: only to a terminal, and not with NO_COLOR."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return bool(os.environ.get("FORCE_COLOR")) or in_terminal(stream)


def paint(text: str, style: str, colour: bool) -> str:
    """The text in a style of :data:`STYLES`, or unchanged."""
    return f"{STYLES[style]}{text}{RESET}" if colour and text else text


def width(character: str, column: int) -> int:
    """The cells that a character takes if it starts at a (0-based) cell."""
    if character == "\t":
        return TAB - column % TAB
    if " " <= character <= "~":
        return 1
    kind = category(character)
    if kind in ("Mn", "Me"):
        return 0
    if kind in ("Cc", "Cf", "Cs", "Zl", "Zp"):
        return 1  # shown as one character
    return 2 if east_asian_width(character) in "WF" else 1


def text_cells(text: str) -> int:
    """The cells that a text takes from the start of a line."""
    total = 0
    for character in text:
        total += width(character, total)
    return total


def visible_line(text: str) -> str:
    """A line as a terminal can show it, without tabs and control codes; matches :func:`width`."""
    if text.isascii() and text.isprintable():
        return text
    shown: list[str] = []
    cell = 0
    for character in text:
        cells = width(character, cell)
        shown.append(" " * cells if character == "\t" else visible(character))
        cell += cells
    return "".join(shown)


def visible(character: str) -> str:
    """The character, or a mark in its place if a terminal would obey or hide it."""
    return "�" if category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") else character


def clean(text: str) -> str:
    """A message without characters that a terminal would obey; line ends stay."""
    if text.isprintable():
        return text
    return "".join(c if c == "\n" else visible(c) for c in text.expandtabs())
