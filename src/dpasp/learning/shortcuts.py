"""What observations can teach a network, found from the circuit before learning.

A network may satisfy every observation and still attach the wrong meaning to its values (a
reasoning shortcut). Two things are known beforehand. Values that can be swapped without changing
the probability of any observation are never told apart. And with each observation, some values of a
choice are possible and others are not; if only one is, the observation determines it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import torch
from torch import Tensor

from dpasp.dataclass import dataclass
from dpasp.errors import outside
from dpasp.ground.program import Choice, FromNetwork, GroundProgram
from dpasp.inference.tuning import EXACT
from dpasp.learning.likelihood import Likelihood
from dpasp.learning.masses import Bounds
from dpasp.learning.module import DataByName, ProgramModule
from dpasp.learning.observations import Observations, observation_brief
from dpasp.learning.optimisers import by_output, leaf_groups, with_omitted
from dpasp.learning.tuning import TUNING
from dpasp.semantics.leaves import layout
from dpasp.writing import counted

SAME = 1e-9  # logarithms that differ by less are the same
SHOWN = 3  # pairs that a warning names, and lines of each part that a report prints


class ShortcutWarning(UserWarning):
    """A network may learn values that do not mean what they are named after."""


@dataclass(frozen=True, slots=True)
class IndistinctPair:
    """Two values of a network that no observation tells apart."""

    first: str
    second: str

    def __str__(self) -> str:
        return f"{self.first} from {self.second}"


@dataclass(frozen=True, slots=True)
class Settled:
    """What an observation implies about a choice: which values are possible.

    Over all outputs of the network, the lower probability of a value given the observation is 1 if
    it is the only possible value, otherwise 0; the upper one is 1 if it is possible.
    """

    observation: str
    examples: int
    possible: tuple[str, ...]
    impossible: tuple[str, ...]

    @property
    def determined(self) -> bool:
        return len(self.possible) == 1

    def __str__(self) -> str:
        count = len(self.possible)
        of = f"{count} of {count + len(self.impossible)} values"
        what = self.possible[0] if self.determined else f"{of}: {', '.join(self.possible)}"
        return f"{self.observation} ({self.examples}×) leaves {what}"


@dataclass(frozen=True, slots=True)
class Shortcuts:
    """What the observations leave open."""

    alike: tuple[IndistinctPair, ...]
    settled: tuple[Settled, ...]

    @property
    def determined(self) -> float:
        """The share of all choices of all examples that their observations determine."""
        total = sum(settled.examples for settled in self.settled)
        sure = sum(settled.examples for settled in self.settled if settled.determined)
        return sure / max(total, 1)

    def __str__(self) -> str:
        lines = [f"the observations never tell {pair}" for pair in self.alike[: 4 * SHOWN]]
        if len(self.alike) > 4 * SHOWN:
            lines.append(f"… and {counted(len(self.alike) - 4 * SHOWN, 'more pair')}")
        lines += [str(settled) for settled in self.settled[: 4 * SHOWN]]
        if len(self.settled) > 4 * SHOWN:
            lines.append(f"… and {len(self.settled) - 4 * SHOWN} more")
        share = f"{100 * self.determined:.1f} % of the choices are determined by their observations"
        return "\n".join([*lines, share])


def warn_of_shortcuts(model: ProgramModule, likelihood: Likelihood) -> None:
    """Warn if some values of a network are never told apart (unless checking would take long)."""
    columns = likelihood.count * sum(1 for _ in _swaps(model.ground))
    if likelihood.engine.size * columns > TUNING.shortcut_work:
        return
    pairs = list(indistinct_values(model, likelihood))
    if pairs:
        listed = ", ".join(map(str, pairs[:SHOWN]))
        rest = f" (and {counted(len(pairs) - SHOWN, 'more pair')})" if len(pairs) > SHOWN else ""
        message = f"the observations never tell {listed}{rest}: the network may learn them"
        warnings.warn(f"{message} the other way round", ShortcutWarning, stacklevel=outside())


def indistinct_values(model: ProgramModule, likelihood: Likelihood) -> Iterator[IndistinctPair]:
    """The pairs of values of a network that no observation tells apart.

    The probabilities of the observations are polynomials in the network's outputs. If swapping two
    values leaves them unchanged at a random point, it always does.
    """
    point = _without_pattern(model)
    logs = likelihood.log_shared(point, torch.ones(likelihood.count, dtype=torch.float64))[0]
    ids = torch.arange(likelihood.count)
    for names, places in _swaps(model.ground):
        moved = point[places]
        for some in torch.split(ids, EXACT.batch):
            other = likelihood.log(moved.expand(-1, len(some)), some)[0]
            same = (other == logs[some]) | ((other - logs[some]).abs() <= SAME)
            if not bool(same.all()):
                break
        else:
            yield names


def _without_pattern(model: ProgramModule) -> Tensor:
    """Weights [leaves, 1] with an irregular distribution for every network's output."""
    weights = model.even_weights()
    random = torch.rand(weights.shape, generator=torch.Generator().manual_seed(1)).to(weights)
    place = layout(model.ground.choices)
    for index, choice in enumerate(model.ground.choices):
        if isinstance(choice.weight, FromNetwork):
            shares = 0.5 + random[place.of(index)]
            weights[place.of(index)] = shares / shares.sum()
    return weights


