"""The probability of observations where some probabilities are intervals.

P(O) is linear in each single probability, so its least and greatest values lie at vertices: every
choice with intervals at one of its extreme distributions. There all other probabilities have an
ordinary gradient (that of the envelope); where several vertices are equally extreme, it is the
mean of theirs. Where some total choices have no model, P(O) is divided by the probability that
there is one at the same vertex: a ratio whose extremes lie at vertices, too.

>>> from dpasp import loads
>>> points = vertex_points(loads("0.3::a. [0.2, 0.4]::b.").ground())
>>> points
tensor([[   nan,    nan],
        [   nan,    nan],
        [0.2000, 0.4000],
        [0.8000, 0.6000]], dtype=torch.float64)
>>> at_vertices(torch.tensor([[0.3], [0.7], [0.0], [0.0]]), points)
tensor([[0.3000, 0.3000],
        [0.7000, 0.7000],
        [0.2000, 0.4000],
        [0.8000, 0.6000]])
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, SizeLimit
from dpasp.ground.program import GroundProgram
from dpasp.inference.intervals.vertices import corners, vertex_weights
from dpasp.learning.masses import (
    LEAST_LINEAR,
    MassEngine,
    MassMixture,
    NativeEngine,
    consistent_mass,
    log_of_mixture,
    log_or_never,
    mixture_of,
    tries_of,
)
from dpasp.learning.observations import Observation
from dpasp.learning.tuning import TUNING
from dpasp.semantics.leaves import layout
from dpasp.semantics.meaning import Meaning, Objective

TIE = 1e-12  # logarithms that differ by less are of the same probability


Back = Callable[[Tensor], Tensor]


@dataclass(frozen=True, slots=True)
class Side:
    """The lower or the upper probability, and its share of the objective."""

    mixture: MassMixture
    share: float
    least: bool

    def best(self, logs: Tensor) -> tuple[Tensor, Tensor]:
        """The extreme of logs [..., vertices], and the share of each vertex in its gradient."""
        best = logs.amin(dim=-1) if self.least else logs.amax(dim=-1)
        best = torch.where(best == torch.inf, -torch.inf, best)  # no vertex has a model
        tied = (logs - best[..., None]).abs() <= TIE
        tied &= best.isfinite()[..., None]
        return best, tied / tied.sum(dim=-1, keepdim=True).clamp(min=1)


@dataclass(frozen=True, slots=True)
class AtExtremes:
    """Every distinct observation is a root of the circuit, evaluated at every vertex."""

    engine: MassEngine
    sides: tuple[Side, ...]
    points: Tensor  # [leaves, vertices]: the weights of choices with intervals, NaN elsewhere
    normalised: bool = False  # whether some total choices have no model and do not count

    @property
    def count(self) -> int:
        return self.engine.questions

    @property
    def joint(self) -> AtExtremes:
        """That an observation holds and there is a model."""
        return replace(self, normalised=False)

    def to(self, device: torch.device) -> AtExtremes:
        sides = tuple(replace(side, mixture=side.mixture.to(device)) for side in self.sides)
        return replace(
            self, engine=self.engine.to(device), sides=sides, points=self.points.to(device)
        )

    def log(self, weights: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
        batch, columns = weights.shape[1], torch.arange(len(ids), device=weights.device)
        wide = at_vertices(weights, self.points)
        traced = [self._traced(side, wide) for side in self.sides]
        shape = (self.count, batch, self.points.shape[1])
        observed = [logs.view(shape)[ids, columns] for logs, _ in traced]

        def seeds(chosen: Tensor) -> Tensor:
            every = chosen.new_zeros(shape)
            every[ids, columns] = chosen
            return every.reshape(self.count, -1)

        logs, slopes = self._combined(observed, [back for _, back in traced], seeds)
        return logs, slopes.view(len(weights), batch, -1).sum(dim=2)

    def log_by_logs(self, logs: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
        found, slopes = self.log(logs.exp(), ids)
        return found, slopes * logs.exp()

    def composed(self, weights: Tensor, ids: Tensor) -> Tensor:
        columns = torch.arange(len(ids), device=weights.device)
        wide = at_vertices(weights, self.points)
        shape = (self.count, weights.shape[1], self.points.shape[1])
        sides = []
        for side in self.sides:
            every = log_of_mixture(wide, self.engine, side.mixture)
            if self.normalised:
                given = log_of_mixture(
                    wide, self.engine, consistent_mass(self.count).to(wide.device)
                )
                every = _given(every, given, side.least)
            logs = every.view(shape)[ids, columns]
            best, tied = side.best(logs.detach())
            at_best = torch.where(tied > 0, logs * tied, 0.0).sum(dim=-1)
            sides.append(best + (at_best - at_best.detach()) + math.log(side.share))
        total = torch.stack(sides)
        possible = total.detach().amax(dim=0).isfinite()
        return torch.where(possible, total, 0.0).logsumexp(dim=0)

    def log_shared(self, weights: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
        """log P [distinct observations] under one weight vector [leaves, 1].

        The gradient [leaves, 1] is that of Σ counts · log P over the observations.
        """
        wide = at_vertices(weights, self.points)
        traced = [self._traced(side, wide) for side in self.sides]
        side_logs, backs = [logs for logs, _ in traced], [back for _, back in traced]
        scaled = counts.to(weights.dtype)[:, None]
        logs, slopes = self._combined(side_logs, backs, lambda chosen: chosen * scaled)
        return logs, slopes.sum(dim=1, keepdim=True)

    def _combined(
        self, side_logs: Sequence[Tensor], backs: Sequence[Back], seeds: Callable[[Tensor], Tensor]
    ) -> tuple[Tensor, Tensor]:
        """The objective's logarithm from that of each side [rows, vertices], and the slopes."""
        total, shares = self._shared_out(side_logs)
        slopes = [back(seeds(share)) for back, share in zip(backs, shares, strict=True)]
        return total, torch.stack(slopes).sum(dim=0)

    def _shared_out(self, side_logs: Sequence[Tensor]) -> tuple[Tensor, list[Tensor]]:
        """The objective's logarithm, and by side the share of each vertex [rows, vertices]."""
        bests = [side.best(logs) for side, logs in zip(self.sides, side_logs, strict=True)]
        shares = torch.stack([
            best + math.log(side.share) for side, (best, _) in zip(self.sides, bests, strict=True)
        ])  # fmt: skip
        total = shares.logsumexp(dim=0)
        parts = torch.where(total.isfinite(), (shares - total).exp(), 0.0)
        return total, [tied * part[..., None] for (_, tied), part in zip(bests, parts, strict=True)]

    def tries(self, weights: Tensor, ids: Tensor) -> Tensor | None:
        """How many total choices [batch] are drawn until one has a model, at the extremes."""
        if not self.normalised:
            return None
        wide = at_vertices(weights, self.points)
        batch, vertices = weights.shape[1], self.points.shape[1]
        place = torch.arange(batch, device=ids.device).expand(len(ids))
        shape = (self.count, batch, vertices)
        observed = [self._traced(s, wide)[0].view(shape)[ids, place] for s in self.sides]
        given = self.engine.traced(wide, ("consistent",), log=True)[0][0, 0]
        tries = tries_of(given).view(batch, vertices)[place]
        shares = torch.stack(self._shared_out(observed)[1])
        return (tries * shares).sum(dim=(0, 2))

    def _traced(self, side: Side, wide: Tensor) -> tuple[Tensor, Back]:
        """log P [observations, columns], and what takes seeds of it back to slopes."""
        mixture = side.mixture
        if self.normalised:
            both, back = self.engine.traced(wide, (*mixture.fields, "consistent"), log=True)
            logs = _given(both[:, 0], both[:, 1], side.least)
            return logs, lambda seeds: back(torch.stack([seeds, -seeds], dim=1))
        if mixture.single:
            logs, back = self.engine.traced(wide, mixture.fields, log=True)
            return logs[:, 0], lambda seeds: back(seeds[:, None])
        masses, back = self.engine.traced(wide, mixture.fields)
        rates = mixture.coefficients[:, :, None]
        mixed = (masses * rates).sum(dim=1) + mixture.constant[:, None]

        def scaled(seeds: Tensor) -> Tensor:
            return back((seeds / mixed.clamp(min=LEAST_LINEAR))[:, None] * rates)

        return log_or_never(mixed), scaled


