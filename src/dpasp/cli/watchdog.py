"""The last word on limits: it ends a process in which no stage noticed that one was passed.

Every stage looks at the clock itself and stops in its own way: engines answer with what
they have, learning saves. Where one does not come to that (a long list is sorted, a page
of mistakes is written), a thread beside it reports the limit and ends the process.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread

from dpasp.errors import LimitReached
from dpasp.limits import Limits, Watch, memory_in_use

TICK = 0.01  # seconds between two looks
LATE = 0.15  # seconds that a stage has to notice by itself that the time is over
OVER = 1.04  # times the memory limit that it may use before it notices


class Watchdog:
    """Watches limits until it is sent away; ``end`` reports a limit and ends the process."""

    def __init__(self, limits: Limits, end: Callable[[LimitReached], None]) -> None:
        self._watch: Watch = limits.start()
        self._end = end
        self._away = Event()

    def start(self) -> None:
        """Begin to watch, if there is a limit."""
        limits = self._watch.limits
        if limits.seconds is not None or limits.megabytes is not None:
            Thread(target=self._run, name="dpasp watchdog", daemon=True).start()

    def send_away(self) -> None:
        """Someone else has noticed, or the answers are being written: do no more."""
        self._away.set()

    def noticed(self) -> None:
        """A stage stops at a limit by itself (if it is not only at its share of the time)."""
        if self._passed(late=0.0, over=1.0) is not None:
            self.send_away()

    def _run(self) -> None:
        while not self._away.wait(TICK):
            passed = self._passed(LATE, OVER)
            if passed is not None and not self._away.is_set():
                self._end(passed)

    def _passed(self, late: float, over: float) -> LimitReached | None:
        watch, limits = self._watch, self._watch.limits
        if limits.seconds is not None and watch.elapsed() > limits.seconds + late:
            return watch.out_of_time()
        if limits.megabytes is not None and memory_in_use() > limits.megabytes * over:
            return watch.out_of_memory()
        return None
