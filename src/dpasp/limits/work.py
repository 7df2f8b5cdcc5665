"""Work that can be abandoned at any moment: in a thread, or in a copy of this process.

clingo's grounder is native code that may run for long without returning to Python, and it cannot be
stopped from outside. A :class:`Supervisor` runs it in a thread while this one waits, watches the
clock, and can leave; the work then ends at its next call back into Python. (A join that finds
nothing never calls back: it is left behind and ends with the process.) A copy of this process
leaves nothing behind: :func:`in_child` ends it with whatever still runs in it.

What comes back from another process travels as bytes. clingo's symbols, which are numbers in its
memory, travel as their texts. Bytes that name anything but our classes, plain values and arrays
are refused.

>>> from clingo import Function, Number, String
>>> from dpasp.limits import UNLIMITED
>>> in_child(lambda: [Number(1), Function("f", [String("x")])], UNLIMITED)
[Number(1), Function('f', [String('x')], True)]
"""

from __future__ import annotations

import atexit
import io
import os
import pickle
import select
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from threading import Event, Thread
from threading import enumerate as threads
from typing import Any, TypeVar

from clingo import Symbol, parse_term

from dpasp.errors import Error, UsageError
from dpasp.language.reader import collector_paused
from dpasp.limits import Watch, memory_in_use

TICK = 0.02  # seconds between two checks of the clock
GRACE = 0.01  # seconds that stopped work has to end
SILENT = 0.05  # seconds of computing without Python after which work is not expected to return
BLOCKED = 10.0  # seconds after which work that neither computes nor returns is not waited for
THREAD_NAME = "dpasp-work"
T = TypeVar("T")
LATE = 0.1  # seconds that the child has to notice a limit by itself
OURS = "dpasp"
PLAIN_TYPES = {
    "builtins": {"complex", "set", "frozenset", "bytearray", "range", "slice"},
    "collections": {"OrderedDict", "Counter", "defaultdict"},
    "numpy": {"ndarray", "dtype"},
    "numpy.core.multiarray": {"_reconstruct", "scalar"},
    "numpy._core.multiarray": {"_reconstruct", "scalar"},
    "numpy._core.numeric": {"_frombuffer"},
    "numpy.core.numeric": {"_frombuffer"},
    "pathlib": {"Path", "PosixPath", "WindowsPath", "PurePosixPath", "PureWindowsPath"},
}


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
        """Run the work, passing on what it raises; stop it at a limit or Ctrl-C."""
        done = Event()
        failure: list[BaseException] = []
        clocks: list[int] = []

        def target() -> None:
            try:
                if hasattr(time, "pthread_getcpuclockid"):  # not on macOS and Windows
                    clocks.append(time.pthread_getcpuclockid(threading.get_ident()))
                work()
            except BaseException as error:
                failure.append(error)
            finally:
                done.set()

        thread = Thread(target=target, name=THREAD_NAME, daemon=True)
        try:
            thread.start()  # Ctrl-C may come before it returns
            while not done.wait(TICK):
                self.watch.check()
        except BaseException:
            self._left = True
            if not done.wait(GRACE):
                exit_at_once()
                atexit.register(_until_silent, done, clocks)
            raise
        thread.join()
        if failure:
            raise failure[0]
        self.watch.check()


def _until_silent(done: Event, clocks: Sequence[int]) -> None:
    """Return when stopped work has ended, or keeps computing without returning to Python.

    Called before Python ends: if work returned during that, the process would crash.
    """
    began, used = time.monotonic(), None
    while not done.wait(TICK) and time.monotonic() < began + BLOCKED:
        with suppress(IndexError, OSError):  # not begun, or ended
            now = time.clock_gettime(clocks[0])
            used = now if used is None else used
            if now > used + SILENT:
                return


def left_behind() -> bool:
    """Whether stopped work is still running in this process."""
    return any(thread.name == THREAD_NAME for thread in threads())


@cache
def exit_at_once() -> None:
    """Make this process end at once, with its exit code, when it ends.

    Called when work is left behind, or at the start by a process that may not load libraries later.
    Otherwise the C library would first free clingo's symbols while that work uses them, and the
    process would crash. This needs glibc's ``on_exit``; elsewhere nothing is done.
    """
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    library = ctypes.CDLL(None)
    if hasattr(library, "on_exit"):
        library.on_exit(ctypes.cast(library._exit, ctypes.c_void_p), None)


