"""How results show themselves: what displays them is built on top of them, so they name it.

>>> display("html.page").__module__
'dpasp.display.html'
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, TextIO

# What a terminal obeys (but line ends and tabs), what turns the direction of a line so that it
# reads otherwise than it is, and halves of characters, which cannot be written at all.
COMMANDS = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff]"
)

PLAIN = str.maketrans({"ℙ": "P", "θ": "theta", "…": "...", "≤": "<=", "≥": ">=", "→": "->"})


def display(name: str) -> Callable[..., Any]:
    """A function of ``dpasp.display``, as ``"html.page"``; its module is imported only now."""
    module, function = name.split(".")
    displayed: Callable[..., Any] = getattr(import_module(f"dpasp.display.{module}"), function)
    return displayed


def harmless(text: str) -> str:
    """A text whose names a terminal does not obey: control characters are written out.

    >>> harmless('a("\\x1b[2J")')
    'a("\\\\u001b[2J")'
    """
    return COMMANDS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def printable(text: str, stream: TextIO | None = None) -> str:
    """The text with plain letters for ours that a stream (standard output) cannot print.

    >>> import io
    >>> printable("ℙ(a) = 0.3", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    'P(a) = 0.3'
    """
    stream = stream or sys.stdout
    try:
        text.encode(getattr(stream, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return text.translate(PLAIN)
    except LookupError:  # an encoding that nobody knows
        pass
    return text


def markup(text: str, quote: bool = True) -> str:
    """A text inside HTML or SVG, where some characters may not stand, not even written as codes.

    >>> markup("<a> \\x00")
    '&lt;a&gt; \\\\u0000'
    """
    whole = harmless(text).translate({0xFFFE: "\\ufffe", 0xFFFF: "\\uffff"})
    import html

    return html.escape(whole, quote)
