"""What a caller from Python gives: queries and evidence as statements, or words about mistakes.

>>> queries_given(["a | b.", ["c", "#query d."]])
('#query a | b.', '#query c.', '#query d.')
>>> map_given("a?, b? | e"), map_given("| e"), map_given(None)
('#map a?, b? | e.', '#mpe | e.', '#mpe .')
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite
from os import PathLike
from textwrap import shorten

from dpasp.errors import UsageError
from dpasp.language.observations import one_example

DIRECTIVES = ("#query", "#pr", "#map", "#max", "#mpe", "#evidence")


def queries_given(queries: Sequence[str | Iterable[str]]) -> tuple[str, ...]:
    """Queries, and lists of them, as statements."""
    texts = [text for query in queries for text in _texts(query, "a query")]
    if queries and not texts:
        raise UsageError("an empty list holds no query", help="leave it out")
    return tuple(f"#query {_bare(text)}." for text in texts)


def map_given(question: str | None) -> str:
    """A question for most probable values as a statement: of all choices where it names no atom."""
    text = _bare(text_given("" if question is None else question, "a question"))
    return f"{'#mpe' if not text or text.startswith('|') else '#map'} {text}."


def evidence_given(evidence: object) -> tuple[str, ...]:
    """Evidence as statements: of texts, which may have variables, or of one example.

    >>> evidence_given("a, not b"), evidence_given({"a": True, "b": False, "c": None})
    (('#evidence a, not b.',), ('#evidence a, not b.',))
    """
    texts = [evidence] if isinstance(evidence, str) else evidence
    if evidence is None or isinstance(evidence, int | float):
        text_given(evidence, "evidence")
    if isinstance(texts, Iterable) and not isinstance(texts, Mapping):
        texts = list(texts) if isinstance(texts, Iterator) else texts
        if isinstance(texts, list | tuple) and all(isinstance(text, str) for text in texts):
            return tuple(f"#evidence {_bare(text)}." for text in texts if text)
    literals = one_example(texts, "evidence")
    return (f"#evidence {', '.join(literals)}.",) if literals else ()


def constants_given(constants: Mapping[str, object] | None) -> dict[str, str]:
    """The values of constants as texts, as the command line takes them."""
    for name, value in (constants or {}).items():
        if isinstance(value, float) and not isfinite(value):
            raise UsageError(f"the constant {name} cannot be {value}", help="give a finite number")
    return {name: str(value) for name, value in (constants or {}).items()}


def path_given(path: object) -> str:
    """The name of a file."""
    if not isinstance(path, str | PathLike):
        raise UsageError(
            f"the name of a file is a text or a path, not {_shown(path)}",
            help='write dpasp.load("alarm.plp"); dpasp.loads reads a program from a text',
        )
    return str(path)


def text_given(value: object, what: str) -> str:
    """What was given, if it is a text."""
    if not isinstance(value, str):
        raise UsageError(f"{what} is a text, not {_shown(value)}", help="write it in quotes")
    return value


def _texts(value: object, what: str) -> tuple[str, ...]:
    """One text, or several."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        return (text_given(value, what),)
    return tuple(text_given(text, what) for text in value)


def _shown(value: object) -> str:
    """A wrong argument in an error message, however long it is."""
    return shorten(repr(value), 40)


def _bare(text: str) -> str:
    """A question without its directive and its dot."""
    text = text.strip()
    for word in DIRECTIVES:
        if text.startswith(word):
            text = text[len(word) :].strip()
            break
    return text.removesuffix(".").strip()
