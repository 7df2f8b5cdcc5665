"""The public table of answers: dPASP gives all of them, and the page is what the table says."""

from __future__ import annotations

import json
import os
import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent / "answers"
TABLE: list[dict[str, Any]] = json.loads((ROOT / "answers.json").read_text(encoding="utf-8"))
OWN = [entry for entry in TABLE if "file" not in entry]
# Those that are read, compiled and answered in a few seconds.
QUICK = ("alarm", "child", "insurance", "win95pts", "Promedus_24", "mc2022_track2_042")
OTHERS = [e for e in TABLE if "file" in e and e["program"].partition(" ")[0] in QUICK]
CHECK = runpy.run_path(str(ROOT / "check.py"))
DERIVE = runpy.run_path(str(ROOT / "derive.py"))


def name(entry: dict[str, Any]) -> str:
    return f"{entry['program']}: {entry['question']}"


@pytest.mark.parametrize("entry", OWN, ids=name)
def test_ours(entry: dict[str, Any]) -> None:
    assert CHECK["by_dpasp"](entry) == pytest.approx(CHECK["wanted"](entry), abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("entry", OTHERS, ids=name)
def test_files_of_others(entry: dict[str, Any]) -> None:
    if not Path(os.environ.get("DPASP_DATA", ""), entry["file"]).is_file():
        pytest.skip("the folder DPASP_DATA does not have it")
    assert CHECK["by_dpasp"](entry) == pytest.approx(CHECK["wanted"](entry), rel=1e-6, abs=1e-6)


@pytest.mark.slow  # 32,768 states in fractions
def test_values_are_derived_without_us() -> None:
    table = {DERIVE["key"](entry): entry for entry in TABLE}
    for row in DERIVE["rows"]():
        assert {**table[DERIVE["key"](row)], "times": {}} == row


def test_every_question_has_a_program_and_a_source() -> None:
    keys = [DERIVE["key"](entry) for entry in TABLE]
    assert len(set(keys)) == len(keys)
    programs = {path.stem for path in (ROOT / "programs").glob("*.plp")}
    assert {entry["program"] for entry in OWN} == programs
    assert all(entry["source"] for entry in TABLE)


def test_a_command() -> None:
    (entry,) = [each for each in TABLE if each["question"] == "#query p."]
    answer = CHECK["by_command"]("grep -c . {file}")  # one number, and two are needed
    with pytest.raises(CHECK["Declined"]):
        answer(entry)
    assert CHECK["by_command"]("echo lower 0.0 upper 0.3")(entry) == (0.0, 0.3)


def test_the_page() -> None:
    assert (ROOT / "README.md").read_text(encoding="utf-8") == CHECK["page"](TABLE)
