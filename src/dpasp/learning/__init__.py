"""Learning: four rules that follow one gradient, the loop, checkpoints."""
