"""The entropy of what networks say on the whole: a reward for using all of their values.

A network that satisfies every observation with half of its values has found a shortcut; the
entropy of its mean output over a batch is greatest where it uses all of them alike.

>>> from dpasp.language import parse
>>> from dpasp.ground import ground
>>> program = ground(parse("?::d(X, {0, 1}) as @net :- in(X). in(0) ~ train(@xs)."))
>>> entropy = MeanEntropy(program, torch.device("cpu"))
>>> rows = torch.tensor([[1.0, 0.0], [0.0, 1.0]])  # two examples, each sure of another value
>>> round(float(entropy(rows)), 4), round(float(entropy(rows[:, :1])), 4)
(0.6931, 0.0)
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from dpasp.ground.program import FromNetwork, GroundProgram
from dpasp.semantics.leaves import layout, leaf_count

LEAST = 1e-12  # what 0 counts as in a logarithm


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
        for leaves in self._leaves:
            mean = weights[leaves].mean(dim=(0, 2)).clamp(min=LEAST)
            total = total - (mean * mean.log()).sum()
        return total
