"""The last resort for limits: end a process in which no stage noticed one.

Normally, every stage checks the clock and stops in its own way: engines answer with what they have,
learning saves. If one does not (while a long list of mistakes is written, say), a thread reports
the limit and ends the process; and if Python lets no thread run (while a long list is sorted or a
large text is decoded), a thread of the native code does. The messages are prepared beforehand,
because at a limit there may be no time or memory to make them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import Event, Lock, Thread

from dpasp.dataclass import dataclass
from dpasp.errors import LimitReached, MemoryLimit, TimeLimit
from dpasp.limits import Limits, Watch, memory_in_use

TICK = 0.01  # seconds between two checks


@dataclass(frozen=True, slots=True)
class Ending:
    """What to write to which descriptors when a process ends at a limit, and its exit code."""

    texts: tuple[tuple[int, bytes], ...]
    code: int

    def happen(self) -> None:
        """Write it and end the process."""
        for descriptor, text in self.texts:
            os.write(descriptor, text)
        os._exit(self.code)


LastWords = Callable[[LimitReached], Ending]


@dataclass(frozen=True, slots=True)
class Patience:
    """How far beyond its limits a process may go.

    It may be late by ``late`` seconds and a ``share`` of the time limit, and use ``over`` times the
    memory limit. The native code waits as much longer again.
    """

    late: float
    over: float
    share: float = 0.0
    native_late: float = 0.07
    native_over: float = 0.02

    def passed(self, watch: Watch) -> type[LimitReached] | None:
        """The kind of limit that a watch has exceeded by more than this, if any."""
        seconds, megabytes = watch.limits.seconds, watch.limits.megabytes
        if seconds is not None and watch.elapsed() > seconds * (1 + self.share) + self.late:
            return TimeLimit
        if megabytes is not None and memory_in_use() > megabytes * self.over:
            return MemoryLimit
        return None

    def native(self, watch: Watch) -> tuple[float, float]:
        """The seconds from now and the megabytes at which the native code ends the process."""
        limits, left = watch.limits, -1.0
        if limits.seconds is not None:
            late = self.share * limits.seconds + self.late + self.native_late
            left = max(0.0, limits.seconds - watch.elapsed() + late)
        if limits.megabytes is None:
            return left, -1.0
        return left, limits.megabytes * (self.over + self.native_over)


NONE = Patience(late=0.0, over=1.0)
UNNOTICED = Patience(late=0.15, over=1.04)  # until a stage notices a limit by itself
# A stage that stopped by itself needs a moment to make answers.
ANSWERING = Patience(late=0.5, over=1.08, share=0.1)


class Watchdog:
    """Watches limits until it is sent away; then the process ends with the last ``words``.

    Where ``native``, a thread of the native code watches as well.
    """

    def __init__(self, limits: Limits, words: LastWords, *, native: bool = False) -> None:
        self._watch: Watch = limits.start()
        self._native = native
        self._patience = UNNOTICED
        self._away = Event()
        self._ending = Lock()  # held while deciding whether the process ends or goes on
        self._sent_away: Callable[[], None] = lambda: None
        self._endings = self._prepared(words)

    def start(self) -> None:
        """Begin to watch, if there is a limit."""
        limits = self._watch.limits
        if limits.seconds is None and limits.megabytes is None:
            return
        self._post_sentinel()
        Thread(target=self._run, args=[self._away], name="dpasp watchdog", daemon=True).start()

    def say(self, words: LastWords) -> None:
        """Set the last words from here on."""
        if not self._away.is_set():
            endings = self._prepared(words)  # while the previous ones are still valid
            self._endings = endings
            self._post_sentinel()

    def come_back(self, words: LastWords) -> None:
        """Watch again after having been sent away, with these last words."""
        self._away, self._patience = Event(), UNNOTICED
        self._endings = self._prepared(words)
        self.start()

    def send_away(self) -> None:
        """Stop watching: the answers are being written, or something else handles limits."""
        with self._ending:
            self._away.set()
            self._sent_away()

    def noticed(self) -> None:
        """Give a stage that stopped at a limit by itself time to answer.

        If it stopped only at its share of the time, nothing changes.
        """
        if self._patience is ANSWERING or NONE.passed(self._watch) is None:
            return
        self._patience = ANSWERING
        self._post_sentinel()

    def _prepared(self, words: LastWords) -> dict[type[LimitReached], Ending]:
        """The ending for each limit that is set."""
        watch, endings = self._watch, dict[type[LimitReached], Ending]()
        if watch.limits.seconds is not None:
            endings[TimeLimit] = words(watch.out_of_time())
        if watch.limits.megabytes is not None:
            endings[MemoryLimit] = words(watch.out_of_memory())
        return endings

    def _run(self, away: Event) -> None:
        while not away.wait(TICK):
            passed = self._patience.passed(self._watch)
            if passed is None:
                continue
            with self._ending:
                if not away.is_set():
                    self._sent_away()
                    self._endings[passed].happen()

    def _post_sentinel(self) -> None:
        """Have the native code watch with the current patience and last words."""
        if not self._native:
            return
        from dpasp.native import _native

        with self._ending:
            if self._away.is_set():
                return
            limits = _native.Limits(*self._patience.native(self._watch))
            known = next(iter(self._endings.values()))
            late, large = (self._endings.get(kind, known) for kind in (TimeLimit, MemoryLimit))
            sentinel = _native.Sentinel(limits, (late.texts, late.code), (large.texts, large.code))
            before, self._sent_away = self._sent_away, sentinel.send_away
            before()
