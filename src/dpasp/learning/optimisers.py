"""From gradients to parameters: the learning rules, and the optimisers of networks.

For a choice X with values x, g_x = (1/P(O)) ∂P(O)/∂p_x with every p_x free. Then

    gradient    g_x itself, through the softmax of the parameters
    lagrange    g_x - mean of all g: the gradient within the simplex
    neurasp     g_x - the sum of the other g
    fixpoint    p_x g_x = P(X = x | O), whose mean over the examples is the next p_x

A circuit may leave X out where it does not matter. Then g lacks the same term for every x, 1 - Σ
p_x g_x, which is added if a rule needs it.

``with optim = "…"`` names any class of torch.optim with any of its arguments.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from dpasp.dataclass import dataclass
from dpasp.errors import DataError, nearest
from dpasp.ground.program import FromNetwork, GroundProgram
from dpasp.language import ast
from dpasp.learning.networks import OnDevice, OutputReader, trainable
from dpasp.learning.options import NETWORK_RATE
from dpasp.semantics import leaves
from dpasp.semantics.leaves import layout, leaf_count

LEAST = 1e-12  # stands for 0 in a logarithm


@dataclass(frozen=True, slots=True)
class LeafGroups(OnDevice):
    """Which leaves belong to the same choice."""

    choice: Tensor  # [leaves]
    sizes: Tensor  # [choices]: how many values each has, nothing included
    complement: Tensor  # [leaves]: whether it says that a Boolean network's output is false
    normalised: Tensor  # [leaves]: whether it is a value of a network's distribution

    def totals(self, values: Tensor) -> Tensor:
        """For each leaf, the sum over the leaves of its choice."""
        if values.device.type == "cpu":
            sums = values.new_zeros(len(self.sizes), values.shape[1])
            sums.index_add_(0, self.choice, values)
        else:  # the same bits on every run
            sums = torch.segment_reduce(values, "sum", lengths=self.sizes, axis=0, unsafe=True)
        return sums.index_select(0, self.choice)


def leaf_groups(ground: GroundProgram) -> LeafGroups:
    sizes = np.array([leaves.leaf_count(choice) for choice in ground.choices], dtype=np.int64)
    choice = np.repeat(np.arange(len(sizes)), sizes)
    false, normalised = (np.zeros(len(choice), dtype=np.bool_) for _ in range(2))
    place = leaves.layout(ground.choices)
    for i, drawn in enumerate(ground.choices):
        if isinstance(drawn.weight, FromNetwork) and drawn.nothing:
            false[place.starts[i + 1] - 1] = True
        elif isinstance(drawn.weight, FromNetwork):
            normalised[place.of(i)] = True
    return LeafGroups(*map(torch.from_numpy, (choice, sizes, false, normalised)))


def with_omitted(slopes: Tensor, weights: Tensor, group: LeafGroups, mass: Tensor) -> Tensor:
    """The gradient including what the circuit left out; a column sums ``mass`` examples."""
    return slopes + (mass - group.totals(weights * slopes))


def lagrange(slopes: Tensor, group: LeafGroups) -> Tensor:
    """The gradient within the simplex, which sums to 0 over the values of a choice."""
    share = 1.0 / group.sizes.to(slopes.dtype)
    return slopes - group.totals(slopes) * share[group.choice][:, None]


def neurasp(slopes: Tensor, group: LeafGroups) -> Tensor:
    """Each value's gradient minus those of all others (for complete gradients)."""
    return 2.0 * slopes - group.totals(slopes)


def direction(
    rule: str, slopes: Tensor, weights: Tensor, group: LeafGroups, mass: Tensor
) -> Tensor:
    """The direction of ascent that a rule gives every leaf weight."""
    if rule == "gradient":
        return slopes
    if rule == "neurasp":
        mapped = neurasp(with_omitted(slopes, weights, group, mass), group)
    else:
        mapped = lagrange(slopes, group)
    # A Boolean network has one output, so 'true' covers the direction of 'false'.
    mapped = mapped.masked_fill(group.complement[:, None], 0.0)
    # A constant added to all values does nothing before a normalisation, but costs digits if a
    # slope is large.
    plain = 2.0 * slopes if rule == "neurasp" else slopes
    return torch.where(group.normalised[:, None], plain, mapped)


def with_logits(rule: str, shares: Tensor, group: LeafGroups) -> Tensor:
    """The direction of a rule by the logarithms of weights from logits, from p_x g_x.

    A constant that a rule adds to all values of a choice does not matter before a softmax.
    """
    if rule == "gradient":
        return shares
    boolean = group.totals(group.complement[:, None].to(shares.dtype)) > 0
    factor = 2.0 if rule == "neurasp" else 1.0
    return torch.where(boolean, factor / 2, factor) * shares


