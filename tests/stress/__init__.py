"""Attacks that take long: each can be repeated by a target of the Makefile."""
