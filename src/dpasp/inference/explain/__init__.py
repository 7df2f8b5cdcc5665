"""Explanations: what is behind an answer, and why a program has no model.

- ``explanation``: the results, with trees of sentences
- ``trees``: models that can be traced to the rules of the text, and why a literal holds there
- ``ways``: minimal explanations, and a smallest set of rules and choices that leaves no model
- ``reasons``: all of it about one answer, and what each number of the program does to it
"""
