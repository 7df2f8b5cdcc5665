"""A circuit on a GPU: one kernel launch for the values of all layers, another for the slopes.

A block of threads takes a few columns of the batch through the whole circuit, with barriers only
inside the block (``walk.cu``). The kernel is compiled on first use by the compiler that comes with
PyTorch; :func:`available` says whether there is one.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from dataclasses import asdict, field
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dpasp.circuits.gpu.tape import Tape
from dpasp.dataclass import dataclass

WARP = 32
SHARED = 200 * 1024  # bytes of shared memory that a walk may use
BLOCKS = 132  # about the number of processors; for more blocks, each takes more columns instead
MOST_COLUMNS = 8
AHEAD = 4  # products that a thread fetches together from memory that is not shared


@dataclass(frozen=True, slots=True)
class WalkValues:
    """The values of a walk forward, which the walk back needs."""

    parts: Tensor | None  # None if no values are kept in the device's memory
    exponents: Tensor | None


@dataclass(frozen=True, slots=True)
class CutTape:
    """A tape on a device, cut into steps for every block size that is used."""

    tape: Tape
    device: torch.device
    constants: dict[torch.dtype, Tensor]
    out: Tensor
    cut: dict[tuple[int, int, int], Tensor] = field(default_factory=dict)
    launches: dict[tuple[int, torch.dtype, bool, bool], _Launch] = field(default_factory=dict)

    @classmethod
    def of(cls, tape: Tape, device: torch.device) -> CutTape:
        """A tape with everything that does not depend on the block size."""
        numbers = torch.from_numpy(tape.constants)
        constants = {dtype: numbers.to(device, dtype) for dtype in (torch.float32, torch.float64)}
        return cls(tape, device, constants, torch.from_numpy(tape.out.astype(np.int32)).to(device))

    def steps(self, columns: int, threads: int, factors: int) -> Tensor:
        """The tape for the kernel: sizes, steps, results, products, starts of sums."""
        key = (columns, threads, factors)
        if key not in self.cut:
            tape, steps = self.tape, _steps(self.tape, columns, threads)
            body = 8 + steps.size + len(tape.out)
            pad = body % 2  # products are read two numbers at a time
            sizes = np.array([
                tape.heads, len(tape.constants), len(steps) - 3, tape.entries, len(tape.out),
                factors, body + pad, body + pad + tape.pairs.size,
            ])  # fmt: skip
            parts = (sizes, steps.ravel(), tape.out, np.zeros(pad), tape.pairs.ravel(), tape.starts)
            flat = np.concatenate(parts).astype(np.int32)
            self.cut[key] = torch.from_numpy(flat).to(self.device)
        return self.cut[key]


def _steps(tape: Tape, columns: int, threads: int) -> NDArray[np.int64]:
    """Cut levels into steps [begin, end, shift, barrier]; three empty ones follow.

    If there are threads to spare, ``1 << shift`` of them share a sum.
    """
    slots, most = threads // columns, WARP // columns
    counts = np.diff(tape.starts)
    steps = []
    for begin, end in pairwise(tape.levels.tolist()):
        longest, shift = int(counts[begin]), 0  # the longest sum of a level comes first
        while (2 << shift) <= min(most, longest) and (end - begin) << (shift + 1) <= slots:
            shift += 1
        for at in range(begin, end, slots >> shift):
            stop = min(end, at + (slots >> shift))
            steps.append((at, stop, shift, int(stop == end)))
    steps += [(0, 0, 0, 0)] * 3
    return np.array(steps, dtype=np.int64)


class LabelHeads(NamedTuple):
    """Labels that decide which of the last heads of a tape are 0; the others are 1."""

    labels: Tensor  # [batch, columns]
    entries: Tensor  # [columns · (before + most + 1), width]: the heads that are 0 for a label
    before: int  # the entries of a column before that of the label 0
    most: int  # the largest label


def walk_on_gpu(
    moved: CutTape, head: Tensor, log: bool, labels: LabelHeads | None = None
) -> tuple[Tensor, WalkValues]:
    """Walk a tape forward over heads [heads, batch]: the results [out, batch], and all values.

    With ``log``, the results are logarithms, and nothing underflows. With ``labels``, ``head`` has
    only the first heads, and the results are NaN for unknown labels.
    """
    return _launch(moved, head, head.shape[1], None, None, log, labels)


def walk_back(
    moved: CutTape, seeds: Tensor | None, values: WalkValues, there: CutTape, log: bool, batch: int
) -> Tensor:
    """The slopes [out, batch] of Σ seeds · results, given the values of the walk ``there``.

    With ``log``, they are those of the logarithms of the results. Without seeds, all seeds are 1.
    """
    return _launch(moved, seeds, batch, values, there, log)[0]


def _launch(
    moved: CutTape,
    head: Tensor | None,
    batch: int,
    factors: WalkValues | None,
    there: CutTape | None,
    log: bool,
    labels: LabelHeads | None = None,
) -> tuple[Tensor, WalkValues]:
    """Walk a tape over a batch: the results [out, batch], and the values of all entries."""
    some = factors.parts if head is None and factors is not None else head
    assert some is not None
    dtype, device = some.dtype, some.device
    key = (batch, dtype, log, labels is not None)
    launch = moved.launches.get(key)
    if launch is None:
        launch = moved.launches[key] = _planned(moved, batch, some, there, log, labels is not None)
    parts = exponents = None
    if launch.room:
        parts = torch.empty(launch.room, dtype=dtype, device=device)
        exponents = torch.empty(launch.room, dtype=torch.int32, device=device) if log else None
    out = torch.empty(len(moved.tape.out), batch, dtype=dtype, device=device)
    tensors = (
        head, moved.constants[dtype], launch.steps, out, parts, exponents,
        *((factors.parts, factors.exponents) if factors else (None, None)), (there or moved).out,
        *((labels.labels, labels.entries) if labels else (None, None)),
    )  # fmt: skip
    sizes = (0, 0, 0, 0, 0)
    if labels is not None and head is not None:
        columns, width = labels.labels.shape[1], labels.entries.shape[1]
        sizes = (len(head), columns, labels.before, labels.most, width)
    launch(tensors, (batch, *sizes))
    return out, WalkValues(parts, exponents)


@dataclass(frozen=True, slots=True)
class _Launch:
    """How to walk a tape over batches of one size."""

    kernel: Any
    device: torch.device
    blocks: int
    threads: int
    shared: int  # bytes of shared memory
    steps: Tensor
    room: int  # the number of values that are kept in the device's memory

    def __call__(self, tensors: Sequence[Tensor | None], sizes: Sequence[int]) -> None:
        """Start the kernel directly, which is faster than a launch by torch."""
        numbers = [0 if tensor is None else tensor.data_ptr() for tensor in tensors]
        packed = (ctypes.c_int64 * (len(numbers) + len(sizes)))(*numbers, *sizes)
        arguments = (ctypes.c_void_p * 1)(ctypes.addressof(packed))
        stream = torch._C._cuda_getCurrentRawStream(self.device.index)
        size = (self.blocks, 1, 1, self.threads, 1, 1, self.shared)
        if self.device.index == torch.cuda.current_device():
            code = _driver()(self.kernel.func, *size, stream, arguments, None)
        else:
            with torch.cuda.device(self.device):
                code = _driver()(self.kernel.func, *size, stream, arguments, None)
        if code:
            raise RuntimeError(f"the kernel of a circuit does not start: CUDA error {code}")


def _planned(
    moved: CutTape,
    batch: int,
    like: Tensor,
    there: CutTape | None,
    log: bool,
    labels: bool,
) -> _Launch:
    """How to walk a tape over batches of this size."""
    tape = moved.tape
    other = there.tape.entries if there else 0
    number = like.element_size() + (4 if log else 0)
    columns = _columns(batch, (other or tape.entries) * number)  # the same forward and back
    blocks = -(-batch // columns)
    own_bytes, factor_bytes = tape.entries * columns * number, other * columns * number
    own_shared = own_bytes <= SHARED
    factor_shared = own_shared and there is not None and own_bytes + factor_bytes <= SHARED
    keep = there is None
    threads = _threads(tape, columns)
    real = "double" if like.dtype is torch.float64 else "float"
    back = there is not None
    switches = _Switches(real, columns, threads, log, own_shared, factor_shared, back, keep, labels)
    return _Launch(
        _kernel(switches, like.device),
        like.device,
        blocks,
        threads,
        (own_bytes if own_shared else 0) + (factor_bytes if factor_shared else 0),
        moved.steps(columns, threads, other),
        blocks * tape.entries * columns if keep or not own_shared else 0,
    )


def _columns(batch: int, bytes_each: int) -> int:
    """The number of columns of a block, small enough that all processors are used.

    Two blocks on one processor wait less than a single one with as many columns.
    """
    columns = 1
    while columns < MOST_COLUMNS and -(-batch // columns) > BLOCKS:
        columns *= 2
    alone = SHARED // 2 < columns * bytes_each <= SHARED
    return columns // 2 if alone and columns > 1 else columns


def _threads(tape: Tape, columns: int) -> int:
    """Enough threads for a typical level; idle threads would cost time at every level."""
    products = len(tape.pairs) / max(1, len(tape.levels) - 1) * columns
    threads = 256
    while threads < 1024 and threads < products:
        threads *= 2
    return threads


@dataclass(frozen=True, slots=True)
class _Switches:
    """The settings that the kernel is compiled for; ``walk.cu`` explains the names."""

    real: str
    columns: int
    threads: int
    scaled: bool = False
    own_shared: bool = False
    factor_shared: bool = False
    backward: bool = False
    keep: bool = True
    labels: bool = False

    def text(self) -> str:
        """The definitions that precede the kernel."""
        values = {name.upper(): value for name, value in asdict(self).items()}
        far = not (self.scaled or self.own_shared)
        values |= {"LOGS": self.scaled, "AHEAD": AHEAD if far else 1}
        return "".join(
            f"#define {name} {int(value) if isinstance(value, bool) else value}\n"
            for name, value in values.items()
        )


@cache
def _kernel(switches: _Switches, device: torch.device) -> Any:
    text = files("dpasp.circuits.gpu").joinpath("walk.cu").read_text(encoding="utf-8")
    with torch.cuda.device(device):
        kernel = torch.cuda._compile_kernel(switches.text() + text, "walk")
        kernel.set_shared_memory_config(SHARED)
    return kernel


@cache
def _driver() -> Any:
    """The driver's function that starts a kernel."""
    library = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    start = library.cuLaunchKernel
    pointer, size = ctypes.c_void_p, ctypes.c_uint
    start.argtypes = [pointer, *[size] * 7, pointer, ctypes.POINTER(pointer), pointer]
    return start


@cache
def available() -> bool:
    """Whether there is a GPU, and this PyTorch can compile the kernel for it."""
    if not torch.cuda.is_available() or not hasattr(torch.cuda, "_compile_kernel"):
        return False
    try:
        device = torch.device("cuda", torch.cuda.current_device())
        return hasattr(_kernel(_Switches("double", 1, 128), device), "func") and bool(_driver())
    except (RuntimeError, OSError, AttributeError):
        return False
