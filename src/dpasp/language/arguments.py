"""Arguments from Python as statements: queries, evidence, constants.

>>> queries_given(["a | b.", ["c", "#query d."]])
('#query a | b.', '#query c.', '#query d.')
>>> map_given("a?, b? | e"), map_given("| e"), map_given(None)
('#map a?, b? | e.', '#mpe | e.', '#mpe .')
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite
from numbers import Integral, Real
from os import PathLike
from textwrap import shorten

from dpasp.errors import UsageError
from dpasp.language.observations import Cells, Rows, is_table, one_example, table_rows
from dpasp.language.statements.options import LARGEST_INTEGER

QUERY, MAP, EVIDENCE = ("#query", "#pr"), ("#map", "#max", "#mpe"), ("#evidence",)
DECIDE, EXPECT = ("#decide",), ("#expect",)
_DIRECTIVE = re.compile(r"#\w*")


def queries_given(queries: Sequence[str | Iterable[str]]) -> tuple[str, ...]:
    """Queries, and lists of them, as statements."""
    texts = [text for query in queries for text in _texts(query, "a query")]
    if queries and not texts:
        raise UsageError("the list of queries is empty", help="leave it out")
    return tuple(f"#query {_bare(text, QUERY)}." for text in texts)


def map_given(question: str | None) -> str:
    """A MAP question as a statement; over all choices if it names no atom."""
    text = _bare(text_given("" if question is None else question, "a question"), MAP)
    return f"{'#mpe' if not text or text.startswith('|') else '#map'} {text}."


def decide_given(question: str | None) -> str:
    """A question for the best decisions as a statement."""
    text = _bare(text_given("" if question is None else question, "a question"), DECIDE)
    return f"#decide {text}."


def expect_given(question: str) -> str:
    """A question for an expected value as a statement."""
    return f"#expect {_bare(text_given(question, 'an expectation'), EXPECT)}."


def evidence_given(evidence: object, cells: Cells | None = None) -> tuple[str, ...]:
    """Evidence as statements, from texts (which may have variables) or one example.

    ``cells`` tell what the values of a dictionary say of the program's atoms.

    >>> evidence_given("a, not b"), evidence_given({"a": True, "b": False, "c": None})
    (('#evidence a, not b.',), ('#evidence a, not b.',))
    """
    texts = [evidence] if isinstance(evidence, str) else evidence
    if evidence is None or isinstance(evidence, int | float):
        text_given(evidence, "evidence")
    if isinstance(texts, Iterable) and not isinstance(texts, Mapping):
        texts = list(texts) if isinstance(texts, Iterator) else texts
        if isinstance(texts, list | tuple) and all(isinstance(text, str) for text in texts):
            return tuple(f"#evidence {_bare(text, EVIDENCE)}." for text in texts if text)
    literals = one_example(texts, "evidence", cells=cells)
    return (f"#evidence {', '.join(literals)}.",) if literals else ()


def evidence_and_rows(
    evidence: object, cells: Cells | None = None
) -> tuple[tuple[str, ...], Rows | None]:
    """Evidence as statements, or the rows of a table of it."""
    if isinstance(evidence, Iterator):
        evidence = list(evidence)
    if is_table(evidence):
        return (), table_rows(evidence, cells=cells)
    return evidence_given(evidence, cells), None


def constants_given(constants: Mapping[str, object] | None) -> dict[str, str]:
    """The values of constants as texts, as on the command line."""
    for name, value in (constants or {}).items():
        if isinstance(value, float) and not isfinite(value):
            raise UsageError(f"the constant {name} cannot be {value}", help="give a finite number")
    return {name: str(value) for name, value in (constants or {}).items()}


def whole_given(value: object, what: str, least: int = 0, most: int = LARGEST_INTEGER) -> int:
    """An integer from ``least`` to ``most``; :class:`UsageError` otherwise.

    >>> whole_given(3, "the seed")
    3
    >>> try:
    ...     whole_given(-1, "the number of models", least=1)
    ... except UsageError as error:
    ...     print(error.diagnostics[0].message)
    the number of models is a whole number from 1 on, not -1
    """
    number = plain_number(value)
    if type(number) is int and least <= number <= most:
        return number
    large = type(number) is int and number > most
    reach = f"up to {most}" if large else f"from {least} on"
    raise UsageError(
        f"{what} is a whole number {reach}, not {_shown(value)}",
        help=f"give a number such as {max(least, 1)}",
    )


def share_given(value: object, what: str) -> float:
    """A number from 0 to 1; :class:`UsageError` otherwise."""
    number = plain_number(value)
    if type(number) in (int, float) and isinstance(number, int | float) and 0 <= number <= 1:
        return float(number)
    raise UsageError(
        f"{what} is a number from 0 to 1, not {_shown(value)}", help="give a number such as 0.5"
    )


def plain_number(value: object) -> object:
    """A number of numpy or another library as a Python number; anything else unchanged."""
    if isinstance(value, int | float):
        return value
    if isinstance(value, Integral):
        return int(value)
    return float(value) if isinstance(value, Real) else value


def path_given(path: object) -> str:
    """A file name."""
    if not isinstance(path, str | PathLike):
        raise UsageError(
            f"the name of a file is a text or a path, not {_shown(path)}",
            help='write dpasp.load("alarm.plp"); dpasp.loads reads a program from a text',
        )
    return str(path)


def text_given(value: object, what: str) -> str:
    """The value if it is a string; :class:`UsageError` otherwise."""
    if not isinstance(value, str):
        raise UsageError(f"{what} is a text, not {_shown(value)}", help="write it in quotes")
    return value


def _texts(value: object, what: str) -> tuple[str, ...]:
    """One text, or several."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        return (text_given(value, what),)
    return tuple(text_given(text, what) for text in value)


def _shown(value: object) -> str:
    """A wrong argument, shortened for a message."""
    return shorten(repr(value), 40)


def _bare(text: str, words: Sequence[str]) -> str:
    """A question without its final dot and without its directive, one of ``words``."""
    text = text.strip()
    if found := _DIRECTIVE.match(text):
        if found[0] not in words:
            help = f"write what follows {words[0]}, with or without that word"
            raise UsageError(f"{found[0]} is not supported here", help=help)
        text = text[found.end() :].strip()
    return text.removesuffix(".").strip()
