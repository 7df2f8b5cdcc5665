"""Texts in Prolog's syntax, as ProbLog and DeepProbLog write them: read, never run."""
