"""``#query``, ``#map``, ``#mpe`` and ``#evidence``, which clingo reads as constraints.

``#query a, undef b | not c.`` reaches clingo as ``:- a, b ; not c.`` with every literal in its
place.

>>> from dpasp.language import parse
>>> (query,) = parse("#query(a, not b | undef c).").statements
>>> question_text(query)
'a, not b | undef c'
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from enum import Enum
from typing import Any

from clingo.ast import AST, ASTType, Sign

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, ProgramError, Span
from dpasp.language.statements.kind import Draft, Kind, Setting
from dpasp.language.statements.neural import Neural
from dpasp.language.statements.statement import Statement, span_field
from dpasp.language.text import Buffer, Cursor, Piece, SourceFile, Sources, Token
from dpasp.language.text.clingo_text import exact, walk
from dpasp.language.text.lexer import CLOSING, OPENING

_AGGREGATE = re.compile(r"#max\s*\{")


class Mode(Enum):
    """The truth value that a literal of a query asks for."""

    TRUE = ""
    FALSE = "not "
    UNDEFINED = "undef "


@dataclass(frozen=True, slots=True)
class Literal:
    """``a``, ``not a`` or ``undef a`` in a query; the atom is a ``SymbolicAtom`` node."""

    mode: Mode
    atom: AST
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Query(Statement):
    """``#query a, not b | undef c.`` with comparisons as conditions on its variables."""

    literals: tuple[Literal, ...]
    evidence: tuple[Literal, ...]
    guards: tuple[AST, ...] = ()
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Map(Statement):
    """``#map a?, b? | e.``; ``#mpe | e.`` has no atoms and stands for all choices."""

    atoms: tuple[AST, ...]
    evidence: tuple[Literal, ...]
    guards: tuple[AST, ...] = ()
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Evidence(Statement):
    """``#evidence a, not b.``, added to the evidence of every query."""

    literals: tuple[Literal, ...]
    span: Span = span_field()


def read_question(file: SourceFile, piece: Piece, buffer: Buffer) -> Draft:
    """Read a question; its literals are left to clingo."""
    cursor = Cursor(file, piece.start, piece.end)
    word = cursor.next()
    directive = {"#pr": "#query", "#max": "#map"}.get(word.text, word.text)
    buffer.put(word.start, word.end, ":-")
    strip_parentheses(cursor, buffer)
    items = question_items(cursor, buffer, directive)
    span = file.span(piece.start, piece.end)
    if not any(not item.is_evidence for item in items) and directive != "#mpe":
        message = (
            "there is no evidence here" if directive == "#evidence" else "nothing is asked for"
        )
        cursor.fail("query-empty", message, word, FORMS[directive])
    if not piece.dotted and items:
        buffer.end_statement(piece.end)
    elif not items:
        buffer.blank(piece.start, piece.end)

    def finish(nodes: list[AST], sources: Sources) -> Statement | None:
        if items and not nodes:
            return None
        body = list(nodes[0].body) if items else []
        return _question(directive, items, body, sources, span)

    return Draft(finish, whole=not items)


def _asks(file: SourceFile, piece: Piece) -> bool:
    """Whether it is a question: ``#max {`` begins an aggregate."""
    return _AGGREGATE.match(file.text, piece.start, piece.end) is None


def _question(
    directive: str, items: list[QuestionItem], body: list[AST], sources: Sources, span: Span
) -> Statement:
    """The statement made of the items and clingo's literals."""
    if len(items) != len(body):
        raise _error("query-syntax", "this question cannot be read", span, FORMS[directive])
    asked: list[Literal] = []
    evidence: list[Literal] = []
    guards: list[AST] = []
    for item, node in zip(items, body, strict=True):
        atom = node.atom if node.ast_type == ASTType.Literal else None
        what = None if atom is None else atom.ast_type
        where = sources.span_of(node.location)
        if what == ASTType.Comparison:
            _check_guard(directive, item, where)
            guards.append(node)
            continue
        literal = read_literal(item, node, atom if what == ASTType.SymbolicAtom else None, where)
        if item.is_evidence or directive == "#evidence":
            check_anonymous(directive, literal)
        if directive == "#map" and not item.is_evidence:
            _check_map(item, literal)
        (evidence if item.is_evidence else asked).append(literal)
    if directive == "#evidence":
        return Evidence(tuple(asked), span)
    if directive == "#mpe" and asked:
        message = "#mpe asks for all choices at once, not for an atom"
        help = "write the evidence after '|', #mpe | a., or use #map to ask for some atoms"
        raise _error("mpe-atoms", message, asked[0].span, help)
    if directive != "#mpe" and not asked:
        message = "this asks for no atom, only compares"
        raise _error("query-empty", message, span, FORMS[directive])
    if directive == "#query":
        return Query(tuple(asked), tuple(evidence), tuple(guards), span)
    atoms = tuple(literal.atom for literal in asked)
    return Map(atoms, tuple(evidence), tuple(guards), span)


