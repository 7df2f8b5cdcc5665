"""Influence diagrams become programs whose best strategy is worth what other tools say."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import product
from math import prod
from pathlib import Path
from random import Random

import pytest

import dpasp

# Raiffa's oil wildcatter: test or not (10), then drill or not, knowing the result.
OIL = """<?xml version="1.0"?>
<BIF VERSION="0.3"><NETWORK>
<VARIABLE TYPE="decision"><NAME>Testing</NAME><OUTCOME>Yes</OUTCOME><OUTCOME>No</OUTCOME></VARIABLE>
<VARIABLE TYPE="decision"><NAME>Drilling</NAME>
  <OUTCOME>Yes</OUTCOME><OUTCOME>No</OUTCOME></VARIABLE>
<VARIABLE TYPE="nature"><NAME>Result</NAME>
  <OUTCOME>closed</OUTCOME><OUTCOME>open</OUTCOME><OUTCOME>diffuse</OUTCOME></VARIABLE>
<VARIABLE TYPE="nature"><NAME>Oil</NAME>
  <OUTCOME>dry</OUTCOME><OUTCOME>wet</OUTCOME><OUTCOME>soaking</OUTCOME></VARIABLE>
<VARIABLE TYPE="utility"><NAME>Cost</NAME><OUTCOME>0</OUTCOME></VARIABLE>
<VARIABLE TYPE="utility"><NAME>Reward</NAME><OUTCOME>0</OUTCOME></VARIABLE>
<DEFINITION><FOR>Drilling</FOR><GIVEN>Result</GIVEN><GIVEN>Testing</GIVEN></DEFINITION>
<DEFINITION><FOR>Result</FOR><GIVEN>Testing</GIVEN><GIVEN>Oil</GIVEN><TABLE>
  0.1 0.3 0.6  0.3 0.4 0.3  0.5 0.4 0.1
  0.25 0.25 0.5  0.25 0.25 0.5  0.25 0.25 0.5</TABLE></DEFINITION>
<DEFINITION><FOR>Oil</FOR><TABLE>0.5 0.3 0.2</TABLE></DEFINITION>
<DEFINITION><FOR>Cost</FOR><GIVEN>Testing</GIVEN><TABLE>-10 0</TABLE></DEFINITION>
<DEFINITION><FOR>Reward</FOR><GIVEN>Drilling</GIVEN><GIVEN>Oil</GIVEN>
  <TABLE>-70 50 200 0 0 0</TABLE></DEFINITION>
</NETWORK></BIF>
"""


def test_the_oil_wildcatter() -> None:
    program = dpasp.loads(dpasp.convert(OIL, "bif", from_str=True))
    best = program.decide()
    assert best.value == pytest.approx(22.5)
    assert best.strategy["testing(yes)"]
    assert not best.strategy["drilling(yes) if testing(yes), result(diffuse)"]
    # without the test it would be 20: what the oil is worth to know is more than both
    assert program.query("result(open) | testing(yes)")[0].value == pytest.approx(0.35)


def random_diagram(seed: int) -> str:
    """Chance, a decision that may see it, chance, and a decision that recalls all of that."""
    random = Random(seed)
    sizes = {name: random.randint(2, 3) for name in "abcde"} | dict.fromkeys("uvw", 1)
    kinds = dict.fromkeys("abc", "nature") | dict.fromkeys("de", "decision")
    kinds |= dict.fromkeys("uvw", "utility")
    first = "a" if random.random() < 0.5 else ""
    parents = {"a": "", "d": first, "b": "ad", "c": "b", "e": first + "db"}
    parents |= {"u": "ce", "v": "ad", "w": "bde"}
    lines = []
    for name, size in sizes.items():
        outcomes = "".join(f"<OUTCOME>o{i}</OUTCOME>" for i in range(size))
        lines.append(f'<VARIABLE TYPE="{kinds[name]}"><NAME>{name}</NAME>{outcomes}</VARIABLE>')
    for name, given in parents.items():
        numbers: list[float] = []
        for _ in range(prod(sizes[parent] for parent in given)):
            row = [random.randint(1, 9) for _ in range(sizes[name])]
            utility = [random.randint(-20, 20) / 2]
            numbers += utility if name in "uvw" else [number / sum(row) for number in row]
        table = "" if name in "de" else f"<TABLE>{' '.join(map(repr, numbers))}</TABLE>"
        arcs = "".join(f"<GIVEN>{parent}</GIVEN>" for parent in given)
        lines.append(f"<DEFINITION><FOR>{name}</FOR>{arcs}{table}</DEFINITION>")
    body = "\n".join(lines)
    return f'<?xml version="1.0"?>\n<BIF VERSION="0.3"><NETWORK>\n{body}\n</NETWORK></BIF>\n'


# In a process of its own: pyAgrum crashes where a diagram is freed before its engine.
BY_PYAGRUM = """
import sys, pyagrum
kept = []
for path in sys.argv[1:]:
    diagram = pyagrum.loadID(path)
    engine = pyagrum.ShaferShenoyLIMIDInference(diagram)
    kept.append((engine, diagram))
    engine.makeInference()
    print(engine.MEU()["mean"], flush=True)
