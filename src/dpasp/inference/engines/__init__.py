"""What turns leaf weights into masses (:mod:`dpasp.semantics.masses` says what masses are).

- ``result``: what an engine gives back; ``solvers``: the function of each engine, by its name
- ``reference``: everything enumerated, as a table
- ``evaluator``: the protocol: leaf weights in, masses of all questions out
- ``circuit``: the evaluator on a circuit; ``tiny``: masses that are lost in floating point
- ``alike``: questions about single atoms under one evidence; ``together``: answered by one circuit
  and its gradient; ``in_numbers``: those of a network, without a circuit
- ``outcomes``: what single total choices say, solved one at a time

The table of engines with their names and options is :mod:`dpasp.language.statements.engines`.
"""
