"""The command line, called in this process or as a process of its own."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from dpasp.cli import main
from dpasp.limits import Limits
from tests.clocks import PATIENCE


class Result(NamedTuple):
    """What a command gave back and wrote."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Command = Callable[..., Result]
Stepped = Callable[..., None]


@pytest.fixture
def dpasp(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """Call the command line in an empty folder; ``text`` becomes ``p.plp``, the last word."""
    monkeypatch.chdir(tmp_path)

    def call(*words: str, text: str | None = None, stdin: str = "") -> Result:
        if text is not None:
            Path("p.plp").write_text(text, encoding="utf-8")
            words = (*words, "p.plp")
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        code = main(words)
        return Result(code, *capsys.readouterr())

    return call


@pytest.fixture
def stepped(monkeypatch: pytest.MonkeyPatch) -> Stepped:
    """From then on, a time limit of a command that is called here is so many looks at the clock.

    Grounding that ends looks at it only once. Another ``clock`` may be given in its place.
    """

    def give(number: int = 1, ends: bool = True, clock: Callable[[], float] | None = None) -> None:
        if ends:
            monkeypatch.setattr("dpasp.limits.work.TICK", PATIENCE)

        def limits(
            seconds: float | None, megabytes: float | None, since: float, *rest: Any, **named: Any
        ) -> Limits:
            told = clock or count(0.0, (seconds or number) / number).__next__
            return Limits(seconds, megabytes, 0.0, *rest, **named, clock=told)

        monkeypatch.setattr("dpasp.cli.reading.Limits", limits)

    return give


@pytest.fixture
def process(tmp_path: Path) -> Command:
    """Run the command line as a process of its own."""

    def call(*words: str, text: str | None = None, stdin: str = "", **options: Any) -> Result:
        if text is not None:
            (tmp_path / "p.plp").write_text(text, encoding="utf-8")
            words = (*words, "p.plp")
        done = subprocess.run(
            [sys.executable, "-m", "dpasp", *words],
            cwd=tmp_path,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            **options,
        )
        return Result(done.returncode, done.stdout, done.stderr)

    return call
