"""``#include "file.plp".``, replaced by the statements of the file when it is read."""

from __future__ import annotations

from dpasp.dataclass import dataclass
from dpasp.errors import Span
from dpasp.language.statements.kind import Draft, Kind, expect_end, whole_statement
from dpasp.language.statements.options import quote, unquote
from dpasp.language.statements.statement import Statement, span_field
from dpasp.language.text import Buffer, Cursor, Piece, SourceFile

_FORM = 'a file is included by #include "file.plp".'

_STANDARD = {
    "incmode": "it solves a program again and again with more steps, which is not a probability; "
    "say how many steps there are: #const n = 5. time(1..n).",
    "csp": "it needs a solver of its own; write plain rules and constraints",
}


@dataclass(frozen=True, slots=True)
class Include(Statement):
    """A file name as written; the span is that of the name."""

    path: str
    span: Span = span_field()


def read_include(file: SourceFile, piece: Piece, buffer: Buffer) -> Draft:
    """Read ``#include "file".``"""
    cursor = Cursor(file, piece.start, piece.end)
    cursor.next()
    token = cursor.next()
    if token.text == "<":
        name = cursor.peek().text
        message = f"clingo's own file {name} cannot be included"
        cursor.fail("include-syntax", message, token, _STANDARD.get(name, _FORM))
    if token.kind != "string":
        cursor.fail("include-syntax", "a file name in quotes is missing here", token, _FORM)
    expect_end(cursor, _FORM)
    buffer.blank(piece.start, piece.end)
    return whole_statement(Include(unquote(token.text), file.span(token.start, token.end)))


KIND = Kind(
    Include,
    lambda statement: f"#include {quote(statement.path)}.",
    ("#include",),
    read=read_include,
    form='#include "file.plp".',
    about="includes the statements of another file",
)
