"""Intervals of probabilities: their vertices, and the search for extremes over many of them."""
