"""Explanations: what is behind an answer, and why a program has no model.

- ``explanation``: the results, with trees of sentences
- ``trees``: models that can be traced to the rules of the text, and why a literal holds there
- ``ways``: minimal explanations, and smallest sets of rules and choices that rule out all models
- ``reasons``: everything about one answer, and how each number of the program affects it
"""
