"""The C++ behind :mod:`dpasp.circuits`, and nothing else."""
