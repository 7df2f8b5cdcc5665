"""The most probable values of atoms, and the most probable total choices."""
