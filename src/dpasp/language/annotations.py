"""Annotated statements: probabilistic and credal facts, rules and disjunctions.

A statement ``0.4::a(X); 0.6::b(X) :- c(X).`` is clingo's disjunctive rule with two
annotations: they are read here and blanked out, clingo reads the rest.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

from clingo.ast import AST

from dpasp.errors import Span
from dpasp.language import ast
from dpasp.language.buffer import Buffer
from dpasp.language.cursor import CLOSING, OPENING, Cursor
from dpasp.language.expressions import read_expression, real
from dpasp.language.lexer import Token
from dpasp.language.source import SourceFile, Sources
from dpasp.language.split import Piece

FORM = "write a probability such as 0.3::a, an interval [0.2, 0.7]::a, or ?::a to learn it"
_BODY_HELP = (
    "make it a statement of its own, '0.3::a.', and write the atom alone in the body: 'b :- a.'"
)
_INTERVAL_HELP = "an interval is written [0.2, 0.7]::a"
_SEPARATORS = (";", "|", ",")
_IF = re.compile("(?<!:):-")  # not the end of '::' and a classical negation, as in 0.3::-a
# A single head with a number, which nearly all statements have, can be read at a glance.
_COMMON = re.compile(
    r"(?P<number>\d{1,9}\.\d+)(?P<mark>\s*::)\s*(?P<atom>(?!not\b)[a-z]\w*(?:\([\w,\s]*\))?)"
    r"\s*(?P<if>:-|\.\Z)",
    re.ASCII,
)

Finish = Callable[[list[AST], Sources], ast.Statement | None]


@dataclass(frozen=True, slots=True)
class Draft:
    """A statement of ours that waits for what clingo makes of the rest of it.

    ``whole`` is set when nothing of it is left to clingo.
    """

    finish: Finish
    whole: bool = False


class Slot(NamedTuple):
    """One head of an annotated statement: its annotation, the ``::`` and the end of its atom."""

    annotation: list[Token]
    mark: Token
    end: int


def read_annotated(file: SourceFile, piece: Piece, buffer: Buffer) -> Draft:
    """Read the annotations of a statement and leave the rest of it to clingo."""
    weights: list[ast.Weight] = []
    spans = []
    if common := _COMMON.match(file.text, piece.start, piece.end):
        has_body = common["if"] == ":-"
        number = file.span(piece.start, common.end("number"))
        weights.append(_fixed(float(common["number"]), number))
        spans.append(file.span(piece.start, common.end("atom")))
        buffer.blank(piece.start, common.end("mark"))
    else:
        cursor, has_body = _head(file, piece)
        for slot in _slots(cursor, piece):
            start = slot.annotation[0].start if slot.annotation else slot.mark.start
            weights.append(_weight(file, slot))
            spans.append(file.span(start, slot.end))
            buffer.blank(start, slot.mark.end)
    span = file.span(piece.start, piece.end)

    def finish(nodes: list[AST], sources: Sources) -> ast.Statement | None:
        if not nodes:
            return None
        (node,) = nodes
        heads = map(ast.Head, weights, head_atoms(node, len(weights)), spans)
        return ast.Annotated(tuple(heads), tuple(node.body) if has_body else (), span)

    return Draft(finish)


def head_text(text: str) -> str:
    """The text of a statement up to its body (or something in the head that looks like one)."""
    return _IF.split(text, maxsplit=1)[0]


def head_atoms(rule: AST, count: int) -> list[AST]:
    """The atoms in the head of a rule that is known to be an atom or a disjunction of atoms."""
    head = rule.head
    return [head.atom] if count == 1 else [element.literal.atom for element in head.elements]


def _head(file: SourceFile, piece: Piece) -> tuple[Cursor, bool]:
    """The tokens of the head (a long body need not be read here), and whether there is a body."""
    found = _IF.search(file.text, piece.start, piece.end)
    if found is None:
        return Cursor(file, piece.start, piece.end), False
    head = file.text[piece.start : found.start()]
    if '"' not in head and "%" not in head:
        return Cursor(file, piece.start, found.start()), True
    cursor = Cursor(file, piece.start, piece.end)  # the ':-' may be inside a string
    return cursor, any(token.text == ":-" for token in cursor.tokens)


def _slots(cursor: Cursor, piece: Piece) -> Iterator[Slot]:
    """The heads of a statement, each an annotation and an atom."""
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
    """Whether some head of a statement has a ``::``, outside brackets."""
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
    """The ``::`` is in the body or in brackets, where it has no meaning."""
    depth = 0
    while (token := cursor.next()).text not in ("::", ""):
        depth += (token.text in OPENING) - (token.text in CLOSING)
    if depth > 0:
        message = "'::' has no meaning inside brackets"
        cursor.fail("annotation-body", message, token, "write ':' before a condition")
    message = "only the head of a rule can have a probability"
    cursor.fail("annotation-body", message, token, _BODY_HELP)


def _find_mark(cursor: Cursor, piece: Piece) -> Token:
    """Go on to after the ``::`` of the next head."""
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
    """Take the atom after a ``::``; whatever else stands there cannot have a probability."""
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


# --- what stands before the '::' ----------------------------------------------------------------


def _weight(file: SourceFile, slot: Slot) -> ast.Weight:
    tokens, end = slot.annotation, slot.mark.start
    start = tokens[0].start if tokens else end
    cursor = Cursor(file, start, end, tokens)
    if len(tokens) == 1 and tokens[0].kind == "number":  # most are like this
        return _fixed(real(cursor, tokens[0]), file.span(start, tokens[0].end))
    return read_weight(cursor, slot.mark)


def _fixed(value: float, span: Span) -> ast.Fixed:
    return ast.Fixed(ast.Number(value, span), span)


def read_weight(cursor: Cursor, mark: Token) -> ast.Weight:
    """Read what stands before a ``::``."""
    if cursor.at_end():
        message = "a probability is missing before '::'"
        cursor.fail("probability-syntax", message, mark, FORM)
    first = cursor.peek()
    if first.text == "!":
        message = "'!' stands before the head of a neural statement only"
        help = "write a probability, or name a network: !::f(X, {a,b}) as @net :- input(X)."
        cursor.fail("frozen-not-neural", message, first, help)
    if first.text == "t" and cursor.peek(1).text == "(":
        message = "t(…) is how ProbLog writes a learnable probability"
        inner = cursor.peek(2)
        start = inner.text if inner.kind == "number" else ""
        cursor.fail("problog-learn", message, first, f"write {start}?::a")
    weight = _interval(cursor) if first.text == "[" else _fixed_or_learnable(cursor)
    if not cursor.at_end():
        _refuse_rest(cursor, first)
    return weight


def _refuse_rest(cursor: Cursor, first: Token) -> NoReturn:
    """Something is left before the ``::``."""
    rest = cursor.peek()
    message, help = f"unexpected '{rest.text}' before '::'", FORM
    if first.text == "(" and rest.text == ",":
        help = _INTERVAL_HELP
    elif first.text == "[":
        message, help = "the bounds of an interval are not learned", "write 0.5?::a or ?::a"
    elif first.text == "?":
        message = f"unexpected '{rest.text}' after '?'"
        help = "an initial value stands before it, 0.5?::a; a key in parentheses, ?(X)::a(X)"
    elif rest.text == "^":
        help = "a power is written 0.3**2"
    elif rest.text == ",":
        help = "a number has a dot, 0.3, and an interval square brackets, [0.2, 0.7]"
    cursor.fail("probability-syntax", message, rest, help)


def _interval(cursor: Cursor) -> ast.Interval:
    opening = cursor.next()
    if (token := cursor.peek()).text in ("]", ""):
        cursor.fail("interval-syntax", "the bounds are missing", opening, _INTERVAL_HELP)
    lower = read_expression(cursor)
    comma = cursor.next()
    if comma.text != ",":
        message = "an interval has two bounds with ',' between them"
        where = comma if comma.text else (token.start, cursor.end)
        cursor.fail("interval-syntax", message, where, _INTERVAL_HELP)
    upper = read_expression(cursor)
    if cursor.peek().text == ",":
        cursor.fail("interval-syntax", "a third bound", cursor.peek(), _INTERVAL_HELP)
    closing = cursor.expect("]", "interval-syntax", _INTERVAL_HELP)
    return ast.Interval(lower, upper, cursor.file.span(opening.start, closing.end))


def _fixed_or_learnable(cursor: Cursor) -> ast.Fixed | ast.Learnable:
    first = cursor.peek()
    tied = cursor.accept("*") is not None
    initial = None if cursor.peek().text == "?" else read_expression(cursor)
    if cursor.accept("?") is None:
        if tied or initial is None:
            help = "write ?*::a for one parameter shared by all instances"
            cursor.fail("probability-syntax", "'*' goes with a learnable '?'", first, help)
        return ast.Fixed(initial, initial.span)
    key: tuple[str, ...] = ()
    if cursor.peek().text == "(":
        key = _key(cursor)
    elif not tied:
        cursor.accept("*")
    last = cursor.peek(-1)
    return ast.Learnable(initial, key, cursor.file.span(first.start, last.end))


def _key(cursor: Cursor) -> tuple[str, ...]:
    """The variables in ``?(X, Y)``."""
    opening = cursor.next()
    names: list[str] = []
    help = "the key of a parameter is a list of variables, as in ?(X,Y)::edge(X,Y) :- …"
    if cursor.peek().text == ")":
        message = "the key of this parameter is empty"
        where = (opening.start, cursor.peek().end)
        cursor.fail("parameter-key", message, where, "write ?::a for one parameter for the rule")
    while True:
        token = cursor.next()
        if token.kind != "variable" or not token.text.strip("_"):
            what = f"'{token.text}' is not a variable" if token.text else "a variable is missing"
            cursor.fail("parameter-key", what, token, help)
        if token.text in names:
            cursor.fail("parameter-key", f"{token.text} is in the key twice", token, "keep one")
        names.append(token.text)
        if cursor.accept(")"):
            return tuple(names)
        cursor.expect(",", "parameter-key", help)
