"""Progress on standard error: a bar for a person who waits, nothing for anyone else.

A stage that may run long takes a ``Callable[[float, float | None], None]`` and calls
it with what is done and, if known, the total. :func:`watching` gives one:

>>> with watching("counting", stream=None) as progress:
...     progress(1, 10)
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from dpasp.display.style import in_terminal
from dpasp.limits import Report, silent

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


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
        return progress, progress.add_task(self.what, total=None)
