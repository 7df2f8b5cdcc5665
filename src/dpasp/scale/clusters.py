"""Which pool ``--cluster`` and ``cluster=`` stand for.

>>> with open_pool(None) as pool:
...     pool.cuts
False
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeAlias

from dpasp.errors import Diagnostic, UsageError
from dpasp.scale.pools import HERE, Pool

Cluster: TypeAlias = "str | int | Pool | None"

WHAT = (
    "local, a number of processes on this machine, or the address of a Ray cluster, "
    "such as 10.0.0.1:6379, ray://10.0.0.1:10001 or auto"
)
ADDRESS = re.compile(r"auto|(ray://)?[^\s:/]+:[0-9]{1,5}|ray://\[[0-9a-fA-F:]+\]:[0-9]{1,5}")
MOST = 1024  # processes on one machine


@contextmanager
def open_pool(cluster: Cluster) -> Iterator[Pool]:
    """The pool that a cluster stands for; it ends with the block, unless it was given as a pool.

    None is this process, ``"local"`` a process for every core of this machine, a number so many
    processes, and an address the machines of a Ray cluster. Raises :class:`UsageError` for
    anything else, and where Ray is not installed.
    """
    number = _processes(cluster)
    if cluster is None:
        yield HERE
    elif number is None and not isinstance(cluster, str | int):
        yield cluster
    else:
        pool = _of_address(str(cluster)) if number is None else _of_number(number)
        try:
            yield pool
        finally:
            pool.close()


def checked_cluster(text: str) -> str:
    """A text that names a cluster; raises :class:`UsageError` for one that does not."""
    if _processes(text) is None and not ADDRESS.fullmatch(text):
        raise UsageError(f"{text!r} is no cluster", help=f"a cluster is {WHAT}")
    return text


def _processes(cluster: Cluster) -> int | None:
    """How many processes on this machine are meant; None if it is something else."""
    if cluster == "local":
        return cores()
    if isinstance(cluster, str) and cluster.isascii() and cluster.isdigit():
        cluster = int(cluster)
    known = isinstance(cluster, int | str | None) or hasattr(cluster, "map")
    if isinstance(cluster, bool) or not known:
        raise UsageError(f"{cluster!r} is no cluster", help=f"a cluster is {WHAT}")
    if not isinstance(cluster, int):
        return None
    if not 1 <= cluster <= MOST:
        raise UsageError(
            f"a cluster has from 1 to {MOST} processes on this machine, not {cluster}",
            help="write --cluster local for one process for each core",
        )
    return cluster


def cores() -> int:
    """How many processes can work at the same time on this machine."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _of_number(number: int) -> Pool:
    from dpasp.scale.processes import Processes

    return Processes(number)


def _of_address(address: str) -> Pool:
    from importlib.util import find_spec

    checked_cluster(address)
    if find_spec("ray") is None:
        message = f"a cluster at an address ({address}) needs Ray, which is not installed"
        help = "pip install 'dpasp[cluster]', or use --cluster local, which needs nothing"
        raise UsageError(Diagnostic("ray-missing", message, help=help))
    from dpasp.scale.on_ray import OnRay

    return OnRay(address)
