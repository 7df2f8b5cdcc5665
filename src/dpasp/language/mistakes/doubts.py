"""Statements that can be read but are hardly meant that way: warnings.

>>> file = SourceFile("p.plp", "a <- b.")
>>> [warning.code for warning in doubts(file, Piece(0, 7), Buffer(file.text))]
['comparison-head']
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dpasp.errors import Diagnostic
from dpasp.language.statements.annotated import before_body
from dpasp.language.text.buffer import Buffer
from dpasp.language.text.lexer import STRING
from dpasp.language.text.pieces import Piece
from dpasp.language.text.source import SourceFile

_COMPARISON = re.compile(r'[^:"{}]*?(?P<sign><-|[<>=!]=?)[^:"{}]*\.?\s*\Z', re.DOTALL)
_QUOTED = re.compile(rf"{STRING}|(?<![\w'])(?P<quoted>'(?P<name>[A-Za-z_]\w*)')(?![\w'])", re.ASCII)
_PROBLOG = re.compile(r"(query|evidence)\s*\(([^(),]*(?:\([^()]*\))?)(?:,\s*(true|false))?\)\.")


def doubts(file: SourceFile, piece: Piece, buffer: Buffer) -> Iterator[Diagnostic]:
    """What is doubtful about a statement that is clingo's; the buffer is without comments."""
    text = file.text[piece.start : piece.end]
    if "%" in text or "#!" in text:
        text = buffer.text(piece.start, piece.end)
    if "'" in text:
        yield from _quotes(file, piece, text)
    if "=" in text or "<" in text or ">" in text:
        yield from _comparison(file, piece, before_body(text))
    if text.startswith(("query", "evidence")):
        yield from _problog(file, piece, text)


def _comparison(file: SourceFile, piece: Piece, head: str) -> Iterator[Diagnostic]:
    match = _COMPARISON.match(head)
    if match is None or head.startswith("#"):
        return
    span = file.span(piece.start + match.start("sign"), piece.start + match.end("sign"))
    message = "the head of this rule is a comparison, which derives nothing"
    help = "write an atom before ':-', and comparisons after it"
    if match["sign"] == "<-":
        message = "this is read as 'less than minus', a comparison"
        help = "write a rule as 'head :- body.'"
    yield Diagnostic("comparison-head", message, span, help, "warning")


def _quotes(file: SourceFile, piece: Piece, text: str) -> Iterator[Diagnostic]:
    for match in _QUOTED.finditer(text):
        if name := match["name"]:
            span = file.span(piece.start + match.start(), piece.start + match.end())
            what = "a variable" if name[0].isupper() else "a name"
            message = f"{match['quoted']} in single quotes is {what}, not text"
            help = f'write "{name}", or {name.lower()} without quotes'
            yield Diagnostic("quotes", message, span, help, "warning")


def _problog(file: SourceFile, piece: Piece, text: str) -> Iterator[Diagnostic]:
    match = _PROBLOG.fullmatch(text)
    if match is None:
        return
    word, atom, value = match.groups()
    negated = "not " if value == "false" else ""
    span = file.span(piece.start, piece.end)
    message = f"this is a fact named {word}, and asks nothing"
    help = f"write #{word} {negated}{atom}."
    yield Diagnostic("problog-directive", message, span, help, "warning")
