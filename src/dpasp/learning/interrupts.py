"""What may stop learning, and where: Ctrl-C, SIGTERM and the time limit.

The first request stops the step that runs, unless it is changing parameters already: that
is finished first. A second Ctrl-C stops at once, whatever is lost.

>>> request = StopRequest()
>>> request.made = True
>>> with request.computing():
...     print("a step of learning")
Traceback (most recent call last):
dpasp.learning.interrupts.StepStopped
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from dpasp.limits import UNLIMITED, Watch

LATER = 0.002  # seconds after the end of the time, so that the watch sees it too


class StepStopped(BaseException):
    """A step was stopped before it changed any parameter."""


class StopRequest:
    """Whether someone asked to stop."""

    def __init__(self) -> None:
        self.made = False
        self._open = False

    @contextmanager
    def computing(self) -> Iterator[None]:
        """Within it, a request ends the work at once with :class:`StepStopped`."""
        self._open = True
        try:
            if self.made:
                raise StepStopped
            yield
        finally:
            self._open = False

    def stop(self) -> None:
        """Leave the work, if that does no harm now."""
        if self._open:
            self._open = False
            raise StepStopped


@contextmanager
def interrupts(watch: Watch = UNLIMITED) -> Iterator[StopRequest]:
    """A request that Ctrl-C and SIGTERM make; the end of the time ends a step, too.

    Signals reach the main thread only: elsewhere learning stops between two steps.
    """
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return

    def ask(number: int, frame: FrameType | None) -> None:
        if request.made:
            raise KeyboardInterrupt
        request.made = True
        request.stop()

    before = [(number, signal.signal(number, ask)) for number in (signal.SIGINT, signal.SIGTERM)]
    try:
        with _alarm(request, watch):
            yield request
    finally:
        for number, handler in before:
            signal.signal(number, handler)


@contextmanager
def _alarm(request: StopRequest, watch: Watch) -> Iterator[None]:
    """Within it, a step is stopped when the time is over (not if others use the alarm)."""
    left = watch.remaining()
    if left is None or not hasattr(signal, "setitimer") or signal.getitimer(signal.ITIMER_REAL)[0]:
        yield
        return
    before = signal.signal(signal.SIGALRM, lambda number, frame: request.stop())
    signal.setitimer(signal.ITIMER_REAL, left + LATER)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
