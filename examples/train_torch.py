"""Reading three-digit numbers from their digit sums, in a plain PyTorch loop.

    python examples/train_torch.py

The program says what a sum is; the network, the data, the optimiser and the loop are ours. It
needs scikit-learn for the images (8 × 8 handwritten digits).
"""

from __future__ import annotations

import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

import dpasp

PROGRAM = """
#const n = 3.
img(0..n-1).                                  % one tensor [batch, n, 64] for all of them
?::digit(I, {0..9}) as @net :- img(I).
total(0, 0).
total(I+1, S+D) :- total(I, S), digit(I, D).
sum(S) :- total(n, S).
#semantics maxent.
"""


def pairs(digits: int = 3, seed: int = 0) -> tuple[TensorDataset, TensorDataset]:
    """Train and test examples: images [digits, 64], and the sum of what they show."""
    images, labels = (torch.as_tensor(part) for part in load_digits(return_X_y=True))
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(seed))
    order = order[: len(order) // digits * digits].reshape(-1, digits)
    rows, sums = images[order].float() / 16, labels[order].sum(1)
    cut = 4 * len(rows) // 5
    return TensorDataset(rows[:cut], sums[:cut]), TensorDataset(rows[cut:], sums[cut:])


def main(epochs: int = 20, digits: int = 3) -> float:
    """Train; the share of test sums that are right."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10), nn.Softmax(1))
    program = dpasp.loads(PROGRAM, networks={"net": net}, constants={"n": digits})
    model = program.module()
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    train, test = pairs(digits)
    for epoch in range(epochs):
        total = 0.0
        for rows, sums in DataLoader(train, batch_size=32, shuffle=True):
            optimiser.zero_grad()
            loss = -model.log_prob(sums, {"img": rows}, query="sum(S)").mean()
            loss.backward()
            optimiser.step()
            total += loss.item() * len(rows)
        print(f"epoch {epoch + 1:2}  loss {total / len(train):.3f}")
    right = share_right(model, *test.tensors)
    print(f"{100 * right:.1f} % of the test sums are right")
    return right


@torch.no_grad()
def share_right(model: nn.Module, rows: Tensor, sums: Tensor) -> float:
    """How often the most probable sum is the true one: column s of ``prob`` is the sum s."""
    model.eval()
    found = model.value("sum(S)", {"img": rows})
    return (found.argmax(dim=1) == sums).double().mean().item()


if __name__ == "__main__":
    main()
