"""Statements: one module for each kind, with its class and what helps to read it."""
