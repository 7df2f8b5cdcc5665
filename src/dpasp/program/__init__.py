"""Programs for users: load, ask, learn, read the answers.

>>> program = loads("0.3::a. p :- a, not q. q :- a, not p. #query p.")
>>> print(program.query())
ℙ(p) = [0.000000, 0.300000]
>>> program.query("p | a", semantics="maxent")[0].value
0.5
"""

from dpasp.program.program import Program, load, loads, parse

__all__ = ["Program", "load", "loads", "parse"]
