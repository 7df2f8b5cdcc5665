"""Running clingo's grounder so that limits and Ctrl-C are answered at once.

The grounder is native code that may work for a long time without coming back to
Python. So it runs in a thread of its own while this one waits, looks at the clock,
and can leave at any moment; the work then ends at its next call back into Python.
(A join that finds nothing never calls back: it is left behind, to end with the process.)

>>> from dpasp.limits import UNLIMITED
>>> done = []
>>> Supervisor(UNLIMITED).run(lambda: done.append("work"))
>>> done
['work']
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from threading import Event, Thread
from threading import enumerate as threads

from dpasp.limits import Watch

TICK = 0.02  # seconds between two looks at the clock
GRACE = 0.01  # seconds that stopped work is given to come to its end
NAME = "dpasp-ground"  # of the threads that ground


class Abandoned(BaseException):
    """Raised inside work whose result is no longer needed."""


class Supervisor:
    """Says whether the result of some work is still needed; the work calls :meth:`check`."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self._left = False

    def check(self) -> None:
        """Raise if the result of the work is no longer needed."""
        if self._left:
            raise Abandoned

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

        thread = Thread(target=target, name=NAME, daemon=True)
        try:
            thread.start()  # Ctrl-C may come before it returns
            while not done.wait(TICK):
                self.watch.check()
        except BaseException:
            self._left = True
            if not done.wait(GRACE):
                exit_at_once()
            raise
        thread.join()
        if failure:
            raise failure[0]
        self.watch.check()


def left_behind() -> bool:
    """Whether work that was stopped goes on in this process."""
    return any(thread.name == NAME for thread in threads())


@cache
def exit_at_once() -> None:
    """When this process ends, let it end at once, with its exit code.

    To be called when work is left behind, or before: a process that may not load libraries
    later calls it at its start. Otherwise the C library would first take down clingo's symbols
    under the work that was left behind, and the process would crash. Where there is no
    ``on_exit`` to prevent that (it is glibc's), so be it.
    """
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    library = ctypes.CDLL(None)
    if hasattr(library, "on_exit"):
        library.on_exit(ctypes.cast(library._exit, ctypes.c_void_p), None)
