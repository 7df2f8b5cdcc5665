"""``dpasp check`` and ``dpasp ground``."""

from __future__ import annotations

import json
from pathlib import Path

from .conftest import Command


def test_a_good_program(dpasp: Command) -> None:
    assert dpasp("check", text="0.3::a. b :- a.\n#query b.\n") == (
        0,
        "p.plp: no mistakes found\n",
        "",
    )
    assert dpasp("check", "-q", text="0.3::a.\n") == (0, "", "")
    assert dpasp("check", "--json", text="0.3::a.\n").json == {"errors": []}


def test_mistakes_are_shown_in_place(dpasp: Command) -> None:
    code, out, err = dpasp("check", text="a.\n1.5::b.\n")
    assert (code, out) == (65, "")
    assert err.startswith("p.plp:2:1: error: ")
    assert "\n  2 | 1.5::b.\n    | ^^^\n" in err


def test_mistakes_of_all_kinds_are_reported_together(dpasp: Command) -> None:
    text = "1.5::rain.\nwet(X) :- rain, not dry(X).\n#qery wet(grass).\n0.6::a; 0.7::b.\n"
    result = dpasp("check", "--json", text=text)
    assert result.code == 65
    assert [(e["line"], e["code"]) for e in result.json["errors"]] == [
        (1, "probability-range"),
        (2, "unsafe-variable"),
        (3, "unknown-directive"),
        (4, "disjunction-sum"),
    ]


def test_what_follows_from_an_unreadable_statement_is_not_reported(dpasp: Command) -> None:
    text = "#const p = .\np::a.\n#semantics lstabel.\n#query undef a.\n"
    result = dpasp("check", "--json", text=text)
    assert [e["line"] for e in result.json["errors"]] == [1, 3]


def test_nothing_is_run_and_nothing_is_ground(dpasp: Command) -> None:
    text = (
        '#python\nopen("ran", "w")\n#end.\n'
        '#script (python)\nopen("ran", "w")\n#end.\n'
        "p(0). p(X+1) :- p(X).\n"
    )
    assert dpasp("check", text=text).code == 0
    assert not Path("ran").exists()


def test_errors_in_included_files_name_them(dpasp: Command) -> None:
    Path("other.plp").write_text("a.\n2::b.\n")
    code, _, err = dpasp("check", text='#include "other.plp".\n')
    assert code == 65
    assert err.startswith("other.plp:2:1: error: ")
    assert "  2 | 2::b." in err


def test_warnings_are_no_mistakes(dpasp: Command) -> None:
    Path("other.plp").write_text("a.\n")
    result = dpasp("check", "--json", text='#include "other.plp".\n#include "other.plp".\n')
    assert result.code == 0
    assert result.json["errors"] == []
    assert [w["code"] for w in result.json["warnings"]] == ["include-twice"]


def test_names_that_nothing_derives(dpasp: Command) -> None:
    code, out, err = dpasp(
        "check", text="0.3::wet.\nslips :- wet, icey.\n0.1::icy.\n#query wett.\n"
    )
    assert (code, out) == (0, "p.plp: 2 warnings\n")
    assert "p.plp:2:15: warning: icey occurs in no head" in err
    assert "p.plp:4:8: warning: wett cannot occur" in err
    assert "help: did you mean 'icy'?" in err
    assert "help: did you mean 'wet'?" in err
    assert dpasp("check", "-q", text="0.3::wet. #query wett.\n") == (0, "", "")


def test_constants_can_be_given(dpasp: Command) -> None:
    text = "#const p = 0.5.\np::a.\n"
    assert dpasp("check", text=text).code == 0
    assert dpasp("check", "-c", "p=1.5", text=text).code == 65


def test_a_file_that_is_not_utf8(dpasp: Command) -> None:
    Path("latin.plp").write_bytes(b'a("\xe9").')
    code, _, err = dpasp("check", "latin.plp")
    assert code == 65
    assert "UTF-8" in err


def test_ground_shows_choices_and_rules(dpasp: Command) -> None:
    code, out, err = dpasp("ground", text="d(1..2). 0.5::b(X) :- d(X). c :- not b(1). #query c.\n")
    assert (code, err) == (0, "")
    assert "0.5::b(1)." in out
    assert "0.5::b(2)." in out
    assert "c :- not b(1)." in out


def test_ground_reports_errors_as_json(dpasp: Command) -> None:
    code, out, _ = dpasp("ground", "--json", text="a(X) :- not b(X).\n")
    assert code == 65
    assert json.loads(out)["errors"][0]["code"] == "unsafe-variable"
