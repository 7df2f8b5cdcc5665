"""Observations in any form that Python has, as the texts of literals.

An *example* is a tuple of literals that were observed together. All entry points that take
observations or evidence use these functions, so the same value always means the same.

>>> examples(["a, not b", ["a", "b"], {"a": True, "b": None, "c": 0, "d": "undef"}])
[('a', 'not b'), ('a', 'b'), ('a', 'not c', 'undef d')]
>>> examples({"a": [1, 0], "edge(1,2)": [True, None]})
[('a', 'edge(1,2)'), ('not a',)]

A table is a dictionary of columns, a DataFrame (pandas, polars, and whatever narwhals reads), an
array with named fields, or a pair of a matrix and the names of its columns. A cell is true (True,
1), false (False, 0), undefined ("undef") or unobserved (None, NaN). Anything else is a
:class:`DataError` that shows what to write.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from os import PathLike
from pathlib import Path
from textwrap import shorten
from typing import Any

import numpy as np
from clingo import Symbol
from numpy.typing import NDArray

from dpasp.errors import DataError, Diagnostic, Span

Example = tuple[str, ...]
Codes = NDArray[np.int8]

MISSING, FALSE, TRUE, UNDEFINED = -1, 0, 1, 2  # codes of cells
PREFIX = {FALSE: "not ", TRUE: "", UNDEFINED: "undef "}
WORDS = {"1": TRUE, "1.0": TRUE, "true": TRUE, "0": FALSE, "0.0": FALSE, "false": FALSE}
WORDS |= dict.fromkeys(("undef", "undefined"), UNDEFINED)
NOT_SEEN = {"", "?", "-", "_", "*", ".", "x", "na", "n/a", "nan", "nil", "none", "null"}
NOT_SEEN |= {"missing", "unknown", "unobserved"}  # words for unobserved values in files
WORDS |= dict.fromkeys(NOT_SEEN, MISSING)

FORM = (
    'give one entry for each example: ["sum(9)", ["sum(3)", "not carry"], {"sum(3)": True, '
    '"carry": False}], or a table whose columns are named by atoms'
)
FILES = (".csv", ".npy")


class _Reading:
    """The name and place of what is being read, for messages."""

    def __init__(self, what: str, span: Span | None) -> None:
        self.what, self.span = what, span

    def error(self, code: str, message: str, help: str = FORM) -> DataError:
        return DataError(Diagnostic(code, f"{self.what}: {message}", self.span, help))


def examples(value: object, what: str = "observations", span: Span | None = None) -> list[Example]:
    """The examples in a value, one tuple of literals each; at least one.

    ``what`` names the value in messages; ``span`` is the place in the program that asked for it.
    """
    reading = _Reading(what, span)
    read = _examples(value, reading)
    if not read:
        raise reading.error("observation-none", "there are no observations")
    return read


def one_example(value: object, what: str = "evidence", span: Span | None = None) -> Example:
    """The literals of one example: a text, a list of texts or a dictionary."""
    reading = _Reading(what, span)
    if isinstance(value, str | Symbol) or _is_row(value):
        return _example(value, 0, reading)
    if isinstance(value, list | tuple | set | frozenset) and all(
        isinstance(text, str | Symbol) for text in value
    ):
        return tuple(literal for text in value for literal in split_literals(str(text)))
    examples = _examples(value, reading)
    if len(examples) == 1:
        return examples[0]
    help = 'pass one of the rows, as in {"a": True, "b": False}'
    raise reading.error("observation-many", f"it has {len(examples)} rows and stands for one", help)


def _examples(value: object, reading: _Reading) -> list[Example]:
    """The examples in a value of any supported shape."""
    if isinstance(value, str | Symbol) or (_is_row(value) and not _is_columns(value)):
        return [_example(value, 0, reading)]
    if isinstance(value, PathLike):
        return read_file(Path(value), reading.what, reading.span)
    if isinstance(value, tuple) and len(value) == 2 and _is_matrix(value[0]):
        return _matrix(value[0], value[1], reading)
    table = _columns(value, reading)
    if table is not None:
        return _table(*table, reading)
    if isinstance(value, np.ndarray) or hasattr(value, "detach"):
        value = _listed(value, reading)
    if not isinstance(value, Iterable):
        message = f"{shorten(repr(value), 40)} does not say which atoms were observed"
        raise reading.error("observation-syntax", message)
    return [_example(entry, i, reading) for i, entry in enumerate(value)]


# --- one example -------------------------------------------------------------------------------


def _example(value: object, index: int, reading: _Reading) -> Example:
    """The literals of an entry in a list of examples."""
    if isinstance(value, str | Symbol):
        return split_literals(str(value))
    if isinstance(value, np.void):
        value = {name: value[name].item() for name in value.dtype.names or ()}
    if _is_row(value):
        pairs = [(_atom(key, reading), cell) for key, cell in value.items()]  # type: ignore[attr-defined]
        codes = [_cell(atom, cell, index, reading) for atom, cell in pairs]
        return _literals([atom for atom, _ in pairs], codes)
    if isinstance(value, list | tuple | set | frozenset | np.ndarray) and all(
        isinstance(text, str | Symbol) for text in value
    ):
        return tuple(literal for text in value for literal in split_literals(str(text)))
    message = (
        f"example {index} observes {shorten(repr(value), 40)}, which is not a text of literals"
    )
    if isinstance(value, list | tuple | np.ndarray):
        help = 'name the columns: (matrix, ["a", "edge(1,2)"])'
        raise reading.error("observation-syntax", message, help)
    raise reading.error("observation-syntax", message, _number_help(value))


def _number_help(value: object) -> str:
    if isinstance(value, int | float | np.number):
        return 'write the atom, as in "sum(3)"; a module reads integer labels with query="sum(Z)"'
    return FORM


def _literals(atoms: Sequence[str], codes: Iterable[int]) -> Example:
    pairs = zip(atoms, codes, strict=True)
    return tuple(f"{PREFIX[code]}{atom}" for atom, code in pairs if code != MISSING)


def _is_row(value: object) -> bool:
    """Whether a value maps atoms to observations: a dictionary or a row of a table."""
    if isinstance(value, np.void):
        return bool(value.dtype.names)
    return isinstance(value, Mapping) or (
        type(value).__name__ == "Series" and hasattr(value, "items") and hasattr(value, "index")
    )


def _atom(key: object, reading: _Reading) -> str:
    """The atom named by a key or a column."""
    if not isinstance(key, str | Symbol):
        message = f"{shorten(repr(key), 40)} is not the name of an atom"
        raise reading.error("observation-names", message, "name atoms by texts such as 'edge(1,2)'")
    atom = str(key).strip().removesuffix(".")
    for word in ("not ", "~", "undef "):
        if atom.startswith(word):
            rest = atom.removeprefix(word).strip()
            said = {"undef ": '"undef"'}.get(word, "False")
            help = f'name the atom and say what was seen of it: {{"{rest}": {said}}}'
            raise reading.error("observation-names", f"'{key}' is a literal, not an atom", help)
    return atom


def _cell(atom: str, value: Any, index: int, reading: _Reading) -> int:
    """The code of an observed value."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return MISSING
    if isinstance(value, bool | np.bool_):
        return int(value)
    if isinstance(value, int | float | np.number):
        if value in (0, 1):
            return int(value)
        if value != value:
            return MISSING
    elif isinstance(value, str):
        code = WORDS.get(value.strip().lower())
        if code is not None:
            return code
    elif hasattr(value, "item") and np.ndim(value) == 0:  # a tensor of one number
        return _cell(atom, value.item(), index, reading)
    shown = shorten(repr(value), 40)
    message = f"example {index} says {shown} about {atom}, which is neither true nor false"
    raise reading.error("observation-value", message, _value_help(atom, value))


