"""Rows that are read at a glance: the same statements, places and mistakes as without that."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import pytest

import dpasp
from dpasp.errors import Diagnostic, ProgramError
from dpasp.language import ast, check, parse
from dpasp.language.reader import read_readable
from dpasp.language.text import clingo_text, lexer

PROGRAMS = 80
NEVER = re.compile(r"(?!)(?P<heads>)(?P<body>)(?P<dot>)")
NUMBERS = ("0.5", "0.25", "00.5", "1.0", "1e-3", "9.99e-05", "0.1e-2", "1", "1.5", ".5", "1/2", "?")
ATOMS = (
    *("a", "b(x)", "b(x_1,2)", "c(x, 0)", "d(007)", "e(1234567890)", "f(X)", "g(not)", "notb"),
    *("not", "with(x)", "h()", "-a", "i(x1 ,y)", "j(0x1)", "k(f(x))", "aé", "_dpasp_a", "l('x)"),
)
LITERALS = (*ATOMS, "not a", "not  b(x)", "not not a", "1 < 2", "#true", "X = 1", "not(a)")
ENDS = (".", ".", ".", ".", " .", ". ", ".\r", ". % said", "", "..", ". 0.5::m.", ".5", ". :- a.")
OTHERS = ("a.", "#query a", "% a comment", "%* b *%", "p :- q.", "{r}.", "#query b.")
GAPS = ("", "", " ", "  ", "\t", "\n")


def row(random: Random) -> str:
    """A row of a table, or something that is nearly one."""

    def gap() -> str:
        return random.choice(GAPS) if random.random() < 0.1 else ""

    def pick(items: tuple[str, ...], plain: int) -> str:
        return random.choice(items[:plain] if random.random() < 0.85 else items)

    heads = [
        f"{pick(NUMBERS, 4)}{gap()}::{gap()}{pick(ATOMS, 4)}" for _ in range(random.randint(1, 3))
    ]
    text = f"{random.choice(GAPS)}{f'{gap()};{gap()} '.join(heads)}"
    if random.random() < 0.6:
        body = [pick(LITERALS, 4) for _ in range(random.randint(1, 3))]
        between = "; " if random.random() < 0.05 else f",{gap()} "
        text += f"{gap()} :-{gap()} {between.join(body)}"
    return text + (random.choice(ENDS[:4]) if random.random() < 0.85 else random.choice(ENDS))


def others(random: Random) -> str:
    return random.choice(OTHERS)


def said(problem: Diagnostic) -> tuple[Any, ...]:
    return (problem.code, problem.message, problem.help, problem.severity, place(problem.span))


def place(span: Any) -> Any:
    return span and (span.file, span.line, span.column, span.end_line, span.end_column)


def told(statement: ast.Statement) -> Any:
    """All that a statement says, places included."""
    if not isinstance(statement, ast.Annotated):
        return statement, place(statement.span)
    heads = [
        (head.weight, place(head.weight.span), str(head.atom), place(head.span))
        for head in statement.heads
    ]
    symbols = [str(head.atom.symbol.location) for head in statement.heads]
    places = [str(literal.location) for literal in statement.body]
    body = list(map(str, statement.body))
    return heads, symbols, body, places, place(statement.span), str(statement)


def outcome(text: str) -> Any:
    program, errors = read_readable([("p.plp", "a.\n"), ("q.plp", text)])
    problems = []
    try:
        check(program)
    except ProgramError as error:
        problems = [said(problem) for problem in error.diagnostics]
    warnings = [said(warning) for warning in program.warnings]
    return [told(s) for s in program.statements], [said(e) for e in errors], warnings, problems


@pytest.mark.parametrize("between", ["\n", " "])
def test_nothing_is_read_otherwise(between: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = 0
    for seed in range(PROGRAMS):
        random = Random(seed)
        lines = [row(random) if random.random() < 0.8 else others(random) for _ in range(8)]
        text = between.join(lines)
        quick = outcome(text)
        program, _ = read_readable([("q.plp", text)])
        seen += sum(isinstance(s, ast.Annotated) and s.row is not None for s in program.statements)
        with monkeypatch.context() as slowly:
            slowly.setattr(lexer, "ROW", NEVER)
            assert quick == outcome(text), text
    assert seen > PROGRAMS


def test_rows_compare_and_are_replaced_like_other_statements() -> None:
    text = "0.25::a(x); 0.5::a(y) :- b(z), not c."
    (row,) = parse(text).statements
    (slow,) = parse(text.replace(":-", ":- % no row\n")).statements
    assert isinstance(row, ast.Annotated)
    assert isinstance(slow, ast.Annotated)
    assert row.row is not None
    assert (row.row.numbers, slow.row) == ((0.25, 0.5), None)
    assert row == slow
    changed = ast.Annotated(row.heads[:1], row.body, row.span)
    assert (changed.row, str(changed.heads[0].atom)) == (None, "a(x)")
    with pytest.raises(AttributeError):
        row.nothing  # noqa: B018


def test_a_query_does_not_ask_clingo_for_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> object:
        raise AssertionError("rows were read")

    monkeypatch.setattr(clingo_text, "parse_clingo", refuse)
    text = "0.25::a(x); 0.5::a(y).\n" + "".join(
        f"0.5::b({i}) :- a(x), not a(y).\n0.1::c({i}) :- b({i}).\n" for i in range(30)
    )
    (answer,) = dpasp.loads(text + "#query c(7) | b(7).").query()
    assert answer.numbers[0] == pytest.approx(0.1)
    assert len(dpasp.loads(text).marginals(evidence="b(3)")) == 62


def test_a_sum_above_one_is_told_at_its_place() -> None:
    with pytest.raises(ProgramError, match=r"sum to 1\.4") as error:
        check(parse("0.5::a.\n0.6::b; 0.8::c."))
    span = error.value.diagnostics[0].span
    assert span is not None
    assert (span.line, span.column, span.end_column) == (2, 1, 15)
