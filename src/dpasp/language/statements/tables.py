"""``#factor {1, 2.5, 0, 4} : x({0,1}), y({a,b}).``: a table of factors, one for each combination.

There is a number for each combination of the values of the sets, in order, the last set fastest,
as in the files of the UAI competitions. It multiplies the weight of every model in which the atoms
of the combination hold. A large table is one statement and one array.

>>> from dpasp.language import parse
>>> (table,) = parse("#factor {1, 2.5, 0, 4} : x({0,1}), y({a..a, b}).").statements
Traceback (most recent call last):
    ...
dpasp.errors.ProgramError: <program>:1:39: error: 'a..a' is not a value of a set ...
>>> (table,) = parse("#factor {1,2.5, 0,4}: x({0..1}), y(7,{a,b}).").statements
>>> table_text(table), table.shape
('#factor {1, 2.5, 0, 4} : x({0..1}), y(7,{a,b}).', (2, 2))
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import inf, prod
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, Span
from dpasp.language.statements.kind import Draft, Kind, Setting, whole_statement
from dpasp.language.statements.statement import Probability, Statement, span_field
from dpasp.language.text import Buffer, Piece, SourceFile
from dpasp.language.text.lexer import Refused
from dpasp.language.tuning import TUNING

FORM = "a table of factors is written #factor {1, 2.5, 0, 4} : x({0,1}), y({a,b})."
WEIGHTED = "say '#semantics weighted.', under which every model has a weight"
HEADER = re.compile(r"#factor\s*\{([^{}\"%]*)\}\s*", re.ASCII)  # up to the end of the numbers
_REAL = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_REALS = re.compile(rf"\s*+{_REAL}\s*+(?:,\s*+{_REAL}\s*+)*+", re.ASCII)
_ONE = re.compile(rf"\s*{_REAL}\s*", re.ASCII)
_ATOM = re.compile(
    r"\s*(?P<before>-?_*[a-z][\w']*(?:\([^(){}]*)?)"
    r"(?:\{(?P<set>[^{}()]*)\}(?P<after>[^(){}]*\))?|(?P<end>\)))?\s*",
    re.ASCII,
)
_RANGE = re.compile(r"(-?\d{1,9})\s*\.\.\s*(-?\d{1,9})", re.ASCII)
_VALUE = re.compile(r'-?\d{1,9}|_*[a-z][\w\']*|"(?:\\["\\n]|[^"\\\n])*"', re.ASCII)
_VARIABLE = re.compile(r"(?<![\w'])(?:_*[A-Z]\w*|_(?!\w))", re.ASCII)


@dataclass(frozen=True, slots=True)
class AtomSet:
    """Atoms that differ in one argument: ``x(`` ``{0..2}`` ``)``, or one atom without a set."""

    before: str
    written: str | None  # what stands in the braces
    after: str
    values: tuple[str, ...]

    @property
    def atoms(self) -> list[str]:
        """The atoms, in order."""
        return [f"{self.before}{value}{self.after}" for value in self.values]

    def __str__(self) -> str:
        inside = "" if self.written is None else f"{{{self.written}}}"
        return f"{self.before}{inside}{self.after}"


@dataclass(frozen=True, slots=True)
class FactorTable(Statement):
    """A factor for each combination of the atoms of some sets, the last set fastest."""

    numbers: bytes  # as an array of doubles: a table may have millions
    sets: tuple[AtomSet, ...]
    span: Span = span_field()

    @property
    def weights(self) -> NDArray[np.float64]:
        """The factors."""
        return np.frombuffer(self.numbers, dtype=np.float64)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many values the sets have."""
        return tuple(len(each.values) for each in self.sets)


def read_table(file: SourceFile, piece: Piece, buffer: Buffer) -> Draft | None:
    """Read a table of factors; None if a statement that begins with ``#factor`` is none."""
    header = HEADER.match(file.text, piece.start, piece.end)
    if header is None:
        return None
    weights = _numbers(file, *header.span(1))
    at = header.end()
    if file.text[at : at + 1] != ":":
        _fail(file, (at, at + 1), "expected ':' after the numbers of a table", FORM)
    sets = tuple(_sets(file, at + 1, piece.end))
    needed = prod(len(each.values) for each in sets)
    if needed != len(weights):
        sizes = " × ".join(str(len(each.values)) for each in sets)
        sizes = f"{sizes} = {needed}" if len(sets) > 1 else str(needed)
        message = f"the table has {len(weights):,} numbers for {sizes} combinations"
        help = "write one number for each combination of the values, the last set fastest"
        _fail(file, (header.start(1) - 1, header.end(1) + 1), message, help, "factor-table-size")
    buffer.blank(piece.start, piece.end)
    span = file.span(piece.start, piece.end)
    return whole_statement(FactorTable(weights.tobytes(), sets, span))


def _fail(
    file: SourceFile,
    where: tuple[int, int],
    message: str,
    help: str,
    code: str = "factor-syntax",
) -> NoReturn:
    raise Refused(Diagnostic(code, message, file.span(*where), help), None)


