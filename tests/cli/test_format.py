"""``dpasp format``."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from .conftest import Command

UNTIDY, TIDY = "0.3 ::a.% why\n#query a\n", "0.3::a.  % why\n#query a.\n"


def test_a_file_is_rewritten_in_place(dpasp: Command, tmp_path: Path) -> None:
    assert dpasp("format", text=UNTIDY) == (0, "", "p.plp: formatted\n")
    assert (tmp_path / "p.plp").read_text() == TIDY
    assert dpasp("format", "p.plp") == (0, "", "")
    assert dpasp("format", "-v", "p.plp") == (0, "", "p.plp: stays as it is\n")
    assert os.listdir(tmp_path) == ["p.plp"]


def test_standard_input_is_printed(dpasp: Command) -> None:
    assert dpasp("format", "-", stdin=UNTIDY) == (0, TIDY, "")
    assert dpasp("format", "-", stdin="") == (0, "", "")


def test_check_changes_nothing(dpasp: Command, tmp_path: Path) -> None:
    assert dpasp("format", "--check", text=UNTIDY) == (1, "", "p.plp: would be formatted\n")
    assert (tmp_path / "p.plp").read_text() == UNTIDY
    assert dpasp("format", "--check", text=TIDY) == (0, "", "")
    assert dpasp("format", "--check", "-q", "-", stdin=UNTIDY) == (1, "", "")


def test_diff_changes_nothing(dpasp: Command, tmp_path: Path) -> None:
    code, out, err = dpasp("format", "--diff", "-q", text=UNTIDY)
    assert (code, err) == (1, "")
    assert out == (
        "--- p.plp\n+++ p.plp (formatted)\n@@ -1,2 +1,2 @@\n"
        "-0.3 ::a.% why\n-#query a\n+0.3::a.  % why\n+#query a.\n"
    )
    assert (tmp_path / "p.plp").read_text() == UNTIDY
    assert dpasp("format", "--diff", text=TIDY) == (0, "", "")
    assert dpasp("format", "--diff", "-q", "-", stdin=UNTIDY).out.startswith("--- stdin\n")


def test_what_cannot_be_read_is_told_and_the_rest_formatted(dpasp: Command, tmp_path: Path) -> None:
    (tmp_path / "wrong.plp").write_text("a :- b\n")
    code, out, err = dpasp("format", "wrong.plp", "missing.plp", text=UNTIDY)
    assert (code, out) == (65, "")
    assert "[missing-dot]" in err
    assert "cannot read missing.plp" in err
    assert (tmp_path / "wrong.plp").read_text() == "a :- b\n"
    assert (tmp_path / "p.plp").read_text() == TIDY


def test_rights_and_line_ends_stay(dpasp: Command, tmp_path: Path) -> None:
    path = tmp_path / "p.plp"
    path.write_bytes(UNTIDY.replace("\n", "\r\n").encode())
    path.chmod(0o640)
    assert dpasp("format", "p.plp").code == 0
    assert path.read_bytes() == TIDY.replace("\n", "\r\n").encode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_link_stays_a_link(dpasp: Command, tmp_path: Path) -> None:
    (tmp_path / "real.plp").write_text(UNTIDY)
    (tmp_path / "link.plp").symlink_to("real.plp")
    assert dpasp("format", "link.plp").code == 0
    assert (tmp_path / "link.plp").is_symlink()
    assert (tmp_path / "real.plp").read_text() == TIDY


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written(dpasp: Command, tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir()
    (folder / "p.plp").write_text(UNTIDY)
    folder.chmod(0o500)
    try:
        assert "cannot write" in dpasp("format", str(folder / "p.plp")).err
    finally:
        folder.chmod(0o700)
    assert (folder / "p.plp").read_text() == UNTIDY
