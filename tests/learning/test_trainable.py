"""The learned program as text answers as the program that learned."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import dpasp
from dpasp.language import ast

KEYED = """% who smokes
person(anna). person("Bill"). knows(anna, "Bill"). knows("Bill", anna).
?(X)::stress(X) :- person(X).  % one for each
0.2?::habit(X,Y) :- knows(X,Y).
smokes(X) :- stress(X).
smokes(X) :- habit(X,Y), smokes(Y).
#learn "seen.csv",
    niters = 4.
#query smokes(X).
"""
SPLIT = """
#const p = 0.25.
p::red; ?::green; ?::blue.   0.5?::dark :- not red. #semantics maxent.
#query green | not dark. #query blue.
"""


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        (KEYED, [{"smokes(anna)": True}] * 3 + [{'smokes("Bill")': False}]),
        (SPLIT, [["green", "dark"], ["not green"], ["blue", "not dark"], ["red"]]),
        ("?::a(1..2). #query a(X).", [["a(1)"], ["a(2)", "not a(1)"], ["not a(2)"]]),
        ("?::a; ?::b. [0.1, 0.3]::c. d :- a, c. #query d.", [["d"], ["b"], ["a"]]),
    ],
)
def test_it_answers_the_same(text: str, seen: list[object]) -> None:
    program = dpasp.loads(text)
    program.learn(seen)
    written = program.learned_program()
    assert "?::" not in written
    assert "?(" not in written
    assert "#learn" not in written
    again = dpasp.loads(written)
    for one, other in zip(program.query(), again.query(), strict=True):
        assert one.query == other.query
        assert (one.value, one.lower, one.upper) == pytest.approx(
            (other.value, other.lower, other.upper), abs=1e-12
        )


def test_all_else_stays() -> None:
    program = dpasp.loads(KEYED)
    program.learn([{"smokes(anna)": True}], niters=1)
    lines = program.learned_program().splitlines()
    assert lines[0] == "% who smokes"
    assert lines[2].endswith("::stress(X) :- person(X), X = anna.")
    assert lines[3].endswith('::stress(X) :- person(X), X = "Bill".  % one for each')
    assert lines[-1] == "#query smokes(X)."
    assert len(lines) == len(KEYED.splitlines()) - 2 + 1  # the two of #learn, and one more rule


def test_before_learning_it_has_the_first_values() -> None:
    assert dpasp.loads("?::a; 0.2?::b; ?::c.").learned_program() == "0.4::a; 0.2::b; 0.4::c.\n"


def test_several_files_and_included_ones(tmp_path: Path) -> None:
    (tmp_path / "rules.plp").write_text("?::a. b :- a.\n")
    (tmp_path / "main.plp").write_text('#include "rules.plp".\n0.5::c.\n')
    (tmp_path / "ask.plp").write_text("#query b. #query c.")
    program = dpasp.load(tmp_path / "main.plp", tmp_path / "ask.plp")
    program.learn([["a"], ["a"], ["not a"], ["a"]])
    written = program.learned_program()
    assert "#include" not in written
    assert [a.lower for a in dpasp.loads(written).query()] == pytest.approx([0.75, 0.5])


def test_networks_stay_what_they_are() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.Sigmoid())
    text = "row(0) ~ test(@rows), train(@rows).\n?::on(X) as @net :- row(X).\n?::a :- on(0).\n"
    given = {"networks": {"net": net}, "data": {"rows": torch.zeros(2, 2)}}
    program = dpasp.loads(text, **given)
    written = program.learned_program()
    assert written.splitlines()[1:] == [*text.splitlines()[:2], "0.5::a :- on(0)."]
    assert written.startswith("% The networks keep what they learned")
    assert str(dpasp.loads(written, **given).query("a")) == str(program.query("a"))


@pytest.mark.parametrize("heads", [1, 2, 3, 7, 40])
def test_numbers_read_back_as_the_same_doubles(heads: int) -> None:
    program = dpasp.loads("; ".join(f"?::a({i})" for i in range(heads)) + ".")
    parameters = program.module().probabilities
    generator = torch.Generator().manual_seed(heads)
    for spread in (0.1, 3.0, 30.0):
        numbers = torch.randn(parameters.logits.shape, generator=generator, dtype=torch.float64)
        with torch.no_grad():
            parameters.logits.copy_(spread * numbers)
        again = dpasp.loads(program.learned_program())
        statement = again.source.statements[0]
        assert isinstance(statement, ast.Annotated)
        values = program.learned()[0]["values"]
        assert [head.weight for head in statement.heads] == [
            ast.Fixed(ast.Number(value)) for value in values
        ]
        (choice,) = again.ground().choices  # rounding leaves nothing, and no sum is refused
        assert choice.nothing == (heads == 1)


def test_intervals_read_back_as_the_same_doubles() -> None:
    program = dpasp.loads("?::a. ?::red; ?::green; ?::blue. #query a. #query green.")
    program.learn([["a", "red"], ["a", "green"], ["not a", "green"]], imprecise=1)
    again = dpasp.loads(program.learned_program())
    for one, other in zip(program.query(), again.query(), strict=True):
        assert (one.lower, one.upper) == (other.lower, other.upper)
