"""The learning rules: what each makes of one gradient.

For a choice X with values x, g_x = (1/P(O)) ∂P(O)/∂p_x with every p_x free. Then

    gradient    g_x itself, through the softmax of the parameters
    lagrange    g_x - mean of all g: the gradient within the simplex
    neurasp     g_x - the sum of the other g
    fixpoint    p_x g_x = P(X = x | O), whose mean over the examples is the next p_x

A circuit may leave X out where it does not matter; there g lacks the same term for
every x, which is 1 - Σ p_x g_x, and it is added where a rule needs it.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from dpasp.circuits.layers import Integers
from dpasp.dataclass import dataclass
from dpasp.ground.program import FromNetwork, GroundProgram
from dpasp.semantics import leaves
from dpasp.semantics.leaves import layout, leaf_count

RULES = ("lagrange", "neurasp", "fixpoint", "gradient")
LEAST = 1e-12  # what 0 counts as in a logarithm


@dataclass(frozen=True, slots=True)
class LeafGroups:
    """Which leaves belong to the same choice."""

    choice: Tensor  # [leaves]
    sizes: Tensor  # [choices]: how many values each has, nothing included
    complement: Tensor  # [leaves]: that a Boolean network's output is false
    normalised: Tensor  # [leaves]: a value of a network's distribution

    def totals(self, values: Tensor) -> Tensor:
        """The sums over the leaves of each choice, for each leaf."""
        if values.device.type == "cpu":
            sums = values.new_zeros(len(self.sizes), values.shape[1])
            sums.index_add_(0, self.choice, values)
        else:  # the same bits on every run
            sums = torch.segment_reduce(values, "sum", lengths=self.sizes, axis=0, unsafe=True)
        return sums.index_select(0, self.choice)

    def to(self, device: torch.device) -> LeafGroups:
        """The same on a device."""
        parts = (self.choice, self.sizes, self.complement, self.normalised)
        return LeafGroups(*(part.to(device) for part in parts))


def leaf_groups(ground: GroundProgram) -> LeafGroups:
    """The groups of the leaves of a program."""
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
    """The gradient with what the circuit left out; ``mass`` is how many examples a column sums."""
    return slopes + (mass - group.totals(weights * slopes))


def lagrange(slopes: Tensor, group: LeafGroups) -> Tensor:
    """The gradient within the simplex; over the values of a choice it sums to 0.

    >>> no = torch.tensor([False, False])
    >>> one = LeafGroups(torch.tensor([0, 0]), torch.tensor([2]), no, no)
    >>> lagrange(torch.tensor([[3.0], [1.0]]), one).T
    tensor([[ 1., -1.]])
    """
    share = 1.0 / group.sizes.to(slopes.dtype)
    return slopes - group.totals(slopes) * share[group.choice][:, None]


def neurasp(slopes: Tensor, group: LeafGroups) -> Tensor:
    """Each value's gradient less those of all others (of complete gradients)."""
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
    # A Boolean network has one output: the direction of 'false' is already in that of 'true'.
    mapped = mapped.masked_fill(group.complement[:, None], 0.0)
    # What is added to all values alike does nothing behind a normalisation, but costs the digits
    # of the gradient where a slope is large.
    plain = 2.0 * slopes if rule == "neurasp" else slopes
    return torch.where(group.normalised[:, None], plain, mapped)


def with_logits(rule: str, shares: Tensor, group: LeafGroups) -> Tensor:
    """The direction of a rule by the logarithms of weights from logits, by p_x g_x.

    What a rule adds to all values of a choice alike does not matter behind a softmax.
    """
    if rule == "gradient":
        return shares
    boolean = group.totals(group.complement[:, None].to(shares.dtype)) > 0
    factor = 2.0 if rule == "neurasp" else 1.0
    return torch.where(boolean, factor / 2, factor) * shares


def fixpoint(counts: Tensor, old: Tensor, free: Tensor, room: Tensor, smoothing: float) -> Tensor:
    """The next distributions from expected counts [parameters, width].

    ``smoothing`` is added to the count of every value that is learned.
    """
    smoothed = (counts.clamp(min=0.0) + smoothing) * free
    total = smoothed.sum(dim=1, keepdim=True)
    new = torch.where(total > 0, room * smoothed / total.clamp(min=1e-300), old)
    return torch.where(free, new, old)


class MeanEntropy:
    """The entropies of the mean outputs of a program's networks, summed, from leaf weights."""

    def __init__(self, ground: GroundProgram, device: torch.device) -> None:
        place = layout(ground.choices)
        uses: dict[tuple[int, int], list[int]] = {}
        for index, choice in enumerate(ground.choices):
            if isinstance(choice.weight, FromNetwork):
                uses.setdefault((choice.weight.network, choice.weight.outcome), []).append(index)
        self._leaves = [
            torch.from_numpy(
                np.stack([np.arange(place.of(i).start, place.of(i).stop) for i in indices])
            ).to(device)
            for indices in uses.values()
            if leaf_count(ground.choices[indices[0]]) > 1
        ]

    def __call__(self, weights: Tensor) -> Tensor:
        """The sum of the entropies, differentiable by the weights [leaves, batch]."""
        total = weights.new_zeros(())
        for rows in self._leaves:
            mean = weights[rows].mean(dim=(0, 2)).clamp(min=LEAST)
            total = total - (mean * mean.log()).sum()
        return total


@dataclass(frozen=True, slots=True)
class Sums:
    """Sums over sorted segments: what is at ``order[k]`` is added to the row ``rows[k]``."""

    order: Tensor
    rows: Tensor
    offsets: Tensor  # where the segments of equal rows begin, and the end
    target: Tensor  # the row of each segment

    @classmethod
    def by(cls, key: Integers) -> Sums:
        """Sums of the entries that have the same key."""
        order = np.argsort(key, kind="stable")
        target, starts, counts = np.unique(key[order], return_index=True, return_counts=True)
        rows = np.repeat(target, counts)
        offsets = np.append(starts, len(key)).astype(np.int64)
        return cls(*map(torch.from_numpy, (order, rows, offsets, target)))

    def to(self, device: torch.device) -> Sums:
        """The same on a device."""
        parts = (self.order, self.rows, self.offsets, self.target)
        return Sums(*(part.to(device) for part in parts))

    def add(self, total: Tensor, values: Tensor) -> None:
        """Add the sums of the values [entries, batch] to the rows of a total."""
        ordered = values.index_select(0, self.order)
        if values.device.type == "cpu":
            total.index_add_(0, self.rows, ordered)
        else:
            sums = torch.segment_reduce(ordered, "sum", offsets=self.offsets, axis=0, unsafe=True)
            total.index_add_(0, self.target, sums)  # the targets differ: no two writers
