"""The compiler and the evaluation of circuits."""

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Numbers = NDArray[np.float64]

build: str  # a hash of the sources
compiler: str  # its name and version
options: str  # the kind of build, and what the compiler was told

class Reason(Enum):
    SIZE = ...
    TIME = ...
    MEMORY = ...
    INTERRUPT = ...
    HEAD_CYCLE = ...
    OBSERVED = ...

class Stopped(Exception):
    reason: Reason

class Ground:
    def __init__(
        self,
        atoms: int,
        rules: Integers,
        choices: Integers,
        questions: Integers,
        own: Integers,
        observed: Integers,
        tables: Integers | None = None,
    ) -> None: ...

class Options:
    def __init__(
        self,
        mode: Literal["bits", "counts", "least"],
        way: str,
        order: str,
        nodes: int,
        work: int,
        weights: Sequence[float] = (),
        threads: int = 1,
    ) -> None: ...

class Limits:
    def __init__(
        self, seconds: float, megabytes: float, clock: Callable[[], float] | None = None
    ) -> None: ...

def memory_in_use() -> float:
    """Megabytes that this process holds now; negative where the system does not tell."""

class Sentinel:
    """Ends this process after the limits, even where Python cannot run."""

    def __init__(
        self,
        limits: Limits,
        late: tuple[Sequence[tuple[int, bytes]], int],
        large: tuple[Sequence[tuple[int, bytes]], int],
    ) -> None: ...
    def send_away(self) -> None: ...

class Circuit:
    @property
    def weights(self) -> int: ...
    @property
    def nodes(self) -> int: ...
    @property
    def edges(self) -> int: ...
    @property
    def depth(self) -> int: ...
    @property
    def questions(self) -> int: ...
    @property
    def total(self) -> bool: ...
    @property
    def definite(self) -> bool: ...
    def masses(
        self, weights: Numbers, fields: int, log: bool, threads: int, limits: Limits
    ) -> Numbers: ...
    def gradient(
        self,
        weights: Numbers,
        seeds: Numbers,
        fields: int,
        log: bool,
        threads: int,
        limits: Limits,
        of_logs: bool = False,
    ) -> tuple[Numbers, Numbers]: ...
    def curvature(
        self,
        weights: Numbers,
        seeds: Numbers,
        directions: Numbers,
        fields: int,
        log: bool,
        threads: int,
        limits: Limits,
    ) -> tuple[Numbers, Numbers]: ...
    def arrays(self) -> dict[str, NDArray[Any]]: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(data: bytes) -> Circuit: ...

def fold(widths: Integers, values: Integers, counts: Numbers, limits: Limits) -> Circuit: ...
def join(
    circuits: Sequence[Circuit],
    leaves: Sequence[Integers],
    decisions: Integers,
    weights: int,
    limits: Limits,
) -> Circuit: ...
def compile(
    ground: Ground, options: Options, limits: Limits, progress: Callable[[float], None] | None
) -> tuple[Circuit, dict[str, Any]]: ...
def shares(
    ground: Ground, options: Options, least: float, limits: Limits
) -> tuple[Numbers, int, int] | None: ...
def maxima(
    ground: Ground, options: Options, ties: int, sums: bool, bounded: bool, limits: Limits
) -> tuple[float, float, Integers] | None: ...
def plan(ground: Ground, options: Options, limits: Limits) -> dict[str, Any]: ...

worlds_in_block: int

class Worlds:
    def __init__(self, ground: Ground, steps: Integers, outputs: Integers) -> None: ...
    def draw(
        self, weights: Numbers, seed: int, first: int, blocks: int, limits: Limits
    ) -> tuple[NDArray[np.uint64], Numbers]: ...
    def move(
        self,
        weights: Numbers,
        seed: int,
        number: int,
        states: Integers,
        free: Integers,
        limits: Limits,
    ) -> tuple[NDArray[np.uint64], Numbers]: ...
