"""Ground program → circuit, and its evaluation.

Example::

    circuit = compile(ground, Logic.STABLE, Probability.CREDAL)
    circuit.masses(leaves.weights(ground))      # [questions, 7]: consistent, a, b, c, d, qe, e
    circuit.statistics                          # variables by class, width, nodes, way, order
"""

from dpasp.circuits.circuit import FIELDS, Circuit, PartStatistics, Statistics
from dpasp.circuits.compiler import HeadCycle, Options, compile

__all__ = ["FIELDS", "Circuit", "HeadCycle", "Options", "PartStatistics", "Statistics", "compile"]
