"""Standard errors of learned probabilities: from the curvature of the likelihood.

The observed information is the negative second derivative of the log-likelihood by the
probabilities, along the simplex; its inverse is the covariance of what was learned. Gradients
come from the circuit, their differences are central ones.

>>> import dpasp
>>> program = dpasp.loads("?::a. #query a.")
>>> _ = program.learn(["a"] * 30 + ["not a"] * 10)
>>> [f"{error:.4f}" for rule in program.query().learned for error in rule["errors"]]
['0.0685']
>>> f"{(0.75 * 0.25 / 40) ** 0.5:.4f}"  # that of 40 throws of a coin
'0.0685'
"""

from __future__ import annotations

import torch
from torch import Tensor

from dpasp.dataclass import dataclass
from dpasp.learning.steps import Learner

EDGE = 1e-6  # below this a probability is at the border, where the curvature says nothing
STEP = 1e-4  # of a difference, as a share of the smaller of the two probabilities that change
FLAT = 1e-9  # a curvature below this share of the largest is none
Errors = list[list[float | None]]


@dataclass(frozen=True, slots=True)
class Direction:
    """One value of a parameter rises, and the most probable one falls."""

    row: int
    rises: int
    falls: int


@dataclass(frozen=True, slots=True)
class Fit:
    """What was learned, and from which examples."""

    learner: Learner
    examples: Tensor

    def directions(self) -> list[Direction]:
        """The ways in which the probabilities can change, away from their borders."""
        parameters = self.learner.model.probabilities
        directions, rows = [], parameters().detach()
        for row, (values, free) in enumerate(zip(rows, parameters.free, strict=True)):
            inside = [i for i in range(len(values)) if free[i] and float(values[i]) > EDGE]
            if len(inside) < 2:
                continue
            falls = max(inside, key=lambda i: float(values[i]))
            directions += [Direction(row, i, falls) for i in inside if i != falls]
        return directions

    def standard_errors(self) -> Errors:
        """The standard error of every head of every parameter.

        None where the observations do not determine it, or where it is at the border.
        """
        directions = self.directions()
        sizes = [len(parameter.initial) for parameter in self.learner.model.ground.parameters]
        errors: Errors = [[None] * size for size in sizes]
        covariance, known = _inverse(self._information(directions))
        for falls in {(d.row, d.falls) for d in directions}:
            same = [i for i, d in enumerate(directions) if (d.row, d.falls) == falls]
            for i in same:
                d = directions[i]
                _set(errors, d.row, d.rises, covariance[i, i], bool(known[i]))
            variance = covariance[same][:, same].sum()
            _set(errors, *falls, variance, bool(known[same].all()))
        return errors

    @torch.no_grad()
    def _information(self, directions: list[Direction]) -> Tensor:
        """The negative second derivatives of the log-likelihood along the directions."""
        parameters = self.learner.model.probabilities
        before, start = parameters.logits.detach().clone(), parameters().detach().clone()
        information = torch.zeros(len(directions), len(directions), dtype=torch.float64)
        try:
            for i, d in enumerate(directions):
                step = STEP * float(min(start[d.row, d.rises], start[d.row, d.falls]))
                sides = []
                for sign in (1.0, -1.0):
                    moved = start.clone()
                    moved[d.row, d.rises] += sign * step
                    moved[d.row, d.falls] -= sign * step
                    parameters.assign(moved)
                    sides.append(self._slopes(directions))
                information[i] = -(sides[0] - sides[1]) / (2 * step)
        finally:
            parameters.logits.copy_(before)
        return (information + information.T) / 2

    def _slopes(self, directions: list[Direction]) -> Tensor:
        """The derivatives of the log-likelihood along the directions."""
        slopes = self.learner.slopes(self.examples).cpu()
        return torch.stack([slopes[d.row, d.rises] - slopes[d.row, d.falls] for d in directions])


def _inverse(information: Tensor) -> tuple[Tensor, Tensor]:
    """The covariance, and which directions the information determines."""
    if not len(information):
        return information, information.new_zeros(0, dtype=torch.bool)
    values, vectors = torch.linalg.eigh(information)
    good = values > FLAT * float(values.abs().max().clamp(min=FLAT))
    known = (vectors[:, ~good].square().sum(dim=1)) < FLAT
    scaled = vectors[:, good] / values[good].sqrt()
    return scaled @ scaled.T, known


def _set(errors: Errors, row: int, place: int, variance: Tensor, known: bool) -> None:
    """Note the error of a head; choosing nothing has none of its own."""
    if place < len(errors[row]) and known:
        errors[row][place] = float(variance.sqrt())
