"""Jobs, the pools that do their parts, and which pool ``--cluster`` and ``cluster=`` mean.

>>> from dataclasses import dataclass
>>> from dpasp.limits import UNLIMITED
>>> @dataclass(frozen=True)
... class Squares:
...     def start(self, watch):
...         return lambda number, watch: number**2
>>> with open_pool(None) as pool:
...     list(pool.map(Squares(), [1, 2, 3], UNLIMITED))
[1, 4, 9]
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeAlias, TypeVar

from dpasp.errors import UsageError
from dpasp.limits import Watch

P = TypeVar("P")
R = TypeVar("R")
WHAT = (
    "local, a number of processes on this machine, or the address of a Ray cluster, "
    "such as 10.0.0.1:6379, ray://10.0.0.1:10001 or auto"
)
ADDRESS = re.compile(r"auto|(ray://)?[^\s:/]+:[0-9]{1,5}|ray://\[[0-9a-fA-F:]+\]:[0-9]{1,5}")
MOST = 1024  # processes on one machine
P_contra = TypeVar("P_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)


class Job(Protocol[P_contra, R_co]):
    """Work that is done in parts; both travel to workers by :mod:`dpasp.limits.work`."""

    def start(self, watch: Watch) -> Callable[[P_contra, Watch], R_co]:
        """Return the function that does a part; each worker calls this once, before its first.

        The watch of a part has the limits of the job and the time that is left for the part.
        """


class Pool(Protocol):
    """Does the parts of jobs."""

    def map(
        self, job: Job[P, R], parts: Iterable[P], watch: Watch, *, fair: bool = False
    ) -> Generator[R, None, None]:
        """Yield the results of the parts, in order.

        What a part raises is raised in its place. Parts are taken as they are needed; closing
        the iterator cancels the work. With ``fair`` the parts, which must then be a sequence,
        share the time that is left.
        """

    @property
    def cuts(self) -> bool:
        """Whether parts run at the same time, so that splitting work pays."""

    def close(self) -> None:
        """End the workers."""


class Here:
    """This process as a pool: one part after the other."""

    cuts = False

    def map(
        self, job: Job[P, R], parts: Iterable[P], watch: Watch, *, fair: bool = False
    ) -> Generator[R, None, None]:
        do = None
        for part in parts:
            do = do or job.start(watch)
            yield do(part, watch)

    def close(self) -> None:
        """Do nothing: there are no workers."""


HERE = Here()

Cluster: TypeAlias = "str | int | Pool | None"


@contextmanager
def open_pool(cluster: Cluster) -> Iterator[Pool]:
    """The pool for a cluster, closed at the end of the block unless it was given as a pool.

    None means this process, ``"local"`` one process per core, a number that many processes, and an
    address the machines of a Ray cluster. Raises :class:`UsageError` for anything else, and if Ray
    is not installed.
    """
    number = _processes(cluster)
    if cluster is None:
        yield HERE
    elif number is None and not isinstance(cluster, str | int):
        yield cluster
    else:
        pool = _opened(str(cluster), number)
        try:
            yield pool
        finally:
            pool.close()


def checked_cluster(text: str) -> str:
    """Return the text if it names a cluster; otherwise raise :class:`UsageError`."""
    if _processes(text) is None and not ADDRESS.fullmatch(text):
        raise UsageError(f"{text!r} is not a cluster", help=f"a cluster is {WHAT}")
    return text


def _processes(cluster: Cluster) -> int | None:
    """The number of processes on this machine; None if the cluster is an address."""
    if cluster == "local":
        return cores()
    if isinstance(cluster, str) and cluster.isascii() and cluster.isdigit():
        cluster = int(cluster)
    known = isinstance(cluster, int | str | None) or hasattr(cluster, "map")
    if isinstance(cluster, bool) or not known:
        raise UsageError(f"{cluster!r} is not a cluster", help=f"a cluster is {WHAT}")
    if not isinstance(cluster, int):
        return None
    if not 1 <= cluster <= MOST:
        message = f"a cluster has from 1 to {MOST} processes on this machine, not {cluster}"
        raise UsageError(message, help="write --cluster local for one process for each core")
    return cluster


def cores() -> int:
    """How many processes can work at the same time on this machine."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _opened(address: str, number: int | None) -> Pool:
    """A pool of processes on this machine, or of the cluster at an address."""
    if number is not None:
        from dpasp.cluster.processes import Processes

        return Processes(number)
    from importlib.util import find_spec

    checked_cluster(address)
    if find_spec("ray") is None:
        message = f"a cluster at an address ({address}) needs Ray, which is not installed"
        help = "pip install 'dpasp[cluster]', or use --cluster local, which needs nothing"
        raise UsageError.at("ray-missing", message, help=help)
    from dpasp.cluster.on_ray import OnRay

    return OnRay(address)
