"""From a ground program to answers, each step after those that it uses.

The way of an exact answer, from its end to its start:

- ``tuning``: the thresholds of all that follows
- ``answers``: what a person gets back
- ``asked``: what an engine is given and gives back; which engine it is, with which options
- ``circuit``: evaluators, which turn leaf weights into masses, and the numbers of answers
- ``exact``: asks the engine and adds warnings and statistics; the engines auto, compile, enumerate

What branches off it:

- ``together``: many atoms, or large networks, answered at once
- ``enumerate``: the table of all total choices and their models, the reference
- ``boxes`` and ``intervals``: extremes over probabilities that are intervals
- ``rows``: tables of evidence, every question answered for every row
- ``map``: the most probable values
- ``summed``: factors and tables of a Markov network summed up, and their largest product
- ``sampling`` and ``models``: worlds drawn at random; total choices solved one at a time
- ``decide``: expected values and the best decisions
- ``bounds``: what is sure where exact answers take too long
- ``explain``: what is behind an answer
- ``sharing``: questions shared out among the workers of a cluster
"""
