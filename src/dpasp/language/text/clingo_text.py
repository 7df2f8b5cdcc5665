"""clingo's own parser on the blanked text: nodes in order, and where it got stuck."""

from __future__ import annotations

import re
from typing import NamedTuple

from clingo import MessageCode
from clingo.ast import AST, parse_string

from dpasp.language.text.lexer import STRING

_MESSAGE = re.compile(
    r"<string>:(\d+):(\d+)(?:-(?:(\d+):)?(\d+))?: error: (.*)", re.DOTALL | re.ASCII
)
_FOREIGN = re.compile(rf"({STRING})|[^\x00-\x7f]|\x00")
_NESTING = re.compile(
    rf"{STRING}|(?P<open>[(\[{{])|(?P<close>[)\]}}])|(?P<cut>[,;:])"
    r"|(?P<operator>\*\*|\.\.|[-+*/\\&?^~|<>=@]|\bnot\b)"
)
_DEEPER = re.compile(r"[(\[{\-+*/\\&?^~|<>=@.]|\bnot\b")  # whatever can add to the depth
DEEPEST = 200  # operators and brackets around one term; clingo's recursion overflows the stack


class Stuck(NamedTuple):
    """Where clingo's parser did not know how to go on, as a slice, and its words for it."""

    start: int
    end: int
    words: str


def parse_clingo(text: str, first_line: int = 1) -> tuple[list[AST], Stuck | None]:
    """The statements that clingo reads, and the first place where it got stuck, if any."""
    nodes: list[AST] = []
    messages: list[str] = []

    def note(code: MessageCode, message: str) -> None:
        messages.append(message)

    try:
        parse_string("\n" * (first_line - 1) + safe(text), nodes.append, logger=note)
    except RuntimeError:
        stuck = (_stuck(message, text, first_line) for message in messages)
        return [], next(filter(None, stuck), Stuck(0, len(text), ""))
    return nodes[1:], None  # the first is the '#program base.' that every text begins with


def safe(text: str) -> str:
    """The text without characters that clingo's parser does not survive outside strings.

    It ends the process over them. The reader refuses such programs earlier; this makes
    sure of it.
    """
    if text.isascii() and "\0" not in text:
        return text
    return _FOREIGN.sub(lambda match: match[1] or "$", text)


def _stuck(message: str, text: str, first_line: int) -> Stuck | None:
    match = _MESSAGE.match(message)
    if match is None:
        return None
    line, column, end_line, end_column, words = match.groups()
    start = _offset(text, int(line) - first_line, int(column))
    end = _offset(text, int(end_line or line) - first_line, int(end_column or int(column) + 1))
    return Stuck(start, max(start, end), words.strip())


def _offset(text: str, line: int, column: int) -> int:
    """The offset of a column that clingo counted in bytes, clipped into the text."""
    start = 0
    for _ in range(line):
        start = text.find("\n", start) + 1
        if not start:
            return len(text)
    content = text[start : start + column].encode()[: column - 1]
    return min(start + len(content.decode(errors="ignore")), len(text))


def too_deep(text: str) -> int | None:
    """Where a statement is nested more deeply than clingo's parser survives, if it is.

    >>> too_deep("a(f(g(1)))."), too_deep("a(" + "-" * 500 + "1).")
    (None, 201)
    """
    if len(text) <= DEEPEST or len(_DEEPER.findall(text)) <= DEEPEST:
        return None
    levels, depth = [0], 0  # operators seen at each level of brackets; their sum and the brackets
    for match in _NESTING.finditer(text):
        kind = match.lastgroup
        if kind == "open":
            levels.append(0)
            depth += 1
        elif kind == "close" and len(levels) > 1:
            depth -= levels.pop() + 1
        elif kind == "cut":
            depth -= levels[-1]
            levels[-1] = 0
        elif kind == "operator":
            levels[-1] += 1
            depth += 1
        if depth > DEEPEST:
            return match.start()
    return None
