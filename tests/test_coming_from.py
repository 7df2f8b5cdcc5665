"""docs/coming-from.md: every line of the tables is converted, read or run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import dpasp
from dpasp.converters import DIALECTS
from dpasp.errors import ProgramError

PAGE = (Path(__file__).parent.parent / "docs" / "coming-from.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `(.*)` \| `(.*)` \|$", re.M)
RAIN = "0.2::rain(yes); 0.8::rain(no). 0.9::wet(yes) :- rain(yes).\n#semantics maxent."


def rows(heading: str) -> list[tuple[str, str]]:
    """The pairs of lines in the table of a section."""
    section = re.search(rf"^## {heading}.*?(?=^## |\Z)", PAGE, re.M | re.S)
    assert section is not None
    found = ROW.findall(section[0])
    assert found
    return [(theirs.replace(r"\|", "|"), ours.replace(r"\|", "|")) for theirs, ours in found]


def statements(text: str) -> list[str]:
    """The statements of a text, without comments and spaces."""
    lines = [re.sub("%.*", "", line) for line in text.splitlines()]
    kept = [line for line in lines if not line.startswith("#semantics")]
    return sorted(
        re.sub(r"\s+", "", part)
        for part in re.split(r"(?<=\.)(?:\s|$)", " ".join(kept))
        if part.strip()
    )


CONVERTED = ["ProbLog", "PASTA", "NeurASP", "DeepProbLog"]


@pytest.mark.parametrize(
    ("system", "theirs", "ours"), [(s, *row) for s in CONVERTED for row in rows(s)]
)
def test_the_right_column_is_what_convert_writes(system: str, theirs: str, ours: str) -> None:
    # the lines are of longer programs, which define and import the rest
    rest = ":- unknown(fail). :- use_module(library(lists))."
    text = f"{rest} {theirs}" if system.endswith("ProbLog") else theirs
    found = dpasp.convert(text, system.lower(), from_str=True)
    assert statements(found) == statements(ours)


@pytest.mark.parametrize("ours", [ours for _, ours in rows("Scallop")])
def test_lines_are_programs(ours: str) -> None:
    dpasp.loads(ours)


@pytest.mark.parametrize("ours", [ours for _, ours in rows("clingo")])
def test_commands_run(ours: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dpasp.cli import main

    monkeypatch.chdir(tmp_path)
    Path("p.lp").write_text("#const n = 2. {a(1..n)}.")
    assert main(shlex.split(ours)[1:]) == 0


@pytest.mark.parametrize("ours", [ours for _, ours in rows("pgmpy")])
def test_calls_run(ours: str) -> None:
    eval(ours, {"program": dpasp.loads(RAIN)})


@pytest.mark.parametrize(
    "text",
    [
        "a. #minimize{1 : a}.",
        "a. #maximize{1 : a}.",
        "a. :~ a. [1]",
        "#program step(t). a(t).",
        "#theory t { x{}; &p/0 : x, any }. &p {}.",
        "#include <incmode>.",
    ],
)
def test_what_is_said_to_be_refused_is(text: str) -> None:
    with pytest.raises(ProgramError):
        dpasp.loads(text)


def test_the_page_names_every_system() -> None:
    assert all(f"`{name}`" in PAGE for name in DIALECTS)
