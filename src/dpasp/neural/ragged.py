"""One value for several objects, of which an example may have more than another.

The data of N objects are a tensor [rows, N, …], a pair of such a tensor and a mask [rows, N] of
truth values, or a list with the objects of each row, as many as there are:

>>> found = as_objects([torch.ones(2, 3), torch.ones(1, 3)])
>>> found.values.shape, found.there
(torch.Size([2, 2, 3]), tensor([[ True,  True],
        [ True, False]]))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from clingo import Symbol
from torch import Tensor

from dpasp.dataclass import dataclass
from dpasp.errors import DataError, Diagnostic, Span
from dpasp.neural.data import as_tensor


@dataclass(frozen=True, slots=True)
class Objects:
    """The data of several objects [rows, objects, …], and which are there [rows, objects].

    Without ``there``, all are.
    """

    values: Tensor
    there: Tensor | None = None

    def to(self, device: torch.device) -> Objects:
        """The same on a device."""
        there = None if self.there is None else self.there.to(device)
        return Objects(self.values.to(device), there)


def as_objects(value: Any, what: str = "this", span: Span | None = None) -> Objects:
    """The data of several objects, from any of the shapes that they come in."""
    if isinstance(value, tuple) and len(value) == 2 and _is_mask(value[1]):
        return _masked(as_tensor(value[0], what, span), as_tensor(value[1], what, span), what, span)
    if isinstance(value, Tensor) and value.is_nested:
        value = list(value.unbind())
    if isinstance(value, list | tuple) and len(_lengths(value)) > 1:
        return _filled([as_tensor(row, what, span) for row in value], what, span)
    return Objects(as_tensor(value, what, span))


def _is_mask(value: Any) -> bool:
    """Whether a value is a matrix of truth values."""
    if isinstance(value, list):
        value = np.array(value) if len(_lengths(value)) == 1 else None
    return str(getattr(value, "dtype", "")) in ("bool", "torch.bool") and value.ndim == 2


def _lengths(rows: Sequence[Any]) -> set[int]:
    """How many objects the rows have."""
    return {len(row) if np.ndim(row) or hasattr(row, "__len__") else 0 for row in rows}


def _masked(values: Tensor, there: Tensor, what: str, span: Span | None) -> Objects:
    if values.shape[:2] != there.shape:
        shapes = [" × ".join(map(str, tensor.shape)) for tensor in (values, there)]
        message = f"{what}: the mask has the shape {shapes[1]}, and the data {shapes[0]}"
        help = "give a mask [rows, objects] for data [rows, objects, …]"
        raise DataError(Diagnostic("data-objects", message, span, help))
    return Objects(values, there)


def _filled(rows: Sequence[Tensor], what: str, span: Span | None) -> Objects:
    """Rows with different numbers of objects, filled up with zeros."""
    shapes = {tuple(row.shape[1:]) for row in rows if row.ndim and len(row)}
    if len(shapes) != 1:
        listed = " and ".join(
            sorted(" × ".join(map(str, dimensions)) or "a number" for dimensions in shapes)
        )
        message = f"{what}: the objects differ in their shapes: {listed or 'there are none'}"
        help = (
            "give tensors [objects, …], one for each row, that differ in their first dimension only"
        )
        raise DataError(Diagnostic("data-objects", message, span, help))
    (shape,) = shapes
    some = next(row for row in rows if row.ndim and len(row))
    values = some.new_zeros(len(rows), max(map(len, rows)), *shape)
    there = torch.zeros(values.shape[:2], dtype=torch.bool, device=some.device)
    for number, row in enumerate(rows):
        if len(row):
            values[number, : len(row)] = row
            there[number, : len(row)] = True
    return Objects(values, there)


def for_each(
    objects: Objects,
    atoms: Sequence[Symbol],
    optional: Mapping[Symbol, Symbol],
    span: Span | None = None,
) -> dict[Symbol, Tensor]:
    """The rows of each atom, which come in their order, and of those that say which are there.

    ``optional`` names those for the atoms that may be missing.

    >>> from clingo import Function, Number
    >>> atoms = [Function("img", [Number(i)]) for i in range(2)]
    >>> for_each(Objects(torch.zeros(5, 2, 28, 28)), atoms, {})[atoms[1]].shape
    torch.Size([5, 28, 28])
    """
    values, name = objects.values, atoms[0].name
    width = values.shape[1] if values.ndim > 1 else 0
    needed = [atom for atom in atoms[width:] if atom not in optional]
    if values.ndim < 2 or width > len(atoms) or needed:
        shape = " × ".join(map(str, values.shape)) or "no"
        message = f"{name} stands for {len(atoms)} atoms, and its data has the shape {shape}"
        help = f"give a tensor of shape [rows, {len(atoms)}, …], or the data of each atom: "
        help += f"{atoms[0]}, …, {atoms[-1]}"
        raise DataError(Diagnostic("data-objects", message, span, help))
    by_atom: dict[Symbol, Tensor] = {}
    for i, atom in enumerate(atoms[:width]):
        by_atom[atom] = values[:, i]
        present = None if objects.there is None else objects.there[:, i]
        if present is not None and atom in optional:
            by_atom[optional[atom]] = present
        elif present is not None and not bool(present.all()):
            row = int((~present).nonzero()[0])
            message = f"there is no data for {atom} in row {row}"
            help = (
                f"where examples lack some, write #external {name}(0..{len(atoms) - 1})., no facts"
            )
            raise DataError(Diagnostic("data-objects", message, span, help))
    return by_atom
