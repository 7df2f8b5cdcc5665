"""Sliders: a move is an evaluation, and gives what the program with that number would."""

from __future__ import annotations

import pytest

import dpasp
from dpasp import circuits
from dpasp.language.ast import Logic, Probability
from dpasp.limits import UNLIMITED
from dpasp.playground.live import Live
from dpasp.semantics.meaning import Meaning

TEXT = """{a}::a. {b}::b; {c}::c. p :- a, not q. q :- a, not p. r :- b, p. {d}::r :- c.
#query r. #query p | a. #query b | not r."""
START = {"a": 0.3, "b": 0.2, "c": 0.5, "d": 0.4}


def live(text: str) -> Live:
    return Live(dpasp.loads(text).ground())


def test_a_slider_for_every_number() -> None:
    found = live(TEXT.format(**START)).sliders
    assert [(slider.label, slider.ends) for slider in found] == [
        ("a", (0.3,)),
        ("b", (0.2,)),
        ("c", (0.5,)),
        ("r :- c", (0.4,)),
    ]
    assert found[1].rivals == (found[2].name,)


def test_instances_with_one_number_move_together() -> None:
    (slider,) = live("n(1..5). 0.3::a(X) :- n(X). #query a(1).").sliders
    assert len(slider.choices) == 5


@pytest.mark.parametrize("a", [0.0, 0.25, 1.0])
@pytest.mark.parametrize("probability", list(Probability))
def test_moves_agree_with_the_program_written_so(
    a: float, probability: Probability, monkeypatch: pytest.MonkeyPatch
) -> None:
    moving = live(TEXT.format(**START))
    meaning = Meaning(Logic.STABLE, probability)
    moving.answers(meaning, {}, UNLIMITED)
    monkeypatch.setattr(circuits, "compile", None)  # from here on nothing is compiled
    found = moving.answers(meaning, {moving.sliders[0].name: (a,)}, UNLIMITED)
    monkeypatch.undo()
    program = dpasp.loads(TEXT.format(**START | {"a": a}))
    for one in found:
        try:
            expected = program.query(one["query"], semantics=probability.value)[0].numbers
        except dpasp.ImpossibleEvidence:
            expected = None
        assert one["ends"] == (None if expected is None else pytest.approx(list(expected)))


def test_a_certain_fact_can_be_made_uncertain() -> None:
    moving = live("1.0::a. b :- a. #query b.")
    found = moving.answers(Meaning(Logic.STABLE, Probability.MAXENT), {"0.0": (0.25,)}, UNLIMITED)
    assert found[0]["ends"] == [pytest.approx(0.25)]


def test_intervals_have_two_ends() -> None:
    moving = live("[0.2, 0.4]::a. b :- not a. #query b.")
    found = moving.answers(Meaning(), {"0.0": (0.1, 0.9)}, UNLIMITED)
    assert found[0]["ends"] == pytest.approx([0.1, 0.9])


def test_values_of_a_disjunction_give_way() -> None:
    full = live("0.5::a; 0.3::b; 0.2::c. #query a.")
    assert full.settled({"0.0": (0.75,)}, "0.0") == {
        "0.0": (0.75,),
        "0.1": (pytest.approx(0.15),),
        "0.2": (pytest.approx(0.1),),
    }
    assert full.settled({"0.0": (1.0,)}, "0.0")["0.1"] == (0.0,)
    partial = live("0.5::a; 0.3::b. #query a.")
    assert partial.settled({"0.0": (0.6,)}, "0.0")["0.1"] == (0.3,)  # there is room
    assert partial.settled({"0.0": (0.8,)}, "0.0")["0.1"] == (pytest.approx(0.2),)


def test_intervals_of_a_disjunction_must_leave_room() -> None:
    moving = live("[0.2, 0.6]::a; [0.3, 0.8]::b. #query a.")
    with pytest.raises(dpasp.UsageError, match="sum to 1"):
        moving.settled({"0.0": (0.9, 0.95)}, "0.0")
