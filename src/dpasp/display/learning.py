"""Learning as a person watches it: a bar on a terminal, or a line for each iteration."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from dpasp.display.style import in_terminal
from dpasp.learning.history import ASCENT_WORDS

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from dpasp.learning.history import Moment, Watcher


@contextmanager
def watching_learning(display: str, stream: TextIO | None) -> Iterator[Watcher]:
    """A function to call with every :class:`Moment` of learning.

    ``display`` is that of ``#learn``: progress draws a bar (terminals only),
    loglikelihood writes a line for each iteration, none says nothing.
    """
    if stream is None or display == "none":
        yield _silent
    elif display == "loglikelihood":
        yield _Lines(stream)
    elif in_terminal(stream):
        bar = _Bar(stream)
        try:
            yield bar
        finally:
            bar.close()
    else:
        yield _silent


def _silent(moment: Moment) -> None:
    """Say nothing."""


class _Lines:
    """One line for each finished iteration."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def __call__(self, moment: Moment) -> None:
        if moment.finished is not None:
            self.stream.write(f"{line(moment)}\n")
            self.stream.flush()


def line(moment: Moment) -> str:
    """An iteration in one line."""
    record = moment.finished
    number = moment.iteration if record is None else record.iteration
    what = ASCENT_WORDS["exact" if record is None else record.likelihood]
    text = f"iteration {number}/{moment.iterations}  {what} {moment.log_likelihood:.6f}"
    if record is not None and record.gap is not None:
        text += f"  gap {record.gap / max(moment.examples, 1):.6f}"
    if record is not None and record.validation is not None:
        text += f"  validation {record.validation:.6f}"
    return f"{text}  {moment.seconds:.1f} s"


class _Bar:
    """A bar over all iterations: which one, log-likelihood per example, speed, time left."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self._drawn: tuple[Progress, TaskID] | None = None

    def __call__(self, moment: Moment) -> None:
        progress, task = self._drawn = self._drawn or self._open()
        done = (moment.iteration - 1) * moment.examples + moment.done
        speed = done / moment.seconds if moment.seconds > 0 else 0.0
        progress.update(
            task,
            completed=done,
            total=moment.iterations * moment.examples,
            iteration=f"{moment.iteration}/{moment.iterations}",
            likelihood=f"{moment.log_likelihood:.4f}",
            speed=f"{speed:,.0f}",
            refresh=True,
        )

    def close(self) -> None:
        """Leave the bar as it is and go on below it."""
        if self._drawn:
            self._drawn[0].stop()
            self._drawn = None

    def _open(self) -> tuple[Progress, TaskID]:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        progress = Progress(
            TextColumn("learning  iteration {task.fields[iteration]}"),
            BarColumn(),
            TextColumn("log-likelihood {task.fields[likelihood]}"),
            TextColumn("{task.fields[speed]} examples/s"),
            TimeRemainingColumn(),
            console=Console(file=self.stream),
            auto_refresh=False,
        )
        progress.start()
        return progress, progress.add_task("", iteration="", likelihood="", speed="")
