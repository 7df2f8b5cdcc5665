r"""What a terminal shows: colours where a person looks, and text cell by cell.

>>> visible_line("a\tb")
'a       b'
>>> text_cells("日本")
4
"""

from __future__ import annotations

import os
from typing import TextIO
from unicodedata import category, east_asian_width

RESET = "\x1b[0m"
STYLES = {
    "error": "\x1b[1;31m",
    "warning": "\x1b[1;33m",
    "help": "\x1b[1;36m",
    "place": "\x1b[1m",
    "faint": "\x1b[2m",
}
TAB = 8


def in_terminal(stream: TextIO) -> bool:
    """Whether a person reads this stream as it is written."""
    try:
        return stream.isatty()
    except ValueError:  # closed
        return False


def wants_colour(stream: TextIO) -> bool:
    """Whether to write colours to a stream: terminals only, and NO_COLOR is honoured."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return bool(os.environ.get("FORCE_COLOR")) or in_terminal(stream)


def paint(text: str, style: str, colour: bool) -> str:
    """The text in a style of :data:`STYLES`, or as it is."""
    return f"{STYLES[style]}{text}{RESET}" if colour and text else text


def width(character: str, column: int) -> int:
    """The cells that a character takes when it starts at a (0-based) cell."""
    if character == "\t":
        return TAB - column % TAB
    if " " <= character <= "~":
        return 1
    kind = category(character)
    if kind in ("Mn", "Me"):
        return 0
    if kind in ("Cc", "Cf", "Cs", "Zl", "Zp"):
        return 1  # shown as one replacement character
    return 2 if east_asian_width(character) in "WF" else 1


def text_cells(text: str) -> int:
    """The cells that a text takes from the start of a line."""
    total = 0
    for character in text:
        total += width(character, total)
    return total


def visible_line(text: str) -> str:
    """A line as a terminal can show it, cell by cell as :func:`width` counts: no tabs, no codes."""
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
    """The character, or a mark in its place when a terminal would obey it or hide it."""
    return "�" if category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") else character


def clean(text: str) -> str:
    """A message without characters that a terminal would obey; line ends stay."""
    if text.isprintable():
        return text
    return "".join(c if c == "\n" else visible(c) for c in text.expandtabs())
