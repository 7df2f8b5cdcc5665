"""The reference engine: everything enumerated, nothing trusted."""
