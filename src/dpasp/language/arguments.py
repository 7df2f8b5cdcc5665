"""Arguments from Python (questions, evidence, tables) as statements and literals.

>>> queries_given(["a | b.", ["c", "#query d."]])
('#query a | b.', '#query c.', '#query d.')

An *example* is a tuple of literals that were observed together. All functions that take
observations or evidence use this module, so that a value means the same everywhere.

>>> examples(["a, not b", ["a", "b"], {"a": True, "b": None, "c": 0, "d": "undef"}])
[('a', 'not b'), ('a', 'b'), ('a', 'not c', 'undef d')]
>>> examples({"a": [1, 0], "edge(1,2)": [True, None]})
[('a', 'edge(1,2)'), ('not a',)]

A table is a dictionary of columns, a DataFrame (pandas, polars, or anything that narwhals reads),
an array with named fields, or a pair of a matrix and the names of its columns. The :class:`Cells`
of a program say what a cell means: :mod:`dpasp.ground.columns` knows the program's atoms, so
``yes`` in the column ``smoke`` is ``smoke(yes)``. Without a program, a column is an atom, and a
cell is true (True, 1), false (False, 0), undefined ("undef") or unobserved (None, NaN). Anything
else is a :class:`DataError` that shows what to write.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import isfinite
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from textwrap import shorten
from typing import Any, Protocol

import numpy as np
from clingo import Symbol
from numpy.typing import NDArray

from dpasp.dataclass import dataclass
from dpasp.errors import DataError, Diagnostic, Span, UsageError
from dpasp.language.statements.options import LARGEST_INTEGER
from dpasp.writing import counted

_SAME = {"#pr": "#query", "#max": "#map", "#mpe": "#map"}
_DIRECTIVE = re.compile(r"#\w*")
_CONSTANT = re.compile(r"[_']*[a-z][\w']*", re.ASCII)


def queries_given(queries: Sequence[str | Iterable[str]]) -> tuple[str, ...]:
    """Queries, and lists of them, as statements."""
    texts = [text for query in queries for text in query_texts(query)]
    return tuple(f"#query {_bare(text, '#query')}." for text in texts)


def query_texts(query: str | Iterable[str]) -> tuple[str, ...]:
    if isinstance(query, Mapping) or hasattr(query, "columns"):
        message = f"a query is a text, not {shown_value(query)}"
        raise UsageError(message, help="a table says what was observed: evidence=…")
    if isinstance(query, str) or not isinstance(query, Iterable):
        return (text_given(query, "a query"),)
    texts = tuple(text_given(text, "a query") for text in query)
    if not texts:
        raise UsageError("the list of queries is empty", help="leave it out")
    return texts


def map_given(question: str | None) -> str:
    """A MAP question as a statement; over all choices if it names no atom."""
    text = _bare("" if question is None else question, "#map")
    return f"{'#mpe' if not text or text.startswith('|') else '#map'} {text}."


def decide_given(question: str | None) -> str:
    """A question for the best decisions as a statement."""
    return f"#decide {_bare('' if question is None else question, '#decide')}."


def expect_given(question: str) -> str:
    """A question for an expected value as a statement."""
    return f"#expect {_bare(question, '#expect')}."


def evidence_given(evidence: object, cells: Cells | None = None) -> tuple[str, ...]:
    """Evidence as statements, from texts (which may have variables) or one example.

    ``cells`` say what the values of a dictionary mean.

    >>> evidence_given("a, not b"), evidence_given({"a": True, "b": False, "c": None})
    (('#evidence a, not b.',), ('#evidence a, not b.',))
    """
    if evidence is None or isinstance(evidence, int | float):
        text_given(evidence, "evidence")
    texts = [evidence] if isinstance(evidence, str) else evidence
    texts = list(texts) if isinstance(texts, Iterator) else texts
    if isinstance(texts, list | tuple) and all(isinstance(text, str) for text in texts):
        return tuple(f"#evidence {_bare(text, '#evidence')}." for text in texts if text)
    literals = one_example(texts, "evidence", cells=cells)
    return (f"#evidence {', '.join(literals)}.",) if literals else ()


def evidence_and_rows(
    evidence: object, cells: Cells | None = None
) -> tuple[tuple[str, ...], Rows | None]:
    """Evidence as statements, or as the rows of a table."""
    if isinstance(evidence, Iterator):
        evidence = list(evidence)
    if is_table(evidence):
        what = f"the file {evidence}" if isinstance(evidence, Path) else "evidence"
        return (), table_rows(evidence, what, cells=cells)
    return evidence_given(evidence, cells), None


def constants_given(constants: Mapping[str, object] | None) -> dict[str, str]:
    """The values of constants as texts, as on the command line."""
    given = dictionary_given(constants, "constants", '{"p": 0.3}')
    for name, value in given.items():
        if not _CONSTANT.fullmatch(text_given(name, "the name of a constant")):
            help = "it begins in lower case, as in n=5"
            raise UsageError(f"{name!r} cannot be the name of a constant", help=help)
        if isinstance(value, float) and not isfinite(value):
            raise UsageError(f"the constant {name} cannot be {value}", help="give a finite number")
    return {name: str(value) for name, value in given.items()}


def dictionary_given(value: Any, what: str, example: str) -> Mapping[str, Any]:
    """The dictionary, empty for None; :class:`UsageError` for anything else."""
    if value is None or isinstance(value, Mapping):
        return value or {}
    help = f"write {what}={example}"
    raise UsageError(f"{what} are a dictionary, not {shown_value(value)}", help=help)


def externals_given(externals: Mapping[str, object] | None) -> tuple[tuple[str, str], ...]:
    """The values of external atoms, as texts; :class:`UsageError` for other values.

    >>> externals_given({"sensor(1)": True, "mode(fast)": "free"})
    (('sensor(1)', 'true'), ('mode(fast)', 'free'))
    """
    given: dict[str, str] = {}
    for atom, value in dictionary_given(externals, "externals", '{"sensor(1)": True}').items():
        text = text_given(atom, "an external atom").strip().removesuffix(".")
        word = value.strip().lower() if isinstance(value, str) else str(plain_number(value)).lower()
        word = {"1": "true", "0": "false", "1.0": "true", "0.0": "false"}.get(word, word)
        if word not in EXTERNAL_VALUES:
            raise UsageError(
                f"the external atom {text} cannot be {shown_value(value)}",
                help="it is true, false or free (chosen by the models)",
            )
        given[text] = word
    return tuple(given.items())


EXTERNAL_VALUES = ("true", "false", "free")


def set_by_rows(table: Rows, declared: Mapping[str, str]) -> tuple[list[str], Rows]:
    """The external atoms set by a table, and the table with a column for each of them.

    ``declared`` are the external atoms with their values for rows that do not set them.
    """
    codes = table.codes.copy()
    said: dict[str, NDArray[np.int32]] = {}  # by atom: 1 true, 2 false, 0 nothing
    for column, texts in enumerate(table.literals):
        for code, text in enumerate(texts, 1):
            atom = text.removeprefix("not ")
            if atom in declared:
                rows = table.codes[:, column] == code
                values = said.setdefault(atom, np.zeros(len(table), dtype=np.int32))
                values[rows] = 1 if atom == text else 2
                codes[rows, column] = 0
    for atom, values in said.items():
        if declared[atom] == "free" and not values.all():
            row = int((values == 0).argmax())
            message = f"example {row} does not say whether the external atom {atom} is true"
            help = f"say it in every row, or declare #external {atom}. without [free]"
            raise DataError(Diagnostic("observation-external", message, help=help))
        values[values == 0] = 1 if declared[atom] == "true" else 2
    literals = (*table.literals, *((atom, f"not {atom}") for atom in said))
    if said:
        codes = np.column_stack((codes, *said.values())).astype(np.int32)
    return list(said), Rows(literals, codes, table.index)


def whole_given(value: object, what: str, least: int = 0, most: int = LARGEST_INTEGER) -> int:
    """An integer from ``least`` to ``most``; :class:`UsageError` otherwise."""
    number = plain_number(value)
    if type(number) is int and least <= number <= most:
        return number
    large = type(number) is int and number > most
    reach = f"up to {most}" if large else f"from {least} on"
    raise UsageError(
        f"{what} is a whole number {reach}, not {shown_value(value)}",
        help=f"give a number such as {max(least, 1)}",
    )


def share_given(value: object, what: str) -> float:
    """A number from 0 to 1; :class:`UsageError` otherwise."""
    number = plain_number(value)
    if isinstance(number, int | float) and type(number) is not bool and 0 <= number <= 1:
        return float(number)
    raise UsageError(
        f"{what} is a number from 0 to 1, not {shown_value(value)}",
        help="give a number such as 0.5",
    )


def is_scalar(value: object) -> bool:
    """Whether a value is an array or tensor without axes."""
    return getattr(value, "ndim", 1) == 0


def plain_number(value: object) -> object:
    """A number of numpy or another library as a Python number; anything else unchanged."""
    if isinstance(value, int | float):
        return value
    if isinstance(value, Integral):
        return int(value)
    return float(value) if isinstance(value, Real) else value


def text_given(value: object, what: str) -> str:
    """The value if it is a string; :class:`UsageError` otherwise."""
    if not isinstance(value, str):
        raise UsageError(f"{what} is a text, not {shown_value(value)}", help="write it in quotes")
    return value


def list_given(value: object, what: str) -> list[Any]:
    """The values of a list; :class:`UsageError` for a single value, such as a text."""
    single = isinstance(value, str | bytes | Mapping) or is_scalar(value)
    if single or not isinstance(value, Iterable):
        help = f'write them as in {what}=["a", "b"]'
        raise UsageError(f"{what}: a list is expected, not {shown_value(value)}", help=help)
    return list(value)


def _bare(text: object, word: str) -> str:
    """A question without its final dot and without its directive, ``word`` or another for it."""
    text = text_given(text, "a question").strip()
    if found := _DIRECTIVE.match(text):
        if _SAME.get(found[0], found[0]) != word:
            help = f"write what follows {word}, with or without that word"
            raise UsageError(f"{found[0]} is not supported here", help=help)
        text = text[found.end() :].strip()
    return text.removesuffix(".").strip()


# --- examples and tables -------------------------------------------------------------------------


Example = tuple[str, ...]
Codes = NDArray[np.int32]

MISSING, FALSE, TRUE, UNDEFINED = -1, 0, 1, 2  # what a cell says about an atom
PREFIX = {FALSE: "not ", TRUE: "", UNDEFINED: "undef "}
WORDS = {"1": TRUE, "1.0": TRUE, "true": TRUE, "0": FALSE, "0.0": FALSE, "false": FALSE}
WORDS |= dict.fromkeys(("undef", "undefined"), UNDEFINED)
NOT_SEEN = {"", "?", "-", "_", "*", ".", "na", "n/a", "nan", "nil", "none", "null"}
NOT_SEEN |= {"missing", "unknown", "unobserved"}  # words for unobserved values in files
WORDS |= dict.fromkeys(NOT_SEEN, MISSING)
NEVER_SEEN = ("", "?")  # not observed, even in a column with values

FORM = (
    'give one entry for each example: ["sum(9)", ["sum(3)", "not carry"], {"sum(3)": True, '
    '"carry": False}], or a table whose columns are named by atoms'
)
FILES = (".csv", ".npy")


class UnreadableCell(Exception):
    """A cell has no meaning; the reader adds its place to the message."""

    def __init__(self, code: str, message: str, help: str) -> None:
        super().__init__(message)
        self.code, self.help = code, help


class Cells(Protocol):
    """The meanings of the cells of a table."""

    def literal(self, column: str, value: Any) -> str | None:
        """The literal for a value in a column; None if nothing was observed.

        Raises :class:`UnreadableCell`, whose message goes on after "row 3 says".
        """


def atom_literal(column: str, value: Any) -> str | None:
    code = truth(value)
    if code is not None:
        return None if code == MISSING else f"{PREFIX[code]}{column}"
    message = f"{shown_value(value)} about {column}, which is neither true nor false"
    help = 'say True or 1, False or 0, "undef", or None for what was not seen'
    if isinstance(value, int | str):
        inside = f"{column[:-1]},{value})" if column.endswith(")") else f"{column}({value})"
        help += f'; a value is part of an atom: {{"{inside}": True}}'
    raise UnreadableCell("observation-value", message, help)


def truth(value: Any) -> int | None:
    """What a value says about an atom, as a code; None if it is no truth value."""
    if is_missing(value):
        return MISSING
    if isinstance(value, str):
        return WORDS.get(value.strip().lower())
    return int(value) if isinstance(value, bool | int | float) and value in (0, 1) else None


def is_missing(value: Any) -> bool:
    """Whether a value means "not observed" in every column."""
    if isinstance(value, str):
        return value.strip() in NEVER_SEEN
    if isinstance(value, float):
        return value != value
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def shown_value(value: object) -> str:
    return shorten(repr(value), 40)


class _Reading:
    """The name and place of what is being read, for messages, and the meanings of its cells."""

    def __init__(self, what: str, span: Span | None, cells: Cells | None = None) -> None:
        self.what, self.span = what, span
        self.said = cells.literal if cells is not None else atom_literal

    def error(self, code: str, message: str, help: str = FORM) -> DataError:
        return DataError(Diagnostic(code, f"{self.what}: {message}", self.span, help))

    def literal(self, column: str, value: Any, index: int) -> str | None:
        """The literal of a cell; None if it has none."""
        if isinstance(value, np.datetime64 | np.timedelta64):
            value = value.astype(f"{value.dtype.kind}8[us]").item()
        elif hasattr(value, "item") and np.ndim(value) == 0:  # a number of numpy or torch
            value = value.item()
        try:
            return self.said(column, value)
        except UnreadableCell as problem:
            message = f"example {index} says {problem}"
            raise self.error(problem.code, message, problem.help) from None


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a table, each an example: one code per column.

    Code 0 means not observed, and code i the i-th of the column's ``literals``. ``index`` are the
    labels of the rows, if the table has any.
    """

    literals: tuple[Example, ...]  # by column
    codes: Codes  # [rows, columns]
    index: Any = None

    def __len__(self) -> int:
        return len(self.codes)

    def distinct(self) -> tuple[Codes, NDArray[np.intp]]:
        """The codes of the distinct rows, and the distinct row of each row."""
        count, width = self.codes.shape
        if not count or not width:
            return self.codes[:1], np.zeros(count, dtype=np.intp)
        mixed = np.random.default_rng(1).integers(1 << 62, size=width, dtype=np.uint64)
        keys = (self.codes.astype(np.uint64) * mixed).sum(axis=1)
        _, first, which = np.unique(keys, return_index=True, return_inverse=True)
        if not np.array_equal(self.codes[first][which.ravel()], self.codes):  # two keys collide
            _, first, which = np.unique(self.codes, axis=0, return_index=True, return_inverse=True)
        return self.codes[first], which.ravel()

    def example(self, codes: Iterable[int]) -> Example:
        """The literals of a row."""
        pairs = zip(self.literals, codes, strict=True)
        return tuple(literals[code - 1] for literals, code in pairs if code)

    def examples(self) -> list[Example]:
        """The literals of every row."""
        distinct, which = self.distinct()
        every = [self.example(codes) for codes in distinct.tolist()]
        return [every[i] for i in which.tolist()]


