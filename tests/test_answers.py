"""The public table of answers: dPASP gives all of them, and the page is what the table says."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent / "answers"
TABLE: list[dict[str, Any]] = json.loads((ROOT / "answers.json").read_text(encoding="utf-8"))
CHECK = runpy.run_path(str(ROOT / "check.py"))


@pytest.mark.parametrize("entry", TABLE, ids=lambda e: f"{e['program']}: {e['query']}")
def test_ours(entry: dict[str, Any]) -> None:
    assert CHECK["by_dpasp"](entry) == pytest.approx(CHECK["wanted"](entry), abs=1e-12)


def test_a_command() -> None:
    (entry,) = [each for each in TABLE if each["query"] == "p"]
    answer = CHECK["by_command"]("grep -c . {file}")  # one number, and two are needed
    with pytest.raises(CHECK["Declined"]):
        answer(entry)
    assert CHECK["by_command"]("echo lower 0.0 upper 0.3")(entry) == (0.0, 0.3)


def test_the_page() -> None:
    assert (ROOT / "README.md").read_text(encoding="utf-8") == CHECK["page"](TABLE)
