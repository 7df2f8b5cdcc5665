"""What a page can ask for, without a server around it."""

from __future__ import annotations

from typing import Any

import pytest

from dpasp.limits import Limits
from dpasp.playground.about import example_programs, playground_facts
from dpasp.playground.tasks import Desk
from tests.clocks import PATIENCE

DAY = next(one["text"] for one in example_programs() if one["name"] == "day")
SEMANTICS = "stable, credal"


@pytest.fixture
def desk() -> Desk:
    return Desk(Limits(seconds=PATIENCE, megabytes=4000))


def ask(desk: Desk, task: str, text: str = DAY, **more: Any) -> dict[str, Any]:
    reply = desk.do({"task": task, "text": text, "semantics": SEMANTICS, **more})
    assert "ok" in reply, reply
    found: dict[str, Any] = reply["ok"]
    return found


def refused(desk: Desk, task: str, text: str, **more: Any) -> dict[str, Any]:
    reply = desk.do({"task": task, "text": text, "semantics": SEMANTICS, **more})
    first: dict[str, Any] = reply["errors"][0]
    return first


@pytest.mark.parametrize("example", example_programs(), ids=lambda one: str(one["name"]))
def test_every_example_answers_and_is_explained(desk: Desk, example: dict[str, str]) -> None:
    text = example["text"]
    checked = ask(desk, "check", text)
    assert checked["warnings"] == []
    found = ask(desk, "answer", text, semantics=checked["semantics"])
    assert found["answers"]
    pytest.importorskip("pygraphviz")
    assert "<svg" in ask(desk, "graph", text)["svg"]
    assert ask(desk, "models", text, semantics=checked["semantics"])["models"]


def test_mistakes_have_places(desk: Desk) -> None:
    problem = refused(desk, "check", "a.\n1.5::b.")
    assert (problem["line"], problem["column"], problem["code"]) == (2, 1, "probability-range")


def test_the_program_says_its_semantics(desk: Desk) -> None:
    assert ask(desk, "check", "a.\n#semantics lstable, maxent.")["semantics"] == "lstable, maxent"


def test_answers(desk: Desk) -> None:
    first = ask(desk, "answer")["answers"][0]
    assert (first["lower"], first["upper"]) == (0.0, pytest.approx(0.63))
    assert ask(desk, "answer", semantics="maxent")["answers"][0]["value"] == pytest.approx(0.315)


def test_why_is_a_tree(desk: Desk) -> None:
    root = ask(desk, "why", query="rested")
    ways, holds, why_not, choices, numbers = root["below"]
    assert root["text"] == "ℙ(rested)"
    assert ways["below"][0]["text"].startswith("busy")
    assert holds["below"][0]["kind"] == "choice"
    assert why_not["text"] == "why not"
    assert numbers["below"][0]["text"] == "0.7::busy"
    assert {one["text"] for one in choices["below"]} >= {"busy", "rested by line 5"}


def test_models_come_with_their_total_choice(desk: Desk) -> None:
    text = "0.7::a. b :- a, not c. c :- a, not b. #query b."
    found = ask(desk, "models", text)["models"]
    assert [(one["choice"], sorted(one["true"])) for one in found[2:]] == [(["not a"], [])]
    assert sorted(sorted(one["true"]) for one in found[:2]) == [["a", "b"], ["a", "c"]]
    assert found[0]["probability"] == [pytest.approx(0.7)]
    assert ask(desk, "models", text, first=2) == {"models": found[2:], "more": False}


def test_many_models_come_in_parts(desk: Desk) -> None:
    text = "{a(1..7)}. #query a(1)."
    first = ask(desk, "models", text)
    assert (len(first["models"]), first["more"]) == (100, True)
    rest = ask(desk, "models", text, first=100)
    assert (len(rest["models"]), rest["more"]) == (28, False)


def test_undefined_atoms_are_told_apart(desk: Desk) -> None:
    (found,) = ask(desk, "models", "a :- not a. #query undef a.", semantics="partial")["models"]
    assert (found["true"], found["undefined"]) == ([], ["a"])


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('#include "/etc/passwd".', "playground"),
        ("#script (python)\nimport os\n#end.\n", "python-not-allowed"),
        ("#python\ndef f(): return 1\n#end.\na(@f). #query a(1).", "python-not-allowed"),
        ('i(0) ~ test("x.csv").\n?::d(X, {0,1}) as @net :- i(X). #query d(0,1).', "playground"),
    ],
)
def test_no_python_no_files(desk: Desk, text: str, code: str) -> None:
    assert refused(desk, "answer", text)["code"] == code


def test_help_is_for_a_page(desk: Desk) -> None:
    problem = refused(desk, "answer", "#script (python)\nimport os\n#end.\n")
    assert "--python" not in problem["help"]


def test_learning_is_said_to_be_left_out(desk: Desk) -> None:
    found = ask(desk, "check", '0.3?::a. #learn "x.csv". #query a.')
    assert "nothing is learned" in found["warnings"][0]["message"]


def test_what_is_no_request(desk: Desk) -> None:
    assert "no task" in refused(desk, "dance", DAY)["message"]
    assert "characters" in refused(desk, "check", "a. " * 40_000)["message"]
    assert "text" in desk.do({"task": "check"})["errors"][0]["message"]
    assert "probability" in refused(desk, "slide", DAY, moved={"0.0": [7]})["message"]


def test_the_page_knows_the_language() -> None:
    told = playground_facts(Limits(seconds=20))
    assert len(told["logics"]) * len(told["probabilities"]) == 10
    words = {one["word"] for one in told["directives"]}
    assert {"#query", "#semantics", "#map", "#show"} <= words