def rows_of(listed: Sequence[Example]) -> Rows:
    """The rows that have these literals, with a column for each literal.

    >>> rows_of([("a", "not b"), ("a",)]).codes.tolist()
    [[1, 1], [1, 0]]
    """
    places = {text: i for i, text in enumerate(dict.fromkeys(t for row in listed for t in row))}
    codes = np.zeros((len(listed), len(places)), dtype=np.int32)
    for i, row in enumerate(listed):
        codes[i, [places[text] for text in row]] = 1
    return Rows(tuple((text,) for text in places), codes)


def examples(
    value: object,
    what: str = "observations",
    span: Span | None = None,
    cells: Cells | None = None,
) -> list[Example]:
    """The examples in a value, one tuple of literals each; at least one.

    ``what`` names the value in messages; ``span`` is the place in the program that asked for it;
    ``cells`` say what the cells of a table mean.
    """
    reading = _Reading(what, span, cells)
    if read := _examples(value, reading):
        return read
    raise reading.error("observation-none", "there are no observations")


def is_table(value: object) -> bool:
    """Whether a value has a row for each example, rather than being a single example.

    >>> is_table([{"a": True}]), is_table({"a": [True]}), is_table({"a": True}), is_table(["a"])
    (True, True, False, False)
    """
    if _is_example(value):
        return False
    if isinstance(value, list | tuple):
        return bool(value) and not _are_texts(value)
    if isinstance(value, np.ndarray):
        return value.dtype.names is not None or value.ndim > 1
    return isinstance(value, PathLike) or _is_columns(value) or _is_frame(value)


