"""Estimates from worlds that are drawn at random, with intervals that hold.

- ``intervals``: what samples say about a probability, at any number of them
- ``free``: intervals of probabilities, as they can be drawn
- ``guessing``: rules in which each model is one outcome of guesses; ``counting``: how many models
  there are, on a circuit, where they are very many
- ``splitting``: the determined part of a program, and the inner parts in which models differ;
  ``situations``: what the models of inner parts say, each distinct situation solved once
- ``pushing``: evidence turned into how choices are drawn
- ``stream``: worlds one after the other (drawn by :mod:`dpasp.circuits.worlds`)
- ``shards``: worlds in parts that any worker may draw; ``tally``: what they come to
- ``by_circuit``: total choices drawn given the evidence, where a circuit of it fits
- ``groups``: which choices chains move together; ``mixing``: what chains come to, and how good it
  is; ``chains``: walks among worlds that satisfy rare evidence; ``chained``: answers from them
- ``sample``: the engine; ``draws``: models
"""
