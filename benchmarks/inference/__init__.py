"""Exact inference, measured beside other systems."""
