"""What a worker does: it takes a job once, and then its parts, and replies to each.

Jobs, parts and replies travel as bytes (see :mod:`dpasp.ground.packing`). A reply is what came of
a part, or the :class:`~dpasp.errors.Error` that it raised, which is raised again by whoever asked.

>>> reply_value(packed((None, "what came of a part")))
'what came of a part'
>>> PartLimits.by(Limits(seconds=10, clock=lambda: 0.0).start(), rounds=2).left
5.0
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from typing import Any

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, Error, InferenceError, MemoryLimit, UsageError
from dpasp.ground.packing import packed, unpacked
from dpasp.limits import Limits, Watch
from dpasp.version import __version__

TRIES = 3  # times that a part is done again when its worker died


@dataclass(frozen=True, slots=True)
class PartLimits:
    """The limits of a job, and the seconds that are left for a part of it, when it was sent."""

    seconds: float | None
    megabytes: float | None
    left: float | None
    sent: float  # by the clock on the wall

    @classmethod
    def by(cls, watch: Watch, rounds: int = 1) -> PartLimits:
        """What a watch allows a part; the time left is for so many rounds of parts."""
        left = watch.remaining()
        limits = watch.limits
        left = None if left is None else left / rounds
        return cls(limits.seconds, limits.megabytes, left, time.time())

    def watch(self) -> Watch:
        """The watch of a worker; what the part has waited for counts, if both clocks agree."""
        left, waited = self.left, time.time() - self.sent
        if left is not None and 0 < waited < left:
            left -= waited
        return Limits(self.seconds, self.megabytes).start().within(left)


class WorkerFailed(RuntimeError):
    """A mistake of ours in a worker; the text is its traceback."""


class JobKeeper:
    """Holds the last job that it was given."""

    def __init__(self) -> None:
        self._key: object = None
        self._do: Callable[[Any, Watch], Any] | None = None

    def reply(self, key: object, job: bytes, part: bytes) -> bytes:
        """Do a part of the job with this key; the reply, whatever happens."""
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
    """A job as bytes."""
    return packed((__version__, packed(job)))


class Packing:
    """The last job as bytes, with a key: one that comes again is not packed, or sent, again."""

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
        raise UsageError(
            f"the cluster has dPASP {__version__}, and this is dPASP {version}",
            help=f"install the same version everywhere: pip install dpasp=={version}",
        )
    return unpacked(job)


def reply_value(reply: bytes) -> Any:
    """What a reply holds; raises what the worker raised."""
    problem, value = unpacked(reply)
    if isinstance(problem, Error):
        raise problem
    if problem is not None:
        raise WorkerFailed(problem)
    return value


def died(watch: Watch) -> Error:
    """What to raise when the workers of a part die again and again."""
    limit = watch.limits.megabytes
    message = f"a part of the work ended {TRIES} workers, most likely by the memory it took"
    if limit is not None:
        return MemoryLimit(Diagnostic("worker-died", message, help="raise --memory-limit"))
    help = "use fewer processes, as --cluster 1, or machines with more memory"
    return MemoryLimit(Diagnostic("worker-died", message, help=help))


def lost(message: str) -> Error:
    """What to raise when the workers cannot be reached."""
    help = "look after the cluster (`ray status`), or use --cluster local"
    return InferenceError(Diagnostic("cluster-lost", message, help=help))
