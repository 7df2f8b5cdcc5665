"""Observations that cannot be: found before learning starts.

>>> import dpasp
>>> dpasp.loads("?::a. b :- a.").learn(["a, not b"])
Traceback (most recent call last):
dpasp.errors.DataError: error: example 0 observes a, not b, which has probability 0 ...
"""

from __future__ import annotations

from itertools import pairwise

import torch

from dpasp.errors import DataError, Diagnostic, Span
from dpasp.learning.ascent.ascents import LogLikelihood
from dpasp.neural.module import ProgramModule
from dpasp.neural.observations import Observations, observation_brief
from dpasp.semantics.leaves import layout

SHOWN = 5


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
