"""The files that ``dpasp run`` and others write: tables, pictures, reports."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import dpasp as library
from dpasp.inference.answers import Answer, Answers

from .conftest import Command

TEXT = "0.3::a. b :- not a.\n#query a.\n#query b | not a.\n"


def test_a_table(dpasp: Command) -> None:
    assert dpasp("run", "--csv", "t.csv", text=TEXT).code == 0
    with open("t.csv", encoding="utf-8") as file:
        first, second = csv.DictReader(file)
    assert (first["query"], float(first["lower"])) == ("a", 0.3)
    assert second["query"] == "b | not a"


def test_a_table_has_a_line_for_each_test_row(tmp_path: Path) -> None:
    import numpy as np

    rows = Answer("sum(1)", value=np.array([0.25, 0.5]))
    Answers((rows, Answer("x", value=0.1)), "stable", "maxent", "compile").save(tmp_path / "t.csv")
    lines = (tmp_path / "t.csv").read_text().splitlines()
    assert lines[0] == "query,kind,value,row"
    assert lines[1:] == [
        "sum(1),probability,0.25,0",
        "sum(1),probability,0.5,1",
        "x,probability,0.1,",
    ]


def test_a_report_is_one_page(dpasp: Command) -> None:
    assert dpasp("run", "--report", "r.html", "--query", "b", text=TEXT).code == 0
    page = Path("r.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    for words in ("ℙ(a)", "0.300000", "Why", "--report r.html", f"dPASP {library.__version__}"):
        assert words in page
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in page
    assert [file.name for file in Path().iterdir() if file.name.startswith(".")] == []


def test_a_report_escapes_what_a_program_says(dpasp: Command) -> None:
    text = '0.3::a("<script>alert(1)</script>").\n#query a(X).\n'
    assert dpasp("run", "--report", "r.html", text=text).code == 0
    assert "<script" not in Path("r.html").read_text(encoding="utf-8")


def test_a_report_has_the_reasons_of_intervals_and_of_missing_models(dpasp: Command) -> None:
    text = "[0.1, 0.2]::a. 0.5::b. :- a, b.\n#query a.\n"
    assert dpasp("run", "--report", "r.html", text=text).code == 0
    page = Path("r.html").read_text(encoding="utf-8")
    assert "what must be chosen for it" in page
    assert "Without a model" in page
    assert "line 1: :- a, b." in page


def test_pictures_of_the_ground_program_and_the_circuit(dpasp: Command) -> None:
    pytest.importorskip("pygraphviz")
    assert dpasp("ground", "--plot", "g.svg", text=TEXT).code == 0
    assert "0.3 :: a" in Path("g.svg").read_text(encoding="utf-8")
    assert dpasp("compile", "--plot", "c.svg", text=TEXT).code == 0
    assert "not a" in Path("c.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("command", "option", "name"),
    [
        ("run", "--csv", "t.xls"),
        ("run", "--plot", "p.abc"),
        ("run", "--report", "r.pdf"),
        ("ground", "--plot", "p"),
        ("compile", "--plot", "p.json"),
    ],
)
def test_endings_are_checked_before_the_work(
    dpasp: Command, command: str, option: str, name: str
) -> None:
    code, out, err = dpasp(command, option, name, text=TEXT)
    assert (code, out) == (2, "")
    assert "is written as" in err


@pytest.mark.parametrize(
    "words",
    [
        ("run", "p.plp", "--rows", "t.csv", "-o", "t.csv"),
        ("run", "p.plp", "--rows", "t.csv", "-o", "a.csv", "--csv", "./a.csv"),
        ("run", "p.plp", "--learned", "./p.plp"),
        ("convert", "p.plp", "--from", "problog", "-o", "p.plp"),
    ],
)
def test_what_is_read_is_not_written_over(dpasp: Command, words: tuple[str, ...]) -> None:
    texts = {"p.plp": "?::a. #query a.\n", "t.csv": "a\n1\n"}
    for name, text in texts.items():
        Path(name).write_text(text)
    code, out, err = dpasp(*words)
    assert (code, out) == (2, "")
    assert "is named twice, and would be lost" in err
    assert {name: Path(name).read_text() for name in texts} == texts
    assert not Path("a.csv").exists()


def test_a_folder_that_is_not_there(dpasp: Command) -> None:
    code, _, err = dpasp("run", "--report", "absent/r.html", text=TEXT)
    assert code == 2
    assert "cannot write" in err


def test_a_program_reports_from_python(tmp_path: Path) -> None:
    library.loads(TEXT).report(tmp_path / "r.html", semantics="maxent")
    assert "stable, maxent" in (tmp_path / "r.html").read_text(encoding="utf-8")
    with pytest.raises(library.UsageError, match="is written as"):
        library.loads(TEXT).report(tmp_path / "r.txt")


def test_json_is_as_before(dpasp: Command) -> None:
    out = dpasp("run", "--json", "--csv", "t.csv", text=TEXT).out
    assert [answer["query"] for answer in json.loads(out)["answers"]] == ["a", "b | not a"]
