"""Diagnostics as text: the caret is under the exact place, whatever the line holds."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from dpasp.display.diagnostics import (
    excerpt,
    read_source,
    render,
    split_lines,
    text_cells,
    to_dict,
)
from dpasp.errors import Diagnostic, Span
from tests.clocks import steps


def marked(text: str, line: int, column: int, end_line: int, end_column: int) -> list[str]:
    span = Span("p", line, column, end_line, end_column)
    return excerpt(split_lines(text), span, "error", colour=False)


def test_a_whole_diagnostic() -> None:
    span = Span("p.plp", 2, 1, 2, 4)
    problem = Diagnostic("probability-range", "1.5 is not a probability", span, "write at most 1")
    assert render([problem], {"p.plp": "a.\n1.5::b."}.get) == (
        "p.plp:2:1: error: 1.5 is not a probability [probability-range]\n"
        "  2 | 1.5::b.\n"
        "    | ^^^\n"
        "  help: write at most 1"
    )


def test_several_diagnostics_follow_each_other() -> None:
    first = Diagnostic("a-code", "one", Span("p", 1, 1, 1, 2))
    second = Diagnostic("b-code", "two", severity="warning")
    assert render([first, second], {"p": "x."}.get).splitlines() == [
        "p:1:1: error: one [a-code]",
        "  1 | x.",
        "    | ^",
        "warning: two [b-code]",
    ]


@pytest.mark.parametrize(
    ("line", "column", "end", "shown", "carets"),
    [
        ("0.3::a.", 6, 7, "0.3::a.", "     ^"),
        ("\ta :- b(X).", 2, 3, "        a :- b(X).", "        ^"),
        ("a\tb.", 2, 3, "a       b.", " ^^^^^^^"),
        ("a\tb.", 3, 4, "a       b.", "        ^"),
        ('a("日本", x).', 9, 10, 'a("日本", x).', "          ^"),
        ('a("日本").', 4, 6, 'a("日本").', "   ^^^^"),
        ("e\u0301 :- b.", 7, 8, "e\u0301 :- b.", "     ^"),
        ("a :- b", 7, 7, "a :- b", "      ^"),
        ("a.", 9, 12, "a.", "  ^"),
        ("", 1, 1, "", "^"),
        ("\x1b[31mred.", 1, 2, "�[31mred.", "^"),
    ],
)
def test_the_caret_is_under_the_place(
    line: str, column: int, end: int, shown: str, carets: str
) -> None:
    assert marked(line, 1, column, 1, end) == [f"  1 | {shown}".rstrip(), f"    | {carets}"]


def test_a_span_of_two_lines() -> None:
    text = "a :- b,\n  c(\n    d).\n"
    assert marked(text, 2, 3, 3, 6) == ["  2 |   c(", "    |   ^^", "  3 |     d).", "    |     ^"]


def test_a_span_that_ends_at_the_start_of_a_line_stops_before_it() -> None:
    assert marked("ab\ncd\n", 1, 2, 2, 1) == ["  1 | ab", "    |  ^"]


def test_the_middle_of_a_long_span_is_left_out() -> None:
    text = "\n".join(f"line{i}" for i in range(1, 13))
    shown = marked(text, 1, 1, 12, 3)
    assert [row for row in shown if "^" not in row] == [
        "   1 | line1",
        "   2 | line2",
        "   3 | line3",
        "   ⋮ |",
        "  12 | line12",
    ]
    assert shown[-1] == "     | ^^"


def test_long_lines_are_cut_around_the_place() -> None:
    line = "a. " * 400 + "BAD. " + "b. " * 400
    source, carets = marked(line, 1, 1201, 1, 1204)
    at = carets.index("^")
    assert source[at : at + 3] == "BAD"
    assert carets.strip(" |") == "^^^"
    assert len(source) < 120
    assert source.count("…") == 2


def test_of_a_long_line_only_a_piece_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths: list[int] = []

    def counted(text: str) -> int:
        lengths.append(len(text))
        return text_cells(text)

    monkeypatch.setattr("dpasp.display.diagnostics.text_cells", counted)
    assert len(marked("a" * 100_000, 1, 50_000, 1, 50_001)[0]) < 120
    assert max(lengths) < 1000


def test_a_source_is_read_and_cut_into_lines_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def read(file: str) -> str:
        calls.append(file)
        return "a.\nb."

    def cut(text: str) -> list[str]:
        calls.append("lines")
        return split_lines(text)

    monkeypatch.setattr("dpasp.display.diagnostics.split_lines", cut)
    of_the_file = [Diagnostic("x", "bad", Span("p", line, 1, line, 2)) for line in (1, 2) * 50]
    other = Diagnostic("x", "bad", Span("q", 1, 1, 1, 2))
    assert render([*of_the_file, other], read).count("    | ^\n") == 100
    assert calls == ["p", "lines", "q"]  # both have the same text


def test_long_words_are_cut() -> None:
    problem = Diagnostic("x", f"{'3' * 20_000} is too large", help=f'write "{"a" * 20_000}"')
    message, help = render([problem]).splitlines()
    assert message == f"error: {'3' * 60}…{'3' * 20} is too large [x]"
    assert len(help) < 120


def test_carriage_returns_are_not_shown() -> None:
    assert marked("a.\r\nb.\r\n", 1, 1, 1, 3) == ["  1 | a.", "    | ^^"]


def test_other_line_separators_do_not_end_a_line() -> None:
    assert marked('a("x\x0by\u2028z").\nb.', 2, 1, 2, 2) == ["  2 | b.", "    | ^"]


def test_a_place_outside_the_text_shows_no_line() -> None:
    assert marked("a.", 7, 1, 7, 2) == []


def test_control_characters_in_messages_cannot_reach_the_terminal() -> None:
    problem = Diagnostic("x", "bad \x1b[2J\x07", help="no \x1b")
    assert "\x1b" not in render([problem])
    assert "\x07" not in render([problem])


def test_colours_only_when_asked_for() -> None:
    problem = Diagnostic("x", "bad", Span("p", 1, 1, 1, 2), help="do")
    plain, coloured = (render([problem], {"p": "a."}.get, colour=c) for c in (False, True))
    assert "\x1b" not in plain
    assert "\x1b[1;31merror:" in coloured


def test_long_help_is_folded() -> None:
    lines = render([Diagnostic("x", "m", help="word " * 60)]).splitlines()
    assert all(len(line) <= 100 for line in lines)
    assert all(line.startswith("        word") for line in lines[2:])


def test_json_has_what_was_promised() -> None:
    error = Diagnostic("a-code", "wrong «ℙ»", Span("p.plp", 3, 7, 3, 12), "do this")
    warning = Diagnostic("b-code", "odd", severity="warning")
    assert to_dict([error, warning])["errors"] == [
        {
            "file": "p.plp",
            "line": 3,
            "column": 7,
            "end_line": 3,
            "end_column": 12,
            "code": "a-code",
            "message": "wrong «ℙ»",
            "help": "do this",
        }
    ]
    assert [w["code"] for w in to_dict([error, warning])["warnings"]] == ["b-code"]
    assert "warnings" not in to_dict([error])


def test_sources_that_cannot_be_read_are_left_out(tmp_path: Path) -> None:
    assert read_source(str(tmp_path)) is None
    assert read_source(str(tmp_path / "absent.plp")) is None
    (tmp_path / "latin.plp").write_bytes(b"a(\xe9).")
    assert read_source(str(tmp_path / "latin.plp")) == "a(�)."


def test_rendering_takes_a_step_for_each_line_and_needs_no_rich() -> None:
    problem = Diagnostic("x", "bad", Span("p", 9, 1, 9, 4), help="do")
    texts = ["0.5::a(X) :- b(X).\n" * lines for lines in (10, 2_000)]
    few, many = (steps(partial(render, [problem], {"p": text}.get, True)) for text in texts)
    assert many - few < 2 * 2_000
    probe = (
        "import sys; from dpasp.display.diagnostics import render; from dpasp.errors import *;"
        "render([Diagnostic('x', 'm')], colour=True); print('rich' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
