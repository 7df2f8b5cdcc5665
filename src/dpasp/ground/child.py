"""Work in a child process, of which nothing is left when it is stopped.

clingo's grounder cannot be stopped from outside. Under a limit it therefore works in a copy
of this process, which sends back what it found and ends, with whatever still runs in it.

>>> from clingo import Function, Number, String
>>> from dpasp.limits import UNLIMITED
>>> in_child(lambda: [Number(1), Function("f", [String("x")])], UNLIMITED)
[Number(1), Function('f', [String('x')], True)]
"""

from __future__ import annotations

import io
import os
import select
import signal
import threading
import time
import warnings
from collections.abc import Callable
from typing import TypeVar

from dpasp.errors import Error
from dpasp.ground.packing import packed, unpacked
from dpasp.limits import Watch

T = TypeVar("T")
TICK = 0.02  # seconds between two looks at the clock
LATE = 0.1  # seconds that the child has to notice by itself that a limit is passed


def can_fork() -> bool:
    """Whether this process may be copied: not where other threads of Python may hold locks."""
    return hasattr(os, "fork") and threading.active_count() == 1


def in_child(work: Callable[[], T], watch: Watch) -> T:
    """What the work gives back or raises, done in a copy of this process.

    The work looks at the watch itself; a copy that does not come to that is ended. Whatever
    else the work changes is lost.
    """
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # native threads do not matter here
        child = os.fork()
    if not child:
        _serve(work, reading, writing)
    os.close(writing)
    try:
        with os.fdopen(reading, "rb", buffering=0) as pipe:
            data = _received(pipe, watch)
    except BaseException:
        os.kill(child, signal.SIGKILL)
        raise
    finally:
        os.waitpid(child, 0)
    if not data:  # it was killed, most likely for its memory
        raise watch.out_of_memory()
    kind, value = unpacked(data)
    if kind is not None:
        raise kind(value)
    return value  # type: ignore[no-any-return]


def _received(pipe: io.RawIOBase, watch: Watch) -> bytes:
    """All that comes through the pipe."""
    parts: list[bytes] = []
    left, started = watch.remaining(), time.monotonic()
    while True:
        if select.select([pipe], [], [], TICK)[0]:
            part = pipe.read(1 << 20)
            if not part:
                return b"".join(parts)
            parts.append(part)
        elif left is not None and time.monotonic() - started > left + LATE:
            raise watch.out_of_time()


def _serve(work: Callable[[], object], reading: int, writing: int) -> None:
    """Do the work in the copy, send what came of it, and end."""
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
        os.close(reading)
        result: tuple[type[Error] | None, object]
        try:
            result = (None, work())
        except Error as error:
            result = (type(error), error.diagnostics)
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(packed(result))
        code = 0
    finally:
        os._exit(code)
