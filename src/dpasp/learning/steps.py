"""One step of learning: the likelihood of a batch, its gradient, and what a rule makes of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from clingo import Symbol
from torch import Tensor
from torch.optim import LBFGS, Optimizer

from dpasp.learning.options import PARAMETER_RATE, Options
from dpasp.learning.parallel import Group
from dpasp.learning.rules import complete, direction, fixpoint, groups
from dpasp.neural.data import Rows
from dpasp.neural.likelihood import Likelihood
from dpasp.neural.module import ProgramModule
from dpasp.neural.sums import Sums

LEAST = -690.0  # the logarithm that stands for that of 0 in a sum
CHUNK = 1000  # examples that networks see at once where a step may take any number
SMALL = 1e-3  # below this probability a prior pulls no harder


@dataclass(frozen=True, slots=True)
class Seen:
    """What a batch says: its log-likelihood, and the gradient of it by the leaf weights."""

    total: Tensor
    weights: Tensor
    slopes: Tensor
    mass: Tensor  # how many examples a column sums up


class Learner:
    """What a step needs: the model, the examples, the rule and the optimisers."""

    def __init__(
        self,
        model: ProgramModule,
        way: Likelihood,
        ids: Tensor,
        data: Mapping[Symbol, Rows],
        rule: str,
        options: Options,
        optimisers: Sequence[Optimizer],
        group: Group,
    ) -> None:
        device = ids.device
        self.model, self.data, self.ids = model, data, ids
        self.way = way.to(device)
        self.rule, self.options = rule, options
        self.optimisers, self.group = list(optimisers), group
        self.groups = groups(model.ground).to(device)
        own = model.sources_on(torch.device("cpu")).parameter.numpy()
        self.learned = torch.from_numpy(np.flatnonzero(own >= 0)).to(device)
        self.instances = Sums.by(own[own >= 0]).to(device)
        self.velocity = torch.zeros_like(model.probabilities.fixed)

    def step(self, batch: Tensor) -> Tensor:
        """Learn from the examples of a batch; their log-likelihood before it, summed."""
        if self.rule == "fixpoint":
            return self._expect(batch)
        seen = self._ascend(batch)
        for optimiser in self.optimisers:
            if isinstance(optimiser, LBFGS):
                optimiser.step(lambda: float(-self._ascend(batch).total))  # type: ignore[no-untyped-call]
            else:
                optimiser.step()
        if len(self.model.probabilities) and self.rule != "gradient":
            self._climb(seen, len(batch))
        return seen.total

    @torch.no_grad()
    def likelihood(self, batch: Tensor) -> Tensor:
        """The log-likelihood of some examples, summed."""
        return self._look(self._weights(batch), batch).total

    def _ascend(self, batch: Tensor) -> Seen:
        """Set the gradients of everything that an optimiser moves; what the batch says."""
        for optimiser in self.optimisers:
            optimiser.zero_grad()
        share = self.group.share(batch)
        weights = self._weights(share)
        seen = self._look(weights.detach(), share)
        if weights.requires_grad:
            up = direction(self.rule, seen.slopes, seen.weights, self.groups, seen.mass)
            torch.autograd.backward(weights, up / -len(batch))
        if self.rule == "gradient" and self.options.smoothing and len(self.model.probabilities):
            self._add_prior()
        if self.group.size > 1:
            self.group.add([seen.total, *self._gradients()])
        return seen

    def _gradients(self) -> Iterator[Tensor]:
        """The gradients of everything that an optimiser moves, 0 where there is none."""
        for optimiser in self.optimisers:
            for part in optimiser.param_groups:
                for parameter in part["params"]:
                    if parameter.grad is None:
                        parameter.grad = torch.zeros_like(parameter)
                    yield parameter.grad

    def _look(self, weights: Tensor, batch: Tensor) -> Seen:
        """The log-likelihood of a batch under its weights, and the gradient."""
        ids = self.ids[batch]
        if not weights.shape[1]:
            return Seen(weights.new_zeros(()), weights, weights, weights.new_ones(1))
        if self.data:
            logs, slopes = self.way.log(weights, ids)
            return Seen(logs.clamp(min=LEAST).sum(), weights, slopes, weights.new_ones(1))
        counts = torch.bincount(ids, minlength=self.way.count).to(weights.dtype)
        logs, slopes = self.way.log_shared(weights, counts)
        total = torch.where(counts > 0, logs.clamp(min=LEAST), 0.0) @ counts
        return Seen(total, weights, slopes, counts.sum().reshape(1))

    def _weights(self, batch: Tensor) -> Tensor:
        """The leaf weights of some examples; a process may be left without any."""
        if self.data and not len(batch):
            return torch.empty(len(self.groups.choice), 0, dtype=torch.float64, device=batch.device)
        return self.model.weights({atom: rows.take(batch) for atom, rows in self.data.items()})

    # --- probabilities that move by themselves -------------------------------------------------

    @torch.no_grad()
    def _expect(self, batch: Tensor) -> Tensor:
        """Set the probabilities to their expected shares; the log-likelihood before that."""
        parameters = self.model.probabilities
        old = parameters()
        counts = torch.zeros_like(old)
        total: Tensor = old.new_zeros(())
        for part in torch.split(batch, CHUNK if self.data else len(batch)):
            share = self.group.share(part)
            seen = self._look(self._weights(share), share)
            whole = complete(seen.slopes, seen.weights, self.groups, seen.mass)
            counts += self._by_parameter(seen.weights * whole)
            total += seen.total
        self.group.add([counts, total])
        free, room = parameters.free, parameters.room
        new = fixpoint(counts, old, free, room, self.options.smoothing)
        keep = self.options.momentum
        parameters.assign(keep * old + (1.0 - keep) * new)
        return total

    @torch.no_grad()
    def _climb(self, seen: Seen, examples: int) -> None:
        """Move the probabilities in the direction of the rule, and back to the simplex."""
        parameters = self.model.probabilities
        old = parameters()
        up = direction(self.rule, seen.slopes, seen.weights, self.groups, seen.mass)
        slope = self._by_parameter(up) / examples
        self.group.add([slope])
        if self.options.smoothing:
            slope += self._share_of_prior() / old.clamp(min=SMALL)
        self.velocity = self.options.momentum * self.velocity + slope
        rate = PARAMETER_RATE if self.options.lr is None else self.options.lr
        parameters.project(old + rate * self.velocity)

    def _by_parameter(self, values: Tensor) -> Tensor:
        """Leaf values [leaves, columns] summed over columns and instances, [parameters, width]."""
        shape = self.model.probabilities.fixed.shape
        total = values.new_zeros(shape.numel(), 1)
        own = values.sum(dim=1, keepdim=True).index_select(0, self.learned)
        self.instances.add(total, own)
        return total.reshape(shape)

    def _share_of_prior(self) -> float:
        """What the pseudo-observations of ``smoothing`` weigh beside one example."""
        return self.options.smoothing / len(self.ids)

    def _add_prior(self) -> None:
        """Add the gradient of the pseudo-observations to that of the examples."""
        parameters = self.model.probabilities
        logs = parameters()[parameters.free].clamp(min=SMALL).log().sum()
        torch.autograd.backward(-self._share_of_prior() / self.group.size * logs)
