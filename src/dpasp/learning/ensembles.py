"""Several learners of one program: where they differ, the observations left something open.

Each starts from other weights and sees the examples in another order. What all of them agree on is
known; the least and the greatest of their probabilities are the bounds of the rest. Where a start
can go wrong, the one whose observations became the likeliest is the one to go on with.

>>> import dpasp
>>> learners = [dpasp.loads("?::a.") for _ in range(2)]
>>> members = ensemble(learners, ["a", "a", "not a"], {"niters": 20})
>>> len(members), members.mean("a").round(decimals=3).tolist()
(2, [[0.667]])
>>> members.best in learners
True
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from dpasp.dataclass import dataclass
from dpasp.learning.history import History
from dpasp.neural.answers import Bounds
from dpasp.neural.module import DataByName, ProgramModule


@dataclass(frozen=True, slots=True)
class Ensemble:
    """Modules of one program that learned apart, and the programs that they belong to."""

    members: tuple[ProgramModule, ...]
    learners: tuple[Any, ...]
    log_likelihoods: tuple[float, ...]  # of all observations, in the last pass of each member

    def __len__(self) -> int:
        return len(self.members)

    @property
    def best(self) -> Any:
        """The program whose observations became the likeliest; it can learn on."""
        place = max(range(len(self)), key=self.log_likelihoods.__getitem__)
        return self.learners[place]

    @torch.no_grad()
    def all(self, query: str | Sequence[str], data: DataByName | None = None) -> Bounds:
        """The probabilities by each member, [members, batch, answers]."""
        by_member = [member.bounds(query, data) for member in self.members]
        return Bounds(
            torch.stack([bounds.lower for bounds in by_member]),
            torch.stack([bounds.upper for bounds in by_member]),
        )

    def bounds(self, query: str | Sequence[str], data: DataByName | None = None) -> Bounds:
        """The least and the greatest probability by any member, [batch, answers]."""
        by_member = self.all(query, data)
        return Bounds(by_member.lower.amin(dim=0), by_member.upper.amax(dim=0))

    def mean(self, query: str | Sequence[str], data: DataByName | None = None) -> Tensor:
        """The mean over the members, of the middles of their bounds, [batch, answers]."""
        by_member = self.all(query, data)
        return ((by_member.lower + by_member.upper) / 2).mean(dim=0)


def ensemble(learners: Sequence[Any], observations: object, options: dict[str, Any]) -> Ensemble:
    """Let programs learn, each with its own seed."""
    first = int(options.pop("seed", 0))
    histories = [
        program.learn(observations, seed=first + place, **options)
        for place, program in enumerate(learners)
    ]
    return together(learners, [last_log_likelihood(history) for history in histories])


def together(learners: Sequence[Any], log_likelihoods: Sequence[float]) -> Ensemble:
    """The ensemble of programs that have learned."""
    members = tuple(program.module() for program in learners)
    return Ensemble(members, tuple(learners), tuple(log_likelihoods))


def last_log_likelihood(history: History) -> float:
    """That of the last pass; of none, the least there is."""
    return history[-1].log_likelihood if history else -math.inf
