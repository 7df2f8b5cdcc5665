"""The observations that ``#learn`` names: those of a function, or of a file.

>>> from dpasp.language import parse
>>> from dpasp.ground.python import run_blocks
>>> code = "#python\\ndef seen(): return {'train': ['a', ['b', 'not a']], 'test': ['a']}\\n#end.\\n"
>>> program = parse(code + "?::a. b :- not a. #learn @seen, niters = 5.")
>>> python = ProgramPython(program, run_blocks(program))
>>> read_observations(program.statements[-1].observations, python)
Observed(train=[('a',), ('b', 'not a')], test=[('a',)], query=None)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dpasp.dataclass import dataclass
from dpasp.errors import DataError, Diagnostic
from dpasp.ground.python import ProgramPython, guarded
from dpasp.language import ast
from dpasp.language.observations import Example, examples, read_file
from dpasp.neural.data import beside, may_quote


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
) -> Observed:
    """The observations that a function gives or a file (.csv, .npy) holds.

    A function may give a dictionary with ``"train"`` and ``"test"``. With a ``query``, they are
    labels, which ``labels`` reads.
    """
    if isinstance(origin, ast.File):
        return Observed(_in_file(origin, python, query))
    value, what = python.call(origin), f"@{origin.function}"

    def read_all(some: object) -> list[Example]:
        return labels(some) if labels is not None else examples(some, what, origin.span)

    with guarded(what, python.program, origin.span):
        if isinstance(value, Mapping) and "train" in value:
            test = value.get("test")
            return Observed(
                read_all(value["train"]), None if test is None else read_all(test), query
            )
        return Observed(read_all(value), None, query)


def _in_file(origin: ast.File, python: ProgramPython, query: str | None) -> list[Example]:
    if query is not None:
        message = "the columns of a file are named by atoms, so it holds no labels of a query"
        raise DataError(Diagnostic("label-query", message, origin.span, "leave query = … out"))
    what = f"the file {origin.path}"
    path = beside(origin, python.program)
    try:
        return examples(read_file(path, what, origin.span), what, origin.span)
    except DataError as error:
        if may_quote(origin, python.program):
            raise
        message = f"{origin.path} cannot be read as observations"
        raise DataError(Diagnostic("data-file", message, origin.span)) from error
