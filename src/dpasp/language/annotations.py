"""Annotated statements: probabilistic and credal facts, rules and disjunctions.

A statement ``0.4::a(X); 0.6::b(X) :- c(X).`` is clingo's disjunctive rule with two
annotations: they are read here and blanked out, clingo reads the rest.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NoReturn

from clingo.ast import AST, ASTType

from dpasp.errors import Diagnostic, ProgramError, Span
from dpasp.language import ast
from dpasp.language.buffer import Buffer
from dpasp.language.cursor import CLOSING, OPENING, Cursor
from dpasp.language.expressions import read_expression
from dpasp.language.lexer import Piece, Token
from dpasp.language.source import SourceFile, Sources

FORM = "write a probability such as 0.3::a, an interval [0.2, 0.7]::a, or ?::a to learn it"

_IF = re.compile("(?<!:):-")  # not the end of '::' and a classical negation, as in 0.3::-a

Finish = Callable[[AST | None, Sources], ast.Statement | None]


@dataclass(frozen=True, slots=True)
class Draft:
    """A statement of ours that waits for what clingo makes of the rest of it.

    ``needs`` is false when nothing of it is left to clingo.
    """

    start: int
    end: int
    finish: Finish
    needs: bool = True


@dataclass(frozen=True, slots=True)
class Slot:
    """One head of an annotated statement: where its annotation and its atom are."""

    start: int
    annotation: list[Token]
    mark: Token
    end: int


def read_annotated(file: SourceFile, piece: Piece, buffer: Buffer) -> Draft:
    """Read the annotations of a statement and leave the rest of it to clingo."""
    cursor = Cursor(file, piece.start, _head_end(file.text, piece))
    weights, spans = [], []
    for slot in head_slots(cursor):
        weights.append(read_weight(Cursor(file, slot.start, slot.mark.start, slot.annotation)))
        spans.append(file.span(slot.start, slot.end))
        buffer.blank(slot.start, slot.mark.end)
    span = file.span(piece.start, piece.end)

    def finish(node: AST | None, sources: Sources) -> ast.Statement | None:
        if node is None:
            return None
        atoms = head_atoms(node, sources, span)
        if len(atoms) != len(weights):
            raise _error("annotated-head", "every annotation needs one atom after it", span)
        heads = tuple(map(ast.Head, weights, atoms, spans))
        return ast.Annotated(heads, tuple(node.body), span)

    return Draft(piece.start, piece.end, finish)


def _head_end(text: str, piece: Piece) -> int:
    """Where the head ends for sure, so that a long body need not be read here."""
    found = _IF.search(text, piece.start, piece.end)
    end = found.start() if found else -1
    if end < 0 or '"' in text[piece.start : end] or "%" in text[piece.start : end]:
        return piece.end
    return end


def head_slots(cursor: Cursor) -> Iterator[Slot]:
    """The heads of a statement, cut at separators outside brackets; each must be annotated."""
    depth, start, first, mark = 0, cursor.start, 0, None
    tokens = cursor.tokens
    annotation: list[Token] = []
    for index, token in enumerate(tokens):
        text = token.text
        if start < 0:
            start, first = token.start, index
        if text in OPENING:
            depth += 1
        elif text in CLOSING:
            depth -= 1
        if text == "::" and depth == 0:
            if mark is not None:
                _second_annotation(cursor, mark, token)
            mark, annotation = token, tokens[first:index]
        ends = text == ":-" or (text == "." and index == len(tokens) - 1)
        if depth == 0 and (ends or text in (";", "|", ",")):
            if mark is None:
                cursor.fail(
                    "annotation-missing",
                    "a head without a probability among annotated ones",
                    (start, max(token.start, start + 1)),
                    "annotate every head, for example with the probability that is left",
                )
            yield Slot(start, annotation, mark, token.start)
            start, mark = -1, None
            if ends:
                return
    if mark is not None:
        yield Slot(start, annotation, mark, tokens[-1].end)


def _second_annotation(cursor: Cursor, first: Token, second: Token) -> NoReturn:
    """A head with two annotations, or, on two lines, a statement without its dot."""
    between = cursor.file.text[first.end : second.start]
    line, newline, _ = between.rpartition("\n")
    if newline and line.strip():
        end = first.end + len(line.rstrip())
        message = "the dot at the end of this statement is missing"
        cursor.fail("missing-dot", message, (end - 1, end), "end it with a dot")
    cursor.fail("annotation-twice", "this head has two annotations", second, "keep one")


def read_weight(cursor: Cursor) -> ast.Weight:
    """Read what stands before a ``::``."""
    if cursor.at_end():
        where = (cursor.end, cursor.end + 2)
        cursor.fail("probability-syntax", "a probability is missing before '::'", where, FORM)
    weight: ast.Weight
    if cursor.peek().text == "[":
        weight = _interval(cursor)
    elif cursor.peek().text == "!":
        cursor.fail(
            "frozen-not-neural",
            "'!' stands before the head of a neural statement only",
            cursor.peek(),
            "write a probability, or name a network: '!::f(X, {a,b}) as @net :- input(X).'",
        )
    else:
        weight = _fixed_or_learnable(cursor)
    if not cursor.at_end():
        rest = cursor.peek()
        cursor.fail("probability-syntax", f"unexpected '{rest.text}' before '::'", rest, FORM)
    return weight


def _interval(cursor: Cursor) -> ast.Interval:
    opening = cursor.next()
    help = "an interval is written [0.2, 0.7]::f"
    lower = read_expression(cursor)
    cursor.expect(",", "interval-syntax", help)
    upper = read_expression(cursor)
    closing = cursor.expect("]", "interval-syntax", help)
    return ast.Interval(lower, upper, cursor.file.span(opening.start, closing.end))


def _fixed_or_learnable(cursor: Cursor) -> ast.Fixed | ast.Learnable:
    start = cursor.peek().start
    tied = cursor.accept("*") is not None
    initial = None
    if cursor.peek().text != "?":
        initial = read_expression(cursor)
    mark = cursor.accept("?")
    if mark is None:
        if tied or initial is None:
            cursor.fail(
                "probability-syntax", "'*' goes with a learnable '?'", (start, start + 1), FORM
            )
        return ast.Fixed(initial, initial.span)
    key: tuple[str, ...] = ()
    if cursor.peek().text == "(":
        key = _key(cursor)
    elif not tied:
        cursor.accept("*")
    last = cursor.peek(-1)
    return ast.Learnable(initial, key, cursor.file.span(start, last.end))


def _key(cursor: Cursor) -> tuple[str, ...]:
    """The variables in ``?(X, Y)``."""
    cursor.next()
    names: list[str] = []
    help = "the key of a parameter is a list of variables, as in ?(X,Y)::edge(X,Y)"
    while True:
        token = cursor.next()
        if token.kind != "variable" or not token.text.strip("_"):
            cursor.fail("parameter-key", f"'{token.text}' is not a variable", token, help)
        names.append(token.text)
        if cursor.accept(")"):
            return tuple(names)
        cursor.expect(",", "parameter-key", help)


def head_atoms(node: AST, sources: Sources, span: Span) -> list[AST]:
    """The atoms of the rule that clingo read, in the order of the text."""
    if node.ast_type != ASTType.Rule:
        raise _error("annotated-head", "only the head of a rule can have a probability", span)
    head = node.head
    if head.ast_type == ASTType.Literal:
        literals = [head]
    elif head.ast_type == ASTType.Disjunction:
        literals = []
        for element in head.elements:
            if element.condition:
                raise _error(
                    "conditional-head",
                    "a conditional literal cannot have a probability",
                    sources.span_of(element.location),
                    "put the condition into the body",
                )
            literals.append(element.literal)
    else:
        raise _error(
            "annotated-head",
            "a choice or an aggregate cannot have a probability",
            sources.span_of(head.location),
            "annotate atoms: 0.3::a; 0.7::b.",
        )
    atoms = [literal.atom for literal in literals]
    for literal, atom in zip(literals, atoms, strict=True):
        if literal.sign or atom.ast_type != ASTType.SymbolicAtom:
            raise _error(
                "annotated-head",
                "only an atom can have a probability",
                sources.span_of(literal.location),
                "write an atom after '::', without 'not' and without a comparison",
            )
    return sorted(atoms, key=_position) if len(atoms) > 1 else atoms


def _position(atom: AST) -> tuple[int, int]:
    begin = atom.symbol.location.begin
    return begin.line, begin.column


def _error(code: str, message: str, span: Span, help: str = "") -> ProgramError:
    return ProgramError(Diagnostic(code, message, span, help))
