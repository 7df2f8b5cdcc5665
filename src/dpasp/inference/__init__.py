"""From a ground program to answers, each step after those that it uses.

The modules behind an exact answer, the last one called first:

- ``tuning``: all thresholds
- ``answers``: what a user gets
- ``asked``: what an engine gets and returns; the choice of the engine and its options
- ``circuit``: evaluators, which turn leaf weights into masses, and the numbers of answers
- ``exact``: asks the engine and adds warnings and statistics; the engines auto, compile, enumerate

Modules for other cases:

- ``together``: many atoms, or large networks, answered at once
- ``enumerate``: the table of all total choices and their models, the reference
- ``boxes`` and ``intervals``: extremes over probabilities that are intervals
- ``rows``: tables of evidence, every question answered for every row
- ``map``: the most probable values
- ``summed``: factors and tables of a Markov network summed up, and their largest product
- ``sampling`` and ``models``: worlds drawn at random; total choices solved one at a time
- ``decide``: expected values and the best decisions
- ``bounds``: certain bounds if exact answers take too long
- ``explain``: what is behind an answer
- ``sharing``: dividing questions among the workers of a cluster
"""
