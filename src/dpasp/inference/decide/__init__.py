"""Expected values and decisions: what a strategy is worth, which is best, and why.

- ``expected``: expected values from masses
- ``strategies``: which strategies there are, what each is worth, the best of few
- ``search``: the best of many, by branch and bound
- ``criteria``: which strategies survive where values are intervals
- ``reasons``: alternatives, contributions, the value of knowledge
- ``answering``: the answers to ``#expect`` and ``#decide``, and to queries beside them
"""
