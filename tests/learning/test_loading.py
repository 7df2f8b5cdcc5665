"""Observations in all their forms."""

from __future__ import annotations

from pathlib import Path

import pytest

import dpasp

PROGRAM = """
#python
import numpy
def pairs(): return numpy.array([[1, 0], [1, 1], [0, numpy.nan]]), ["a", "edge(1,2)"]
def texts(): return ["a, ~edge(1,2)", ["a", "edge(1,2)"], ("not a",)]
def maker(): return (row for row in texts())
def odd(): return numpy.array([[1, 0]]), ["a"]
#end.
?::a. ?::edge(1,2).
#semantics maxent.
#learn ORIGIN, niters = 30, display = "none".
"""


def learned(origin: str, folder: Path) -> list[float]:
    path = folder / "program.plp"
    path.write_text(PROGRAM.replace("ORIGIN", origin))
    program = dpasp.load(path)
    program.learn()
    return [one["values"][0] for one in program.learned()]


@pytest.mark.parametrize("origin", ["@pairs", "@texts", "@maker", '"seen.csv"'])
def test_every_form_says_the_same(origin: str, tmp_path: Path) -> None:
    (tmp_path / "seen.csv").write_text('a,"edge(1,2)"\n1,0\n1,1\n0,\n')
    assert learned(origin, tmp_path) == pytest.approx([2 / 3, 1 / 2], abs=1e-6)


@pytest.mark.parametrize(
    ("origin", "code"),
    [
        ('"none.csv"', "data-file"),
        ('"commas.csv"', "observation-csv"),
        ('"empty.csv"', "observation-csv"),
        ("@odd", "observation-matrix"),
    ],
)
def test_what_is_refused(origin: str, code: str, tmp_path: Path) -> None:
    (tmp_path / "commas.csv").write_text("a,edge(1,2)\n1,0\n")
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(dpasp.DataError) as caught:
        learned(origin, tmp_path)
    assert caught.value.diagnostics[0].code == code
