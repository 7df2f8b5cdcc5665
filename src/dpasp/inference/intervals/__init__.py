"""Probabilities that are intervals: the extremes of an answer over all that they allow.

- ``vertices``: the extreme distributions that intervals allow, and the extremes over a few of them
- ``search``: branch and bound on a circuit
- ``many``: where there are too many to try: symmetries, or the search
"""
