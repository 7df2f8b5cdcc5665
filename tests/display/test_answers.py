"""Answers as text: lines, or a table with a line for each test row."""

from __future__ import annotations

from dataclasses import replace
from io import BytesIO, TextIOWrapper

import numpy as np
import pytest

import dpasp
from dpasp.display.answers import answers_text
from dpasp.inference.answers import Answer, Answers, MapAnswer


def answers(*found: Answer | MapAnswer) -> Answers:
    return Answers(found, "stable", "maxent", "compile")


def test_a_line_for_each_answer() -> None:
    given = answers(Answer("a", value=0.25), Answer("b | c", lower=0.2, upper=0.7))
    assert answers_text(given) == "ℙ(a) = 0.250000\nℙ(b | c) = [0.200000, 0.700000]"


def test_a_table_when_there_is_a_number_for_each_row() -> None:
    given = answers(
        Answer("sum(1)", value=np.array([0.5, 1e-9])),
        Answer("x", value=0.25),
        Answer("sum(10)", lower=np.array([0.0, 0.1]), upper=np.array([1.0, 0.2])),
    )
    assert answers_text(given).splitlines() == [
        "ℙ(x) = 0.250000",
        "row     ℙ(sum(1))            ℙ(sum(10))",
        "  0      0.500000  [0.000000, 1.000000]",
        "  1  1.000000e-09  [0.100000, 0.200000]",
    ]


def test_most_probable_values_stay_lines() -> None:
    given = answers(MapAnswer("a? | b", {"a": True}, value=0.4))
    assert answers_text(given) == "max ℙ(a? | b) = 0.400000 at a"


def test_a_terminal_gets_the_most_probable_answers() -> None:
    numbers = np.array([0.9, 0.2] * 10)
    found = Answers(
        (Answer("sum(1)", value=numbers), Answer("sum(2)", value=1 - numbers)),
        "stable",
        "maxent",
        "compile",
    )
    lines = answers_text(found, brief=True).splitlines()
    assert lines[0].split() == ["row", "most", "probable", "sum", "probability"]
    assert lines[1].split() == ["0", "sum(1)", "0.900000"]
    assert lines[2].split() == ["1", "sum(2)", "0.800000"]
    assert "10 more" in lines[6]
    assert lines[-1].split() == ["19", "sum(2)", "0.800000"]
    assert len(answers_text(found).splitlines()) == 21


def test_bounds_that_coincide_are_told_once() -> None:
    one = MapAnswer("a?", {"a": False}, upper=0.7, lower=0.7, lower_assignment={"a": False})
    assert answers_text(answers(one)) == "max ℙ(a?) = 0.700000 at not a"
    two = replace(one, lower_assignment={"a": True})
    assert len(answers_text(answers(two)).splitlines()) == 2
    program = dpasp.loads("0.3::a. b :- a. #query b. #map b?.")
    assert "max ℙ(b?) = 0.700000 at not b" in str(program.query())
    assert "[" not in str(program.explain("b"))


def test_plain_letters_where_standard_output_has_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    for encoding, sign in (("ascii", "P"), ("cp1252", "P"), ("utf-8", "ℙ")):
        monkeypatch.setattr("sys.stdout", TextIOWrapper(BytesIO(), encoding=encoding))
        found = dpasp.loads("0.3::a. #query a.").query()
        for text in (str(found), str(found[0]), str(dpasp.loads("0.3::a.").explain("a"))):
            assert text.startswith(f"{sign}(a)")
            text.encode(encoding)
