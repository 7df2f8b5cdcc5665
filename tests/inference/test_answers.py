"""Answers as text, JSON, arrays and tables."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import numpy as np
import pytest

import dpasp
from dpasp.inference.answers import Answer, Answers, MapAnswer, decimal_text

TEXT = """
0.3::a. 0.5::b.
p :- a, not q. q :- a, not p.
#query p.
#query p | a, not b.
#map a?, b? | p.
"""


@pytest.fixture
def credal() -> Answers:
    return dpasp.loads(TEXT, file="t.plp").query()


@pytest.fixture
def maxent() -> Answers:
    return dpasp.loads(TEXT, file="t.plp").query(semantics="maxent")


def test_by_index_and_by_name(credal: Answers) -> None:
    assert len(credal) == 3
    assert credal[0] is credal["p"]
    assert credal["p|a,not b"] is credal[1] is credal["p | a, not b"]
    assert credal[-1].kind == "map"
    assert [one.query for one in credal] == ["p", "p | a, not b", "a?, b? | p"]
    assert [one.query for one in credal[:2]] == ["p", "p | a, not b"]
    assert credal[0] in credal


def test_an_unknown_name_suggests_a_known_one(credal: Answers) -> None:
    with pytest.raises(KeyError, match=r"did you mean 'p \\| a, not b'"):
        credal["p | a, b"]


def test_text(credal: Answers, maxent: Answers) -> None:
    assert str(credal).splitlines() == [
        "ℙ(p) = [0.000000, 0.300000]",
        "ℙ(p | a, not b) = [0.000000, 1.000000]",
        "max lower ℙ(a?, b? | p) = 0.000000 at a, b or a, not b",
        "max upper ℙ(a?, b? | p) = 1.000000 at a, b or a, not b",
    ]
    assert str(maxent).splitlines() == [
        "ℙ(p) = 0.150000",
        "ℙ(p | a, not b) = 0.500000",
        "max ℙ(a?, b? | p) = 0.500000 at a, b or a, not b",
    ]


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0.000000"),
        (1.0, "1.000000"),
        (0.12345678, "0.123457"),
        (1.2345678e-10, "1.234568e-10"),
        (4.9e-7, "4.900000e-07"),
        (1e-300, "1.000000e-300"),
    ],
)
def test_small_numbers_do_not_print_as_zero(number: float, text: str) -> None:
    assert decimal_text(number) == text


def test_json_is_that_of_the_command_line(credal: Answers) -> None:
    seen = json.loads(credal.to_json())
    assert list(seen) == [
        "version", "files", "semantics", "engine", "inconsistent", "answers", "statistics",
    ]  # fmt: skip
    assert seen["version"] == dpasp.__version__
    assert seen["files"] == ["t.plp"]
    assert seen["semantics"] == {"logic": "stable", "probability": "credal"}
    assert seen["answers"][0] == {
        "query": "p",
        "kind": "probability",
        "lower": 0.0,
        "upper": pytest.approx(0.3),
    }
    assert seen["statistics"]["choices"] == 2
    assert seen["statistics"]["ground_rules"] == 4
    assert {"ground", "evaluate"} <= set(seen["statistics"]["seconds"])


def test_json_under_maxent(maxent: Answers) -> None:
    first, _, last = json.loads(maxent.to_json())["answers"]
    assert first == {"query": "p", "kind": "probability", "value": pytest.approx(0.15)}
    assert last["kind"] == "map"
    assert last["assignment"] == {"a": True, "b": True}
    assert last["ties"] == [{"a": True, "b": False}]


def test_arrays(credal: Answers, maxent: Answers) -> None:
    assert credal.to_numpy().shape == (3, 2)
    assert np.asarray(credal)[0] == pytest.approx([0, 0.3])
    assert np.asarray(maxent) == pytest.approx([0.15, 0.5, 0.5])
    assert np.asarray(maxent, dtype=np.float32).dtype == np.float32


def test_one_number_a_row() -> None:
    rows = Answers(
        (Answer("a", value=np.array([0.1, 0.2])), Answer("b", value=np.array([0.3, 1e-9]))),
        "stable", "maxent", "compile",
    )  # fmt: skip
    assert str(rows[0]).splitlines() == ["ℙ(a):", "      0  0.100000", "      1  0.200000"]
    assert rows.to_numpy().shape == (2, 2)
    assert rows.to_dict()["answers"][1]["value"] == [0.3, 1e-9]


def test_no_answers() -> None:
    nothing = Answers((), "stable", "maxent", "enumerate")
    assert nothing.to_numpy().shape == (0,)
    assert str(nothing) == ""


def test_a_frame_needs_pandas(maxent: Answers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(dpasp.UsageError, match="needs pandas"):
        maxent.to_frame()


def test_a_frame_has_a_line_an_answer(maxent: Answers) -> None:
    records = list(maxent.records())
    assert records[0] == {"query": "p", "kind": "probability", "value": pytest.approx(0.15)}
    assert records[2]["assignment"] == "a, b"
    rows = Answers((Answer("a", value=np.array([0.1, 0.2])),), "stable", "maxent", "compile")
    assert list(rows.records()) == [
        {"query": "a", "kind": "probability", "row": 0, "value": 0.1},
        {"query": "a", "kind": "probability", "row": 1, "value": 0.2},
    ]
    pandas = pytest.importorskip("pandas")
    assert isinstance(maxent.to_frame(), pandas.DataFrame)


def test_notebooks_get_a_table_with_escaped_names() -> None:
    answer = dpasp.loads('0.3::a("<b>"). :- a("<b>"). #query a("<b>").').query()
    html = answer._repr_html_()
    assert "<b>" not in html
    assert "&lt;b&gt;" in html
    assert "have no model" in html


def test_lower_assignments_only_under_credal() -> None:
    best = MapAnswer("a?", {"a": True}, value=0.5)
    assert "lower_assignment" not in best.to_dict()


def test_few_of_many_ties_are_shown() -> None:
    facts = "0.5::a(1..{n}). #semantics maxent. #mpe."
    (answer,) = dpasp.loads(facts.format(n=2)).query()
    assert "more" not in str(answer)
    assert str(answer).count(" or ") == 3
    (answer,) = dpasp.loads(facts.format(n=3)).query()
    assert str(answer).endswith(" and 4 more")
    assert "more_ties" not in answer.to_dict()
    (answer,) = dpasp.loads(facts.format(n=12)).query()
    assert str(answer).endswith(" and more than 996 others")
    assert len(answer.ties) == 999
    assert answer.to_dict()["more_ties"] is True


def test_lower_ties_are_shown_alike() -> None:
    (answer,) = dpasp.loads("{a(1..3)}. #map a(X)?.").query()
    assert answer.lower == 0.0
    assert str(answer).splitlines()[0].endswith(" and 4 more")


def test_how_exact_the_inconsistent_mass_is() -> None:
    def said(text: str, engine: str = "auto") -> str:
        answers = dpasp.loads(text).query(engine=engine)
        (warning,) = (one for one in answers.warnings if one.code == "inconsistent-choices")
        return warning.message

    fixed = "0.6::a. 0.5::b. :- a, b. #query a."
    assert said(fixed).startswith("total choices of probability 0.3 ")
    assert said("[0.3, 0.6]::a. 0.5::b. :- a, b. #query a.").startswith(
        "total choices of probability up to 0.3 "
    )
    assert "of probability about 0." in said(fixed, "sample")
    assert "of probability at least 0.3 " in said(fixed, "bounds")


def test_the_gap_of_a_stopped_search() -> None:
    """By how much something else may be more probable: the larger of both, under credal."""
    assert MapAnswer("a?", {"a": True}, value=0.25, most=0.5).gap == 0.25
    credal = MapAnswer(
        "a?", {"a": True}, upper=0.5, lower=0.25, lower_assignment={"a": True}, most=0.625
    )
    assert credal.gap == 0.125
    assert replace(credal, lower_most=0.5).gap == 0.25
    assert MapAnswer("a?", {"a": True}, value=0.25).gap == 0


def test_equal_is_what_answers_the_same() -> None:
    program = dpasp.loads(TEXT)
    first, second = program.query(), program.query()
    assert first.statistics is not second.statistics
    assert first == second
    assert hash(first) == hash(second)
    assert first == program.query(engine="enumerate")  # however it was found
    assert first != program.query(semantics="maxent")
    assert first != dpasp.loads(TEXT.replace("0.3", "0.4")).query()
    assert first[0] in second
    assert second.index(first[2]) == 2


def test_answers_with_rows_are_equal_row_by_row() -> None:
    rows = np.array([0.2, np.nan, 0.7])
    answer = Answer("a", lower=rows, upper=rows + 0.1, interval=(rows, rows), gap=rows)
    assert answer == replace(answer, lower=rows.copy(), interval=(rows.copy(), rows.copy()))
    assert answer != replace(answer, lower=rows[:2])
    assert answer != replace(answer, upper=rows + 0.2)
    assert answer != replace(answer, gap=None)
    assert answer != "a"
    assert len({answer, replace(answer)}) == 1
