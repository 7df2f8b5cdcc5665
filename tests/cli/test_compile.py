"""``dpasp compile``: the circuit, written and counted."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from .conftest import Command

CHAIN = "0.5::a. 0.4::b. c :- a, b.\n#semantics maxent.\n#query c.\n"


def test_statistics(dpasp: Command) -> None:
    code, out, err = dpasp("compile", text=CHAIN)
    assert (code, err) == (0, "")
    facts = dict(line.split(": ") for line in out.splitlines())
    assert facts["choices"] == "2"
    assert facts["atoms that they determine"] == "3"
    assert facts["inner atoms"] == "0"
    assert {"way", "order", "width", "edges"} <= facts.keys()
    assert int(facts["nodes"]) >= 4
    counted = dpasp("compile", "--json", text=CHAIN).json
    assert str(counted["nodes"]) == facts["nodes"]


def test_json_holds_the_circuit(dpasp: Command) -> None:
    assert dpasp("compile", "-o", "c.json", text=CHAIN).code == 0
    circuit = json.loads(Path("c.json").read_text())
    assert circuit["leaves"] == ["a", "not a", "b", "not b"]
    weights = [0.5, 0.5, 0.4, 0.6]
    values: list[float] = []
    for kind, *rest in circuit["nodes"]:
        if kind == "leaf":
            values.append(rest[1])
        elif kind == "sum":
            values.append(sum((1 if w is None else weights[w]) * values[n] for w, n in rest))
        else:
            product = 1.0
            for node in rest:
                product *= values[node]
            values.append(product)
    assert values[circuit["roots"][0]] == pytest.approx(0.2)


def test_nnf_counts_its_lines(dpasp: Command) -> None:
    assert dpasp("compile", "-o", "c.nnf", text=CHAIN).code == 0
    first, *rest = Path("c.nnf").read_text().splitlines()
    word, nodes, _, variables = first.split()
    assert (word, int(nodes), int(variables)) == ("nnf", len(rest), 4)
    assert "O 0 0" not in rest
    code, _, err = dpasp("compile", "-o", "c.nnf", "--query", "a", text=CHAIN)
    assert code == 2
    assert "one query" in err


def test_dot(dpasp: Command) -> None:
    assert dpasp("compile", "-o", "c.dot", text=CHAIN).code == 0
    text = Path("c.dot").read_text()
    assert text.startswith("digraph")
    assert '"not a"' in text


def test_svg_is_well_formed_and_escaped(dpasp: Command) -> None:
    text = '0.5::p("<&>"). 0.4::b. c :- p(X), b.\n#query c.\n'
    assert dpasp("compile", "-o", "c.svg", text=text).code == 0
    root = ElementTree.parse("c.svg").getroot()
    words = {element.text for element in root.iter() if element.text}
    assert {'p("<&>")', "c", "+"} <= words


def test_large_circuits_are_not_drawn(dpasp: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpasp.display.programs.MOST_GATES", 2)
    code, out, err = dpasp("compile", "-o", "c.svg", text=CHAIN)
    assert (code, out) == (125, "")
    assert ".dot" in err
    assert not Path("c.svg").exists()


def test_semantics_and_queries_can_be_given(dpasp: Command) -> None:
    text = "0.5::a. p :- a, not p.\n"
    assert dpasp("compile", "-s", "lstable", "--query", "undef p", text=text).code == 0
    code, _, err = dpasp("compile", "--query", "undef p", text=text)
    assert code == 65
    assert re.search(r"\[undef-two-valued\]", err)


def test_a_head_cycle_is_enumerated_into_a_circuit(dpasp: Command) -> None:
    text = "0.4::x. 0.5::y. a; b :- x. a :- b. b :- a. #query a, y.\n"
    counted = dpasp("compile", "--json", "-o", "c.nnf", text=text).json
    assert (counted["way"], counted["choices"]) == ("enumerated", 2)
    assert dpasp("run", text=text).out == "ℙ(a, y) = 0.200000\n"
    code, out, err = dpasp("run", "--engine", "compile", "-v", text=text)
    assert (code, out) == (0, "ℙ(a, y) = 0.200000\n")
    assert "by enumerating 4 total choices [head-cycle]" in err
    assert "engine: enumerate\n" in err
    assert "way: enumerated\n" in err


@pytest.mark.parametrize(
    ("words", "text", "said"),
    [
        (["-o", "c.txt"], CHAIN, "c.txt"),
        (["-o", "absent/c.json"], CHAIN, "cannot write absent/c.json"),
        ([], "0.5::a.\n", "asks nothing"),
    ],
)
def test_wrong_usage(dpasp: Command, words: list[str], text: str, said: str) -> None:
    code, out, err = dpasp("compile", *words, text=text)
    assert (code, out) == (2, "")
    assert said in err


def test_nnf_has_its_names_and_weights_beside_it(dpasp: Command) -> None:
    text = "0.25::a. [0.2, 0.4]::b. #evidence a. #query b | not a."
    assert dpasp("compile", "-o", "c.nnf", text=text).code == 0
    assert Path("c.nnf").read_text() == "nnf 1 0 4\nO 0 0\n"  # it is false
    assert Path("c.nnf.map").read_text().splitlines() == [
        "c some model satisfies query and evidence",
        "c query b | not a",
        "c evidence not a, a",
        "c variable weight name",
        "1 0.25 a",
        "2 0.75 not a",
        "3 ? b",
        "4 ? not b",
    ]


def test_the_widest_parts_are_told(dpasp: Command) -> None:
    _, out, _ = dpasp("compile", "-v", text=CHAIN)
    assert len(re.findall(r"^part \d+: choices", out, re.M)) == 1
    facts = "".join(f"0.5::a({i}). 0.5::b({i}). #query a({i}), b({i}).\n" for i in range(12))
    wide = "0.5::x(1..4). y :- 2 #count{X : x(X)} 3. #query y.\n"
    _, out, _ = dpasp("compile", "-v", text=facts + wide)
    parts = re.findall(r"^part \d+: .* width (\d+)", out, re.M)
    assert len(parts) == 10
    assert parts == sorted(parts, key=int, reverse=True)
    assert int(parts[0]) > int(parts[1])
    assert out.endswith("and 15 more parts, none wider\n")
    _, out, _ = dpasp("compile", text=facts)
    assert "part 1" not in out
