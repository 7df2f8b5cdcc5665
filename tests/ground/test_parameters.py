"""Learnable annotations: which parameters there are and where they start."""

from __future__ import annotations

import pytest

from dpasp.ground.program import Learned
from tests.ground.reading import grounded, refused


@pytest.mark.parametrize(
    ("text", "initial", "fixed"),
    [
        ("?::a.", (0.5,), (False,)),
        ("0.3?::a.", (0.3,), (False,)),
        ("?::a; ?::b.", (0.5, 0.5), (False, False)),
        ("0.5?::a; ?::b; ?::c.", (0.5, 0.25, 0.25), (False, False, False)),
        ("0.2::a; ?::b; ?::c.", (0.2, 0.4, 0.4), (True, False, False)),
        ("0.2?::a; 0.3?::b.", (0.2, 0.3), (False, False)),
        ("#const p = 0.4. p?::a; ?::b.", (0.4, 0.6), (False, False)),
    ],
)
def test_start(text: str, initial: tuple[float, ...], fixed: tuple[bool, ...]) -> None:
    (parameter,) = grounded(text).parameters
    assert parameter.initial == pytest.approx(initial)
    assert parameter.fixed == fixed


def keys(text: str) -> list[dict[str, str]]:
    program = grounded(text)
    return [{name: str(value) for name, value in p.key} for p in program.parameters]


EDGES = "e(1,2). e(1,3). e(2,3). "


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        ("?", [{}]),
        ("?*", [{}]),
        ("*?", [{}]),
        ("?(X)", [{"X": "1"}, {"X": "2"}]),
        ("?(Y)", [{"Y": "2"}, {"Y": "3"}]),
        ("?(X,Y)", [{"X": "1", "Y": "2"}, {"X": "1", "Y": "3"}, {"X": "2", "Y": "3"}]),
    ],
)
def test_one_parameter_for_each_value_of_the_key(
    annotation: str, expected: list[dict[str, str]]
) -> None:
    assert keys(f"{EDGES} {annotation}::a(X,Y) :- e(X,Y).") == expected


def test_instances_share_the_parameter() -> None:
    program = grounded(f"{EDGES} ?(X)::a(X,Y) :- e(X,Y). ?::b.")
    weights = [choice.weight for choice in program.choices]
    assert weights == [Learned(0), Learned(0), Learned(1), Learned(2)]
    assert [parameter.statement for parameter in program.parameters] == [3, 3, 4]


def test_a_start_that_depends_on_the_key() -> None:
    program = grounded("w(2). w(4). W/10?(W)::a(W) :- w(W).")
    assert [parameter.initial for parameter in program.parameters] == [(0.2,), (0.4,)]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("w(2). w(4). W/10?::a(W) :- w(W).", "parameter-uneven"),
        ("w(2). w(4). W/10::a(W); ?::b(W) :- w(W).", "parameter-uneven"),
        ("0.6?::a; 0.4?::b; ?::c.", "parameter-start"),
        ("0.6?::a; 0.5?::b.", "disjunction-sum"),
        ("1.2?::a.", "probability-range"),
    ],
)
def test_refused(text: str, code: str) -> None:
    assert [problem.code for problem in refused(text)] == [code]
