"""``#semantics lstable, maxent.``: which models count, and how probability is spread.

>>> parse_semantics("maxent")
(None, <Probability.MAXENT: 'maxent'>)
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dpasp.dataclass import dataclass
from dpasp.errors import ProgramError, Span, UsageError, nearest
from dpasp.language.statements.factors import Factor, FactorTable
from dpasp.language.statements.statement import (
    NOWHERE,
    Logic,
    Probability,
    Program,
    SemanticsPair,
    Statement,
    span_field,
)
from dpasp.language.text import Cursor, Reading, SourceFile

_FORM = "semantics are written #semantics lstable, maxent."


@dataclass(frozen=True, slots=True)
class Semantics(Statement):
    """``#semantics lstable, maxent.``; None if not given."""

    logic: Logic | None
    probability: Probability | None
    span: Span = span_field()

    words = ("#semantics",)
    once = True
    form = "#semantics lstable, maxent."
    about = "which models count, and how they share probability"

    @staticmethod
    def read(cursor: Reading) -> Semantics:
        cursor.next()
        parenthesis = cursor.accept("(")
        logic, probability = read_semantics_words(cursor)
        cursor.expect_end(_FORM, parenthesis)
        return Semantics(logic, probability, cursor.span)

    def __str__(self) -> str:
        named = (self.logic, self.probability)
        return f"#semantics {', '.join(word.value for word in named if word)}."


def read_semantics_words(cursor: Cursor) -> tuple[Logic | None, Probability | None]:
    """Read ``lstable, maxent``."""
    known = {each.value: each for kind in (Logic, Probability) for each in kind}
    found: dict[type, Any] = {}
    while True:
        word = cursor.next()
        name = word.text.lower()
        if name not in known:
            missing = word.text in ("", ".")
            what = "a semantics is missing here" if missing else f"{word.text} is not a semantics"
            help = nearest(name.strip('"'), known) or f"known are {', '.join(known)}"
            cursor.fail("unknown-semantics", what, word, help)
        kind = type(known[name])
        if kind in found:
            what = "logic" if kind is Logic else "probabilistic"
            message = f"{name} is a second {what} semantics, after {found[kind].value}"
            cursor.fail("semantics-twice", message, word, "choose one of them")
        found[kind] = known[name]
        if cursor.accept(",") is None:
            if cursor.peek().text in known:
                help = "write a ',' between them"
                cursor.fail("directive-syntax", "a ',' is missing here", cursor.peek(), help)
            return found.get(Logic), found.get(Probability)


def parse_semantics(text: object) -> tuple[Logic | None, Probability | None]:
    """The semantics named in a text such as ``"lstable, maxent"``."""
    if not isinstance(text, str) or not text.strip():
        help = 'write one or two of their names, as in "lstable, maxent"'
        raise UsageError(f"{text!r} names no semantics", help=help)
    cursor = Cursor(SourceFile("", text), 0, len(text))
    try:
        named_semantics = read_semantics_words(cursor)
        if not cursor.at_end():
            help = "write one or two semantics, as in lstable, maxent"
            what = f"unexpected '{cursor.peek().text}'"
            cursor.fail("unknown-semantics", what, cursor.peek(), help)
    except ProgramError as error:  # not in a program
        raise ProgramError(replace(problem, span=None) for problem in error.diagnostics) from None
    return named_semantics


def effective_semantics(program: Program, override: str | None = None) -> SemanticsPair:
    """The program's semantics; ``override`` takes precedence, then defaults fill in.

    A program with factors is ``weighted`` by default.
    """
    logic, probability = parse_semantics(override) if override is not None else (None, None)
    default = SemanticsPair()
    for statement in program.statements:
        if isinstance(statement, Semantics):
            logic, probability = logic or statement.logic, probability or statement.probability
        elif isinstance(statement, Factor | FactorTable):
            default = SemanticsPair(probability=Probability.WEIGHTED)
    return SemanticsPair(logic or default.logic, probability or default.probability)


def with_semantics(program: Program, override: str | None) -> Program:
    """The program under other semantics; ``override`` may leave a part unchanged."""
    if override is None:
        return program
    statements = list(program.statements)
    places = (i for i, statement in enumerate(statements) if isinstance(statement, Semantics))
    place = next(places, len(statements))
    replaced = statements[place : place + 1]
    span = replaced[0].span if replaced else NOWHERE
    statements[place : place + 1] = [Semantics(*effective_semantics(program, override), span)]
    return replace(program, statements=tuple(statements))