def table_rows(value: Any, what: str = "evidence", cells: Cells | None = None) -> Rows:
    """The rows of a table, or of a file (.csv, .npy) given by its path."""
    reading = _Reading(what, None, cells)
    if isinstance(value, list | tuple) and value and all(isinstance(row, Mapping) for row in value):
        names = dict.fromkeys(name for row in value for name in row)
        value = {name: [row.get(name) for row in value] for name in names} or value
    read = _read(value, reading)
    return read if isinstance(read, Rows) else rows_of(read)


def one_example(value: object, what: str = "evidence", cells: Cells | None = None) -> Example:
    """The literals of one example: a text, a list of texts or a dictionary."""
    reading = _Reading(what, None, cells)
    if _are_texts(value) and not isinstance(value, np.ndarray):
        return _example(value, 0, reading)
    examples = _examples(value, reading)
    if len(examples) == 1:
        return examples[0]
    help = 'pass one of the rows, as in {"a": True, "b": False}'
    raise reading.error("observation-many", f"it has {len(examples)} rows and stands for one", help)


def _examples(value: object, reading: _Reading) -> list[Example]:
    """The examples in a value of any supported form."""
    read = _read(value, reading)
    return read.examples() if isinstance(read, Rows) else read


def _read(value: Any, reading: _Reading) -> Rows | list[Example]:
    """The rows of a table; the examples in a value of another form."""
    if isinstance(value, PathLike):
        value = _in_file(Path(value), reading)
    if _is_example(value):
        return [_example(value, 0, reading)]
    if isinstance(value, tuple) and len(value) == 2 and _is_matrix(value[0]):
        return _matrix(value[0], value[1], reading)
    if isinstance(value, np.ndarray) and value.dtype.names:
        value = {name: value[name] for name in value.dtype.names}
    if hasattr(value, "collect") and hasattr(value, "collect_schema"):  # lazy
        value = value.collect()
    index = None
    if _is_frame(value) and hasattr(value, "to_pydict"):  # pyarrow's
        value = value.to_pydict()
    elif _is_frame(value):
        index = getattr(value, "index", None)
        value = value if hasattr(value, "to_numpy") else _by_narwhals(value, reading)
        _names(value.columns, reading)
        value = {name: value[name].to_numpy() for name in value.columns}
    if isinstance(value, Mapping):
        return _table(list(value), list(value.values()), reading, index)
    if isinstance(value, np.ndarray) or hasattr(value, "detach"):
        value = _listed(value, reading)
    if not isinstance(value, Iterable):
        message = f"{shown_value(value)} does not say which atoms were observed"
        raise reading.error("observation-syntax", message)
    return [_example(entry, i, reading) for i, entry in enumerate(value)]


