"""A step of learning that a GPU records once and then replays.

A step of a small network is hundreds of short kernels, and starting them one by one takes longer
than they do. As a CUDA graph they start together: the first steps run as always, one is recorded,
and every later batch of the same size is a copy of its indices and a replay.

>>> import dpasp
>>> program = dpasp.loads("?::a.")
>>> program.learn(["a"], capture=True, device="cpu")
Traceback (most recent call last):
dpasp.errors.UsageError: error: steps are recorded on a GPU only, not on cpu ...
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
from clingo import Symbol
from torch import Tensor
from torch.optim import Optimizer

from dpasp.errors import DataError, Diagnostic, Span, UsageError
from dpasp.neural.data import DataRows
from dpasp.neural.module import ProgramModule

WARM = 3  # steps before the recording: libraries choose their ways, optimisers make their state
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
        if self._seen < WARM:
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
