"""Brackets and their partners.

>>> from dpasp.language.text.source import SourceFile
>>> from dpasp.language.text.lexer import tokens
>>> text = "a(1."
>>> unbalanced(SourceFile("<program>", text), list(tokens(text, 0, len(text)))).message
"'(' is never closed"
"""

from __future__ import annotations

from collections.abc import Sequence

from dpasp.errors import Diagnostic
from dpasp.language.text.lexer import Token, tokens
from dpasp.language.text.pieces import Piece
from dpasp.language.text.source import SourceFile

OPENING, CLOSING = frozenset("([{"), frozenset(")]}")
_PAIRS = {"(": ")", "[": "]", "{": "}"}


def unbalanced(file: SourceFile, written: Sequence[Token]) -> Diagnostic | None:
    """The first bracket that has no partner, or the wrong one."""
    stack: list[Token] = []
    for token in written:
        if token.kind != "symbol":
            continue
        if token.text in OPENING:
            stack.append(token)
        elif token.text in CLOSING:
            if not stack:
                span = file.span(token.start, token.end)
                message = f"'{token.text}' closes nothing"
                return Diagnostic("unbalanced", message, span, "remove it, or open it before")
            opened = stack.pop()
            if (wanted := _PAIRS[opened.text]) != token.text:
                span = file.span(token.start, token.end)
                message = f"'{opened.text}' is closed by '{token.text}'"
                return Diagnostic("unbalanced", message, span, f"write '{wanted}' here")
    if not stack:
        return None
    opened = stack[-1]
    span, wanted = file.span(opened.start, opened.end), _PAIRS[opened.text]
    return Diagnostic("unbalanced", f"'{opened.text}' is never closed", span, f"add '{wanted}'")


def is_open(file: SourceFile, piece: Piece) -> bool:
    """Whether a bracket of a statement is never closed."""
    problem = unbalanced(file, list(tokens(file.text, piece.start, piece.end)))
    return problem is not None and problem.message.endswith("never closed")
