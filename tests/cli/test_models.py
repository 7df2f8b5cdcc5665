"""``dpasp models`` and ``dpasp sample``: what there is, and what is drawn of it."""

from __future__ import annotations

import itertools
import json

import clingo
import pytest

import dpasp as library
from tests.cli.conftest import Command

DAY = "0.7::busy. coffee :- busy, not nap. nap :- busy, not coffee. 0.9::rested :- nap.\n"
BEST = "0.6::p. {a; b; c; d} :- p. "

ASP = [
    "{a; b(1..2)}. :- a, b(1).",
    "a(1..3). #show b(X) : a(X), X > 1.",
    "{a}. b :- a. c :- not a. #show b/0. #show c/0. #show f(1) : b.",
    "1 {q(X,1..4)} 1 :- X = 1..4. :- q(X,Z), q(Y,Z), X < Y. #show q/2.",
    "a. -b. {-c}. #show -b/0. #show -c/0.",
    "{a}. #show.",
    "a ; b. #show x : a. #show y : b. #show.",
    'p(f(X),"t, x") :- X = 1..2. #show p/2.',
]


def test_the_most_probable_choice_comes_first(dpasp: Command) -> None:
    found = dpasp("models", text=DAY)
    assert (found.code, found.err) == (0, "")
    lines = found.out.splitlines()
    assert [line for line in lines if line[0] != " "] == [
        "busy, rested by line 1  0.630000",
        "not busy, rested by line 1  0.270000",
        "busy, not rested by line 1  0.070000",
        "not busy, not rested by line 1  0.030000",
    ]
    assert set(lines[1:3]) == {"  busy coffee", "  busy nap rested"}
    assert lines[-1] == "  (nothing is true)"


@pytest.mark.parametrize("text", ASP)
def test_plain_programs_have_clingos_models(dpasp: Command, text: str) -> None:
    control = clingo.Control(["0"])
    control.add("base", [], text)
    control.ground([("base", [])])
    expected: list[set[str]] = []
    control.solve(on_model=lambda model: expected.append(set(map(str, model.symbols(shown=True)))))
    found = dpasp("models", "--json", text=text).json["models"]
    assert sorted(map(sorted, (model["true"] for model in found))) == sorted(map(sorted, expected))


def test_given_a_number_and_a_semantics(dpasp: Command) -> None:
    found = dpasp("models", "--given", "rested", "--json", text=DAY).json["models"]
    assert found == [
        {
            "choice": ["busy", "rested by line 1"],
            "probability": pytest.approx(0.63),
            "true": ["busy", "nap", "rested"],
        }
    ]
    assert len(dpasp("models", "-n", "2", "--json", text=DAY).json["models"]) == 2
    three = dpasp("models", "-s", "partial", "-n", "3", "--json", text=DAY).json["models"]
    assert [model.get("undefined") for model in three].count(["coffee", "nap", "rested"]) == 1
    assert dpasp("models", "--given", "busy, not busy", text=DAY).code == 65


def test_models_come_as_they_are_found(dpasp: Command) -> None:
    assert dpasp("models", "-n", "3", text="{a(1..60)}.").code == 0
    assert dpasp("models", "-n", "1", text="0.5::a(1..60).").out.count("\n") == 2


def test_no_model_and_intervals(dpasp: Command) -> None:
    none = dpasp("models", text="a. :- a.")
    assert (none.code, none.out, none.err) == (0, "", "there is no model\n")
    assert dpasp("models", "--json", text="a. :- a.").json == {"models": []}
    first = dpasp("models", text="[0.2,0.7]::f. 0.5::g :- f.").out.splitlines()[0]
    assert first == "not f, g by line 1  [0.150000, 0.400000]"


def test_the_function_is_the_command() -> None:
    program = library.loads(DAY)
    masses = {}
    for choice, models in itertools.groupby(program.models(), key=lambda m: m.choice):
        masses[choice] = next(models).probability[0]
    assert sum(masses.values()) == pytest.approx(1)
    assert [model.values["nap"] for model in program.models(given="rested")] == [True]
    assert {str(model) for model in program.models(2)} == {"busy coffee", "busy nap rested"}


def test_the_best_models_have_a_line_each(dpasp: Command) -> None:
    found = dpasp("models", "--best", "2", text=BEST + "#semantics maxent.")
    assert found.out.splitlines()[0] == "0.400000  (nothing is true)"
    assert len(found.out.splitlines()) == 2
    assert len(dpasp("models", "-n", "0", "--json", text=BEST).json["models"]) == 17
    first = dpasp("models", "--best", "1", "--json", text=BEST + "#semantics maxent.").json[
        "models"
    ][0]
    assert first == {"choice": ["not p"], "probability": 0.4, "true": []}
    assert dpasp("models", "--best", "x", text=BEST).code == 2


def test_shown_terms_may_call_python() -> None:
    text = "#python\ndef f(x): return x + 1\n#end.\n a(1). #show b(@f(X)) : a(X). #show."
    assert str(next(library.loads(text, python=True).models())) == "b(2)"


def test_samples(dpasp: Command) -> None:
    text = f"{DAY}#show rested/0. #show up : not rested."
    found = dpasp("sample", "-n", "5", "--seed", "3", text=text)
    assert set(found.out.splitlines()) <= {"rested", "up"}
    assert found.out == dpasp("sample", "-n", "5", "--seed", "3", text=text).out
    drawn = dpasp("sample", "-n", "5", "--seed", "3", "--json", text=text).json["samples"]
    assert drawn == library.loads(DAY).sample(5, seed=3)
    given = dpasp("sample", "-n", "4", "--given", "rested", "--json", text=DAY).json["samples"]
    assert all(one["rested"] for one in given)
    assert json.loads(dpasp("sample", "--json", text="a.").out) == {"samples": [{"a": True}]}


@pytest.mark.parametrize("command", ["models", "sample"])
def test_doubts_about_the_program_are_told(dpasp: Command, command: str) -> None:
    text = "0.5::a. b :- c.\n#query zz.\nd :- a ; b.\n"
    found = dpasp(command, "-n", "1", text=text)
    for code in ("undefined-atom", "unknown-atom", "body-semicolon"):
        assert f"[{code}]" in found.err
    told = json.loads(dpasp(command, "-n", "1", "--json", text=text).out)["warnings"]
    assert sorted(one["code"] for one in told) == [
        "body-semicolon",
        "undefined-atom",
        "unknown-atom",
    ]
    assert "warnings" not in json.loads(dpasp(command, "--json", text="0.5::a.").out)
    assert dpasp(command, "-q", text=text).err == ""
