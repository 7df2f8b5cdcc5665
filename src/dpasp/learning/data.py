"""The rows that data atoms stand for: tensors, arrays, lists, Datasets and files.

The data of several objects, of which an example may have fewer than another, are a tensor [rows,
objects, …], a pair of such a tensor and a mask [rows, objects], or a list with the objects of each
row. Rows of Datasets can be read ahead by other processes (:class:`Ahead`).

>>> rows = as_rows([[1.0, 2.0], [3.0, 4.0]])
>>> len(rows), rows.take(torch.tensor([1]))
(2, tensor([[3., 4.]]))
>>> found = as_objects([torch.ones(2, 3), torch.ones(1, 3)])
>>> found.values.shape, found.there
(torch.Size([2, 2, 3]), tensor([[ True,  True],
        [ True, False]]))
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from clingo import Symbol
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, default_collate

from dpasp.dataclass import dataclass
from dpasp.errors import DataError, Diagnostic, ProgramError, Span
from dpasp.language import ast

FILES = (".csv", ".npy", ".pt")


DataPart = Literal["train", "test"]


@dataclass(frozen=True, slots=True)
class DataRows:
    """The rows of one data atom: a tensor with the rows first, or a Dataset read in batches."""

    source: Tensor | Dataset[Any]

    def __len__(self) -> int:
        return len(self.source)  # type: ignore[arg-type]

    def take(self, indices: Tensor) -> Tensor:
        """The rows with these indices as one tensor."""
        if isinstance(self.source, Tensor):
            return self.source[indices.to(self.source.device)]
        return default_collate([row_of(self.source, int(i)) for i in indices])  # type: ignore[no-any-return]

    def span(self, start: int, end: int) -> Tensor:
        """The rows from ``start`` up to ``end``."""
        if isinstance(self.source, Tensor):
            return self.source[start:end]
        return self.take(torch.arange(start, min(end, len(self))))

    def to(self, device: torch.device) -> DataRows:
        """The rows on a device, where they are a tensor."""
        return DataRows(self.source.to(device)) if isinstance(self.source, Tensor) else self


def side_by_side(data: Mapping[Symbol, DataRows]) -> list[tuple[list[Symbol], Tensor]]:
    """Atoms whose rows are neighbours in one tensor, with that tensor [rows, atoms, …].

    >>> from clingo import Function
    >>> images = torch.zeros(5, 3, 28, 28)
    >>> atoms = [Function(name) for name in "abc"]
    >>> [(names, tensor)] = side_by_side({a: DataRows(images[:, i]) for i, a in enumerate(atoms)})
    >>> names == atoms, tensor.shape
    (True, torch.Size([5, 3, 28, 28]))
    """
    kinds: dict[object, list[Symbol]] = {}
    for atom, rows in data.items():
        if isinstance(source := rows.source, Tensor) and source.layout is torch.strided:
            storage = source.untyped_storage().data_ptr()
            kinds.setdefault((storage, source.shape, source.stride(), source.dtype), []).append(
                atom
            )
    groups = []
    for atoms in kinds.values():
        first, *others = (_tensor_of(data[atom].source) for atom in atoms)
        places = [tensor.storage_offset() for tensor in (first, *others)]
        steps = {later - sooner for sooner, later in pairwise(places)}
        if len(steps) == 1 and (step := steps.pop()) > 0 and not first.requires_grad:
            shape = (len(first), len(atoms), *first.shape[1:])
            strides = (first.stride(0), step, *first.stride()[1:])
            groups.append((atoms, first.as_strided(shape, strides, places[0])))
    return groups


def row_of(source: Dataset[Any], index: int) -> Any:
    """One row of a Dataset: without its label, which observations give."""
    item = source[index]
    return item[0] if isinstance(item, tuple | list) else item


def read_rows_file(file: ast.File, program: ast.Program) -> Tensor:
    """The rows in a file, looked for beside the program."""
    path = beside(file, program)
    try:
        match path.suffix.lower():
            case ".csv":
                return torch.as_tensor(_csv(path), dtype=torch.get_default_dtype())
            case ".npy":
                return _from_numpy(np.load(path, allow_pickle=False))
            case ".pt" | ".pth":
                return _tensor_of(torch.load(path, weights_only=True, map_location="cpu"))
    except FileNotFoundError as error:
        message = f"there is no file {path}"
        help = "paths are taken from the folder of the program"
        raise DataError(Diagnostic("data-file", message, file.span, help)) from error
    except Exception as error:
        message = f"{file.path} cannot be read"
        if may_quote(file, program):
            message += f": {type(error).__name__}: {error}"
        raise DataError(Diagnostic("data-file", message, file.span)) from error
    message = f"{file.path} has an unknown file type"
    raise DataError(
        Diagnostic("data-file", message, file.span, f"data files end in {', '.join(FILES)}")
    )


def beside(file: ast.File, program: ast.Program) -> Path:
    """The path of a file named in a program: relative ones start at the program's folder."""
    try:
        return program.sources.reach(file.span.file).path(file.path, file.span.file)
    except ProgramError as error:
        raise DataError(replace(error.diagnostics[0], span=file.span)) from None


