"""Values of aggregates that cannot occur are left out, and nothing else is."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from dpasp.ground import ground, grounding
from dpasp.ground.program import GroundProgram
from dpasp.inference.enumerate import enumerate_models
from dpasp.language import parse
from dpasp.semantics import leaves
from dpasp.semantics.meaning import Meaning
from tests.circuits.test_totals import random_text


def asked(text: str) -> list[str]:
    return [question.text for question in ground(parse(text)).questions]


DICE = "0.3::d(X,1); 0.3::d(X,2); 0.4::d(X,6) :- X = 1..2. "


@pytest.mark.parametrize(
    ("rule", "values"),
    [
        ("t(S) :- S = #sum{D,X : d(X,D)}.", [2, 3, 4, 7, 8, 12]),
        ("t(S) :- S = #sum{-D,X : d(X,D)}.", [-12, -8, -7, -4, -3, -2]),
        ("t(S) :- S = #sum+{D-1,X : d(X,D)}.", [0, 1, 2, 5, 6, 10]),
        ("t(S) :- S = #sum{D-2,X : d(X,D)}.", [-2, -1, 0, 3, 4, 8]),
        ("t(S) :- S = #max{D,X : d(X,D)}.", [1, 2, 6]),
        ("t(S) :- S = #min{D : d(X,D)}.", [1, 2, 6]),
        ("t(S) :- S = #min{D : d(X,D), D > 1}.", [2, 6, "#sup"]),
        ("t(S) :- S = #count{X : d(X,D)}.", [2]),
        ("t(S) :- S = #count{D : d(X,D)}.", [1, 2]),
        ("t(S) :- S = #sum{D : d(X,D)}.", [1, 2, 3, 6, 7, 8]),
        ("t(S) :- S = #sum{-D : d(X,D)}.", [-8, -7, -6, -3, -2, -1]),
        ("v(D) :- d(X,D). t(S) :- S = #count{D : v(D)}.", [1, 2]),
        ("v(1..2) :- d(X,1). v(6) :- d(X,6). t(S) :- S = #count{D : v(D)}.", [0, 1, 2, 3]),
        ("{v(1)}. v(D) :- d(X,D). t(S) :- S = #count{D : v(D)}.", [1, 2, 3]),
        ("t(S) :- S = #count{X : d(X,D), D > 1}.", [0, 1, 2]),
        ("u(S) :- S = #sum{D,X : d(X,D)}. t(S+1) :- u(S), S > 7.", [9, 13]),
    ],
)
def test_values_that_cannot_occur_are_not_listed(rule: str, values: list[int | str]) -> None:
    assert asked(f"{DICE}{rule} #query t(X).") == [f"t({value})" for value in values]


def test_an_impossible_value_that_is_asked_for_is_reported() -> None:
    program = ground(parse(DICE + "t(S) :- S = #sum{D,X : d(X,D)}. #query t(5)."))
    assert [warning.code for warning in program.warnings] == ["unknown-atom"]
    assert program.questions[0].literals[0].atom == 0  # type: ignore[union-attr]


def bounds(program: GroundProgram) -> dict[str, float]:
    masses = enumerate_models(program, Meaning()).masses(leaves.weights(program)[:, np.newaxis])
    names = [question.text for question in program.questions]
    lower = {f"lower {name}": value for name, value in zip(names, masses.a[:, 0], strict=True)}
    upper = {f"upper {name}": value for name, value in zip(names, masses.b[:, 0], strict=True)}
    return {name: value for name, value in (lower | upper).items() if value > 0}


def test_what_is_left_out_has_probability_0(monkeypatch: pytest.MonkeyPatch) -> None:
    fewer = 0
    for number in range(25):
        text = random_text(Random(f"left out {number}"))
        program = ground(parse(text))
        with monkeypatch.context() as patch:
            patch.setattr(grounding, "leave_out", lambda *_: None)
            whole = ground(parse(text))
        fewer += len(program.questions) < len(whole.questions)
        assert bounds(program) == pytest.approx(bounds(whole)), text
    assert fewer > 4
