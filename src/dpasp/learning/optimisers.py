"""The optimisers that ``with optim = "…"`` names: any class of torch.optim, any argument.

>>> from dpasp.language import parse
>>> program = parse("?::d(X, {0, 1}) as @net with momentum = 0.9 :- in(X).")
>>> make_optimiser(program.statements[0], [torch.zeros(2)], rate=0.1)
Traceback (most recent call last):
dpasp.errors.DataError: <program>:1:30: error: Adam has no option momentum ...
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from dpasp.errors import DataError, Diagnostic, nearest
from dpasp.language import ast
from dpasp.learning.options import NETWORK_RATE
from dpasp.neural.networks import OutputReader, trainable

OURS = ("optim", "logits")  # options that are not arguments of an optimiser


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
    statement: ast.Neural,
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
