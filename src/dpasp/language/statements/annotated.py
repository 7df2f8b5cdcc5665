"""Annotated statements: probabilistic and credal facts, rules and disjunctions.

``0.4::a(X); 0.6::b(X) :- c(X).`` is clingo's disjunctive rule with two annotations, which are read
here and blanked out. Anything else in place of a head is refused, and the error says what to write.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, NamedTuple, NoReturn

from clingo.ast import AST, ASTType

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, ProgramError, Span
from dpasp.language.statements.expressions import Number, real_value
from dpasp.language.statements.statement import (
    Draft,
    FromRow,
    Probability,
    SemanticsPair,
    Setting,
    Statement,
    clingo_terms,
    lazy_span_field,
)
from dpasp.language.statements.weights import (
    Fixed,
    Head,
    Interval,
    Learnable,
    Weight,
    are_probabilities,
    distribution,
    expressions,
    probability,
    read_weight,
    unknown_names,
    weight_variables,
)
from dpasp.language.text import Cursor, Piece, Reading, SourceFile, Sources, Token
from dpasp.language.text.clingo_text import RowPlace, body_text, global_variables
from dpasp.language.text.lexer import CLOSING, HEADS, OPENING, outside

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


def _head_tokens(whole: Cursor) -> tuple[Cursor, bool]:
    """The tokens of the heads, and whether there is a body."""
    text = whole.file.text
    arrow = _IF.search(text, whole.start, whole.end)
    if arrow is None:
        return whole, False
    head = text[whole.start : arrow.start()]
    if '"' not in head and "%" not in head:
        return Cursor(whole.file, whole.start, arrow.start()), True
    return whole, any(token.text == ":-" for token in whole.tokens)  # it may be inside a string


def _head_slots(cursor: Cursor, whole: Cursor) -> Iterator[Slot]:
    """The heads of a statement, each an annotation and an atom.

    Raises :class:`ProgramError` if one lacks either or is something else.
    """
    while True:
        start = cursor.index
        mark = _find_mark(cursor, whole)
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
    marks = (token.text for _, token in outside(cursor.tokens) if token.text in ("::", ":-"))
    return next(marks, "") == "::"


def _refuse_body(cursor: Cursor) -> NoReturn:
    token = next(token for token in cursor.tokens if token.text == "::")
    if all(other is not token for _, other in outside(cursor.tokens)):
        message = "'::' has no meaning inside brackets"
        cursor.fail("annotation-body", message, token, "write ':' before a condition")
    message = "only the head of a rule can have a probability"
    cursor.fail("annotation-body", message, token, _BODY_HELP)


def _find_mark(cursor: Cursor, whole: Cursor) -> Token:
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
        _refuse_body(whole)
    if first.kind == "number" and text == "," and cursor.peek().kind == "number":
        message = "a number has a dot, not a comma"
        where, help = (first.start, cursor.peek().end), f"write {first.text}.{cursor.peek().text}"
        cursor.fail("probability-syntax", message, where, help)
    end = cursor.peek(-2).end if token is not first else first.end
    message = "this head has no probability, but another one of the statement has"
    help = "annotate every head, for example with the rest of the probability, or with ?"
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
    """Refuse anything but an atom after a ``::``."""
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
        message = f"{token.text} is a variable, but an atom belongs here"
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


class Row(NamedTuple):
    """A row of a table (see :class:`RowTexts`): its texts and its place."""

    numbers: tuple[float, ...]  # the probabilities of its heads
    atoms: tuple[str, ...]  # of its heads
    condition: str  # its body
    place: RowPlace

    def span(self) -> Span:
        return self.place.span()

    def heads(self) -> tuple[Head, ...]:
        file = self.place.rows.file
        matches = HEADS.finditer(file.text, *self.place.ends())
        heads = []
        for index, (value, match) in enumerate(zip(self.numbers, matches, strict=True)):
            weight = _fixed(value, file.span(*match.span(1)))
            span = file.span(*match.span())
            heads.append(Head.of_row(RowHead(self.place, index), {"weight": weight, "span": span}))
        return tuple(heads)

    def body(self) -> tuple[AST, ...]:
        return tuple(self.place.node().body)


class RowHead(NamedTuple):
    """One of the heads of a row, whose atom is extracted on first use.

    That is slow, and rows of large tables are mostly handled as text.
    """

    place: RowPlace
    at: int

    def atom(self) -> AST:
        head = self.place.node().head
        single = head.ast_type == ASTType.Literal
        atom: AST = head.atom if single else head.elements[self.at].literal.atom
        return atom


@dataclass(frozen=True)
class Annotated(FromRow, Statement):
    """A probabilistic or credal fact, rule or annotated disjunction.

    The heads, body and span of a row are made on first use, which most rows never need.
    """

    heads: tuple[Head, ...]
    body: tuple[AST, ...]
    span: Span = lazy_span_field()
    row: ClassVar[Row | None] = None  # what a row is made from

    form = "0.4::a(X); 0.6::b(X) :- c(X)."
    about = "a choice for each instance: probabilities, intervals or parameters"

    @staticmethod
    def recognise(file: SourceFile, piece: Piece) -> bool:
        return piece.annotated

    @staticmethod
    def read(cursor: Reading) -> Draft:
        weights: list[Weight] = []
        spans = []
        heads, has_body = _head_tokens(cursor)
        for slot in _head_slots(heads, cursor):
            start = slot.annotation[0].start if slot.annotation else slot.mark.start
            weights.append(_weight(cursor.file, slot))
            spans.append(cursor.file.span(start, slot.end))
            cursor.buffer.blank(start, slot.mark.end)
        span = cursor.span

        def finish(nodes: list[AST], sources: Sources) -> Statement | None:
            (node,) = nodes
            body = tuple(node.body) if has_body else ()
            heads = map(Head, weights, head_atoms(node, len(weights)), spans)
            return Annotated(tuple(heads), body, span)

        return Draft(finish)

    @staticmethod
    def check(statements: Sequence[Annotated], setting: Setting) -> Iterator[Diagnostic]:
        for statement in statements:
            yield from _problems(statement, setting.numbers, setting.meaning)

    def __str__(self) -> str:
        return "; ".join(map(str, self.heads)) + body_text(self.body)


def read_row(match: re.Match[str], place: RowPlace) -> Annotated:
    """Read a row of a table, without clingo."""
    number, atom, more, body = match.group("number", "atom", "more", "body")
    numbers: tuple[float, ...] = (float(number),)
    atoms: tuple[str, ...] = (atom,)
    if more:
        heads = HEADS.findall(match["heads"])
        numbers = tuple([float(number) for number, _ in heads])
        atoms = tuple([atom for _, atom in heads])
    return Annotated.of_row(Row(numbers, atoms, body or "", place), {})


def head_atoms(rule: AST, count: int) -> list[AST]:
    """The atoms in the head of a rule, an atom or a disjunction of atoms."""
    head = rule.head
    return [head.atom] if count == 1 else [element.literal.atom for element in head.elements]


def _weight(file: SourceFile, slot: Slot) -> Weight:
    tokens, end = slot.annotation, slot.mark.start
    start = tokens[0].start if tokens else end
    cursor = Cursor(file, start, end, tokens)
    if len(tokens) == 1 and tokens[0].kind == "number":  # the common case
        return _fixed(real_value(cursor, tokens[0]), file.span(start, tokens[0].end))
    return read_weight(cursor, slot.mark)


def _fixed(value: float, span: Span) -> Fixed:
    return Fixed(Number(value, span), span)


# --- checks ------------------------------------------------------------------------------------


def _problems(
    statement: Annotated, values: Mapping[str, float] | None, meaning: SemanticsPair
) -> Iterator[Diagnostic]:
    """Problems of one statement; values are skipped if the constants are unknown."""
    if statement.row is not None and are_probabilities(statement.row.numbers):
        return
    weights = [head.weight for head in statement.heads]
    first = next((weight for weight in weights if isinstance(weight, Interval)), None)
    if first is not None and meaning.probability is not Probability.CREDAL:
        yield Diagnostic(
            "credal-under-maxent",
            f"an interval of probabilities has no meaning under {meaning.probability.value}",
            first.span,
            "say '#semantics credal.', or give one probability",
        )
    names = [name for weight in weights for name in weight_variables(weight)]
    keyed = [weight for weight in weights if isinstance(weight, Learnable)]
    if names or any(weight.key for weight in keyed):
        known = global_variables(clingo_terms(statement))
        help = "name a variable of the head or the body"
        yield from unknown_names(weights, known, "in the rule", help)
    for weight in keyed:
        if set(weight.key) != set(keyed[0].key):
            message = "the parameters of one statement have the same key"
            yield Diagnostic("parameter-key", message, weight.span, "write the same key for all")
    if values is not None:
        yield from _values(statement, values, known=not names)


def _values(statement: Annotated, values: Mapping[str, float], known: bool) -> Iterator[Diagnostic]:
    """Probabilities out of range; their sum, if all are known."""
    whole: list[Diagnostic] = []
    if known:
        try:
            distribution(statement.heads, values)
        except ProgramError as error:
            whole += error.diagnostics
        else:
            return
    wrong: list[Diagnostic] = []
    for head in statement.heads:
        for expression in expressions(head.weight):
            try:
                if known or not any(weight_variables(Fixed(expression))):
                    probability(expression, values)
            except ProgramError as error:
                wrong += error.diagnostics
    yield from wrong or whole
