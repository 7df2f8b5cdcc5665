"""Masses of questions as differentiable functions of leaf weights, and probabilities from masses.

A circuit is evaluated by a native kernel on the CPU and by a walk over its tape elsewhere; torch
sees one function with a hand-written backward pass. The formulas from masses to probabilities are
those of :mod:`dpasp.semantics.masses`, for tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dpasp.circuits import FIELDS, Cache, Circuit, Options
from dpasp.circuits.gpu.walks import Fields, Pullback, Walked
from dpasp.dataclass import dataclass
from dpasp.errors import DataError, ImpossibleEvidence, UsageError
from dpasp.ground.program import GroundProgram, GroundQuery
from dpasp.inference.circuit import on_circuit
from dpasp.learning.networks import OnDevice
from dpasp.learning.observations import Observation
from dpasp.limits import UNLIMITED, Watch
from dpasp.semantics.leaves import Weights
from dpasp.semantics.masses import ROUNDING, impossible_evidence, undefined_counts
from dpasp.semantics.meaning import Meaning

LEAST_LINEAR = 1e-290  # below this, linear space loses its digits
MOST_TRIES = 1e15  # the upper end: steps cannot be made smaller than that


@dataclass(frozen=True)
class CircuitEngine:
    """A circuit, evaluated by the native kernel on the CPU, or by walks elsewhere."""

    circuit: Circuit
    walked: Walked | None = None

    @cached_property
    def questions(self) -> int:
        return self.circuit.questions

    @property
    def size(self) -> int:
        """The number of products in an evaluation."""
        return self.circuit.statistics.edges

    @property
    def scaled(self) -> bool:
        """Whether logarithms are as cheap as masses; they never underflow."""
        return self.walked is not None and self.walked.scaled

    def traced(self, weights: Tensor, fields: Fields, log: bool = False) -> tuple[Tensor, Pullback]:
        """The masses, or their logarithms, and the function from seeds to slopes."""
        if self.walked is not None:
            return self.walked.traced(weights, fields, log)
        threads = self._threads(weights)
        every = self.circuit.masses(_array(weights), fields=fields, log=log, threads=threads)
        picked = torch.from_numpy(every[:, _places(fields)])
        return picked, lambda seeds: self.gradient(weights, seeds, fields, log)[1]

    def gradient(
        self, at: Tensor, seeds: Tensor, fields: Fields, log: bool = False, by_logs: bool = False
    ) -> tuple[Tensor, Tensor]:
        """The masses, and the gradient of Σ seeds · masses by the weights; or of logarithms.

        With ``by_logs``, masses, weights and gradient are all in logarithms.
        """
        if self.walked is not None and not by_logs:
            return self.walked.gradient(at, seeds, fields, log)
        wide, threads, log = _wide(seeds, fields), self._threads(at), log or by_logs
        masses, slopes = self.circuit.gradient(
            _array(at), wide, log=log, of_logs=by_logs, threads=threads
        )
        return torch.from_numpy(masses[:, _places(fields)]).to(at), torch.from_numpy(slopes).to(at)

    def curvature(
        self, weights: Tensor, seeds: Tensor, directions: Tensor, fields: Fields, log: bool = False
    ) -> tuple[Tensor, Tensor]:
        """The derivatives of :meth:`gradient` along directions [leaves, batch]."""
        wide, threads = _wide(seeds, fields), self._threads(weights)
        tangents, second = self.circuit.curvature(
            _array(weights), wide, _array(directions), fields=fields, log=log, threads=threads
        )
        picked = torch.from_numpy(tangents[:, _places(fields)])
        return picked.to(weights), torch.from_numpy(second).to(weights)

    def to(self, device: torch.device) -> CircuitEngine:
        there = self.walked.device if self.walked else torch.device("cpu")
        if device == there:
            return self
        return CircuitEngine(
            self.circuit, None if device.type == "cpu" else Walked(self.circuit, device)
        )

    def _threads(self, weights: Tensor) -> int:
        """The number of threads: more than one only if there is enough work."""
        return torch.get_num_threads() if self.size * weights.shape[1] > 1 << 22 else 1


@dataclass(frozen=True, slots=True)
class SideBySide:
    """Circuits with one question each, as one engine; a question without a circuit has mass 0."""

    parts: tuple[CircuitEngine | None, ...]
    scaled: ClassVar[bool] = False

    @property
    def questions(self) -> int:
        return len(self.parts)

    @property
    def size(self) -> int:
        return sum(part.size for part in self.parts if part is not None)

    def to(self, device: torch.device) -> SideBySide:
        return SideBySide(tuple(part and part.to(device) for part in self.parts))

    def traced(self, weights: Tensor, fields: Fields, log: bool = False) -> tuple[Tensor, Pullback]:
        nothing = weights.new_full((1, len(fields), weights.shape[1]), -torch.inf if log else 0.0)
        values = [part.traced(weights, fields, log)[0] if part else nothing for part in self.parts]
        return torch.cat(values), lambda seeds: self.gradient(weights, seeds, fields, log)[1]

    def gradient(
        self, at: Tensor, seeds: Tensor, fields: Fields, log: bool = False, by_logs: bool = False
    ) -> tuple[Tensor, Tensor]:
        total = torch.full_like(seeds, -torch.inf if log or by_logs else 0.0)
        slopes = torch.zeros_like(at)
        for row, part in enumerate(self.parts):
            used = seeds[row].abs().sum(dim=0).nonzero()[:, 0]  # the columns of this question
            if part is not None and len(used):
                up = seeds[row : row + 1, :, used]
                values, back = part.gradient(at[:, used], up, fields, log, by_logs)
                total[row, :, used] = values[0]
                slopes[:, used] += torch.where(back.isfinite(), back, 0.0)
        return total, slopes


MassEngine = CircuitEngine | SideBySide


def _array(tensor: Tensor) -> Weights:
    return tensor.detach().cpu().double().contiguous().numpy()


def _places(fields: Fields) -> list[int]:
    return [FIELDS.index(name) for name in fields]


def _wide(seeds: Tensor, fields: Fields) -> NDArray[np.float64]:
    """Expand seeds of some fields to all fields, [questions, fields, batch]."""
    wide = np.zeros((len(seeds), len(FIELDS), seeds.shape[2]))
    wide[:, _places(fields)] = _array(seeds)
    return wide


def native_engine(
    ground: GroundProgram,
    meaning: Meaning,
    questions: Sequence[GroundQuery],
    observed: Sequence[int] = (),
    watch: Watch = UNLIMITED,
    options: Options = Options(),  # noqa: B008 - frozen
) -> CircuitEngine:
    """The circuit of some questions; ``observed`` atoms add two leaves each, true and false.

    A circuit that took long to compile is kept on disk for next time.
    """
    asked = replace(ground, questions=tuple(questions))
    kept = Cache.default()
    found = on_circuit(asked, meaning, observed=observed, options=options, cache=kept, watch=watch)
    return CircuitEngine(found.circuit)


class _Masses(torch.autograd.Function):
    """The masses, with the gradient that the engine computes."""

    @staticmethod
    def forward(ctx: Any, weights: Tensor, engine: MassEngine, fields: Fields, log: bool) -> Tensor:
        traced, ctx.pullback = engine.traced(weights.detach(), fields, log)
        ctx.save_for_backward(weights)
        ctx.how = engine, fields, log
        return traced

    @staticmethod
    def backward(ctx: Any, seeds: Tensor) -> tuple[Tensor, None, None, None]:
        if torch.is_grad_enabled():  # for second derivatives
            return _Slopes.apply(*ctx.saved_tensors, seeds, *ctx.how), None, None, None  # type: ignore[no-untyped-call]
        return ctx.pullback(seeds), None, None, None


class _Slopes(torch.autograd.Function):
    """The gradient of Σ seeds · masses, differentiable once more by weights and seeds."""

    @staticmethod
    def forward(
        ctx: Any, weights: Tensor, seeds: Tensor, engine: MassEngine, fields: Fields, log: bool
    ) -> Tensor:
        ctx.save_for_backward(weights, seeds)
        ctx.how = engine, fields, log
        return engine.gradient(weights.detach(), seeds.detach(), fields, log)[1]

    @staticmethod
    def backward(ctx: Any, up: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        (weights, seeds), (engine, fields, log) = ctx.saved_tensors, ctx.how
        tangents, second = engine.curvature(weights, seeds, up, fields, log)
        if torch.is_grad_enabled():
            second, tangents = no_further([second, tangents], [weights, seeds, up])
        return second, tangents, None, None, None


class _NoFurther(torch.autograd.Function):
    """Second derivatives, which refuse to be differentiated further."""

    @staticmethod
    def forward(ctx: Any, count: int, *tensors: Tensor) -> tuple[Tensor, ...]:
        return tuple(tensor.clone() for tensor in tensors[:count])

    @staticmethod
    def backward(ctx: Any, *ups: Tensor) -> tuple[Tensor | None, ...]:
        help = "differentiate at most twice; the second time without create_graph=True"
        raise UsageError("third derivatives of probabilities are not supported", help)


def no_further(results: Sequence[Tensor], inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The results, refusing to be differentiated by their inputs."""
    return _NoFurther.apply(len(results), *results, *inputs)  # type: ignore[no-any-return,no-untyped-call]


