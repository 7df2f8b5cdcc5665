"""What the models of a total choice are, and what probability means.

Example::

    translation = translate(ground, Logic.PARTIAL)      # rules with twins, solved as stable
    vector = leaves.weights(ground)                     # one number per value of each choice
    lower, upper = masses.credal(evaluator.masses(vector))
"""
