"""Answers as a picture."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from dpasp.display.plot import plot
from dpasp.errors import UsageError
from dpasp.inference.answers import Answer, Answers, MapAnswer

pytest.importorskip("matplotlib")


def answers(*found: Answer | MapAnswer, **more: object) -> Answers:
    return Answers(found, "stable", "maxent", "compile", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "given",
    [
        answers(Answer("a", value=0.25), Answer("b | c", lower=0.2, upper=0.7)),
        answers(Answer("sum(1)", value=np.array([0.5, 0.1]))),
        answers(history=[{"iteration": 1, "log_likelihood": -3.2}]),
        answers(Answer("$x_{1$", value=0.5), history=[{"iteration": 1, "log_likelihood": -3.2}]),
    ],
)
def test_a_picture_is_written(given: Answers, tmp_path: Path) -> None:
    plot(given, tmp_path / "p.png")
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")


def test_nothing_to_draw(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing to draw"):
        plot(answers(MapAnswer("a?", {"a": True}, value=0.4)), tmp_path / "p.png")


def test_an_unknown_format_and_a_missing_folder(tmp_path: Path) -> None:
    given = answers(Answer("a", value=0.25))
    with pytest.raises(UsageError, match="cannot write"):
        plot(given, tmp_path / "p.abc")
    with pytest.raises(UsageError, match="cannot write"):
        plot(given, tmp_path / "absent" / "p.png")


def test_what_to_install_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(UsageError) as caught:
        plot(answers(Answer("a", value=0.25)), tmp_path / "p.png")
    assert caught.value.diagnostics[0].code == "plot-missing"
