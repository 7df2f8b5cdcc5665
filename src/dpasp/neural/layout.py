"""Convolutions on the CPU are about twice as fast with the channels last in memory.

A custom ``forward`` may rely on the usual layout (``x.view(…)`` does), so only what runs
inside a ``Sequential`` of torch's own layers is changed, and its output is put back.

>>> plain = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU())
>>> parts = convolve_channels_last(plain)
>>> len(parts), plain(torch.zeros(1, 1, 4, 4)).is_contiguous()
(1, True)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn


def convolve_channels_last(module: nn.Module) -> list[nn.Sequential]:
    """Let the convolutions of a module run with the channels last, where that is safe.

    Gives back the parts that do; :func:`lay_out_weights` follows them to another device.
    """
    parts = islands(module)
    for island in parts:
        island.register_forward_pre_hook(_enter)
        island.register_forward_hook(_leave)
    lay_out_weights(parts)
    return parts


def lay_out_weights(parts: Iterable[nn.Sequential]) -> None:
    """Put the weights of such parts in the order that their device likes."""
    for part in parts:
        on_cpu = next(part.parameters()).device.type == "cpu"
        order = torch.channels_last if on_cpu else torch.contiguous_format
        # Not contiguous(): of one channel it keeps the old strides, and torch goes by those.
        part.to(memory_format=order)  # type: ignore[call-overload]


def islands(module: nn.Module) -> list[nn.Sequential]:
    """The outermost sequences of torch's own layers that hold a convolution."""
    if isinstance(module, nn.Sequential) and _is_plain(module):
        return [module] if any(isinstance(m, nn.Conv2d) for m in module.modules()) else []
    return [island for child in module.children() for island in islands(child)]


def _is_plain(module: nn.Module) -> bool:
    return all(type(part).__module__.startswith("torch.nn.") for part in module.modules())


def _enter(module: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(
        x.contiguous(memory_format=torch.channels_last)
        if _is_images(x) and x.device.type == "cpu"
        else x
        for x in inputs
    )


def _leave(module: nn.Module, inputs: tuple[Any, ...], output: Any) -> Any:
    return output.contiguous() if _is_images(output) else output


def _is_images(value: object) -> bool:
    return isinstance(value, Tensor) and value.ndim == 4
