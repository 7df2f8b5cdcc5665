r"""The families' programs in the languages of other systems.

Only what the stratified families use is read: annotated facts, rules and disjunctions, plain
rules, ``not``, and one query.

>>> print(problog(parse("0.3::a. b :- a, not c. #query b | a.")))
0.3::a.
b :- a, \+c.
given :- a.
asked :- b.
query(asked).
evidence(given).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

ASKED, GIVEN = "asked", "given"  # the query and its evidence, as one atom each
_STATEMENT = re.compile(r"\.(?=\s|$)")  # a dot that is neither of a number nor of an interval
_VARIABLE = re.compile(r"\b[A-Z]")


@dataclass(frozen=True, slots=True)
class Statement:
    """A rule or a fact; its heads have probabilities if it is annotated."""

    heads: tuple[tuple[str | None, str], ...]
    body: tuple[str, ...] = ()

    @property
    def annotated(self) -> bool:
        """Whether it is a choice."""
        return any(probability is not None for probability, _ in self.heads)


@dataclass(frozen=True, slots=True)
class Text:
    """A program with its query and the evidence of that."""

    statements: tuple[Statement, ...]
    query: tuple[str, ...]
    evidence: tuple[str, ...]


def parse(text: str) -> Text:
    """The statements of a program of the families."""
    parts = [part.strip() for part in _STATEMENT.split(text) if part.strip()]
    asked = next(part for part in parts if part.startswith("#query"))
    query, _, evidence = asked.removeprefix("#query").partition("|")
    rules = tuple(_statement(part) for part in parts if part is not asked)
    return Text(rules, _split(query, ","), _split(evidence, ","))


def _statement(text: str) -> Statement:
    head, _, body = text.partition(":-")
    heads = []
    for one in _split(head, ";"):
        probability, mark, atom = one.rpartition("::")
        heads.append((probability if mark else None, atom))
    return Statement(tuple(heads), _split(body, ","))


def _split(text: str, separator: str) -> tuple[str, ...]:
    """The parts of a text between separators that are outside brackets."""
    parts, depth, start = [], 0, 0
    for i, letter in enumerate(text):
        depth += (letter in "({[") - (letter in ")}]")
        if letter == separator and not depth:
            parts.append(text[start:i])
            start = i + 1
    return tuple(part.strip() for part in (*parts, text[start:]) if part.strip())


# --- other languages ------------------------------------------------------------------------


def problog(text: Text) -> str:
    """The program for ProbLog."""
    lines = [_prolog(statement) for statement in (*text.statements, *_question(text, ()))]
    lines.append(f"query({ASKED}).")
    if text.evidence:
        lines.append(f"evidence({GIVEN}).")
    return "\n".join(lines)


def aspmc(text: Text) -> str:
    """The program for aspmc, which knows no evidence: both of P(q, e) and P(e) are asked."""
    given = (GIVEN,) if text.evidence else ()
    lines = [_prolog(statement) for statement in (*text.statements, *_question(text, given))]
    lines += [f"query({atom})." for atom in (ASKED, *given)]
    return "\n".join(lines)


def plingo(text: Text) -> str:
    """The program for plingo's ProbLog front end: clingo with a weight in the body."""
    lines: list[str] = []
    for i, statement in enumerate((*text.statements, *_question(text, ()))):
        lines += _weighted(statement, f"choice({i})")
    lines.append(f"&query({ASKED}).")
    if text.evidence:
        lines.append(f"&evidence({GIVEN}).")
    return "\n".join(lines)


def _question(text: Text, joined: tuple[str, ...]) -> Iterator[Statement]:
    """The rules of what is given and what is asked (together with ``joined``)."""
    if text.evidence:
        yield Statement(((None, GIVEN),), text.evidence)
    yield Statement(((None, ASKED),), (*text.query, *joined))


def _prolog(statement: Statement) -> str:
    body = [re.sub(r"^not\s+", r"\\+", literal) for literal in statement.body]
    return _rule(_heads(statement.heads), body)


def _heads(heads: Iterable[tuple[str | None, str]]) -> str:
    return "; ".join(f"{p}::{atom}" if p is not None else atom for p, atom in heads)


def _rule(head: str, body: Iterable[str]) -> str:
    literals = ", ".join(body)
    return f"{head} :- {literals}." if literals else f"{head}."


def _weighted(statement: Statement, choice: str) -> list[str]:
    """A statement with ``&problog`` or ``&log`` weights.

    A weight counts where the body holds, so a rule's choice becomes a fact of its own.
    """
    if not statement.annotated:
        return [_rule(_heads(statement.heads), statement.body)]
    (probability, head), *more = statement.heads
    if more:
        if statement.body:
            raise ValueError("no annotated disjunction with a body is translated")
        atoms = "; ".join(atom for _, atom in statement.heads)
        weights = [f'{atom} :- &log("{p}").' for p, atom in statement.heads]
        return [f"1 {{ {atoms} }} 1.", *weights]
    if not statement.body:
        return [f'{head} :- &problog("{probability}").']
    if any(_VARIABLE.search(part) for part in (head, *statement.body)):
        raise ValueError("no annotated rule with variables is translated")
    return [f'{choice} :- &problog("{probability}").', _rule(head, (*statement.body, choice))]


# --- arithmetic -----------------------------------------------------------------------------


def with_is(text: Text, places: int) -> Text:
    """The addition of digits as one writes it in Prolog: each carry asks for the one before."""
    rules = """
carry(0,0).
sum(I,S) :- x(I,A), y(I,B), carry(I,C), S is (A+B+C) mod 10.
carry(J,D) :- J > 0, I is J-1, x(I,A), y(I,B), carry(I,C), D is (A+B+C)//10. #query a."""
    return replace(text, statements=(*_choices(text), *parse(rules).statements))


def with_tables(text: Text, places: int) -> Text:
    """The addition of digits with tables in place of arithmetic."""
    rules = """
carry(0,0).
sum(I,S) :- x(I,A), y(I,B), carry(I,C), add(A,B,C,S,D).
carry(J,D) :- x(I,A), y(I,B), carry(I,C), add(A,B,C,S,D), next(I,J). #query a."""
    digits = [(a, b, c) for a in range(10) for b in range(10) for c in range(2)]
    facts = [f"add({a},{b},{c},{(a + b + c) % 10},{(a + b + c) // 10})" for a, b, c in digits]
    facts += [f"next({i},{i + 1})" for i in range(places)]
    tables = (Statement(((None, fact),)) for fact in facts)
    return replace(text, statements=(*_choices(text), *parse(rules).statements, *tables))


def _choices(text: Text) -> tuple[Statement, ...]:
    return tuple(statement for statement in text.statements if statement.annotated)
