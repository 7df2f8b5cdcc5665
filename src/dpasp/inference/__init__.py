"""From a ground program to answers.

- ``ask``, ``method``: which engine; ``exact``, ``numbers``: circuit → masses → numbers.
- ``engines``: a circuit, compiled or enumerated (``folded``), or the ``reference`` table.
- ``credal``: extremes over intervals; ``probable``: most probable values.
- ``approximate``: samples and sure bounds; ``explain``: what is behind an answer.
"""
