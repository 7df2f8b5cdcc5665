"""How many models satisfy something, counted on a circuit, where listing them would take too long.

There is one circuit for all situations where that is of a modest size, and else one for each.

>>> from dpasp.logic.program import Rule
>>> rules = [Rule((2,), (), choice=True), Rule((3,), (1,), choice=True), Rule((4,), (2, 3))]
>>> model_shares(CountedProgram(rules, 5), [1], [(4,), (-2,)])  # of four models; 1 is a fact
array([0.25, 0.5 ])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from clingo import Function
from numpy.typing import NDArray

from dpasp import circuits
from dpasp.dataclass import dataclass
from dpasp.errors import SizeLimit
from dpasp.inference.engines.circuit import OnCircuit
from dpasp.inference.sampling.guessing import guessed
from dpasp.language.ast import Mode, Probability, Program
from dpasp.limits import UNLIMITED, Watch
from dpasp.logic.program import (
    Choice,
    FixedWeights,
    GroundLiteral,
    GroundProgram,
    GroundQuery,
    Rule,
)
from dpasp.semantics.leaves import layout
from dpasp.semantics.masses import FIELDS, Array
from dpasp.semantics.meaning import Meaning
from dpasp.semantics.translate import Conjunction

MOST_GUESSES = 900  # in one circuit: the share of one way in which they fall is a float
OPTIONS = circuits.Options(nodes=500_000, work=5_000_000)  # for one situation
# For all: a search for guesses soon knows whether it is of a modest size.
TOGETHER = circuits.Options(way="search", nodes=500_000, work=20_000_000)
COUNTED = Meaning(probability=Probability.MAXENT)


@dataclass(frozen=True, slots=True)
class CountedProgram:
    """Rules over the atoms 1, …, size - 1."""

    rules: Sequence[Rule]
    size: int


def model_shares(
    program: CountedProgram,
    facts: Sequence[int],
    conjunctions: Sequence[Conjunction],
    watch: Watch = UNLIMITED,
) -> Array | None:
    """The share of the stable models that satisfy each conjunction of literals; 0 without models.

    None if the rules cannot be compiled, or not into a modest circuit.
    """
    queries = tuple(
        GroundQuery(_literals(conjunction), (), "", None) for conjunction in conjunctions
    )
    rules = (*program.rules, *(Rule((atom,), ()) for atom in facts))
    ground = GroundProgram(
        Program(()), (None,) * program.size, rules, choices=(), questions=queries
    )
    try:
        circuit = circuits.compile(ground, COUNTED, options=OPTIONS, watch=watch)
    except (circuits.HeadCycle, SizeLimit):
        return None
    evaluator = OnCircuit(circuit, COUNTED, queries, layout(()))
    found = evaluator.masses(np.empty((0, 1)), watch).qe[:, 0]
    return np.asarray(found, dtype=np.float64)


@dataclass(frozen=True)
class CountingCircuit:
    """Rules in one circuit, which counts the models of many situations at once.

    A situation says which atoms of the ``border`` hold. Its models are the ways in which guesses
    fall (see ``guessing``), each of which is as probable as any other.
    """

    circuit: circuits.Circuit
    border: int
    guesses: int

    def counted(self, border: NDArray[np.bool_], watch: Watch = UNLIMITED) -> ModelCounts:
        """The models of situations [border, situations]."""
        weights = np.full((2 * (self.border + self.guesses), border.shape[1]), 0.5)
        weights[: 2 * self.border : 2] = border
        weights[1 : 2 * self.border : 2] = ~border
        masses = self.circuit.masses(weights, fields=("a", "d"), watch=watch)
        a, d = masses[:, FIELDS.index("a")], masses[:, FIELDS.index("d")]
        return ModelCounts(a[1:], d[1:], a[0], d[0])


class ModelCounts(NamedTuple):
    """Models of situations [queries, situations], up to a factor that they have in common."""

    both: Array  # that satisfy query and evidence
    only_evidence: Array  # the evidence and not the query
    evidence: Array  # [situations]: all that satisfy the evidence,
    others: Array  # and those that do not


def counting_circuit(
    program: CountedProgram,
    border: Sequence[int],
    queries: Sequence[tuple[Conjunction, Conjunction]],
    watch: Watch = UNLIMITED,
) -> CountingCircuit | None:
    """The circuit of queries, each with its evidence, which is the same for all.

    None if there is none of a modest size.
    """
    found = guessed(program.rules, program.size)
    if found is None or len(found.guesses) > MOST_GUESSES:
        return None
    choices = tuple(_even(atom) for atom in (*border, *found.guesses))
    asked = [GroundQuery(_literals(queries[0][1]), (), "", None)]  # the evidence by itself
    asked += [GroundQuery(_literals(q), _literals(evidence), "", None) for q, evidence in queries]
    symbols = (None,) * found.size
    ground = GroundProgram(Program(()), symbols, found.rules, choices, questions=tuple(asked))
    try:
        circuit = circuits.compile(ground, Meaning(), options=TOGETHER, watch=watch)
    except SizeLimit:
        return None
    return CountingCircuit(circuit, len(border), len(found.guesses))


def _even(atom: int) -> Choice:
    return Choice(0, (), (atom,), (atom,), FixedWeights((0.5,)), nothing=True)


def _literals(conjunction: Conjunction) -> tuple[GroundLiteral, ...]:
    return tuple(map(_literal, conjunction))


def _literal(literal: int) -> GroundLiteral:
    mode = Mode.TRUE if literal > 0 else Mode.FALSE
    return GroundLiteral(mode, abs(literal), Function(f"a{abs(literal)}"))