def _is_example(value: object) -> bool:
    """Whether a value is one example: a text of literals, or a dictionary of atoms."""
    return isinstance(value, str | Symbol) or (_is_row(value) and not _is_columns(value))


def _are_texts(value: object) -> bool:
    if not isinstance(value, list | tuple | set | frozenset | np.ndarray) or is_scalar(value):
        return False
    return all(isinstance(text, str | Symbol) for text in value)


# --- one example -------------------------------------------------------------------------------


def _example(value: object, index: int, reading: _Reading) -> Example:
    """The literals of an entry in a list of examples."""
    if isinstance(value, str | Symbol):
        return split_literals(str(value))
    if isinstance(value, np.void):
        value = {name: value[name].item() for name in value.dtype.names or ()}
    if _is_row(value):
        pairs = [(_atom(key, reading), cell) for key, cell in value.items()]  # type: ignore[attr-defined]
        said = (reading.literal(atom, cell, index) for atom, cell in pairs)
        return tuple(literal for literal in said if literal is not None)
    if _are_texts(value):
        texts: Any = value
        return tuple(literal for text in texts for literal in split_literals(str(text)))
    message = f"example {index} observes {shown_value(value)}, which is not a text of literals"
    if isinstance(value, list | tuple | np.ndarray):
        help = 'name the columns: (matrix, ["a", "edge(1,2)"])'
    elif isinstance(value, int | float | np.number):
        help = 'write the atom, as in "sum(3)"; a module reads integer labels with query="sum(Z)"'
    else:
        help = FORM
    raise reading.error("observation-syntax", message, help)


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
        message = f"{shown_value(key)} is not the name of an atom"
        raise reading.error("observation-names", message, "name atoms by texts such as 'edge(1,2)'")
    atom = str(key).strip().removesuffix(".")
    for word in ("not ", "~", "undef "):
        if atom.startswith(word):
            rest = atom.removeprefix(word).strip()
            said = {"undef ": '"undef"'}.get(word, "False")
            help = f'name the atom and say what was seen of it: {{"{rest}": {said}}}'
            raise reading.error("observation-names", f"'{key}' is a literal, not an atom", help)
    return atom


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


