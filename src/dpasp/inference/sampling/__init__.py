"""Estimates from random worlds, with valid confidence intervals.

- ``tallies``: what samples say about a probability, at any number of samples
- ``situations``: a program prepared for drawing; what the models of its inner parts say
- ``stream``: a sequence of worlds, with evidence pushed into how the choices are drawn
- ``draws``: models drawn at random, given evidence
- ``chains``: walks among the worlds that satisfy rare evidence
- ``sample``: the engine
"""