def _value_help(atom: str, value: object) -> str:
    help = 'say True or 1, False or 0, "undef", or None for what was not seen'
    if isinstance(value, int | str):
        inside = f"{atom[:-1]},{value})" if atom.endswith(")") else f"{atom}({value})"
        help += f'; a value is part of an atom: {{"{inside}": True}}'
    return help


# --- tables ------------------------------------------------------------------------------------


def _is_columns(value: object) -> bool:
    """Whether a dictionary holds columns: all its values are lists of cells."""
    return (
        isinstance(value, Mapping)
        and bool(value)
        and all(
            isinstance(column, list | tuple) or (hasattr(column, "shape") and np.ndim(column) == 1)
            for column in value.values()
        )
    )


def _columns(value: Any, reading: _Reading) -> tuple[list[str], list[Any]] | None:
    """The names and columns of a table; None if it is not a table."""
    if _is_columns(value):
        return [_atom(name, reading) for name in value], list(value.values())
    if isinstance(value, np.ndarray) and value.dtype.names:
        names = value.dtype.names
        return [_atom(name, reading) for name in names], [value[name] for name in names]
    if isinstance(value, np.ndarray | list | tuple | str) or hasattr(value, "detach"):
        return None
    if hasattr(value, "collect") and hasattr(value, "collect_schema"):  # lazy
        value = value.collect()
    if not hasattr(value, "columns") and not hasattr(value, "column_names"):
        return None
    if hasattr(value, "to_pydict"):  # pyarrow's
        value = value.to_pydict()
        return [_atom(name, reading) for name in value], list(value.values())
    if not hasattr(value, "to_numpy"):
        value = _by_narwhals(value, reading)
    names = list(value.columns)
    return [_atom(name, reading) for name in names], [value[name].to_numpy() for name in names]


