"""Where observations come from: functions, pairs (matrix, atoms), CSV files.

In a CSV file the header names the atoms; 1 is true, 0 false, anything else unobserved.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpasp.errors import DataError, Diagnostic, Span
from dpasp.language import ast
from dpasp.logic.python import Python, guarded
from dpasp.neural.data import beside
from dpasp.neural.observations import Given

FORM = 'give one entry for each example: [["sum(9)"], ["sum(3)", "not carry"], …]'


@dataclass(frozen=True, slots=True)
class Observed:
    """The observations to learn from, and those of the test rows, where they are told."""

    train: list[Given]
    test: list[Given] | None = None


def read(origin: ast.Origin, python: Python) -> Observed:
    """The observations that a function gives or a CSV file holds.

    A function may give a dictionary with ``"train"`` and ``"test"``.
    """
    if isinstance(origin, ast.File):
        return Observed(read_csv(origin))
    value, what = python.call(origin), f"@{origin.function}"
    with guarded(what, python.program, origin.span):
        if isinstance(value, Mapping) and "train" in value:
            test = value.get("test")
            train = listed(value["train"], what, origin.span)
            return Observed(train, None if test is None else listed(test, what, origin.span))
        return Observed(listed(value, what, origin.span))


def listed(value: object, what: str = "this", span: Span | None = None) -> list[Given]:
    """Observations in any form as a list with one entry for each example."""
    if isinstance(value, tuple) and len(value) == 2 and _is_matrix(value[0]):
        return from_matrix(value[0], value[1], what, span)
    if isinstance(value, str) or not isinstance(value, Iterable):
        message = f"{what} gives a {type(value).__name__}, which are no observations"
        raise DataError(Diagnostic("observation-syntax", message, span, FORM))
    rows = list(value)
    if not rows:
        message = f"{what} gives no observations"
        raise DataError(Diagnostic("observation-none", message, span, FORM))
    return rows


def _is_matrix(value: object) -> bool:
    if hasattr(value, "shape"):
        return len(value.shape) == 2
    return bool(
        isinstance(value, Sequence)
        and value
        and isinstance(value[0], Sequence)
        and not isinstance(value[0], str)
        and all(isinstance(x, int | float) for x in value[0])
    )


def from_matrix(
    matrix: Any, atoms: Iterable[object], what: str = "this", span: Span | None = None
) -> list[Given]:
    """One observation a row of a matrix: its columns are atoms, 1 true, 0 false."""
    table = np.asarray(matrix, dtype=np.float64)
    names = [str(atom) for atom in atoms]
    if table.shape[1] != len(names):
        message = f"{what} gives {table.shape[1]} columns and {len(names)} atoms"
        raise DataError(Diagnostic("observation-matrix", message, span, "name one atom a column"))
    return _rows(names, table == 1.0, table == 0.0)


def _rows(names: Sequence[str], true: Any, false: Any) -> list[Given]:
    words = [(name, f"not {name}") for name in names]
    found: list[Given] = []
    for yes, no in zip(true, false, strict=True):
        found.append(
            [
                positive if y else negative
                for (positive, negative), y, n in zip(words, yes, no, strict=True)
                if y or n
            ]
        )
    return found


def read_csv(file: ast.File) -> list[Given]:
    """The observations in a CSV file, looked for beside the program."""
    path = beside(file)
    try:
        with path.open(newline="", encoding="utf-8-sig") as text:
            names, *rows = [row for row in csv.reader(text, skipinitialspace=True) if row]
    except FileNotFoundError as error:
        message = f"there is no file {path}"
        help = "paths are taken from the folder of the program"
        raise DataError(Diagnostic("data-file", message, file.span, help)) from error
    except (OSError, ValueError, csv.Error) as error:
        message = f"{file.path} cannot be read: {error}"
        raise DataError(Diagnostic("data-file", message, file.span)) from error
    for number, row in enumerate(rows, 2):
        if len(row) != len(names):
            message = (
                f"line {number} of {file.path} has {len(row)} values, the header {len(names)} atoms"
            )
            help = 'atoms that hold commas are quoted: "edge(1,2)"'
            raise DataError(Diagnostic("observation-csv", message, file.span, help))
    cells = [[_cell(value) for value in row] for row in rows]
    true = [[value is True for value in row] for row in cells]
    false = [[value is False for value in row] for row in cells]
    return listed(_rows(names, true, false), f"the file {file.path}", file.span)


def _cell(text: str) -> bool | None:
    text = text.strip()
    return {"1": True, "1.0": True, "0": False, "0.0": False}.get(text)
