"""The last word on limits: it ends a process in which no stage noticed that one was passed.

Every stage looks at the clock itself and stops in its own way: engines answer with what
they have, learning saves. Where one does not come to that (a page of mistakes is written),
a thread beside it reports the limit and ends the process; and where Python lets no thread
run (a long list is sorted, a large text is decoded), one of the native code does.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import Event, Thread

from dpasp.dataclass import dataclass
from dpasp.errors import LimitReached
from dpasp.limits import Limits, Watch, memory_in_use

TICK = 0.01  # seconds between two looks
LATE = 0.15  # seconds that a stage has to notice by itself that the time is over
OVER = 1.04  # times the memory limit that it may use before it notices
LATEST = 0.22  # seconds after which nobody is waited for
MOST = 1.06  # times the memory limit at which nobody is waited for


@dataclass(frozen=True, slots=True)
class Ending:
    """What is written to which descriptors when a process ends at a limit, and its exit code."""

    texts: tuple[tuple[int, bytes], ...]
    code: int

    def happen(self) -> None:
        """Write it and end the process, before it takes any more."""
        for descriptor, text in self.texts:
            os.write(descriptor, text)
        os._exit(self.code)


LastWords = Callable[[LimitReached], Ending]


def unheard(words: LastWords) -> None:
    """Do nothing: the default where no process is ended."""


class Watchdog:
    """Watches limits until it is sent away; then the process ends with the last ``words``.

    Where ``native``, a thread of the native code watches as well.
    """

    def __init__(self, limits: Limits, words: LastWords, *, native: bool = False) -> None:
        self._watch: Watch = limits.start()
        self._words = words
        self._native = native
        self._away = Event()
        self._sent_away: Callable[[], None] = lambda: None

    def start(self) -> None:
        """Begin to watch, if there is a limit."""
        limits = self._watch.limits
        if limits.seconds is None and limits.megabytes is None:
            return
        if self._native:
            self._sent_away = _sentinel(self._watch, self._words)
        Thread(target=self._run, name="dpasp watchdog", daemon=True).start()

    def say(self, words: LastWords) -> None:
        """From here on, these are the last words."""
        self._words = words
        if self._native and not self._away.is_set():
            before, self._sent_away = self._sent_away, _sentinel(self._watch, words)
            before()

    def send_away(self) -> None:
        """Someone else has noticed, or the answers are being written: do no more."""
        self._away.set()
        self._sent_away()

    def noticed(self) -> None:
        """A stage stops at a limit by itself (if it is not only at its share of the time)."""
        if self._passed(late=0.0, over=1.0) is not None:
            self.send_away()

    def _run(self) -> None:
        while not self._away.wait(TICK):
            passed = self._passed(LATE, OVER)
            if passed is not None and not self._away.is_set():
                self._sent_away()
                self._words(passed).happen()

    def _passed(self, late: float, over: float) -> LimitReached | None:
        watch, limits = self._watch, self._watch.limits
        if limits.seconds is not None and watch.elapsed() > limits.seconds + late:
            return watch.out_of_time()
        if limits.megabytes is not None and memory_in_use() > limits.megabytes * over:
            return watch.out_of_memory()
        return None


def _sentinel(watch: Watch, words: LastWords) -> Callable[[], None]:
    """Begin to watch in the native code; what is given back ends that."""
    from dpasp.native import _native

    seconds, megabytes = watch.remaining(), watch.limits.megabytes
    limits = _native.Limits(
        -1 if seconds is None else seconds + LATEST, -1 if megabytes is None else megabytes * MOST
    )
    endings = [words(error) for error in (watch.out_of_time(), watch.out_of_memory())]
    return _native.Sentinel(limits, *((ending.texts, ending.code) for ending in endings)).send_away
