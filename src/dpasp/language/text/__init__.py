"""The text of a program: its files, tokens and pieces, and what clingo makes of the rest.

Nothing here knows what a statement of dPASP means.
"""
