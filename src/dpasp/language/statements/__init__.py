"""Statements: one module for each kind, with its class and the functions that read it."""
