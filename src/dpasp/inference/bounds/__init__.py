"""Sure bounds of answers, and an answer whatever the limits are.

- ``formulas``: what is sure about an answer when some mass is open
- ``cases``: the program compiled in cases; ``remainder``: samples of the open cases
- ``relaxed``, ``ranking``, ``unknown_choices``: the program compiled with some choices unknown
- ``over_intervals``: both where probabilities are intervals
- ``most_probable``: total choices one by one; ``bounds``: the engine ``bounds``
- ``best_found``: ``#map`` and ``#mpe`` where no circuit fits
- ``not_ground``: what is sure before a program is ground
- ``not_exact``: what to do where exact answers take too long; ``auto``: the engine ``auto``
- ``beside_maps``: the engines ``sample`` and ``bounds`` where there are also ``#map`` and ``#mpe``
"""