def _check_guard(directive: str, item: QuestionItem, where: Span) -> None:
    if directive == "#evidence":
        help = "write 'a' for true and 'not a' for false, and no comparisons"
        raise _error("query-literal", "evidence holds atoms only", where, help)
    if item.undefined or item.mark:
        message = "a comparison is neither undefined nor asked for"
        raise _error("query-literal", message, where, FORMS[directive])


def check_anonymous(directive: str, literal: Literal) -> None:
    """Refuse '_' in evidence, except in a negation, where its meaning is clear."""
    if directive != "#query" and literal.mode is Mode.FALSE:
        return
    if any(part.ast_type == ASTType.Variable and part.name == "_" for part in walk(literal.atom)):
        shown = f"{literal.mode.value}{literal.atom}"
        message = f"'{shown}' in evidence could mean some instance or every instance"
        every = (
            "has one question for each value" if directive == "#query" else "means every instance"
        )
        help = f"name the variable, which {every}, or for some instance write 'some :- {shown}.'"
        help += " and give 'some' as evidence"
        raise _error("evidence-anonymous", message, literal.span, help)


def _check_map(item: QuestionItem, literal: Literal) -> None:
    """Refuse atoms of ``#map`` without '?'."""
    if literal.mode is not Mode.TRUE:
        message = "#map asks for atoms, which may turn out true or false"
        help = f"write '{literal.atom}?', or put '{literal.mode.value}{literal.atom}' after '|'"
        raise _error("query-mark", message, literal.span, help)
    if item.mark is None:
        help = f"write '{literal.atom}?' to ask for it, or put it after '|' as evidence"
        message = "an atom that #map asks for is marked with '?'"
        raise _error("query-mark", message, literal.span, help)


def read_literal(item: QuestionItem, node: AST, atom: AST | None, where: Span) -> Literal:
    """A literal from clingo's node; refused unless it is about an ``atom``."""
    if atom is None:
        help = "define an atom by a rule and ask for that"
        raise _error("query-literal", "a question holds atoms only", where, help)
    sign = node.sign
    if sign == Sign.DoubleNegation:
        message = "a question cannot have a double negation"
        raise _error("query-literal", message, where, "drop 'not not'")
    if item.undefined is not None:
        return Literal(Mode.UNDEFINED, atom, item.undefined.to(where))
    mode = Mode.TRUE if sign == Sign.NoSign else Mode.FALSE
    return Literal(mode, atom, where)


def _error(code: str, message: str, span: Span, help: str) -> ProgramError:
    return ProgramError(Diagnostic(code, message, span, help))


# --- several outcomes ---------------------------------------------------------------------------


def join_outcomes(statements: list[Statement]) -> tuple[Statement, ...]:
    """Turn ``f(x, a; 3)`` in questions into ``f(x, a, 3)`` for neural predicates with outcomes."""
    names = {s.name for s in statements if isinstance(s, Neural) and s.outcomes}
    if not names:
        return tuple(statements)

    def atom(node: AST) -> AST:
        pool = node.symbol
        if pool.ast_type != ASTType.Pool or len(pool.arguments) != 2:
            return node
        first, second = pool.arguments
        if first.ast_type != ASTType.Function or first.name not in names:
            return node
        joined = [*first.arguments, *second.arguments]
        return node.update(symbol=first.update(arguments=joined))

    def literals(some: tuple[Literal, ...]) -> tuple[Literal, ...]:
        return tuple(Literal(lit.mode, atom(lit.atom), lit.span) for lit in some)

    def joined(statement: Statement) -> Statement:
        parts = [name for name in ("literals", "evidence") if hasattr(statement, name)]
        changed: dict[str, Any] = {name: literals(getattr(statement, name)) for name in parts}
        if isinstance(statement, Map):
            changed["atoms"] = tuple(map(atom, statement.atoms))
        return replace(statement, **changed) if changed else statement  # type: ignore[type-var]

    return tuple(map(joined, statements))


