"""Where torch starts: a program's Python, its data, its networks, and the program as a module.

Only :mod:`dpasp.neural.python_blocks` works without torch: plain grounding needs it too.
"""