def _is_frame(value: object) -> bool:
    if isinstance(value, np.ndarray | list | tuple | str | Mapping) or hasattr(value, "detach"):
        return False
    return hasattr(value, "columns") or hasattr(value, "column_names")


def _names(keys: Iterable[object], reading: _Reading) -> list[str]:
    """The atoms that are the names of columns, each once."""
    names = [_atom(key, reading) for key in keys]
    if "" in names:
        message = f"column {names.index('') + 1} has no name"
        help = "name it, or leave it out: frame.to_csv(path, index=False)"
        raise reading.error("observation-names", message, help)
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        message = f"two columns are named {twice}"
        raise reading.error("observation-names", message, "keep one of them")
    return names


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


def _table(
    keys: Sequence[object], columns: Sequence[Any], reading: _Reading, index: Any = None
) -> Rows:
    """The rows of a table; each value of a column is read once."""
    names = _names(keys, reading)
    lengths = {len(column) for column in columns}
    if len(lengths) > 1:
        listed = ", ".join(f"{n} has {len(c)}" for n, c in zip(names, columns, strict=True))
        raise reading.error("observation-table", f"columns of unequal lengths: {listed}")
    if not columns:
        raise reading.error("observation-names", "the table has no columns")
    pairs = zip(names, columns, strict=True)
    read = [_read_column(name, column, reading) for name, column in pairs]
    literals, codes = zip(*read, strict=True)
    return Rows(literals, np.stack(codes, axis=1), index)


