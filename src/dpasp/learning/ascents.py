"""What learning ascends: the exact likelihood where it fits, else a lower bound or samples.

Observations that are impossible are refused before learning starts.

>>> import dpasp
>>> program = dpasp.loads("?::a. b :- a.")
>>> [program.learn([["b"]], niters=1, likelihood=way).likelihood for way in ("auto", "sampled")]
['exact', 'sampled']
>>> program.learn(["a, not b"])
Traceback (most recent call last):
dpasp.errors.DataError: error: example 0 observes a, not b, which has probability 0 ...
"""

from __future__ import annotations

import warnings
from itertools import pairwise
from typing import Any, ClassVar, Protocol

import torch
from torch import Tensor

from dpasp import circuits
from dpasp.dataclass import dataclass
from dpasp.errors import DataError, Diagnostic, LimitReached, Span
from dpasp.learning.history import AscentKind
from dpasp.learning.likelihood import Likelihood, Outlook, likelihood_of
from dpasp.learning.lower_bound import BoundAscent, Source, bound_by_cases, bound_by_goals
from dpasp.learning.module import ProgramModule
from dpasp.learning.observations import Observation, Observations, observation_brief
from dpasp.learning.options import LearnOptions
from dpasp.learning.sampled import Draws, SampledAscent
from dpasp.limits import Watch
from dpasp.semantics.leaves import Weights, layout

NODES = 500_000  # of the circuits of a bound, all together, where nothing else is said
EXACT = 0.5  # of the time is for the attempt to be exact,
ROOM = 0.75  # and so much of the memory
SHOWN = 5


