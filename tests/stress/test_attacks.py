"""Half a minute of each attack, with fixed seeds; the Makefile has the long ones."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.stress import files, kills, mutants


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 300_000, 50_000))
def test_damaged_arrays_at_the_native_border(first: int) -> None:
    words = [sys.executable, "-m", "tests.stress.border", "50000", str(first)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 8_000, 1_000))
def test_damaged_files(first: int) -> None:
    seeds = range(first, first + 1_000)
    assert [found for seed in seeds if (found := files.examine(seed)) is not None] == []


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="kills are signals")
@pytest.mark.parametrize("writer", kills.WRITERS, ids=lambda writer: writer.name)
def test_what_is_killed_while_it_writes(writer: kills.Writer, tmp_path: Path) -> None:
    result = kills.attack(writer, tmp_path, 2, random.Random(7))
    assert result["kills"] == 2
    assert result["LOST"] == result["DAMAGED"] == result["LEFT ASIDE"] == 0


def test_faults_are_small_and_can_be_read() -> None:
    for fault in mutants.draw(20, 5):
        assert fault.before != fault.after
        compile(fault.text, str(fault.file), "exec")
