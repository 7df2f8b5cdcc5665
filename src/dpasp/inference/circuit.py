"""Evaluators: what turns leaf weights into the masses of every question.

Most are a circuit (:func:`on_circuit`), compiled or folded from an enumeration where the compiler
cannot go. The table of :mod:`dpasp.inference.enumerate` and the evaluators of
:mod:`dpasp.inference.together` have the same interface.

>>> from dpasp.inference.asked import ask
>>> from dpasp.language import parse
>>> from dpasp.ground import ground
>>> from dpasp.semantics.meaning import Meaning
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
from dpasp.inference.tuning import EXACT
from dpasp.language.ast import Logic
from dpasp.limits import UNLIMITED, Watch
from dpasp.semantics.leaves import LeafLayout, Weights, layout, leaf_count
from dpasp.semantics.masses import FIELDS, Array, Masses, Question, completed
from dpasp.semantics.meaning import Meaning
from dpasp.semantics.translate import Weighed

if TYPE_CHECKING:
    from dpasp.inference.enumerate import Enumeration


HEAD_CYCLE, LESS_WORK = "a disjunction through a positive loop", "less work than compiling"
WHOLE = "a total choice is weighed as a whole"
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

    def masses(self, weights: Weights, watch: Watch = UNLIMITED, *, log: bool = False) -> Masses:
        """The masses [questions, batch] under weights [leaves, batch].

        They are complete: what the semantics makes of total choices without stable models is
        in them. Only those that the answers are made of are known, the others are NaN. With
        ``log``, their logarithms, also of those below 1e-308. Raises what the ``watch`` raises.
        """


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

    def masses(self, weights: Weights, watch: Watch = UNLIMITED, *, log: bool = False) -> Masses:
        """The masses [questions, batch] under weights [leaves, batch], or their logarithms."""
        values = self.circuit.masses(weights, fields=self.meaning.fields, log=log, watch=watch)
        lost = np.zeros(weights.shape[1])
        if len(values) and not self.meaning.weighted:
            consistent = values[0, FIELDS.index("consistent")]
            lost = self._inconsistent(np.exp(consistent) if log else consistent, weights)
        by_field = np.moveaxis(values, 1, 0)
        with np.errstate(divide="ignore"):
            whole = Masses.of(by_field, np.log(lost) if log else lost)
        return completed(whole, self.meaning, self.questions, log=log)

    def _inconsistent(self, consistent: Array, weights: Weights) -> Array:
        """The inconsistent mass [batch], right to the last digits however small it is."""
        missing: Array = 1.0 - consistent
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
    for work, models in _rounds(ground, meaning):
        quick = replace(options, work=min(work, options.work))
        with suppress(SizeLimit):
            return _compiled(ground, meaning, observed, quick, None, watch)
        with suppress(SizeLimit):
            return _enumerated(ground, meaning, observed, models, watch)
    return _compiled(ground, meaning, observed, options, cache, watch)


def _rounds(ground: GroundProgram, meaning: Meaning) -> Sequence[tuple[int, int]]:
    """How much work compiling may be, and how many models are then enumerated, in turns.

    Under lstable compiling compares sets of undefined atoms, of which there may be very many,
    while the total choices are few.
    """
    if meaning.logic is not Logic.LSTABLE:
        return ()
    total = math.prod(map(leaf_count, ground.choices))
    return [(work, models) for work, models in EXACT.rounds if total <= models]


def _compiled(
    ground: GroundProgram,
    meaning: Meaning,
    observed: Sequence[int],
    options: circuits.Options,
    cache: circuits.Cache | None,
    watch: Watch,
) -> OnCircuit:
    """The circuit that is compiled or, at a head cycle, enumerated."""
    try:
        circuit = circuits.compile(
            ground, meaning, observed=observed, options=options, cache=cache, watch=watch
        )
    except circuits.HeadCycle:
        return _enumerated(ground, meaning, observed, None, watch)
    return OnCircuit(circuit, meaning, ground.questions, layout(ground.choices))


def _enumerated(
    ground: GroundProgram,
    meaning: Meaning,
    observed: Sequence[int],
    most: int | None,
    watch: Watch,
) -> OnCircuit:
    """The circuit folded from all models; raises :class:`SizeLimit` if there are over ``most``."""
    from dpasp.circuits.join import fold
    from dpasp.inference.enumerate import enumerate_models

    started = time.perf_counter()
    table = enumerate_models(ground, meaning, observed=observed, most=most, watch=watch)
    counted = table.counted(time.perf_counter() - started)
    circuit = fold(ground.choices, counted, meaning, watch=watch)
    why = HEAD_CYCLE if most is None else LESS_WORK
    if isinstance(ground, Weighed) and ground.by_table:
        why = WHOLE
    return OnCircuit(circuit, meaning, ground.questions, layout(ground.choices), table, why)
