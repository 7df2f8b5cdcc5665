"""Masses of questions as differentiable functions of leaf weights.

The circuit runs as a native kernel on the CPU and as a walk over its tape elsewhere; torch
sees one function with a hand-written backward pass.

>>> from dpasp import loads
>>> ground = loads("0.3::a. 0.5::b. c :- a. c :- b. #query c.").ground()
>>> engine = native_engine(ground, Meaning(), ground.questions)
>>> weights = torch.tensor([[0.3], [0.7], [0.5], [0.5]], dtype=torch.float64, requires_grad=True)
>>> mass = masses(weights, engine, ("a",))
>>> mass.backward()
>>> mass.item(), weights.grad[:, 0].tolist()
(0.65, [0.5, 0.0, 1.0, 0.3])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Protocol

import numpy as np
import torch
from torch import Tensor

from dpasp.circuits import FIELDS, Cache, Circuit, Options
from dpasp.dataclass import dataclass
from dpasp.errors import UsageError
from dpasp.ground.program import GroundProgram, GroundQuery
from dpasp.inference.circuit import on_circuit
from dpasp.limits import UNLIMITED, Watch
from dpasp.neural.walks import Fields, Pullback, Walked, by_logs_of, curvature_of, threads_for
from dpasp.semantics.leaves import Weights
from dpasp.semantics.meaning import Meaning


class MassEngine(Protocol):
    """What evaluates the masses of some questions and their gradient."""

    @property
    def questions(self) -> int:
        """How many questions it answers."""

    @property
    def size(self) -> int:
        """How many products an evaluation takes."""

    @property
    def scaled(self) -> bool:
        """Whether logarithms are the way to go: as cheap as masses, and never underflowing."""

    def masses(self, weights: Tensor, fields: Fields) -> Tensor:
        """The masses [questions, fields, batch] under weights [leaves, batch]."""

    def traced(self, weights: Tensor, fields: Fields, log: bool = False) -> tuple[Tensor, Pullback]:
        """The masses, or their logarithms, and what takes seeds back to slopes."""

    def gradient(
        self, weights: Tensor, seeds: Tensor, fields: Fields, log: bool = False
    ) -> tuple[Tensor, Tensor]:
        """The masses, and the gradient of Σ seeds · masses by the weights; or of logarithms."""

    def curvature(
        self, weights: Tensor, seeds: Tensor, directions: Tensor, fields: Fields, log: bool = False
    ) -> tuple[Tensor, Tensor]:
        """The derivatives along directions [leaves, batch] of what :meth:`gradient` gives."""

    def gradient_by_logs(
        self, logs: Tensor, seeds: Tensor, fields: Fields
    ) -> tuple[Tensor, Tensor]:
        """The logarithms of the masses by those of the weights, and the gradient by those."""

    def to(self, device: torch.device) -> MassEngine:
        """The same on a device."""


@dataclass(frozen=True, slots=True)
class NativeEngine:
    """A circuit, evaluated by the native kernel on the CPU."""

    circuit: Circuit
    scaled: ClassVar[bool] = False  # logarithms take longer: only where masses underflow

    @property
    def questions(self) -> int:
        """How many questions it answers."""
        return self.circuit.questions

    @property
    def definite(self) -> bool:
        """Whether the models of a total choice never disagree on a question."""
        return self.circuit.definite

    @property
    def size(self) -> int:
        """How many products an evaluation takes."""
        return self.circuit.statistics.edges

    def masses(self, weights: Tensor, fields: Fields) -> Tensor:
        """The masses [questions, fields, batch] under weights [leaves, batch]."""
        return self.traced(weights, fields)[0]

    def traced(self, weights: Tensor, fields: Fields, log: bool = False) -> tuple[Tensor, Pullback]:
        """The masses, or their logarithms, and what takes seeds back to slopes."""
        every = self.circuit.masses(
            _array(weights), fields=fields, log=log, threads=threads_for(self.circuit, weights)
        )
        picked = torch.from_numpy(every[:, [FIELDS.index(name) for name in fields]])
        return picked, lambda seeds: self.gradient(weights, seeds, fields, log)[1]

    def gradient(
        self, weights: Tensor, seeds: Tensor, fields: Fields, log: bool = False
    ) -> tuple[Tensor, Tensor]:
        """The masses, and the gradient of Σ seeds · masses by the weights; or of logarithms."""
        places = [FIELDS.index(name) for name in fields]
        wide = np.zeros((self.questions, len(FIELDS), weights.shape[1]))
        wide[:, places] = seeds.detach().numpy()
        threads = threads_for(self.circuit, weights)
        masses, slopes = self.circuit.gradient(_array(weights), wide, log=log, threads=threads)
        return torch.from_numpy(masses[:, places]), torch.from_numpy(slopes)

    def curvature(
        self, weights: Tensor, seeds: Tensor, directions: Tensor, fields: Fields, log: bool = False
    ) -> tuple[Tensor, Tensor]:
        """The derivatives along directions [leaves, batch] of what :meth:`gradient` gives."""
        return curvature_of(self.circuit, weights, seeds, directions, fields, log)

    def gradient_by_logs(
        self, logs: Tensor, seeds: Tensor, fields: Fields
    ) -> tuple[Tensor, Tensor]:
        """The logarithms of the masses by those of the weights, and the gradient by those."""
        return by_logs_of(self.circuit, logs, seeds, fields)

    def to(self, device: torch.device) -> MassEngine:
        """The same circuit on a device."""
        if device.type == "cpu":
            return self
        return Walked(self.circuit, device)


def _array(weights: Tensor) -> Weights:
    return weights.detach().contiguous().numpy()


def native_engine(
    ground: GroundProgram,
    meaning: Meaning,
    questions: Sequence[GroundQuery],
    observed: Sequence[int] = (),
    watch: Watch = UNLIMITED,
    options: Options = Options(),  # noqa: B008 - frozen
) -> NativeEngine:
    """The circuit of some questions; ``observed`` atoms add two leaves each, true and false.

    One that took long to compile is kept on disk, for the next time the same is learned.
    """
    asked = replace(ground, questions=tuple(questions))
    kept = Cache.default()
    found = on_circuit(asked, meaning, observed=observed, options=options, cache=kept, watch=watch)
    return NativeEngine(found.circuit)


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
        if torch.is_grad_enabled():  # the slopes will be differentiated in turn
            return _Slopes.apply(*ctx.saved_tensors, seeds, *ctx.how), None, None, None  # type: ignore[no-untyped-call]
        return ctx.pullback(seeds), None, None, None


class _Slopes(torch.autograd.Function):
    """The gradient of Σ seeds · masses, which is differentiable once more by weights and seeds."""

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
    """Second derivatives, which are not constant, though their derivative is not known."""

    @staticmethod
    def forward(ctx: Any, count: int, *tensors: Tensor) -> tuple[Tensor, ...]:
        return tuple(tensor.clone() for tensor in tensors[:count])

    @staticmethod
    def backward(ctx: Any, *ups: Tensor) -> tuple[Tensor | None, ...]:
        raise UsageError(
            "third derivatives of probabilities are not supported",
            help="differentiate twice at most; create_graph=True is for what is differentiated on",
        )


def no_further(results: Sequence[Tensor], inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The results, which refuse to be differentiated by what they were computed from."""
    return _NoFurther.apply(len(results), *results, *inputs)  # type: ignore[no-any-return,no-untyped-call]


def masses(weights: Tensor, engine: MassEngine, fields: Fields, log: bool = False) -> Tensor:
    """The masses [questions, fields, batch] under weights [leaves, batch], or their logarithms.

    They are differentiable twice.
    """
    return _Masses.apply(weights, engine, fields, log)  # type: ignore[no-any-return,no-untyped-call]


__all__ = ["MassEngine", "NativeEngine", "masses", "native_engine", "no_further"]
