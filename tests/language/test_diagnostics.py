"""Every message is pinned, with its place; see snapshot.py for how to write them anew."""

from __future__ import annotations

import os
import re
from functools import partial
from pathlib import Path

import pytest

from dpasp.display.diagnostics import split_lines
from dpasp.errors import ProgramError
from dpasp.language import parse
from dpasp.language.text.lexer import tokens
from dpasp.language.tuning import TUNING
from tests.clocks import steps
from tests.language import snapshot

SNAPSHOTS = sorted(Path(__file__).with_name("snapshots").glob("*.txt"))
CASES = [(path, case) for path in SNAPSHOTS for case in snapshot.read(path)]
UPDATE = "DPASP_UPDATE_SNAPSHOTS" in os.environ


def identifier(value: object) -> str:
    if isinstance(value, snapshot.Case):
        return value.name.replace(" ", "-")
    return value.stem if isinstance(value, Path) else str(value)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.skipif(UPDATE, reason="the snapshots are being written")
@pytest.mark.parametrize(("path", "case"), CASES, ids=identifier)
def test_message(path: Path, case: snapshot.Case, folder: Path) -> None:
    seen = snapshot.answered(case, folder)
    assert seen.text == case.text
    assert seen.json == case.json


@pytest.mark.skipif(UPDATE, reason="the snapshots are being written")
@pytest.mark.parametrize(("path", "case"), CASES, ids=identifier)
def test_message_is_fit_for_people(path: Path, case: snapshot.Case, folder: Path) -> None:
    found = snapshot.diagnostics(case, folder)
    assert found, "nothing is said about this program"
    for diagnostic in found:
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", diagnostic.code)
        assert diagnostic.help, "the help is missing"
        said = diagnostic.message + diagnostic.help
        assert not re.search(r"<[A-Za-z]+>|\bx{3,}|__|\$\w|None|Error\b|lexer", said)
        span = diagnostic.span
        if span is None:
            assert case.given, "the place is missing"
            continue
        lines = split_lines((folder / span.file).read_text(encoding="utf-8"))
        assert 1 <= span.column <= len(lines[span.line - 1]) + 1
        assert (span.line, span.column) <= (span.end_line, span.end_column)
        assert span.end_column <= len(lines[span.end_line - 1]) + 1


def test_there_are_enough() -> None:
    names = [(path, case.name) for path, case in CASES]
    assert len(set(names)) == len(names) >= 120


@pytest.mark.skipif(not UPDATE, reason="set DPASP_UPDATE_SNAPSHOTS to write the snapshots anew")
@pytest.mark.parametrize("path", SNAPSHOTS, ids=identifier)
def test_write_anew(path: Path, folder: Path) -> None:
    snapshot.write(path, [snapshot.answered(case, folder) for case in snapshot.read(path)])


@pytest.mark.parametrize("character", ["é", "\udce3", "\x00"])
def test_a_bad_character_in_the_tail_of_a_statement(character: str) -> None:
    with pytest.raises(ProgramError) as caught:
        parse(f"#external a. [{character}]")
    assert [(d.code, d.span and d.span.column) for d in caught.value.diagnostics] == [
        ("bad-character", 15)
    ]


# --- long texts ----------------------------------------------------------------------------------


class Seen:
    """A search that finds nothing, and notes what it was to look at."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def finditer(self, pattern: str, text: str, flags: int) -> list[re.Match[str]]:
        self.texts.append(text)
        return []


@pytest.mark.parametrize("unit", ["3", "a", "A", "_", "-", ":-", "b, "])
def test_common_mistakes_are_looked_for_near_the_error_only(
    unit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An expression that may begin anywhere takes n² steps over a text of n characters."""
    seen = Seen()
    monkeypatch.setattr(re, "finditer", seen.finditer)
    with pytest.raises(ProgramError):
        parse(f"a :- {unit * (20_000 // len(unit))} =< {unit * (20_000 // len(unit))} ?? .")
    for text in seen.texts:
        assert max(map(len, re.findall(r"[^\0]+", text)), default=0) < 3_000
        assert max(map(len, re.findall(r"[\w]+", text)), default=0) <= TUNING.masked_token


def test_a_mistake_far_from_the_beginning_is_known() -> None:
    with pytest.raises(ProgramError) as caught:
        parse(f"a :- {'b, ' * 5_000}c := 3.")
    assert caught.value.diagnostics[0].code == "assignment"


def test_a_long_word_of_foreign_letters_is_described_once() -> None:
    def read(count: int) -> None:
        with pytest.raises(ProgramError) as caught:
            parse(f"a :- {'é' * count}, {'ü' * count}.")
        assert [problem.span.column for problem in caught.value.diagnostics if problem.span] == [
            6,
            8 + count,
        ]

    assert steps(partial(read, 400)) < 5 * steps(partial(read, 100))


def test_a_run_of_quotes_is_one_token() -> None:
    assert len(list(tokens("'" * 1_000 + " a", 0, 1_002))) == 2
    assert [token.kind for token in tokens("_ __ _'a '_X _' .", 0, 17)] == [
        *("variable", "variable", "name", "variable", "symbol", "symbol"),
    ]
