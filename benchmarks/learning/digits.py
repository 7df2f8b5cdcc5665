"""MNIST as bytes, and networks that read them, with small changes to the images."""

from __future__ import annotations

import gzip
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

MEAN, DEVIATION = 0.1307, 0.3081
TURN, MOVE, SCALE = 14.0, 2.0, 0.15  # at most so many degrees, pixels, and this share of the size
SLANT = 0.1  # at most so many pixels to the side a pixel up
BEND = 0.8  # pixels that points of a coarse grid are moved by, a deviation,
POINTS = 5  # so many of them a side
STROKE = 0.5  # at most this share of the way to what strokes are a pixel thicker, or thinner
ROWS = 5000  # images that are read at once


@dataclass(frozen=True, slots=True)
class View:
    """An image seen a little differently: moved, turned, larger or smaller."""

    right: float = 0.0  # pixels
    down: float = 0.0
    turn: float = 0.0  # degrees
    scale: float = 1.0  # below 1, what is seen is larger

    def of(self, pixels: Tensor) -> Tensor:
        """How it shows images [rows, 1, 28, 28]."""
        if self == View():
            return pixels
        pixel, angle = 2.0 / pixels.shape[-1], math.radians(self.turn)
        cos, sin = math.cos(angle) * self.scale, math.sin(angle) * self.scale
        rows = [[cos, -sin, -self.right * pixel], [sin, cos, -self.down * pixel]]
        maps = torch.tensor(rows, device=pixels.device).expand(len(pixels), 2, 3)
        grid = functional.affine_grid(maps, list(pixels.shape), align_corners=False)
        return functional.grid_sample(pixels, grid, align_corners=False)


# How an image is read: as it is, by itself and its four neighbours, or by 81 views.
VIEWS = {
    1: (View(),),
    5: (View(), View(1), View(-1), View(0, 1), View(0, -1)),
    81: tuple(
        View(right, down, turn, scale)
        for right, down in product((-1, 0, 1), repeat=2)
        for turn in (-7, 0, 7)
        for scale in (0.94, 1, 1.06)
    ),
}


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
    def read(self, images: Tensor, views: int = 1) -> Tensor:
        """The most probable digit of each image, by the mean over so many views of it."""
        self.eval()
        device = next(self.parameters()).device
        parts = [self._seen(some.to(device), VIEWS[views]) for some in images.split(ROWS)]
        return torch.cat(parts).argmax(1).cpu()

    def _seen(self, images: Tensor, views: Sequence[View]) -> Tensor:
        """The sum [rows, 10] over some views of the probabilities of the digits."""
        pixels = images.unsqueeze(1).float() / 255.0
        outputs = [self.layers((view.of(pixels) - MEAN) / DEVIATION) for view in views]
        return torch.stack(outputs).softmax(2).sum(0)


def changed(pixels: Tensor) -> Tensor:
    """Images [rows, 1, 28, 28], each turned, slanted, moved, scaled, bent and drawn differently."""

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
    drawn = functional.grid_sample(pixels, grid, align_corners=False)
    pen = random(STROKE)[:, None, None, None]
    thick, thin = functional.max_pool2d(drawn, 3, 1, 1), -functional.max_pool2d(-drawn, 3, 1, 1)
    return drawn + pen.clamp(min=0) * (thick - drawn) + pen.clamp(max=0) * (drawn - thin)
