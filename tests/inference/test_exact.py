"""Asking: engines, errors, warnings, rows of weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import dpasp
from dpasp.circuits import Circuit
from dpasp.inference.asked import Method, ask
from dpasp.inference.exact import answer
from dpasp.language.ast import Logic, Probability
from dpasp.semantics.meaning import Meaning

BOTH = pytest.mark.parametrize("engine", ["enumerate", "compile"])


@BOTH
def test_impossible_evidence_is_named_with_its_place(engine: str) -> None:
    program = dpasp.loads("0.3::a. b :- a.\n#query a.\n#query a | b, not a.\n#query b | not a, a.")
    with pytest.raises(dpasp.ImpossibleEvidence) as caught:
        program.query(engine=engine)
    assert [(d.message, d.span.line if d.span else 0) for d in caught.value.diagnostics] == [
        ("the evidence b, not a has probability 0", 3),
        ("the evidence not a, a has probability 0", 4),
    ]


@BOTH
def test_evidence_of_the_program_is_named_too(engine: str) -> None:
    with pytest.raises(dpasp.ImpossibleEvidence, match="the evidence b has probability 0"):
        dpasp.loads("0.3::a. b :- a, not a. #evidence b. #query a.").query(engine=engine)


@BOTH
def test_a_program_without_any_model_is_another_error(engine: str) -> None:
    program = dpasp.loads("0.3::a. b :- not b. #query a | b.")
    with pytest.raises(dpasp.InconsistentProgram, match="no total choice has a model"):
        program.query(engine=engine)
    undefined = program.query("undef a | undef b", engine=engine, semantics="smproblog, maxent")
    assert undefined[0].value == 1


@BOTH
def test_inconsistent_total_choices_are_told_and_normalised(engine: str) -> None:
    program = dpasp.loads("0.3::a. 0.5::b. :- a, b. #query a.")
    answers = program.query(engine=engine)
    assert answers.inconsistent == pytest.approx(0.15)
    assert answers[0].lower == pytest.approx(0.15 / 0.85)
    assert [warning.code for warning in answers.warnings] == ["inconsistent-choices"]
    with pytest.raises(dpasp.InconsistentProgram, match=r"0\.15 have no model"):
        program.query(engine=engine, inconsistent="error")


@BOTH
def test_a_consistent_program_has_no_warning(engine: str) -> None:
    text = "".join(f"0.{i}::a({i}). " for i in range(1, 10)) + "#query a(1)."
    answers = dpasp.loads(text).query(engine=engine, inconsistent="error")
    assert answers.inconsistent == 0
    assert answers.warnings == ()


@BOTH
def test_an_atom_that_cannot_occur(engine: str) -> None:
    answers = dpasp.loads("0.3::smokes(anna).").query(
        "smokes(ana)", "not smokes(ana)", engine=engine
    )
    assert (answers[0].upper, answers[1].lower) == (0, 1)
    assert answers.warnings
    assert "smokes(anna)" in answers.warnings[0].help + answers.warnings[0].message


def test_no_questions() -> None:
    answers = dpasp.loads("0.3::a.").query()
    assert len(answers) == 0


def test_without_choices() -> None:
    answers = dpasp.loads("a :- not b. b :- not a. #query a.").query(semantics="maxent")
    assert answers[0].value == pytest.approx(0.5)


def test_engines_are_named() -> None:
    program = dpasp.loads("0.3::a. #query a.")
    assert program.query(engine="enumerate").engine == "enumerate"
    assert program.query(engine="compile").engine == "compile"
    assert program.query().engine == "compile"
    with pytest.raises(dpasp.UsageError, match="auto, compile, enumerate"):
        program.query(engine="magic")
    with pytest.raises(dpasp.UsageError, match="normalize or error"):
        program.query(inconsistent="ignore")


def test_what_cannot_be_compiled_is_enumerated() -> None:
    program = dpasp.loads("0.3::x. a; b :- x. a :- b. b :- a. #query a.")
    answers = program.query()
    assert (answers[0].lower, answers[0].upper) == pytest.approx((0.3, 0.3))


@pytest.mark.parametrize("engine", ["enumerate", "auto"])
def test_rows_of_weights(engine: str) -> None:
    ground = dpasp.loads("0.3::a. [0.1, 0.4]::b. c :- a, b. #query c. #query a.").ground()
    weights = np.array([[0.2, 0.5, 1.0], [0.8, 0.5, 0.0], [0.0] * 3, [0.0] * 3])
    found = answer(
        ask(
            ground,
            Meaning(Logic.STABLE, Probability.CREDAL),
            weights=weights,
            method=Method(engine),
        )
    )
    assert found[0].lower == pytest.approx([0.02, 0.05, 0.1])
    assert found[0].upper == pytest.approx([0.08, 0.2, 0.4])
    assert found[1].upper == pytest.approx([0.2, 0.5, 1.0])


@BOTH
def test_tiny_probabilities_stay_exact(engine: str) -> None:
    text = "1e-40::a(1..7). b :- a(1), a(2). all :- a(X) : X = 1..7. #query all. #query b."
    answers = dpasp.loads(text).query(engine=engine, semantics="maxent")
    assert answers[0].value == pytest.approx(1e-280, rel=1e-9, abs=0)
    assert answers[1].value == pytest.approx(1e-80, rel=1e-9, abs=0)


@pytest.mark.parametrize(
    ("semantics", "fields"),
    [("maxent", {"consistent", "qe", "e"}), ("credal", {"consistent", "a", "b", "c", "d"})],
)
def test_only_the_masses_that_answers_are_made_of_are_computed(
    semantics: str, fields: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: set[str] = set()
    masses = Circuit.masses

    def noted(self: Circuit, weights: Any, **options: Any) -> Any:
        seen.update(options["fields"])
        return masses(self, weights, **options)

    monkeypatch.setattr(Circuit, "masses", noted)
    answers = dpasp.loads("0.3::a. {b} :- a. #query b | a.").query(semantics=semantics)
    assert answers[0].numbers == ((0.5,) if semantics == "maxent" else (0.0, 1.0))
    assert seen == fields


@pytest.mark.parametrize(
    ("guard", "text", "ask_it", "message"),
    [
        (
            "intervals.EXACT.vertices",
            "[0.1,0.4]::a(1..3). 0.5::b. c :- a(X), not b. c :- b, a(1). #query c | a(2).",
            lambda program: program.query(engine="enumerate"),
            "8 extreme distributions",
        ),
        (
            "map.answers.EXACT.map_enumerated",
            "[0.1,0.4]::a. [0.2,0.3]::b. c :- a, not b. x :- not y, c. y :- not x, c. #mpe | x.",
            lambda program: program.query(),
            "4 total choices",
        ),
        (
            "map.answers.EXACT.map_enumerated",
            "0.5::a. 0.3::b. x :- not x, a. #mpe.",
            lambda program: program.query(engine="enumerate", semantics="smproblog, credal"),
            "4 total choices",
        ),
        (
            "decide.expected.DECIDING.levels",
            "0.5::w. #decision {d(1..2)}. {z} :- w. #utility 10 : z, d(1). #utility 3 : w. "
            "#utility 1 : not z. #utility 4 : d(2), z.",
            lambda program: program.decide(),
            "over 4 values",
        ),
        (
            "decide.strategies.DECIDING.listed",
            "[0.2,0.5]::w. #decision {d(1..3)}. #utility 9 : ok. ok :- d(1), w.",
            lambda program: program.decide(criterion="maximality"),
            "8 strategies",
        ),
        (
            "decide.strategies.DECIDING.compared",
            "[0.2,0.5]::w. #decision {d(1..3)}. #utility 9 : ok. ok :- d(1), w.",
            lambda program: program.decide(criterion="maximality"),
            "2 total choices for each of 8 strategies",
        ),
    ],
)
def test_what_would_take_too_much_is_refused(
    guard: str,
    text: str,
    ask_it: Callable[[dpasp.Program], object],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ask_it(dpasp.loads(text))
    where, tuning, field = guard.rsplit(".", 2)
    module = import_module(f"dpasp.inference.{where}")
    monkeypatch.setattr(module, tuning, replace(getattr(module, tuning), **{field: 2}))
    with pytest.raises(dpasp.SizeLimit, match=message):
        ask_it(dpasp.loads(text))