def asks_one(statements: Sequence[Statement]) -> bool:
    """Whether statements ask one query, without variables: one number, and not a list of them."""
    asked = [s for s in statements if isinstance(s, Query | Map)]
    if len(asked) != 1 or not isinstance(asked[0], Query):
        return False
    terms = [literal.atom for literal in (*asked[0].literals, *asked[0].evidence)]
    return not any(part.ast_type == ASTType.Variable for term in terms for part in walk(term))


# --- printing and checks -----------------------------------------------------------------------


def literal_text(literal: Literal) -> str:
    """``undef a``."""
    return f"{literal.mode.value}{exact(literal.atom)}"


def _question_word(question: Query | Map) -> str:
    if isinstance(question, Query):
        return "#query"
    return "#map" if question.atoms else "#mpe"


def question_text(question: Query | Map) -> str:
    """A question without its directive: ``a, not b | c``."""
    if isinstance(question, Query):
        asked = [literal_text(literal) for literal in question.literals]
    else:
        asked = [f"{exact(atom)}?" for atom in question.atoms]
    evidence = [literal_text(literal) for literal in question.evidence]
    guards = list(map(exact, question.guards))
    if evidence:
        evidence += guards
    else:
        asked += guards
    return ", ".join(asked) + (f"{' ' if asked else ''}| {', '.join(evidence)}" if evidence else "")


def _text(question: Query | Map) -> str:
    return f"{_question_word(question)} {question_text(question)}".rstrip() + "."


def evidence_text(statement: Evidence) -> str:
    return f"#evidence {', '.join(map(literal_text, statement.literals))}."


def literals_of(question: Query | Map | Evidence) -> tuple[Literal, ...]:
    """The literals of a question, evidence last, without the atoms of a map."""
    match question:
        case Query(literals, evidence):
            return (*literals, *evidence)
        case Map(_, evidence):
            return evidence
        case Evidence(literals):
            return literals


def _terms(question: Query | Map | Evidence) -> Iterator[AST]:
    if isinstance(question, Map):
        yield from question.atoms
    yield from (literal.atom for literal in literals_of(question))
    if not isinstance(question, Evidence):
        yield from question.guards


def check_questions(
    questions: Sequence[Query | Map | Evidence], setting: Setting
) -> Iterator[Diagnostic]:
    """``undef a`` under a two-valued semantics."""
    every = (literal for question in questions for literal in literals_of(question))
    yield from undefined_problems(every, setting)


def undefined_problems(literals: Iterable[Literal], setting: Setting) -> Iterator[Diagnostic]:
    """``undef a`` under a two-valued semantics."""
    logic = setting.meaning.logic
    if logic.three_valued:
        return
    for literal in literals:
        if literal.mode is Mode.UNDEFINED:
            yield Diagnostic(
                "undef-two-valued",
                f"no atom is ever undefined under the {logic.value} semantics",
                literal.span,
                "say '#semantics lstable.', partial, smproblog or wellfounded",
            )


# --- cutting a question into literals -----------------------------------------------------------

FORMS: dict[str, str] = {
    "#query": "a query is written #query a, not b | c.",
    "#map": "a map query is written #map a?, b? | c.",
    "#mpe": "the most probable explanation is written #mpe | c.",
    "#evidence": "evidence is written #evidence a, not b.",
}

# Signs that are not allowed between the literals of a question.
_FOREIGN = {
    ";": (
        "the literals of a question have ',' between them",
        "write ','; for 'or', define an atom by two rules and ask for that",
    ),
    ":": ("a question cannot have conditions", "define an atom by a rule and ask for that"),
    ":-": (
        "a question is not a rule",
        "write the rule as a statement of its own, and ask for its head",
    ),
    "::": ("a question cannot have probabilities", "write 0.3::a. as a statement of its own"),
}


@dataclass(slots=True)
class QuestionItem:
    """A literal as written: whether it is evidence, its ``undef`` and its '?'."""

    is_evidence: bool
    undefined: Span | None = None
    mark: Span | None = None