def _read_column(name: str, column: Any, reading: _Reading) -> tuple[Example, Codes]:
    """The literals that the values of a column say, and the code of each cell."""
    values, first, which = _distinct_values(column)
    said = [reading.literal(name, value, row) for value, row in zip(values, first, strict=True)]
    literals = tuple(dict.fromkeys(literal for literal in said if literal is not None))
    places: dict[str | None, int] = {None: 0}
    places |= {literal: i for i, literal in enumerate(literals, 1)}
    by_value = np.array([places[literal] for literal in said], dtype=np.int32)
    return literals, by_value[which] if len(which) else np.zeros(0, dtype=np.int32)


def _distinct_values(column: Any) -> tuple[list[Any], list[int], NDArray[np.intp]]:
    """The distinct values of a column, the first place of each, and which one each cell has.

    True and 1 are two values, as are 1 and 1.0, since they may differ in meaning.
    """
    cells = _as_array(column)
    kind = getattr(getattr(cells, "dtype", None), "kind", "")
    if kind in ("b", "i", "u", "f") and isinstance(cells, np.ndarray):
        found, at, which = np.unique(cells, return_index=True, return_inverse=True)
        order = np.argsort(at)  # in their order, so that a message is about the first one
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        return found[order].tolist(), at[order].tolist(), rank[which.ravel()]
    if kind in ("O", "U") and (quick := _distinct_texts(cells)) is not None:
        return quick
    if kind in ("M", "m"):  # nanoseconds would be listed as integers
        column = np.asarray(cells).astype(f"{kind}8[us]")
    listed = column.tolist() if hasattr(column, "tolist") else list(column)
    places: dict[Any, int] = {}
    first: list[int] = []
    values: list[Any] = []
    numbers = np.empty(len(listed), dtype=np.intp)
    for row, value in enumerate(listed):
        key = value if type(value) is str else (type(value), _hashable(value))
        place = places.get(key)
        if place is None:
            place = places[key] = len(values)
            first.append(row)
            values.append(value)
        numbers[row] = place
    return values, first, numbers


