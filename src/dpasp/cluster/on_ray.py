"""A pool of the machines of a Ray cluster.

Ray starts and watches the processes. It carries only our own packed bytes, and never unpickles
anything of a program. If a process or machine dies, Ray repeats its part elsewhere.
"""

from __future__ import annotations

import logging
import math
import socket
import time
from collections.abc import Generator, Iterable
from typing import Any, TypeVar
from uuid import uuid4

from dpasp.cluster.parts import TRIES, JobKeeper, Packing, PartLimits, died, in_order, lost
from dpasp.cluster.pools import Job
from dpasp.errors import Error, UsageError
from dpasp.limits import Watch
from dpasp.limits.work import packed

P = TypeVar("P")
R = TypeVar("R")
PATIENCE = 10.0  # seconds in which the head of a cluster must answer
LISTENING = 5.0  # seconds in which an interrupted part ends; it checks every few milliseconds
COUNT = 1.0  # seconds between two checks of the size of the cluster


class OnRay:
    """The machines of a Ray cluster; :func:`~dpasp.cluster.pools.open_pool` makes one."""

    cuts = True

    def __init__(self, address: str) -> None:
        import ray

        self._ours = not ray.is_initialized()
        if self._ours:
            try:
                _knock(address)
                ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
            except (OSError, RuntimeError, ValueError) as error:
                message = f"no Ray cluster answers at {address}: {_first_line(error)}"
                help = "start one with `ray start --head`, and see `ray status`; --cluster local "
                raise UsageError(message, f"{help}needs none") from error
        self._packing = Packing()
        self._name = uuid4().hex
        self._sent: tuple[str, Any] = ("", None)

    def map(
        self, job: Job[P, R], parts: Iterable[P], watch: Watch, *, fair: bool = False
    ) -> Generator[R, None, None]:
        import ray

        number, data = self._packing.of(job)
        key = f"{self._name} {number}"
        if self._sent[0] != key:
            self._sent = key, ray.put(data)
        turn = _Turn(*self._sent, watch)
        try:
            yield from in_order(turn, parts, watch, fair=fair)
        except KeyboardInterrupt:
            if self._ours:
                turn.forget()  # leaving the cluster ends its parts
            raise
        finally:
            turn.end()

    def close(self) -> None:
        """Leave the cluster, unless the caller had joined it before."""
        import ray

        if self._ours:
            ray.shutdown()


class _Turn:
    """One job and its running parts."""

    def __init__(self, key: str, job: Any, watch: Watch) -> None:
        import ray

        self._key, self._job, self._watch = key, job, watch
        self._task = ray.remote(num_cpus=1, max_retries=TRIES)(_do)
        self._open: dict[Any, int] = {}
        self._workers, self._counted = 1, -math.inf

    @property
    def workers(self) -> int:
        """How many parts the cluster can do at the same time; machines come and go."""
        import ray

        now = time.monotonic()
        if now > self._counted + COUNT:
            self._counted = now
            self._workers = max(1, int(ray.cluster_resources().get("CPU", 1)))
        return self._workers

    def hand_out(self, number: int, part: object, rounds: int) -> None:
        data = packed((part, PartLimits.by(self._watch, rounds)))
        self._open[self._task.remote(self._key, self._job, data)] = number

    def wait(self, seconds: float) -> tuple[int, bytes | Error] | None:
        import ray

        ready, _ = ray.wait(list(self._open), num_returns=1, timeout=seconds)
        if not ready:
            return None
        return self._open.pop(ready[0]), self._reply(ready[0])

    def _reply(self, reference: Any) -> bytes | Error:
        import ray
        from ray import exceptions

        try:
            reply: bytes = ray.get(reference)
        except (exceptions.WorkerCrashedError, exceptions.OutOfMemoryError):
            return died(self._watch)
        except exceptions.RayError as error:
            return lost(f"the Ray cluster lost a part of the work: {_first_line(error)}")
        return reply

    def forget(self) -> None:
        """Leave the running parts to the cluster."""
        self._open.clear()

    def end(self) -> None:
        """Cancel the parts that are still running.

        They are interrupted first, because Ray itself can crash if it kills a process whose part
        was just done. Only those that do not react are killed.
        """
        import ray

        parts = list(self._open)
        self.forget()
        for part in parts:
            ray.cancel(part)
        if parts:
            _, deaf = ray.wait(parts, num_returns=len(parts), timeout=LISTENING)
            for part in deaf:
                ray.cancel(part, force=True)


def _knock(address: str) -> None:
    """Raise :class:`OSError` if nothing listens at an address: Ray would wait for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host:
        socket.create_connection((host.strip("[]"), int(port)), timeout=PATIENCE).close()


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


# --- in the processes of the cluster ------------------------------------------------------------

_worker = JobKeeper()


def _do(key: str, job: bytes, part: bytes) -> bytes:
    """Do a part, in a process that Ray has started."""
    return _worker.reply(key, job, part)
