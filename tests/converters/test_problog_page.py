"""docs/problog.md: the table of builtins."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import dpasp

PAGE = (Path(__file__).parents[2] / "docs" / "problog.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (`.*`[^|]*) \| (rules|ground) \|$", re.M)
GOALS = [
    (goal.replace(r"\|", "|"), way)
    for cells, way in ROW.findall(PAGE)
    for goal in re.findall(r"`(.*?)`", cells)
    if "(" in goal or " " in goal
]


@pytest.mark.parametrize(("goal", "way"), GOALS)
def test_each_goal_is_translated_as_the_table_says(goal: str, way: str) -> None:
    libraries = ":- use_module(library(lists)). :- use_module(library(apply))."
    text = f"{libraries} p(1). p(2). q(1). a :- p(X), p(Y), {goal}. query(a)."
    if way == "rules":
        assert "query a" in dpasp.convert(text, "problog", from_str=True, ground=False)
    else:
        with pytest.raises(dpasp.ProgramError):
            dpasp.convert(text, "problog", from_str=True, ground=False)


def test_the_table_has_goals_of_both_ways() -> None:
    assert {way for _, way in GOALS} == {"rules", "ground"}
    assert len(GOALS) > 40
