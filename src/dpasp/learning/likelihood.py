"""The probability of observations, one for each example, with its gradient.

There are two ways. If there are few distinct observations, each is a root of one circuit. Otherwise
one circuit serves all: the truth of every observed atom is a leaf, and an observation is a pattern
of 0 and 1 at those leaves (possible if the choices determine the atoms). For intervals of
probabilities, see :mod:`dpasp.learning.intervals`.

If some total choices have no model, P(O) is P(O and consistent) / P(consistent), as in answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import torch
from torch import Tensor

from dpasp.circuits import Options
from dpasp.circuits.circuit import consistency
from dpasp.circuits.gpu.cuda import LabelHeads
from dpasp.dataclass import dataclass
from dpasp.errors import InferenceError, SizeLimit
from dpasp.ground.program import GroundProgram, GroundQuery, IntervalWeights
from dpasp.inference.bounds.relaxed import determined_part
from dpasp.inference.sampling.situations import Groundwork
from dpasp.inference.tuning import BOUNDS
from dpasp.language.ast import NOWHERE, Mode
from dpasp.learning.intervals import AtExtremes, at_extremes
from dpasp.learning.masses import (
    LEAST_LINEAR,
    CircuitEngine,
    MassEngine,
    MassMixture,
    consistent_mass,
    log_of_mixture,
    log_or_never,
    masses,
    mixture_of,
    native_engine,
    no_further,
    tries_of,
    with_slopes,
)
from dpasp.learning.networks import OnDevice
from dpasp.learning.observations import LeafLabels, Observation, SeenIds, questions_of
from dpasp.learning.tuning import TUNING
from dpasp.limits import UNLIMITED, Watch
from dpasp.semantics.dependencies import determined
from dpasp.semantics.leaves import layout
from dpasp.semantics.meaning import Meaning, Objective

if TYPE_CHECKING:
    from dpasp.learning.ascents import SampledLikelihood

ALWAYS = GroundQuery((), (), "", NOWHERE)


class _Joint(OnDevice):
    """The probability of an observation and a model, not divided by that of a model."""

    __slots__ = ()

    @property
    def joint(self) -> Self:
        """Return it unchanged."""
        return self

    def tries(self, weights: Tensor, ids: SeenIds) -> None:
        """How many total choices [batch] are drawn, on average, until one has a model; None for 1.

        The weights are those of each observation, or one column for all of them.
        """


@dataclass(frozen=True, slots=True)
class AsRoots(_Joint):
    """Every distinct observation is a root of the circuit.

    All likelihoods have the methods that this one has.
    """

    engine: MassEngine
    mixture: MassMixture

    @property
    def count(self) -> int:
        """How many distinct observations there are."""
        return len(self.mixture.constant)

    @property
    def only(self) -> bool:
        """Whether it is a single mass, computed in logarithms without inspecting any number."""
        return self.mixture.single and self.count == 1 and self.engine.scaled

    def probability(self, weights: Tensor) -> Tensor:
        """The probabilities [distinct observations, batch], differentiable."""
        return self.mixture.of(masses(weights, self.engine, self.mixture.fields))

    def composed(self, weights: Tensor, ids: Tensor) -> Tensor:
        """log P [batch] of each column's observation, differentiable twice."""
        columns = torch.arange(len(ids), device=ids.device)
        return log_of_mixture(weights, self.engine, self.mixture)[ids, columns]

    def log(self, at: Tensor, ids: Tensor, by_logs: bool = False) -> tuple[Tensor, Tensor]:
        """log P [batch] of each column's observation, and its gradient [leaves, batch].

        It is taken at weights [leaves, batch] or, ``by_logs``, at their logarithms.
        """
        if by_logs:
            return self._by_logs(at, ids)
        weights, mix = at, self.mixture
        if self.only:
            return self.log_of_only(weights)
        columns = torch.arange(len(ids), device=weights.device)
        seeds = weights.new_zeros(self.engine.questions, len(mix.fields), len(ids))
        seeds[ids, :, columns] = mix.coefficients[ids]
        if mix.single and self.engine.scaled:
            return self._in_log_space(weights, seeds)
        by_field, slopes = self.engine.gradient(weights, seeds, mix.fields)
        rates = mix.coefficients[ids]
        # Fields that no column needs are not computed.
        mixed = torch.where(rates == 0, 0.0, by_field[ids, :, columns] * rates).sum(1)
        mixed = mixed + mix.constant[ids]
        small = mixed <= LEAST_LINEAR
        if mixed.device.type == "cpu" and mix.single and bool(small.any()):
            return self._in_log_space(weights, seeds)
        safe = mixed.clamp(min=LEAST_LINEAR)
        return log_or_never(mixed), torch.where(small, 0.0, slopes / safe)

    def log_of_only(
        self, weights: Tensor, labels: LabelHeads | None = None
    ) -> tuple[Tensor, Tensor]:
        """log P [batch] of the only observation and its gradient, without inspecting numbers."""
        assert isinstance(self.engine, CircuitEngine)
        assert self.engine.walked is not None
        return self.engine.walked.log_and_slopes(weights, self.mixture.fields[0], labels)

    def _in_log_space(self, weights: Tensor, seeds: Tensor) -> tuple[Tensor, Tensor]:
        """log P and its gradient if P is a single mass of each column's question."""
        logs, slopes = self.engine.gradient(weights, seeds, self.mixture.fields, log=True)
        picked = torch.where(seeds > 0, logs, -torch.inf).amax(dim=(0, 1))
        found = picked.isfinite()
        return picked, torch.where(found, slopes, 0.0).nan_to_num()  # slopes may overflow

    def _by_logs(self, logs: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
        mix, columns = self.mixture, torch.arange(len(ids), device=logs.device)
        if bool(mix.constant.any()):  # 1 minus a mass is not a sum of products
            found, slopes = self.log(logs.exp(), ids)
            return found, slopes * logs.exp()
        seeds = logs.new_zeros(self.engine.questions, len(mix.fields), len(ids))
        seeds[ids, :, columns] = 1.0
        every, slopes = self.engine.gradient(logs, seeds, mix.fields, by_logs=True)
        by_field = every[ids, :, columns]
        if mix.single:
            return by_field[:, 0], torch.where(by_field[:, 0].isfinite(), slopes, 0.0)
        parts = by_field + mix.coefficients[ids].log()
        found = parts.logsumexp(dim=1)
        shares = (parts - found[:, None]).exp()
        seeds[ids, :, columns] = torch.where(found.isfinite()[:, None], shares, 0.0)
        return found, self.engine.gradient(logs, seeds, mix.fields, by_logs=True)[1]

    def log_shared(self, weights: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
        """log P [distinct observations] under one weight vector [leaves, 1].

        The gradient [leaves, 1] is that of Σ counts · log P over the observations.
        """
        return with_slopes(
            lambda at: log_of_mixture(at, self.engine, self.mixture)[:, 0], weights, counts
        )


@dataclass(frozen=True, slots=True)
class AsLeaves(_Joint):
    """One circuit whose last leaves are the truth of the observed atoms."""

    root: AsRoots  # the roots of there being a model
    atoms: tuple[int, ...]
    evidence: Tensor  # [distinct observations, 2 · atoms]: the weights of those leaves, 0 or 1
    # In place of numbers of observations [batch], ids may be leaves [batch, width] that are 0; the
    # number after the last leaf stands for none.

    @property
    def engine(self) -> MassEngine:
        return self.root.engine

    @property
    def count(self) -> int:
        return len(self.evidence)

    def extended(self, observations: Sequence[Observation]) -> AsLeaves | None:
        """The same with more observations; None if they are about other atoms."""
        known = {0, *self.atoms}
        literals = (literal for observation in observations for literal in observation)
        if not all(
            literal.atom in known and literal.mode is not Mode.UNDEFINED for literal in literals
        ):
            return None
        more = _evidence(observations, self.atoms).to(self.evidence.device)
        return replace(self, evidence=torch.cat([self.evidence, more]))

    def _seen(self, ids: SeenIds, weights: Tensor) -> Tensor:
        """The weights [2 · atoms, batch] of the leaves for what was observed."""
        ids = ids.leaves() if isinstance(ids, LeafLabels) else ids
        if ids.ndim == 2:
            seen = weights.new_ones(self.evidence.shape[1] + 1, len(ids))
            return seen.scatter_(0, ids.T, 0.0)[:-1]
        return self.evidence[ids].T.to(weights.dtype)

    def composed(self, weights: Tensor, ids: SeenIds) -> Tensor:
        wide = torch.cat([weights, self._seen(ids, weights)])
        return self.root.composed(wide, _firsts(len(ids), weights.device))

    def log(self, at: Tensor, ids: SeenIds, by_logs: bool = False) -> tuple[Tensor, Tensor]:
        only = self.root.only and not by_logs
        if only and isinstance(ids, LeafLabels):
            logs, slopes = self.root.log_of_only(at, ids.heads())
            return logs, slopes[: len(at)]
        seen = self._seen(ids, at)
        wide = torch.cat([at, seen.log() if by_logs else seen])
        if only:
            logs, slopes = self.root.log_of_only(wide)
        else:
            logs, slopes = self.root.log(wide, _firsts(len(ids), at.device), by_logs)
        return logs, slopes[: len(at)]

    def log_shared(self, weights: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
        used = counts.nonzero()[:, 0]
        logs, total = torch.zeros_like(counts), torch.zeros_like(weights)
        for some in torch.split(used, 1024):
            some_logs, slopes = self.log(weights.expand(-1, len(some)), some)
            logs[some] = some_logs
            total += slopes @ counts[some][:, None]
        return logs, total


@dataclass(frozen=True, slots=True)
class Normalised(OnDevice):
    """The probability of observations given that there is a model.

    The only observation of ``consistent`` is that there is a model.
    """

    joint: AsRoots | AsLeaves | SampledLikelihood
    consistent: AsRoots | AsLeaves | SampledLikelihood

    @property
    def count(self) -> int:
        return self.joint.count

    @property
    def engine(self) -> MassEngine:
        assert isinstance(self.joint, AsRoots | AsLeaves)
        return self.joint.engine

    def log(self, at: Tensor, ids: SeenIds, by_logs: bool = False) -> tuple[Tensor, Tensor]:
        logs, slopes = self.joint.log(at, ids, by_logs)
        given, down = self.consistent.log(at, _firsts(len(ids), at.device), by_logs)
        possible = logs != -torch.inf
        return torch.where(possible, logs - given, logs), torch.where(possible, slopes - down, 0.0)

    def log_shared(self, weights: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
        logs, slopes = self.joint.log_shared(weights, counts)
        given, down = self.consistent.log(weights, _firsts(1, weights.device))
        possible = logs != -torch.inf
        seen = torch.where(possible, counts, 0.0).sum()
        return torch.where(possible, logs - given, logs), slopes - seen * down

    def probability(self, weights: Tensor) -> Tensor:
        """The probabilities [distinct observations, batch], where each is a root."""
        assert isinstance(self.joint, AsRoots)
        assert isinstance(self.consistent, AsRoots)
        given = self.consistent.probability(weights)[0]
        return self.joint.probability(weights) / given.clamp(min=LEAST_LINEAR)

    def tries(self, weights: Tensor, ids: SeenIds) -> Tensor:
        given = self.consistent.log(weights, _firsts(weights.shape[1], weights.device))[0]
        return tries_of(given).expand(len(ids))


def _firsts(count: int, device: torch.device) -> Tensor:
    """The number of the first observation, ``count`` times."""
    return torch.zeros(count, dtype=torch.int64, device=device)


Composed = AsRoots | AsLeaves | AtExtremes
Likelihood = Composed | Normalised


class _Log(torch.autograd.Function):
    """log P of each column's observation, twice differentiable (once by logarithms of weights)."""

    @staticmethod
    def forward(ctx: Any, at: Tensor, likelihood: Composed, ids: SeenIds, by_logs: bool) -> Tensor:
        logs, slopes = likelihood.log(at.detach(), ids, by_logs)
        ctx.save_for_backward(at, slopes)
        ctx.how = likelihood, ids, by_logs
        return logs

    @staticmethod
    def backward(ctx: Any, up: Tensor) -> tuple[Tensor | None, ...]:
        (at, slopes), (likelihood, ids, by_logs) = ctx.saved_tensors, ctx.how
        result = slopes * up
        if torch.is_grad_enabled():  # for second derivatives
            if by_logs:
                (result,) = no_further([result], [at, up])
            else:
                logs = likelihood.composed(at, ids)
                (slopes,) = torch.autograd.grad(logs.sum(), at, create_graph=True)
                result = slopes * up
        return result, None, None, None


def log_probability(
    at: Tensor, likelihood: Likelihood, ids: SeenIds, by_logs: bool = False
) -> Tensor:
    """log P [batch] of the observations, differentiable by the weights [leaves, batch or 1].

    With ``by_logs``, the weights are given as logarithms.
    """
    if isinstance(likelihood, Normalised):
        assert isinstance(likelihood.joint, AsRoots | AsLeaves)
        assert isinstance(likelihood.consistent, AsRoots | AsLeaves)
        joint = log_probability(at, likelihood.joint, ids, by_logs)
        first = _firsts(at.shape[1], at.device)
        given = log_probability(at, likelihood.consistent, first, by_logs)
        return torch.where(joint == -torch.inf, joint, joint - given)
    if at.shape[1] == 1 and len(ids) != 1:
        if isinstance(likelihood, AsRoots) and not by_logs:
            return log_of_mixture(at, likelihood.engine, likelihood.mixture)[:, 0][ids]
        at = at.expand(-1, len(ids))
    return _Log.apply(at, likelihood, ids, by_logs)  # type: ignore[no-any-return,no-untyped-call]


def likelihood_of(
    ground: GroundProgram,
    meaning: Meaning,
    observations: Sequence[Observation],
    objective: Objective = Objective(),  # noqa: B008 - frozen
    watch: Watch = UNLIMITED,
    options: Options = Options(),  # noqa: B008 - frozen
    expected: frozenset[int] = frozenset(),
    few: int = TUNING.few_observations,
) -> Likelihood:
    """The probability of the distinct observations, by the better of the two ways.

    ``expected`` are atoms that many later observations will be about; up to ``few`` observations
    become roots of a circuit.
    """
    intervals = any(isinstance(choice.weight, IntervalWeights) for choice in ground.choices)
    many = len(observations) > few or sum(map(len, observations)) > TUNING.long_observations
    if (many or expected) and not intervals:
        as_leaves = _leaf_for_each(ground, meaning, observations, watch, options, expected)
        if as_leaves is not None:
            return _normalised(as_leaves, ground, meaning, watch)
    questions = questions_of(observations)
    engine = native_engine(ground, meaning, questions, watch=watch, options=options)
    if intervals:
        sure = never_missing(engine, ground) or surely_consistent(ground, meaning)
        return at_extremes(ground, meaning, observations, objective, engine, normalised=not sure)
    mixture = mixture_of(engine.circuit.definite, meaning, observations, objective.lower)
    return _normalised(AsRoots(engine, mixture), ground, meaning, watch)


def surely_consistent(ground: GroundProgram, meaning: Meaning) -> bool:
    """Whether the rules show that every total choice has a model."""
    if meaning.has_undefined_model:
        return True
    if not all(rule.head or rule.choice for rule in ground.rules):
        return False
    if determined(ground.rules, len(ground.symbols)).all():
        return True
    part = determined_part(Groundwork(ground, meaning))
    return part is not None and not part.constraints


def never_missing(engine: CircuitEngine, ground: GroundProgram) -> bool:
    """Whether a circuit shows that every total choice has a model."""
    return consistency(engine.circuit, layout(ground.choices)).never


def _normalised(
    joint: AsRoots | AsLeaves, ground: GroundProgram, meaning: Meaning, watch: Watch
) -> AsRoots | AsLeaves | Normalised:
    """The observations given that there is a model; unchanged if there always is one.

    Consistency gets a circuit of its own if that is little work, since every step evaluates it;
    otherwise it is part of the observations' circuit.
    """
    assert isinstance(joint.engine, CircuitEngine)
    if isinstance(joint, AsRoots) and never_missing(joint.engine, ground):
        return joint  # the circuit usually shows it, so the rules need not be inspected
    if surely_consistent(ground, meaning):
        return joint
    if joint.engine.circuit.statistics.way != "enumerated":
        try:
            engine = native_engine(
                ground,
                meaning,
                [ALWAYS],
                watch=watch,
                options=BOUNDS.part,
            )
        except (InferenceError, SizeLimit):
            pass
        else:
            if never_missing(engine, ground):
                return joint
            return Normalised(joint, AsRoots(engine, consistent_mass(1)))
    if isinstance(joint, AsRoots):
        return Normalised(joint, AsRoots(joint.engine, consistent_mass(joint.count)))
    return Normalised(joint, replace(joint, evidence=torch.ones_like(joint.evidence[:1])))


def _leaf_for_each(
    ground: GroundProgram,
    meaning: Meaning,
    observations: Sequence[Observation],
    watch: Watch,
    options: Options,
    expected: frozenset[int],
) -> AsLeaves | None:
    """The second way, if all observed atoms are determined; otherwise None."""
    literals = {literal for observation in observations for literal in observation}
    known = determined(ground.rules, len(ground.symbols))
    # A literal without an atom is observed only as 'not'.
    literals = {literal for literal in literals if literal.atom}
    if not all(known[literal.atom] and literal.mode is not Mode.UNDEFINED for literal in literals):
        return None
    more = (atom for atom in expected if known[atom])
    atoms = tuple(sorted({*more, *(literal.atom for literal in literals)}))
    try:
        engine = native_engine(ground, meaning, [ALWAYS], atoms, watch, options)
    except (InferenceError, SizeLimit):
        return None
    return AsLeaves(AsRoots(engine, consistent_mass(1)), atoms, _evidence(observations, atoms))


def _evidence(observations: Sequence[Observation], atoms: Sequence[int]) -> Tensor:
    """The weights [observations, 2 · atoms] of the leaves for what was observed."""
    place = {atom: 2 * i for i, atom in enumerate(atoms)}
    evidence = torch.ones(len(observations), 2 * len(atoms), dtype=torch.uint8)
    # An atom observed true cannot be false, and vice versa.
    seen = [
        (row, place[literal.atom] + (literal.mode is Mode.TRUE))
        for row, observation in enumerate(observations)
        for literal in observation
        if literal.atom
    ]
    if seen:
        rows, places = torch.tensor(seen).T
        evidence[rows, places] = 0
    return evidence
