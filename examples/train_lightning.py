"""The same as train_torch.py with Lightning: a program is a module among others.

pip install lightning
python examples/train_lightning.py
"""

from __future__ import annotations

import lightning
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader
from train_torch import PROGRAM, pairs, share_right

import dpasp


class Sums(lightning.LightningModule):
    """Learns to read digits from their sums."""

    def __init__(self, digits: int) -> None:
        super().__init__()
        net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10), nn.Softmax(1))
        program = dpasp.loads(PROGRAM, networks={"net": net}, constants={"n": digits})
        self.program = program.module()

    def training_step(self, batch: tuple[Tensor, Tensor]) -> Tensor:
        """The loss of a batch."""
        rows, sums = batch
        return -self.program.log_prob(sums, {"img": rows}, query="sum(S)").mean()

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Adam for everything that learns."""
        return torch.optim.Adam(self.parameters(), lr=0.01)


def main(epochs: int = 20, digits: int = 3) -> float:
    """Train; the share of test sums that are right."""
    lightning.seed_everything(0)
    model, (train, test) = Sums(digits), pairs(digits)
    trainer = lightning.Trainer(max_epochs=epochs, logger=False, enable_checkpointing=False)
    trainer.fit(model, DataLoader(train, batch_size=32, shuffle=True))
    right = share_right(model.program, *test.tensors)
    print(f"{100 * right:.1f} % of the test sums are right")
    return right


if __name__ == "__main__":
    main()
