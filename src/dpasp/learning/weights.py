"""Leaf weights from constants, learned probabilities and outputs of networks.

Learned distributions are softmaxes of free numbers, so any optimiser keeps them on the simplex;
values fixed by the program keep their share.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch
from clingo import Function, Symbol
from torch import Tensor, nn

from dpasp.dataclass import dataclass
from dpasp.errors import DataError, UsageError
from dpasp.ground.markers import HIDDEN
from dpasp.ground.program import (
    Choice,
    FromNetwork,
    GroundNetwork,
    GroundProgram,
    IntervalWeights,
    Learned,
    Parameter,
    Present,
    data_atoms,
)
from dpasp.learning.networks import OnDevice, OutputReader
from dpasp.semantics import leaves
from dpasp.semantics.meaning import Meaning

LEAST = 1e-300  # stands for 0 in a logarithm


@dataclass(frozen=True, slots=True)
class LeafSources(OnDevice):
    """Where each leaf comes from: a row of constants, then of parameters, then of networks.

    A network has a row for each value of each of its rows and outcomes; a Boolean one also for the
    probability of false.
    """

    constants: Tensor  # [leaves]; 0 if a leaf is not a constant
    parameter: Tensor  # [leaves]; the place in the matrix of parameters, or -1
    network: Tensor  # [leaves]; the place among the outputs of all networks, or -1
    index: Tensor  # [leaves]; the row in constants, parameters and outputs laid end to end
    plain: bool  # whether the outputs are the weights unchanged


def leaf_sources(ground: GroundProgram, width: int) -> LeafSources:
    """The sources of the leaves of a ground program; ``width`` is that of the parameters."""
    size = leaves.layout(ground.choices).size
    fixed = leaves.weights(ground)
    parameter, network = np.full(size, -1), np.full(size, -1)
    starts = np.cumsum([0, *(outputs_of(use) for use in ground.networks)])
    at, ends = 0, starts[-1]  # leaves for the existence of objects come after the networks'
    for choice in ground.choices:
        count = leaves.leaf_count(choice)
        place = np.arange(count)
        match choice.weight:
            case Learned(which):
                parameter[at : at + count] = which * width + place
            case FromNetwork(which, row, outcome):
                use = ground.networks[which]
                first = (row * max(1, len(use.outcomes)) + outcome) * _width(use)
                network[at : at + count] = starts[which] + first + place
            case Present():
                network[at : at + count] = ends + place
                ends += count
        at += count
    constants = np.where((parameter < 0) & (network < 0), fixed, 0.0)
    matrix = len(ground.parameters) * width
    index = np.where(network >= 0, size + matrix + network, np.arange(size))
    index = np.where(parameter >= 0, size + parameter, index)
    plain = size == ends and bool((network == np.arange(size)).all())
    tensor = torch.from_numpy
    return LeafSources(tensor(constants), tensor(parameter), tensor(network), tensor(index), plain)


def _width(use: GroundNetwork) -> int:
    return len(use.values) or 2


def outputs_of(use: GroundNetwork) -> int:
    return len(use.rows) * max(1, len(use.outcomes)) * _width(use)


@dataclass(frozen=True, slots=True)
class ExampleRows:
    """The data of some examples: tensors [batch, …] by data atom, and which may be missing."""

    data: Mapping[Symbol, Tensor]
    optional: Mapping[Symbol, Symbol]  # as in may_be_missing
    batch: int

    def there(self, atom: Symbol) -> Tensor | None:
        """In which examples [batch] an atom exists; None if it always does."""
        if atom not in self.optional:
            return None
        said = self.data.get(self.optional[atom])
        if said is None:  # without data it does not exist
            return torch.full((self.batch,), atom in self.data, dtype=torch.bool)
        return said.bool()

    def all_there(self, atoms: Sequence[Symbol]) -> Tensor | None:
        """In which examples [batch] all of these atoms exist; None if they always do."""
        masks = [there for atom in atoms if (there := self.there(atom)) is not None]
        return torch.stack([mask.cpu() for mask in masks]).all(0) if masks else None


def network_outputs(network: OutputReader, use: GroundNetwork, rows: ExampleRows) -> Tensor:
    """The outputs [rows · outcomes · values, batch] of a network; for logits, logarithms."""
    there = [rows.all_there(data_atoms(row)) for row in use.rows]
    if any(mask is not None for mask in there):
        outputs = _outputs_where_there(network, use, rows, there)
    else:
        inputs = [_inputs(row, rows.data, network) for row in use.rows]
        outputs = network(*(torch.cat(parts) for parts in zip(*inputs, strict=True)))
    return by_example(outputs, use)


def by_example(outputs: Tensor, use: GroundNetwork, in_order: bool = False) -> Tensor:
    """The outputs [rows · outcomes · values, batch] from the concatenated outputs of all rows.

    With ``in_order``, they are concatenated by example instead.
    """
    examples = len(outputs) // len(use.rows)
    if in_order:
        return outputs.reshape(examples, -1).T
    return outputs.reshape(len(use.rows), examples, -1).transpose(1, 2).reshape(-1, examples)


Source = tuple[str, int | None]  # the name of data, and which of its objects


@dataclass(frozen=True, slots=True)
class InputPlan:
    """Where the inputs of networks come from, for tensors with some names.

    It is made once, since looking up each atom takes longer than a step on a GPU.
    """

    widths: Mapping[str, int | None]  # by name: how many objects it has; None for a single object
    # by network and input: the place of each row
    networks: tuple[tuple[tuple[Source, ...], ...], ...]
    in_order: tuple[bool, ...]  # by network: whether it reads all objects of its tensors in order

    @classmethod
    def of(
        cls, ground: GroundProgram, atoms: Mapping[str, Sequence[Symbol] | None]
    ) -> InputPlan | None:
        """The plan for names that stand for several atoms or (None) for one."""
        sources: dict[Symbol | str, Source] = {}
        for name, listed in atoms.items():
            if listed is None:
                sources[name] = name, None
            else:
                sources.update((atom, (name, i)) for i, atom in enumerate(listed))
        networks = []
        for use in ground.networks:
            rows = []
            for row in use.rows:
                found = [sources.get(a) or sources.get(str(a)) for a in data_atoms(row)]
                if None in found:
                    return None
                rows.append([source for source in found if source is not None])
            networks.append(tuple(tuple(part) for part in zip(*rows, strict=True)))
        widths = {name: None if part is None else len(part) for name, part in atoms.items()}
        whole = {name: tuple((name, i) for i in range(widths[name] or 0)) for name in widths}
        in_order = tuple(all(part == whole[part[0][0]] for part in parts) for parts in networks)
        return cls(widths, tuple(networks), in_order)

    def batch(self, data: Mapping[str, Tensor]) -> int | None:
        """The number of examples; None if a tensor has an unexpected shape."""
        sizes = {tensor.shape[0] if tensor.ndim else -1 for tensor in data.values()}
        fit = all(
            width is None or (data[name].ndim > 1 and data[name].shape[1] == width)
            for name, width in self.widths.items()
        )
        return sizes.pop() if fit and len(sizes) == 1 else None

    def inputs(self, network: int, data: Mapping[str, Tensor]) -> Iterator[Tensor]:
        """The inputs of a network: the examples of its first row, then those of the next.

        If it reads tensors in order, the rows of each example come together instead.
        """
        for part in self.networks[network]:
            if self.in_order[network]:
                yield data[part[0][0]].flatten(0, 1)
            else:
                yield torch.cat([data[n] if i is None else data[n][:, i] for n, i in part])


def _outputs_where_there(
    network: OutputReader, use: GroundNetwork, rows: ExampleRows, there: Sequence[Tensor | None]
) -> Tensor:
    """The outputs of a network run only on what exists; elsewhere, any distribution."""
    everywhere = torch.ones(rows.batch, dtype=torch.bool)
    seen = [everywhere if mask is None else mask for mask in there]
    inputs = [
        [part[present.to(part.device)] for part in _inputs(row, rows.data, network)]
        for row, present in zip(use.rows, seen, strict=True)
        if present.any()
    ]
    device = next(network.parameters(), torch.empty(0)).device
    width = _width(use)
    shape = (len(use.rows) * rows.batch, network.outcomes, width)
    share = -math.log(width) if network.logits else 1.0 / width
    filled = torch.full(shape, share, dtype=torch.float64, device=device)
    if not inputs:
        return filled
    outputs: Tensor = network(*(torch.cat(parts) for parts in zip(*inputs, strict=True)))
    places = torch.cat(seen).nonzero()[:, 0].to(outputs.device)
    return filled.to(outputs.device).index_copy(0, places, outputs)


def presence(rows: ExampleRows, device: torch.device) -> list[Tensor]:
    """The leaves [2 · optional atoms, batch] that say what exists; none if everything does."""
    if not rows.optional:
        return []
    there = [rows.there(atom) for atom in rows.optional]
    table = torch.stack([mask.to(device) for mask in there if mask is not None]).double()
    return [torch.stack([table, 1.0 - table], dim=1).reshape(-1, rows.batch)]


def _inputs(row: Symbol, data: Mapping[Symbol, Tensor], network: OutputReader) -> list[Tensor]:
    tensors = []
    for atom in data_atoms(row):
        if atom not in data:
            known = ", ".join(map(str, data))
            message = f"there is no data for {atom}, which {network.statement.name} needs"
            help = f"data was given for: {known}" if known else f'pass {{"{atom}": rows}}'
            raise DataError.at("data-none", message, network.statement.span, help)
        tensors.append(data[atom])
    return tensors


def needed_data(ground: GroundProgram) -> tuple[Symbol, ...]:
    rows = (row for use in ground.networks for row in use.rows)
    return tuple(dict.fromkeys(atom for row in rows for atom in data_atoms(row)))


def may_be_missing(ground: GroundProgram) -> dict[Symbol, Symbol]:
    """The data atoms that an example may lack, each with the name of its mask.

    A mask has a truth value for each row: whether the atom exists.
    """
    weights = (choice.weight for choice in ground.choices)
    atoms = [weight.atom for weight in weights if isinstance(weight, Present)]
    return {atom: Function(f"{HIDDEN}present", [atom]) for atom in atoms}


def leaf_weights(
    place: LeafSources, matrix: Tensor | None, outputs: Sequence[Tensor], batch: int
) -> Tensor:
    """The weights [leaves, batch] from the matrix of parameters and the networks' outputs."""
    if place.plain and outputs:
        return outputs[0] if len(outputs) == 1 else torch.cat(list(outputs))
    parts = [place.constants[:, None].expand(-1, batch)]
    if matrix is not None:
        parts.append(matrix.reshape(-1, 1).expand(-1, batch))
    return torch.cat([*parts, *outputs]).index_select(0, place.index)


