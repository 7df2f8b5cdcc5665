"""``#learn @labels, lr = 0.001.``: the observations to learn from, and how."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clingo.ast import AST

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, Span
from dpasp.language.statements.kind import Draft, Kind, Setting, accept_parenthesis, expect_end
from dpasp.language.statements.options import (
    LEARN,
    Call,
    File,
    Option,
    Origin,
    call_arguments,
    check_file,
    check_options,
    function_name,
    option_text,
    origin_text,
    read_call,
    read_options,
    unquote,
)
from dpasp.language.statements.statement import Statement, span_field
from dpasp.language.text import Buffer, Cursor, Piece, SourceFile, Sources

FILES = (".csv", ".npy")  # supported files
_FORM = "learning is written #learn @labels, lr = 0.001, niters = 5."


@dataclass(frozen=True, slots=True)
class Learn(Statement):
    """``#learn @labels, lr = 0.001.``"""

    observations: Origin
    options: tuple[Option, ...]
    span: Span = span_field()


def read_learn(file: SourceFile, piece: Piece, buffer: Buffer) -> Draft:
    """Read ``#learn``; the arguments of its function are left to clingo."""
    cursor = Cursor(file, piece.start, piece.end)
    cursor.next()
    parenthesis = accept_parenthesis(cursor)
    token = cursor.peek()
    origin, arguments = _observations(cursor)
    stop = cursor.peek(-1).end
    if cursor.peek().kind == "name":
        cursor.fail("directive-syntax", "a ',' is missing here", cursor.peek(), _FORM)
    options = read_options(cursor, (".", ")")) if cursor.accept(",") else ()
    expect_end(cursor, _FORM, parenthesis)
    if arguments:  # clingo reads ':- xxx(…).'
        buffer.put(piece.start, token.start, ":-")
        buffer.put(token.start, token.end, "x" * (token.end - token.start))
        buffer.put(stop, piece.end, ".")
    else:
        buffer.blank(piece.start, piece.end)
    span = file.span(piece.start, piece.end)

    def finish(nodes: list[AST], sources: Sources) -> Statement | None:
        if isinstance(origin, File) or not arguments:
            return Learn(origin, options, span)
        if not nodes:
            return None
        call = call_arguments(origin, nodes[0].body[0].atom.symbol)
        return Learn(call, options, span)

    return Draft(finish, whole=not arguments)


def _observations(cursor: Cursor) -> tuple[Origin, bool]:
    """Consume ``@labels(…)`` or ``"labels.csv"``; return whether it has arguments."""
    token = cursor.peek()
    span = cursor.file.span(token.start, token.end)
    if token.kind == "string":
        cursor.next()
        return File(unquote(token.text), span), False
    if token.kind == "call":
        token, arguments = read_call(cursor)
        span = cursor.file.span(token.start, cursor.peek(-1).end)
        return Call(function_name(token), (), span), arguments
    named = token.kind == "name" and cursor.peek(1).text != "="
    help = f'write @{token.text}, or a file, "{token.text}.csv"' if named else _FORM
    cursor.fail("learn-data", "#learn begins with the observations", token, help)


def learn_text(statement: Learn) -> str:
    parts = [origin_text(statement.observations), *map(option_text, statement.options)]
    return f"#learn {', '.join(parts)}."


def _calls(statement: Learn) -> tuple[Call, ...]:
    origin = statement.observations
    return (origin,) if isinstance(origin, Call) else ()


def _terms(statement: Learn) -> Iterator[AST]:
    for call in _calls(statement):
        yield from call.arguments


def check_learn(statements: Sequence[Learn], setting: Setting) -> Iterator[Diagnostic]:
    """Problems with the options and the file."""
    for statement in statements:
        yield from check_options(statement.options, LEARN, "#learn")
        yield from check_file(statement.observations, FILES)


KIND = Kind(
    Learn,
    learn_text,
    ("#learn",),
    read=read_learn,
    terms=_terms,
    calls=_calls,
    check=check_learn,
    once=True,
    form="#learn @labels, lr = 0.001, niters = 5.",
    about="the observations to learn from, and how",
)
