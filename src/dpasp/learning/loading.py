r"""The data and observations that a program names: those of its functions and files.

``in(0) ~ test(@xs).`` names data, ``#learn @seen.`` observations. A function for observations may
give a dictionary with ``"train"`` and ``"test"``.

>>> from dpasp.language import parse
>>> from dpasp.ground.python import run_blocks
>>> code = "#python\ndef seen(): return {'train': ['a', ['b', 'not a']], 'test': ['a']}\n#end.\n"
>>> program = parse(code + "?::a. b :- not a. #learn @seen, niters = 5.")
>>> python = ProgramPython(program, run_blocks(program))
>>> read_observations(program.statements[-1].observations, python)
Observed(train=[('a',), ('b', 'not a')], test=[('a',)], query=None)
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence

from clingo import Symbol
from clingo.ast import ASTType
from torch.utils.data import Dataset

from dpasp.dataclass import dataclass
from dpasp.errors import DataError, Diagnostic, Span
from dpasp.ground.program import GroundData, GroundProgram
from dpasp.ground.python import ProgramPython, guarded
from dpasp.language import ast
from dpasp.language.observations import Cells, Example, examples
from dpasp.language.text.clingo_text import walk
from dpasp.learning.data import (
    DataPart,
    DataRows,
    as_objects,
    as_rows,
    beside,
    check_lengths,
    for_each,
    may_quote,
    read_rows_file,
)
from dpasp.learning.weights import may_be_missing


def load_rows(
    ground: GroundProgram, python: ProgramPython, part: DataPart, needed: Container[Symbol]
) -> dict[Symbol, DataRows]:
    """The rows of the data atoms that are needed, all of the same number.

    Atoms whose statement has no data for this part are left out.
    """
    loaded: dict[Symbol, DataRows] = {}
    origins: dict[Symbol, ast.Origin] = {}
    for statement, origin, data in _statements(ground, part):
        if any(each.atom in needed for each in data):
            if any(each.values for each in data) or not _is_several(statement):
                rows = {each.atom: read_rows(origin, python, each) for each in data}
            else:
                rows = _shared(ground, python, origin, [each.atom for each in data])
            loaded |= rows
            origins |= dict.fromkeys(rows, origin)
    check_lengths(loaded, {atom: origin.span for atom, origin in origins.items()}, part)
    return loaded


def _statements(
    ground: GroundProgram, part: DataPart
) -> Iterator[tuple[ast.Data, ast.Origin, list[GroundData]]]:
    """Where the data of a part come from, and for which atoms."""
    for index, statement in enumerate(ground.program.statements):
        if isinstance(statement, ast.Data):
            origin = statement.train if part == "train" else statement.test
            data = [each for each in ground.data if each.statement == index]
            if origin is not None and data:
                yield statement, origin, data


def _is_several(statement: ast.Data) -> bool:
    """Whether a statement can stand for several atoms: as input(0..3) and input(X) do."""
    several = (ASTType.Interval, ASTType.Pool, ASTType.Variable)
    return any(node.ast_type in several for part in statement.arguments for node in walk(part))


def _shared(
    ground: GroundProgram, python: ProgramPython, origin: ast.Origin, atoms: Sequence[Symbol]
) -> dict[Symbol, DataRows]:
    """The rows of each of the atoms that one statement names."""
    what = origin_name(origin)
    value = _value(origin, python)
    if isinstance(value, Dataset):
        raise no_dataset_for(atoms, origin.span)
    with guarded(what, python.program, origin.span):
        objects = as_objects(value, what, origin.span)
        parts = for_each(objects, atoms, may_be_missing(ground), origin.span)
    return {atom: DataRows(rows) for atom, rows in parts.items()}


def no_dataset_for(atoms: Sequence[Symbol], span: Span | None = None) -> DataError:
    """What to say of a Dataset that is given for several atoms: its items are rows of one."""
    message = f"a Dataset has no rows for each of {len(atoms)} atoms"
    help = f"give a tensor of shape [rows, {len(atoms)}, …], or a Dataset for each: {atoms[0]}, …"
    return DataError(Diagnostic("data-objects", message, span, help))


def read_rows(
    origin: ast.Origin, python: ProgramPython, data: GroundData | None = None
) -> DataRows:
    """The rows that a function gives or a file holds; ``data`` says for which atom."""
    what = origin_name(origin)
    value = _value(origin, python, data)
    with guarded(what, python.program, origin.span):
        return as_rows(value, what, origin.span)


def _value(origin: ast.Origin, python: ProgramPython, data: GroundData | None = None) -> object:
    if isinstance(origin, ast.Call):
        return python.call(origin, dict(data.values) if data is not None else None)
    return read_rows_file(origin, python.program)


def origin_name(origin: ast.Origin) -> str:
    """What data come from, for messages."""
    if isinstance(origin, ast.Call):
        return f"@{origin.function}"
    return f"the file {origin.path}"


@dataclass(frozen=True, slots=True)
class Observed:
    """The examples to learn from, and those of the test rows, where there are some."""

    train: list[Example]
    test: list[Example] | None = None
    query: str | None = None  # whose labels they were


def read_observations(
    origin: ast.Origin,
    python: ProgramPython,
    query: str | None = None,
    labels: Callable[[object], list[Example]] | None = None,
    cells: Cells | None = None,
) -> Observed:
    """The observations that a function gives or a file (.csv, .npy) holds.

    A function may give a dictionary with ``"train"`` and ``"test"``. With a ``query``, they are
    labels, which ``labels`` reads. ``cells`` tell what the cells of tables say.
    """
    if isinstance(origin, ast.File):
        return Observed(_in_file(origin, python, query, cells))
    value, what = python.call(origin), f"@{origin.function}"

    def read_all(some: object) -> list[Example]:
        return labels(some) if labels is not None else examples(some, what, origin.span, cells)

    with guarded(what, python.program, origin.span):
        if isinstance(value, Mapping) and "train" in value:
            test = value.get("test")
            return Observed(
                read_all(value["train"]), None if test is None else read_all(test), query
            )
        return Observed(read_all(value), None, query)


def _in_file(
    origin: ast.File, python: ProgramPython, query: str | None, cells: Cells | None
) -> list[Example]:
    if query is not None:
        message = "the columns of a file are named by atoms, so it holds no labels of a query"
        raise DataError(Diagnostic("label-query", message, origin.span, "leave query = … out"))
    what = f"the file {origin.path}"
    path = beside(origin, python.program)
    try:
        return examples(path, what, origin.span, cells)
    except DataError as error:
        if may_quote(origin, python.program):
            raise
        message = f"{origin.path} cannot be read as observations"
        raise DataError(Diagnostic("data-file", message, origin.span)) from error
