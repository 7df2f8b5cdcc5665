"""Progress for a person who waits: a bar on a terminal or in a notebook, and nothing elsewhere.

A stage that may run long takes a ``Callable[[float, float | None], None]`` and calls it with what
is done and, if known, the total. :func:`watching` gives one for a terminal, :func:`progress_bar`
one for a notebook; learning reports a :class:`Moment` at a time, to :func:`watching_learning` or
:func:`learning_bar`.

>>> with watching("counting", stream=None) as progress:
...     progress(1, 10)
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, TextIO

from dpasp.dataclass import dataclass
from dpasp.display.terminal import in_terminal
from dpasp.limits import Report, silent
from dpasp.writing import markup

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from dpasp.learning.history import Moment, Watcher

PATIENCE = 1.0  # seconds before a bar appears
REFRESH = 0.1  # seconds between two updates


@contextmanager
def watching(what: str, stream: TextIO | None) -> Iterator[Report]:
    """A function to call with (done, total); it draws a bar after a second, on terminals only."""
    if stream is None or not in_terminal(stream):
        yield silent
        return
    bar = Bar(what, stream)
    try:
        yield bar
    finally:
        bar.close()


class Bar:
    """A bar that appears when the work has taken :data:`PATIENCE` and vanishes at its end.

    The work begins with its first report: reading and grounding have none.
    """

    def __init__(self, what: str, stream: TextIO) -> None:
        self.what = what
        self.stream = stream
        self.due: float | None = None
        self._text = what
        self._drawn: tuple[Progress, TaskID] | None = None

    def __call__(self, done: float, total: float | None) -> None:
        """Show that so much is done."""
        now = time.monotonic()
        if self.due is None:
            self.due = now + PATIENCE
        if now < self.due:
            return
        self.due = now + REFRESH
        progress, task = self._drawn = self._drawn or self._open()
        progress.update(task, completed=done, total=total, refresh=True)

    def stage(self, text: str) -> None:
        """Say what is done now beside what is done all in all."""
        self._text = f"{self.what} ({text})"
        if self._drawn:
            progress, task = self._drawn
            progress.update(task, description=self._text)

    def close(self) -> None:
        """Remove the bar."""
        if self._drawn:
            self._drawn[0].stop()
            self._drawn = None

    def _open(self) -> tuple[Progress, TaskID]:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            Progress,
            TaskProgressColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=Console(file=self.stream),
            auto_refresh=False,
            transient=True,
        )
        progress.start()
        return progress, progress.add_task(self._text, total=None)


# --- learning on a terminal -----------------------------------------------------------------------


@contextmanager
def watching_learning(display: str, stream: TextIO | None) -> Iterator[Watcher]:
    """A function to call with every :class:`Moment` of learning.

    ``display`` is that of ``#learn``: progress draws a bar (terminals only),
    loglikelihood writes a line for each iteration, none says nothing.
    """
    if stream is None or display == "none":
        yield silent
    elif display == "loglikelihood":
        yield _Lines(stream)
    elif in_terminal(stream):
        bar = _LearningBar(stream)
        try:
            yield bar
        finally:
            bar.close()
    else:
        yield silent


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
    from dpasp.learning.history import ASCENT_WORDS

    record = moment.finished
    number = moment.iteration if record is None else record.iteration
    what = ASCENT_WORDS["exact" if record is None else record.likelihood]
    text = f"iteration {number}/{moment.iterations}  {what} {moment.log_likelihood:.6f}"
    if record is not None and record.gap is not None:
        text += f"  gap {record.gap / max(moment.examples, 1):.6f}"
    if record is not None and record.validation is not None:
        text += f"  validation {record.validation:.6f}"
    return f"{text}  {moment.seconds:.1f} s"


class _LearningBar:
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


# --- in a notebook --------------------------------------------------------------------------------


@contextmanager
def progress_bar(what: str) -> Iterator[Report]:
    """A function to call with (done, total), which draws a bar below the cell."""
    with _shown() as bar:
        yield _Reported(bar, what)


@dataclass(slots=True)
class _Reported:
    """A bar with what is done all in all, and what now."""

    bar: _PageBar
    what: str
    text: str = ""

    def __call__(self, done: float, total: float | None) -> None:
        self.bar.update(self.what + self.text, done, total)

    def stage(self, text: str) -> None:
        """Say what is done now."""
        self.text = f" ({text})"


@contextmanager
def learning_bar() -> Iterator[Callable[[Moment], None]]:
    """A function to call with every :class:`Moment` of learning, which draws a bar."""
    with _shown() as bar:

        def watch(moment: Moment) -> None:
            done = (moment.iteration - 1) * moment.examples + moment.done
            bar.update(line(moment), done, moment.iterations * moment.examples)

        yield watch


@contextmanager
def _shown() -> Iterator[_PageBar]:
    bar = _PageBar()
    try:
        yield bar
    finally:
        bar.close()


class _PageBar:
    """An element of the page that is drawn again and again, and taken away at the end."""

    def __init__(self) -> None:
        self.due: float | None = None
        self._handle: Any = None

    def update(self, text: str, done: float, total: float | None) -> None:
        """Show that so much is done, if it is time to."""
        if "IPython" not in sys.modules:
            return
        now = time.monotonic()
        if self.due is None:
            self.due = now + PATIENCE
        if now < self.due:
            return
        self.due = now + REFRESH
        self._draw(bar_html(text, done, total))

    def close(self) -> None:
        """Take the bar away."""
        if self._handle is not None:
            self._draw("")
            self._handle = None

    def _draw(self, html: str) -> None:
        page: Any = import_module("IPython.display")  # it has no types
        if self._handle is None:
            self._handle = page.display(page.HTML(html), display_id=True)
        else:
            self._handle.update(page.HTML(html))


def bar_html(text: str, done: float, total: float | None) -> str:
    """The bar as the page draws it; it moves to and fro where the total is not known.

    >>> bar_html("counting", 1, 4)
    '<label>counting <progress value="1" max="4"></progress> 25 %</label>'
    """
    if not total:
        return f"<label>{markup(text)} <progress></progress></label>"
    share = f"{100 * done / total:.0f} %"
    bar = f'<progress value="{done:g}" max="{total:g}"></progress>'
    return f"<label>{markup(text)} {bar} {share}</label>"
