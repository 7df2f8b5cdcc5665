"""Tables of evidence on the command line: the same columns as in Python."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from .conftest import Command

TEXT = """
0.4::smoke(yes); 0.6::smoke(no).
0.3::lung(yes); 0.7::lung(no) :- smoke(yes).
0.01::lung(yes); 0.99::lung(no) :- smoke(no).
#semantics maxent.
#query smoke(yes).
"""


def test_an_answer_for_each_row(dpasp: Command) -> None:
    Path("rows.csv").write_text("smoke,lung\nyes,\nno,yes\n?,no\n")
    arguments = ("run", "--rows", "rows.csv", "--query", "lung(X)")
    result = dpasp(*arguments, "-o", "out.csv", text=TEXT)
    assert result.code == 0, result.err
    lines = result.out.splitlines()
    assert lines[0].split() == ["row", "ℙ(smoke(yes))", "ℙ(lung(no))", "ℙ(lung(yes))"]
    assert lines[1].split() == ["0", "1.000000", "0.700000", "0.300000"]
    with open("out.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["lung(yes)"]) for row in rows] == pytest.approx([0.3, 1.0, 0.0])
    answers = dpasp(*arguments, "--json", text=TEXT).json["answers"]
    assert answers[2]["value"] == pytest.approx([0.3, 1.0, 0.0])


DECIDE = """
0.3::rain(yes); 0.7::rain(no).
#decision {umbrella}. dry :- umbrella. dry :- rain(no).
#utility 10 : dry. #utility -2 : umbrella. #decide.
"""


def test_decisions_have_a_line_for_each_row(dpasp: Command) -> None:
    Path("rows.csv").write_text("rain\nyes\nno\n")
    text = f"{DECIDE} #semantics maxent."
    for query in ((), ("--query", "dry")):
        result = dpasp("run", "--rows", "rows.csv", "-o", "out.csv", *query, text=text)
        assert result.code == 0, result.err
        with open("out.csv", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        assert [float(row["max 𝔼"]) for row in rows] == pytest.approx([8, 10])
        assert [row["max 𝔼_strategy"] for row in rows] == ["umbrella", "not umbrella"]
    assert dpasp("run", "--rows", "rows.csv", "-o", "out.csv", text=DECIDE).code == 0
    head = Path("out.csv").read_text(encoding="utf-8").splitlines()[0].split(",")
    assert head[:4] == ["row", "maximin 𝔼_lower", "maximin 𝔼_upper", "maximin 𝔼_strategy"]


def test_impossible_rows_are_empty_and_counted(dpasp: Command) -> None:
    text = TEXT.replace("0.01::lung(yes); 0.99::lung(no)", "lung(no)")
    Path("rows.csv").write_text("smoke,lung\nno,yes\nyes,yes\n")
    result = dpasp("run", "--rows", "rows.csv", "-o", "out.csv", text=text)
    assert result.code == 0
    assert "1 row has evidence of probability 0" in result.err
    assert Path("out.csv").read_text().splitlines() == ["row,smoke(yes)", "0,", "1,1.0"]


def test_an_empty_line_of_a_single_column_is_a_row(dpasp: Command) -> None:
    Path("rows.csv").write_text("\nsmoke\nyes\n\nno\n\n")
    assert dpasp("run", "--rows", "rows.csv", "-o", "out.csv", text=TEXT).code == 0
    assert [line.split(",")[0] for line in Path("out.csv").read_text().splitlines()[1:]] == [*"012"]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("smoker\nyes\n", "did you mean 'smoke'"),
        ("smoke\nyess\n", "did you mean yes?"),
        ("smoke,smoke\nyes,no\n", "two columns are named smoke"),
        (",smoke\n0,yes\n", "column 1 has no name"),
        ("", "rows.csv: it is empty"),
        ("smoke\n", "no rows"),
        ("smoke,lung\nyes\n", "line 2 has 1 value"),
    ],
)
def test_bad_tables_have_a_clear_end(dpasp: Command, table: str, message: str) -> None:
    Path("rows.csv").write_text(table)
    result = dpasp("run", "--rows", "rows.csv", text=TEXT)
    assert result.code == 65
    assert message in result.err


def test_usage(dpasp: Command) -> None:
    assert dpasp("run", "-o", "out.csv", text=TEXT).code == 2
    assert dpasp("run", "--rows", "nothing.csv", text=TEXT).code == 65


def test_explain_answers_the_query_that_is_asked(dpasp: Command) -> None:
    out = dpasp("explain", "--query", "lung(yes)", text=TEXT).out
    assert out.count("ℙ(") == 1
    assert "by line 3, lung(yes) by line 4" not in out  # rows that exclude each other


EXTERNAL = """
#external sensor(1..2).
0.3::fire.
0.9::alarm :- fire, sensor(1).
#semantics maxent.
#query alarm.
"""


def test_external_atoms_are_set_by_an_option_or_by_a_column(dpasp: Command) -> None:
    set_one = ("--external", "sensor(1)=true")
    assert "0.270000" in dpasp("run", *set_one, text=EXTERNAL).out
    assert "\nsensor(1).\n" in dpasp("ground", *set_one, text=EXTERNAL).out
    wrong = dpasp("run", "--external", "sensr(1)=true", text=EXTERNAL)
    assert wrong.code != 0
    assert "did you mean 'sensor(1)'?" in wrong.err
    assert dpasp("run", "--external", "sensor(1)", text=EXTERNAL).code == 2
    Path("rows.csv").write_text('"sensor(1)",fire\ntrue,true\nfalse,true\ntrue,\n')
    answers = dpasp("run", "--rows", "rows.csv", "--json", text=EXTERNAL).json["answers"]
    assert answers[0]["value"] == pytest.approx([0.9, 0.0, 0.27])


def test_a_query_that_the_program_asks_already_is_answered_once(dpasp: Command) -> None:
    text = "0.3::a. b :- a. c :- not a. #query b. #query c."
    Path("rows.csv").write_text("a\n1\n0\n")
    head = dpasp("run", "--rows", "rows.csv", "--query", "b", "--query", "b|c", text=text).out
    assert head.splitlines()[0].split("  ")[-1] == "ℙ(b | c)"
    assert head.splitlines()[0].count("ℙ(b)") == 1
    assert dpasp("run", "--query", "c", text=text).out.count("ℙ(c)") == 1
