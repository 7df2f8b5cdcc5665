"""The C++ behind :mod:`dpasp.circuits`, and what ends a process at its limits."""
