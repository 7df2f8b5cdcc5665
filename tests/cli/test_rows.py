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


def test_impossible_rows_are_empty_and_counted(dpasp: Command) -> None:
    text = TEXT.replace("0.01::lung(yes); 0.99::lung(no)", "lung(no)")
    Path("rows.csv").write_text("smoke,lung\nno,yes\nyes,yes\n")
    result = dpasp("run", "--rows", "rows.csv", "-o", "out.csv", text=text)
    assert result.code == 0
    assert "1 row has evidence of probability 0" in result.err
    assert Path("out.csv").read_text().splitlines() == ["row,smoke(yes)", "0,", "1,1.0"]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("smoker\nyes\n", "did you mean 'smoke'"),
        ("smoke\nyess\n", "did you mean yes?"),
        ("smoke,smoke\nyes,no\n", "two columns are named smoke"),
        ("", "the file is empty"),
        ("smoke\n", "no rows"),
        ("smoke,lung\nyes\n", "line 2 has 1 values"),
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
