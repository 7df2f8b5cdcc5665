"""Bayesian networks written as programs, beside pyAgrum and ProbLog."""
