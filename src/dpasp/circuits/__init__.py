"""Ground program → circuit, and its evaluation.

Example::

    circuit = compile(ground, Meaning(Logic.STABLE, Probability.CREDAL))
    circuit.masses(leaves.weights(ground))      # [questions, 7]: consistent, a, b, c, d, qe, e
    circuit.statistics                          # variables by class, width, nodes, way, order
"""

from dpasp.circuits.cache import Cache
from dpasp.circuits.channels import FIELDS
from dpasp.circuits.circuit import Circuit, PartStatistics, Statistics
from dpasp.circuits.compiler import Options, PartPlan, compile, plan
from dpasp.circuits.export import circuit_json, dot, nnf, nnf_map
from dpasp.circuits.fold import Counted, fold
from dpasp.circuits.planning import Plan
from dpasp.circuits.stops import HeadCycle

__all__ = [
    "FIELDS",
    "Cache",
    "Circuit",
    "Counted",
    "HeadCycle",
    "Options",
    "PartPlan",
    "PartStatistics",
    "Plan",
    "Statistics",
    "compile",
    "dot",
    "fold",
    "nnf",
    "nnf_map",
    "plan",
    "circuit_json",
]
