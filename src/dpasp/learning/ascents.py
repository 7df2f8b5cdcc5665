"""What learning maximises: the exact likelihood if it fits, otherwise a lower bound or samples.

Observations that are impossible are refused before learning starts.

>>> import dpasp
>>> program = dpasp.loads("?::a. b :- a.")
>>> [program.learn([["b"]], niters=1, likelihood=way).likelihood for way in ("auto", "sampled")]
['exact', 'sampled']
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dpasp import circuits
from dpasp.circuits.worlds import BLOCK, Worlds, reached
from dpasp.dataclass import dataclass
from dpasp.errors import DataError, Diagnostic, LimitReached, Span, outside
from dpasp.ground.program import GroundProgram, GroundQuery
from dpasp.inference.asked import ask
from dpasp.inference.bounds.relaxed import Budget, Growing, determined_part, important
from dpasp.inference.sampling.situations import Groundwork
from dpasp.inference.sampling.stream import Prepared, SeenWorlds, Stream, outcomes
from dpasp.inference.tuning import BOUNDS
from dpasp.language.ast import NOWHERE
from dpasp.learning.history import AscentKind
from dpasp.learning.likelihood import (
    AsRoots,
    Likelihood,
    Normalised,
    likelihood_of,
    surely_consistent,
)
from dpasp.learning.masses import CircuitEngine, MassMixture, SideBySide
from dpasp.learning.module import ProgramModule
from dpasp.learning.observations import Observation, Observations, observation_brief
from dpasp.learning.options import LearnOptions
from dpasp.learning.tuning import TUNING
from dpasp.limits import UNLIMITED, Watch
from dpasp.semantics.leaves import Weights, layout
from dpasp.semantics.masses import ROUNDING, Array
from dpasp.semantics.meaning import Meaning

LEAST = 1e-300  # stands for 0 in a logarithm
FIELD = ("a",)
SHOWN = 5  # impossible observations that a message names
CPU = torch.device("cpu")


class SampledLikelihood:
    """A sampled likelihood of observations, for a program without networks.

    By Fisher's identity, the gradient of log P(O) by p_x is the mean of [X = x] / p_x over total
    choices drawn given O. So worlds are drawn with as much of O as possible pushed into their
    choices, and each is accepted in proportion to its weight and to the share of its models that
    satisfy O; the accepted ones are exact draws given O. Choices that O does not depend on keep
    their probability and are not drawn (Rao and Blackwell).
    """

    def __init__(self, sources: Sequence[_Source], seed: int, first: int = 0) -> None:
        """``first`` is the number of the first source among all that draw with a seed."""
        self.sources, self.seed, self.first = tuple(sources), seed, first
        self.moment = (0, 0)  # iteration and step: every step draws other worlds

    @property
    def count(self) -> int:
        return len(self.sources)

    def to(self, device: torch.device) -> SampledLikelihood:
        """Return it unchanged: worlds are drawn on the CPU."""
        return self

    def tries(self, weights: Tensor, ids: Tensor) -> None:
        """Every total choice counts."""

    def log(self, at: Tensor, ids: Tensor, by_logs: bool = False) -> tuple[Tensor, Tensor]:
        weights = at.exp() if by_logs else at
        parts = [self._drawn(number, weights[:, i]) for i, number in enumerate(ids.tolist())]
        slopes = torch.stack([slope for _, slope in parts], dim=1)
        return torch.stack([log for log, _ in parts]), slopes * weights if by_logs else slopes

    def log_shared(self, weights: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
        logs, total = torch.zeros_like(counts), torch.zeros_like(weights)
        for number in counts.nonzero()[:, 0].tolist():
            logs[number], slopes = self._drawn(number, weights[:, 0])
            total[:, 0] += counts[number] * slopes
        return logs, total

    def _drawn(self, number: int, weights: Tensor) -> tuple[Tensor, Tensor]:
        key = (self.seed, *self.moment, self.first + number)
        log, slopes = self.sources[number].drawn(weights.detach().cpu().double().numpy(), key)
        return weights.new_tensor(log), torch.from_numpy(slopes).to(weights)


LogLikelihood = Likelihood | SampledLikelihood


def sampled(
    ground: GroundProgram,
    meaning: Meaning,
    observations: Sequence[Observation],
    samples: int,
    seed: int,
    lower: float,
    watch: Watch,
) -> SampledLikelihood | Normalised:
    """The sampled likelihood of observations, with ``samples`` worlds for each in a step.

    ``lower`` is the share of the lower probability in what is maximised. If some total choices have
    no model, worlds that have one are drawn as well.
    """

    def source(literals: Observation) -> _Source:
        return _Source(ground, meaning, literals, samples, lower, watch)

    joint = SampledLikelihood(list(map(source, observations)), seed)
    if surely_consistent(ground, meaning):
        return joint
    return Normalised(joint, SampledLikelihood([source(())], seed, first=joint.count))


class _Source:
    """The worlds of one observation."""

    def __init__(
        self,
        ground: GroundProgram,
        meaning: Meaning,
        literals: Observation,
        samples: int,
        lower: float,
        watch: Watch,
    ) -> None:
        self.meaning, self.samples, self.lower, self.watch = meaning, samples, lower, watch
        self.query = GroundQuery((), literals, observation_brief(literals), NOWHERE)
        program = replace(ground, questions=(self.query,), evidence=())
        self.leaves = layout(ground.choices)
        even = np.full(self.leaves.size, 0.5)  # prepared once, for any weights
        prepared = Prepared(ask(program, meaning, weights=even, watch=watch), [self.query])
        outputs, rules = prepared.outputs, prepared.definitions.rules
        seen = reached(outputs, lambda atom: (abs(b) for r in rules.get(atom, ()) for b in r.body))
        drawn = prepared.definitions.selectors
        # the choices that the observation depends on
        self.read = sorted({drawn[atom][0] for atom in seen if atom in drawn})
        self.rows: list[int] = []  # the leaf of each selector that is drawn
        selectors: list[int] = []
        for number in self.read:
            choice = ground.choices[number]
            selectors += choice.selectors
            self.rows += range(
                self.leaves.starts[number], self.leaves.starts[number] + len(choice.selectors)
            )
        self.first = len(outputs)
        pushes = prepared.worlds.pushes
        prepared.worlds = Worlds(
            prepared.definitions, prepared.size, [*outputs, *selectors], pushes
        )
        self.prepared = prepared
        self._last: tuple[object, tuple[float, Weights]] | None = None

    def drawn(self, weights: Weights, key: Sequence[int]) -> tuple[float, Weights]:
        """log P and its gradient [leaves] under weights; the key determines the worlds."""
        asked = (tuple(key), weights.tobytes())
        if self._last is None or self._last[0] != asked:
            self._last = asked, self._draw(weights, key)
        return self._last[1]

    def _draw(self, weights: Weights, key: Sequence[int]) -> tuple[float, Weights]:
        generator = np.random.default_rng(key)
        seed = int(generator.integers(2**62))
        stream = Stream(self.prepared, weights, seed, self.watch)
        accepted, mass, worlds, number = 0, 0.0, 0, 0
        counts = np.zeros(len(self.rows))
        piece = TUNING.worlds_together if self.prepared.situations else BLOCK
        while accepted < self.samples and worlds < TUNING.most_worlds:
            block = stream.block(number)
            number += 1
            for start in range(0, BLOCK, piece):
                part = slice(start, start + piece)
                share = self._share(stream.seen(block, part))
                mass += float(share.sum())
                worlds += piece
                good = np.flatnonzero(generator.random(piece) < share)
                good = good[: self.samples - accepted]
                counts += block.bits[self.first :, part][:, good].sum(axis=1)
                accepted += len(good)
        if not accepted:
            message = (
                f"none of {worlds:,} sampled worlds satisfies the observation {self.query.text}"
            )
            help = 'say likelihood = "bound", or start from probabilities that make it less rare'
            raise DataError.at("unsampled", message, help=help)
        return float(np.log(stream.most * mass / worlds)), self._slopes(weights, counts, accepted)

    def _share(self, seen: SeenWorlds) -> Array:
        """The share with which each world is accepted."""
        numbers = [n[0, 0] for n in outcomes(seen.known, self.meaning, [self.query])]
        share: Array = self.lower * numbers[0] + (1 - self.lower) * numbers[-1]
        return share if seen.weights is None else share * seen.weights

    def _slopes(self, weights: Weights, counts: Array, accepted: int) -> Weights:
        slopes = np.ones(self.leaves.size)  # of choices that the observation does not depend on
        slopes[self.rows] = counts / accepted
        for number in self.read:
            leaves = self.leaves.of(number)
            drawn = set(range(leaves.start, leaves.stop)) & set(self.rows)
            if len(drawn) < leaves.stop - leaves.start:  # the value "nothing" has no selector
                slopes[leaves.stop - 1] = max(0.0, 1.0 - slopes[sorted(drawn)].sum())
            some = weights[leaves] > 0
            divisors = np.where(some, weights[leaves], 1.0)
            slopes[leaves] = np.where(some, slopes[leaves] / divisors, 0.0)
        return slopes


@dataclass(frozen=True)
class LowerBound:
    """A lower bound of the likelihood, from what has been compiled so far.

    The compiled part of an observation is at most its probability under any parameters, so its
    logarithm is below the log-likelihood. If some total choices have no model, it is divided by an
    upper bound of the mass of the others. Between iterations, more is compiled.

    Each observation is a goal, as in :mod:`dpasp.inference.bounds.relaxed`: one circuit is for when
    it surely holds although some choices are unknown, another for when it surely does not. With
    constraints, the last of these ``sides`` are for the existence of a model.
    """

    sides: tuple[tuple[Growing, Growing], ...]
    counts: tuple[int, ...]  # how many examples each observation has
    budget: Budget
    watch: Watch
    constrained: bool = False
    iteration: int = -1  # the iteration after which it was last tightened

    @property
    def _observed(self) -> tuple[tuple[Growing, Growing], ...]:
        return self.sides[:-1] if self.constrained else self.sides

    @property
    def likelihood(self) -> AsRoots | Normalised:
        """The current bound; its circuits say what makes the observations hold."""
        joint = _as_roots([held for held, _ in self._observed])
        if not self.constrained:
            return joint
        held, fails = self.sides[-1]  # the upper bound of the probability of a model
        if held.whole:  # at most its lower bound
            return Normalised(joint, _as_roots([held]))
        rest = _as_roots([fails])
        slack = rest.mixture.constant + 1.0 + ROUNDING  # 1 minus it, rounded up
        less = MassMixture(FIELD, -rest.mixture.coefficients, slack, False)
        return Normalised(joint, replace(rest, mixture=less))

    @property
    def exact(self) -> list[bool]:
        """For which observations the bound is exact."""
        return [held.whole for held, _ in self._observed]

    def above(self, bound: AsRoots | Normalised, weights: Tensor, ids: Tensor) -> Tensor:
        """By how much log P [batch] can exceed its ``bound``."""
        most = 1.0 - self._traced([fails for _, fails in self._observed], weights)
        if self.constrained:  # of the mass of models, that of the observation is a part
            given = self._traced([self.sides[-1][0]], weights)
            most = most / torch.maximum(most, given).clamp(min=LEAST)
        columns = torch.arange(len(ids), device=ids.device) if weights.shape[1] > 1 else 0 * ids
        ends = (most, bound.probability(weights))
        high, low = (end[ids, columns].clamp(LEAST, 1.0).log() for end in ends)
        return (high - low).clamp(min=0.0)

    def _traced(self, parts: Sequence[Growing], weights: Tensor) -> Tensor:
        """The probability [parts, batch] that some goals surely hold, or surely do not."""
        return _side_by_side(parts).to(weights.device).traced(weights, FIELD)[0][:, 0]

    def tightened(self, weights: Weights, iteration: int) -> LowerBound:
        """Return a bound with more choices known, within the budget and a part of the time.

        After the first time, this is done only for the few observations with the largest gaps.
        """
        gaps: dict[int, float] = {}  # how far a log-likelihood may be above its bound
        for place, (held, fails) in enumerate(self.sides):
            ends = 1.0 - fails.at_least(weights), held.at_least(weights)
            high, low = (math.log(max(end, LEAST)) for end in ends)
            gaps[place] = self.counts[place] * (high - low)
        open_ = sorted((p for p in gaps if gaps[p] > TUNING.gap), key=lambda place: -gaps[place])
        chosen = open_ if iteration == 0 else open_[: TUNING.tightened]
        left = self.watch.remaining()
        watch = self.watch.within(None if left is None else TUNING.tightening_time * left)
        sides = list(self.sides)
        for turn, place in enumerate(chosen):
            part = watch.share(len(chosen) - turn)
            held, fails = sides[place]
            sides[place] = (
                self._grown(held, weights, iteration, part.share(2)),
                self._grown(fails, weights, iteration, part),
            )
        return replace(self, sides=tuple(sides), iteration=iteration)

    def _grown(self, growing: Growing, weights: Weights, iteration: int, watch: Watch) -> Growing:
        """Grow until an attempt fails."""
        if growing.whole or growing.stuck:
            return growing
        budget = self.budget
        try:
            ranked = important(growing.goal, weights, iteration, budget.reasons, watch)
            while True:
                known, growing = growing.known, growing.grown(ranked, budget, watch)
                if growing.known == known or growing.whole:
                    break
        except LimitReached:
            pass  # keep what was found so far
        return growing

    @property
    def state(self) -> list[Any]:
        """The iteration of the last tightening and the known choices, to continue from there."""
        known = [[[sorted(part.known), part.step] for part in pair] for pair in self.sides]
        return [self.iteration, known]

    def restored(self, state: list[Any]) -> LowerBound:
        iteration, known = state
        sides = [
            (self._restored(held, *one), self._restored(fails, *other))
            for (held, fails), (one, other) in zip(self.sides, known, strict=True)
        ]
        return replace(self, sides=tuple(sides), iteration=iteration)

    def _restored(self, growing: Growing, known: Sequence[int], step: int) -> Growing:
        if not known and growing.goal.numbers:
            return Growing(growing.goal, step=step)
        circuit = self.budget.compiled(growing.goal, known, self.watch)
        return Growing(growing.goal, frozenset(known), circuit, step)


def _side_by_side(parts: Sequence[Growing]) -> SideBySide:
    found = (part.circuit for part in parts)
    return SideBySide(tuple(None if one is None else CircuitEngine(one) for one in found))


def _as_roots(parts: Sequence[Growing]) -> AsRoots:
    """The probabilities that some goals surely hold or not: one mass for each."""
    rows = torch.ones(len(parts), 1, dtype=torch.float64)
    return AsRoots(_side_by_side(parts), MassMixture(FIELD, rows, 0.0 * rows[:, 0], True))


def lower_bound(
    ground: GroundProgram,
    meaning: Meaning,
    observations: Mapping[Observation, int],
    nodes: int,
    watch: Watch = UNLIMITED,
) -> LowerBound | None:
    """A bound with no choices known yet; None if they do not determine all observations."""
    part = determined_part(Groundwork(ground, meaning, watch))
    if part is None:
        return None
    sides: list[tuple[Growing, Growing]] = []
    for observation in observations:
        literals = part.conjunction(observation)
        if literals is None:
            return None
        fails = part.complement([(-literal,) for literal in literals])
        sides.append((Growing(part.goal([literals])), Growing(fails)))
    counts = tuple(observations.values())
    if part.constraints:
        sides.append((Growing(part.goal([()])), Growing(part.complement([]))))
        counts = (*counts, sum(counts))
    share = max(1, 2 * len(sides))
    budget = Budget(
        max(100, nodes // share),
        max(TUNING.least_goal_work, TUNING.goal_work // share),
        max(20, TUNING.reasons // share),
    )
    return LowerBound(tuple(sides), counts, budget, watch, bool(part.constraints))


class LikelihoodWarning(UserWarning):
    """Learning maximises something other than the exact likelihood."""


@dataclass(frozen=True)
class Ascent:
    """What is maximised and, for a bound, the circuits behind it."""

    kind: AscentKind
    likelihood: LogLikelihood
    source: LowerBound | None = None

    @classmethod
    def by(cls, source: LowerBound, device: torch.device = CPU) -> Ascent:
        """The current bound of a source."""
        return cls("bound", source.likelihood.to(device), source)

    def begin(self, iteration: int, step: int) -> None:
        """Announce the next step, which draws other worlds."""
        found = self.likelihood
        parts = (found.joint, found.consistent) if isinstance(found, Normalised) else (found,)
        for part in parts:
            if isinstance(part, SampledLikelihood):
                part.moment = iteration, step

    def above(self, weights: Tensor, ids: Tensor) -> Tensor | None:
        """By how much log P [batch] can exceed what is maximised; None if it is exact."""
        if self.source is None:
            return None
        assert isinstance(self.likelihood, AsRoots | Normalised)
        return self.source.above(self.likelihood, weights.detach(), ids)


def ascent_of(
    model: ProgramModule,
    seen: Observations,
    options: LearnOptions,
    watch: Watch,
    span: Span | None = None,
) -> Ascent:
    """Choose what learning maximises.

    Raises :class:`LimitReached` if the likelihood is too large and must be exact or cannot be
    replaced, and :class:`DataError` for what bounds or samples cannot do.
    """
    if options.likelihood in ("sampled", "bound"):
        return _not_exact(model, seen, options, watch, span)
    if options.likelihood == "exact":
        return _exact(model, seen, options, watch)
    left = watch.remaining()
    part = watch.within(None if left is None else left - BOUNDS.after_exact * left, watch.report)
    try:
        return _exact(model, seen, options, part.with_memory(BOUNDS.memory))
    except LimitReached as limit:
        if model.has_intervals or options.capture:
            raise
        watch.check()
        found = _not_exact(model, seen, options, watch, span)
        warnings.warn(
            f"{limit.diagnostics[0].message}: learning ascends a lower bound of the likelihood, "
            'and the history says how far it may be off; likelihood = "exact" fails instead, '
            'likelihood = "sampled" draws worlds',
            LikelihoodWarning,
            stacklevel=outside(),
        )
        return found


def _exact(model: ProgramModule, seen: Observations, options: LearnOptions, watch: Watch) -> Ascent:
    room = circuits.Options() if options.nodes is None else circuits.Options(nodes=options.nodes)
    found = likelihood_of(
        model.ground, model.meaning, seen.distinct, options.goal, watch=watch, options=room
    )
    return Ascent("exact", found)


def _not_exact(
    model: ProgramModule,
    seen: Observations,
    options: LearnOptions,
    watch: Watch,
    span: Span | None,
) -> Ascent:
    """A sampled likelihood, or a lower bound as good as its budget allows for now."""
    _check(model, seen, options, span)
    if options.likelihood == "sampled":
        how = (options.samples, options.seed, options.goal.lower, watch)
        return Ascent("sampled", sampled(model.ground, model.meaning, seen.distinct, *how))
    nodes = options.nodes or TUNING.bound_nodes
    counts = torch.bincount(seen.ids.cpu(), minlength=len(seen.distinct)).tolist()
    counted = dict(zip(seen.distinct, counts, strict=True))
    source = lower_bound(model.ground, model.meaning, counted, nodes, watch)
    if source is None:
        message = "there is no lower bound where the choices do not determine the observations"
        help = 'say likelihood = "sampled", or "exact", and raise the limits if it does not fit'
        raise DataError.at("learn-bound", message, span, help)
    weights = model.even_weights()
    source = source.tightened(weights[:, 0].numpy(), 0)
    low = source.likelihood.probability(weights)[:, 0].tolist()
    for observation, least, whole in zip(seen.distinct, low, source.exact, strict=True):
        if least <= 0 and not whole:
            message = f"nothing is sure about the observation {observation_brief(observation)} "
            message += f"within {nodes:,} nodes: there is no bound to ascend"
            help = 'raise nodes = …, say likelihood = "sampled", or correct it if it cannot be'
            raise DataError.at("learn-bound", message, span, help)
    return Ascent.by(source)


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
            raise DataError.at("learn-likelihood", message, span, help)
    if kind == "sampled" and model.ground.networks:
        message = 'likelihood = "sampled" draws worlds for one set of probabilities, and a network'
        message += " gives every example its own"
        raise DataError.at("learn-sampled", message, span, 'say likelihood = "bound"')


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
