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
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from dpasp import circuits
from dpasp.dataclass import dataclass
from dpasp.errors import DataError, Diagnostic, LimitReached, Span
from dpasp.learning.history import AscentKind
from dpasp.learning.likelihood import AsRoots, LogLikelihood, Normalised, likelihood_of
from dpasp.learning.lower_bound import BoundSource, ByCases, bound_by_goals, gap, lower_bound
from dpasp.learning.module import ProgramModule
from dpasp.learning.observations import Observations, observation_brief
from dpasp.learning.options import LearnOptions
from dpasp.learning.sampled import SampledLikelihood
from dpasp.learning.tuning import TUNING
from dpasp.limits import Watch
from dpasp.semantics.leaves import Weights

SHOWN = 5  # impossible observations that a message names


class LikelihoodWarning(UserWarning):
    """Learning ascends something else than the exact likelihood."""


@dataclass(frozen=True)
class Ascent:
    """What is ascended; of a bound also the circuits that it comes from."""

    kind: AscentKind
    likelihood: LogLikelihood
    source: BoundSource | None = None
    iteration: int = -1  # after which a bound was last tightened
    device: torch.device = torch.device("cpu")

    def to(self, device: torch.device) -> Ascent:
        return replace(self, likelihood=self.likelihood.to(device), device=device)

    def begin(self, iteration: int, step: int) -> None:
        """Say which step comes: each draws worlds of its own."""
        if isinstance(self.likelihood, SampledLikelihood):
            self.likelihood.begin(iteration, step)

    def above(self, weights: Tensor, ids: Tensor) -> Tensor | None:
        """By how much log P [batch] is above what is ascended, at most; None: not at all."""
        if self.source is None:
            return None
        assert isinstance(self.likelihood, AsRoots | Normalised)
        return gap(self.source, self.likelihood, weights.detach(), ids)

    def tightened(self, weights: Weights, iteration: int) -> Ascent:
        """A bound with more compiled, where that matters under the weights; once an iteration.

        ``weights`` [leaves] are those of now, the mean of them if examples differ.
        """
        if self.source is None or iteration == self.iteration:
            return self
        return bounded(self.source.tightened(weights, iteration), iteration).to(self.device)

    @property
    def state(self) -> list[Any]:
        """What a run needs to go on with the same, as JSON has it."""
        return [] if self.source is None else [self.iteration, self.source.state]

    def restored(self, state: list[Any]) -> Ascent:
        """The same as when ``state`` was written."""
        if self.source is None:
            return self
        iteration, source = state
        return bounded(self.source.restored(source), iteration).to(self.device)


def bounded(source: BoundSource, iteration: int = -1) -> Ascent:
    """The bound that a source gives now."""
    return Ascent("bound", lower_bound(source), source, iteration)


def ascent_of(
    model: ProgramModule,
    seen: Observations,
    options: LearnOptions,
    watch: Watch,
    span: Span | None = None,
) -> Ascent:
    """What learning ascends.

    Raises :class:`LimitReached` if it must be exact and is too large, or where nothing else
    goes; and :class:`DataError` for what bounds or samples cannot do.
    """
    if options.likelihood == "sampled":
        return sampled_ascent(model, seen, options, watch, span)
    if options.likelihood == "bound":
        return bound_ascent(model, seen, options, watch, span)
    if options.likelihood == "exact":
        return exact_ascent(model, seen, options, watch)
    left = watch.remaining()
    part = watch.within(None if left is None else TUNING.exact_time * left, watch.report)
    try:
        return exact_ascent(model, seen, options, part.with_memory(TUNING.exact_memory))
    except LimitReached as limit:
        if model.has_intervals or options.capture:
            raise
        watch.check()
        warnings.warn(
            f"{limit.diagnostics[0].message}: learning ascends a lower bound of the likelihood, "
            'and the history says how far it may be off; likelihood = "exact" fails instead, '
            'likelihood = "sampled" draws worlds',
            LikelihoodWarning,
            stacklevel=2,
        )
        return bound_ascent(model, seen, options, watch, span)


def exact_ascent(
    model: ProgramModule, seen: Observations, options: LearnOptions, watch: Watch
) -> Ascent:
    """The likelihood itself."""
    room = circuits.Options() if options.nodes is None else circuits.Options(nodes=options.nodes)
    found = likelihood_of(
        model.ground, model.meaning, seen.distinct, options.goal, watch=watch, options=room
    )
    return Ascent("exact", found)