def _given(joint: Tensor, consistent: Tensor, least: bool) -> Tensor:
    """Logarithms given that there is a model; a vertex without any is no extreme one."""
    logs = torch.where(joint == -torch.inf, joint, joint - consistent)
    return torch.where(consistent == -torch.inf, torch.inf if least else -torch.inf, logs)


def at_extremes(
    ground: GroundProgram,
    meaning: Meaning,
    observations: Sequence[Observation],
    objective: Objective,
    engine: NativeEngine,
    normalised: bool = False,
) -> AtExtremes:
    """The probability of the observations of a program with intervals.

    With ``normalised``, given that there is a model.
    """
    sides = tuple(
        Side(mixture_of(engine.definite, meaning, observations, float(least)), share, least)
        for least, share in ((True, objective.lower), (False, 1.0 - objective.lower))
        if share
    )
    return AtExtremes(engine, sides, vertex_points(ground), normalised)


def vertex_points(ground: GroundProgram) -> Tensor:
    """The weights [leaves, vertices] of choices with intervals at every vertex, NaN elsewhere.

    Raises :class:`SizeLimit` where there are too many vertices to try.
    """
    number = math.prod(len(corner.points) for corner in corners(ground))
    if number > TUNING.vertices:
        message = f"the intervals have {number:,} extreme distributions: too many for a module"
        help = "give single probabilities in place of some intervals, to have at most "
        help += f"{TUNING.vertices:,}; program.query(…) has other ways"
        raise SizeLimit(Diagnostic("learn-intervals", message, help=help))
    blank = np.full((layout(ground.choices).size, 1), np.nan)
    batches = vertex_weights(corners(ground), blank, 1 << 16)
    return torch.cat([torch.from_numpy(batch[:, :, 0].copy()) for batch in batches], dim=1)


def at_vertices(weights: Tensor, points: Tensor) -> Tensor:
    """The weights [leaves, batch · vertices] at every vertex, those of a column side by side."""
    wide = weights[:, :, None].expand(-1, -1, points.shape[1])
    ends = points.to(weights)[:, None, :].expand_as(wide)
    return torch.where(ends.isnan(), wide, ends).reshape(len(weights), -1)
