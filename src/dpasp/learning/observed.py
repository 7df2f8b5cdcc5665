"""The observations that ``#learn`` names: those of a function, or of a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dpasp.errors import DataError, Diagnostic
from dpasp.language import ast
from dpasp.language.observations import Example, examples, read_file
from dpasp.logic.python import Python, guarded
from dpasp.neural.data import beside, may_quote


@dataclass(frozen=True, slots=True)
class Observed:
    """The examples to learn from, and those of the test rows, where they are told."""

    train: list[Example]
    test: list[Example] | None = None


def read(origin: ast.Origin, python: Python) -> Observed:
    """The observations that a function gives or a file (.csv, .npy) holds.

    A function may give a dictionary with ``"train"`` and ``"test"``.
    """
    if isinstance(origin, ast.File):
        what = f"the file {origin.path}"
        path = beside(origin, python.program)
        try:
            found = read_file(path, what, origin.span)
            return Observed(examples(found, what, origin.span))
        except DataError as error:
            if may_quote(origin, python.program):
                raise
            message = f"{origin.path} cannot be read as observations"
            raise DataError(Diagnostic("data-file", message, origin.span)) from error
    value, what = python.call(origin), f"@{origin.function}"
    with guarded(what, python.program, origin.span):
        if isinstance(value, Mapping) and "train" in value:
            test = value.get("test")
            train = examples(value["train"], what, origin.span)
            return Observed(train, None if test is None else examples(test, what, origin.span))
        return Observed(examples(value, what, origin.span))
