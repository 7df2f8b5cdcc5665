"""Sure bounds of answers, and answers whatever the limits are.

- ``formulas``: what is sure about an answer when some mass is open.
- ``cases``: the program compiled in cases; ``remainder``: samples of those that are open.
- ``most_probable``: total choices one by one; ``best_found``: ``#map`` and ``#mpe``.
- ``bounds``: the engine ``bounds``; ``auto``: the engine ``auto``, and ``not_exact`` what it does
  where exact answers are too much.
"""
