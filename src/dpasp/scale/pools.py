"""What a job is, and who does its parts.

>>> from dataclasses import dataclass
>>> @dataclass(frozen=True)
... class Squares:
...     def start(self, watch):
...         return lambda number, watch: number**2
>>> list(HERE.map(Squares(), [1, 2, 3], UNLIMITED))
[1, 4, 9]
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from typing import Protocol, TypeVar

from dpasp.limits import UNLIMITED, Watch

__all__ = ["HERE", "UNLIMITED", "Job", "Pool"]

P = TypeVar("P")
R = TypeVar("R")
P_contra = TypeVar("P_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)


class Job(Protocol[P_contra, R_co]):
    """Work in parts; it travels to workers as :mod:`dpasp.ground.packing` tells, as parts do."""

    def start(self, watch: Watch) -> Callable[[P_contra, Watch], R_co]:
        """What does a part. It is called once by every worker, before its first part.

        The watch of a part has the limits of the job, with the time that is left for it.
        """
        ...


class Pool(Protocol):
    """Who does the parts of jobs."""

    def map(
        self, job: Job[P, R], parts: Iterable[P], watch: Watch, *, fair: bool = False
    ) -> Generator[R, None, None]:
        """What came of each part, in the order of the parts.

        What a part raises is raised in its place. Parts are taken as they are needed; whoever
        stops to listen stops the work. With ``fair`` the time that is left is shared among
        the parts, of which there is a sequence.
        """
        ...

    @property
    def cuts(self) -> bool:
        """Whether parts are done at the same time, so that it is worth to cut."""
        ...

    def close(self) -> None:
        """Let the workers go."""
        ...


class Here:
    """The pool that is this process: one part after the other."""

    cuts = False

    def map(
        self, job: Job[P, R], parts: Iterable[P], watch: Watch, *, fair: bool = False
    ) -> Generator[R, None, None]:
        """What came of each part."""
        do = None
        for part in parts:
            do = do or job.start(watch)
            yield do(part, watch)

    def close(self) -> None:
        """There is nobody to let go."""


HERE = Here()
