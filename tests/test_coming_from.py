"""docs/coming-from.md: every line of the tables is converted, or means the same here."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from clingo import Control

import dpasp
from dpasp.cli import main
from dpasp.converters import DIALECTS
from dpasp.errors import ProgramError

PAGE = (Path(__file__).parent.parent / "docs" / "coming-from.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `(.*)` \| `(.*)` \|$", re.M)
RAIN = """
0.2::rain(yes); 0.8::rain(no).
0.9::wet(yes); 0.1::wet(no) :- rain(yes).
0.05::wet(yes); 0.95::wet(no) :- rain(no).
#semantics maxent.
"""


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


# For each line of Scallop's: facts that it needs, a question, and what the answers are.
SCALLOP = {
    "rel edge": ("", "edge(0,1), edge(1,2)", [0.12]),
    "rel path": ("0.3::edge(0,1). 0.4::edge(1,2).", "path(0,2)", [0.12]),
    "rel digit": ("", "digit(X)", [0.9, 0.1]),
    "rel n": ("0.3::p(1). p(2).", "n(X)", [0.7, 0.3]),
    "rel q": ("0.5::p(1). 0.2::r(1).", "q(1)", [0.4]),
    "rel sum": ("0.5::first(3). 0.4::second(4).", "sum(7)", [0.2]),
    "query path": ("path(0,1). 0.3::path(0,2). path(1,2).", "", [1.0, 0.3]),
}


@pytest.mark.parametrize(("theirs", "ours"), rows("Scallop"))
def test_lines_mean_what_they_do_in_scallop(theirs: str, ours: str) -> None:
    (beginning,) = [one for one in SCALLOP if theirs.startswith((f"{one} ", f"{one}("))]
    facts, query, expected = SCALLOP[beginning]
    answers = dpasp.loads(f"{facts}\n{ours}").query(*filter(None, [query]), semantics="maxent")
    assert [answer.value for answer in answers] == pytest.approx(expected)


CHOOSING = "#const n = 2. a(1..n). {b; c} 1. d :- n = 5.\n"


def models_by_clingo(words: list[str]) -> list[set[str]]:
    """The models that clingo finds, as many as it is asked for."""
    control = Control(words, message_limit=0)
    control.add(CHOOSING)
    control.ground()
    found: list[set[str]] = []
    control.solve(on_model=lambda model: found.append({str(s) for s in model.symbols(atoms=True)}))
    return found


@pytest.mark.parametrize(("theirs", "ours"), rows("clingo"))
def test_commands_print_what_clingo_prints(
    theirs: str,
    ours: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.lp").write_text(CHOOSING)
    assert main(shlex.split(ours)[1:]) == 0
    printed = capsys.readouterr().out.splitlines()
    system, *words = [word for word in shlex.split(theirs) if word != "p.lp"]
    if system == "clingo":
        found = [set(line.split()) for line in printed]
        every = models_by_clingo([*(word for word in words if word != "0"), "0"])
        assert len(found) == len(models_by_clingo(words)) > 0
        assert all(found.count(one) == 1 and one in every for one in found)
    else:
        assert "a(1)." in printed
        assert "a(2)." in printed
        assert any("b" in line and "c" in line for line in printed)


# What the calls in the right column give for this network.
NETWORK = {
    "query": lambda found: (
        [answer.value for answer in found] == pytest.approx([0.04 / 0.22, 0.18 / 0.22])
    ),
    "map_query": lambda found: found[0].assignment == {"rain(yes)": True},
    "simulate": lambda found: (
        len(found) == 100 and all(one["rain(yes)"] is not one["rain(no)"] for one in found)
    ),
}


@pytest.mark.parametrize(("theirs", "ours"), rows("pgmpy"))
def test_calls_give_what_pgmpy_gives(theirs: str, ours: str) -> None:
    """By Bayes' rule, rain is 0.18 of the 0.22 that is wet."""
    found = eval(ours, {"program": dpasp.loads(RAIN)})
    (name,) = re.findall(r"\.(\w+)\(", theirs)
    assert NETWORK[name](found)


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
        dpasp.loads(text).query("a")


def test_the_page_names_every_system() -> None:
    assert all(f"`{name}`" in PAGE for name in DIALECTS)
