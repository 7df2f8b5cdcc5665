"""From a ground program to answers. Each step uses only those before it:

1. ``answers``: the values that are given back
2. ``method``: which engine is to answer, with which options
3. ``asked``: what is asked, as one value: program, meaning, weights, method, limits; ``travel``:
   the same on its way to another process
4. ``engines``: what turns leaf weights into masses: a circuit, or the table of the reference
5. ``sampling``: answers from worlds that are drawn at random
6. ``relaxing``: programs of whose choices some are unknown, for what is sure
7. ``credal``: the extremes over intervals of probabilities
8. ``probable``: the most probable values
9. ``exact``: the engines that answer exactly, from 4, 7 and 8
10. ``bounding``: the engines that answer within limits, with what is sure by then
11. ``explain``: what is behind an answer; ``models``: the models one by one
12. ``sharing``: the questions, shared out among the workers of a pool
13. ``answer``: the answers of the engine that was asked for
"""