def bound_ascent(
    model: ProgramModule,
    seen: Observations,
    options: LearnOptions,
    watch: Watch,
    span: Span | None,
) -> Ascent:
    """A lower bound of the likelihood, as good as its budget allows for now."""
    _check(model, seen, options, span)
    nodes, program = options.nodes or TUNING.bound_nodes, (model.ground, model.meaning)
    counts = torch.bincount(seen.ids.cpu(), minlength=len(seen.distinct)).tolist()
    counted = dict(zip(seen.distinct, counts, strict=True))
    source: BoundSource | None = bound_by_goals(*program, counted, nodes, watch)
    if source is None:
        source = ByCases(*program, seen.distinct, options.goal.lower, nodes, watch)
    weights = model.even_weights()
    source = source.tightened(weights[:, 0].numpy(), 0)
    low = lower_bound(source).probability(weights)[:, 0].tolist()
    for observation, least, whole in zip(seen.distinct, low, source.exact, strict=True):
        if least <= 0 and not whole:
            message = f"nothing is sure about the observation {observation_brief(observation)} "
            message += f"within {nodes:,} nodes: there is no bound to ascend"
            help = 'raise nodes = …, say likelihood = "sampled", or correct it if it cannot be'
            raise DataError(Diagnostic("learn-bound", message, span, help))
    return bounded(source, 0)


def sampled_ascent(
    model: ProgramModule,
    seen: Observations,
    options: LearnOptions,
    watch: Watch,
    span: Span | None,
) -> Ascent:
    """Gradients by sampling."""
    _check(model, seen, options, span)
    if model.ground.networks:
        message = 'likelihood = "sampled" draws worlds for one set of probabilities, and a network'
        message += " gives every example its own"
        help = 'say likelihood = "bound"'
        raise DataError(Diagnostic("learn-sampled", message, span, help))
    found = SampledLikelihood.of(
        model.ground,
        model.meaning,
        seen.distinct,
        options.samples,
        options.seed,
        options.goal.lower,
        watch,
    )
    return Ascent("sampled", found)


def _check(
    model: ProgramModule, seen: Observations, options: LearnOptions, span: Span | None
) -> None:
    """Refuse what needs the exact likelihood."""
    kind = "sampled" if options.likelihood == "sampled" else "bound"
    undefined = map(model.meaning.holds_without_models, seen.distinct)
    refused = {
        "the program has intervals of probabilities": model.has_intervals,
        "imprecise needs exact counts": options.imprecise is not None,
        "capture records one circuit": options.capture,
        "undef is observed under smproblog": any(undefined),
    }
    for reason, holds in refused.items():
        if holds:
            message = f'likelihood = "{kind}" is not supported here: {reason}'
            help = 'say likelihood = "exact", and raise the limits if it does not fit'
            raise DataError(Diagnostic("learn-likelihood", message, span, help))


def check_possible(
    model: ProgramModule, likelihood: LogLikelihood, observations: Observations, span: Span | None
) -> None:
    """Raise a :class:`DataError` that names observations of probability 0.

    Every output of a network counts as possible.
    """
    counts = torch.bincount(observations.ids.cpu(), minlength=likelihood.count).double()
    logs, _ = likelihood.log_shared(model.even_weights(), counts)
    never = set(torch.nonzero((logs == -torch.inf) & (counts > 0))[:, 0].tolist())
    if not never:
        return
    examples = [i for i, number in enumerate(observations.ids.tolist()) if number in never]
    what, help = "probability", "no total choice has a model with it: correct the observation"
    help += " or the program"
    if not model.meaning.maxent and model.objective.lower == 1.0:
        what = "the lower probability"
        help = 'learn another one: objective = "midpoint" or "upper"'
    problems = []
    for i in examples[:SHOWN]:
        brief = observation_brief(observations.distinct[observations.ids[i]])
        message = f"example {i} observes {brief}, which has {what} 0"
        problems.append(Diagnostic("observation-impossible", message, span, help))
    if len(examples) > SHOWN:
        message = f"{len(examples) - SHOWN} more examples are impossible"
        problems.append(Diagnostic("observation-impossible", message, span))
    raise DataError(problems)
