"""clingo's own parser on the blanked text: nodes in order, and its complaints in our words."""

from __future__ import annotations

import re

from clingo import MessageCode
from clingo.ast import AST, parse_string

from dpasp.errors import Diagnostic, ProgramError
from dpasp.language.mistakes import explain
from dpasp.language.source import Place, SourceFile, Sources

_MESSAGE = re.compile(
    r"<string>:(\d+):(\d+)(?:-(?:(\d+):)?(\d+))?: (error|warning|info|note): (.*)", re.DOTALL
)
_MESSAGE_LIMIT = 1_000


def parse_clingo(text: str, first_line: int) -> tuple[list[AST], list[str]]:
    """The statements that clingo reads and the messages that it has, lines counted on."""
    nodes: list[AST] = []
    messages: list[str] = []

    def note(code: MessageCode, message: str) -> None:
        messages.append(message)

    try:
        padded = "\n" * (first_line - 1) + text
        parse_string(padded, nodes.append, logger=note, message_limit=_MESSAGE_LIMIT)
    except RuntimeError as error:
        if not messages:  # pragma: no cover - clingo always says why
            raise ProgramError(Diagnostic("clingo", str(error))) from error
    return nodes[1:], messages  # the first is the '#program base.' that every text begins with


def message_place(message: str, sources: Sources) -> tuple[Place, Place, str] | None:
    """The two ends and the text of a message of clingo's, if it has a place."""
    match = _MESSAGE.match(message)
    if match is None:
        return None
    line, column, end_line, end_column, _, what = match.groups()
    begin = sources.place(int(line), int(column))
    end = sources.place(int(end_line or line), int(end_column or int(column) + 1))
    return begin, end, what.strip()


def syntax_error(message: str, sources: Sources, file: SourceFile) -> tuple[Diagnostic, int]:
    """One of clingo's syntax errors, told by what the user wrote, and its offset."""
    placed = message_place(message, sources)
    if placed is None:
        return Diagnostic("syntax", message.strip(), file.span(0, 0)), 0
    begin, end, what = placed
    start, stop = file.offset(begin), file.offset(end)
    last = len(file.text.rstrip())
    if start >= last:
        start, stop, what = max(last - 1, 0), last, "unexpected end"
    return explain(file, start, max(stop, start + 1), what), start
