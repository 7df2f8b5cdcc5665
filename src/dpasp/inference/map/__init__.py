"""The most probable values: of the atoms marked in a ``#map``, or of all choices for ``#mpe``.

- ``task``: the question with its evaluator, and the answer that names the best assignments
- ``total_choices``: the best total choices on a circuit
- ``atoms``: a best-first search for the best values of atoms
- ``answers``: which of these answers a question, or the table of the reference engine
- ``rows``: the same for many rows at once
"""