def _by_narwhals(value: Any, reading: _Reading) -> Any:
    """A table of any library that narwhals supports."""
    try:
        import narwhals
    except ImportError:
        kind = type(value).__name__
        help = "pip install narwhals, or pass a dictionary of columns"
        raise reading.error("observation-table", f"a {kind} cannot be read", help) from None
    try:
        return narwhals.from_native(value, eager_only=True)
    except TypeError as error:
        raise reading.error("observation-table", str(error).splitlines()[0]) from error


def _table(names: list[str], columns: Sequence[Any], reading: _Reading) -> list[Example]:
    """The examples of a table, one for each row; equal rows are converted once."""
    lengths = {len(column) for column in columns}
    if len(lengths) > 1:
        listed = ", ".join(f"{n} has {len(c)}" for n, c in zip(names, columns, strict=True))
        raise reading.error("observation-table", f"columns of unequal lengths: {listed}")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        message = f"two columns are named {twice[0]}"
        raise reading.error("observation-names", message, "keep one of them")
    if not columns:
        raise reading.error("observation-names", "the table has no columns")
    pairs = zip(names, columns, strict=True)
    codes = np.stack([_codes(name, column, reading) for name, column in pairs], axis=1)
    distinct, which = np.unique(codes, axis=0, return_inverse=True)
    examples = [_literals(names, row) for row in distinct.tolist()]
    return [examples[i] for i in which.ravel().tolist()]


def _codes(name: str, column: Any, reading: _Reading) -> Codes:
    """The codes of a column's cells."""
    cells = column.detach().cpu().numpy() if hasattr(column, "detach") else np.asarray(column)
    if cells.dtype.kind in "biuf":
        codes = np.select([cells == 1, cells == 0], [TRUE, FALSE], MISSING).astype(np.int8)
        odd = (codes == MISSING) & (cells == cells)
        if odd.any():
            at = int(odd.argmax())
            _cell(name, cells[at].item(), at, reading)
        return codes
    listed = column.tolist() if hasattr(column, "tolist") else list(column)
    return np.array([_cell(name, cell, i, reading) for i, cell in enumerate(listed)], dtype=np.int8)


def _is_matrix(value: object) -> bool:
    if hasattr(value, "shape"):
        return len(value.shape) == 2
    return bool(
        isinstance(value, Sequence)
        and value
        and isinstance(value[0], Sequence)
        and not isinstance(value[0], str)
        and not any(isinstance(x, str) and x.strip().lower() not in WORDS for x in value[0])
    )


def _matrix(matrix: Any, atoms: Any, reading: _Reading) -> list[Example]:
    """The examples of a matrix and the atoms of its columns."""
    if hasattr(matrix, "columns"):
        matrix = matrix.to_numpy()
    rows = matrix.detach().cpu().numpy() if hasattr(matrix, "detach") else matrix
    width = rows.shape[1] if hasattr(rows, "shape") else len(rows[0])
    if isinstance(atoms, str) or not isinstance(atoms, Iterable):
        raise reading.error(
            "observation-matrix", f"{shorten(repr(atoms), 40)} is not a list of atoms"
        )
    names = [_atom(atom, reading) for atom in atoms]
    if width != len(names):
        message = f"there are {width} columns and {len(names)} atoms"
        raise reading.error("observation-matrix", message, "name one atom a column")
    if not hasattr(rows, "shape"):
        rows = np.array([[*row] for row in rows], dtype=object)
    return _table(names, [rows[:, i] for i in range(width)], reading)


