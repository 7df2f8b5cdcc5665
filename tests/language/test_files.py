"""Files: their encoding, and those that others include."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpasp.errors import ProgramError
from dpasp.language import parse, parse_files
from dpasp.language.ast import statement_text


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    return tmp_path


def shown(*paths: str) -> list[str]:
    return [statement_text(statement) for statement in parse_files(paths).statements]


def codes(*paths: str) -> list[str]:
    with pytest.raises(ProgramError) as caught:
        parse_files(paths)
    return [problem.code for problem in caught.value.diagnostics]


def test_an_included_file_stands_in_its_place(folder: Path) -> None:
    (folder / "a.plp").write_text('a. #include "b.plp". d.')
    (folder / "b.plp").write_text("0.3::b.\n#query c.")
    assert shown("a.plp") == ["a.", "0.3::b.", "#query c.", "d."]


def test_names_are_relative_to_the_including_file(folder: Path) -> None:
    (folder / "a.plp").write_text('#include "sub/b.plp".')
    (folder / "sub" / "b.plp").write_text('b. #include "c.plp".')
    (folder / "sub" / "c.plp").write_text("c.")
    program = parse_files(["a.plp"])
    assert [str(statement.span) for statement in program.statements] == [
        "sub/b.plp:1:1",
        "sub/c.plp:1:1",
    ]
    assert program.files == ("a.plp", "sub/b.plp", "sub/c.plp")


def test_names_may_be_relative_to_where_we_are(folder: Path) -> None:
    (folder / "sub" / "a.plp").write_text('#include "b.plp".')
    (folder / "b.plp").write_text("b.")
    assert shown("sub/a.plp") == ["b."]


def test_a_text_may_include_files(folder: Path) -> None:
    (folder / "b.plp").write_text("b.")
    assert len(parse('a. #include "b.plp".').statements) == 2


def test_a_file_is_included_once(folder: Path) -> None:
    (folder / "a.plp").write_text('#include "b.plp". #include "sub/../b.plp". #include "a.plp".')
    (folder / "b.plp").write_text('b. #include "a.plp".')
    program = parse_files(["a.plp"])
    assert len(program.statements) == 1
    assert [warning.code for warning in program.warnings] == ["include-twice"] * 3
    assert {warning.severity for warning in program.warnings} == {"warning"}


def test_a_mistake_in_an_included_file_is_told_there(folder: Path) -> None:
    (folder / "a.plp").write_text('#include "b.plp".\na b.')
    (folder / "b.plp").write_text("\n\nb c.")
    with pytest.raises(ProgramError) as caught:
        parse_files(["a.plp"])
    places = [str(problem.span) for problem in caught.value.diagnostics]
    assert places == ["a.plp:2:3", "b.plp:3:3"]


def test_files_that_are_not_there(folder: Path) -> None:
    (folder / "a.plp").write_text('#include "no.plp".')
    assert codes("a.plp") == ["file"]
    assert codes("no.plp") == ["file"]
    assert codes("sub") == ["file"]


def test_pipes_and_devices_are_not_included(folder: Path) -> None:
    (folder / "a.plp").write_text('#include "/dev/zero".')
    assert codes("a.plp") == ["file"]


def test_files_are_utf8(folder: Path) -> None:
    (folder / "a.plp").write_bytes('a("é").'.encode("latin-1"))
    assert codes("a.plp") == ["encoding"]


def test_a_byte_order_mark_and_foreign_line_ends_do_no_harm(folder: Path) -> None:
    (folder / "a.plp").write_bytes(b"\xef\xbb\xbfa.\r\n0.3::b.\r\n")
    assert shown("a.plp") == ["a.", "0.3::b."]
