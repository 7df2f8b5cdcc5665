"""Progress: silent where nobody looks, late and gone again where somebody does."""

from __future__ import annotations

import io

import pytest

from dpasp.display import progress


class Terminal(io.StringIO):
    """A stream that says a person is watching."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_nothing_is_written_to_a_file(clock: list[float]) -> None:
    stream = io.StringIO()
    with progress.watching("counting", stream) as report:
        clock[0] = 100.0
        report(5, 10)
    assert stream.getvalue() == ""
    assert report is progress.silent


def test_quick_work_shows_no_bar(clock: list[float]) -> None:
    stream = Terminal()
    with progress.watching("counting", stream) as report:
        clock[0] = 7.0  # what was done before has no progress
        report(0, 10)
        clock[0] = 7.9
        report(5, 10)
    assert stream.getvalue() == ""


def test_long_work_shows_a_bar_that_vanishes(clock: list[float]) -> None:
    stream = Terminal()
    with progress.watching("counting", stream) as report:
        report(0, 10)
        clock[0] = 1.5
        report(5, 10)
        assert "counting" in stream.getvalue()
        assert "50%" in stream.getvalue()
        length = len(stream.getvalue())
        clock[0] = 1.55
        report(6, 10)
        assert len(stream.getvalue()) == length  # not more than ten times a second
        clock[0] = 1.7
        report(7, None)
        assert len(stream.getvalue()) > length
    assert stream.getvalue().endswith("\x1b[2K")  # the line is erased


def test_the_bar_is_removed_when_the_work_fails(clock: list[float]) -> None:
    stream = Terminal()
    with pytest.raises(KeyError), progress.watching("counting", stream) as report:
        report(0, 2)
        clock[0] = 2.0
        report(1, 2)
        raise KeyError
    assert stream.getvalue().endswith("\x1b[2K")
