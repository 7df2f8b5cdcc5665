"""The probability of observations in programs with intervals of probabilities.

P(O) is linear in each single probability, so its least and greatest values are attained at
vertices, where every choice with intervals has one of its extreme distributions. There, all other
probabilities have an ordinary gradient (that of the envelope); if several vertices are equally
extreme, it is the mean of theirs. If some total choices have no model, P(O) is divided by the
probability of a model at the same vertex; such ratios are also extreme at vertices.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from dpasp.dataclass import dataclass
from dpasp.errors import SizeLimit
from dpasp.ground.program import GroundProgram
from dpasp.inference.intervals import corners, vertex_weights
from dpasp.inference.tuning import EXACT
from dpasp.learning.masses import (
    CircuitEngine,
    MassEngine,
    MassMixture,
    consistent_mass,
    log_of_mixture,
    mixture_of,
    tries_of,
    with_slopes,
)
from dpasp.learning.networks import OnDevice
from dpasp.learning.observations import Observation
from dpasp.semantics.leaves import layout
from dpasp.semantics.meaning import Meaning, Objective

TIE = 1e-12  # logarithms that differ by less count as equal


@dataclass(frozen=True, slots=True)
class Side(OnDevice):
    """The lower or the upper probability, and its share of the objective."""

    mixture: MassMixture
    share: float
    least: bool

    def best(self, logs: Tensor) -> tuple[Tensor, Tensor]:
        """The extreme of logs [..., vertices], and each vertex's share in its gradient."""
        best = logs.amin(dim=-1) if self.least else logs.amax(dim=-1)
        best = torch.where(best == torch.inf, -torch.inf, best)  # no vertex has a model
        tied = (logs - best[..., None]).abs() <= TIE
        tied &= best.isfinite()[..., None]
        return best, tied / tied.sum(dim=-1, keepdim=True).clamp(min=1)


@dataclass(frozen=True, slots=True)
class AtExtremes(OnDevice):
    """Every distinct observation is a root of the circuit, evaluated at every vertex."""

    engine: MassEngine
    sides: tuple[Side, ...]
    points: Tensor  # [leaves, vertices]: the weights of choices with intervals, NaN elsewhere
    normalised: bool = False  # whether to divide by the probability of a model

    @property
    def count(self) -> int:
        return self.engine.questions

    @property
    def joint(self) -> AtExtremes:
        return replace(self, normalised=False)

    def log(self, at: Tensor, ids: Tensor, by_logs: bool = False) -> tuple[Tensor, Tensor]:
        def logs(at: Tensor) -> Tensor:
            return self.composed(at.exp() if by_logs else at, ids)

        return with_slopes(logs, at)

    def log_shared(self, weights: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
        def every(at: Tensor) -> Tensor:
            return self._combined(self._by_side(at))[:, 0]

        return with_slopes(every, weights, counts)

    def composed(self, weights: Tensor, ids: Tensor) -> Tensor:
        columns = torch.arange(len(ids), device=weights.device)
        return self._combined([logs[ids, columns] for logs in self._by_side(weights)])

    def tries(self, weights: Tensor, ids: Tensor) -> Tensor | None:
        if not self.normalised:
            return None
        columns = torch.arange(weights.shape[1], device=ids.device).expand(len(ids))
        by_side = torch.stack([logs[ids, columns] for logs in self._by_side(weights)])
        # How much a vertex contributes is the slope of the objective by it.
        shares = with_slopes(lambda sides: self._combined(list(sides)), by_side)[1]
        wide = at_vertices(weights, self.points)
        given = self.engine.traced(wide, ("consistent",), log=True)[0][0, 0]
        tries = tries_of(given).view(weights.shape[1], -1)[columns]
        return (tries * shares).sum(dim=(0, 2))

    def _by_side(self, weights: Tensor) -> list[Tensor]:
        """By side, log P of the observations [observations, batch, vertices] at every vertex."""
        wide = at_vertices(weights, self.points)
        shape = (self.count, weights.shape[1], -1)
        found = [log_of_mixture(wide, self.engine, side.mixture) for side in self.sides]
        if self.normalised:
            always = consistent_mass(self.count).to(wide.device)
            given = log_of_mixture(wide, self.engine, always)
            pairs = zip(self.sides, found, strict=True)
            found = [_given(logs, given, side.least) for side, logs in pairs]
        return [logs.view(shape) for logs in found]

    def _combined(self, by_side: Sequence[Tensor]) -> Tensor:
        """The logarithm of the objective, from logs [..., vertices] of each side."""
        shares = []
        for side, logs in zip(self.sides, by_side, strict=True):
            best, tied = side.best(logs.detach())
            at_best = torch.where(tied > 0, logs * tied, 0.0).sum(dim=-1)
            shares.append(best + (at_best - at_best.detach()) + math.log(side.share))
        total = torch.stack(shares)
        possible = total.detach().amax(dim=0).isfinite()
        return torch.where(possible, torch.where(possible, total, 0.0).logsumexp(dim=0), -torch.inf)


def _given(joint: Tensor, consistent: Tensor, least: bool) -> Tensor:
    """Logarithms given that there is a model; a vertex without any is not extreme."""
    logs = torch.where(joint == -torch.inf, joint, joint - consistent)
    return torch.where(consistent == -torch.inf, torch.inf if least else -torch.inf, logs)


def at_extremes(
    ground: GroundProgram,
    meaning: Meaning,
    observations: Sequence[Observation],
    objective: Objective,
    engine: CircuitEngine,
    normalised: bool = False,
) -> AtExtremes:
    """The probability of observations of a program with intervals; see :class:`AtExtremes`."""
    sides = tuple(
        Side(mixture_of(engine.circuit.definite, meaning, observations, float(least)), share, least)
        for least, share in ((True, objective.lower), (False, 1.0 - objective.lower))
        if share
    )
    return AtExtremes(engine, sides, vertex_points(ground), normalised)


def vertex_points(ground: GroundProgram) -> Tensor:
    """The weights [leaves, vertices] of choices with intervals at every vertex, NaN elsewhere.

    Raises :class:`SizeLimit` if there are too many vertices to try.
    """
    number = math.prod(len(corner.points) for corner in corners(ground))
    if number > EXACT.tried_vertices:
        message = f"the intervals have {number:,} extreme distributions: too many for a module"
        help = "give single probabilities in place of some intervals, to have at most "
        help += f"{EXACT.tried_vertices:,}; program.query(…) has other ways"
        raise SizeLimit.at("learn-intervals", message, help=help)
    blank = np.full((layout(ground.choices).size, 1), np.nan)
    batches = vertex_weights(corners(ground), blank, 1 << 16)
    return torch.cat([torch.from_numpy(batch[:, :, 0].copy()) for batch in batches], dim=1)


def at_vertices(weights: Tensor, points: Tensor) -> Tensor:
    """The weights [leaves, batch · vertices] at every vertex, those of a column side by side."""
    wide = weights[:, :, None].expand(-1, -1, points.shape[1])
    ends = points.to(weights)[:, None, :].expand_as(wide)
    return torch.where(ends.isnan(), wide, ends).reshape(len(weights), -1)
