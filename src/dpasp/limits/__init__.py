"""Limits of time and memory, and reports of progress.

A user writes :class:`Limits`; each computation starts a :class:`Watch` from it. Every stage takes
the watch and calls :meth:`Watch.check` often, which costs well under a microsecond between clock
ticks; a stage that knows its progress also reports it to the watch.

Work that does not return to Python runs in a thread or in a copy of this process, where it can be
abandoned (``work``). The command line ends its process if no stage notices a limit (``watchdog``).
The native code checks the same limits and says why it stopped (:mod:`dpasp.circuits.circuit`), and
clingo's grounder is tried in a separate process if this one may not be copied
(:mod:`dpasp.ground.dry_run`).

>>> watch = Limits(seconds=60).start()
>>> watch.check()                      # raises TimeLimit or MemoryLimit when exceeded
>>> UNLIMITED.remaining() is None
True
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import field, replace
from math import inf
from typing import Any

from dpasp.dataclass import dataclass
from dpasp.errors import MemoryLimit, TimeLimit, UsageError

MOST_THREADS = 1024  # the largest limit
MEMORY_INTERVAL = 0.02  # seconds between two checks of the memory in use
_PAGE_MB = os.sysconf("SC_PAGE_SIZE") / 2**20 if hasattr(os, "sysconf") else 0.0

# called with what is done, and the total if it is known
Report = Callable[[float, float | None], None]


def silent(*told: object) -> None:
    """Ignore a report: the default."""


def _function(value: object, what: str) -> Callable[..., Any]:
    if callable(value):
        return value
    raise UsageError(f"{what} is a function, not {value!r:.40}", help="leave it out for none")


@dataclass(frozen=True, slots=True)
class Limits:
    """The most seconds and megabytes that a computation may take; None is no limit.

    The compiler uses up to ``threads`` threads, for independent parts and for several attempts. The
    circuit is the same whatever their number, but more of them may need more memory.

    The time starts with each computation, or for all of them at ``since``. It is measured in
    seconds by ``time.monotonic``, or by another ``clock``, which the native code then reads too.
    ``noticed`` is called by a stage that stops at a limit, and ``asked`` with the questions as soon
    as the program is ground. If the process itself ends at a limit (``ends_process``), stopped work
    may be left running in it.
    """

    seconds: float | None = None
    megabytes: float | None = None
    since: float | None = None
    noticed: Callable[[], None] = field(default=silent, repr=False, compare=False)
    threads: int | None = None
    ends_process: bool = False
    clock: Callable[[], float] | None = field(default=None, repr=False, compare=False)
    asked: Callable[[Sequence[str]], None] = field(default=silent, repr=False, compare=False)

    def __post_init__(self) -> None:
        named: tuple[tuple[str, object], ...] = (("time", self.seconds), ("memory", self.megabytes))
        for name, value in named:
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if value is not None and not (number and 0 < value < inf):  # type: ignore[operator]
                message = f"the {name} limit must be a positive number, not {value!r}"
                raise UsageError(message, help="leave it out for no limit")
        if self.megabytes is not None:
            memory_in_use()  # refused if memory cannot be measured
        threads = 1 if self.threads is None else self.threads
        if type(threads) is not int or not 1 <= threads <= MOST_THREADS:
            message = f"threads must be a whole number from 1 to {MOST_THREADS}, not "
            raise UsageError(f"{message}{threads!r}", help="more threads than cores are no faster")
        since: object = self.since
        if since is not None and not isinstance(since, int | float):
            message = f"since is the time at which the clock starts, not {since!r:.40}"
            raise UsageError(message, help="write since=time.monotonic()")
        clock = silent if self.clock is None else self.clock
        for name, called in (("noticed", self.noticed), ("asked", self.asked), ("clock", clock)):
            _function(called, name)

    def start(self, report: Report = silent) -> Watch:
        """Start the clock; ``report`` is called with the progress."""
        return Watch(self, report)


class Watch:
    """A running clock with its limits; ``report`` takes what is done and the total, if known."""

    def __init__(self, limits: Limits, report: Report = silent) -> None:
        self.limits = limits
        self.report = report
        self.started = self._now() if limits.since is None else limits.since
        self._deadline = None if limits.seconds is None else self.started + limits.seconds
        self._next_memory = 0.0
        self._asked_for = limits.megabytes  # the watch that this one is a share of

    @property
    def limited(self) -> bool:
        return self._deadline is not None or self.limits.megabytes is not None

    def _now(self) -> float:
        clock = self.limits.clock
        return time.monotonic() if clock is None else clock()

    def elapsed(self) -> float:
        """Seconds since the start."""
        return self._now() - self.started

    def remaining(self) -> float | None:
        """Seconds left, at least 0; None when there is no limit."""
        return None if self._deadline is None else max(0.0, self._deadline - self._now())

    def stage(self, text: str) -> None:
        """Announce a stage of the work, if the report has a method ``stage``."""
        getattr(self.report, "stage", silent)(text)

    def silenced(self) -> Watch:
        """The same clock for a part of the work, which reports nothing."""
        return self._part(self.limits, silent, self._deadline)

    def _part(self, limits: Limits, report: Report, deadline: float | None) -> Watch:
        part = Watch(limits, report)
        part.started, part._deadline = self.started, deadline
        part._asked_for = self._asked_for
        return part

    def share(self, parts: int, report: Report = silent) -> Watch:
        """A watch that stops after one of ``parts`` equal parts of the time that is left."""
        left = self.remaining()
        return self.within(left / parts if left is not None else None, report)

    def within(self, seconds: float | None, report: Report = silent) -> Watch:
        """A watch that stops after some seconds, even without a time limit."""
        left = self.remaining()
        if seconds is not None:
            left = seconds if left is None else min(left, seconds)
        return self._part(self.limits, report, None if left is None else self._now() + left)

    def with_memory(self, share: float) -> Watch:
        """The same clock with a share of the memory that is still free below the limit."""
        if self.limits.megabytes is None:
            return self
        used = min(memory_in_use(), self.limits.megabytes)
        megabytes = used + share * (self.limits.megabytes - used)
        return self._part(replace(self.limits, megabytes=megabytes), self.report, self._deadline)

    def check(self) -> None:
        """Raise :class:`TimeLimit` or :class:`MemoryLimit` if a limit is exceeded."""
        if not self.limited:
            return
        now = self._now()
        if self._deadline is not None and now > self._deadline:
            raise self.out_of_time()
        if self.limits.megabytes is not None and now >= self._next_memory:
            self._next_memory = now + MEMORY_INTERVAL
            if memory_in_use() > self.limits.megabytes:
                raise self.out_of_memory()

    def out_of_time(self) -> TimeLimit:
        self.limits.noticed()
        message = f"stopped at the time limit of {self.limits.seconds or 0:g} s"
        help = "raise --time-limit, or ask for --engine bounds or sample, which answer with "
        return TimeLimit.at("time-limit", message, help=f"{help}what they have by then")

    def out_of_memory(self) -> MemoryLimit:
        """The error for the memory limit, or if there is no memory left."""
        self.limits.noticed()
        limit, message = self._asked_for, "out of memory"
        help = "make the program smaller, or ask for --engine bounds or sample"
        if limit is not None:
            message = f"stopped at the memory limit of {limit:g} MB"
            help = f"raise --memory-limit, {help}"
        return MemoryLimit.at("memory-limit", message, help=help)


UNLIMITED = Watch(Limits())


@contextmanager
def before_any_answer() -> Iterator[None]:
    """Give limits that are reached inside the message that the program was not yet ground."""
    try:
        yield
    except (TimeLimit, MemoryLimit) as limit:
        option = "--time-limit" if isinstance(limit, TimeLimit) else "--memory-limit"
        help = (
            f"the program was not ground in time: raise {option}, make the program smaller, or "
            "bound rules such as p(X+1) :- p(X), as in p(X+1) :- p(X), X < 9"
        )
        raise type(limit)(replace(d, help=help) for d in limit.diagnostics) from limit


def started(limits: object, report: object = silent) -> Watch:
    """Start the clock of a caller's limits; anything else is refused."""
    if not isinstance(limits, Limits):
        help = "write limits=dpasp.Limits(seconds=10, megabytes=2000), or one of both"
        raise UsageError(f"limits are dpasp.Limits, not {limits!r}", help)
    return limits.start(silent if report is None else _function(report, "progress"))


def memory_in_use(process: int | None = None) -> float:
    """Megabytes of memory that this process, or another one, holds now; 0 if it has ended.

    It is the memory held now, not its maximum so far. Linux reports it in a file; on macOS and
    Windows, psutil does (it is installed with dPASP there). Raises :class:`UsageError` elsewhere.
    """
    try:
        with open(f"/proc/{process or 'self'}/statm", "rb") as statm:
            return int(statm.read().split()[1]) * _PAGE_MB
    except OSError:
        if sys.platform in ("darwin", "win32"):
            import psutil

            with suppress(psutil.NoSuchProcess):
                return float(psutil.Process(process).memory_info().rss) / 2**20
            return 0.0
        if process is not None:
            return 0.0
        message = "this system does not report how much memory is in use, so it cannot be limited"
        help = "leave the memory limit out; on Linux, mount /proc"
        raise UsageError(message, help) from None
