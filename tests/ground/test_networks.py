"""Neural statements and data: choices whose probabilities a network gives."""

from __future__ import annotations

import pytest

from dpasp.ground import ground_text
from dpasp.ground.program import FromNetwork
from tests.ground.reading import grounded, refused, rules

PYTHON = """
#python
def net(): pass
def rows(): pass
#end.
"""
DATA = PYTHON + "input(0) ~ test(@rows), train(@rows). input(1) ~ test(@rows), train(@rows).\n"


def names(symbols: tuple[object, ...]) -> list[str]:
    return [str(symbol) for symbol in symbols]


def test_an_annotated_disjunction() -> None:
    program = grounded(DATA + "?::digit(X, {0..2}) as @net :- input(X).")
    (network,) = program.networks
    assert names(network.rows) == ["input(0)", "input(1)"]
    assert names(network.values) == ["0", "1", "2"]
    assert network.outcomes == ()
    assert [choice.weight for choice in program.choices] == [
        FromNetwork(0, 0, 0),
        FromNetwork(0, 1, 0),
    ]
    assert [choice.nothing for choice in program.choices] == [False, False]
    heads = [[str(program.symbols[head]) for head in choice.heads] for choice in program.choices]
    assert heads == [[f"digit({row},{value})" for value in range(3)] for row in range(2)]


def test_a_fact_can_choose_nothing() -> None:
    program = grounded(DATA + "?::even(X) as @net :- input(X).")
    assert program.networks[0].values == ()
    assert [(len(c.selectors), c.nothing) for c in program.choices] == [(1, True), (1, True)]


def test_several_outcomes() -> None:
    program = grounded(DATA + "?::f(X, {a,b}; {3,1}) as @net :- input(X), X = 0.")
    assert names(program.networks[0].outcomes) == ["3", "1"]
    assert names(program.networks[0].values) == ["a", "b"]
    found = [
        (choice.weight, [str(program.symbols[head]) for head in choice.heads])
        for choice in program.choices
    ]
    assert found == [
        (FromNetwork(0, 0, 0), ["f(0,a,3)", "f(0,b,3)"]),
        (FromNetwork(0, 0, 1), ["f(0,a,1)", "f(0,b,1)"]),
    ]


def test_outcomes_of_a_fact() -> None:
    program = grounded(DATA + "?::f(X; {a,b,c}) as @net :- input(X), X = 1.")
    heads = [str(program.symbols[choice.heads[0]]) for choice in program.choices]
    assert heads == ["f(1,a)", "f(1,b)", "f(1,c)"]
    assert all(choice.nothing for choice in program.choices)


def test_values_keep_the_order_in_which_they_are_written() -> None:
    program = grounded(DATA + "?::f(X, {z, 5..7, a, 1}) as @net :- input(X).")
    assert names(program.networks[0].values) == ["z", "5", "6", "7", "a", "1"]


def test_values_by_a_constant() -> None:
    program = grounded(DATA + "#const n = 3. ?::f(X, {0..n}) as @net :- input(X).")
    assert len(program.networks[0].values) == 4


def test_rows_are_the_data_atoms_of_the_body() -> None:
    text = "other(1..2). ?::f(X,Y) as @net :- input(X), other(Y)."
    program = grounded(DATA + text)
    assert names(program.networks[0].rows) == ["input(0)", "input(1)"]
    assert sorted(choice.weight.row for choice in program.choices) == [0, 0, 1, 1]  # type: ignore[union-attr]


def test_several_data_atoms_make_a_row_together() -> None:
    program = grounded(DATA + "?::same(X,Y) as @net :- input(X), input(Y), X < Y.")
    assert names(program.networks[0].rows) == ["(input(0),input(1))"]


def test_bodies_may_depend_on_choices() -> None:
    text = "?::digit(X, {0,1}) as @net :- input(X), X = 0. ?::f(X) as @net :- input(X), digit(X,1)."
    program = grounded(DATA + text)
    assert ground_text(program).splitlines()[1:3] == [
        "?::digit(0,0); ?::digit(0,1) as @net of input(0).",
        "?::f(0) as @net of input(0) :- digit(0,1).",
    ]


def test_data_are_facts_and_are_told() -> None:
    text = PYTHON + "input(2) ~ test(@rows). input(3) ~ test(@rows). image(x) ~ train(@rows)."
    assert sorted(rules(text)) == ["image(x).", "input(2).", "input(3)."]
    found = [(data.statement, str(data.atom)) for data in grounded(text).data]
    assert found == [(1, "input(2)"), (2, "input(3)"), (3, "image(x)")]


def test_nothing_of_ours_is_left_in_the_rules() -> None:
    program = grounded(DATA + "?::f(X, {a,b}; {0,1}) as @net :- input(X).")
    named = {atom for atom, symbol in enumerate(program.symbols) if symbol is not None}
    selectors = {s for choice in program.choices for s in choice.selectors}
    used = {abs(literal) for rule in program.rules for literal in (*rule.head, *rule.body)}
    assert used <= named | selectors
    assert not any(str(symbol).startswith("_dpasp_") for symbol in program.atoms)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("?::f(X, {0..X}) as @net :- input(X).", "neural-values"),
        ("?::f(X, {1, 0+1}) as @net :- input(X).", "neural-values"),
        ("?::f(X, Y, {0,1}) as @net :- input(X).", "unsafe-variable"),
    ],
)
def test_refused(text: str, code: str) -> None:
    assert [problem.code for problem in refused(DATA + text)] == [code]
