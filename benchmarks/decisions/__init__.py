"""Decisions: viral marketing beside ProbLog and PASTA, influence diagrams beside pyAgrum."""
