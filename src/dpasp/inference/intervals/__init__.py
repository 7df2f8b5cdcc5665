"""Intervals of probabilities: their vertices, and the search for extremes over many of them.

- ``vertices``: the extreme distributions that intervals allow
- ``symmetry``: choices that a question does not tell apart
- ``relax``: bounds while some choices are open; ``search``: branch and bound with them
- ``closing``: parts of the search, for the workers of a pool
- ``extremes``: the numbers of every question; ``many``: where the vertices are too many to try all
"""
