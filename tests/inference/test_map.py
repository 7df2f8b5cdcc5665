"""The most probable values of atoms and of choices."""

from __future__ import annotations

import pytest

import dpasp
from dpasp.inference.answers import MapAnswer


def ask(text: str, question: str, semantics: str) -> MapAnswer:
    (answer,) = dpasp.loads(text).map(question, semantics=semantics)
    assert isinstance(answer, MapAnswer)
    return answer


def test_joint_values_of_two_atoms() -> None:
    text = "0.6::a. 0.3::b. 0.5::c. d :- a, c. d :- b."
    answer = ask(text, "a?, b? | d", "maxent")
    # P(a,b,d) = .18, P(a,-b,d) = .6*.7*.5 = .21, P(-a,b,d) = .12; P(d) = .51
    assert answer.assignment == {"a": True, "b": False}
    assert answer.value == pytest.approx(0.21 / 0.51)
    assert answer.ties == ()


def test_ties_are_reported() -> None:
    answer = ask("0.5::a. 0.5::b. :- a, b.", "a?, b?", "maxent")
    assert answer.value == pytest.approx(1 / 3)
    assert [answer.assignment, *answer.ties] == [
        {"a": True, "b": False},
        {"a": False, "b": True},
        {"a": False, "b": False},
    ]


def test_marked_atoms_with_variables() -> None:
    answer = ask("0.2::w; 0.7::s(1); 0.1::s(2). t :- s(_).", "s(X)? | t", "maxent")
    assert answer.assignment == {"s(1)": True, "s(2)": False}
    assert answer.value == pytest.approx(0.7 / 0.8)


def test_under_credal_by_upper_and_by_lower() -> None:
    text = "0.4::x. 0.35::y :- not x. a :- x, not b. b :- x, not a."
    answer = ask(text, "a?, y?", "credal")
    # a, -y: [0, .4]; -a, y: [.21, .21]; -a, -y: [.39, .79]
    assert answer.assignment == {"a": False, "y": False}
    assert answer.upper == pytest.approx(0.79)
    assert answer.lower_assignment == {"a": False, "y": False}
    assert answer.lower == pytest.approx(0.39)
    differ = ask("0.45::x. 0.7::y :- not x. a :- x, not b. b :- x, not a.", "a?, y?", "credal")
    assert differ.assignment == {"a": False, "y": False}
    assert differ.upper == pytest.approx(0.45 + 0.55 * 0.3)
    assert differ.lower_assignment == {"a": False, "y": True}
    assert differ.lower == pytest.approx(0.55 * 0.7)


@pytest.mark.parametrize("logic", ["partial", "lstable", "smproblog", "wellfounded"])
def test_an_atom_can_be_undefined(logic: str) -> None:
    answer = ask("0.7::x. a :- x, not a.", "a?", f"{logic}, maxent")
    assert answer.assignment == {"a": "undef"}
    assert answer.value == pytest.approx(0.7)


def test_the_most_probable_total_choice() -> None:
    text = "0.6::a. 0.3::b; 0.6::c. d :- a, c. d :- b."
    answer = ask(text, "| d", "maxent")
    assert answer.query == "mpe | d"
    assert answer.assignment == {"a": True, "b": False, "c": True}
    assert answer.value == pytest.approx(0.36 / (0.3 + 0.36))


def test_total_choices_weigh_by_the_models_that_satisfy_the_evidence() -> None:
    text = "0.4::x. a :- x, not b. b :- x, not a. a :- not x, c. 0.3::c."
    answer = ask(text, "| a", "maxent")
    # x and not c: .4*.7/2 = .14; x, c: .4*.3/2 = .06; not x, c: .18
    assert answer.assignment == {"x": False, "c": True}
    assert answer.value == pytest.approx(0.18 / 0.38)
    upper = ask(text, "| a", "credal")
    assert upper.assignment == {"x": False, "c": True}  # if x, every model may choose b
    assert upper.upper == pytest.approx(1)
    assert upper.lower_assignment == {"x": False, "c": True}
    assert upper.lower == pytest.approx(0.18 / (0.18 + 0.4))


def test_total_choices_without_models_count_under_smproblog() -> None:
    text = "0.7::x. 0.4::y. a :- x, not a."
    answer = ask(text, "", "smproblog, maxent")
    assert answer.assignment == {"x": True, "y": False}
    assert answer.value == pytest.approx(0.42)
    given = ask(text, "| undef a", "smproblog, maxent")
    assert given.value == pytest.approx(0.6)
    other = ask(text, "| not a", "smproblog, maxent")
    assert other.assignment == {"x": False, "y": False}
    assert other.value == pytest.approx(0.6)


def test_choices_of_the_same_atom_are_told_apart() -> None:
    answer = ask("d(1..2). 0.6::b :- d(X). 0.3::c. 0.3::c.", "", "maxent")
    assert answer.assignment == {
        "b [X=1] by line 1": True,
        "b [X=2] by line 1": True,
        "c by line 1 #1": False,
        "c by line 1 #2": False,
    }


def test_choices_are_not_taken_for_atoms_that_hold_otherwise() -> None:
    """The choice of the last rule is not made, and it is wet nevertheless."""
    text = "0.9::rain. 0.5::s.\nwet :- rain.\n0.1::wet :- s. d(1). 0.3::x(X) :- d(X)."
    answer = ask(text, "| wet", "maxent")
    assert answer.assignment["rain"] is True
    assert answer.assignment["wet by line 3"] is False
    assert answer.assignment["x(1)"] is False  # holds exactly when it is chosen
    assert "wet" not in answer.assignment


def test_an_atom_that_cannot_occur_is_false() -> None:
    assert ask("0.3::a.", "z?", "maxent").assignment == {"z": False}


def test_credal_facts() -> None:
    answer = ask("[0.2, 0.7]::a. 0.5::b.", "a?", "credal")
    assert (answer.upper, answer.lower) == pytest.approx((0.8, 0.3))
    assert (answer.assignment, answer.lower_assignment) == ({"a": False}, {"a": False})


def test_impossible_evidence() -> None:
    with pytest.raises(dpasp.ImpossibleEvidence, match="the evidence a, not a has probability 0"):
        ask("0.3::a.", "a? | a, not a", "maxent")


def test_as_text_and_json() -> None:
    answer = ask("0.5::a. 0.5::b. :- a, b.", "a? | not b", "maxent")
    assert str(answer) == "max ℙ(a? | not b) = 0.500000 at a or not a"
    assert answer.to_dict() == {
        "query": "a? | not b",
        "kind": "map",
        "value": pytest.approx(0.5),
        "assignment": {"a": True},
        "ties": [{"a": False}],
    }


@pytest.mark.parametrize("engine", ["compile", "enumerate"])
def test_no_atoms_are_certain_under_smproblog(engine: str) -> None:
    """Total choices without stable models count for the only assignment that there is."""
    text = "0.06::c. d :- not d, c. #map z(X)?. #semantics smproblog, maxent."
    with pytest.warns(dpasp.ProgramWarning):
        (answer,) = dpasp.loads(text).query(engine=engine)
    assert answer.value == pytest.approx(1.0)
