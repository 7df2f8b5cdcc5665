"""Colours, only where a person looks at a terminal."""

from __future__ import annotations

import os
from typing import TextIO

RESET = "\x1b[0m"
STYLES = {
    "error": "\x1b[1;31m",
    "warning": "\x1b[1;33m",
    "help": "\x1b[1;36m",
    "place": "\x1b[1m",
    "faint": "\x1b[2m",
}


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
