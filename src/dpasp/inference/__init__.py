"""From a ground program to answers. Each step uses only those before it:

1. ``answers``: the values that are given back
2. ``method``: which engine is to answer, with which options
3. ``asked``: what is asked, as one value: program, meaning, weights, method, limits
4. ``engines``: what turns leaf weights into masses (a circuit, or the table of the
   reference), and the engines that look at some total choices only
5. ``credal``: the extremes over intervals of probabilities
6. ``probable``: the most probable values
7. ``exact``: the engines that answer exactly, from 4, 5 and 6
8. ``explain``: what is behind an answer
9. ``answer``: the answers of the engine that was asked for
"""
