"""Queries as functions in other systems: how large they are, and how quick."""
