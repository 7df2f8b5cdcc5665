"""The protocol of what turns leaf weights into the masses of every question.

>>> from dpasp.inference.asked import ask
>>> from dpasp.language import parse
>>> from dpasp.ground import ground
>>> from dpasp.semantics.meaning import Meaning
>>> from dpasp.inference.circuit import on_circuit
>>> from dpasp.inference.enumerate import enumerate_models
>>> asked = ask(ground(parse("0.3::a. #query a.")), Meaning())
>>> evaluators = [make(asked.ground, asked.meaning) for make in (on_circuit, enumerate_models)]
>>> [(each.name, float(each.masses(asked.columns).a[0, 0])) for each in evaluators]
[('compile', 0.3), ('enumerate', 0.3)]
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dpasp import circuits
from dpasp.circuits import Circuit
from dpasp.circuits.consistency import Consistency, consistency
from dpasp.dataclass import dataclass
from dpasp.errors import SizeLimit
from dpasp.ground.program import GroundProgram
from dpasp.language.ast import Logic
from dpasp.limits import UNLIMITED, Watch
from dpasp.semantics.leaves import LeafLayout, Weights, layout, leaf_count
from dpasp.semantics.masses import (
    FIELDS,
    Array,
    Masses,
    Question,
    completed,
    completed_logs,
)
from dpasp.semantics.meaning import Meaning

if TYPE_CHECKING:
    from dpasp.inference.enumerate import Enumeration


HEAD_CYCLE, LESS_WORK = "a disjunction through a positive loop", "less work than compiling"
# Of turns: the work of the compiler, and the models of the enumeration, which take about as long.
ROUNDS = ((10_000, 20_000), (100_000, 200_000), (1_000_000, 2_000_000))
PRECISE = 1e-6  # where 1 - consistent is above this, subtracting loses few digits


class Evaluator(Protocol):
    """A circuit or a table that is ready to answer the questions of a program."""

    @property
    def name(self) -> str:
        """The name of the engine that made it: ``compile`` or ``enumerate``."""

    @property
    def statistics(self) -> Mapping[str, int | float | str]:
        """How large it is."""

    @property
    def circuit(self) -> Circuit | None:
        """The circuit, where there is one: it can be searched."""

    @property
    def enumeration(self) -> Enumeration | None:
        """All total choices and their models, where they were enumerated."""

    def masses(self, weights: Weights, watch: Watch = UNLIMITED) -> Masses:
        """The masses [questions, batch] under weights [leaves, batch].

        They are complete: what the semantics makes of total choices without stable models is
        in them. Only those that the answers are made of are known, the others are NaN.
        Raises what the ``watch`` raises.
        """

    def log_masses(self, weights: Weights, watch: Watch = UNLIMITED) -> Masses:
        """The logarithms of the masses, also of those below 1e-308."""


@dataclass(frozen=True)
class OnCircuit:
    """A circuit as an :class:`~dpasp.inference.circuit.Evaluator`.

    ``enumeration`` is what it was folded from, if it was not compiled, and ``why`` says why.
    """

    circuit: circuits.Circuit
    meaning: Meaning
    questions: tuple[Question, ...]
    layout: LeafLayout
    enumeration: Enumeration | None = None
    why: str = ""

    @property
    def name(self) -> str:
        """The engine's name: how the circuit came about."""
        return "compile" if self.enumeration is None else "enumerate"

    @property
    def statistics(self) -> Mapping[str, int | float | str]:
        """How large the circuit is, and how it was made."""
        sizes = self.circuit.statistics
        table: dict[str, int | str] = {}
        if self.enumeration is not None:
            table = {**self.enumeration.sizes, "enumerated": self.why}
        return {
            **table,
            "circuit_nodes": sizes.nodes,
            "circuit_edges": sizes.edges,
            "width": sizes.width,
            "way": sizes.way,
            **({"cached": True} if self.circuit.cached else {}),
        }

    def masses(self, weights: Weights, watch: Watch = UNLIMITED) -> Masses:
        """The masses [questions, batch] under weights [leaves, batch]."""
        values = self.circuit.masses(weights, fields=self.meaning.fields, watch=watch)
        whole = Masses.of(np.moveaxis(values, 1, 0), self._inconsistent(values, weights))
        return completed(whole, self.meaning, self.questions)

    def log_masses(self, weights: Weights, watch: Watch = UNLIMITED) -> Masses:
        """The logarithms of the masses [questions, batch], also of those below 1e-308."""
        logs = self.circuit.masses(weights, fields=self.meaning.fields, log=True, watch=watch)
        lost = np.full(weights.shape[1], -np.inf)
        if self.meaning.has_undefined_model:
            values = self.circuit.masses(weights, fields=("consistent",), watch=watch)
            with np.errstate(divide="ignore"):
                lost = np.log(self._inconsistent(values, weights))
        whole = Masses.of(np.moveaxis(logs, 1, 0), lost)
        return completed_logs(whole, self.meaning, self.questions)

    def _inconsistent(self, values: Array, weights: Weights) -> Array:
        """The inconsistent mass [batch], right to the last digits however small it is."""
        if not len(values):
            return np.zeros(weights.shape[1])
        missing: Array = 1.0 - values[0, FIELDS.index("consistent")]
        small = missing < PRECISE
        if np.any(small):
            missing[small] = self._consistency.missing(weights[:, small], missing[small])
        return missing

    @cached_property
    def _consistency(self) -> Consistency:
        return consistency(self.circuit, self.layout)


