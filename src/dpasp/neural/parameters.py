"""The learnable probabilities of a program as one torch module.

Their distributions are softmaxes of free numbers, so any optimiser keeps them on the
simplex; values that the program fixes keep their share.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from torch import Tensor, nn

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, UsageError
from dpasp.ground.program import Choice, GroundProgram, IntervalWeights, Learned, Parameter
from dpasp.semantics.meaning import Meaning

LEAST = 1e-300  # what 0 counts as in a logarithm
ByParameter = tuple[tuple[float, ...], ...]  # by parameter and head


@dataclass(frozen=True, slots=True)
class LearnedIntervals:
    """The ends of the learned intervals, by parameter and head."""

    lower: ByParameter
    upper: ByParameter

    def put_into(self, ground: GroundProgram, meaning: Meaning) -> GroundProgram:
        """A ground program with these intervals in place of what it learns.

        Raises :class:`UsageError` under maxent, where a probability is a number.
        """
        if meaning.maxent:
            message = "intervals were learned (imprecise), which have no meaning under maxent"
            help = "ask under credal, or learn again without imprecise"
            raise UsageError(Diagnostic("credal-under-maxent", message, help=help))

        def bounded(choice: Choice) -> Choice:
            if not isinstance(choice.weight, Learned):
                return choice
            which = choice.weight.parameter
            return replace(choice, weight=IntervalWeights(self.lower[which], self.upper[which]))

        return replace(ground, choices=tuple(map(bounded, ground.choices)))


class Parameters(nn.Module):
    """The distributions of all parameters, as the rows of one padded matrix.

    A row has one entry for each head of its statement and one more for choosing nothing,
    where that is possible. After ``imprecise`` learning there are intervals beside the numbers;
    all modules of the program answer with them.
    """

    intervals: LearnedIntervals | None = None
    fixed: Tensor  # [parameters, width]: the values that stay, and 0 elsewhere
    free: Tensor  # [parameters, width]: which entries are learned
    logits: Tensor

    def __init__(self, parameters: Sequence[Parameter]) -> None:
        super().__init__()
        sizes = [len(parameter.initial) + parameter.nothing for parameter in parameters]
        shape = (len(parameters), max(sizes, default=0))
        start = torch.zeros(shape, dtype=torch.float64)
        fixed = torch.zeros(shape, dtype=torch.float64)
        free = torch.zeros(shape, dtype=torch.bool)
        for i, parameter in enumerate(parameters):
            size = len(parameter.initial)
            start[i, :size] = torch.tensor(parameter.initial, dtype=torch.float64)
            kept = torch.tensor(parameter.fixed)
            fixed[i, :size] = start[i, :size] * kept
            free[i, :size] = ~kept
            if parameter.nothing:
                start[i, size] = max(0.0, 1.0 - float(start[i, :size].sum()))
                free[i, size] = True
        self.register_buffer("fixed", fixed, persistent=False)
        self.register_buffer("free", free, persistent=False)
        self.sizes = tuple(sizes)
        if parameters:
            self.logits = nn.Parameter(torch.zeros(int(free.sum()), dtype=torch.float64))
            self.assign(start)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Parameters:
        """Move to a device; the numbers stay in double precision, whatever the networks use."""

        def moved(tensor: Tensor) -> Tensor:
            result = fn(tensor)
            return result if result.dtype == tensor.dtype else tensor.to(result.device)

        super()._apply(moved, recurse)  # type: ignore[no-untyped-call]
        return self

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def room(self) -> Tensor:
        """The mass [parameters, 1] that the learned entries share."""
        return (1.0 - self.fixed.sum(dim=1, keepdim=True)).clamp(min=0.0)

    def forward(self) -> Tensor:
        """The distributions [parameters, width]; entries beyond a row's own are 0."""
        spread = self.fixed.new_full(self.fixed.shape, -torch.inf)
        spread = spread.masked_scatter(self.free, self.logits.double())
        # A row without free entries would be 0/0.
        spread = torch.where(self.free.any(dim=1, keepdim=True), spread, 0.0)
        shares = torch.softmax(spread, dim=1) * self.free
        shares = torch.where(shares > 2 * LEAST, shares, 0.0)  # what was set to 0 is 0
        return self.fixed + self.room * shares

    @torch.no_grad()
    def assign(self, distributions: Tensor) -> None:
        """Set the distributions [parameters, width]; fixed entries are left as they are."""
        self.logits.copy_(distributions[self.free].clamp(min=LEAST).log())

    @torch.no_grad()
    def project(self, distributions: Tensor) -> None:
        """Set the distributions to the nearest ones on the simplex."""
        self.assign(onto_simplex(distributions, self.free, self.room))

    def table(self) -> list[list[float]]:
        """The probabilities of the heads of each parameter, without that of nothing."""
        if not self.sizes:
            return []
        rows = self().detach().cpu()
        return [row[:size].tolist() for row, size in zip(rows, self.sizes, strict=True)]


def onto_simplex(points: Tensor, free: Tensor, room: Tensor) -> Tensor:
    """The Euclidean projection of rows onto {x ≥ 0 on the free entries, Σ x = room}.

    >>> points, free = torch.tensor([[0.9, 0.5, 7.0]]), torch.tensor([[True, True, False]])
    >>> onto_simplex(points, free, torch.ones(1, 1))
    tensor([[0.7000, 0.3000, 0.0000]])
    """
    values = torch.where(free, points, -torch.inf)
    ordered = values.sort(dim=1, descending=True).values
    finite = torch.where(ordered.isinf(), 0.0, ordered)
    counts = torch.arange(1, values.shape[1] + 1, device=points.device, dtype=points.dtype)
    thresholds = (finite.cumsum(dim=1) - room) / counts
    inside = (ordered > thresholds) & ~ordered.isinf()
    last = inside.sum(dim=1, keepdim=True).clamp(min=1) - 1
    return torch.where(free, (points - thresholds.gather(1, last)).clamp(min=0.0), 0.0)
