"""Who watches learning: lines, a bar, TensorBoard."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

import dpasp
from dpasp.display.progress import watching_learning
from dpasp.learning.history import Moment, Record
from dpasp.learning.tuning import Tuning

SEEN = [["a"]] * 3 + [["not a"]]


def moments() -> list[Moment]:
    found: list[Moment] = []
    dpasp.loads("?::a. #semantics maxent.").learn(SEEN, niters=2, watcher=found.append)
    return found


def test_every_iteration_is_told() -> None:
    records = [moment.finished for moment in moments()]
    assert [record.iteration for record in records if record] == [1, 2]
    last = moments()[-1]
    assert (last.iteration, last.iterations, last.done, last.examples) == (2, 2, 4, 4)
    assert last.finished is not None
    assert last.log_likelihood == pytest.approx(last.finished.log_likelihood / 4)


def test_steps_are_told_ten_times_a_second_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first is told at once; with an hour between two reports, no other one."""
    monkeypatch.setattr("dpasp.learning.train.TUNING", Tuning(report=3600.0))
    steps = [moment for moment in moments() if moment.finished is None]
    assert [(moment.iteration, moment.done) for moment in steps] == [(1, 4)]
    monkeypatch.setattr("dpasp.learning.train.TUNING", Tuning(report=0.0))
    steps = [moment for moment in moments() if moment.finished is None]
    assert [(moment.iteration, moment.done) for moment in steps] == [(1, 4), (2, 4)]


def test_lines() -> None:
    stream = io.StringIO()
    with watching_learning("loglikelihood", stream) as watcher:
        watcher(Moment(1, 5, 4, 4, -0.5, 1.25))
        watcher(Moment(1, 5, 4, 4, -0.5, 1.25, Record(1, -2.0, -1.0)))
    expected = "iteration 1/5  log-likelihood -0.500000  validation -1.000000  1.2 s\n"
    assert stream.getvalue() == expected


@pytest.mark.parametrize("display", ["none", "progress"])
def test_nothing_is_written_where_nobody_looks(display: str) -> None:
    stream = io.StringIO()
    with watching_learning(display, stream) as watcher:
        watcher(Moment(1, 5, 4, 4, -0.5, 1.25, Record(1, -2.0)))
    assert stream.getvalue() == ""


def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpasp.display.progress.in_terminal", lambda stream: True)
    stream = io.StringIO()
    with watching_learning("progress", stream) as watcher:
        watcher(Moment(2, 5, 50, 100, -0.5, 1.0))
    drawn = stream.getvalue()
    assert "iteration 2/5" in drawn
    assert "log-likelihood -0.5000" in drawn
    assert "150 examples/s" in drawn


def test_tensorboard(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from dpasp.integrations.trackers import TensorBoard

    board = TensorBoard(tmp_path / "runs")
    dpasp.loads("?::a. #semantics maxent.").learn(
        SEEN * 2, niters=2, validation=0.25, watcher=board
    )
    board.close()
    (file,) = (tmp_path / "runs").iterdir()
    assert b"log-likelihood/validation" in file.read_bytes()
