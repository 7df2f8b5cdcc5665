"""What moves networks: the optimiser, how its rate changes, and the average of the weights.

``with optim = "…"`` names any class of torch.optim with any of its arguments.

>>> from dpasp.language import parse
>>> program = parse("?::d(X, {0, 1}) as @net with momentum = 0.9 :- in(X).")
>>> make_optimiser(program.statements[0], [torch.zeros(2)], rate=0.1)
Traceback (most recent call last):
dpasp.errors.DataError: <program>:1:30: error: Adam has no option momentum ...
>>> [round(factor("cosine", done), 2) for done in (0.0, 0.5, 1.0)]
[1.0, 0.5, 0.0]
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from dpasp.errors import DataError, Diagnostic, nearest
from dpasp.language import ast
from dpasp.learning.networks import OutputReader, trainable
from dpasp.learning.options import NETWORK_RATE

OURS = ("optim", "logits")  # options that are not arguments of an optimiser
SCHEDULES: dict[str, Callable[[float], float]] = {
    "constant": lambda done: 1.0,
    "linear": lambda done: 1.0 - done,
    "cosine": lambda done: 0.5 + 0.5 * math.cos(math.pi * done),
}


def optimisers(
    networks: Sequence[OutputReader], rate: float | None, captured: bool = False
) -> list[Optimizer]:
    """One optimiser for each network that learns; ``rate`` is for those that name none.

    ``captured``: their steps will be recorded on a GPU.
    """
    made, seen = [], set[int]()
    for network in trainable(networks):
        parameters = [
            p for p in network.module.parameters() if p.requires_grad and id(p) not in seen
        ]
        seen.update(map(id, parameters))
        if parameters:
            made.append(make_optimiser(network.statement, parameters, rate, captured))
    return made


def make_optimiser(
    statement: ast.Neural | ast.Factor,
    parameters: Iterable[Tensor | nn.Parameter],
    rate: float | None,
    captured: bool = False,
) -> Optimizer:
    """The optimiser that a neural statement asks for; Adam unless it says otherwise."""
    options = {option.name: option for option in statement.options}
    optimiser = _kind(options.get("optim"))
    arguments: dict[str, Any] = {"lr": NETWORK_RATE if rate is None else rate}
    known = inspect.signature(optimiser).parameters
    if captured and "capturable" in known:
        arguments["capturable"] = True
    for name, option in options.items():
        if name in OURS:
            continue
        if name not in known or name == "params":
            names = [key for key in known if key != "params"]
            help = nearest(name, [*names, *OURS]) or f"it has {', '.join(names)}"
            message = f"{optimiser.__name__} has no option {name}"
            raise DataError(Diagnostic("optimiser-option", message, option.span, help))
        arguments[name] = option.value
    try:
        return optimiser(list(parameters), **arguments)
    except (TypeError, ValueError) as error:
        message = f"{optimiser.__name__} refuses its options: {error}"
        raise DataError(Diagnostic("optimiser-option", message, statement.span)) from error


def _kind(option: ast.Option | None) -> type[Optimizer]:
    """The class of torch.optim with a name, however it is written."""
    if option is None:
        return torch.optim.Adam
    known = {
        name.lower(): value
        for name, value in vars(torch.optim).items()
        if isinstance(value, type) and issubclass(value, Optimizer) and value is not Optimizer
    }
    wanted = known.get(str(option.value).lower())
    if wanted is None:
        names = sorted(optimiser.__name__ for optimiser in known.values())
        help = nearest(str(option.value), names) or f"known are {', '.join(names)}"
        message = f"torch has no optimiser {option.value}"
        raise DataError(Diagnostic("unknown-optimiser", message, option.span, help))
    return wanted


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


class Average:
    """The average of some tensors that change.

    >>> weights = torch.zeros(1)
    >>> average = Average([weights], decay=0.9)
    >>> for value in (1.0, 3.0):
    ...     _ = weights.fill_(value)
    ...     average.update()
    >>> with average.in_place():
    ...     print(weights)
    tensor([2.])
    """

    def __init__(self, tensors: Iterable[Tensor], decay: float) -> None:
        self._live = [tensor.detach() for tensor in tensors]  # the same memory
        self._mean = [tensor.clone() for tensor in self._live]
        device = self._live[0].device if self._live else None
        self._count = torch.zeros((), device=device)
        self._least = torch.tensor(1.0 - decay, device=device)

    @torch.no_grad()
    def update(self) -> None:
        """Take the tensors as they are now into the average."""
        self._count += 1
        share = torch.maximum(self._least, 1.0 / self._count)
        for mean, live in zip(self._mean, self._live, strict=True):
            mean.lerp_(live, share.to(mean.dtype))

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Within it, the tensors are their average."""
        before = [live.clone() for live in self._live]
        self.settle()
        try:
            yield
        finally:
            self._copy(before)

    def settle(self) -> None:
        """Make the tensors their average, if there is one yet."""
        if float(self._count):
            self._copy(self._mean)

    @torch.no_grad()
    def _copy(self, values: list[Tensor]) -> None:
        for live, value in zip(self._live, values, strict=True):
            live.copy_(value)

    def tensors(self) -> dict[str, Tensor]:
        """All that is needed to go on, by name."""
        means = {f"average.{i}": mean for i, mean in enumerate(self._mean)}
        return {**means, "average.count": self._count} if self._live else {}

    @torch.no_grad()
    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Go on from what :meth:`tensors` gave."""
        for name, tensor in self.tensors().items():
            tensor.copy_(tensors[name])
