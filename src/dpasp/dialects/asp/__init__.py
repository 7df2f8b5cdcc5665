"""Systems whose programs are clingo's with a few statements of their own: those are rewritten."""
