"""What turns leaf weights into masses, and the engines that look at some total choices only.

- ``evaluator``: the protocol; ``circuit`` and ``reference`` implement it.
- ``outcomes``: single total choices, solved one at a time, for ``sample`` and ``bounds``.
- ``result``: what an engine gives back; ``draws``: sampled models; ``tiny``: small masses.

The table of engines with their names and options is :mod:`dpasp.language.statements.engines`.
"""