def fixpoint(counts: Tensor, old: Tensor, free: Tensor, room: Tensor, smoothing: float) -> Tensor:
    """The next distributions from expected counts [parameters, width], plus ``smoothing`` each."""
    smoothed = (counts.clamp(min=0.0) + smoothing) * free
    total = smoothed.sum(dim=1, keepdim=True)
    new = torch.where(total > 0, room * smoothed / total.clamp(min=1e-300), old)
    return torch.where(free, new, old)


def by_output(ground: GroundProgram) -> list[list[int]]:
    """The choices of each output of a network, one for each row."""
    uses: dict[tuple[int, int], list[int]] = {}
    for index, choice in enumerate(ground.choices):
        if isinstance(choice.weight, FromNetwork):
            uses.setdefault((choice.weight.network, choice.weight.outcome), []).append(index)
    return list(uses.values())


class MeanEntropy:
    """The entropies of the mean outputs of a program's networks, summed, from leaf weights."""

    def __init__(self, ground: GroundProgram, device: torch.device) -> None:
        place = layout(ground.choices)
        self._leaves = [
            torch.from_numpy(
                np.stack([np.arange(place.of(i).start, place.of(i).stop) for i in indices])
            ).to(device)
            for indices in by_output(ground)
            if leaf_count(ground.choices[indices[0]]) > 1
        ]

    def __call__(self, weights: Tensor) -> Tensor:
        """The sum of the entropies, differentiable by the weights [leaves, batch]."""
        total = weights.new_zeros(())
        for rows in self._leaves:
            mean = weights[rows].mean(dim=(0, 2)).clamp(min=LEAST)
            total = total - (mean * mean.log()).sum()
        return total


OURS = ("optim", "logits")  # options of "with" that are not arguments of an optimiser
SCHEDULES: dict[str, Callable[[float], float]] = {
    "constant": lambda done: 1.0,
    "linear": lambda done: 1.0 - done,
    "cosine": lambda done: 0.5 + 0.5 * math.cos(math.pi * done),
}


def optimisers(
    networks: Sequence[OutputReader], rate: float | None, captured: bool = False
) -> list[Optimizer]:
    """One optimiser for each network that learns; ``rate`` is for those that name none.

    With ``captured``, their steps will be recorded on a GPU.
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
            raise DataError.at("optimiser-option", message, option.span, help)
        arguments[name] = option.value
    try:
        return optimiser(list(parameters), **arguments)
    except (TypeError, ValueError) as error:
        message = f"{optimiser.__name__} refuses its options: {error}"
        raise DataError.at("optimiser-option", message, statement.span) from error


def _kind(option: ast.Option | None) -> type[Optimizer]:
    """The class of torch.optim with a name, whatever its case."""
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
        raise DataError.at("unknown-optimiser", message, option.span, help)
    return wanted


def factor(name: str, done: float, warmup: float = 0.0) -> float:
    """The factor of the learning rates after this share of all steps.

    They rise evenly during the share ``warmup`` of the steps, and then follow the named schedule.
    """
    if done < warmup:
        return done / warmup
    return SCHEDULES[name]((done - warmup) / (1.0 - warmup) if warmup < 1.0 else 0.0)


class Rates:
    """The learning rates of some optimisers, to be scaled together."""

    def __init__(self, optimisers: Sequence[Optimizer], device: torch.device, kept: bool) -> None:
        """With ``kept``, the rates are in the device's memory, where a recorded step finds them."""
        self._optimisers = optimisers
        self._first = [
            float(group["lr"]) for optimiser in optimisers for group in optimiser.param_groups
        ]
        self._kept: list[Tensor | float] = [
            torch.tensor(rate, device=device) if kept else rate for rate in self._first
        ]

    def scale(self, by: float) -> None:
        """Set every rate to its initial value times a factor."""
        groups = [group for optimiser in self._optimisers for group in optimiser.param_groups]
        for place, (group, first) in enumerate(zip(groups, self._first, strict=True)):
            kept = self._kept[place]
            if isinstance(kept, Tensor):
                kept.fill_(first * by)
                group["lr"] = kept  # loading a checkpoint may have replaced it
            else:
                group["lr"] = first * by


class Average:
    """The running average of some tensors.

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
        """Include the present values of the tensors."""
        self._count += 1
        share = torch.maximum(self._least, 1.0 / self._count)
        for mean, live in zip(self._mean, self._live, strict=True):
            mean.lerp_(live, share.to(mean.dtype))

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Replace the tensors by their average for a while."""
        before = [live.clone() for live in self._live]
        self.settle()
        try:
            yield
        finally:
            self._copy(before)

    def settle(self) -> None:
        """Replace the tensors by their average, if there is one yet."""
        if float(self._count):
            self._copy(self._mean)

    @torch.no_grad()
    def _copy(self, values: list[Tensor]) -> None:
        for live, value in zip(self._live, values, strict=True):
            live.copy_(value)

    def tensors(self) -> dict[str, Tensor]:
        means = {f"average.{i}": mean for i, mean in enumerate(self._mean)}
        return {**means, "average.count": self._count} if self._live else {}

    @torch.no_grad()
    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        for name, tensor in self.tensors().items():
            tensor.copy_(tensors[name])
