"""Sure bounds of answers, and an answer whatever the limits are.

- ``nothing_known``: what to say if a limit leaves no time at all
- ``cases``: the program compiled case by case
- ``most_probable``: the most probable total choices one by one, and the best one for ``#map``
- ``relaxed``, ``unknown_choices``: the program compiled with some choices unknown
- ``over_intervals``: both, where probabilities are intervals
- ``bounds``: the engine ``bounds``
- ``remainder``: samples of the open cases
- ``not_exact``: what the engine ``auto`` does when exact answers take too long
"""
