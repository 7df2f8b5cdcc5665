"""What the models of a total choice are, and what probability means.

Example::

    meaning = Meaning(Logic.PARTIAL, Probability.CREDAL)
    translation = translate(ground, meaning.logic)      # rules with twins, solved as stable
    vector = leaves.weights(ground)                     # one number per value of each choice
    lower, upper = masses.credal(evaluator.masses(vector[:, np.newaxis]))
"""
