"""A program inside ``torch.compile``: to the compiler, its probabilities are one operator.

The networks around it are traced and compiled as any others. The operator looks labels up, walks
the circuit, and hands the slopes to the backward pass; the compiler knows its shapes only.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import torch
from torch import Tensor

if TYPE_CHECKING:
    from dpasp.learning.module import ProgramModule
    from dpasp.learning.networks import OutputReader

_MODULES: WeakValueDictionary[int, Any] = WeakValueDictionary()  # what an operator is about
_NUMBERS = count(1)


def register(module: ProgramModule | OutputReader) -> int:
    """A number by which operators know a module."""
    number = next(_NUMBERS)
    _MODULES[number] = module
    return number


@torch.library.custom_op("dpasp::log_prob", mutates_args=())
def log_prob(
    weights: Tensor, logs: Tensor, seen: Tensor, query: str, number: int
) -> tuple[Tensor, Tensor, Tensor]:
    """log P [rows], and its slopes by the weights and by their logarithms [leaves, rows].

    ``seen`` are labels of a query (of several, with a line for each after an empty one), or,
    without one, numbers of observations. The logarithms are empty where no network gives logits.
    """
    found = _MODULES[number].log_and_slopes(weights, logs, seen, query)
    assert isinstance(found, tuple)
    return found


@log_prob.register_fake
def _(
    weights: Tensor, logs: Tensor, seen: Tensor, query: str, number: int
) -> tuple[Tensor, Tensor, Tensor]:
    rows = seen.shape[0]
    return (
        weights.new_empty(rows),
        weights.new_empty(weights.shape[0], rows),
        weights.new_empty(logs.shape[0], rows),
    )


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor, Tensor]) -> None:
    ctx.shapes = inputs[0].shape, inputs[1].shape
    ctx.save_for_backward(output[1], output[2])


def _back(ctx: Any, up: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
    slopes = [up * part for part in ctx.saved_tensors]
    fitted = [
        part.sum(dim=1, keepdim=True) if shape[-1] == 1 and part.shape[-1] != 1 else part
        for part, shape in zip(slopes, ctx.shapes, strict=True)
    ]
    return (*fitted, None, None, None)


log_prob.register_autograd(_back, setup_context=_keep)


@torch.library.custom_op("dpasp::checked", mutates_args=())
def checked(outputs: Tensor, number: int) -> Tensor:
    """The outputs of a network, after a look at whether they are probabilities."""
    _MODULES[number].check(outputs)
    return outputs.clone()


@checked.register_fake
def _(outputs: Tensor, number: int) -> Tensor:
    return torch.empty_like(outputs)


checked.register_autograd(
    lambda ctx, up: (up, None), setup_context=lambda ctx, inputs, output: None
)