def masses(weights: Tensor, engine: MassEngine, fields: Fields, log: bool = False) -> Tensor:
    """The masses [questions, fields, batch], or their logarithms, differentiable twice."""
    return _Masses.apply(weights, engine, fields, log)  # type: ignore[no-any-return,no-untyped-call]


def with_slopes(
    function: Callable[[Tensor], Tensor], weights: Tensor, seeds: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Logarithms as a function of weights, and the slopes of their sum weighted by seeds.

    Impossible rows contribute nothing.
    """
    at = weights.detach().requires_grad_()
    with torch.enable_grad():
        logs = function(at)
        possible = logs.detach().isfinite()
        seeds = torch.ones_like(logs) if seeds is None else seeds.to(logs.dtype)
        (slopes,) = torch.autograd.grad(logs, at, torch.where(possible, seeds, 0.0))
    return logs.detach(), torch.where(slopes.isfinite(), slopes, 0.0)


@dataclass(frozen=True, slots=True)
class MassMixture(OnDevice):
    """The probability of an observation as Σ coefficients · masses + constant."""

    fields: Fields
    coefficients: Tensor  # [questions, fields]
    constant: Tensor  # [questions]
    single: bool  # whether it is a single mass

    def of(self, by_field: Tensor) -> Tensor:
        """The probabilities [questions, batch] from the masses [questions, fields, batch]."""
        mixed = (by_field * self.coefficients[:, :, None]).sum(dim=1)
        return mixed + self.constant[:, None]


def mixture_of(
    definite: bool, meaning: Meaning, observations: Sequence[Observation], lower: float
) -> MassMixture:
    """The mixture for a semantics; ``lower`` is the share of the lower probability.

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
        # A total choice without stable models has one model, in which every atom is undefined.
        rows[:, -1] = -constant
    return MassMixture(fields, rows, constant, len(fields) == 1 and not any(undefined))


def consistent_mass(questions: int) -> MassMixture:
    """The probability that there is a model, whatever the question."""
    rows = torch.ones(questions, 1, dtype=torch.float64)
    return MassMixture(("consistent",), rows, torch.zeros(questions, dtype=torch.float64), True)


def tries_of(log_consistent: Tensor) -> Tensor:
    """How many total choices are drawn, on average, until one has a model."""
    tries = (-log_consistent).exp().clamp(min=1.0, max=MOST_TRIES)
    return torch.where(log_consistent.isfinite(), tries, 1.0)


def log_of_mixture(weights: Tensor, engine: MassEngine, mixture: MassMixture) -> Tensor:
    """log P [questions, batch], twice differentiable; in log space where P may underflow."""
    if mixture.single and engine.scaled:
        return masses(weights, engine, mixture.fields, log=True)[:, 0]
    mixed = mixture.of(masses(weights, engine, mixture.fields))
    on_cpu = mixed.device.type == "cpu"  # inspecting numbers makes a GPU wait
    if mixture.single and on_cpu and bool((mixed.detach() <= LEAST_LINEAR).any()):
        return masses(weights, engine, mixture.fields, log=True)[:, 0]
    return log_or_never(mixed)


def log_or_never(probabilities: Tensor) -> Tensor:
    """The logarithms; that of 0 is -inf, with a gradient of 0, not NaN."""
    logs = probabilities.clamp(min=LEAST_LINEAR).log()
    return torch.where(probabilities <= 0, -torch.inf, logs)


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

    With ``vertices``, the weights have that many consecutive columns for each example, and the
    bounds are the extremes over them.
    """
    fields: Fields = ("qe", "e") if meaning.maxent else ("a", "b", "c", "d")
    wanted = (*fields, "consistent") if meaning.has_undefined_model else fields
    by_field = dict(zip(wanted, masses(weights, engine, wanted).unbind(1), strict=True))
    if meaning.has_undefined_model:
        _add_undefined(by_field, queries, meaning)
    shape = (len(queries), -1, vertices)
    if meaning.maxent:
        _check(by_field["e"] > 0, queries, weights)
        return (by_field["qe"] / by_field["e"]).clamp(max=1.0).T
    a, b, c, d = by_field.values()
    possible = b + d > 0
    lower = torch.where(a + d > 0, a / torch.where(a + d > 0, a + d, 1.0), 1.0)
    upper = torch.where(b + c > 0, b / torch.where(b + c > 0, b + c, 1.0), 0.0)
    lower = torch.where(possible, lower, torch.inf).reshape(shape).amin(dim=2)
    upper = torch.where(possible, upper, -torch.inf).reshape(shape).amax(dim=2)
    _check(possible.reshape(shape).any(dim=2), queries, weights[:, ::vertices])
    return Bounds(lower.T, upper.T)


def _add_undefined(
    by_field: dict[str, Tensor], queries: Sequence[GroundQuery], meaning: Meaning
) -> None:
    """Add the mass of total choices whose only model has every atom undefined."""
    rest = 1.0 - by_field.pop("consistent")
    rest = torch.where(rest > ROUNDING, rest, 0.0)
    for name, where in undefined_counts(meaning, queries).items():
        if name in by_field:
            counts = torch.from_numpy(where).to(rest.device)[:, None]
            by_field[name] = by_field[name] + rest * counts


def _check(possible: Tensor, queries: Sequence[GroundQuery], weights: Tensor) -> None:
    """Raise :class:`ImpossibleEvidence` if an example makes the evidence impossible."""
    if bool(possible.all()):
        return
    refuse_nan(weights)
    bad = (~possible).any(dim=1).nonzero()[:, 0].tolist()
    problems = {impossible_evidence(queries[i].evidence, queries[i].span): None for i in bad}
    raise ImpossibleEvidence(problems)


def refuse_nan(weights: Tensor, first: int = 0) -> None:
    """Raise :class:`DataError` if weights [leaves, rows] from networks are NaN."""
    if bool((off := weights.detach().isnan().any(dim=0)).any()):
        message = f"a network gives NaN for row {first + int(off.nonzero()[0])}"
        help = "look for NaN in the data of that row and in the network's parameters"
        raise DataError.at("network-simplex", message, help=help)
