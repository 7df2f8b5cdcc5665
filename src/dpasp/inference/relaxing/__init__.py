"""Programs of which some choices are unknown: sure bounds where the whole is too large.

- ``goals``: what is asked as one atom that the choices determine.
- ``reasons``: which choices make it hold, in random worlds.
- ``two_sides``: the program in which some choices are unknown: what surely and what may hold.
- ``growing``: circuits of ever more choices, as far as a budget goes.
"""
