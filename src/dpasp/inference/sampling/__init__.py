"""Estimates from randomly drawn worlds, with intervals that hold.

- ``intervals``: what samples say about a probability, at any number of samples
- ``splitting``: a program prepared for drawing: its determined part, its inner parts, free choices
- ``situations``: what the models of the inner parts say, each distinct situation solved once
- ``stream``: a sequence of worlds, with evidence pushed into how the choices are drawn
- ``draws``: models drawn at random, given evidence
- ``chains``: walks among the worlds that satisfy rare evidence
- ``sample``: the engine
"""
