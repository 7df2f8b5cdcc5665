"""Benchmarks of answers that are not exact."""
