"""Answers from some of the total choices: samples, and sure bounds."""
