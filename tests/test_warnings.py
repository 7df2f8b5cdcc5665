"""What is doubtful reaches people: by Python's warnings, and wherever programs are written."""

from __future__ import annotations

import copy
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

import dpasp
from dpasp.editors.analysis import analyse
from dpasp.ground import check_without_grounding
from dpasp.ground.checking import program_of_texts, underived
from dpasp.limits import Limits
from dpasp.playground.tasks import Desk

RAIN = "0.3::rain. wet :- rain."
Ask = Callable[[dpasp.Program], object]


def told(call: Callable[[], object]) -> list[warnings.WarningMessage]:
    """What is told in a call."""
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        call()
    return record


# --- in Python ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ask", "place"),
    [
        (lambda p: p.query("rian | wet"), 8),
        (lambda p: p.query("wet", evidence="not rian"), 15),
        (lambda p: p.marginals(evidence="not rian"), 15),
        (lambda p: p.map("rian?"), 6),
        (lambda p: p.sample(1, given="not rian"), 15),
        (lambda p: list(p.models(given="not rian")), 15),
        (lambda p: p.explain("rian"), 8),
        (lambda p: p.why_inconsistent(given="not rian"), 15),
        (lambda p: p.module().prob("rian"), 8),
    ],
)
def test_a_misspelt_name_is_told_at_the_line_of_the_caller(ask: Ask, place: int) -> None:
    program = dpasp.loads(RAIN)
    (one,) = told(lambda: ask(program))
    assert one.category is dpasp.ProgramWarning
    assert issubclass(one.category, UserWarning)
    assert f":1:{place}: rian cannot occur" in str(one.message)
    assert "did you mean 'rain'?" in str(one.message)
    assert one.filename == __file__
    line = Path(__file__).read_text().splitlines()[one.lineno - 1]
    assert "rian" in line


def test_it_is_told_in_every_call_and_once_in_each() -> None:
    program = dpasp.loads(f"{RAIN} #query rian. #query rian | wet.")
    for _ in range(2):
        columns = [one.message.diagnostic.span.column for one in told(program.query)]  # type: ignore[union-attr]
        assert columns == [32, 45]


def test_what_is_doubtful_about_the_rules_is_told_once() -> None:
    (quoted,) = told(lambda: dpasp.loads("a('b'). 0.3::c."))
    assert "[quotes]" in str(quoted.message)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dpasp.ProgramWarning)
        program = dpasp.loads("a('b'). 0.3::c. d :- cc.")
    assert ["[undefined-atom]" in str(one.message) for one in told(program.query)] == [True]
    assert told(program.marginals) == []
    assert {w.code for w in program.warnings} == {"quotes", "undefined-atom"}


def test_answers_that_are_less_than_asked_for_are_told() -> None:
    (one,) = told(lambda: dpasp.loads(f"{RAIN} :- rain. #query wet.").query())
    assert "[inconsistent-choices]" in str(one.message)


def test_warnings_can_be_silenced_and_made_errors() -> None:
    program = dpasp.loads(RAIN)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", dpasp.ProgramWarning)
        assert program.query("rian").warnings[0].code == "unknown-atom"
        warnings.simplefilter("error", dpasp.ProgramWarning)
        with pytest.raises(dpasp.ProgramWarning, match="did you mean 'rain'"):
            program.query("rian")


def test_impossible_evidence_shows_the_name_that_nothing_derives() -> None:
    program = dpasp.loads(RAIN)
    for ask in (lambda: program.query("wet | rian"), lambda: program.sample(1, given="rian")):
        with pytest.raises(dpasp.ImpossibleEvidence, match="did you mean 'rain'"):
            ask()


def test_a_copy_tells_the_same() -> None:
    warning = dpasp.ProgramWarning(dpasp.loads(RAIN).query("rian").warnings[0])
    assert str(copy.copy(warning)) == str(warning)


def test_marginals_say_what_is_doubtful_about_the_program() -> None:
    program = dpasp.loads("0.3::a. b :- c.")
    program.marginals()
    assert [warning.code for warning in program.warnings] == ["undefined-atom"]


def test_the_command_line_tells_it_once() -> None:
    text = f"{RAIN} slips :- icy. #query rian."
    for command in ("run", "ground", "models", "sample", "explain"):
        words = [sys.executable, "-W", "error", "-m", "dpasp", command, "-"]
        done = subprocess.run(words, input=text, capture_output=True, text=True, check=True)
        assert done.stderr.count("[unknown-atom]") == 1
        assert done.stderr.count("[undefined-atom]") == 1
        assert "ProgramWarning" not in done.stderr


def test_the_playground_tells_it_once() -> None:
    desk = Desk(Limits())
    request = {"text": f"{RAIN} #query rian.", "semantics": "stable, credal"}
    found: list[dpasp.Diagnostic] = []
    for task in ("check", "answer"):
        assert told(lambda task=task: found.append(desk.do({**request, "task": task}))) == []  # type: ignore[misc]
    for reply in found:
        (warning,) = reply["ok"]["warnings"]  # type: ignore[index]
        assert (warning["line"], warning["column"]) == (1, 32)
        assert warning["help"] == "did you mean 'rain'?"


