"""The rows that data atoms stand for: from functions, tensors, arrays, lists, Datasets and files.

>>> rows = as_rows([[1.0, 2.0], [3.0, 4.0]])
>>> len(rows), rows.take(torch.tensor([1]))
(2, tensor([[3., 4.]]))
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from clingo import Symbol
from torch import Tensor
from torch.utils.data import Dataset, default_collate

from dpasp.dataclass import dataclass
from dpasp.errors import DataError, Diagnostic, ProgramError, Span
from dpasp.language import ast

DataPart = Literal["train", "test"]
FILES = (".csv", ".npy", ".pt")


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
    message = f"{what} gives a {type(value).__name__}, which is no data"
    help = "give a tensor, an array, a list or a torch Dataset"
    raise DataError(Diagnostic("data-rows", message, span, help))


def _from_numpy(array: np.ndarray[Any, Any]) -> Tensor:
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{array.dtype} is no number")
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
