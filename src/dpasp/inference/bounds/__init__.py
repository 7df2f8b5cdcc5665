"""Certain bounds of answers, and answers within any limits.

- ``cases``: the program compiled case by case, also where probabilities are intervals
- ``most_probable``: the most probable total choices one by one, and the best one for ``#map``
- ``relaxed``: the program compiled with some choices unknown
- ``bounds``: the engine ``bounds``, and what ``auto`` does when exact answers take too long
"""