"""


def test_diagrams_are_worth_what_pyagrum_says(tmp_path: Path) -> None:
    pytest.importorskip("pyagrum")
    paths = [tmp_path / f"{seed}.bifxml" for seed in range(6)]
    for seed, path in enumerate(paths):
        path.write_text(random_diagram(seed))
    words = [sys.executable, "-c", BY_PYAGRUM, *map(str, paths)]
    done = subprocess.run(words, capture_output=True, text=True)
    expected = [float(line) for line in done.stdout.splitlines()]
    assert len(expected) == len(paths), done.stderr
    for path, value in zip(paths, expected, strict=True):
        best = dpasp.loads(dpasp.convert(path, "bif")).decide()
        assert best.exact
        assert best.value == pytest.approx(value, abs=1e-6), path


def test_uai_diagrams_have_two_more_files(tmp_path: Path) -> None:
    """The car buyer: test or not, see the result, buy: against all strategies by hand."""
    path = tmp_path / "small.uai"
    # x0 is decided, then x2 is seen, then x3 is decided; x1 stays hidden
    path.write_text(
        "ID 4 2 2 2 2 4 1 1 3 1 0 2 2 1 3 1 0\n"
        "2 0.7 0.3\n8 0.9 0.1 0.5 0.5 0.2 0.8 0.5 0.5\n4 10 0 -30 0\n2 -1 0\n"
    )
    with pytest.raises(dpasp.ProgramError, match=r"small\.id"):
        dpasp.convert(path, "uai")
    (tmp_path / "small.id").write_text("4\nD C C D\n4\nP P U U\n")
    (tmp_path / "small.pvo").write_text("4;\n4;\n1;\n3;\n2;\n0;\n")
    best = dpasp.loads(dpasp.convert(path, "uai")).decide()
    hidden = {0: 0.7, 1: 0.3}
    seen = {(0, 0): (0.9, 0.1), (0, 1): (0.5, 0.5), (1, 0): (0.2, 0.8), (1, 1): (0.5, 0.5)}
    worth = {(0, 0): 10, (0, 1): 0, (1, 0): -30, (1, 1): 0}
    values = [
        (-1 if test == 0 else 0)
        + sum(hidden[h] * seen[h, test][s] * worth[h, act[s]] for h in (0, 1) for s in (0, 1))
        for test in (0, 1)
        for act in product((0, 1), repeat=2)
    ]
    assert best.value == pytest.approx(max(values))
    assert best.exact
    (tmp_path / "seen.evid").write_text("1 2 0")
    assert "#evidence x2(0)." in dpasp.convert(path, "uai", evidence=tmp_path / "seen.evid")


@pytest.mark.parametrize(
    ("kinds", "order", "message"),
    [
        ("2\nC D\n2\n", "2;\n2;\n0;\n1;\n", r"\.id does not fit"),
        ("2\nC E\n2\nP U\n", "2;\n2;\n0;\n1;\n", r"\.id does not fit"),
        ("2\nC C\n2\nP U\n", "2;\n2;\n0;\n1;\n", "x1 has no probabilities"),
        ("2\nD D\n2\nP U\n", "2;\n2;\n0;\n1;\n", "x0 is decided, but has"),
        ("2\nC D\n2\nP U\n", "2;\n2;\n0;\nx;\n", "every variable once"),
        ("2\nC D\n2\nP U\n", "2;\n2;\n0;\n7;\n", "every variable once"),
        ("2\nC D\n2\nP U\n", "", "every variable once"),
    ],
)
def test_damaged_files_beside_a_diagram(
    tmp_path: Path, kinds: str, order: str, message: str
) -> None:
    path = tmp_path / "small.uai"
    path.write_text("ID 2 2 2 2 1 0 2 0 1 2 0.5 0.5 4 1 2 3 4")
    (tmp_path / "small.id").write_text(kinds)
    (tmp_path / "small.pvo").write_text(order)
    with pytest.raises(dpasp.ProgramError, match=message):
        dpasp.convert(path, "uai")


HAT = """<smile><nodes>
<cpt id="rain"><state id="yes"/><state id="no"/><probabilities>0.3 0.7</probabilities></cpt>
<decision id="hat"><state id="on"/><state id="off"/><parents>rain</parents></decision>
<utility id="u"><parents>rain hat</parents><utilities>5 -9 1 2</utilities></utility>
<utility id="v"><utilities>3</utilities></utility>
</nodes></smile>"""


def test_utilities_without_parents_always_count() -> None:
    best = dpasp.loads(dpasp.convert(HAT, "xdsl", from_str=True)).decide()
    assert best.value == pytest.approx(0.3 * 5 + 0.7 * 2 + 3)


@pytest.mark.parametrize(
    ("text", "dialect", "message"),
    [
        ("<smile></smile>", "xdsl", "no nodes"),
        ("<smile", "xdsl", "not XML"),
        ("<smile><nodes><mau id='m'/></nodes></smile>", "xdsl", "kind mau"),
        (
            "<smile><nodes><decision id='d'><state id='x'/><parents>e</parents></decision>"
            "</nodes></smile>",
            "xdsl",
            "no variable e",
        ),
        (OIL.replace("-70 50", "nan 50"), "bif", "not a finite number"),
        (OIL.replace("-70 50", "50"), "bif", "5 numbers where 6"),
        (OIL.replace('TYPE="utility"', 'TYPE="joy"'), "bif", "kind joy"),
        (
            OIL.replace("<GIVEN>Testing</GIVEN><TABLE>-10", "<GIVEN>Reward</GIVEN><TABLE>-10"),
            "bif",
            "depends on a utility",
        ),
        (re.sub("<DEFINITION><FOR>Oil.*", "", OIL), "bif", "the variable Oil has no probabilities"),
        ("LIMID 1 2 0", "uai", "what is known when"),
        (HAT.replace(">3<", "><"), "xdsl", "v: 0 numbers"),
        (HAT.replace(">3<", ">three<"), "xdsl", "three is not a finite number"),
        (HAT.replace("-9", "1_0"), "xdsl", "1_0 is not a finite number"),
        (HAT.replace("rain hat", "rain rain"), "xdsl", "a parent of u is named twice"),
        (HAT.replace('id="no"', 'id="yes"'), "xdsl", "a value of rain is named twice"),
        (HAT.replace('<state id="on"/><state id="off"/>', ""), "xdsl", "a value of hat is missing"),
    ],
)
def test_what_is_no_diagram_is_refused(text: str, dialect: str, message: str) -> None:
    with pytest.raises(dpasp.ProgramError, match=message):
        dpasp.convert(text, dialect, from_str=True)
