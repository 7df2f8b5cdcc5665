"""Progress bars on terminals and in notebooks, and nothing elsewhere.

A stage that may take long gets a ``Callable[[float, float | None], None]`` and calls it with the
work done and, if known, the total. :func:`watching` makes one for a terminal, :func:`progress_bar`
one for a notebook; learning reports each :class:`Moment` to :func:`watching_learning` or
:func:`learning_bar`.

>>> with watching("counting", stream=None) as progress:
...     progress(1, 10)
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, TextIO

from dpasp.display.diagnostics import in_terminal
from dpasp.limits import Report, silent
from dpasp.writing import markup

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from dpasp.learning.history import Moment, Watcher

PATIENCE = 1.0  # seconds before a bar appears
REFRESH = 0.1  # seconds between two updates


class Bar:
    """Draws the progress of some work: after a second, then from time to time.

    The work begins with its first report; reading and grounding make none.
    """

    def __init__(self, canvas: _RichBar | _PageBar, what: str = "") -> None:
        self._canvas = canvas
        self._what = self._text = what
        self._due: float | None = None

    def __call__(self, done: float, total: float | None) -> None:
        self.update(self._text, done, total)

    def stage(self, text: str) -> None:
        """Name the present stage beside the name of the whole."""
        self._text = f"{self._what} ({text})"

    def update(self, text: str, done: float, total: float | None) -> None:
        now = time.monotonic()
        if self._due is None:
            self._due = now + PATIENCE
        if now >= self._due:
            self._due = now + REFRESH
            self._canvas.draw(text, done, total)

    def close(self) -> None:
        self._canvas.close()


# --- on a terminal --------------------------------------------------------------------------------


@contextmanager
def watching(what: str, stream: TextIO | None) -> Iterator[Report]:
    """Yield a function to call with (done, total), which draws a bar on a terminal."""
    if stream is None or not in_terminal(stream):
        yield silent
        return
    columns = "TaskProgressColumn", "TimeElapsedColumn", "TimeRemainingColumn"
    canvas = _RichBar(stream, "{task.description}", "BarColumn", *columns, transient=True)
    with closing(Bar(canvas, what)) as bar:
        yield bar


class _RichBar:
    """A bar drawn by rich from its first update; columns are formats, or rich's by name."""

    def __init__(self, stream: TextIO, *columns: str, transient: bool = False) -> None:
        self._stream = stream
        self._columns = columns
        self._transient = transient  # whether it disappears at the end
        self._drawn: tuple[Progress, TaskID] | None = None

    def draw(self, text: str, done: float, total: float | None, **fields: Any) -> None:
        if self._drawn is None:
            from rich import progress as rich
            from rich.console import Console

            columns = [
                getattr(rich, column)() if column.endswith("Column") else rich.TextColumn(column)
                for column in self._columns
            ]
            console, transient = Console(file=self._stream), self._transient
            shown = rich.Progress(
                *columns, console=console, auto_refresh=False, transient=transient
            )
            shown.start()
            self._drawn = shown, shown.add_task(text, **fields)
        progress, task = self._drawn
        progress.update(task, refresh=True, completed=done, total=total, description=text, **fields)

    def close(self) -> None:
        """Remove the bar, or leave it and continue below."""
        if self._drawn:
            self._drawn[0].stop()
            self._drawn = None


@contextmanager
def watching_learning(display: str, stream: TextIO | None) -> Iterator[Watcher]:
    """Yield a function to call with every :class:`Moment` of learning.

    ``display`` is that of ``#learn``: progress draws a bar (terminals only), loglikelihood writes a
    line for each iteration, none writes nothing.
    """
    if stream is not None and display == "loglikelihood":

        def write(moment: Moment) -> None:
            if moment.finished is not None:
                stream.write(f"{line(moment)}\n")
                stream.flush()

        yield write
    elif stream is not None and display == "progress" and in_terminal(stream):
        columns = (
            "learning  iteration {task.fields[iteration]}",
            "BarColumn",
            "log-likelihood {task.fields[likelihood]}",
            "{task.fields[speed]} examples/s",
            "TimeRemainingColumn",
        )
        with closing(_RichBar(stream, *columns)) as bar:
            yield lambda moment: _draw_moment(moment, bar)
    else:
        yield lambda moment: None


def _draw_moment(moment: Moment, bar: _RichBar) -> None:
    """Show the iteration, the log-likelihood per example, the speed and the time left."""
    done, total = _done(moment)
    speed = done / moment.seconds if moment.seconds > 0 else 0.0
    bar.draw(
        "",
        done,
        total,
        iteration=f"{moment.iteration}/{moment.iterations}",
        likelihood=f"{moment.log_likelihood:.4f}",
        speed=f"{speed:,.0f}",
    )


def _done(moment: Moment) -> tuple[int, int]:
    """How many examples are done, and how many there are in all iterations."""
    done = (moment.iteration - 1) * moment.examples + moment.done
    return done, moment.iterations * moment.examples


def line(moment: Moment) -> str:
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


# --- in a notebook --------------------------------------------------------------------------------


@contextmanager
def progress_bar(what: str) -> Iterator[Report]:
    """Yield a function to call with (done, total), which draws a bar below the cell."""
    with closing(Bar(_PageBar(), what)) as bar:
        yield bar


@contextmanager
def learning_bar() -> Iterator[Callable[[Moment], None]]:
    """Yield a function to call with every :class:`Moment` of learning, which draws a bar."""
    with closing(Bar(_PageBar())) as bar:
        yield lambda moment: bar.update(line(moment), *_done(moment))


class _PageBar:
    """An element of the page that is redrawn, and removed at the end."""

    _handle: Any = None

    def draw(self, text: str, done: float, total: float | None) -> None:
        if "IPython" in sys.modules:
            self._draw(bar_html(text, done, total))

    def close(self) -> None:
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
    """The bar as HTML; it moves to and fro if the total is unknown.

    >>> bar_html("counting", 1, 4)
    '<label>counting <progress value="1" max="4"></progress> 25 %</label>'
    """
    if not total:
        return f"<label>{markup(text)} <progress></progress></label>"
    share = f"{100 * done / total:.0f} %"
    bar = f'<progress value="{done:g}" max="{total:g}"></progress>'
    return f"<label>{markup(text)} {bar} {share}</label>"
