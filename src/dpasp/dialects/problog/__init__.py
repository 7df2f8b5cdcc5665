"""ProbLog's programs as ours: its semantics is the well-founded one, with one probability."""
