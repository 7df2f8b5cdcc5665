"""Estimates from worlds that are drawn at random, with intervals that hold.

- ``intervals``: what samples say about a probability, at any number of them.
- ``pushing``: evidence turned into how choices are drawn.
- ``free``: intervals of probabilities, as they can be drawn.
- ``inner``: where models differ: each distinct situation solved once.
- ``stream``: worlds one after the other (drawn by :mod:`dpasp.circuits.worlds`).
- ``shards``: worlds in parts that anybody may draw.
- ``tally``: what they come to; ``sample``: the engine; ``draws``: models.
"""
