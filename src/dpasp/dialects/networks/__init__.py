"""Bayesian and Markov networks, from the formats in which other tools write them."""
