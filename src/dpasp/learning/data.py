"""The rows that data atoms stand for: tensors, arrays, lists, Datasets and files.

The data of several objects are a tensor [rows, objects, …] or, if examples differ in their numbers
of objects, a pair of such a tensor and a mask [rows, objects], or a list with the objects of each
row. Other processes can read rows of Datasets ahead (:class:`Ahead`).

``in(0) ~ test(@xs).`` names the data of an atom, ``#learn @seen.`` observations, for which a
function may return a dictionary with ``"train"`` and ``"test"``.

>>> rows = as_rows([[1.0, 2.0], [3.0, 4.0]])
>>> len(rows), rows.take(torch.tensor([1]))
(2, tensor([[3., 4.]]))
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from clingo import Symbol
from clingo.ast import ASTType
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, default_collate

from dpasp.dataclass import dataclass
from dpasp.errors import DataError, ProgramError, Span
from dpasp.ground.program import GroundData, GroundProgram
from dpasp.ground.python import ProgramPython, guarded
from dpasp.language import ast
from dpasp.language.arguments import Cells, Example, examples
from dpasp.language.text.clingo_text import walk
from dpasp.learning.networks import OnDevice
from dpasp.learning.weights import may_be_missing
from dpasp.writing import counted

FILES = (".csv", ".npy", ".pt")

DataPart = Literal["train", "test"]


@dataclass(frozen=True, slots=True)
class DataRows:
    """The rows of one data atom: a tensor with the rows first, or a Dataset read in batches."""

    source: Tensor | Dataset[Any]

    def __len__(self) -> int:
        return len(self.source)  # type: ignore[arg-type]

    def take(self, indices: Tensor) -> Tensor:
        if isinstance(self.source, Tensor):
            return self.source[indices.to(self.source.device)]
        return default_collate([row_of(self.source, int(i)) for i in indices])  # type: ignore[no-any-return]

    def span(self, start: int, end: int) -> Tensor:
        if isinstance(self.source, Tensor):
            return self.source[start:end]
        return self.take(torch.arange(start, min(end, len(self))))

    def to(self, device: torch.device) -> DataRows:
        """The rows on a device, if they are a tensor."""
        return DataRows(self.source.to(device)) if isinstance(self.source, Tensor) else self


def row_of(source: Dataset[Any], index: int) -> Any:
    """One row of a Dataset, without its label."""
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
                value = torch.load(path, weights_only=True, map_location="cpu")
                if not isinstance(value, Tensor):
                    raise TypeError(f"it holds a {type(value).__name__}, not a tensor")
                return value
    except FileNotFoundError as error:
        message = f"there is no file {path}"
        help = "paths are taken from the folder of the program"
        raise DataError.at("data-file", message, file.span, help) from error
    except Exception as error:
        message = f"{file.path} cannot be read"
        if may_quote(file, program):
            message += f": {type(error).__name__}: {error}"
        raise DataError.at("data-file", message, file.span) from error
    message = f"{file.path} has an unknown file type"
    raise DataError.at("data-file", message, file.span, f"data files end in {', '.join(FILES)}")


def beside(file: ast.File, program: ast.Program) -> Path:
    """The path of a file named in a program, relative to the program's folder."""
    try:
        return program.sources.reach(file.span.file).path(file.path, file.span.file)
    except ProgramError as error:
        raise DataError(replace(error.diagnostics[0], span=file.span)) from None


def may_quote(file: ast.File, program: ast.Program) -> bool:
    """Whether a message may quote a file: not if the program is untrusted."""
    return program.sources.reach(file.span.file).anywhere


