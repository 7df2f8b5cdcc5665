"""Leaf weights from what they are made of: constants, parameters, outputs of networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from clingo import Symbol, SymbolType
from torch import Tensor

from dpasp.errors import DataError, Diagnostic
from dpasp.logic.program import FromNetwork, GroundNetwork, GroundProgram, Learned
from dpasp.neural.networks import Network
from dpasp.semantics import leaves

Data = Mapping[Symbol, Tensor]


@dataclass(frozen=True, slots=True)
class LeafSources:
    """Where each leaf comes from: a row of constants, then of parameters, then of networks.

    The rows of a network are, for each of its rows and outcomes, its values, and for a
    Boolean one also the probability that it is false.
    """

    constants: Tensor  # [leaves]; 0 where a leaf is no constant
    parameter: Tensor  # [leaves]; the place in the matrix of parameters, or -1
    network: Tensor  # [leaves]; the place among the outputs of all networks, or -1
    index: Tensor  # [leaves]; the row in constants, parameters and outputs laid end to end
    plain: bool  # whether the outputs are the weights just as they come

    def to(self, device: torch.device) -> LeafSources:
        """The same on a device."""
        return LeafSources(
            self.constants.to(device),
            self.parameter.to(device),
            self.network.to(device),
            self.index.to(device),
            self.plain,
        )


def leaf_sources(ground: GroundProgram, width: int) -> LeafSources:
    """Where the leaves of a ground program come from; ``width`` is that of the parameters."""
    size = leaves.layout(ground.choices).size
    given = leaves.weights(ground)
    parameter, network = np.full(size, -1), np.full(size, -1)
    starts = np.cumsum([0, *(_outputs(use) for use in ground.networks)])
    at = 0
    for choice in ground.choices:
        count = leaves.width(choice)
        place = np.arange(count)
        match choice.weight:
            case Learned(which):
                parameter[at : at + count] = which * width + place
            case FromNetwork(which, row, outcome):
                use = ground.networks[which]
                first = (row * max(1, len(use.outcomes)) + outcome) * _width(use)
                network[at : at + count] = starts[which] + first + place
        at += count
    constants = np.where((parameter < 0) & (network < 0), given, 0.0)
    matrix = len(ground.parameters) * width
    index = np.where(network >= 0, size + matrix + network, np.arange(size))
    index = np.where(parameter >= 0, size + parameter, index)
    plain = size == starts[-1] and bool((network == np.arange(size)).all())
    tensor = torch.from_numpy
    return LeafSources(tensor(constants), tensor(parameter), tensor(network), tensor(index), plain)


def _width(use: GroundNetwork) -> int:
    return len(use.values) or 2


def _outputs(use: GroundNetwork) -> int:
    return len(use.rows) * max(1, len(use.outcomes)) * _width(use)


def network_outputs(network: Network, use: GroundNetwork, data: Data) -> Tensor:
    """The outputs [rows · outcomes · values, batch] of a network: all its rows in one go."""
    inputs = [_inputs(row, data, network) for row in use.rows]
    examples = len(inputs[0][0])
    joined = [torch.cat(parts) for parts in zip(*inputs, strict=True)]
    found: Tensor = network(*joined)
    if network.boolean:
        found = torch.cat([found, 1.0 - found], dim=-1)
    return found.reshape(len(use.rows), examples, -1).transpose(1, 2).reshape(-1, examples)


def _inputs(row: Symbol, data: Data, network: Network) -> list[Tensor]:
    """The tensors that one row of a network stands for."""
    found = []
    for atom in atoms_of(row):
        if atom not in data:
            known = ", ".join(map(str, data)) or "none"
            message = f"there is no data for {atom}, which {network.statement.name} needs"
            help = f"data was given for: {known}"
            raise DataError(Diagnostic("data-none", message, network.statement.span, help))
        found.append(data[atom])
    return found


def atoms_of(row: Symbol) -> Sequence[Symbol]:
    """The data atoms of a row: one, or those of a tuple."""
    if row.type is SymbolType.Function and not row.name:
        return row.arguments
    return (row,)


def needed(ground: GroundProgram) -> tuple[Symbol, ...]:
    """The data atoms that the networks of a program read."""
    found: dict[Symbol, None] = {}
    for use in ground.networks:
        for row in use.rows:
            found.update(dict.fromkeys(atoms_of(row)))
    return tuple(found)


def join(
    place: LeafSources, matrix: Tensor | None, outputs: Sequence[Tensor], batch: int
) -> Tensor:
    """The weights [leaves, batch] from the matrix of parameters and the networks' outputs."""
    if place.plain and outputs:
        return outputs[0] if len(outputs) == 1 else torch.cat(list(outputs))
    parts = [place.constants[:, None].expand(-1, batch)]
    if matrix is not None:
        parts.append(matrix.reshape(-1, 1).expand(-1, batch))
    return torch.cat([*parts, *outputs]).index_select(0, place.index)