def _numbers(file: SourceFile, start: int, end: int) -> NDArray[np.float64]:
    """The numbers between the braces."""
    text = file.text[start:end]
    if _REALS.fullmatch(text) is None:
        at = start
        for word in text.split(","):
            if _ONE.fullmatch(word) is None:
                shown = " ".join(word.split())
                message = f"'{shown}' is not a number" if shown else "a number is missing"
                help = "the factors of a table are plain numbers from 0 on, such as 2.5 or 1e-3"
                _fail(file, _trimmed(file, at, at + len(word)), message, help)
            at += len(word) + 1
    weights = np.fromstring(text, sep=",", dtype=np.float64)
    wrong = np.flatnonzero(~((weights >= 0) & (weights < inf)))
    if wrong.size:
        words, place = text.split(","), int(wrong[0])
        at = start + sum(len(word) + 1 for word in words[:place])
        shown = words[place].strip()
        large = weights[place] == inf
        message = f"{shown} is beyond the range of doubles" if large else f"{shown} is not a factor"
        help = "a factor is a number from 0 on; below 1 it makes models less probable"
        help = "divide all numbers of the table by one number" if large else help
        _fail(file, _trimmed(file, at, at + len(words[place])), message, help, "factor-range")
    return weights + 0.0  # no negative zero


def _trimmed(file: SourceFile, start: int, end: int) -> tuple[int, int]:
    """A slice without the space around it; at least one character."""
    text = file.text[start:end]
    start += len(text) - len(text.lstrip())
    return start, max(start + len(text.strip()), start + 1)


def _sets(file: SourceFile, at: int, end: int) -> Iterator[AtomSet]:
    text = file.text
    while True:
        match = _ATOM.match(text, at, end)
        balanced = match is not None and ("(" in match["before"]) == bool(
            match["end"] or match["after"]
        )
        if match is None or not balanced or match["before"].strip() == "not":
            help = f"{FORM} Atoms have at most one set, and no terms in their terms"
            _fail(file, _trimmed(file, at, end - 1), "an atom with a set belongs here", help)
        if variable := _VARIABLE.search(re.sub(r'"[^"]*"', "", match[0])):
            message = f"{variable[0]} is a variable, and the atoms of a table have none"
            help = "write a table for each value, or '#factor W : body.' with variables"
            _fail(file, _trimmed(file, *match.span()), message, help)
        yield _set(file, match)
        at = match.end()
        if text[at : at + 1] == "." and at + 1 == end:
            return
        if text[at : at + 1] != ",":
            _fail(file, (at, at + 1), "expected ',' or '.' after an atom", FORM)
        at += 1


def _set(file: SourceFile, match: re.Match[str]) -> AtomSet:
    before, written, after = match["before"], match["set"], match["after"] or match["end"] or ""
    if written is None:
        return AtomSet(before, None, after, ("",))
    values: list[str] = []
    at = match.start("set")
    for word in written.split(","):
        own = word.strip()
        span = _RANGE.fullmatch(own)
        if span is not None:
            first, last = int(span[1]), int(span[2])
            if last - first >= TUNING.pool_statements:
                message = f"a set of more than {TUNING.pool_statements:,} values"
                _fail(file, _trimmed(file, at, at + len(word)), message, FORM)
            values += map(str, range(first, last + 1))
        elif _VALUE.fullmatch(own):
            values.append(own if not own.lstrip("-").isdecimal() else str(int(own)))
        else:
            message = f"'{own}' is not a value of a set" if own else "a value is missing"
            help = "values are integers, names and strings; 0..3 stands for 0, 1, 2, 3"
            _fail(file, _trimmed(file, at, at + len(word)), message, help)
        at += len(word) + 1
    twice = next((value for value in values if values.count(value) > 1), None)
    if twice is not None or not values:
        message = "a set without values" if not values else f"{twice} is twice in this set"
        _fail(file, match.span("set"), message, "list each value once")
    return AtomSet(before, re.sub(r"\s+", "", written), after, tuple(values))


def table_text(statement: FactorTable) -> str:
    numbers = ", ".join(repr(number).removesuffix(".0") for number in statement.weights.tolist())
    return f"#factor {{{numbers}}} : {', '.join(map(str, statement.sets))}."


def check_tables(statements: Sequence[FactorTable], setting: Setting) -> Iterator[Diagnostic]:
    """Tables under another semantics."""
    if setting.meaning.probability is Probability.WEIGHTED:
        return
    for statement in statements:
        message = f"a factor has no meaning under {setting.meaning.probability.value}"
        yield Diagnostic("factor-semantics", message, statement.span, WEIGHTED)


KIND = Kind(
    FactorTable,
    table_text,
    recognise=lambda file, piece: False,  # the reader of #factor does
    check=check_tables,
    form="#factor {1, 2.5, 0, 4} : x({0,1}), y({a,b}).",
    about="a factor for each combination of the values, the last set fastest",
)