def may_quote(file: ast.File, program: ast.Program) -> bool:
    """Whether a message may quote a file: not where the program may come from anywhere."""
    return program.sources.reach(file.span.file).anywhere


def _csv(path: Path) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The numbers of a CSV file, [rows, columns]; a first line of names is skipped."""
    with path.open(encoding="utf-8-sig") as text:
        first = text.readline().replace('"', "").split(",")
    skip = 0 if all(map(_is_number, first)) else 1
    return np.loadtxt(path, delimiter=",", skiprows=skip, ndmin=2, quotechar='"', encoding="utf-8")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _tensor_of(value: object) -> Tensor:
    if not isinstance(value, Tensor):
        raise TypeError(f"it holds a {type(value).__name__}, not a tensor")
    return value


def as_rows(value: object, what: str = "this", span: Span | None = None) -> DataRows:
    """The rows that a value holds: a tensor, array, list, table or Dataset."""
    if isinstance(value, DataRows):
        return value
    if isinstance(value, Dataset):
        return DataRows(value)
    tensor = as_tensor(value, what, span)
    if tensor.ndim == 0:
        message = f"{what} gives a single number, not rows"
        raise DataError(Diagnostic("data-rows", message, span, "give a list or a tensor of rows"))
    return DataRows(tensor)


def as_tensor(value: object, what: str = "this", span: Span | None = None) -> Tensor:
    """A tensor from an array, a list or a table; floats of other libraries become torch's."""
    if isinstance(value, Tensor):
        return value
    try:
        if isinstance(value, list | tuple) and value and isinstance(value[0], Tensor):
            return torch.stack(list(value))
        if isinstance(value, list | tuple) or hasattr(value, "__array__"):
            return _from_numpy(np.asarray(value))
    except (TypeError, ValueError, RuntimeError) as error:
        message = f"{what} gives rows that do not make a tensor: {error}"
        help = "all rows must be numbers of the same shape"
        raise DataError(Diagnostic("data-rows", message, span, help)) from error
    message = f"{what} gives a {type(value).__name__}, which is not data"
    help = "give a tensor, an array, a list or a torch Dataset"
    raise DataError(Diagnostic("data-rows", message, span, help))


def _from_numpy(array: np.ndarray[Any, Any]) -> Tensor:
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{array.dtype} is not numeric")
    tensor = torch.from_numpy(np.ascontiguousarray(array))
    return tensor.to(torch.get_default_dtype()) if tensor.is_floating_point() else tensor


def check_lengths(
    rows: Mapping[Symbol, DataRows], spans: Mapping[Symbol, Span | None], part: str
) -> None:
    """Raise a :class:`DataError` if data atoms have different numbers of rows."""
    atoms = list(rows)
    for atom in atoms[1:]:
        if len(rows[atom]) != len(rows[atoms[0]]):
            message = (
                f"{atom} has {len(rows[atom])} rows of {part} data, "
                f"but {atoms[0]} has {len(rows[atoms[0]])}"
            )
            help = "row i of all data together is example i, so all must have as many"
            raise DataError(Diagnostic("data-length", message, spans.get(atom), help))


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


class _Numbered(Dataset[Any]):
    """A Dataset whose rows come with their numbers."""

    def __init__(self, source: Dataset[Any]) -> None:
        self.source = source

    def __getitem__(self, index: int) -> tuple[int, Any]:
        return index, row_of(self.source, index)


class Ahead:
    """The rows of batches in their order; others are read when they are asked for."""

    def __init__(
        self, data: Mapping[Symbol, DataRows], batches: Sequence[Tensor], workers: int
    ) -> None:
        self._together = side_by_side(data)
        grouped = {atom for atoms, _ in self._together for atom in atoms}
        self._data = {atom: rows for atom, rows in data.items() if atom not in grouped}
        self._coming: dict[Symbol, Iterator[tuple[Tensor, Tensor]]] = {}
        for atom, rows in data.items():
            if workers and not isinstance(rows.source, Tensor):
                loader = DataLoader(
                    _Numbered(rows.source),
                    batch_sampler=[batch.tolist() for batch in batches],
                    num_workers=workers,
                    collate_fn=default_collate,
                )
                self._coming[atom] = iter(loader)

    def take(self, batch: Tensor) -> dict[Symbol, Tensor]:
        """The rows of a batch, by data atom."""
        rows = {
            atom: self._rows(atom, rows, batch).to(batch.device)
            for atom, rows in self._data.items()
        }
        for atoms, tensor in self._together:
            taken = tensor[batch.to(tensor.device)].to(batch.device)
            rows |= dict(zip(atoms, taken.unbind(1), strict=True))
        return rows

    def _rows(self, atom: Symbol, rows: DataRows, batch: Tensor) -> Tensor:
        coming = self._coming.get(atom)
        if coming is not None:
            next_batch = next(coming, None)
            if next_batch is not None and torch.equal(next_batch[0], batch.cpu()):
                return next_batch[1]
            del self._coming[atom]  # someone asked for other rows: no order to go by
        return rows.take(batch)
