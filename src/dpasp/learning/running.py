"""How steps run: shared by several processes, stopped from outside, recorded by a GPU.

Processes that ``torchrun -m dpasp run …`` starts share each batch and add up what they find.

Ctrl-C, SIGTERM and the time limit stop a step before it changes parameters; a step that is
changing them already is finished first. A second Ctrl-C stops at once, whatever is lost.

A step of a small network is hundreds of short kernels, and starting them one by one takes longer
than they do. As a CUDA graph (``capture``) they start together: the first steps run as always, one
is recorded, and every later batch of the same size is a copy of its indices and a replay.

>>> [ProcessGroup(rank, 2).share(torch.arange(5)).tolist() for rank in range(2)]
[[0, 2, 4], [1, 3]]
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType

import torch
import torch.distributed as distributed
from clingo import Symbol
from torch import Tensor
from torch.optim import Optimizer

from dpasp.dataclass import dataclass
from dpasp.errors import DataError, Diagnostic, Span, UsageError
from dpasp.learning.data import DataRows
from dpasp.learning.module import ProgramModule
from dpasp.learning.tuning import TUNING
from dpasp.limits import UNLIMITED, Watch

LATER = 0.002  # seconds after the end of the time, so that the watch sees it too


@dataclass(frozen=True, slots=True)
class ProcessGroup:
    """The processes that learn together, and which of them this is."""

    rank: int = 0
    size: int = 1

    @property
    def first(self) -> bool:
        """Whether this process speaks for the group."""
        return self.rank == 0

    def share(self, batch: Tensor) -> Tensor:
        """This process's part of a batch of examples."""
        return batch if self.size == 1 else batch[self.rank :: self.size]

    def add(self, tensors: Iterable[Tensor]) -> None:
        """Replace tensors by their sums over all processes."""
        if self.size > 1:
            for tensor in tensors:
                distributed.all_reduce(tensor)

    def copy(self, tensors: Iterable[Tensor]) -> None:
        """Replace tensors by those of the first process."""
        if self.size > 1:
            for tensor in tensors:
                distributed.broadcast(tensor, src=0)


@contextmanager
def group(device: torch.device) -> Iterator[ProcessGroup]:
    """The group that this process was started in."""
    if int(os.environ.get("WORLD_SIZE", "1")) <= 1 or "RANK" not in os.environ:
        yield ProcessGroup()
        return
    ours = not distributed.is_initialized()
    if ours:
        distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        yield ProcessGroup(distributed.get_rank(), distributed.get_world_size())
    finally:
        if ours:
            distributed.destroy_process_group()


class StepStopped(BaseException):
    """A step was stopped before it changed any parameter."""


class StopRequest:
    """Whether someone asked to stop."""

    def __init__(self) -> None:
        self.made = False
        self._open = False

    @contextmanager
    def computing(self) -> Iterator[None]:
        """Within it, a request ends the work at once with :class:`StepStopped`."""
        self._open = True
        try:
            if self.made:
                raise StepStopped
            yield
        finally:
            self._open = False

    def stop(self) -> None:
        """Leave the work, if that does no harm now."""
        if self._open:
            self._open = False
            raise StepStopped


@contextmanager
def interrupts(watch: Watch = UNLIMITED) -> Iterator[StopRequest]:
    """A request that Ctrl-C and SIGTERM make; the end of the time ends a step, too.

    Signals reach the main thread only: elsewhere learning stops between two steps.
    """
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return

    def ask(number: int, frame: FrameType | None) -> None:
        if request.made:
            raise KeyboardInterrupt
        request.made = True
        request.stop()

    before = [(number, signal.signal(number, ask)) for number in (signal.SIGINT, signal.SIGTERM)]
    try:
        with _alarm(request, watch):
            yield request
    finally:
        for number, handler in before:
            signal.signal(number, handler)


@contextmanager
def _alarm(request: StopRequest, watch: Watch) -> Iterator[None]:
    """Within it, a step is stopped when the time is over (not if others use the alarm)."""
    left = watch.remaining()
    if left is None or not hasattr(signal, "setitimer") or signal.getitimer(signal.ITIMER_REAL)[0]:
        yield
        return
    before = signal.signal(signal.SIGALRM, lambda number, frame: request.stop())
    signal.setitimer(signal.ITIMER_REAL, left + LATER)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


TensorFunction = Callable[[Tensor], Tensor]


class Captured:
    """A step, recorded for batches of one size; batches of other sizes run as always."""

    def __init__(
        self, step: TensorFunction, size: int, device: torch.device, span: Span | None
    ) -> None:
        self._step, self._span = step, span
        self._batch = torch.zeros(size, dtype=torch.int64, device=device)
        self._graph: torch.cuda.CUDAGraph | None = None
        self._result = torch.empty(0)
        self._seen = 0

    def __call__(self, batch: Tensor) -> Tensor:
        """Make the step for a batch; what it gives back holds until the next one."""
        if len(batch) != len(self._batch):
            return self._step(batch)
        if self._seen < TUNING.warm_steps:
            self._seen += 1
            return self._aside(batch)
        if self._graph is None:
            self._record()
        assert self._graph is not None
        self._batch.copy_(batch)
        self._graph.replay()
        return self._result

    def _aside(self, batch: Tensor) -> Tensor:
        """The step on a stream of its own, as the recording will be."""
        stream = torch.cuda.Stream(batch.device)  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream(batch.device))
        with torch.cuda.stream(stream):
            total = self._step(batch)
        torch.cuda.current_stream(batch.device).wait_stream(stream)
        return total

    def _record(self) -> None:
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph, capture_error_mode="thread_local"):
                self._result = self._step(self._batch)
        except RuntimeError as error:
            message = f"a step of learning cannot be recorded: {str(error).splitlines()[0]}"
            help = "a network that looks at its numbers cannot be; leave capture = true out"
            raise DataError(Diagnostic("learn-capture", message, self._span, help)) from error
        self._graph = graph


def check_capture(
    device: torch.device,
    rule: str,
    model: ProgramModule,
    data: Mapping[Symbol, DataRows],
    processes: int,
) -> None:
    """Refuse to record what a GPU cannot, or where there is none."""
    reason = ""
    if device.type != "cuda":
        reason = f"steps are recorded on a GPU only, not on {device}"
    elif rule == "fixpoint" or len(model.probabilities):
        reason = "learned probabilities are moved by the CPU, which cannot be recorded"
    elif any(not isinstance(rows.source, Tensor) for rows in data.values()):
        reason = "a Dataset is read by the CPU, which cannot be recorded"
    elif processes > 1:
        reason = "several processes wait for each other, which cannot be recorded"
    if reason:
        help = 'leave capture out, or say device = "cuda" and learn networks from tensors'
        raise UsageError(Diagnostic("learn-capture", reason, help=help))


def check_optimisers(optimisers: Sequence[Optimizer]) -> None:
    """Refuse optimisers whose steps a GPU cannot record."""
    other = [optimiser for optimiser in optimisers if "capturable" not in optimiser.defaults]
    if other:
        message = f"the steps of {type(other[0]).__name__} cannot be recorded"
        help = "learn with Adam, AdamW or RMSprop, or leave capture = true out"
        raise UsageError(Diagnostic("learn-capture", message, help=help))