def _swaps(ground: GroundProgram) -> Iterator[tuple[IndistinctPair, Tensor]]:
    """For each pair of values of a network: their names, and the leaves after swapping them.

    They are swapped in every row, since one network reads them all.
    """
    place = layout(ground.choices)
    for indices in by_output(ground):
        names = _names(ground, ground.choices[indices[0]])
        starts = torch.tensor([place.of(index).start for index in indices])
        for first, second in combinations(range(len(names)), 2):
            leaves = torch.arange(place.size)
            leaves[starts + first], leaves[starts + second] = starts + second, starts + first
            yield IndistinctPair(names[first], names[second]), leaves


def _names(ground: GroundProgram, choice: Choice) -> list[str]:
    heads = [str(ground.symbols[atom]) for atom in choice.heads]
    return [*heads, f"not {heads[0]}"] if choice.nothing else heads


def settled(model: ProgramModule, likelihood: Likelihood, seen: Observations) -> Iterator[Settled]:
    """Which values are possible, by observation (the most frequent first) and choice."""
    counts = torch.bincount(seen.ids.cpu(), minlength=likelihood.count)
    order = [i for i in counts.argsort(descending=True, stable=True).tolist() if counts[i]]
    weights, group = model.even_weights(), leaf_groups(model.ground)
    place = layout(model.ground.choices)
    choices = [
        (_names(model.ground, choice), place.of(index))
        for index, choice in enumerate(model.ground.choices)
        if isinstance(choice.weight, FromNetwork)
    ]
    for some in torch.split(torch.tensor(order), EXACT.batch):
        wide = weights.expand(-1, len(some))
        slopes = likelihood.joint.log(wide, some)[1]
        open_ = with_omitted(slopes, wide, group, wide.new_ones(1)) > SAME
        for column, number in enumerate(some.tolist()):
            observation = observation_brief(seen.distinct[number]), int(counts[number])
            for names, leaves in choices:
                flags = list(zip(names, open_[leaves, column].tolist(), strict=True))
                yes = tuple(name for name, flag in flags if flag)
                no = tuple(name for name, flag in flags if not flag)
                yield Settled(*observation, yes, no)


@dataclass(frozen=True, slots=True)
class Ensemble:
    """Modules of one program that learned separately, and their programs."""

    members: tuple[ProgramModule, ...]
    learners: tuple[Any, ...]
    log_likelihoods: tuple[float, ...]  # of all observations, in the last pass of each member

    def __len__(self) -> int:
        return len(self.members)

    @property
    def best(self) -> Any:
        """The program whose observations became the most likely; it can continue learning."""
        place = max(range(len(self)), key=self.log_likelihoods.__getitem__)
        return self.learners[place]

    @torch.no_grad()
    def all(self, query: str | Sequence[str], data: DataByName | None = None) -> Bounds:
        """The probabilities by each member, [members, batch, answers]."""
        by_member = [member.bounds(query, data) for member in self.members]
        lower, upper = (torch.stack(list(ends)) for ends in zip(*by_member, strict=True))
        return Bounds(lower, upper)

    def bounds(self, query: str | Sequence[str], data: DataByName | None = None) -> Bounds:
        """The least and the greatest probability by any member, [batch, answers]."""
        by_member = self.all(query, data)
        return Bounds(by_member.lower.amin(dim=0), by_member.upper.amax(dim=0))

    def mean(self, query: str | Sequence[str], data: DataByName | None = None) -> Tensor:
        """The mean over the members of the middles of their bounds, [batch, answers]."""
        by_member = self.all(query, data)
        return ((by_member.lower + by_member.upper) / 2).mean(dim=0)
