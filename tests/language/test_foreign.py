"""Lines of other systems, and lines that mean something else there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dpasp
from dpasp.cli import main
from dpasp.errors import Diagnostic, ProgramError
from dpasp.language import parse, parse_files
from dpasp.language.ast import to_text


def problem(text: str) -> Diagnostic:
    with pytest.raises(ProgramError) as caught:
        parse(text)
    (found,) = caught.value.diagnostics
    return found


def warning(text: str) -> Diagnostic:
    (found,) = parse(text).warnings
    assert found.severity == "warning"
    return found


@pytest.mark.parametrize(
    ("line", "code", "instead"),
    [
        ("query(a(X)).", "problog-directive", "#query a(X)."),
        ("evidence(a(_), false).", "problog-directive", "#evidence not a(_)."),
        ("evidence(\\+a).", "problog-directive", "#evidence not a."),
        (":- use_module(library(lists)).", "prolog-directive", "leave it out"),
        (":- table path/2.", "prolog-directive", "leave it out"),
        (
            "nn(net,[X],Y,[0,1,2]) :: digit(X,Y).",
            "foreign-network",
            "?::digit(X, {0,1,2}) as @net :- input(X).",
        ),
        ("nn(net,[X]) :: even(X).", "foreign-network", "?::even(X) as @net :- input(X)."),
        (
            "nn(digit(1,X), [0,1]) :- img(X).",
            "foreign-network",
            "?::digit(X, {0,1}) as @digit :- img(X).",
        ),
        ("map 0.3::a.", "foreign-map", "0.3::a. and #map a?."),
        ("abducible a.", "foreign-abducible", "0.5::a. and ask #map a? | goal."),
        ("optimizable [0.2,0.6]::a.", "foreign-optimizable", "[0.2,0.6]::a."),
        ("x ~ normal(0,1).", "continuous", "0.5::x(middle)"),
        ("0.3::a <- b.", "arrow", "0.3::a :- b."),
        ("0.3::a(X) <- b(X), not c.", "arrow", "0.3::a(X) :- b(X), not c."),
        ("a :- b(X), b(Y), X =< Y.", "prolog-less", "X <= Y"),
        ("a :- b(X), X => 3.", "arrow-comparison", "X >= 3"),
        ("a :- #count{X : b(X)} => 3.", "arrow-comparison", "'>='"),
        ("a :- 2 <= #count{X | b(X)}.", "aggregate-braces", "#count{X : p(X)}"),
        ("a := b.", "assignment", "a :- b."),
        ("[0.2, 0.5]:a.", "single-colon", "[0.2, 0.5]::a"),
        ("#query a if b.", "word-operator", "#query a | b"),
        ("#utility go : 5.", "utility-syntax", "#utility 5 : go."),
        ("#factor a : 2.5.", "factor-syntax", "#factor 2.5 : a."),
        ("#factor [3, 1] : x({0,1}).", "factor-syntax", "#factor {3, 1} : x({0,1})."),
        ("a or b.", "word-operator", "a; b."),
        ("a v b :- c.", "word-operator", "a; b."),
        ("#factor {3, 1} : x(0,1).", "factor-table-size", "x({0,1})"),
        ("#query a | do b.", "query-do", "do(a) or do(not a)"),
        ("#query a | do(~b).", "query-do", "do(not a)"),
        ("0.3::a; 0.7::b :-", "missing-part", "write what belongs there"),
    ],
)
def test_the_help_is_the_line_to_write(line: str, code: str, instead: str) -> None:
    found = problem(line)
    assert found.code == code
    assert instead in found.help


@pytest.mark.parametrize(
    "line",
    [
        "?::digit(X, {0,1,2}) as @net :- input(X).",
        "?::even(X) as @net :- input(X).",
        "#query a(X).",
        "#evidence not a(_).",
        "0.3::a. #map a?.",
        "0.5::a. #map a? | goal.",
        "[0.2, 1]::f :- b.",
        "0.2::x(low); 0.5::x(middle); 0.3::x(high).",
        ":- table(X), map(X). nn(1). map(1). table(1) :- query(1).",
    ],
)
def test_lines_to_write_can_be_read(line: str) -> None:
    assert parse(line).warnings == ()


@pytest.mark.parametrize("text", ["query(a).", "evidence(c). #query a.", "query(a). #query b."])
def test_facts_that_look_like_problog(text: str) -> None:
    assert warning(text).code == "problog-directive"


def test_a_predicate_that_is_used_is_no_foreign_line() -> None:
    assert parse("query(a). b(X) :- query(X). #query b(a).").warnings == ()


@pytest.mark.parametrize(
    ("text", "both"),
    [
        ("c :- a ; b.", ["'c :- a, b.'", "'c :- a. c :- b.'"]),
        (":- a(X) ; not b(X).", ["':- a(X), not b(X).'", "':- a(X). :- not b(X).'"]),
        (
            "0.3::c(X) :- a(X); b(X).",
            ["'0.3::c(X) :- a(X), b(X).'", "either(X) :- a(X). either(X) :- b(X)."],
        ),
    ],
)
def test_a_semicolon_in_a_body_is_and(text: str, both: list[str]) -> None:
    found = warning(text)
    assert found.code == "body-semicolon"
    assert all(spelling in found.help for spelling in both)


@pytest.mark.parametrize(
    "text", ["c :- a, b.", "c(1;2) :- a(1;2).", "c :- a : b; d.", "a; b :- c.", "c :- {a; b} 1."]
)
def test_other_semicolons(text: str) -> None:
    assert parse(text).warnings == ()


def test_what_is_printed_has_no_such_warning() -> None:
    text = to_text(parse("c :- a ; b. d :- a : b ; c ; e. 0.3::f :- a; b."))
    assert text == "c :- a, b.\nd :- a: b; c, e.\n0.3::f :- a, b.\n"
    assert parse(text).warnings == ()
    assert to_text(parse(text)) == text


@pytest.mark.parametrize(
    "text", ["#evidence p(_).", "#query q | p(_).", "#query q | not p(1,_).", "#mpe | undef p(_)."]
)
def test_evidence_that_could_mean_two_things(text: str) -> None:
    assert problem(text).code == "evidence-anonymous"


def test_evidence_with_one_meaning() -> None:
    parse("#evidence not p(_). #map a? | not p(_). #evidence p(X). #query q(_) | p(X).")
    program = "0.5::p(1..2). 0.5::q. #semantics maxent. #query p(1)."
    none = dpasp.loads(program + "#evidence not p(_).").query()
    assert none[0].value == 0.0
    every = dpasp.loads(program + "#evidence p(X).").query()
    assert every[0].value == 1.0


def test_a_file_that_is_named_twice_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "a.plp"
    path.write_text("0.5::a.")
    program = parse_files([path, tmp_path / "." / "a.plp"])
    assert len(program.statements) == 1
    assert [found.code for found in program.warnings] == ["file-twice"]


def test_a_script_whose_main_is_never_called() -> None:
    text = "#script (python)\ndef main(control): pass\n#end."
    assert warning(text).code == "script-main"
    assert parse(text.replace("main", "remain")).warnings == ()


PROGRAM = "0.5::a. 0.5::b. c :- a ; b. #query c."


@pytest.mark.parametrize("command", ["run", "check", "ground", "explain"])
def test_every_command_shows_the_warnings_of_reading(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "p.plp"
    path.write_text(PROGRAM)
    assert main([command, str(path)]) == 0
    assert capsys.readouterr().err.count("body-semicolon") == 1
    assert main([command, str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["code"] for each in found["warnings"]] == ["body-semicolon"]


def test_answers_have_the_warnings_of_reading() -> None:
    answers = dpasp.loads(PROGRAM).query()
    assert [found.code for found in answers.warnings] == ["body-semicolon"]
    again = dpasp.loads(PROGRAM).query("c")
    assert [found.code for found in again.warnings] == ["body-semicolon"]


@pytest.mark.parametrize(
    ("text", "help"),
    [
        ("query( % why\n a(X)).", "write #query a(X)."),
        (":- use_module(%* a list *% library(lists)).", "leave it out: nothing here needs"),
        ("nn(m, %* net *% [X], Y, [0,1]) :: d(X,Y).", "write ?::d(X, {0,1}) as @m :- input(X)."),
        ("map 0.3:: % likely\n a.", "write 0.3::a. and #map a?."),
        ("abducible %* c *% a.", "write 0.5::a. and ask #map a? | goal."),
        ("0.3::a <- %* c *% b.", "write 0.3::a :- b."),
        ("x ~ %* c *% normal(0,1).", "write a few values"),
    ],
)
def test_comments_inside_foreign_lines(text: str, help: str) -> None:
    with pytest.raises(dpasp.ProgramError) as refused:
        parse(text)
    assert refused.value.diagnostics[0].help.startswith(help)


def test_comments_inside_facts_that_ask_nothing() -> None:
    more = " (`dpasp convert` translates whole programs)"
    assert warning("a. evidence(a, %* c *% false).").help == "write #evidence not a." + more
    assert warning("a. query(%* c *% a).").help == "write #query a." + more
