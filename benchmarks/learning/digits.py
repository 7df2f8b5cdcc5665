"""MNIST as bytes, and the paper's LeNet that reads them, with small changes to the images."""

from __future__ import annotations

import gzip
import math
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

MEAN, DEVIATION = 0.1307, 0.3081
TURN, MOVE, SCALE = 12.0, 2.0, 0.12  # at most so many degrees, pixels, and this share of the size
ROWS = 5000  # images that are read at once


@dataclass(frozen=True, slots=True)
class Digits:
    """Images as bytes, and what digits they show."""

    images: Tensor
    labels: Tensor


def mnist(part: str, most: int | None = None) -> Digits:
    """The first rows of ``train`` or ``t10k`` of MNIST, from the folder DPASP_DATA/mnist."""
    folder = Path(os.environ.get("DPASP_DATA", Path.home() / ".cache" / "dpasp"), "mnist")

    def numbers(kind: str, skip: int) -> Tensor:
        path = folder / f"{part}-{kind}-ubyte.gz"
        if not path.exists():
            raise SystemExit(f"there is no {path}: set DPASP_DATA, or run examples/mnist_add.plp")
        data = np.frombuffer(gzip.decompress(path.read_bytes()), dtype=np.uint8)
        return torch.from_numpy(data[skip:].copy())

    images = numbers("images-idx3", 16).reshape(-1, 28, 28)
    return Digits(images[:most], numbers("labels-idx1", 8).long()[:most])


def lenet() -> nn.Sequential:
    """The paper's network: 6 and 16 channels; it gives logits."""
    return nn.Sequential(
        nn.Conv2d(1, 6, 5),
        nn.MaxPool2d(2, 2),
        nn.ReLU(),
        nn.Conv2d(6, 16, 5),
        nn.MaxPool2d(2, 2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(256, 120),
        nn.ReLU(),
        nn.Linear(120, 84),
        nn.ReLU(),
        nn.Linear(84, 10),
    )


class Reader(nn.Module):
    """The network on bytes; while it learns, images may be turned, moved and scaled a little."""

    def __init__(self, augment: bool = False) -> None:
        super().__init__()
        self.augment = augment
        self.layers = lenet()

    def forward(self, images: Tensor) -> Tensor:
        """The logits [rows, 10] of images [rows, 28, 28]."""
        pixels = images.unsqueeze(1).float() / 255.0
        if self.training and self.augment:
            pixels = changed(pixels)
        found: Tensor = self.layers((pixels - MEAN) / DEVIATION)
        return found

    @torch.no_grad()
    def read(self, images: Tensor) -> Tensor:
        """The most probable digit of each image."""
        self.eval()
        device = next(self.parameters()).device
        return torch.cat([self(some.to(device)).argmax(1).cpu() for some in images.split(ROWS)])


def changed(pixels: Tensor) -> Tensor:
    """Every image [rows, 1, 28, 28] turned, moved and scaled a little, each in its own way."""

    def random(most: float) -> Tensor:
        return (2.0 * torch.rand(len(pixels), device=pixels.device) - 1.0) * most

    angle, scale = random(math.radians(TURN)), 1.0 + random(SCALE)
    cos, sin = torch.cos(angle) * scale, torch.sin(angle) * scale
    move = 2.0 * MOVE / pixels.shape[-1]
    first = torch.stack([cos, -sin, random(move)], dim=1)
    second = torch.stack([sin, cos, random(move)], dim=1)
    maps = torch.stack([first, second], dim=1)
    grid = functional.affine_grid(maps, list(pixels.shape), align_corners=False)
    return functional.grid_sample(pixels, grid, align_corners=False)
