"""What a three-valued semantics refuses, and where."""

from __future__ import annotations

import pytest

import dpasp

THREE = ("partial", "lstable", "smproblog", "wellfounded")
LOOP = "a :- not b. b :- not a.\n"


def refusals(text: str, semantics: str) -> list[tuple[str, int | None]]:
    with pytest.raises(dpasp.ProgramError) as caught:
        dpasp.loads(text).query(semantics=semantics)
    return [(d.code, d.span.line if d.span else None) for d in caught.value.diagnostics]


@pytest.mark.parametrize("logic", THREE)
def test_choice_rules(logic: str) -> None:
    assert refusals("0.3::x.\n{c} :- x.\n#query x.", logic) == [("choice-rule", 2)]


@pytest.mark.parametrize("logic", THREE)
@pytest.mark.parametrize("aggregate", ["#count { 1 : a; 2 : b } > 1", "1 { a; b } 1"])
def test_aggregates_over_what_can_be_undefined(logic: str, aggregate: str) -> None:
    text = f"{LOOP}d(1).\nc :- {aggregate}.\ne :- #sum {{ X : d(X) }} > 0.\n#query a."
    assert refusals(text, logic) == [("undetermined-aggregate", 3)]


@pytest.mark.parametrize("logic", THREE)
def test_conditional_literals_over_what_can_be_undefined(logic: str) -> None:
    text = f"{LOOP}c :- a.\nd :- c : b.\n#query d."
    assert refusals(text, logic) == [("undetermined-condition", 3)]


@pytest.mark.parametrize("logic", THREE)
def test_classical_negation(logic: str) -> None:
    assert refusals("0.3::x.\n-c :- x.\nd(-1).\n#query x.", logic) == [("classical-negation", 2)]


def test_disjunction_under_wellfounded() -> None:
    assert refusals("0.3::x.\na; b :- x.\n#query x.", "wellfounded") == [
        ("wellfounded-disjunction", 2)
    ]


@pytest.mark.parametrize("logic", THREE)
def test_over_determined_atoms_all_is_well(logic: str) -> None:
    text = """
    0.5::x(1). 0.5::x(2). d(1..2).
    some :- #count { X : x(X) } > 0.
    all :- x(X) : d(X).
    twice :- not not some.
    a :- some, not a, not twice.
    #query some. #query all. #query twice.
    """
    values = [answer.value for answer in dpasp.loads(text).query(semantics=f"{logic}, maxent")]
    assert values == pytest.approx([0.75, 0.25, 0.75])


def test_double_negation_in_a_loop_is_three_valued() -> None:
    text = "a :- not not a. #query a. #query not a. #query undef a."
    values = [answer.value for answer in dpasp.loads(text).query(semantics="partial, maxent")]
    assert values == pytest.approx([1 / 3] * 3)


def test_stable_has_all_of_clingo() -> None:
    text = "0.3::x. {c; d} :- x. -e :- c. f :- #count { 1 : c; 2 : d } = 1. #query f | x."
    assert dpasp.loads(text).query(semantics="maxent")[0].value == pytest.approx(0.5)