def on_circuit(
    ground: GroundProgram,
    meaning: Meaning,
    *,
    observed: Sequence[int] = (),
    options: circuits.Options = circuits.Options(),  # noqa: B008 - frozen
    cache: circuits.Cache | None = None,
    watch: Watch = UNLIMITED,
) -> OnCircuit:
    """The circuit of the questions of a program.

    The arguments are those of :func:`dpasp.circuits.compile`. Where that meets a head cycle,
    or where it is more work, the total choices are enumerated and folded into a circuit.
    """
    wanted = _Wanted(ground, meaning, observed, watch)
    for work, models in _rounds(ground, meaning):
        with suppress(SizeLimit):
            return wanted.compiled(replace(options, work=min(work, options.work)))
        with suppress(SizeLimit):
            return wanted.enumerated(models)
    return wanted.compiled(options, cache)


def _rounds(ground: GroundProgram, meaning: Meaning) -> Sequence[tuple[int, int]]:
    """How much work compiling may be, and how many models are then enumerated, in turns.

    Under lstable compiling compares sets of undefined atoms, of which there may be very many,
    while the total choices are few.
    """
    if meaning.logic is not Logic.LSTABLE:
        return ()
    total = math.prod(map(leaf_count, ground.choices))
    return [(work, models) for work, models in ROUNDS if total <= models]


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A program whose circuit is wanted."""

    ground: GroundProgram
    meaning: Meaning
    observed: Sequence[int]
    watch: Watch

    def compiled(self, options: circuits.Options, cache: circuits.Cache | None = None) -> OnCircuit:
        """The circuit that is compiled, or enumerated at a head cycle."""
        try:
            circuit = circuits.compile(
                self.ground,
                self.meaning,
                observed=self.observed,
                options=options,
                cache=cache,
                watch=self.watch,
            )
        except circuits.HeadCycle:
            return self.enumerated()
        return self._on(circuit)

    def enumerated(self, most: int | None = None) -> OnCircuit:
        """The circuit that is folded; raises :class:`SizeLimit` if there are more models."""
        from dpasp.circuits.join import fold
        from dpasp.inference.enumerate import enumerate_models

        started = time.perf_counter()
        table = enumerate_models(
            self.ground, self.meaning, observed=self.observed, most=most, watch=self.watch
        )
        counted = table.counted(time.perf_counter() - started)
        folded = fold(self.ground.choices, counted, self.meaning, watch=self.watch)
        return replace(self._on(folded), enumeration=table, why=LESS_WORK if most else HEAD_CYCLE)

    def _on(self, circuit: circuits.Circuit) -> OnCircuit:
        leaves = layout(self.ground.choices)
        return OnCircuit(circuit, self.meaning, self.ground.questions, leaves)