def _distinct_texts(cells: Any) -> tuple[list[Any], list[int], NDArray[np.intp]] | None:
    """:func:`_distinct_values` by pandas, if it is in use and all cells are texts."""
    pandas = sys.modules.get("pandas")
    if pandas is None or pandas.api.types.infer_dtype(cells, skipna=True) != "string":
        return None
    codes, found = pandas.factorize(np.asarray(cells, dtype=object))
    which = np.where(codes < 0, len(found), codes)
    values, first = np.unique(which, return_index=True)
    return [*found, None][: int(values[-1]) + 1], first.tolist(), which


def _hashable(value: Any) -> Any:
    """The value, or a stand-in if it cannot be a dictionary key."""
    try:
        hash(value)
    except TypeError:
        return repr(value)
    return value


def _as_array(value: Any) -> Any:
    return value.detach().cpu().numpy() if hasattr(value, "detach") else value


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


def _matrix(matrix: Any, atoms: Any, reading: _Reading) -> Rows:
    """The rows of a matrix and the atoms of its columns."""
    if hasattr(matrix, "columns"):
        matrix = matrix.to_numpy()
    rows = _as_array(matrix)
    width = rows.shape[1] if hasattr(rows, "shape") else len(rows[0])
    if isinstance(atoms, str) or not isinstance(atoms, Iterable):
        raise reading.error("observation-matrix", f"{shown_value(atoms)} is not a list of atoms")
    names = list(atoms)
    if width != len(names):
        message = f"the matrix has {counted(width, 'column')} for {counted(len(names), 'atom')}"
        raise reading.error("observation-matrix", message, "name one atom a column")
    if not hasattr(rows, "shape"):
        rows = [[*row] if isinstance(row, Iterable) else [row] for row in rows]
        lengths = {len(row) for row in rows}
        if lengths != {width}:
            message = f"the rows of the matrix have {min(lengths)} to {max(lengths)} columns"
            raise reading.error("observation-matrix", message, "give all of them one length")
        rows = np.array(rows, dtype=object)
    return _table(names, [rows[:, i] for i in range(width)], reading)


