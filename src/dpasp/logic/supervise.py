"""Running clingo's grounder so that limits and Ctrl-C are answered at once.

The grounder is native code that may work for a long time without coming back to
Python. So it runs in a thread of its own while this one waits, looks at the clock,
and can leave at any moment; the work then ends at its next call back into Python.
(A join that finds nothing never calls back: it is left to end with the process.)
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

from dpasp.limits import Watch

TICK = 0.02  # seconds between two looks at the clock
GRACE = 0.2  # seconds that stopped work is given to come to its end


class Stopped(BaseException):
    """Raised inside work that nobody waits for any more."""


class Supervisor:
    """Who waits for some work; the work calls :meth:`check` whenever it can."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._left = False

    def check(self) -> None:
        """Leave the work if nobody waits for it any more."""
        if self._left:
            raise Stopped

    def run(self, work: Callable[[], None]) -> None:
        """Run the work to its end and pass on what it raises; stop it at a limit or Ctrl-C."""
        done = Event()
        failure: list[BaseException] = []

        def target() -> None:
            try:
                work()
            except BaseException as error:
                failure.append(error)
            finally:
                done.set()

        thread = Thread(target=target, name="dpasp-ground", daemon=True)
        thread.start()
        try:
            while not done.wait(TICK):
                self._watch.check()
        except BaseException:
            self._left = True
            thread.join(GRACE)
            raise
        thread.join()
        if failure:
            raise failure[0]
        self._watch.check()


@contextmanager
def collector_paused() -> Iterator[None]:
    """Keep the garbage collector off while many objects are made, none of which is waste."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
