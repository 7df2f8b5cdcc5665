"""Which engine answers: a circuit, compiled or enumerated, or the table of the reference."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from dpasp import circuits
from dpasp.circuits.consistency import Consistency, consistency
from dpasp.errors import Diagnostic, UsageError
from dpasp.inference.evaluator import Evaluator, Report, silent
from dpasp.inference.reference.enumerate import Enumeration, enumerate_models
from dpasp.language.ast import Logic, Probability
from dpasp.limits import UNLIMITED, Watch
from dpasp.logic.program import GroundMap, GroundProgram, GroundQuery
from dpasp.semantics.leaves import Leaves, Weights, layout
from dpasp.semantics.masses import FIELDS

Engine = Literal["auto", "compile", "enumerate"]
CERTAIN = 1e-6  # an inconsistent mass above this is precise enough as what is missing to 1


@dataclass(frozen=True)
class OnCircuit:
    """A circuit as an :class:`~dpasp.inference.evaluator.Evaluator`.

    ``enumeration`` is what it was folded from, if it could not be compiled.
    """

    circuit: circuits.Circuit
    leaves: Leaves
    enumeration: Enumeration | None = None

    @property
    def name(self) -> str:
        """The engine's name: how the circuit came about."""
        return "compile" if self.enumeration is None else "enumerate"

    @property
    def statistics(self) -> Mapping[str, int | float | str]:
        """How large the circuit is, and how it was made."""
        found = self.circuit.statistics
        table = {} if self.enumeration is None else self.enumeration.sizes
        return {
            **table,
            "circuit_nodes": found.nodes,
            "circuit_edges": found.edges,
            "width": found.width,
            "way": found.way,
            **({"cached": True} if self.circuit.cached else {}),
        }

    def masses(self, weights: Weights) -> Weights:
        """The masses [questions, 8, batch] under weights [leaves, batch]."""
        found = self.circuit.masses(weights)
        result = np.empty((len(found), len(FIELDS) + 1, weights.shape[1]))
        result[:, : len(FIELDS)] = found
        result[:, -1] = self._inconsistent(found, weights) if len(found) else 0.0
        return result

    def log_masses(self, weights: Weights) -> Weights:
        """The logarithms [questions, 7, batch] of the masses, also of those below 1e-308."""
        return self.circuit.masses(weights, log=True)

    def _inconsistent(self, found: Weights, weights: Weights) -> Weights:
        """The inconsistent mass [batch], also where it is too small to be what is missing to 1."""
        missing: Weights = 1.0 - found[0, FIELDS.index("consistent")]
        small = missing < CERTAIN
        if np.any(small):
            missing[small] = self._consistency.missing(weights[:, small], missing[small])
        return missing

    @cached_property
    def _consistency(self) -> Consistency:
        return consistency(self.circuit, self.leaves)


def on_circuit(
    ground: GroundProgram,
    logic: Logic,
    probability: Probability,
    *,
    questions: Sequence[GroundQuery | GroundMap] | None = None,
    observed: Sequence[int] = (),
    cache: circuits.Cache | None = None,
    watch: Watch = UNLIMITED,
    progress: Report = silent,
) -> OnCircuit:
    """The circuit of the questions (those of the program unless others are given).

    It is compiled, or enumerated where the compiler does not go; the arguments are those of
    :func:`dpasp.circuits.compile`.
    """
    places = layout(ground.choices)
    try:
        return OnCircuit(
            circuits.compile(
                ground,
                logic,
                probability,
                questions=questions,
                observed=observed,
                cache=cache,
                watch=watch,
                progress=lambda share: progress(share, 1.0),
            ),
            places,
        )
    except circuits.HeadCycle:
        asked = ground if questions is None else replace(ground, questions=tuple(questions))
    started = time.perf_counter()
    table = enumerate_models(
        asked, logic, probability, observed=observed, watch=watch, progress=progress
    )
    counted = table.counted(time.perf_counter() - started)
    return OnCircuit(
        circuits.fold(ground.choices, counted, logic, probability, watch=watch), places, table
    )


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

    ``auto`` and ``compile`` evaluate a circuit, ``enumerate`` the table of the reference.
    """
    if engine not in get_args(Engine):
        raise UsageError(f"the engine {engine!r} is not one of {', '.join(get_args(Engine))}")
    if engine == "enumerate":
        return enumerate_models(ground, logic, probability, watch=watch, progress=progress)
    cache = circuits.Cache.default()
    return on_circuit(ground, logic, probability, cache=cache, watch=watch, progress=progress)


def not_compiled(engine: str, evaluator: Evaluator) -> tuple[Diagnostic, ...]:
    """The warning to who asked for ``compile`` and got an enumeration."""
    if engine != "compile" or evaluator.name == "compile":
        return ()
    total = evaluator.statistics["total_choices"]
    return (
        Diagnostic(
            "head-cycle",
            "a disjunction through a positive loop is not compiled; the circuit was made "
            f"by enumerating {total:,} total choices",
            severity="warning",
        ),
    )
