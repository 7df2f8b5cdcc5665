"""How sure learned probabilities are: standard errors, and imprecise Dirichlet intervals.

The observed information is the negative second derivative of the log-likelihood by the
probabilities, along the simplex; its inverse is the covariance of what was learned. It is computed
from central differences of the circuit's gradients. If there is no standard error, a reason is
given instead.

``imprecise = s`` asks for intervals: with counts n of the values of a choice, N in all, every
Dirichlet prior of strength s expects a probability between n / (N + s) and (n + s) / (N + s). For
choices that are not observed directly, these are expected counts; an example whose probability does
not depend on a choice does not count for it.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

import torch
from torch import Tensor

from dpasp.dataclass import dataclass
from dpasp.errors import DataError, Span
from dpasp.learning.module import ProgramModule
from dpasp.learning.steps import Learner
from dpasp.learning.weights import ByParameter, LearnedIntervals

EDGE = 1e-6  # a probability below this is at the border, where the curvature says nothing
NEAR = 1e-2  # farther from the edge that it moves towards than this, it has not converged
# the step of a difference, as a share of the smaller of the two probabilities that change
STEP = 1e-4
FLAT = 1e-6  # curvatures below this count as 0, in directions scaled to curvature 1
WIDEST = 0.5  # the largest possible standard error


class NoError(Enum):
    """Why a learned probability has no standard error; the value is what a person reads."""

    EDGE = "it is at an edge, 0 or 1"
    UNDETERMINED = "the observations do not determine it"
    UNFINISHED = "what was learned is not at a maximum of the likelihood"
    FIXED = "it is not learned"


@dataclass(frozen=True, slots=True)
class Errors:
    """The standard error of every head of every parameter, or why there is none."""

    values: list[list[float | None]]
    reasons: list[list[NoError | None]]


class Direction(NamedTuple):
    """A direction in which one value of a parameter rises and the most probable one falls."""

    row: int
    rises: int
    falls: int


@dataclass(frozen=True, slots=True)
class Fit:
    """What was learned, and from which examples."""

    learner: Learner
    examples: Tensor

    def directions(self) -> list[Direction]:
        """The directions in which the probabilities can change, away from their borders."""
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
        parameters = self.learner.model.probabilities
        table, free = parameters().detach().cpu(), parameters.free.cpu()
        sizes = [len(parameter.initial) for parameter in self.learner.model.ground.parameters]
        errors = Errors(
            [[None] * size for size in sizes],
            [
                [NoError.EDGE if free[row, i] else NoError.FIXED for i in range(size)]
                for row, size in enumerate(sizes)
            ],
        )
        directions = self.directions()
        if not directions:
            return errors
        covariance, known = _inverse(self._information(directions))
        steps = covariance @ self._slopes(directions)
        for row, falls in {(d.row, d.falls) for d in directions}:
            same = [n for n, d in enumerate(directions) if d.row == row]
            parts = [(directions[n].rises, covariance[n, n], steps[n], known[n]) for n in same]
            together = covariance[same][:, same].sum(), -steps[same].sum(), known[same].all()
            for place, variance, step, sure in (*parts, (falls, *together)):
                if place < sizes[row]:  # choosing nothing has no error of its own
                    error = float(variance.clamp(min=0.0).sqrt())
                    reason = _reason(float(table[row, place]), float(step), error, bool(sure))
                    errors.reasons[row][place] = reason
                    errors.values[row][place] = error if reason is None else None
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
    scale = information.diagonal().clamp(min=0.0).sqrt()
    none = scale == 0
    unit = torch.where(none, 1.0, scale)
    scaled = torch.where(none[:, None] | none, 0.0, information / (unit[:, None] * unit))
    values, vectors = torch.linalg.eigh(scaled)
    good = values > FLAT
    known = ((vectors[:, ~good].square().sum(dim=1)) < FLAT) & ~none
    half = vectors[:, good] / values[good].sqrt() / unit[:, None]
    return half @ half.T, known


def _reason(value: float, step: float, error: float, known: bool) -> NoError | None:
    """Why a probability has no error, if it has none; ``step`` leads to the maximum."""
    if not EDGE <= value + step <= 1.0 - EDGE and not NEAR < value < 1.0 - NEAR:
        return NoError.EDGE
    if not known or error > WIDEST:
        return NoError.UNDETERMINED
    return NoError.UNFINISHED if abs(step) > error else None


def check_imprecise(model: ProgramModule, span: Span | None) -> None:
    """Refuse learned intervals if nothing is learned, or if answers cannot use them."""
    message = help = ""
    open_ends = [p for p in model.ground.parameters if p.nothing and len(p.initial) > 1]
    if not model.ground.parameters:
        message = "imprecise gives learned probabilities intervals, and there are none to learn"
        help = "mark a probability with '?', or leave imprecise out"
    elif model.meaning.maxent:
        message = "under maxent a probability is a number, not an interval"
        help = "say #semantics credal., or leave imprecise out"
    elif open_ends:
        statement = model.ground.program.statements[open_ends[0].statement]
        message = "a disjunction that may choose nothing has no intervals"
        help = "give choosing nothing a name: ?::a; ?::b; ?::none."
        span = statement.span
    if message:
        raise DataError.at("learn-imprecise", message, span, help)


def dirichlet_bounds(
    counts: Tensor, free: Tensor, room: Tensor, strength: float
) -> tuple[Tensor, Tensor]:
    """The lower and upper probabilities [parameters, width] from counts of the free values.

    >>> counts, free = torch.tensor([[3.0, 1.0]]), torch.tensor([[True, True]])
    >>> dirichlet_bounds(counts, free, torch.ones(1, 1), 1.0)
    (tensor([[0.6000, 0.2000]]), tensor([[0.8000, 0.4000]]))
    """
    seen = counts.clamp(min=0.0) * free
    total = seen.sum(dim=1, keepdim=True) + strength
    return room * seen / total, room * (seen + strength * free) / total


def intervals_of(model: ProgramModule, counts: Tensor, strength: float) -> LearnedIntervals:
    """The intervals of a model's parameters; probabilities that are not learned stay numbers."""
    learned = model.probabilities
    ends = dirichlet_bounds(counts, learned.free, learned.room, strength)
    sizes = [len(parameter.initial) for parameter in model.ground.parameters]

    def table(end: Tensor) -> ByParameter:
        whole = torch.where(learned.free, end, learned.fixed).cpu().tolist()
        return tuple(tuple(row[:size]) for row, size in zip(whole, sizes, strict=True))

    return LearnedIntervals(*map(table, ends))
