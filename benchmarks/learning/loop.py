"""The hand-written PyTorch loop for the addition of MNIST digits: what dPASP is measured by."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def sum_probabilities(first: Tensor, second: Tensor) -> Tensor:
    """P(sum) [rows, 19] from the two digits' distributions [rows, 10]: a convolution."""
    rows = len(first)
    joint = first[:, :, None] * second[:, None, :]
    padded = torch.zeros(rows, 10, 20, dtype=first.dtype, device=first.device)
    padded[:, :, :10] = joint
    # Row i of the joint distribution moves i places to the right: read as a skewed matrix.
    return padded.reshape(rows, 200)[:, :190].reshape(rows, 10, 19).sum(1)


def epoch(
    net: nn.Module,
    optimiser: torch.optim.Optimizer,
    first: Tensor,
    second: Tensor,
    sums: Tensor,
    order: Tensor,
    batch: int,
) -> None:
    """One pass over the pairs."""
    net.train()
    for part in torch.split(order, batch):
        images = torch.cat([first[part], second[part]])
        digits = net(images)
        found = sum_probabilities(digits[: len(part)], digits[len(part) :])
        loss = -found.gather(1, sums[part, None]).log().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()


@torch.no_grad()
def accuracy(net: nn.Module, first: Tensor, second: Tensor, sums: Tensor) -> float:
    """How many of the test sums are right."""
    net.eval()
    digits = net(first), net(second)
    best = sum_probabilities(*digits).argmax(1)
    return float((best == sums).double().mean())
