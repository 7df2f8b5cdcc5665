"""Weighted counting: instances of the model counting competition, beside Ganak."""
