"""Tensors of labels, looked up where they are: no loop over rows, nothing that a GPU is asked back.

A label is looked up as what it stands for: the number of an observation, or, where observed atoms
are leaves of a circuit, the leaves that cannot be.

>>> import dpasp
>>> model = dpasp.loads("0.2::c(1,red); 0.8::c(1,blue). 1::c(2,red). #semantics maxent.").module()
>>> labels = torch.tensor([[1, 0], [0, -100]])
>>> for _ in range(2):  # the second time by the table that the first one leaves
...     print(model.log_prob(labels, query="c(I,X)").exp().tolist())
[0.8, 0.2]
[0.8, 0.2]
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field

import torch
from torch import Tensor

from dpasp.dataclass import dataclass
from dpasp.language.ast import Mode
from dpasp.learning.observations import UNSEEN, LabelColumn
from dpasp.learning.tuning import TUNING

Columns = Sequence[tuple[str, LabelColumn]]
BEFORE = 1 - UNSEEN  # entries of a table before that of the label 0: too small, unseen, negative
BAD = -(1 << 40)  # so that no sum of others makes up for it


def are_tensors(labels: object) -> bool:
    """Whether labels are a tensor of whole numbers or truth values, [rows] or [rows, objects]."""
    return isinstance(labels, Tensor) and labels.ndim in (1, 2) and not labels.is_floating_point()


@dataclass(slots=True)
class LabelTable:
    """What the labels of some columns stand for.

    ``atoms`` are those that are leaves of the circuit, two each; without, labels stand for the
    numbers of observations, which are known once they were read.
    """

    columns: int
    most: int  # labels of a column, at most
    entries: Tensor  # [columns * (BEFORE + most + 1), width]
    atoms: tuple[int, ...] | None
    numbers: Tensor  # by code: the number of an observation, or -1; without atoms
    _moved: dict[torch.device, tuple[Tensor, Tensor, Tensor]] = field(default_factory=dict)

    @classmethod
    def of(cls, columns: Columns, atoms: tuple[int, ...] | None) -> LabelTable | None:
        """The table of some columns; None where it would be too large."""
        most = max(len(column) for _, column in columns)
        codes = 1 if atoms is not None else math.prod(len(column) + 1 for _, column in columns)
        if codes > TUNING.label_codes:
            return None
        place = {atom: 2 * i for i, atom in enumerate(atoms or ())}
        rows: list[list[list[int]]] = []
        stride = 1
        for _, column in columns:
            here: list[list[int]] = [[BAD]] * (BEFORE + most + 1)
            here[1] = [0] if atoms is None else []
            for label, literals in enumerate(column):
                if atoms is None:
                    here[BEFORE + label] = [stride * (label + 1)]
                elif literals is not None:
                    here[BEFORE + label] = [
                        place[literal.atom] + (literal.mode is Mode.TRUE)
                        for literal in literals
                        if literal.atom
                    ]
            rows.append(here)
            stride *= len(column) + 1
        width = max(len(entry) for here in rows for entry in here)
        spare = 2 * len(place)  # a leaf that there is not
        entries = torch.tensor(
            [entry + [spare] * (width - len(entry)) for here in rows for entry in here]
        )
        numbers = torch.full((codes + 1,), -1)
        return cls(len(columns), most, entries, atoms, numbers)

    def look_up(self, labels: Tensor) -> Tensor:
        """For each row of labels its number [rows], or the leaves that cannot be [rows, width].

        Negative entries are labels that there are not, or that were not read yet.
        """
        entries, numbers, offsets = self._on(labels.device)
        places = labels.reshape(len(labels), -1).long().clamp(-BEFORE, self.most)
        found = entries.index_select(0, (places + offsets).flatten()).reshape(len(labels), -1)
        if self.atoms is not None:
            return found
        return numbers[found.sum(dim=1).clamp(min=-1)]

    def learn(self, labels: Tensor, numbers: Tensor) -> None:
        """Take in the numbers of the observations that rows of labels stand for."""
        entries, _, offsets = self._on(torch.device("cpu"))
        places = labels.detach().cpu().reshape(len(labels), -1).long()
        self.numbers[entries[places + offsets].flatten(1).sum(dim=1)] = numbers.cpu()
        self._moved = {}

    def _on(self, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
        if device not in self._moved:
            offsets = BEFORE + torch.arange(self.columns) * (BEFORE + self.most + 1)
            parts = (self.entries, self.numbers, offsets)
            entries, numbers, offsets = (part.to(device) for part in parts)
            self._moved[device] = entries, numbers, offsets
        return self._moved[device]
