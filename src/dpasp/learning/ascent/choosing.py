"""What learning ascends: the exact likelihood where it fits, else a lower bound or samples.

>>> import dpasp
>>> program = dpasp.loads("?::a. b :- a.")
>>> [program.learn([["b"]], niters=1, likelihood=way).likelihood for way in ("auto", "sampled")]
['exact', 'sampled']
"""

from __future__ import annotations

import warnings

import torch

from dpasp import circuits
from dpasp.dataclass import dataclass
from dpasp.errors import DataError, Diagnostic, LimitReached, Span
from dpasp.learning.ascent.ascents import Ascent, Exact
from dpasp.learning.ascent.bound import BoundAscent, Source
from dpasp.learning.ascent.by_cases import bound_by_cases
from dpasp.learning.ascent.by_goals import bound_by_goals
from dpasp.learning.ascent.sampled import Draws, SampledAscent
from dpasp.learning.options import LearnOptions
from dpasp.learning.possible import anything
from dpasp.limits import Watch
from dpasp.neural.likelihood import Outlook, likelihood_of
from dpasp.neural.module import ProgramModule
from dpasp.neural.observations import Observation, Observations, observation_brief

NODES = 500_000  # of the circuits of a bound, all together, where nothing else is said
EXACT = 0.5  # of the time is for the attempt to be exact,
ROOM = 0.75  # and so much of the memory


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
