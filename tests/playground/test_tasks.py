"""What a page can ask for, without a server around it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dpasp
from dpasp.limits import Limits
from dpasp.playground.about import example_programs, playground_facts
from dpasp.playground.tasks import Desk, Progress
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


def test_why_is_about_one_question(desk: Desk) -> None:
    """A question with a variable may stand for several, or for none."""
    problem = refused(desk, "why", "0.3::wet(1..2).", query="wet(X)")
    assert problem["message"] == "wet(X) stands for 2 questions, not for one"
    assert "wet(1), wet(2)" in problem["help"]
    assert "for 0 questions" in refused(desk, "why", "0.3::wet(1).", query="dry(X)")["message"]
    assert ask(desk, "why", "0.3::wet(1).", query="wet(X)")["text"] == "ℙ(wet(1))"


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


SLIDERS = "0.4::a. [0.1, 0.2]::b; [0.8, 0.9]::c. 0.2::d; 0.8::e. f :- a, b. #query f."


@pytest.mark.parametrize(
    ("task", "field", "value", "words"),
    [
        *((task, "text", 7, "`text`, a text") for task in ("check", "answer", "graph", "sliders")),
        ("check", "text", 'a("\ud800").', "half a character"),
        ("answer", "semantics", ["credal"], "`semantics`, a text"),
        ("answer", "semantics", "dance", "not a semantics"),
        ("why", "query", None, "`query`, a text"),
        ("why", "query", {}, "`query`, a text"),
        ("models", "first", "1", "`first`, a whole number"),
        ("models", "first", True, "`first`, a whole number"),
        ("models", "first", -1, "from 0 to"),
        ("models", "first", 10**30, "from 0 to"),
        ("slide", "semantics", "stable, credal", "`semantics`, a list"),
        ("slide", "semantics", [None], "at most 15 names"),
        ("slide", "semantics", ["credal"] * 16, "at most 15 names"),
        ("slide", "last", [], "`last`, a text"),
        ("slide", "moved", [], "`moved`, an object"),
        ("slide", "moved", {"0.0": 0.5}, "one number, or two"),
        ("slide", "moved", {"0.0": []}, "one number, or two"),
        ("slide", "moved", {"0.0": [7]}, "7 is not a probability"),
        ("slide", "moved", {"0.0": [True]}, "True is not a probability"),
        ("slide", "moved", {"0.0": [float("nan")]}, "nan is not a probability"),
        ("slide", "moved", {"9.9": [0.5]}, "no slider '9.9'"),
        ("slide", "moved", {"0.0": [0.1, 0.2]}, "needs 1 of"),
        ("slide", "moved", {"1.0": [0.2, 0.1]}, "above the upper"),
        ("slide", "moved", {"2.0": [0.9], "2.1": [0.9]}, "sum to 1"),
    ],
)
def test_fields_that_are_wrong_are_refused_in_words(
    desk: Desk, task: str, field: str, value: object, words: str
) -> None:
    request = {"task": task, "text": SLIDERS, "query": "f", "moved": {}, "first": 0, "last": ""}
    request["semantics"] = ["stable, credal"] if task == "slide" else "stable, credal"
    assert "ok" in desk.do(request)
    assert words in desk.do(request | {field: value})["errors"][0]["message"]


def test_answers_are_said_as_on_the_command_line(desk: Desk) -> None:
    text = "0.3::a. b :- a. #query b. #map b?."
    exact, best = ask(desk, "answer", text)["answers"]
    assert (exact["text"], best["text"]) == ("0.300000", "max ℙ(b?) = 0.700000 at not b")
    sampled = "#inference sample, n = 50, seed = 1."
    (estimate,) = ask(desk, "answer", f"0.3::a. #query a. {sampled}")["answers"]
    printed = str(dpasp.loads(f"0.3::a. #query a. {sampled}").query(limits=desk.limits)[0])
    assert printed == f"ℙ(a) = {estimate['text']}"
    assert "95 %" in estimate["text"]


def test_moved_answers_are_said_alike(desk: Desk) -> None:
    moved = ask(desk, "slide", "0.3::a. #query a.", semantics=["credal"], moved={"0.0": [0.25]})
    assert moved["answers"]["credal"] == [{"query": "a", "ends": [0.25, 0.25], "text": "0.250000"}]


def test_answers_under_interventions_move_too(desk: Desk) -> None:
    text = "0.3::r. {}::s; 0.2::q. w :- r. w :- s. #semantics maxent."
    text += "#query w | do(not r). #query w | do(not r) given w."
    moved = ask(desk, "slide", text.format(0.4), semantics=["maxent"], moved={"1.0": [0.5]})
    expected = dpasp.loads(text.format(0.5)).query()
    found = {answer["query"]: answer["text"] for answer in moved["answers"]["maxent"]}
    assert found == {answer.query: f"{answer.value:.6f}" for answer in expected}


def test_many_problems_and_sliders_are_counted(desk: Desk) -> None:
    reply = desk.do({"task": "check", "text": "1.5::a.\n" * 300})
    assert (len(reply["errors"]), reply["left"]) == (100, 200)
    found = ask(desk, "sliders", "".join(f"0.{i + 100}::a({i}). " for i in range(300)))
    assert (len(found["sliders"]), found["left"]) == (200, 100)


def test_warnings_of_answers_have_places(desk: Desk) -> None:
    (warning,) = ask(desk, "answer", "0.3::wet.\n#query wett.")["warnings"]
    assert (warning["code"], warning["line"], warning["column"]) == ("unknown-atom", 2, 8)


def test_the_page_knows_the_language() -> None:
    told = playground_facts(Limits(seconds=20))
    assert len(told["logics"]) * len(told["probabilities"]) == 15
    words = {one["word"] for one in told["directives"]}
    assert {"#query", "#semantics", "#map", "#show"} <= words


def test_sliders_are_written_into_the_program(desk: Desk) -> None:
    text = (
        "0.3::a.  % 0.3\n#const p = 0.5. p::b.\n[0.1, 0.2]::c :- a.\n0.4?::d. 0.25::e; 0.75::f.\n"
    )
    names = {one["label"]: one["name"] for one in ask(desk, "sliders", text)["sliders"]}
    moved = {"a": [0.35], "b": [0.6], "c :- a": [0.15, 0.2], "d": [0.5]}
    request = {names[label]: ends for label, ends in moved.items()}
    new = ask(desk, "write", text, moved=request)["text"]
    assert new == text.replace("0.3::a", "0.35::a").replace("0.1,", "0.15,").replace("0.4?", "0.5?")


def test_an_answer_tells_how_far_it_is() -> None:
    told: list[dict[str, Any]] = []
    ask(Desk(Limits(seconds=PATIENCE, megabytes=4000), told.append), "answer")
    assert {"stage": "compiling", "share": None} in told


def test_examples_have_their_tasks_and_images() -> None:
    listed = playground_facts(Limits())["examples"]
    assert "More" not in {one["task"] for one in listed}
    (digits,) = (one for one in listed if "images" in one)
    assert {len(drawing["pixels"]) for drawing in digits["drawings"]} == {64}
    for image, drawing in enumerate(digits["images"]):
        values = np.array(digits["drawings"][drawing]["pixels"]) / 16
        first, last = ((np.array(one["weights"]), one["biases"]) for one in digits["network"])
        outputs = last[0] @ np.maximum(first[0] @ values + first[1], 0) + last[1]
        outputs = np.exp(outputs) / np.exp(outputs).sum()
        asked = [f"digit({image},{digit})" for digit in range(10)]
        program = dpasp.loads(digits["text"])
        said = [float(answer) for answer in program.query(*asked, semantics="maxent")]
        assert said == pytest.approx(outputs.tolist(), abs=0.001)  # those of the program are these


UMBRELLA = next(one["text"] for one in example_programs() if one["name"] == "umbrella")


@pytest.mark.parametrize("rain", [0.3, 0.05])
def test_decisions_follow_the_sliders(desk: Desk, rain: float) -> None:
    moved = {"0.0": [rain]} if rain != 0.3 else {}
    given = {"semantics": "maxent", "moved": moved}
    found = ask(desk, "decide", UMBRELLA, knowing=True, **given)
    best = dpasp.loads(UMBRELLA.replace("0.3::rain", f"{rain}::rain")).decide()
    assert isinstance(best, dpasp.Decision)
    assert found["ends"] == [pytest.approx(best.value)]
    assert found["strategy"] == best.strategy
    assert [(one["instead"], one["loss"]) for one in found["alternatives"]] == [
        (one.instead, pytest.approx(one.loss)) for one in best.alternatives
    ]
    assert sum(one["adds"][0] for one in found["contributions"]) == pytest.approx(best.value)
    assert [tuple(one.values()) for one in found["turning"]] == [
        pytest.approx(tuple(one)) for one in best.turning_points
    ]
    worth = {one["atom"]: one["worth"] for one in found["knowing"]}
    assert worth == {name: pytest.approx(best.value_of(name)) for name in ("rain", "forecast")}
    (answer,) = ask(desk, "slide", UMBRELLA, **given | {"semantics": ["stable, maxent"]})[
        "answers"
    ]["stable, maxent"]
    taken = any(best.strategy.values())
    assert answer["ends"] == [pytest.approx(0.0 if taken else rain)]  # under what is best now


def test_what_is_decided_by(desk: Desk) -> None:
    text = UMBRELLA + "#decide not wet."
    found = ask(desk, "decide", text, semantics="maxent")
    assert (found["asked"], found["questions"]) == ("not wet", ["not wet", ""])
    assert found["ends"] == [1.0]
    found = ask(desk, "decide", UMBRELLA.replace("0.3", "[0.2, 0.4]"), semantics="credal")
    assert "maximality" in found["criteria"]
    assert found["criterion"] == "maximin"
    assert "turning" not in found
    left = ask(desk, "decide", UMBRELLA, semantics="credal", criterion="maximality")
    assert left["strategies"] == [{"umbrella": True, "raincoat": False}]
    assert "<svg" in ask(desk, "decide", UMBRELLA, semantics="maxent", picture=True)["svg"]
    assert refused(desk, "decide", DAY)["code"] == "decide-nothing"
    several = "#decision {u}. 0.3::v(1..2). #utility -1: u, v(1). #decide."
    assert "these match: v(1), v(2)" in refused(desk, "decide", several, query="v(X)")["message"]
    assert "no atoms match it" in refused(desk, "decide", several, query="zz(X)")["message"]
    assert ask(desk, "decide", several, semantics="maxent", query="v(2)")["asked"] == "v(2)"


def test_learning_from_a_table(desk: Desk) -> None:
    pytest.importorskip("torch")
    text = "0.3?::flu. 0.6?::fever :- flu. #semantics maxent. #query fever."
    told: list[dict[str, Any]] = []
    desk.tell = told.append
    table = "flu,fever\n1,1\n1,1\n1,0\n0,\n"
    found = ask(desk, "learn", text, semantics="maxent", table=table)
    assert [one["values"][0] for one in found["learned"]] == pytest.approx([3 / 4, 2 / 3])
    again = dpasp.loads(found["text"]).query()
    assert float(again[0]) == pytest.approx(0.5)
    assert found["examples"] == 4
    assert "<svg" in found["svg"]
    assert found["log_likelihood"] == sorted(found["log_likelihood"])
    assert told[0]["stage"] == "learning, iteration 1"
    assert refused(desk, "learn", text, table="flu,fevr\n1,1\n")["help"].startswith(
        "did you mean 'fever'?"
    )
    assert refused(desk, "learn", text, table="")["message"] == "the table: it is empty"
    assert refused(desk, "learn", DAY, table="busy\n1\n")["code"] == "learn-nothing"


def test_learning_at_a_limit_gives_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    desk = Desk(Limits(seconds=PATIENCE, megabytes=4000))
    text = "?::a. ?::b :- a. #semantics maxent."
    request = {"task": "learn", "text": text, "table": "a,b\n1,1\n0,\n,0\n"}

    def stopped(progress: Progress, moment: Any) -> None:
        raise desk.limits.start().out_of_memory()

    monkeypatch.setattr(Progress, "learned", stopped)
    found = desk.do(request)["ok"]
    assert "memory" in found["stopped"]
    assert len(found["log_likelihood"]) == 1
