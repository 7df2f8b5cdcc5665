"""Several circuits as one: each is a part of the masses of some questions.

A piece may hold in a case only, in which some choices fell as it says; its masses are then
weighed by the probability of the case. What the pieces come to is at most what the questions
have, and an ordinary function of the weights: it has a gradient, and takes batches.

>>> from dpasp.language import parse
>>> from dpasp.ground import ground
>>> from dpasp.neural.engines import native_engine
>>> from dpasp.semantics.meaning import Meaning
>>> program = ground(parse("0.5::a. 0.5::b. c :- a, b. #query c."))
>>> engine = native_engine(program, Meaning(), program.questions)
>>> piece = CircuitPiece(engine, (0,), torch.arange(4), torch.tensor([], dtype=torch.int64))
>>> weights = torch.tensor([[0.5], [0.5], [0.2], [0.8]], dtype=torch.float64)
>>> CircuitPieces((piece,), 1).masses(weights, ("a",))
tensor([[[0.1000]]], dtype=torch.float64)
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import torch
from torch import Tensor

from dpasp.dataclass import dataclass
from dpasp.neural.engines import MassEngine
from dpasp.neural.walks import Fields, Pullback


@dataclass(frozen=True, slots=True)
class CircuitPiece:
    """A circuit, the questions that it is about, the leaves that it reads and those of its case."""

    engine: MassEngine
    questions: tuple[int, ...]
    leaves: Tensor
    fallen: Tensor

    def to(self, device: torch.device) -> CircuitPiece:
        """The same on a device."""
        moved = self.leaves.to(device), self.fallen.to(device)
        return CircuitPiece(self.engine.to(device), self.questions, *moved)


@dataclass(frozen=True, slots=True)
class Certain:
    """The engine of a case that is not compiled: as if all of it had what is asked."""

    questions: ClassVar[int] = 1
    size: ClassVar[int] = 0
    scaled: ClassVar[bool] = False

    def masses(self, weights: Tensor, fields: Fields) -> Tensor:
        """All of the probability."""
        return weights.new_ones(1, len(fields), weights.shape[1])

    def traced(self, weights: Tensor, fields: Fields, log: bool = False) -> tuple[Tensor, Pullback]:
        """All of it, or its logarithm, whatever the weights are."""
        values = self.masses(weights, fields)
        return values.log() if log else values, lambda _: torch.zeros_like(weights)

    def gradient(
        self, weights: Tensor, seeds: Tensor, fields: Fields, log: bool = False
    ) -> tuple[Tensor, Tensor]:
        """All of it, and no slope."""
        return self.traced(weights, fields, log)[0], torch.zeros_like(weights)

    def gradient_by_logs(
        self, logs: Tensor, seeds: Tensor, fields: Fields
    ) -> tuple[Tensor, Tensor]:
        """The logarithm of all of it, and no slope."""
        return torch.zeros_like(seeds), torch.zeros_like(logs)

    def curvature(
        self, weights: Tensor, seeds: Tensor, directions: Tensor, fields: Fields, log: bool = False
    ) -> tuple[Tensor, Tensor]:
        """Learning by a bound asks for no second derivatives."""
        raise NotImplementedError

    def to(self, device: torch.device) -> Certain:
        """The same."""
        return self


@dataclass(frozen=True, slots=True)
class CircuitPieces:
    """CircuitPieces as one engine; a question that no piece is about has no mass."""

    pieces: tuple[CircuitPiece, ...]
    questions: int
    scaled: ClassVar[bool] = False

    @property
    def size(self) -> int:
        """How many products an evaluation takes."""
        return sum(piece.engine.size for piece in self.pieces)

    def to(self, device: torch.device) -> CircuitPieces:
        """The same on a device."""
        return replace(self, pieces=tuple(piece.to(device) for piece in self.pieces))

    def masses(self, weights: Tensor, fields: Fields) -> Tensor:
        """The masses [questions, fields, batch] under weights [leaves, batch]."""
        total = weights.new_zeros(self.questions, len(fields), weights.shape[1])
        for piece in self.pieces:
            chance = weights[piece.fallen].prod(dim=0)
            total[list(piece.questions)] += chance * piece.engine.masses(
                weights[piece.leaves], fields
            )
        return total

    def traced(self, weights: Tensor, fields: Fields, log: bool = False) -> tuple[Tensor, Pullback]:
        """The masses, or their logarithms, and what takes seeds back to slopes."""
        values = self._logs(weights, fields)[0] if log else self.masses(weights, fields)
        return values, lambda seeds: self.gradient(weights, seeds, fields, log)[1]

    def gradient(
        self, weights: Tensor, seeds: Tensor, fields: Fields, log: bool = False
    ) -> tuple[Tensor, Tensor]:
        """The masses, and the gradient of Σ seeds · masses by the weights; or of logarithms."""
        return (self._gradient_of_logs if log else self._gradient)(weights, seeds, fields)

    def gradient_by_logs(
        self, logs: Tensor, seeds: Tensor, fields: Fields
    ) -> tuple[Tensor, Tensor]:
        """The logarithms of the masses by those of the weights, and the gradient by those."""
        parts = []
        total = torch.full_like(seeds, -torch.inf)
        for piece in self.pieces:
            rows, here = list(piece.questions), logs[piece.leaves]
            found = piece.engine.gradient_by_logs(here, torch.ones_like(seeds[rows]), fields)[0]
            parts.append(found + logs[piece.fallen].sum(dim=0))
            total[rows] = torch.logaddexp(total[rows], parts[-1])
        slopes = torch.zeros_like(logs)
        for piece, part in zip(self.pieces, parts, strict=True):
            rows = list(piece.questions)
            up = torch.where(part.isfinite(), seeds[rows] * (part - total[rows]).exp(), 0.0)
            back = piece.engine.gradient_by_logs(logs[piece.leaves], up, fields)[1]
            slopes.index_add_(0, piece.leaves, back)
            slopes[piece.fallen] += up.sum(dim=(0, 1))
        return total, slopes

    def curvature(
        self, weights: Tensor, seeds: Tensor, directions: Tensor, fields: Fields, log: bool = False
    ) -> tuple[Tensor, Tensor]:
        """Learning by a bound asks for no second derivatives."""
        raise NotImplementedError

    def _gradient(self, weights: Tensor, seeds: Tensor, fields: Fields) -> tuple[Tensor, Tensor]:
        total, slopes = torch.zeros_like(seeds), torch.zeros_like(weights)
        for piece in self.pieces:
            rows = list(piece.questions)
            used = seeds[rows].abs().sum(dim=(0, 1)).nonzero()[:, 0]
            if not len(used):
                continue
            part, up = weights[:, used], seeds[rows][:, :, used]
            chance = part[piece.fallen].prod(dim=0)
            masses, back = piece.engine.gradient(part[piece.leaves], up * chance, fields)
            here = torch.zeros_like(part).index_add_(0, piece.leaves, back)
            others = _products_of_others(part[piece.fallen])
            here.index_add_(0, piece.fallen, others * (up * masses).sum(dim=(0, 1)))
            slopes[:, used] += here
            added = torch.zeros_like(total[rows])
            added[:, :, used] = chance * masses
            total[rows] += added
        return total, slopes

    def _logs(self, weights: Tensor, fields: Fields) -> tuple[Tensor, list[Tensor]]:
        """The logarithms of the masses, and those of each piece."""
        parts = []
        total = weights.new_full((self.questions, len(fields), weights.shape[1]), -torch.inf)
        for piece in self.pieces:
            logs = piece.engine.traced(weights[piece.leaves], fields, log=True)[0]
            parts.append(logs + weights[piece.fallen].log().sum(dim=0))
            rows = list(piece.questions)
            total[rows] = torch.logaddexp(total[rows], parts[-1])
        return total, parts

    def _gradient_of_logs(
        self, weights: Tensor, seeds: Tensor, fields: Fields
    ) -> tuple[Tensor, Tensor]:
        total, parts = self._logs(weights, fields)
        slopes = torch.zeros_like(weights)
        for piece, logs in zip(self.pieces, parts, strict=True):
            rows = list(piece.questions)
            share = torch.where(logs.isfinite(), (logs - total[rows]).exp(), 0.0)
            up = seeds[rows] * share
            back = piece.engine.gradient(weights[piece.leaves], up, fields, log=True)[1]
            slopes.index_add_(0, piece.leaves, torch.where(back.isfinite(), back, 0.0))
            certain = weights[piece.fallen].clamp(min=torch.finfo(weights.dtype).tiny)
            slopes.index_add_(0, piece.fallen, up.sum(dim=(0, 1)) / certain)
        return total, slopes


def _products_of_others(factors: Tensor) -> Tensor:
    """For each row of factors, the product of all others, also where some are 0."""
    ones = torch.ones_like(factors[:1])
    before = torch.cat([ones, factors[:-1]]).cumprod(dim=0)
    after = torch.cat([factors[1:], ones]).flip(0).cumprod(dim=0).flip(0)
    return before * after if len(factors) else factors
