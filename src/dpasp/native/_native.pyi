"""The compiler and the evaluation of circuits."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Numbers = NDArray[np.float64]

build: str  # a hash of the sources

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
    def definite(self) -> bool: ...
    def masses(self, weights: Numbers, fields: int, log: bool, threads: int) -> Numbers: ...
    def gradient(
        self, weights: Numbers, seeds: Numbers, fields: int, log: bool, threads: int
    ) -> tuple[Numbers, Numbers]: ...
    def arrays(self) -> dict[str, NDArray[Any]]: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(data: bytes) -> Circuit: ...

def fold(widths: Integers, values: Integers, counts: Numbers) -> Circuit: ...
def compile(
    atoms: int,
    rules: Integers,
    choices: Integers,
    questions: Integers,
    own: Integers,
    observed: Integers,
    mode: Literal["bits", "counts", "least"],
    way: str,
    order: str,
    nodes: int,
    work: int,
    seconds: float,
    megabytes: float,
    progress: Callable[[float], None] | None,
    plan: bool = False,
) -> tuple[Circuit, dict[str, Any]] | str: ...