def end_with_parent(seconds: float) -> None:
    """End this process, whatever it is doing, at most this many seconds after its parent."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(seconds)
        os._exit(1)

    Thread(target=watch, daemon=True).start()


# --- in another process ---------------------------------------------------------------------------


def in_process(
    command: Sequence[str], request: bytes, watch: Watch, *, own: float = 0.0, quiet: bool = False
) -> bytes:
    """The output of a command for a request; it is ended at a limit.

    The memory limit holds for both processes together, minus the ``own`` megabytes that the other
    one needs just to start. With ``quiet``, its messages are not shown.
    """
    import subprocess

    given: bytes | None = request
    messages = subprocess.DEVNULL if quiet else None
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=messages
    ) as process:
        try:
            while True:
                with suppress(subprocess.TimeoutExpired):
                    return process.communicate(given, timeout=TICK)[0]
                given = None  # it continues with what it has received
                watch.check()
                if (most := watch.limits.megabytes) is not None:
                    more = max(0.0, memory_in_use(process.pid) - own)
                    if memory_in_use() + more > most:
                        raise watch.out_of_memory()
        except BaseException:
            process.kill()
            raise


# --- in a copy of this process --------------------------------------------------------------------


def can_fork() -> bool:
    """Whether this process may be forked: not while other Python threads may hold locks."""
    return hasattr(os, "fork") and threading.active_count() == 1


def in_child(work: Callable[[], T], watch: Watch) -> T:
    """Do the work in a copy of this process; return or raise what it does.

    The work checks the watch itself; a copy that fails to do so is ended. Other effects are lost.
    """
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        for kind in (DeprecationWarning, RuntimeWarning):  # Python's, and that of JAX:
            warnings.simplefilter("ignore", kind)  # native threads do not matter here
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
    if not data:  # killed, most likely because of its memory
        raise watch.out_of_memory()
    kind, value = unpacked(data)
    if kind is not None:
        raise kind(value)
    return value  # type: ignore[no-any-return]


def _received(pipe: io.RawIOBase, watch: Watch) -> bytes:
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
    """Do the work in the copy, send the result, and end."""
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles signals
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


# --- values as bytes ------------------------------------------------------------------------------


def packed(value: object) -> bytes:
    """A value as bytes; raises :class:`UsageError` if it cannot be sent."""
    texts: dict[str, int] = {}
    buffer = io.BytesIO()
    pickler = pickle.Pickler(buffer, pickle.HIGHEST_PROTOCOL)
    pickler.dispatch_table = {
        Symbol: lambda symbol: (_symbol, (texts.setdefault(str(symbol), len(texts)),))
    }
    try:
        with collector_paused():
            pickler.dump(value)
    except (TypeError, AttributeError, pickle.PicklingError) as error:
        raise UsageError(f"a value cannot be sent to another process: {error}") from error
    text = f"({','.join(texts)},)" if texts else "()"
    return pickle.dumps((text, buffer.getvalue()))


def unpacked(data: bytes) -> Any:
    """The value from bytes; reading all symbols at once is many times faster than one by one."""
    text, rest = _Unpickler(data, ()).load()
    with collector_paused():
        return _Unpickler(rest, parse_term(text).arguments).load()


def _symbol(number: int) -> Symbol:
    """Stands for the symbol with this number, which the reader takes from its own list."""
    raise LookupError(number)


class _Unpickler(pickle.Unpickler):
    def __init__(self, data: bytes, symbols: Sequence[Symbol]) -> None:
        super().__init__(io.BytesIO(data))
        self._symbols = symbols

    def find_class(self, module: str, name: str) -> Any:
        if module == __name__ and name == _symbol.__name__:
            return self._symbols.__getitem__
        ours = module == OURS or module.startswith(f"{OURS}.")
        value = super().find_class(module, name) if ours else None
        # Names that our modules merely import are not ours.
        if ours and str(getattr(value, "__module__", "")).partition(".")[0] == OURS:
            return value
        if name in PLAIN_TYPES.get(module, ()):
            return super().find_class(module, name)
        raise UsageError(f"{module}.{name} is not something that dPASP sends between processes")
