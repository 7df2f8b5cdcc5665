"""The reference engine: everything enumerated, nothing trusted.

- ``rows``: distinct rows of bits, with how often they came
- ``table``: every total choice that has models, and its counts
- ``enumerate``: the table of a program, from one run of the solver
"""
