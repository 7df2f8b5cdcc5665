"""How the learning rates change while learning goes on, by name.

>>> [round(factor("cosine", done), 2) for done in (0.0, 0.5, 1.0)]
[1.0, 0.5, 0.0]
>>> [round(factor("constant", done, warmup=0.5), 2) for done in (0.0, 0.25, 0.75)]
[0.0, 0.5, 1.0]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.optim import Optimizer

SCHEDULES: dict[str, Callable[[float], float]] = {
    "constant": lambda done: 1.0,
    "linear": lambda done: 1.0 - done,
    "cosine": lambda done: 0.5 + 0.5 * math.cos(math.pi * done),
}


def factor(name: str, done: float, warmup: float = 0.0) -> float:
    """What the rates are multiplied by when this share of all steps is done.

    They rise evenly during the share ``warmup`` of the steps, and then do what the name says.
    """
    if done < warmup:
        return done / warmup
    return SCHEDULES[name]((done - warmup) / (1.0 - warmup) if warmup < 1.0 else 0.0)


class Rates:
    """The learning rates of some optimisers, to be scaled together."""

    def __init__(self, optimisers: Sequence[Optimizer], device: torch.device, kept: bool) -> None:
        """``kept``: the rates lie in the device's memory, where a recorded step finds them."""
        self._optimisers = optimisers
        self._first = [
            float(group["lr"]) for optimiser in optimisers for group in optimiser.param_groups
        ]
        self._kept: list[Tensor | float] = [
            torch.tensor(rate, device=device) if kept else rate for rate in self._first
        ]

    def scale(self, by: float) -> None:
        """Set every rate to what it was at first, times a factor."""
        groups = [group for optimiser in self._optimisers for group in optimiser.param_groups]
        for place, (group, first) in enumerate(zip(groups, self._first, strict=True)):
            kept = self._kept[place]
            if isinstance(kept, Tensor):
                kept.fill_(first * by)
                group["lr"] = kept  # a checkpoint that was read may have put another there
            else:
                group["lr"] = first * by