# --- from the text alone -----------------------------------------------------------------------


def found_in(text: str) -> list[tuple[str, int, str]]:
    """What is doubtful about a text, without grounding it: codes, columns, help."""
    doubts = underived(program_of_texts([("p.plp", text)]))
    return [(d.code, d.span.column if d.span else 0, d.help) for d in doubts]


@pytest.mark.parametrize(
    ("text", "code", "word", "help"),
    [
        ("0.3::wet. #query wett.", "unknown-atom", "wett", "did you mean 'wet'?"),
        ("0.3::wet. #query wet | not wett.", "unknown-atom", "wett", "did you mean 'wet'?"),
        ("0.3::wet. #evidence not wett.", "unknown-atom", "wett", "did you mean 'wet'?"),
        ("0.3::wet. #map wett?.", "unknown-atom", "wett", "did you mean 'wet'?"),
        (
            "0.3::wet. #query wet(1).",
            "unknown-atom",
            "wet(1)",
            "there is wet/0: check the number of arguments",
        ),
        ("0.3::wet. #query -wet.", "unknown-atom", "-wet", "did you mean 'wet'?"),
        ("0.3::-wet. #query wet.", "unknown-atom", "wet.", "did you mean '-wet'?"),
        ("0.3::p(1). #query q(X).", "no-instances", "#query", "no rule derives it"),
        ("0.3::p(1). #query pp(X), ppp(X).", "no-instances", "#query", "did you mean 'p'?"),
        ("0.3::icy. 0.2::slips :- icey.", "undefined-atom", "icey", "did you mean 'icy'?"),
        ("0.3::icy. slips :- not icey.", "undefined-atom", "icey", "did you mean 'icy'?"),
        ("icy(1). 1 {a : icey(X)}.", "undefined-atom", "icey", "did you mean 'icy'?"),
        ("icy(1). a :- #count{X : icey(X)} > 0.", "undefined-atom", "icey", "'icy'"),
        ("icy(1). a :- X = 1, icey(f(X)).", "undefined-atom", "icey", "did you mean 'icy'?"),
        ("icy(1). :- icey(1;2).", "undefined-atom", "icey", "did you mean 'icy'?"),
        ("icy. #external e : icey.", "undefined-atom", "icey", "did you mean 'icy'?"),
        ("icy(1). #show X : icey(X).", "undefined-atom", "icey", "did you mean 'icy'?"),
        ("x(0) ~ test(@t). #query x(0), y(0).", "unknown-atom", "y(0)", "no rule derives it"),
    ],
)
def test_names_that_nothing_derives(text: str, code: str, word: str, help: str) -> None:
    ((found, column, what),) = found_in(text)
    assert (found, column) == (code, text.rindex(word) + 1)
    assert help in what


@pytest.mark.parametrize(
    "text",
    [
        "p(1..3). #query p(X). #query p(7).",  # whether 7 is derived is not known yet
        "a(1;2). b(1,2;3). :- a(1), b(1,2), b(3).",
        "0.3::a; 0.4::b. {c; d : a}. e | f. #query a, b, c, d | e, f.",
        "-a. {-b}. :- -a, -b.",
        "#count{X : h(X) : d(X)} = 1. d(1). #query h(1).",
        "#external e(1). a :- e(1). #query e(1).",
        "#defined p/1. #defined -q/0. a :- p(1), -q. #query p(2).",
        "a(@f). b :- a(7). #query a(7). #script (python)\ndef f(): return 7\n#end.",
        "?::digit(X, {0..9}) as @net :- in(X). in(0) ~ test(@t). #query digit(0,3).",
        "!::on(X) as @net :- in(X). in(0) ~ test(@t). a :- on(0). #query a.",
        "?::c(X, {a, b}; {0, 1}) as @net :- in(X). in(0) ~ test(@t). #query c(0,a,1).",
        "0.3::a(f(X)) :- b(X). b((1,2)). #query a(f((1,2))).",
        'a("x, y"). b :- a("(").',
        "p(0). p(X+1) :- p(X), X < 3, not q(X). q(9).",
    ],
)
def test_names_that_might_be_derived(text: str) -> None:
    assert found_in(text) == []


def test_included_files_count(tmp_path: Path) -> None:
    (tmp_path / "facts.plp").write_text("0.3::wet.\n")
    file = tmp_path / "p.plp"
    file.write_text('#include "facts.plp".\n#query wet. #query wett.\n')
    doubts = check_without_grounding(program_of_texts([(str(file), file.read_text())]))
    assert [doubt.message for doubt in doubts] == ["wett cannot occur, so its probability is 0"]


def test_the_text_says_what_grounding_says() -> None:
    text = f"{RAIN} a :- c(X), not d. #query rian. #query q(X). #evidence not icy."
    source = program_of_texts([("p.plp", text)])
    grounded = dpasp.Program(source).ground().warnings
    assert check_without_grounding(source) == grounded


def test_an_editor_is_told() -> None:
    (problem,) = analyse("0.3::wet.\n#query wett.\n", "p.plp").problems
    assert (problem.severity, problem.help) == ("warning", "did you mean 'wet'?")