class LogLikelihood(Protocol):
    """The logarithms of the probabilities of distinct observations, with their gradient."""

    @property
    def count(self) -> int:
        """How many distinct observations there are."""

    def log(self, weights: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
        """log P [batch] of each column's observation, and its gradient [leaves, batch]."""

    def log_by_logs(self, logs: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
        """As :meth:`log`, of logarithms of the weights, and the gradient is by those."""

    def log_shared(self, weights: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
        """log P [distinct observations] under one weight vector, and the total gradient."""

    def tries(self, weights: Tensor, ids: Tensor) -> Tensor | None:
        """How many total choices [batch] are drawn until one has a model; None: one, always.

        The weights are those of each observation, or one column for all of them.
        """


class Ascent(Protocol):
    """What is ascended, and how far it may be from the likelihood."""

    @property
    def kind(self) -> AscentKind:
        """Which of the three it is."""

    @property
    def likelihood(self) -> LogLikelihood:
        """What is ascended."""

    def to(self, device: torch.device) -> Ascent:
        """The same on a device."""

    def above(self, weights: Tensor, ids: Tensor) -> Tensor | None:
        """By how much log P [batch] is above what is ascended, at most; None: not at all."""

    def tightened(self, weights: Weights, iteration: int) -> Ascent:
        """What is closer to the likelihood, as far as the budget goes, after an iteration.

        ``weights`` [leaves] are those of now, the mean of them if examples differ.
        """

    def begin(self, iteration: int, step: int) -> None:
        """Say which step comes, for what is random."""

    @property
    def state(self) -> list[Any]:
        """What a run needs to go on with the same, as JSON has it."""

    def restored(self, state: list[Any]) -> Ascent:
        """The same as when ``state`` was written."""


@dataclass(frozen=True, slots=True)
class Exact:
    """The likelihood itself, on a circuit."""

    likelihood: Likelihood
    kind: ClassVar[AscentKind] = "exact"

    def to(self, device: torch.device) -> Exact:
        """The same on a device."""
        return Exact(self.likelihood.to(device))

    def above(self, weights: Tensor, ids: Tensor) -> None:
        """Nothing is missing."""

    def tightened(self, weights: Weights, iteration: int) -> Exact:
        """The same: it is exact."""
        return self

    def begin(self, iteration: int, step: int) -> None:
        """Nothing is random."""

    @property
    def state(self) -> list[Any]:
        """Nothing changes."""
        return []

    def restored(self, state: list[Any]) -> Exact:
        """The same."""
        return self


class LikelihoodWarning(UserWarning):
    """Learning ascends something else than the exact likelihood."""


@dataclass(frozen=True, slots=True)
class WantedAscent:
    """What is to be learned: a model, from which observations, how, and until when."""

    model: ProgramModule
    seen: Observations
    options: LearnOptions
    watch: Watch
    span: Span | None = None

    @property
    def observations(self) -> tuple[Observation, ...]:
        """The distinct observations."""
        return self.seen.distinct

    @property
    def counted(self) -> dict[Observation, int]:
        """The distinct observations, and how many examples each has."""
        counts = torch.bincount(self.seen.ids.cpu(), minlength=len(self.seen.distinct))
        return dict(zip(self.seen.distinct, counts.tolist(), strict=True))


def ascent_of(wanted: WantedAscent) -> Ascent:
    """What learning ascends.

    Raises :class:`LimitReached` if it must be exact and is too large, or where nothing else
    goes; and :class:`DataError` for what bounds or samples cannot do.
    """
    kind = wanted.options.likelihood
    if kind == "sampled":
        return sampled_ascent(wanted)
    if kind == "bound":
        return bound_ascent(wanted)
    if kind == "exact":
        return exact_ascent(wanted, wanted.watch)
    left = wanted.watch.remaining()
    part = wanted.watch.within(None if left is None else EXACT * left, wanted.watch.report)
    try:
        return exact_ascent(wanted, part.with_memory(ROOM))
    except LimitReached as limit:
        if wanted.model.has_intervals or wanted.options.capture:
            raise
        wanted.watch.check()
        warnings.warn(
            f"{limit.diagnostics[0].message}: learning ascends a lower bound of the likelihood, "
            'and the history says how far it may be off; likelihood = "exact" fails instead, '
            'likelihood = "sampled" draws worlds',
            LikelihoodWarning,
            stacklevel=2,
        )
        return bound_ascent(wanted)


def exact_ascent(wanted: WantedAscent, watch: Watch) -> Exact:
    """The likelihood itself."""
    nodes = wanted.options.nodes
    options = circuits.Options() if nodes is None else circuits.Options(nodes=nodes)
    model = wanted.model
    return Exact(
        likelihood_of(
            model.ground,
            model.meaning,
            wanted.observations,
            wanted.options.goal,
            watch=watch,
            outlook=Outlook(options=options),
        )
    )


def bound_ascent(wanted: WantedAscent) -> BoundAscent:
    """A lower bound of the likelihood, as good as its budget allows for now."""
    _check(wanted, "bound")
    model, nodes = wanted.model, wanted.options.nodes or NODES
    program = model.ground, model.meaning
    source: Source | None = bound_by_goals(*program, wanted.counted, nodes, wanted.watch)
    if source is None:
        observations, goal = wanted.observations, wanted.options.goal
        source = bound_by_cases(*program, observations, goal, nodes, wanted.watch)
    weights = anything(model)[:, 0].numpy()
    found = BoundAscent.of(source).tightened(weights, 0)
    _check_sure(wanted, found)
    return found


def sampled_ascent(wanted: WantedAscent) -> SampledAscent:
    """Gradients by sampling."""
    _check(wanted, "sampled")
    model, options = wanted.model, wanted.options
    if model.ground.networks:
        message = 'likelihood = "sampled" draws worlds for one set of probabilities, and a network'
        message += " gives every example its own"
        help = 'say likelihood = "bound"'
        raise DataError(Diagnostic("learn-sampled", message, wanted.span, help))
    draws = Draws(options.samples, options.seed, options.goal.lower, wanted.watch)
    return SampledAscent.of(model.ground, model.meaning, wanted.observations, draws)


def _check(wanted: WantedAscent, kind: str) -> None:
    """Refuse what needs the exact likelihood."""
    model, options = wanted.model, wanted.options
    refused = {
        "the program has intervals of probabilities": model.has_intervals,
        "imprecise needs exact counts": options.imprecise is not None,
        "capture records one circuit": options.capture,
        "undef is observed under smproblog": any(
            model.meaning.holds_without_models(observation) for observation in wanted.observations
        ),
    }
    for reason, holds in refused.items():
        if holds:
            message = f'likelihood = "{kind}" does not go here: {reason}'
            help = 'say likelihood = "exact", and raise the limits if it does not fit'
            raise DataError(Diagnostic("learn-likelihood", message, wanted.span, help))


def _check_sure(wanted: WantedAscent, found: BoundAscent) -> None:
    """Refuse a bound that says nothing about some observations: there is nothing to ascend."""
    weights = anything(wanted.model)
    low = found.likelihood.probability(weights)[:, 0]
    nothing = [
        p <= 0 and not whole for p, whole in zip(low.tolist(), found.source.exact, strict=True)
    ]
    if not any(nothing):
        return
    first = wanted.observations[nothing.index(True)]
    message = (
        f"nothing is sure about the observation {observation_brief(first)} within "
        f"{wanted.options.nodes or NODES:,} nodes: there is no bound to ascend"
    )
    help = 'raise nodes = …, say likelihood = "sampled", or correct it if it cannot be'
    raise DataError(Diagnostic("learn-bound", message, wanted.span, help))


def check_possible(
    model: ProgramModule, likelihood: LogLikelihood, observations: Observations, span: Span | None
) -> None:
    """Raise a :class:`DataError` that names observations of probability 0.

    Every output of a network counts as possible.
    """
    weights = anything(model)
    counts = torch.bincount(observations.ids.cpu(), minlength=likelihood.count).double()
    logs, _ = likelihood.log_shared(weights, counts)
    never = set(torch.nonzero((logs == -torch.inf) & (counts > 0))[:, 0].tolist())
    if not never:
        return
    examples = [i for i, number in enumerate(observations.ids.tolist()) if number in never]
    briefs = {
        i: observation_brief(observations.distinct[observations.ids[i]]) for i in examples[:SHOWN]
    }
    what, help = "probability", "no total choice has a model with it: correct the observation"
    help += " or the program"
    if not model.meaning.maxent and model.objective.lower == 1.0:
        what = "the lower probability"
        help = 'learn another one: objective = "midpoint" or "upper"'
    problems = [
        Diagnostic(
            "observation-impossible",
            f"example {i} observes {briefs[i]}, which has {what} 0",
            span,
            help,
        )
        for i in examples[:SHOWN]
    ]
    if len(examples) > SHOWN:
        message = f"{len(examples) - SHOWN} more examples are impossible"
        problems.append(Diagnostic("observation-impossible", message, span))
    raise DataError(problems)


def anything(model: ProgramModule) -> torch.Tensor:
    """The weights with an even distribution in place of every network's output."""
    place = model.leaf_sources_on(torch.device("cpu"))
    weights = place.constants.clone()
    if len(model.probabilities):
        matrix = model.probabilities().detach().cpu().reshape(-1)
        learned = place.parameter >= 0
        weights[learned] = matrix[place.parameter[learned]]
    starts = layout(model.ground.choices).starts
    for first, last in pairwise(starts):
        if bool(place.network[first] >= 0):
            weights[first:last] = 1.0 / (last - first)
    return weights[:, None]
