"""How many models satisfy something, counted on a circuit, where listing them would take too long.

>>> from dpasp.logic.program import Rule
>>> rules = [Rule((2,), (), choice=True), Rule((3,), (1,), choice=True), Rule((4,), (2, 3))]
>>> model_shares(CountedProgram(rules, 5), [1], [(4,), (-2,)])  # of four models; 1 is a fact
array([0.25, 0.5 ])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from clingo import Function

from dpasp import circuits
from dpasp.errors import SizeLimit
from dpasp.inference.engines.circuit import OnCircuit
from dpasp.language.ast import Mode, Probability, Program
from dpasp.limits import UNLIMITED, Watch
from dpasp.logic.program import GroundLiteral, GroundProgram, GroundQuery, Rule
from dpasp.semantics.leaves import layout
from dpasp.semantics.masses import Array
from dpasp.semantics.meaning import Meaning
from dpasp.semantics.translate import Conjunction

OPTIONS = circuits.Options(nodes=500_000, work=5_000_000)
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
        GroundQuery(tuple(map(_literal, conjunction)), (), "", None) for conjunction in conjunctions
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


def _literal(literal: int) -> GroundLiteral:
    mode = Mode.TRUE if literal > 0 else Mode.FALSE
    return GroundLiteral(mode, abs(literal), Function(f"a{abs(literal)}"))
