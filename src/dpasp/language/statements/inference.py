"""``#inference sample, n = 10000.``: which engine answers the queries, with its options.

>>> from dpasp.language.statements.options import Option
>>> [problem.message for problem in inference_problems(Inference("exact", (Option("n", 10),)))]
['#inference exact has no option n']
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, Span, nearest
from dpasp.language.statements import engines
from dpasp.language.statements.directive import accept_parenthesis, expect_end, whole_statement
from dpasp.language.statements.kind import Draft, Kind, Setting
from dpasp.language.statements.known_options import check_names, check_values
from dpasp.language.statements.options import Option, option_text, read_options
from dpasp.language.statements.statement import Statement, span_field
from dpasp.language.text.buffer import Buffer
from dpasp.language.text.cursor import Cursor
from dpasp.language.text.pieces import Piece
from dpasp.language.text.source import SourceFile

_FORM = "inference is written #inference exact. or #inference sample, n = 10000."


@dataclass(frozen=True, slots=True)
class Inference(Statement):
    """``#inference sample, n = 10000.``"""

    method: str
    options: tuple[Option, ...]
    span: Span = span_field()


def read_inference(file: SourceFile, piece: Piece, buffer: Buffer) -> Draft:
    """Read ``#inference``."""
    cursor = Cursor(file, piece.start, piece.end)
    cursor.next()
    parenthesis = accept_parenthesis(cursor)
    method = cursor.next()
    known = engines.engine_names()
    if method.text not in known:
        missing = method.text in ("", ".")
        what = "a method is missing here" if missing else f"{method.text} is not a method"
        help = nearest(method.text.strip('"'), known) or f"known are {', '.join(known)}"
        cursor.fail("unknown-method", what, method, help)
    options = read_options(cursor, (".", ")")) if cursor.accept(",") else ()
    expect_end(cursor, _FORM, parenthesis)
    buffer.blank(piece.start, piece.end)
    return whole_statement(Inference(method.text, options, file.span(piece.start, piece.end)))


def inference_text(statement: Inference) -> str:
    """The statement as it is printed."""
    return f"#inference {', '.join([statement.method, *map(option_text, statement.options)])}."


def inference_problems(statement: Inference) -> Iterator[Diagnostic]:
    """What is wrong with the options of a statement."""
    method = statement.method
    known = engines.engine_options(method)

    def help(name: str) -> str:
        if others := engines.with_option(name):
            return f"{name} is an option of {' and '.join(others)}"
        return nearest(name, known) or f"known are {', '.join(known)}"

    yield from check_names(statement.options, known, f"#inference {method} has no option", help)
    yield from check_values(statement.options, known)


def check_inference(statements: Sequence[Inference], setting: Setting) -> Iterator[Diagnostic]:
    """What is wrong with the options of all statements."""
    for statement in statements:
        yield from inference_problems(statement)


KIND = Kind(
    Inference,
    inference_text,
    ("#inference",),
    read=read_inference,
    check=check_inference,
    once=True,
    form="#inference sample, n = 10000.",
    about="which engine answers, with its options",
)
