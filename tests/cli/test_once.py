"""A run reads, checks and grounds its program once, and chooses its engine once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import dpasp.cli.run
from dpasp.cli import main
from dpasp.inference.asked import Method
from dpasp.program import grounding


@pytest.mark.parametrize("verbose", [(), ("-v",)])
def test_once(
    verbose: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    calls: Counter[str] = Counter()

    def counted(owner: object, name: str) -> None:
        real = getattr(owner, name)

        def call(*arguments: object, **options: object) -> object:
            calls[name] += not isinstance(arguments[-1], Method)
            return real(*arguments, **options)

        monkeypatch.setattr(owner, name, call)

    counted(grounding, "check")
    counted(grounding, "Grounder")
    counted(grounding.Groundings, "_with")
    counted(dpasp.cli.run, "method")
    file = tmp_path / "p.plp"
    file.write_text("0.3::a. p :- a, not q. q :- a, not p. #query p.")
    assert main(["run", str(file), *verbose]) == 0
    assert "ℙ(p) = [0.000000, 0.300000]" in capsys.readouterr().out
    assert calls == {"check": 1, "Grounder": 1, "_with": 1, "method": 1}
