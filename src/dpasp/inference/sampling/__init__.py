"""Estimates from random worlds, with valid confidence intervals.

- ``tallies``: confidence intervals that are valid at any number of samples
- ``situations``: a program prepared for drawing worlds, and the models of its inner parts
- ``stream``: a sequence of worlds, drawn so that the evidence is likely
- ``draws``: models drawn at random, given evidence
- ``chains``: Markov chains among the worlds that satisfy rare evidence
- ``sample``: the engine
"""
