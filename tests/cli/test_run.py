"""``dpasp run``: answers to standard output, the rest to standard error, the right exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dpasp.circuits import Cache

from .conftest import Command, Stepped

NAP = "0.7::busy.\ncoffee :- busy, not nap.\nnap :- busy, not coffee.\n#query nap.\n"
PARADOX = "0.3::a. p :- a, not p. #query a.\n"


def test_credal_answers_are_intervals(dpasp: Command) -> None:
    assert dpasp("run", text=NAP) == (0, "ℙ(nap) = [0.000000, 0.700000]\n", "")


def test_run_is_the_default_command(dpasp: Command) -> None:
    assert dpasp(text=NAP).out == "ℙ(nap) = [0.000000, 0.700000]\n"
    assert dpasp("-p", "maxent", text=NAP).out == "ℙ(nap) = 0.350000\n"


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["--semantics", "maxent"], "0.350000"),
        (["--semantics", "partial, maxent"], "0.233333  (undefined: 0.233333)"),
        (["--semantics", "maxent,wellfounded"], "0.000000  (undefined: 0.700000)"),
        (["-s", "lstable", "-p", "maxent"], "0.350000"),
        (
            ["--sem", "partial", "--psem", "credal"],
            "[0.000000, 0.700000]  (undefined: [0.000000, 0.700000])",
        ),
        (["--engine", "enumerate", "-p", "maxent"], "0.350000"),
        (["--evidence", "busy", "-p", "maxent"], "0.500000"),
        (["--evidence", "busy", "--evidence", "not coffee"], "1.000000"),
    ],
)
def test_options_change_the_answer(dpasp: Command, words: list[str], answer: str) -> None:
    assert dpasp("run", *words, text=NAP) == (0, f"ℙ(nap) = {answer}\n", "")


def test_more_queries_follow_the_programs(dpasp: Command) -> None:
    result = dpasp("run", "--query", "busy", "--query", "nap | busy.", text=NAP)
    assert result.out.splitlines() == [
        "ℙ(nap) = [0.000000, 0.700000]",
        "ℙ(busy) = 0.700000",
        "ℙ(nap | busy) = [0.000000, 1.000000]",
    ]


def test_marginals_are_asked_in_place_of_the_queries(dpasp: Command) -> None:
    words = ("--marginals", "--evidence", "busy", "-p", "maxent")
    found = "ℙ(busy) = 1.000000\nℙ(coffee) = 0.500000\nℙ(nap) = 0.500000\n"
    assert dpasp("run", *words, text=NAP) == (0, found, "")
    answers = json.loads(dpasp("run", *words, "--json", text=NAP).out)["answers"]
    assert answers[1] == {"query": "coffee", "kind": "probability", "value": 0.5}


def test_marginals_and_queries_are_refused_together(dpasp: Command) -> None:
    code, out, err = dpasp("run", "--marginals", "--query", "nap", text=NAP)
    assert (code, out) == (2, "")
    assert "leave one of them out" in err


def test_constants(dpasp: Command) -> None:
    text = "#const n = 1. #const p = 0.5.\np::a(1..n). b :- not a(1..n). #query not b.\n"
    assert dpasp("-p", "maxent", "-c", "n=2", "-c", "p=0.1", text=text).out == (
        "ℙ(not b) = 0.010000\n"
    )


def test_several_files_are_one_program(dpasp: Command) -> None:
    Path("one.plp").write_text("0.5::a.")
    Path("two.plp").write_text("b :- a. #query b.")
    assert dpasp("one.plp", "two.plp").out == "ℙ(b) = 0.500000\n"


def test_standard_input(dpasp: Command) -> None:
    assert dpasp("-", stdin=NAP).out == "ℙ(nap) = [0.000000, 0.700000]\n"


def test_errors_in_standard_input_show_its_lines(dpasp: Command) -> None:
    code, out, err = dpasp("run", "-", stdin="a.\n1.5::b.\n")
    assert (code, out) == (65, "")
    assert err.startswith("<stdin>:2:1: error: ")
    assert "  2 | 1.5::b.\n    | ^^^\n" in err


def test_errors_in_a_query_show_the_query(dpasp: Command) -> None:
    code, out, err = dpasp("run", "--query", "nap |", text=NAP)
    assert (code, out) == (65, "")
    assert err.startswith("<--query>:1:")
    assert "#query nap |." in err


def test_a_bad_semantics_is_wrong_usage(dpasp: Command) -> None:
    code, out, err = dpasp("run", "--semantics", "maxnt", text=NAP)
    assert (code, out) == (2, "")
    assert "did you mean 'maxent'?" in err
    assert dpasp("run", "--semantics", "maxent", "-s", "lstable", text=NAP).code == 2


def test_json_has_what_was_promised(dpasp: Command) -> None:
    seen = dpasp("run", "--json", "--query", "busy", text=NAP).json
    assert seen["files"] == ["p.plp"]
    assert seen["semantics"] == {"logic": "stable", "probability": "credal"}
    assert seen["inconsistent"] == 0
    assert seen["answers"] == [
        {"query": "nap", "kind": "probability", "lower": 0.0, "upper": 0.7},
        {"query": "busy", "kind": "probability", "lower": 0.7, "upper": 0.7},
    ]
    assert set(seen["statistics"]["seconds"]) >= {"ground", "evaluate"}
    assert seen["statistics"]["choices"] == 1
    maxent = dpasp("run", "--json", "-p", "maxent", text=NAP).json
    assert maxent["answers"] == [{"query": "nap", "kind": "probability", "value": 0.35}]


def test_json_errors_go_to_standard_output(dpasp: Command) -> None:
    code, out, err = dpasp("run", "--json", text="a.\n1.5::b.\n")
    assert (code, err) == (65, "")
    (error,) = json.loads(out)["errors"]
    assert (error["line"], error["column"], error["end_column"]) == (2, 1, 4)
    assert error["code"] == "probability-range"


def test_inconsistent_total_choices_are_warned_about(dpasp: Command) -> None:
    code, out, err = dpasp("-p", "maxent", text=PARADOX)
    assert (code, out) == (0, "ℙ(a) = 0.000000\n")
    assert "warning:" in err
    assert "0.3" in err
    assert dpasp("-p", "maxent", "-q", text=PARADOX).err == ""
    assert dpasp("--json", text=PARADOX).json["inconsistent"] == pytest.approx(0.3)


def test_inconsistent_total_choices_can_be_refused(dpasp: Command) -> None:
    code, out, err = dpasp("--inconsistent", "error", text=PARADOX)
    assert (code, out) == (65, "")
    assert "error:" in err


def test_impossible_evidence(dpasp: Command) -> None:
    code, out, err = dpasp("--evidence", "coffee, nap", text=NAP)
    assert (code, out) == (65, "")
    assert "[impossible-evidence]" in err


def test_a_program_that_asks_nothing(dpasp: Command) -> None:
    code, out, err = dpasp(text="0.3::a.")
    assert (code, out) == (0, "")
    assert "--query" in err


def test_verbose_says_what_was_done(dpasp: Command) -> None:
    code, out, err = dpasp("-v", text=NAP)
    assert (code, out) == (0, "ℙ(nap) = [0.000000, 0.700000]\n")
    assert "semantics: stable, credal" in err
    assert "engine: " in err


ENDLESS = "p(0). p(X+1) :- p(X). 0.3::a :- p(5). #query p(1). #query a | p(X).\n"


@pytest.mark.parametrize("words", [["--exact"], ["--engine", "compile"]])
def test_the_time_limit_exits_124(dpasp: Command, words: list[str], stepped: Stepped) -> None:
    stepped(20, ends=False)
    code, out, err = dpasp("--time-limit", "1000", *words, text=ENDLESS)
    assert (code, out) == (124, "")
    assert "[time-limit]" in err
    assert "the program was not ground in time: raise --time-limit" in " ".join(err.split())
    assert "bounds" not in err


def test_the_memory_limit_exits_125(dpasp: Command) -> None:
    code, out, err = dpasp("--memory-limit", "1", "--exact", text=ENDLESS)
    assert (code, out) == (125, "")
    assert "[memory-limit]" in err


@pytest.mark.parametrize("limit", [["--time-limit", "1000"], ["--memory-limit", "1"]])
@pytest.mark.parametrize("engine", ["auto", "bounds"])
def test_there_is_an_answer_before_the_program_is_ground(
    dpasp: Command, engine: str, limit: list[str], stepped: Stepped
) -> None:
    stepped(20, ends=False)
    code, out, err = dpasp(*limit, "--engine", engine, text=ENDLESS)
    assert code == 0
    assert out.splitlines() == [
        "ℙ(p(1)) = [0.000000, 1.000000]  (gap 1.000000)",
        "ℙ(a | p(X)) = [0.000000, 1.000000]  (gap 1.000000)",
    ]
    said = " ".join(err.split())
    assert f"limit of {limit[1]}" in said
    assert "before the program was ground" in said
    assert f"help: raise {limit[0]}; or let less be ground" in said
    assert "a | p(X) may stand for several questions" in said


def test_the_answer_before_the_program_is_ground_in_json(dpasp: Command, stepped: Stepped) -> None:
    stepped(20, ends=False)
    words = ("--time-limit", "1000", "--json", "--semantics", "maxent")
    code, out, _ = dpasp(*words, text=ENDLESS)
    found = json.loads(out)
    assert code == 0
    assert [(a["query"], a["interval"], a["gap"], a["exact"]) for a in found["answers"]] == [
        ("p(1)", [0.0, 1.0], 1.0, False),
        ("a | p(X)", [0.0, 1.0], 1.0, False),
    ]
    assert [warning["code"] for warning in found["warnings"]] == ["not-exact", "instances-unknown"]


def test_no_answer_where_nothing_can_be_said(dpasp: Command, stepped: Stepped) -> None:
    stepped(20, ends=False)
    code, out, _ = dpasp("--time-limit", "1000", text=ENDLESS + "#map a?.")
    assert (code, out) == (124, "")
    code, out, _ = dpasp("--time-limit", "1000", "--marginals", text=ENDLESS)
    assert (code, out) == (124, "")


# --- Python in programs ----------------------------------------------------------------------

CODE = '#python\nprint("hello")\ndef one(): return 1\n#end.\n0.5::a(@one()).\n#query a(1).\n'


def test_python_runs_for_files(dpasp: Command) -> None:
    code, out, err = dpasp("run", text=CODE)
    assert (code, out) == (0, "ℙ(a(1)) = 0.500000\n")
    assert "hello" in err


@pytest.mark.parametrize("words", [["run", "--no-python", "p.plp"], ["run", "-"]])
def test_python_is_refused_when_not_allowed(dpasp: Command, words: list[str]) -> None:
    Path("p.plp").write_text(CODE)
    code, out, err = dpasp(*words, stdin=CODE)
    assert (code, out) == (65, "")
    assert "hello" not in err
    assert "--python" in err


def test_python_from_standard_input_when_told(dpasp: Command) -> None:
    code, out, err = dpasp("run", "--python", "-", stdin=CODE)
    assert (code, out) == (0, "ℙ(a(1)) = 0.500000\n")
    assert "hello" in err


def test_errors_of_the_programs_python_are_told_without_a_traceback(dpasp: Command) -> None:
    code, out, err = dpasp("run", text="a.\n#python\nx = 1 / 0\n#end.\n#query a.\n")
    assert (code, out) == (65, "")
    assert "ZeroDivisionError" in err
    assert "p.plp:3:" in err
    assert "Traceback" not in err


def test_a_circuit_from_the_cache_is_told(
    dpasp: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cache = Cache(tmp_path / "cache", worth=0.0)
    monkeypatch.setattr(Cache, "default", lambda: cache)
    text = "0.3::a. 0.5::b. c :- a. c :- b. #query c."
    assert "cached" not in dpasp("run", "-v", text=text).err
    assert "\ncached: True\n" in dpasp("run", "-v", text=text).err
    assert dpasp("run", "--json", text=text).json["statistics"]["cached"] is True


@pytest.mark.parametrize("query", ["nap", "nap.", "#query nap", "#query nap.", "#query(nap)."])
def test_a_query_with_and_without_its_directive(dpasp: Command, query: str) -> None:
    text = NAP.replace("#query nap.", "")
    assert dpasp("run", "--query", query, text=text).out == "ℙ(nap) = [0.000000, 0.700000]\n"
    given = query.replace("query", "evidence")
    assert dpasp("run", "--query", "busy", "--evidence", given, text=text).out.startswith("ℙ(busy)")
    assert dpasp("models", "--given", given, text=text).code == 0


def test_another_directive_is_no_query(dpasp: Command) -> None:
    code, _, err = dpasp("run", "--query", "#evidence nap", text=NAP)
    assert code == 2
    assert "#evidence is not supported here" in err


def test_impossible_evidence_shows_the_name_that_nothing_derives(dpasp: Command) -> None:
    result = dpasp("run", "--json", "--query", "busy | napp", text=NAP)
    assert [error["code"] for error in result.json["errors"]] == ["impossible-evidence"]
    assert [warning["help"] for warning in result.json["warnings"]] == ["did you mean 'nap'?"]
