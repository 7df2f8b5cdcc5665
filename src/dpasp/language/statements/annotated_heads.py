"""The heads of an annotated statement: where annotations and atoms are in the text.

Anything else in place of a head is refused, with what to write instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple, NoReturn

from dpasp.language.text import Cursor, Piece, SourceFile, Token
from dpasp.language.text.lexer import CLOSING, OPENING

_BODY_HELP = (
    "make it a statement of its own, '0.3::a.', and write the atom alone in the body: 'b :- a.'"
)
_SEPARATORS = (";", "|", ",")
_IF = re.compile("(?<!:):-")  # not '::' before a classical negation, as in 0.3::-a


class Slot(NamedTuple):
    """One head: its annotation, the ``::``, and the end of its atom."""

    annotation: list[Token]
    mark: Token
    end: int


def before_body(text: str) -> str:
    """A statement's text up to its first ``:-``."""
    return _IF.split(text, maxsplit=1)[0]


def head_tokens(file: SourceFile, piece: Piece) -> tuple[Cursor, bool]:
    """The tokens of the heads, and whether there is a body."""
    arrow = _IF.search(file.text, piece.start, piece.end)
    if arrow is None:
        return Cursor(file, piece.start, piece.end), False
    head = file.text[piece.start : arrow.start()]
    if '"' not in head and "%" not in head:
        return Cursor(file, piece.start, arrow.start()), True
    cursor = Cursor(file, piece.start, piece.end)  # the ':-' may be inside a string
    return cursor, any(token.text == ":-" for token in cursor.tokens)


def head_slots(cursor: Cursor, piece: Piece) -> Iterator[Slot]:
    """The heads of a statement, each an annotation and an atom.

    Raises :class:`ProgramError` if one lacks either or is something else.
    """
    while True:
        start = cursor.index
        mark = _find_mark(cursor, piece)
        annotation = cursor.tokens[start : cursor.index - 1]
        _atom(cursor, annotation)
        ending = cursor.peek()
        yield Slot(annotation, mark, cursor.peek(-1).end)
        if ending.text not in _SEPARATORS:
            return
        if ending.text == ",":
            message = "the heads of a disjunction are separated by ';'"
            cursor.fail("annotated-head", message, ending, "write 0.3::a; 0.7::b.")
        cursor.next()


def _is_annotated(cursor: Cursor) -> bool:
    """Whether some head has a ``::`` outside of brackets."""
    depth = 0
    for token in cursor.tokens:
        text = token.text
        if text == "::" and depth == 0:
            return True
        if text == ":-":
            return False
        depth += (text in OPENING) - (text in CLOSING)
    return False


def _refuse_body(cursor: Cursor) -> NoReturn:
    """Refuse a ``::`` in the body or in brackets."""
    depth = 0
    while (token := cursor.next()).text not in ("::", ""):
        depth += (token.text in OPENING) - (token.text in CLOSING)
    if depth > 0:
        message = "'::' has no meaning inside brackets"
        cursor.fail("annotation-body", message, token, "write ':' before a condition")
    message = "only the head of a rule can have a probability"
    cursor.fail("annotation-body", message, token, _BODY_HELP)


def _find_mark(cursor: Cursor, piece: Piece) -> Token:
    """Consume the ``::`` of the next head."""
    first, depth = cursor.peek(), 0
    while True:
        token = cursor.next()
        text = token.text
        if text == "::" and depth == 0:
            return token
        depth += (text in OPENING) - (text in CLOSING)
        if not text or (depth == 0 and text in (*_SEPARATORS, ":-", ".")):
            break
    if not _is_annotated(cursor):
        _refuse_body(Cursor(cursor.file, piece.start, piece.end))
    if first.kind == "number" and text == "," and cursor.peek().kind == "number":
        message = "a number has a dot, not a comma"
        where, help = (first.start, cursor.peek().end), f"write {first.text}.{cursor.peek().text}"
        cursor.fail("probability-syntax", message, where, help)
    end = cursor.peek(-2).end if token is not first else first.end
    message = "this head has no probability, but another one of the statement has"
    help = "annotate every head, for example with what is left of 1, or with ?"
    cursor.fail("annotation-missing", message, (first.start, end), help)


def _atom(cursor: Cursor, annotation: list[Token]) -> None:
    """Consume the atom after a ``::``; nothing else can have a probability."""
    cursor.accept("-")
    token = cursor.peek()
    if token.kind != "name" or token.text == "not":
        _refuse_head(cursor, token, annotation)
    cursor.next()
    if cursor.peek().text == "(":
        cursor.skip_group()
    after = cursor.peek()
    if after.text in ("", ".", ":-", *_SEPARATORS):
        return
    if after.text == ":":
        message = "a conditional literal cannot have a probability"
        cursor.fail("conditional-head", message, after, "put the condition into the body, after :-")
    if after.text == "::":
        message = "this head has two probabilities"
        cursor.fail("annotation-twice", message, after, "keep one of them")
    if after.text in ("~", "∼"):
        message = "a data statement has no probability"
        cursor.fail("annotated-head", message, after, "write input(0) ~ test(…), train(…).")
    message = f"unexpected '{after.text}' after the atom"
    help = "separate the heads of a disjunction by ';', and end a statement with '.'"
    cursor.fail("annotated-head", message, after, help)


def _refuse_head(cursor: Cursor, token: Token, annotation: list[Token]) -> NoReturn:
    """Refuse what stands after a ``::`` in place of an atom."""
    shown = "".join(part.text for part in annotation)
    help = "write an atom such as 0.3::a or 0.3::p(X)"
    if token.text in ("", ".", ";", "|", ",", ":-"):
        message = "an atom is missing after '::'"
    elif token.text == ":":
        message, help = "three colons", f"write two: {shown}::a"
    elif cursor.peek(1).text in ("=", "!=", "<", ">", "<=", ">=", "=="):
        message, help = "a comparison cannot have a probability", "put it into the body, after :-"
    elif token.kind == "variable":
        lower = token.text[:1].lower() + token.text[1:]
        message = f"{token.text} is a variable, and an atom belongs here"
        help = f"write {shown}::{lower}: names begin in lower case"
    elif token.kind == "number" and cursor.peek(1).text == "::":
        message, help = "this head has two probabilities", "keep one of them"
    elif token.kind == "number" and annotation[:1] and annotation[0].kind == "name":
        message, help = "the probability comes before the atom", f"write {token.text}::{shown}"
    elif token.text == "not":
        message = "a negated atom cannot have a probability"
        help = f"write 1-{shown}::a to make the atom false with probability {shown}"
    elif token.text in ("{", "#count", "#sum", "#min", "#max") or cursor.peek(1).text == "{":
        message, help = (
            "a choice or an aggregate cannot have a probability",
            "annotate the atoms: 0.3::a; 0.7::b.",
        )
    else:
        message = f"'{token.text}' is not an atom, and only atoms have a probability"
    cursor.fail("annotated-head", message, token, help)
