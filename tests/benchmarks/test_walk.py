"""The walk counts the files that a run enters, and how often it changes folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.walk import Walk, learn, main, walk


def test_a_run_is_walked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "fact.plp"
    file.write_text("0.3::a. #query a.")
    main(["run", str(file)])
    *files, sums = capsys.readouterr().out.splitlines()
    assert f"{len(files)} files, " in sums
    assert "program/program.py" in {line.split()[1] for line in files}
    assert not any("ℙ" in line for line in files)


def test_learning_is_walked() -> None:
    pytest.importorskip("torch")
    assert "program/torch_side.py" in walk(learn).files


def test_changes_of_folder_are_counted() -> None:
    found = Walk(tuple((file, "f") for file in ("a/x.py", "a/y.py", "b.py", "a/x.py", "a/x.py")))
    assert str(found) == "3 files, 3 functions, 2 changes of folder, 5 calls"
