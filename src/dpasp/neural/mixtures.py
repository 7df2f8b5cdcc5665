"""What the probability of an observation is made of: the masses of its question, added up.

>>> from dpasp import loads
>>> from dpasp.neural.engines import native_engine
>>> ground = loads("0.3::a. {b} :- a. #query b.").ground()
>>> engine = native_engine(ground, Meaning(), ground.questions)
>>> mixture = mixture_of(engine.definite, Meaning(), [ground.questions[0].literals], lower=0.5)
>>> mixture.fields, mixture.coefficients
(('a', 'b'), tensor([[0.5000, 0.5000]], dtype=torch.float64))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from dpasp.dataclass import dataclass
from dpasp.neural.engines import MassEngine, masses
from dpasp.neural.observations import Observation
from dpasp.neural.walks import Fields
from dpasp.semantics.meaning import Meaning

LEAST_LINEAR = 1e-290  # below this, linear space has no digits left
MOST_TRIES = 1e15  # as far as they are counted: no step can be made smaller than that


@dataclass(frozen=True, slots=True)
class MassMixture:
    """What the probability of an observation is: Σ coefficients · masses + constant."""

    fields: Fields
    coefficients: Tensor  # [questions, fields]
    constant: Tensor  # [questions]
    single: bool  # whether it is one mass and nothing else

    def to(self, device: torch.device) -> MassMixture:
        """The same on a device."""
        return replace(
            self, coefficients=self.coefficients.to(device), constant=self.constant.to(device)
        )


def mixture_of(
    definite: bool, meaning: Meaning, observations: Sequence[Observation], lower: float
) -> MassMixture:
    """What the semantics makes of the masses; ``lower`` is the share of the lower probability.

    ``definite`` says that the models of a total choice never disagree.
    """
    parts = {"qe": 1.0} if meaning.maxent else {"a": lower, "b": 1.0 - lower}
    if not meaning.maxent and definite:
        parts = {"a": 1.0}  # lower and upper are the same
    parts = {name: share for name, share in parts.items() if share}
    undefined = [meaning.holds_without_models(o) for o in observations]
    fields = (*parts, "consistent") if any(undefined) else tuple(parts)
    rows = torch.zeros(len(observations), len(fields), dtype=torch.float64)
    for i, coefficient in enumerate(parts.values()):
        rows[:, i] = coefficient
    constant = torch.tensor(undefined, dtype=torch.float64)
    if any(undefined):
        # A total choice without stable models has one model, in which all is undefined.
        rows[:, -1] = -constant
    return MassMixture(fields, rows, constant, len(fields) == 1 and not any(undefined))


def consistent_mass(questions: int) -> MassMixture:
    """The probability that there is a model, whatever the question."""
    rows = torch.ones(questions, 1, dtype=torch.float64)
    return MassMixture(("consistent",), rows, torch.zeros(questions, dtype=torch.float64), True)


def tries_of(log_consistent: Tensor) -> Tensor:
    """How many total choices are drawn, in the mean, until one has a model."""
    tries = (-log_consistent).exp().clamp(min=1.0, max=MOST_TRIES)
    return torch.where(log_consistent.isfinite(), tries, 1.0)


def log_of_mixture(weights: Tensor, engine: MassEngine, mixture: MassMixture) -> Tensor:
    """log P [questions, batch], differentiable twice; in log space where P may underflow."""
    if mixture.single and engine.scaled:
        return masses(weights, engine, mixture.fields, log=True)[:, 0]
    by_field = masses(weights, engine, mixture.fields)
    mixed = (by_field * mixture.coefficients[:, :, None]).sum(dim=1) + mixture.constant[:, None]
    on_cpu = mixed.device.type == "cpu"  # looking at numbers makes a GPU wait
    if mixture.single and on_cpu and bool((mixed.detach() <= LEAST_LINEAR).any()):
        return masses(weights, engine, mixture.fields, log=True)[:, 0]
    return log_or_never(mixed)


def log_or_never(probabilities: Tensor) -> Tensor:
    """The logarithms; -inf for what cannot be, with a gradient of 0 and not NaN."""
    logs = probabilities.clamp(min=LEAST_LINEAR).log()
    return torch.where(probabilities <= 0, -torch.inf, logs)