def strip_parentheses(cursor: Cursor, buffer: Buffer) -> None:
    """Blank out the parentheses around a whole question."""
    if cursor.peek().text != "(":
        return
    start = cursor.index
    opening, closing = cursor.peek(), cursor.skip_group()
    if cursor.peek().text in (".", ""):
        buffer.blank(opening.start, opening.end)
        buffer.blank(closing.start, closing.end)
        del cursor.tokens[cursor.index - 1]
        cursor.index = start + 1
    else:
        cursor.index = start


def question_items(cursor: Cursor, buffer: Buffer, directive: str) -> list[QuestionItem]:
    """Cut a question into literals and blank out what clingo does not know."""
    items: list[QuestionItem] = []
    item: QuestionItem | None = None
    barred, depth = False, 0
    while not cursor.at_end():
        token = cursor.next()
        text = token.text
        if depth > 0 or text in CLOSING:
            pass
        elif text == "." and cursor.at_end():
            break
        elif text == "|":
            _check_bar(cursor, token, directive, barred)
            barred = True
            buffer.put(token.start, token.end, ";" if items else " ")
            item = None
        elif text == ",":
            item = None
        elif text in _FOREIGN:
            message, help = _FOREIGN[text]
            cursor.fail("query-syntax", message, token, help)
        elif text == "?":
            _check_question_mark(cursor, token, directive, item)
            assert item is not None
            item.mark = cursor.file.span(token.start, token.end)
            buffer.blank(token.start, token.end)
        elif item is None:
            item = QuestionItem(is_evidence=barred)
            items.append(item)
            _undefined(cursor, buffer, token, item)
        depth += (text in OPENING) - (text in CLOSING)
    return items


def _check_bar(cursor: Cursor, token: Token, directive: str, barred: bool) -> None:
    if directive in ("#evidence", "#utility"):
        what = "evidence" if directive == "#evidence" else "a utility"
        cursor.fail("query-bar", f"{what} has no '|'", token, FORMS[directive])
    if barred:
        cursor.fail("query-bar", "a second '|'", token, "keep one, and join literals by ','")
    if cursor.peek().text in (".", ""):
        message = "no evidence follows the '|'"
        cursor.fail("query-bar", message, token, f"remove it; {FORMS[directive]}")


def _check_question_mark(
    cursor: Cursor, token: Token, directive: str, item: QuestionItem | None
) -> None:
    """Refuse a '?' anywhere but after an atom that ``#map`` asks for."""
    if item is None:
        cursor.fail("query-mark", "'?' comes after the atom that it marks", token, FORMS["#map"])
    if directive != "#map":
        help = f"write #map to ask for the most probable value; {FORMS[directive]}"
        cursor.fail("query-mark", "this '?' has no meaning here", token, help)
    if item.is_evidence:
        message = "evidence is not marked with '?'"
        cursor.fail("query-mark", message, token, "remove the '?', or move the atom before '|'")


def _undefined(cursor: Cursor, buffer: Buffer, token: Token, item: QuestionItem) -> None:
    """Record and blank out the ``undef`` before a literal."""
    negated = token.text == "not" and cursor.peek().text == "undef"
    word = cursor.peek() if negated else token
    after = cursor.peek(1) if negated else cursor.peek()
    if word.text != "undef" or after.text in (",", ".", "|", "(", "?", ")", "", "="):
        return
    if negated or after.text == "not":
        message = "'undef' and 'not' do not go together"
        cursor.fail("query-literal", message, (token.start, after.end), "keep one of them")
    item.undefined = cursor.file.span(token.start, token.end)
    buffer.blank(token.start, token.end)


QUERY = Kind(
    Query,
    _text,
    ("#query", "#pr"),
    read=read_question,
    terms=_terms,
    check=check_questions,
    open_ended=True,
    form="#query a, not b | undef c.",
    about="the probability of literals, given others; `#pr` is the same",
)
MAP = Kind(
    Map,
    _text,
    ("#map", "#mpe", "#max"),
    recognise=_asks,
    read=read_question,
    terms=_terms,
    check=check_questions,
    open_ended=True,
    form="#map a?, b? | c.",
    about="the most probable values of atoms (`#max` is the same); `#mpe` of all choices",
)
EVIDENCE = Kind(
    Evidence,
    evidence_text,
    ("#evidence",),
    read=read_question,
    terms=_terms,
    check=check_questions,
    form="#evidence a, not b.",
    about="literals added to the evidence of every question",
)
