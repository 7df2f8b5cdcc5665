"""From ground programs to circuits, and their evaluation.

- ``layers``: the nodes in layers, what the numbers at them mean, and the sweep
- ``circuit``: a compiled program, and the mass of its total choices without a model
- ``cache``: circuits on disk; ``export``: for other tools
- ``compiler``: from programs to circuits, or directly to probabilities of a network's atoms
- ``join``: enumerated total choices, or the circuits of cases, as one circuit
- ``functions``: circuits as functions of named weights, in other systems
- ``gpu``: a circuit as one list of sums of products, and the walks over it in torch
- ``worlds``: the determined part of a program in random worlds

>>> from dpasp.language import parse
>>> from dpasp.ground import ground
>>> from dpasp.semantics import leaves
>>> from dpasp.semantics.meaning import Meaning
>>> program = ground(parse("0.3::a. 0.5::b. c :- a. c :- b. #query c."))
>>> circuit = compile(program, Meaning())
>>> circuit.masses(leaves.weights(program))  # [questions, 7]: consistent, a, b, c, d, qe, e
array([[1.  , 0.65, 0.65, 0.35, 0.35, 0.65, 1.  ]])
>>> circuit.statistics.way
'diagram'
"""

from dpasp.circuits.cache import Cache
from dpasp.circuits.circuit import Circuit, HeadCycle, PartStatistics, Statistics
from dpasp.circuits.compiler import Options, PartPlan, compile, plan
from dpasp.semantics.masses import FIELDS

__all__ = [
    "FIELDS",
    "Cache",
    "Circuit",
    "HeadCycle",
    "Options",
    "PartPlan",
    "PartStatistics",
    "Statistics",
    "compile",
    "plan",
]
