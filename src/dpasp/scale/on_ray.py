"""A pool of the machines of a Ray cluster.

Ray starts and watches the processes; what it carries are bytes of ours, and nothing that it
could unpickle. A part whose process or machine dies is done again by Ray, elsewhere.

>>> from dpasp.scale.clusters import checked_cluster
>>> checked_cluster("10.0.0.1:6379")  # an address: open_pool makes an OnRay of it
'10.0.0.1:6379'
"""

from __future__ import annotations

import logging
import math
import socket
import time
from collections.abc import Generator, Iterable
from typing import Any, TypeVar
from uuid import uuid4

from dpasp.errors import Error, UsageError
from dpasp.ground.packing import packed
from dpasp.limits import Watch
from dpasp.scale import doing
from dpasp.scale.ordered import in_order
from dpasp.scale.pools import Job

P = TypeVar("P")
R = TypeVar("R")
PATIENCE = 10.0  # seconds in which the head of a cluster must answer
COUNT = 1.0  # seconds between two looks at how large the cluster is


class OnRay:
    """The machines of the cluster at an address; ``dpasp.scale.clusters.open_pool`` makes one."""

    cuts = True

    def __init__(self, address: str) -> None:
        import ray

        self._ours = not ray.is_initialized()
        if self._ours:
            try:
                _knock(address)
                ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
            except (OSError, RuntimeError, ValueError) as error:
                raise UsageError(
                    f"no Ray cluster answers at {address}: {_first_line(error)}",
                    help="start one with `ray start --head`, and see `ray status`; "
                    "--cluster local needs none",
                ) from error
        self._packing = doing.Packing()
        self._name = uuid4().hex
        self._sent: tuple[str, Any] = ("", None)

    def map(
        self, job: Job[P, R], parts: Iterable[P], watch: Watch, *, fair: bool = False
    ) -> Generator[R, None, None]:
        """What came of each part, in their order."""
        import ray

        number, data = self._packing.of(job)
        key = f"{self._name} {number}"
        if self._sent[0] != key:
            self._sent = key, ray.put(data)
        turn = _Turn(*self._sent, watch)
        try:
            yield from in_order(turn, parts, watch, fair=fair)
        finally:
            turn.end()

    def close(self) -> None:
        """Leave the cluster, if it was joined for this."""
        import ray

        if self._ours:
            ray.shutdown()


class _Turn:
    """The parts of one job on their way."""

    def __init__(self, key: str, job: Any, watch: Watch) -> None:
        import ray

        self._key, self._job, self._watch = key, job, watch
        self._task = ray.remote(num_cpus=1, max_retries=doing.TRIES)(_do)
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
        """Let someone do a part; its time is what is left for so many rounds."""
        data = packed((part, doing.PartLimits.by(self._watch, rounds)))
        self._open[self._task.remote(self._key, self._job, data)] = number

    def wait(self, seconds: float) -> tuple[int, bytes | Error] | None:
        """A reply with the number of its part, if one comes within so many seconds."""
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
            return doing.died(self._watch)
        except exceptions.RayError as error:
            return doing.lost(f"the Ray cluster lost a part of the work: {_first_line(error)}")
        return reply

    def end(self) -> None:
        """Nothing more is wanted; who is still at work is stopped."""
        import ray

        for reference in self._open:
            ray.cancel(reference, force=True)
        self._open.clear()


def _knock(address: str) -> None:
    """Raise :class:`OSError` where nobody listens at an address: Ray would wait for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host:
        socket.create_connection((host.strip("[]"), int(port)), timeout=PATIENCE).close()


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


# --- in the processes of the cluster ------------------------------------------------------------

_worker = doing.JobKeeper()


def _do(key: str, job: bytes, part: bytes) -> bytes:
    """Do a part, in a process that Ray has started."""
    return _worker.reply(key, job, part)
