"""What learning ascends: the likelihood, a lower bound of it, or what samples say of it.

- ``ascents``: what all three have in common, and the exact one.
- ``bound``: a lower bound, of circuits that are there; they come from
  ``by_goals`` (observations that the choices determine) or ``by_cases`` (any others).
- ``sampled``: unbiased gradients from worlds that satisfy the observations.
- ``choosing``: which of them it is.
"""
