"""An average of the weights of networks over the steps of learning.

At first it is the plain mean; from then on, each step's weights count ``1 - decay``. The average
is what learning leaves in the networks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor


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
