"""Approximate engines and explanations from the command line."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.inference.test_credal import GRID, edges

from .conftest import Command, Stepped

TEXT = "0.3::a. 0.5::b. c :- a. c :- b. #semantics maxent. #query a | c."


def test_sampling(dpasp: Command) -> None:
    words = ("--engine", "sample", "--samples", "500", "--seed", "2")
    result = dpasp("run", *words, "--json", text=TEXT)
    (answer,) = result.json["answers"]
    assert answer["samples"] == 500
    assert answer["interval"][0] < answer["value"] < answer["interval"][1]
    assert "500 samples)" in dpasp("run", *words, text=TEXT).out


def test_bounds(dpasp: Command) -> None:
    result = dpasp("run", "--engine", "bounds", "--nmodels", "2", "--gap", "0", text=TEXT)
    assert result.out == "ℙ(a | c) = 0.000000  (within [0.000000, 0.461538], gap 0.461538)\n"


def test_the_command_line_wins_over_the_program(dpasp: Command) -> None:
    text = TEXT + " #inference sample, n = 50, seed = 1."
    assert dpasp("run", "--json", text=text).json["answers"][0]["samples"] == 50
    exact = dpasp("run", "--engine", "enumerate", "--json", text=text).json
    assert exact["engine"] == "enumerate"
    assert set(exact["answers"][0]) == {"query", "kind", "value"}


def test_wrong_numbers(dpasp: Command) -> None:
    assert dpasp("run", "--engine", "bounds", "--gap", "2", text=TEXT).code == 2
    assert dpasp("run", "--engine", "sample", "--samples", "0", text=TEXT).code == 2
    result = dpasp("run", "--engine", "compile", "--samples", "10", text=TEXT)
    assert result.code == 2
    assert "--samples requires --engine sample, and the engine is compile" in result.err


def test_a_limit_prints_the_best_answer_so_far(dpasp: Command, stepped: Stepped) -> None:
    stepped(3000)
    large = "".join(f"0.5::x({i}). " for i in range(100)) + "#query x(1)."
    words = ("--engine", "bounds", "--nmodels", "1000000000", "--time-limit", "1000")
    result = dpasp("run", *words, text=large)
    assert result.code == 0
    assert result.out.startswith("ℙ(x(1)) = [")
    assert "stopped at the time limit of 1000 s, with a gap of" in result.err


def test_a_stopped_search_over_intervals_prints_sure_bounds(
    dpasp: Command, stepped: Stepped
) -> None:
    stepped(400)
    intervals = edges(5, Random(2))
    text = "".join(f"[{low},{high}]::{edge}. " for edge, (low, high) in intervals.items())
    text += GRID + "#query r(1,1), not r(3,1) | r(4,4), not r(2,3)."
    result = dpasp("run", "--time-limit", "1000", text=text)
    assert result.code == 0
    assert "  (gap 0." in result.out
    assert "stopped at the time limit of 1000 s, with a gap of 0." in result.err
    told = dpasp("run", "--time-limit", "1000", "--json", text=text).json
    assert told["engine"] == "compile"
    assert [warning["code"] for warning in told["warnings"]] == ["stopped-early"]
    (answer,) = told["answers"]
    assert answer["interval"] == [answer["lower"], answer["upper"]]
    assert 0 < answer["gap"] < 1


def test_explaining(dpasp: Command) -> None:
    result = dpasp("explain", "--query", "b | c", "--top", "1", text=TEXT)
    assert "ℙ(a | c)" not in result.out  # the program's own question is not asked about
    assert result.out.splitlines()[:4] == [
        "ℙ(b | c) = 0.769231",
        "  what must be chosen for it (together 100 % of it):",
        "       share  probability  sure  values",
        "    1.000000     0.500000   yes  b",
    ]
    more = dpasp("explain", "--query", "b | c", "--top", "1", "-v", text=TEXT).out
    assert "    0.700000     0.350000   yes  not a, b" in more.splitlines()
    (why,) = dpasp("explain", "--json", text=TEXT).json["explanations"]
    assert why["query"] == "a | c"
    assert len(why["total_choices"]) == 2
    assert [way["values"] for way in why["ways"]] == [["a"]]
    assert why["tree"]["kind"] == "choice"
    assert why["contributions"][0]["value"] == "a"


def test_explaining_decisions(dpasp: Command) -> None:
    text = "0.3::rain. #decision {hat}. wet :- rain, not hat. #semantics maxent."
    text += "#utility 10 : not wet. #utility -2 : hat. #decide."
    found = dpasp("explain", "--plot", "why.svg", text=text)
    assert found.out.splitlines() == [
        "max 𝔼 = 8.000000 at hat",
        "",
        "instead  value  loss",
        "not hat      7     1",
        "",
        "     utility  probability  adds",
        "10 : not wet            1    10",
        "    -2 : hat            1    -2",
        "",
        "atom  worth",
        "rain    1.4",
        "",
        "probability  now  from  to",
        "       rain  0.3   0.2   1",
    ]
    assert "loses 1" in Path("why.svg").read_text(encoding="utf-8")
    told = dpasp("explain", "--json", text=text + " #query wet.").json
    assert told["decisions"][0]["strategy"] == {"hat": True}
    assert told["decisions"][0]["knowing"][0]["atom"] == "rain"
    assert told["explanations"][0]["query"] == "wet"
    only = dpasp("explain", "--query", "wet", text=text).out
    assert only.startswith("ℙ(wet)")
    assert "2 choices in 1 part" in dpasp("run", "-v", text=text).err
    refused = dpasp("compile", text=text)
    assert (refused.code, "#decide or #expect" in refused.err) == (2, True)


def test_explaining_with_a_target_and_a_picture(dpasp: Command) -> None:
    text = "0.3::a. 0.5::b. c :- a. c :- b. #query c."
    found = dpasp("explain", "--target", "0.9", "--plot", "why.svg", text=text)
    assert found.code == 0
    assert "for 0.9" in found.out
    assert "0.857143" in found.out
    assert "c: by line 1, since b" in Path("why.svg").read_text(encoding="utf-8")
    told = dpasp("explain", "--target", "0.9", "--json", text=text).json["explanations"][0]
    assert told["target"] == 0.9
    assert told["sensitivity"][0]["reach"] == pytest.approx([6 / 7, 6 / 7])
    assert dpasp("explain", "--target", "2", text=text).code == 2


def test_explaining_why_there_is_no_model(dpasp: Command) -> None:
    text = "0.5::a. 0.4::b. d :- a.\n:- d, b.\n#query a."
    found = dpasp("explain", "--why-inconsistent", "--plot", "core.svg", text=text)
    assert (found.code, found.out.splitlines()) == (
        0,
        [
            "total choices of probability 0.2 have no model",
            "  when a, b  (probability 0.200000)",
            "    line 1: d :- a.",
            "    line 2: :- d, b.",
        ],
    )
    assert "when a, b" in Path("core.svg").read_text(encoding="utf-8")
    (reason,) = dpasp("explain", "--why-inconsistent", "--json", text=text).json["reasons"]
    assert [rule["line"] for rule in reason["rules"]] == [1, 2]
    given = dpasp("explain", "--why-inconsistent", "--evidence", "d, not a", text=text)
    assert "the evidence d" in given.out
    assert dpasp("explain", "--why-inconsistent", "--target", "0.5", text=text).code == 2
    assert "--why-inconsistent" in dpasp("run", text=text).err


def test_explaining_what_cannot_occur(dpasp: Command) -> None:
    code, out, err = dpasp("explain", "--query", "zzz", text="0.3::a.")
    assert code == 0
    assert out.startswith("ℙ(zzz) = ")
    assert "zzz cannot occur" in err


def test_explaining_nothing(dpasp: Command) -> None:
    result = dpasp("explain", text="0.3::a.")
    assert result.code == 2
    assert "the program asks nothing" in result.err


def test_explaining_the_impossible(dpasp: Command) -> None:
    text = "0.5::a. 0.3::b. :- a, b. #query a | b."
    code, out, err = dpasp("explain", text=text)
    assert code == 0
    assert "inconsistent-choices" in err
    assert "impossible: no total choice is behind it" in out
    row = next(line for line in out.splitlines() if line.endswith("  b"))
    assert row.split()[1] == "impossible"
    told = dpasp("explain", "--json", text=text).json
    assert told["inconsistent"] == pytest.approx(0.15)
    assert [one["code"] for one in told["warnings"]] == ["inconsistent-choices"]
    assert told["explanations"][0]["contributions"][0]["posterior"] is None


def test_explaining_beside_most_probable_values(dpasp: Command) -> None:
    code, out, err = dpasp("explain", text="0.3::a. #query a. #mpe.")
    assert (code, out.count("ℙ")) == (0, 1)
    assert "[explain-map]" in err
    code, _, err = dpasp("explain", text="0.3::a. #mpe.")
    assert code == 65
    assert "--query" in err
    code, out, err = dpasp("explain", "--query", "a", text="0.3::a. #mpe.")
    assert (code, out.count("ℙ"), err) == (0, 1, "")  # only what is asked for is explained


@pytest.mark.parametrize("option", ["--samples", "--gap", "--nmodels"])
def test_options_of_engines_that_do_not_answer(dpasp: Command, option: str) -> None:
    code, _, err = dpasp("run", option, "1", text=TEXT)
    assert code == 2
    assert f"{option} requires --engine" in err
    assert "and the engine is auto" in err