def _listed(value: Any, reading: _Reading) -> list[Any]:
    """An array as a list of texts; numbers without names are refused."""
    array = value.detach().cpu().numpy() if hasattr(value, "detach") else value
    if array.dtype.kind in "UO" and array.ndim == 1:
        listed: list[Any] = array.tolist()
        return listed
    shape = " × ".join(map(str, array.shape)) or "no"
    message = f"an array of {array.dtype} of shape {shape} does not say which atoms were seen"
    if array.ndim == 2:
        help = 'name its columns: (matrix, ["a", "edge(1,2)"])'
        raise reading.error("observation-names", message, help)
    help = 'write texts such as "sum(3)"; a module reads integer labels with query="sum(Z)"'
    raise reading.error("observation-names", message, help)


# --- files -------------------------------------------------------------------------------------


def read_file(path: Path, what: str = "", span: Span | None = None) -> list[Example]:
    """The examples in a file: CSV with a header of atoms, or an array with names (.npy)."""
    import csv

    reading = _Reading(what or f"the file {path}", span)
    try:
        match path.suffix.lower():
            case ".csv":
                return _csv(path, reading)
            case ".npy":
                return _examples(_npy(path), reading)
    except FileNotFoundError as error:
        help = "paths in a program are taken from its folder"
        raise reading.error("data-file", f"there is no file {path}", help) from error
    except (OSError, ValueError, EOFError, csv.Error) as error:
        raise reading.error("data-file", f"it cannot be read: {error}", "") from error
    help = f"files of observations end in {' or '.join(FILES)}"
    raise reading.error("data-file", f"{path.name} has an unknown file type", help)


def _npy(path: Path) -> NDArray[Any]:
    """The array in a file; :class:`ValueError` if there is none."""
    with warnings.catch_warnings(), path.open("rb") as file:
        warnings.simplefilter("ignore")  # it takes a damaged file for an old one
        try:
            array = np.load(file, allow_pickle=False)
        except OSError:
            raise
        except Exception as error:  # a damaged header fails in any way
            raise ValueError(f"{type(error).__name__}: {error}") from error
    if not isinstance(array, np.ndarray):
        raise ValueError("it is an archive, not an array")
    if not _has_letters(array):
        raise ValueError("it contains characters that are not Unicode")
    return array


def _has_letters(array: NDArray[Any]) -> bool:
    """Whether the strings of an array are valid Unicode, which numpy does not check."""
    if array.dtype.names is not None:
        return all(_has_letters(array[name]) for name in array.dtype.names)
    if array.dtype.kind != "U" or not array.size or not array.dtype.itemsize:
        return True
    numbers = np.frombuffer(array.tobytes(), dtype=f"{array.dtype.str[0]}u4")
    return bool(numbers.max() <= sys.maxunicode)


def _csv(path: Path, reading: _Reading) -> list[Example]:
    import csv

    with path.open(newline="", encoding="utf-8-sig") as text:
        header, *rows = [row for row in csv.reader(text, skipinitialspace=True) if row]
    for number, row in enumerate(rows, 2):
        if len(row) != len(header):
            message = f"line {number} has {len(row)} values, the header {len(header)} atoms"
            help = 'atoms that hold commas are quoted: "edge(1,2)"'
            raise reading.error("observation-csv", message, help)
    names = [_atom(name, reading) for name in header]
    if not rows:
        return []
    return _table(names, list(zip(*rows, strict=True)), reading)


# --- texts -------------------------------------------------------------------------------------

_OPEN, _CLOSE = "([{", ")]}"


@lru_cache(maxsize=4096)
def split_literals(text: str) -> Example:
    """The literals of a text, split at commas; ``~a`` becomes ``not a``.

    >>> split_literals('a(1,2), ~ b("x,y").')
    ('a(1,2)', 'not b("x,y")')
    """
    parts, depth, start, quoted = [], 0, 0, False
    for at, letter in enumerate(text):
        if letter == '"' and text[at - 1 : at] != "\\":
            quoted = not quoted
        elif not quoted:
            depth += (letter in _OPEN) - (letter in _CLOSE)
            if letter == "," and depth == 0:
                parts.append(text[start:at])
                start = at + 1
    return tuple(_literal(part) for part in (*parts, text[start:]) if part.strip(" .\n\t"))


def _literal(text: str) -> str:
    text = text.strip().removesuffix(".").strip()
    return f"not {text[1:].strip()}" if text.startswith("~") else text