def _csv(path: Path) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The numbers of a CSV file, [rows, columns]; a first line without a number is skipped."""
    with path.open(encoding="utf-8-sig") as text:
        first = text.readline().replace('"', "").split(",")
    skip = 0 if any(map(_is_number, first)) else 1
    return np.loadtxt(
        path, delimiter=",", skiprows=skip, ndmin=2, quotechar='"', encoding="utf-8-sig"
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def as_rows(value: object, what: str = "this", span: Span | None = None) -> DataRows:
    """The rows that a value holds: a tensor, array, list, table or Dataset."""
    if isinstance(value, DataRows):
        return value
    if isinstance(value, Dataset):
        return DataRows(value)
    tensor = as_tensor(value, what, span)
    if tensor.ndim == 0:
        message = f"{what} returns a single number, not rows"
        raise DataError.at("data-rows", message, span, "give a list or a tensor of rows")
    return DataRows(tensor)


def as_tensor(value: object, what: str = "this", span: Span | None = None) -> Tensor:
    """A tensor from an array, a list or a table."""
    if isinstance(value, Tensor):
        return value
    try:
        if isinstance(value, list | tuple) and value and isinstance(value[0], Tensor):
            return torch.stack(list(value))
        if isinstance(value, list | tuple) or hasattr(value, "__array__"):
            return _from_numpy(np.asarray(value))
    except (TypeError, ValueError, RuntimeError) as error:
        message = f"{what} returns rows that do not form a tensor: {error}"
        help = "all rows must be numbers of the same shape"
        raise DataError.at("data-rows", message, span, help) from error
    message = f"{what} returns a {type(value).__name__}, which is not data"
    help = "give a tensor, an array, a list or a torch Dataset"
    raise DataError.at("data-rows", message, span, help)


def _from_numpy(array: np.ndarray[Any, Any]) -> Tensor:
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{array.dtype} is not numeric")
    tensor = torch.from_numpy(np.require(array, requirements=["C", "W"]))  # pandas' are read-only
    return tensor.to(torch.get_default_dtype()) if tensor.is_floating_point() else tensor


def check_lengths(
    rows: Mapping[Symbol, DataRows], spans: Mapping[Symbol, Span | None], part: str
) -> None:
    """Raise a :class:`DataError` if data atoms have different numbers of rows."""
    first = next(iter(rows), None)
    for atom in rows:
        if first is not None and len(rows[atom]) != len(rows[first]):
            message = f"{atom} has {counted(len(rows[atom]), 'row')} of {part} data, "
            message += f"but {first} has {len(rows[first])}"
            help = "row i of all data together is example i, so all must have as many"
            raise DataError.at("data-length", message, spans.get(atom), help)


@dataclass(frozen=True, slots=True)
class Objects(OnDevice):
    """The data of several objects [rows, objects, …], and which exist [rows, objects]."""

    values: Tensor
    there: Tensor | None = None  # all, if None


def as_objects(value: Any, what: str = "this", span: Span | None = None) -> Objects:
    """The data of several objects, from any accepted form."""
    if isinstance(value, tuple) and len(value) == 2 and _is_mask(value[1]):
        return _masked(as_tensor(value[0], what, span), as_tensor(value[1], what, span), what, span)
    if isinstance(value, Tensor) and value.is_nested:
        value = list(value.unbind())
    if isinstance(value, list | tuple) and len(_lengths(value)) > 1:
        return _filled([as_tensor(row, what, span) for row in value], what, span)
    return Objects(as_tensor(value, what, span))


def _is_mask(value: Any) -> bool:
    if isinstance(value, list):
        value = np.array(value) if len(_lengths(value)) == 1 else None
    return str(getattr(value, "dtype", "")) in ("bool", "torch.bool") and value.ndim == 2


def _lengths(rows: Sequence[Any]) -> set[int]:
    return {len(row) if np.ndim(row) or hasattr(row, "__len__") else 0 for row in rows}


def _masked(values: Tensor, there: Tensor, what: str, span: Span | None) -> Objects:
    if values.shape[:2] != there.shape:
        shapes = [" × ".join(map(str, tensor.shape)) for tensor in (values, there)]
        message = f"{what}: the mask has the shape {shapes[1]}, and the data {shapes[0]}"
        help = "give a mask [rows, objects] for data [rows, objects, …]"
        raise DataError.at("data-objects", message, span, help)
    return Objects(values, there)


def _filled(rows: Sequence[Tensor], what: str, span: Span | None) -> Objects:
    """Rows with different numbers of objects, padded with zeros."""
    shapes = {tuple(row.shape[1:]) for row in rows if row.ndim and len(row)}
    if len(shapes) != 1:
        listed = " and ".join(sorted(" × ".join(map(str, s)) or "a number" for s in shapes))
        message = f"{what}: the objects differ in their shapes: {listed or 'there are none'}"
        help = "give a tensor [objects, …] for each row, alike in all but the first dimension"
        raise DataError.at("data-objects", message, span, help)
    (shape,) = shapes
    some = next(row for row in rows if row.ndim and len(row))
    values = some.new_zeros(len(rows), max(map(len, rows)), *shape)
    there = torch.zeros(values.shape[:2], dtype=torch.bool, device=some.device)
    for number, row in enumerate(rows):
        if len(row):
            values[number, : len(row)] = row
            there[number, : len(row)] = True
    return Objects(values, there)


def _sides(atoms: Sequence[Symbol]) -> list[int]:
    """How many values each argument has if the atoms are all combinations of them; otherwise []."""
    columns = zip(*(atom.arguments for atom in atoms), strict=True)
    sides = [len(set(column)) for column in columns]
    return sides if math.prod(sides) == len(atoms) else []


def _in_a_row(objects: Objects, atoms: Sequence[Symbol]) -> Objects:
    """Flatten the data of objects on a grid [rows, width, height, …]."""
    sides, shape = _sides(atoms), list(objects.values.shape)
    if len(sides) < 2 or shape[1:2] == [len(atoms)] or shape[1 : 1 + len(sides)] != sides:
        return objects
    there = objects.there
    if there is not None and list(there.shape[1:]) == sides:
        there = there.flatten(1)
    return Objects(objects.values.flatten(1, len(sides)), there)


def for_each(
    objects: Objects,
    atoms: Sequence[Symbol],
    optional: Mapping[Symbol, Symbol],
    span: Span | None = None,
) -> dict[Symbol, Tensor]:
    """The rows of each atom, given in order, and of the masks that say which exist.

    ``optional`` names the masks of the atoms that may be missing.
    """
    objects = _in_a_row(objects, atoms)
    values, name = objects.values, atoms[0].name
    width = values.shape[1] if values.ndim > 1 else 0
    needed = [atom for atom in atoms[width:] if atom not in optional]
    if values.ndim < 2 or width > len(atoms) or needed:
        shape = " × ".join(map(str, values.shape)) or "no"
        count = "1 atom" if len(atoms) == 1 else f"{len(atoms)} atoms"
        message = f"{name} stands for {count}, and its data has the shape {shape}"
        sides = _sides(atoms)
        grid = f" or [rows, {', '.join(map(str, sides))}, …]" if len(sides) > 1 else ""
        help = f"give a tensor of shape [rows, {len(atoms)}, …]{grid}, or the data of each atom: "
        help += f"{atoms[0]}, …, {atoms[-1]}" if len(atoms) > 1 else f'{{"{atoms[0]}": rows}}'
        raise DataError.at("data-objects", message, span, help)
    by_atom: dict[Symbol, Tensor] = {}
    for i, atom in enumerate(atoms[:width]):
        by_atom[atom] = values[:, i]
        present = None if objects.there is None else objects.there[:, i]
        if present is not None and atom in optional:
            by_atom[optional[atom]] = present
        elif present is not None and not bool(present.all()):
            row = int((~present).nonzero()[0])
            message = f"there is no data for {atom} in row {row}"
            help = f"if examples lack some, write #external {name}(0..{len(atoms) - 1})., not facts"
            raise DataError.at("data-objects", message, span, help)
    return by_atom


class _Numbered(Dataset[Any]):
    """A Dataset that returns each row with its number."""

    def __init__(self, source: Dataset[Any]) -> None:
        self.source = source

    def __getitem__(self, index: int) -> tuple[int, Any]:
        return index, row_of(self.source, index)


class Ahead:
    """Reads the rows of batches ahead, in order; other rows are read on demand."""

    def __init__(
        self, data: Mapping[Symbol, DataRows], batches: Sequence[Tensor], workers: int
    ) -> None:
        self._data = data
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
        return {
            atom: self._rows(atom, rows, batch).to(batch.device)
            for atom, rows in self._data.items()
        }

    def _rows(self, atom: Symbol, rows: DataRows, batch: Tensor) -> Tensor:
        coming = self._coming.get(atom)
        if coming is not None:
            next_batch = next(coming, None)
            if next_batch is not None and torch.equal(next_batch[0], batch.cpu()):
                return next_batch[1]
            del self._coming[atom]  # other rows are wanted, so no order is known
        return rows.take(batch)


def load_rows(
    ground: GroundProgram, python: ProgramPython, part: DataPart, needed: Container[Symbol]
) -> dict[Symbol, DataRows]:
    """The rows of the data atoms that are needed, equally many for each.

    Atoms whose statement has no data for this part are left out.
    """
    loaded: dict[Symbol, DataRows] = {}
    origins: dict[Symbol, ast.Origin] = {}
    for index, statement in enumerate(ground.program.statements):
        if not isinstance(statement, ast.Data):
            continue
        origin = statement.train if part == "train" else statement.test
        data = [each for each in ground.data if each.statement == index]
        if origin is None or not any(each.atom in needed for each in data):
            continue
        several = (ASTType.Interval, ASTType.Pool, ASTType.Variable)  # input(0..3), input(X)
        kinds = {node.ast_type for part in statement.arguments for node in walk(part)}
        if any(each.values for each in data) or kinds.isdisjoint(several):
            rows = {each.atom: read_rows(origin, python, each) for each in data}
        else:
            rows = _shared(ground, python, origin, [each.atom for each in data])
        loaded |= rows
        origins |= dict.fromkeys(rows, origin)
    check_lengths(loaded, {atom: origin.span for atom, origin in origins.items()}, part)
    return loaded


def _shared(
    ground: GroundProgram, python: ProgramPython, origin: ast.Origin, atoms: Sequence[Symbol]
) -> dict[Symbol, DataRows]:
    """The rows of each atom that one statement names."""
    what = origin_name(origin)
    value = _value(origin, python)
    if isinstance(value, Dataset):
        raise no_dataset_for(atoms, origin.span)
    with guarded(what, python.program, origin.span):
        objects = as_objects(value, what, origin.span)
        parts = for_each(objects, atoms, may_be_missing(ground), origin.span)
    return {atom: DataRows(rows) for atom, rows in parts.items()}


def no_dataset_for(atoms: Sequence[Symbol], span: Span | None = None) -> DataError:
    """The error for a Dataset given for several atoms, although its items are rows of one."""
    message = f"a Dataset has no rows for each of {len(atoms)} atoms"
    help = f"give a tensor of shape [rows, {len(atoms)}, …], or a Dataset for each: {atoms[0]}, …"
    return DataError.at("data-objects", message, span, help)


def read_rows(
    origin: ast.Origin, python: ProgramPython, data: GroundData | None = None
) -> DataRows:
    """The rows from a function or a file; ``data`` says for which atom."""
    what = origin_name(origin)
    value = _value(origin, python, data)
    with guarded(what, python.program, origin.span):
        return as_rows(value, what, origin.span)


def _value(origin: ast.Origin, python: ProgramPython, data: GroundData | None = None) -> object:
    if isinstance(origin, ast.Call):
        return python.call(origin, dict(data.values) if data is not None else None)
    return read_rows_file(origin, python.program)


def origin_name(origin: ast.Origin) -> str:
    if isinstance(origin, ast.Call):
        return f"@{origin.function}"
    return f"the file {origin.path}"


@dataclass(frozen=True, slots=True)
class Observed:
    """The observations to learn from and, if there are any, those of the test rows."""

    train: Any
    test: Any = None
    query: str | None = None  # what labels are about; without it, these are examples


def read_observations(
    origin: ast.Origin, python: ProgramPython, query: str | None, cells: Cells
) -> Observed:
    """The observations from a function or a file (.csv, .npy).

    A function may return a dictionary with ``"train"`` and ``"test"``. With a ``query``, they are
    labels, which are left unread. ``cells`` says what the cells of tables mean.
    """
    if isinstance(origin, ast.File):
        return Observed(_in_file(origin, python, query, cells))
    value, what = python.call(origin), f"@{origin.function}"
    parts = [value, None]
    if isinstance(value, Mapping) and "train" in value:
        parts = [value["train"], value.get("test")]
    if query is None:
        with guarded(what, python.program, origin.span):
            parts = [p if p is None else examples(p, what, origin.span, cells) for p in parts]
    return Observed(parts[0], parts[1], query)


def _in_file(
    origin: ast.File, python: ProgramPython, query: str | None, cells: Cells
) -> list[Example]:
    if query is not None:
        message = "the columns of a file are named by atoms, so it holds no labels of a query"
        raise DataError.at("label-query", message, origin.span, "leave query = … out")
    what = f"the file {origin.path}"
    path = beside(origin, python.program)
    try:
        return examples(path, what, origin.span, cells)
    except DataError as error:
        if may_quote(origin, python.program):
            raise
        message = f"{origin.path} cannot be read as observations"
        raise DataError.at("data-file", message, origin.span) from error
