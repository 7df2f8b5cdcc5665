"""Sure bounds of answers, and an answer whatever the limits are.

- ``nothing_known``: what to say if a limit leaves no time at all
- ``not_exact``: what ``auto`` does when exact answers take too long
- ``bounds``: the engine ``bounds``
- ``cases``: the program compiled case by case; ``remainder``: samples of the open cases
- ``relaxed``, ``unknown_choices``: the program compiled with some choices unknown
- ``over_intervals``: both, where probabilities are intervals
- ``most_probable``: the most probable total choices one by one, and the best one for ``#map``
"""