def log_of(weights: Tensor) -> Tensor:
    """The logarithms; that of 0 is -inf, without gradient."""
    safe = torch.where(weights > 0, weights, 1.0).log()
    return torch.where(weights > 0, safe, -torch.inf)


ByParameter = tuple[tuple[float, ...], ...]  # by parameter and head


@dataclass(frozen=True, slots=True)
class LearnedIntervals:
    """The ends of learned intervals, by parameter and head."""

    lower: ByParameter
    upper: ByParameter

    def put_into(self, ground: GroundProgram, meaning: Meaning) -> GroundProgram:
        """A ground program with these intervals in place of its parameters.

        Raises :class:`UsageError` under maxent, where a probability is a number.
        """
        if meaning.maxent:
            message = "intervals were learned (imprecise), which have no meaning under maxent"
            help = "ask under credal, or learn again without imprecise"
            raise UsageError.at("credal-under-maxent", message, help=help)

        def bounded(choice: Choice) -> Choice:
            if not isinstance(choice.weight, Learned):
                return choice
            which = choice.weight.parameter
            return replace(choice, weight=IntervalWeights(self.lower[which], self.upper[which]))

        return replace(ground, choices=tuple(map(bounded, ground.choices)))


class Parameters(nn.Module):
    """The distributions of all parameters, as the rows of one padded matrix.

    A row has one entry for each head of its statement and, if that is possible, one more for
    choosing nothing. After ``imprecise`` learning there are also intervals, which all modules of
    the program use in their answers.
    """

    intervals: LearnedIntervals | None = None
    fixed: Tensor  # [parameters, width]: the fixed values, 0 elsewhere
    free: Tensor  # [parameters, width]: which entries are learned
    logits: Tensor

    def __init__(self, parameters: Sequence[Parameter]) -> None:
        super().__init__()
        sizes = [len(parameter.initial) + parameter.nothing for parameter in parameters]
        shape = (len(parameters), max(sizes, default=0))
        start = torch.zeros(shape, dtype=torch.float64)
        fixed = torch.zeros(shape, dtype=torch.float64)
        free = torch.zeros(shape, dtype=torch.bool)
        for i, parameter in enumerate(parameters):
            size = len(parameter.initial)
            start[i, :size] = torch.tensor(parameter.initial, dtype=torch.float64)
            kept = torch.tensor(parameter.fixed)
            fixed[i, :size] = start[i, :size] * kept
            free[i, :size] = ~kept
            if parameter.nothing:
                start[i, size] = max(0.0, 1.0 - float(start[i, :size].sum()))
                free[i, size] = True
        self.register_buffer("fixed", fixed, persistent=False)
        self.register_buffer("free", free, persistent=False)
        self.sizes = tuple(sizes)
        if parameters:
            self.logits = nn.Parameter(torch.zeros(int(free.sum()), dtype=torch.float64))
            self.assign(start)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Parameters:
        """Move to a device; the numbers stay in double precision."""

        def moved(tensor: Tensor) -> Tensor:
            result = fn(tensor)
            return result if result.dtype == tensor.dtype else tensor.to(result.device)

        super()._apply(moved, recurse)  # type: ignore[no-untyped-call]
        return self

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def room(self) -> Tensor:
        """The total probability [parameters, 1] of the learned entries."""
        return (1.0 - self.fixed.sum(dim=1, keepdim=True)).clamp(min=0.0)

    def forward(self) -> Tensor:
        """The distributions [parameters, width]; entries beyond a row's own are 0."""
        spread = self.fixed.new_full(self.fixed.shape, -torch.inf)
        spread = spread.masked_scatter(self.free, self.logits.double())
        # Rows without free entries would be 0/0.
        spread = torch.where(self.free.any(dim=1, keepdim=True), spread, 0.0)
        # torch.softmax starts threads even for a few numbers; on a busy machine it waits for them.
        grown = (spread - spread.detach().amax(dim=1, keepdim=True)).exp()
        shares = grown / grown.sum(dim=1, keepdim=True) * self.free
        shares = torch.where(shares > 2 * LEAST, shares, 0.0)  # what was set to 0 stays 0
        return self.fixed + self.room * shares

    @torch.no_grad()
    def assign(self, distributions: Tensor) -> None:
        """Set the distributions [parameters, width], except for fixed entries.

        The greatest entry of each row gets the logarithm 0, so that the softmax subtracts it
        without loss and 3 of 4 is exactly 0.75.
        """
        most = (distributions * self.free).amax(dim=1, keepdim=True).clamp(min=LEAST)
        self.logits.copy_((distributions / most)[self.free].clamp(min=LEAST).log())

    @torch.no_grad()
    def project(self, distributions: Tensor) -> None:
        """Set the distributions to the nearest ones on the simplex."""
        self.assign(onto_simplex(distributions, self.free, self.room))

    def table(self) -> list[list[float]]:
        """The probabilities of each parameter's heads, without that of choosing nothing."""
        if not self.sizes:
            return []
        rows = self().detach().cpu()
        return [row[:size].tolist() for row, size in zip(rows, self.sizes, strict=True)]


def onto_simplex(points: Tensor, free: Tensor, room: Tensor) -> Tensor:
    """The Euclidean projection of rows onto {x ≥ 0 on the free entries, Σ x = room}.

    >>> points, free = torch.tensor([[0.9, 0.5, 7.0]]), torch.tensor([[True, True, False]])
    >>> onto_simplex(points, free, torch.ones(1, 1))
    tensor([[0.7000, 0.3000, 0.0000]])
    """
    values = torch.where(free, points, -torch.inf)
    ordered = values.sort(dim=1, descending=True).values
    finite = torch.where(ordered.isinf(), 0.0, ordered)
    counts = torch.arange(1, values.shape[1] + 1, device=points.device, dtype=points.dtype)
    thresholds = (finite.cumsum(dim=1) - room) / counts
    inside = (ordered > thresholds) & ~ordered.isinf()
    last = inside.sum(dim=1, keepdim=True).clamp(min=1) - 1
    return torch.where(free, (points - thresholds.gather(1, last)).clamp(min=0.0), 0.0)
