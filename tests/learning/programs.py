"""A small program with a network, parameters and dropout, for tests of the training loop."""

from __future__ import annotations

ADDITION = """
#python
import torch
generator = torch.Generator().manual_seed(7)
digits = torch.randint(0, 3, (120, 2), generator=generator)
pictures = torch.nn.functional.one_hot(digits, 3).float()
pictures = pictures + 0.3 * torch.randn(120, 2, 3, generator=generator)
def net():
    layers = [torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Dropout(0.2), torch.nn.Linear(8, 3)]
    return torch.nn.Sequential(*layers)
def rows(i): return pictures[:, i]
def sums(): return [[f"s({int(a + b)})"] for a, b in digits]
#end.
i(0) ~ test(@rows(0)), train(@rows(0)).
i(1) ~ test(@rows(1)), train(@rows(1)).
?::d(X, {0..2}) as @net with optim = "OPTIM", lr = 0.01, logits :- i(X).
?::noise.
s(Z) :- d(0,X), d(1,Y), Z = X+Y, not noise.
s(0) :- noise.
#semantics maxent.
#learn @sums, niters = 6, batch = 50, lr = 0.05, display = "none".
#query s(X).
"""


def addition(optimiser: str = "Adam") -> str:
    """The program with one of torch's optimisers."""
    return ADDITION.replace("OPTIM", optimiser)
