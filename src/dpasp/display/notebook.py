"""Progress in a notebook: a bar below the cell that waits, drawn by the notebook itself.

A bar appears when the work has taken a second and vanishes at its end::

    with progress_bar("answering") as progress:
        answers = program.query(progress=progress)
    with learning_bar() as watcher:
        history = program.learn(rows, watcher=watcher)

Outside notebooks it says nothing. ``%%dpasp`` uses it by itself.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dpasp.dataclass import dataclass
from dpasp.display.learning import line
from dpasp.display.progress import PATIENCE, REFRESH
from dpasp.limits import Report
from dpasp.shown import markup

if TYPE_CHECKING:
    from dpasp.learning.history import Moment


@contextmanager
def progress_bar(what: str) -> Iterator[Report]:
    """A function to call with (done, total), which draws a bar below the cell."""
    with _shown() as bar:
        yield _Reported(bar, what)


@dataclass(slots=True)
class _Reported:
    """A bar with what is done all in all, and what now."""

    bar: _Bar
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
def _shown() -> Iterator[_Bar]:
    bar = _Bar()
    try:
        yield bar
    finally:
        bar.close()


class _Bar:
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
