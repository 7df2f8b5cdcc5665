"""Convolutions on a GPU that give the same bits on every run, and are still quick.

cuDNN's repeatable ways to the gradient of a convolution's weights are as fast as its others, with
one exception: for images of one channel, the one that it takes in TF32 (its default) is ten times
slower than the one in full single precision.

>>> with repeatable(torch.device("cpu")):          # nothing to do there
...     print(torch.backends.cudnn.deterministic)
False
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

cudnn = torch.backends.cudnn


@contextmanager
def repeatable(device: torch.device) -> Iterator[None]:
    """Within it, convolutions on a GPU give the same bits on every run."""
    before = cudnn.deterministic
    cudnn.deterministic = before or device.type == "cuda"
    try:
        yield
    finally:
        cudnn.deterministic = before


def watch_convolutions(module: nn.Module) -> None:
    """Let the convolutions of a network over one channel take the faster repeatable way."""
    for part in module.modules():
        if isinstance(part, nn.Conv2d) and part.in_channels == 1:
            part.register_forward_hook(_leave)


def _leave(module: nn.Module, inputs: tuple[Any, ...], output: Any) -> None:
    if isinstance(output, Tensor) and output.grad_fn is not None and output.is_cuda:
        full = _FullPrecision()
        output.grad_fn.register_prehook(full.enter)
        output.grad_fn.register_hook(full.leave)


class _FullPrecision:
    """What happens just before and just after the gradient of one convolution."""

    def __init__(self) -> None:
        self.before: bool | None = None

    def enter(self, gradients: object) -> None:
        try:
            self.before = cudnn.allow_tf32 if cudnn.deterministic else None
        except RuntimeError:  # someone chose the precision by torch's newer switches
            self.before = None
        if self.before:
            cudnn.allow_tf32 = False

    def leave(self, gradients: object, before: object) -> None:
        if self.before:
            cudnn.allow_tf32 = True
