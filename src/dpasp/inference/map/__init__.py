"""The most probable values of atoms, and the most probable total choices.

- ``task``: a question with the evaluator that it is asked of; ``best``: the best assignments
- ``maxproduct``: a circuit with maxima for sums; ``total_choices``: the most probable ones by that;
  ``credal``: the same where some probabilities are intervals
- ``search``: the best first; ``marked``: for atoms that the choices determine; ``by_queries``:
  for any atoms
- ``by_circuit``, ``by_table``: the ways to an answer; ``answers``: the answers
"""
