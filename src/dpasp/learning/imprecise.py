"""Learned intervals: what the imprecise Dirichlet model says after some observations.

With counts n of the values of a choice, N in all, every Dirichlet prior of strength s has an
expected probability of a value between n / (N + s) and (n + s) / (N + s); these are the bounds.
Counts are expected ones where choices are not seen themselves; an example whose probability does
not depend on a choice says nothing of it and does not count.
"""

from __future__ import annotations

import torch
from torch import Tensor

from dpasp.errors import DataError, Diagnostic, Span
from dpasp.neural.module import ProgramModule
from dpasp.neural.parameters import ByParameter, LearnedIntervals


def check_imprecise(model: ProgramModule, span: Span | None) -> None:
    """Refuse learned intervals where there are none to learn, or none can be answered with."""
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
        raise DataError(Diagnostic("learn-imprecise", message, span, help))


def dirichlet_bounds(
    counts: Tensor, free: Tensor, room: Tensor, strength: float
) -> tuple[Tensor, Tensor]:
    """The lower and upper probabilities [parameters, width] after counts of the free values.

    >>> counts, free = torch.tensor([[3.0, 1.0]]), torch.tensor([[True, True]])
    >>> dirichlet_bounds(counts, free, torch.ones(1, 1), 1.0)
    (tensor([[0.6000, 0.2000]]), tensor([[0.8000, 0.4000]]))
    """
    seen = counts.clamp(min=0.0) * free
    total = seen.sum(dim=1, keepdim=True) + strength
    return room * seen / total, room * (seen + strength * free) / total


def intervals_of(model: ProgramModule, counts: Tensor, strength: float) -> LearnedIntervals:
    """The intervals of a model's parameters; probabilities that are not learned stay points."""
    learned = model.probabilities
    ends = dirichlet_bounds(counts, learned.free, learned.room, strength)
    sizes = [len(parameter.initial) for parameter in model.ground.parameters]

    def table(end: Tensor) -> ByParameter:
        whole = torch.where(learned.free, end, learned.fixed).cpu().tolist()
        return tuple(tuple(row[:size]) for row, size in zip(whole, sizes, strict=True))

    return LearnedIntervals(*map(table, ends))
