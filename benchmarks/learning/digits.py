"""MNIST as bytes, and networks that read them, with small changes to the images."""

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
SLANT = 0.15  # at most so many pixels to the side a pixel up
BEND = 0.7  # pixels that points of a coarse grid are moved by, a deviation,
POINTS = 5  # so many of them a side
NEIGHBOURS = ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1))  # views of an image: moved by a pixel
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


def wide() -> nn.Sequential:
    """A network of today's making, with about ten times the weights of the paper's."""

    def block(channels: int, filters: int) -> list[nn.Module]:
        return [nn.Conv2d(channels, filters, 3), nn.BatchNorm2d(filters), nn.ReLU()]

    return nn.Sequential(
        *block(1, 32),
        *block(32, 32),
        nn.MaxPool2d(2, 2),
        *block(32, 64),
        *block(64, 64),
        nn.MaxPool2d(2, 2),
        nn.Flatten(),
        nn.Linear(1024, 256),
        nn.ReLU(),
        nn.Linear(256, 10),
    )


NETWORKS = {"lenet": lenet, "wide": wide}


class Reader(nn.Module):
    """A network on bytes; while it learns, images may be changed a little."""

    def __init__(self, augment: bool = False, network: str = "lenet") -> None:
        super().__init__()
        self.augment = augment
        self.layers = NETWORKS[network]()

    def forward(self, images: Tensor) -> Tensor:
        """The logits [rows, 10] of images [rows, 28, 28]."""
        pixels = images.unsqueeze(1).float() / 255.0
        if self.training and self.augment:
            pixels = changed(pixels)
        found: Tensor = self.layers((pixels - MEAN) / DEVIATION)
        return found

    @torch.no_grad()
    def read(self, images: Tensor, views: tuple[tuple[int, int], ...] = NEIGHBOURS[:1]) -> Tensor:
        """The most probable digit of each image, by the mean over some views of it."""
        self.eval()
        device = next(self.parameters()).device
        return torch.cat([self._read(some.to(device), views).cpu() for some in images.split(ROWS)])

    def _read(self, images: Tensor, views: tuple[tuple[int, int], ...]) -> Tensor:
        outputs = [self(images.roll(view, (1, 2))).softmax(1) for view in views]
        return torch.stack(outputs).mean(0).argmax(1)


def changed(pixels: Tensor) -> Tensor:
    """Every image [rows, 1, 28, 28] turned, slanted, moved, scaled and bent, each differently."""

    def random(most: float) -> Tensor:
        return (2.0 * torch.rand(len(pixels), device=pixels.device) - 1.0) * most

    pixel = 2.0 / pixels.shape[-1]  # of a picture from -1 to 1
    angle, scale, slant = random(math.radians(TURN)), 1.0 + random(SCALE), random(SLANT)
    cos, sin = torch.cos(angle) * scale, torch.sin(angle) * scale
    first = torch.stack([cos, slant * cos - sin, random(MOVE * pixel)], dim=1)
    second = torch.stack([sin, slant * sin + cos, random(MOVE * pixel)], dim=1)
    maps = torch.stack([first, second], dim=1)
    grid = functional.affine_grid(maps, list(pixels.shape), align_corners=False)
    bend = torch.randn(len(pixels), 2, POINTS, POINTS, device=pixels.device) * (BEND * pixel)
    bend = functional.interpolate(bend, pixels.shape[-2:], mode="bicubic", align_corners=True)
    grid = grid + bend.permute(0, 2, 3, 1)
    return functional.grid_sample(pixels, grid, align_corners=False)
