"""From masses to probabilities of queries, as differentiable torch operations.

The same formulas as :mod:`dpasp.semantics.masses`, for tensors.

>>> from dpasp import loads
>>> from dpasp.neural.engines import native_engine
>>> ground = loads("0.3::a. 0.5::b. c :- a. c :- b. #query a | c.").ground()
>>> weights = torch.tensor([[0.3], [0.7], [0.5], [0.5]], dtype=torch.float64)
>>> engine = native_engine(ground, Meaning(), ground.questions)
>>> probabilities(weights, engine, ground.questions, Meaning())
Bounds(lower=tensor([[0.4615]], dtype=torch.float64), upper=tensor([[0.4615]], dtype=torch.float64))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from dpasp.errors import ImpossibleEvidence
from dpasp.ground.program import GroundQuery
from dpasp.neural.engines import MassEngine, masses
from dpasp.neural.walks import Fields
from dpasp.semantics.masses import ROUNDING, impossible_evidence
from dpasp.semantics.meaning import Meaning


class Bounds(NamedTuple):
    """The lower and upper probabilities [batch, answers] under credal."""

    lower: Tensor
    upper: Tensor


def probabilities(
    weights: Tensor,
    engine: MassEngine,
    queries: Sequence[GroundQuery],
    meaning: Meaning,
    vertices: int = 1,
) -> Tensor | Bounds:
    """P(query | evidence), [batch, answers], under weights [leaves, batch].

    With ``vertices``, the weights hold so many columns for each example, one after the
    other; the bounds are the extremes over them.
    """
    fields: Fields = ("qe", "e") if meaning.maxent else ("a", "b", "c", "d")
    wanted = (*fields, "consistent") if meaning.has_undefined_model else fields
    by_field = dict(zip(wanted, masses(weights, engine, wanted).unbind(1), strict=True))
    if meaning.has_undefined_model:
        _add_undefined(by_field, queries, meaning)
    shape = (len(queries), -1, vertices)
    if meaning.maxent:
        return _maxent(by_field, queries).T
    lower, upper, possible = _credal(by_field)
    lower = torch.where(possible, lower, torch.inf).reshape(shape).amin(dim=2)
    upper = torch.where(possible, upper, -torch.inf).reshape(shape).amax(dim=2)
    _check(possible.reshape(shape).any(dim=2), queries)
    return Bounds(lower.T, upper.T)


def _maxent(by_field: dict[str, Tensor], queries: Sequence[GroundQuery]) -> Tensor:
    _check(by_field["e"] > 0, queries)
    return (by_field["qe"] / by_field["e"]).clamp(max=1.0)


def _credal(by_field: dict[str, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    a, b, c, d = (by_field[name] for name in "abcd")
    lower = torch.where(a + d > 0, a / torch.where(a + d > 0, a + d, 1.0), 1.0)
    upper = torch.where(b + c > 0, b / torch.where(b + c > 0, b + c, 1.0), 0.0)
    return lower, upper, b + d > 0


def _add_undefined(
    by_field: dict[str, Tensor], queries: Sequence[GroundQuery], meaning: Meaning
) -> None:
    """Add the mass of total choices whose only model has every atom undefined."""
    rest = 1.0 - by_field["consistent"]
    rest = torch.where(rest > ROUNDING, rest, 0.0)

    def masked(rows: Sequence[bool]) -> Tensor:
        return rest * torch.tensor(rows, device=rest.device)[:, None]

    evidence = [meaning.holds_without_models(query.evidence) for query in queries]
    literals = [meaning.holds_without_models(query.literals) for query in queries]
    yes = masked([e and q for e, q in zip(evidence, literals, strict=True)])
    no = masked([e and not q for e, q in zip(evidence, literals, strict=True)])
    for name, more in (("e", yes + no), ("qe", yes), ("a", yes), ("b", yes), ("c", no), ("d", no)):
        if name in by_field:
            by_field[name] = by_field[name] + more


def _check(possible: Tensor, queries: Sequence[GroundQuery]) -> None:
    """Raise :class:`ImpossibleEvidence` where some example makes evidence impossible."""
    if bool(possible.all()):
        return
    bad = (~possible).any(dim=1).nonzero()[:, 0].tolist()
    problems = {impossible_evidence(queries[i].evidence, queries[i].span): None for i in bad}
    raise ImpossibleEvidence(problems)
