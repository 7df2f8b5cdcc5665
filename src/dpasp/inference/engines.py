"""Which engine answers: the compiler, or the enumeration of what it does not cover."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from dpasp import circuits
from dpasp.errors import UsageError
from dpasp.inference.enumerate import enumerate_models
from dpasp.inference.evaluator import Evaluator, Report, silent
from dpasp.language.ast import Logic, Probability
from dpasp.limits import UNLIMITED, Watch
from dpasp.logic.program import GroundProgram
from dpasp.semantics.leaves import Weights

Engine = Literal["auto", "compile", "enumerate"]


@dataclass(frozen=True, slots=True)
class Compiled:
    """A circuit as an :class:`~dpasp.inference.evaluator.Evaluator`."""

    circuit: circuits.Circuit

    @property
    def name(self) -> str:
        """The engine's name."""
        return "compile"

    @property
    def statistics(self) -> Mapping[str, int | float | str]:
        """How large the circuit is, and how it was compiled."""
        found = self.circuit.statistics
        return {
            "circuit_nodes": found.nodes,
            "circuit_edges": found.edges,
            "width": found.width,
            "way": found.way,
        }

    def masses(self, weights: Weights) -> Weights:
        """The masses [questions, 7, batch] under weights [leaves, batch]."""
        return self.circuit.masses(weights)


def prepare(
    ground: GroundProgram,
    logic: Logic,
    probability: Probability,
    *,
    engine: str = "auto",
    watch: Watch = UNLIMITED,
    progress: Report = silent,
) -> Evaluator:
    """An engine that is ready to answer the questions of the program.

    ``auto`` compiles, and enumerates what cannot be compiled.
    """
    if engine not in get_args(Engine):
        raise UsageError(f"the engine {engine!r} is not one of {', '.join(get_args(Engine))}")
    if engine != "enumerate":
        try:
            return Compiled(
                circuits.compile(
                    ground,
                    logic,
                    probability,
                    cache=circuits.Cache.default(),
                    watch=watch,
                    progress=lambda share: progress(share, 1.0),
                )
            )
        except circuits.HeadCycle:
            if engine == "compile":
                raise
    return enumerate_models(ground, logic, probability, watch=watch, progress=progress)