def _listed(value: Any, reading: _Reading) -> list[Any]:
    """An array as a list of texts; numbers without names are refused."""
    array = _as_array(value)
    if array.dtype.kind in "UO" and array.ndim == 1:
        listed: list[Any] = array.tolist()
        return listed
    shape = " × ".join(map(str, array.shape)) or "()"
    message = f"an array of {array.dtype} of shape {shape} does not say which atoms were seen"
    if array.ndim == 2:
        help = 'name its columns: (matrix, ["a", "edge(1,2)"])'
        raise reading.error("observation-names", message, help)
    help = 'write texts such as "sum(3)"; a module reads integer labels with query="sum(Z)"'
    raise reading.error("observation-names", message, help)


# --- files -------------------------------------------------------------------------------------


def _in_file(path: Path, reading: _Reading) -> Any:
    import csv

    try:
        match path.suffix.lower():
            case ".csv":
                with path.open(newline="", encoding="utf-8-sig") as text:
                    return _csv(text, reading)
            case ".npy":
                return _npy(path)
    except FileNotFoundError as error:
        help = "paths in a program are taken from its folder" if reading.span else "see its name"
        raise reading.error("data-file", f"there is no file {path}", help) from error
    except (OSError, ValueError, EOFError, csv.Error) as error:
        raise reading.error("data-file", f"it cannot be read: {error}", "") from error
    help = f"files of observations end in {' or '.join(FILES)}"
    raise reading.error("data-file", f"{path.name} has an unknown file type", help)


def _npy(path: Path) -> NDArray[Any]:
    """The array in a file; :class:`ValueError` if there is none."""
    with warnings.catch_warnings(), path.open("rb") as file:
        warnings.simplefilter("ignore")  # numpy takes a damaged file for an old one
        try:
            array = np.load(file, allow_pickle=False)
        except OSError:
            raise
        except Exception as error:  # a damaged header can fail in any way
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


def table_of_text(text: str, what: str) -> Any:
    """The columns of a table written as comma-separated values.

    Raises :class:`DataError`, whose message begins with ``what``.
    """
    return _csv(text.splitlines(keepends=True), _Reading(what, None))


def _csv(text: Iterable[str], reading: _Reading) -> Any:
    """The columns of a file by name; empty ones if it has only a header."""
    import csv

    lines = list(csv.reader(text, skipinitialspace=True))
    while lines and not lines[-1]:
        lines.pop()
    if not lines:
        raise reading.error("observation-csv", "it is empty", "write a header of columns")
    header, *rows = lines[next(i for i, line in enumerate(lines) if line) :]
    # In the only column, an empty line is an empty cell.
    rows = [row or [""] for row in rows] if len(header) == 1 else [row for row in rows if row]
    other = next((mark for mark in ";\t|" if mark in header[0]), "")
    if other and len(header) == 1 and all(len(row) == 1 for row in rows):
        shown = {"\t": "tabs"}.get(other, other)
        help = "save the table with commas between its columns"
        raise reading.error("observation-csv", f"its columns are separated by {shown}", help)
    for number, row in enumerate(rows, 2):
        if len(row) != len(header):
            values = counted(len(row), "value")
            message = f"line {number} has {values}, the header {counted(len(header), 'atom')}"
            help = 'atoms that hold commas are quoted: "edge(1,2)"'
            raise reading.error("observation-csv", message, help)
    _names(header, reading)
    return dict(zip(header, map(list, zip(*rows, strict=True)), strict=True)) if rows else []


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
