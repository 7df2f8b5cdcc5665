"""Every message is pinned, with its place; see snapshot.py for how to write them anew."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from dpasp.display.diagnostics import split_lines
from dpasp.errors import ProgramError
from dpasp.language import parse
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
