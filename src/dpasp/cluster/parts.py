"""How a part of a job travels to a worker, and its result comes back in order.

Jobs, parts and replies travel as bytes (see :mod:`dpasp.limits.work`). A worker is sent a job
once, then parts of it, and replies to each with its result or with the
:class:`~dpasp.errors.Error` that it raised, which is raised again in the calling process.

>>> reply_value(packed((None, "a result")))
'a result'
>>> PartLimits.by(Limits(seconds=10, clock=lambda: 0.0).start(), rounds=2).left
5.0
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sized
from itertools import islice
from typing import Any, Protocol

from dpasp.dataclass import dataclass
from dpasp.errors import Error, InferenceError, MemoryLimit, UsageError
from dpasp.limits import Limits, Watch
from dpasp.limits.work import packed, unpacked
from dpasp.version import __version__

TRIES = 3  # workers that may die while doing one part
TICK = 0.05  # seconds between two looks at the clock
LATE = 1.0  # seconds that workers have to notice the end of the time by themselves
AHEAD = 2  # parts per worker that are handed out before they are needed


@dataclass(frozen=True, slots=True)
class PartLimits:
    """The limits of a job, and the seconds that were left for a part when it was sent."""

    seconds: float | None
    megabytes: float | None
    left: float | None
    sent: float  # by the wall clock

    @classmethod
    def by(cls, watch: Watch, rounds: int = 1) -> PartLimits:
        """The limits of a part if this many rounds of parts share the remaining time."""
        left = watch.remaining()
        limits = watch.limits
        left = None if left is None else left / rounds
        return cls(limits.seconds, limits.megabytes, left, time.time())

    def watch(self) -> Watch:
        """The watch of a worker; waiting time counts, as far as both clocks agree."""
        left, waited = self.left, time.time() - self.sent
        if left is not None and 0 < waited < left:
            left -= waited
        return Limits(self.seconds, self.megabytes).start().within(left)


class WorkerFailed(RuntimeError):
    """A bug of ours in a worker; the text is its traceback."""


class JobKeeper:
    """Does parts of jobs in a worker; keeps the last job that it was sent."""

    def __init__(self) -> None:
        self._key: object = None
        self._do: Callable[[Any, Watch], Any] | None = None

    def reply(self, key: object, job: bytes, part: bytes) -> bytes:
        """Do a part of the job with this key; always return a reply."""
        allowed = None
        try:
            what, allowed = unpacked(part)
            watch = allowed.watch()
            if self._do is None or self._key != key:
                self._key, self._do = None, None  # free the last job first
                self._do = _read_job(job).start(watch)
                self._key = key
            return packed((None, self._do(what, watch)))
        except Error as error:
            return packed((error, None))
        except MemoryError:
            watch = Limits(megabytes=None if allowed is None else allowed.megabytes).start()
            return packed((watch.out_of_memory(), None))
        except Exception:
            return packed((traceback.format_exc(), None))


def pack_job(job: object) -> bytes:
    return packed((__version__, packed(job)))


class Packing:
    """Packs jobs; the same job again has the same key and is not packed, or sent, again."""

    def __init__(self) -> None:
        self._job: object = None
        self._data = b""
        self._number = 0

    def of(self, job: object) -> tuple[int, bytes]:
        """The key of a job and its bytes."""
        if job is not self._job:
            self._data = pack_job(job)
            self._job, self._number = job, self._number + 1
        return self._number, self._data


def _read_job(data: bytes) -> Any:
    version, job = unpacked(data)
    if version != __version__:
        help = f"install the same version everywhere: pip install dpasp=={version}"
        raise UsageError(f"the cluster has dPASP {__version__}, and this is dPASP {version}", help)
    return unpacked(job)


def reply_value(reply: bytes) -> Any:
    """Return the result in a reply, or raise what the worker raised."""
    problem, value = unpacked(reply)
    if isinstance(problem, Error):
        raise problem
    if problem is not None:
        raise WorkerFailed(problem)
    return value


def died(watch: Watch) -> Error:
    """The error for a part whose workers die again and again."""
    message = f"a part of the work ended {TRIES} workers, most likely by the memory it took"
    help = "use fewer processes, as --cluster 1, or machines with more memory"
    help = help if watch.limits.megabytes is None else "raise --memory-limit"
    return MemoryLimit.at("worker-died", message, help=help)


def lost(message: str) -> Error:
    """The error for workers that cannot be reached."""
    help = "check the cluster (`ray status`), or use --cluster local"
    return InferenceError.at("cluster-lost", message, help=help)


class Turn(Protocol):
    """One job and the workers that do its parts."""

    @property
    def workers(self) -> int:
        """How many parts can be done at the same time."""

    def hand_out(self, number: int, part: object, rounds: int) -> None:
        """Start a part; ``rounds`` rounds of parts share the remaining time."""

    def wait(self, seconds: float) -> tuple[int, bytes | Error] | None:
        """Return a part's number and reply; None if none comes within this many seconds."""


def in_order(turn: Turn, parts: Iterable[Any], watch: Watch, *, fair: bool) -> Iterator[Any]:
    """Yield the results in order; raise what a part or the watch raises.

    >>> from dpasp.limits import UNLIMITED
    >>> class LastFirst:
    ...     workers, replies = 2, []
    ...     def hand_out(self, number, part, rounds):
    ...         self.replies.append((number, packed((None, 10 * part))))
    ...     def wait(self, seconds):
    ...         return self.replies.pop()
    >>> list(in_order(LastFirst(), range(5), UNLIMITED, fair=False))
    [0, 10, 20, 30, 40]
    """
    total = len(parts) if fair and isinstance(parts, Sized) else None
    left, replies = iter(parts), dict[int, bytes | Error]()
    handed = passed_on = 0
    patience = _Patience(watch)
    while True:
        for part in islice(left, max(0, AHEAD * turn.workers - (handed - passed_on))):
            rounds = 1 if total is None else -(-(total - handed) // turn.workers)
            turn.hand_out(handed, part, rounds)
            handed += 1
        if passed_on == handed:
            return
        while passed_on not in replies:
            if (found := turn.wait(TICK)) is not None:
                replies[found[0]] = found[1]
            else:
                patience.look()
        reply = replies.pop(passed_on)
        passed_on += 1
        if isinstance(reply, Error):
            raise reply
        yield reply_value(reply)


class _Patience:
    """Raises what a watch raises, but lets workers notice the end of the time first."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._since: float | None = None

    def look(self) -> None:
        if self._watch.remaining() != 0:
            self._watch.check()
            return
        now = time.monotonic()
        if self._since is None:
            self._since = now
            self._watch.limits.noticed()
        elif now > self._since + LATE:
            raise self._watch.out_of_time()
