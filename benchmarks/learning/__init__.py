"""Learning, measured side by side with a hand-written PyTorch loop."""
