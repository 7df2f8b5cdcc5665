"""Bayesian and Markov networks in the format of the UAI competitions.

A Bayesian network becomes annotated disjunctions. In a Markov network each variable becomes a
choice of exactly one value, and each factor a table (``#factor {…} : …``) under the weighted
semantics. Evidence is read from a file of the same competitions (``.evid``).

>>> print(converted("MARKOV 1 2 1 1 0 2 0.5 1.5", "<text>"))
% converted from a Markov network
#semantics weighted.
<BLANKLINE>
1 {x0(0..1)} 1.
<BLANKLINE>
#factor {0.5, 1.5} : x0({0..1}).
<BLANKLINE>
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import isinf, prod
from pathlib import Path

from dpasp.converters import TUNING, title
from dpasp.converters.network import (
    BadNetwork,
    NetworkRow,
    NetworkVariable,
    VariableNames,
    check_tables,
    row_text,
    table_row,
    value_rows,
)
from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, ProgramError
from dpasp.language.text import SourceFile
from dpasp.language.text.source import load_text

EVIDENCE_HELP = "the format is: how many observations, then variable and value of each"
HELP = "the format is: BAYES or MARKOV, the sizes, the scopes, the tables"


@dataclass(frozen=True, slots=True)
class Factor:
    """A table over some variables, indexed by their values."""

    scope: tuple[NetworkVariable, ...]
    listed: tuple[str, ...]  # in the order of the scope, the last variable fastest

    @property
    def numbers(self) -> dict[tuple[str, ...], str]:
        """The numbers by the values of the scope."""
        return dict(zip(value_rows(self.scope), self.listed, strict=True))


def converted(text: str, file: str, evidence: str | Path | None = None) -> str:
    """Convert a network in UAI format, with the evidence of a file.

    Where none is named, it is that of the file beside the network's that is called like it with
    ``.evid`` at its end, if there is one.
    """
    reader = _Reader(text, file)
    kind, variables, factors = reader.read()
    names = VariableNames.of(variables)
    semantics = "maxent" if kind == "Bayesian" else "weighted"
    head = [title(f"a {kind} network", file).rstrip(), f"#semantics {semantics}.", *reader.notes]
    observed = _evidence(file, evidence, variables, names)
    if kind == "Bayesian":
        _check_bayesian(variables, factors)
        lines = [row_text(row, names) for factor in factors for row in _rows(factor)]
    else:
        lines = list(_markov(variables, factors))
    return "\n".join([*head, "", *lines, *observed]) + "\n"


def _evidence(
    file: str,
    evidence: str | Path | None,
    variables: Sequence[NetworkVariable],
    names: VariableNames,
) -> list[str]:
    """The evidence as a statement, with the name of its file."""
    path = Path(f"{file}.evid" if evidence is None else evidence)
    if evidence is None and (file.startswith("<") or not path.is_file()):
        return []
    reader = _Reader(load_text(path), str(path), EVIDENCE_HELP)
    pairs = reader.evidence(variables)
    if not pairs:
        return []
    literals = ", ".join(names.atom(variable, value) for variable, value in pairs)
    return ["", f"% evidence: {path.name}", f"#evidence {literals}."]


class _Reader:
    """Reads the words of a file one after the other."""

    def __init__(self, text: str, file: str, help: str = "") -> None:
        self.help = help or HELP
        self.source = SourceFile(file, text)
        plain = re.sub(r"#[^\n]*", lambda m: " " * len(m[0]), text)
        self.words = [(m[0], m.start(), m.end()) for m in re.finditer(r"\S+", plain)]
        self.by_agrum = "#" in text  # the format has no comments; aGrUM writes some
        self.notes: list[str] = []
        self.next = 0

    def read(self) -> tuple[str, list[NetworkVariable], list[Factor]]:
        kind = {"BAYES": "Bayesian", "MARKOV": "Markov"}.get(self.word())
        if kind is None:
            raise self.refuse("a network begins with BAYES or MARKOV")
        sizes = [self.size() for _ in range(self.count())]
        if sum(sizes) > TUNING.table_rows:
            raise self.refuse(f"variables with {sum(sizes):,} values in all")
        variables = [
            NetworkVariable(f"x{i}", tuple(map(str, range(size)))) for i, size in enumerate(sizes)
        ]
        scopes = [self.scope(variables) for _ in range(self.count())]
        factors = [self.factor(scope, kind) for scope in scopes]
        if self.next < len(self.words):
            self.next += 1
            raise self.refuse("this is more than the network needs")
        return kind, variables, factors

    def evidence(self, variables: Sequence[NetworkVariable]) -> list[tuple[NetworkVariable, str]]:
        """How many, then variable and value; older files begin with one more number, 1."""
        count = self.count()
        if len(self.words) != 1 + 2 * count:
            count = self.count() if count == 1 and len(self.words) > 1 else count
        if len(self.words) - self.next != 2 * count:
            self.next = len(self.words)
            raise self.refuse(f"{count} observations are {2 * count} numbers: variable and value")
        found: dict[NetworkVariable, str] = {}
        for _ in range(count):
            index = self.count()
            if index >= len(variables):
                raise self.refuse(f"there is no variable {index}; they count from 0")
            value = str(self.count())
            if value not in variables[index].values:
                raise self.refuse(f"variable {index} has no value {value}")
            if found.setdefault(variables[index], value) != value:
                raise self.refuse(f"variable {index} is observed with two values")
        return list(found.items())

    def scope(self, variables: Sequence[NetworkVariable]) -> tuple[NetworkVariable, ...]:
        scope = []
        for _ in range(self.count()):
            index = self.count()
            if index >= len(variables):
                raise self.refuse(f"there is no variable {index}; they count from 0")
            if variables[index] in scope:
                raise self.refuse(f"the variable {index} is twice in this scope")
            scope.append(variables[index])
        return tuple(scope)

    def factor(self, scope: tuple[NetworkVariable, ...], kind: str) -> Factor:
        size, expected = self.count(), prod(len(variable.values) for variable in scope)
        if size != expected:
            raise self.refuse(f"a table of {size} numbers where {expected} are needed")
        numbers = tuple([self.number() for _ in range(size)])
        order = self.order(scope, kind)
        if order == scope:
            return Factor(scope, numbers)
        keys = (dict(zip(order, values, strict=True)) for values in value_rows(order))
        table = {
            tuple(key[variable] for variable in scope): number
            for key, number in zip(keys, numbers, strict=True)
        }
        return Factor(scope, tuple([table[values] for values in value_rows(scope)]))

    def order(self, scope: tuple[NetworkVariable, ...], kind: str) -> tuple[NetworkVariable, ...]:
        """The variables of a table, slowest-changing first.

        The format says: as listed. aGrUM (recognised by its comments) writes and reads tables in
        which the first parent changes fastest after the child.
        """
        if not self.by_agrum or len(scope) < 2:
            return scope
        if kind == "Markov":
            message = "aGrUM writes the scopes of Markov networks out of order"
            raise self.refuse(message, "write the network with another tool, or as BIF")
        note = "% (written by aGrUM, whose tables let the first parent change fastest)"
        self.notes = [note]
        return (*reversed(scope[:-1]), scope[-1])

    # --- words -------------------------------------------------------------------------------

    def word(self) -> str:
        if self.next >= len(self.words):
            raise self.refuse("the network ends too early")
        self.next += 1
        return self.words[self.next - 1][0]

    def count(self) -> int:
        word = self.word()
        if not (word.isascii() and word.isdigit()) or len(word) > 9:
            raise self.refuse(f"{word!r} is not a whole number")
        return int(word)

    def size(self) -> int:
        size = self.count()
        if size == 0:
            raise self.refuse("a variable has at least one value")
        return size

    def number(self) -> str:
        word = self.word()
        if re.fullmatch(r"\+?(\d*\.?\d+|\d+\.)(?:[eE][-+]?\d+)?", word) is None:
            raise self.refuse(f"{word!r} is not a number from 0")
        if isinf(float(word)):
            raise self.refuse(f"{word} is too large a number", "divide the table by its largest")
        return repr(float(word))

    def refuse(self, message: str, help: str = "") -> ProgramError:
        """An error that points at the last word read."""
        help = help or self.help
        if not self.words:
            return ProgramError(Diagnostic("foreign-syntax", "the file is empty", help=help))
        _, start, end = self.words[max(self.next - 1, 0)]
        span = self.source.span(start, end)
        return ProgramError(Diagnostic("foreign-syntax", message, span, help))


def _check_bayesian(variables: Sequence[NetworkVariable], factors: Sequence[Factor]) -> None:
    for factor in factors:
        if not factor.scope:
            message = "a table of a Bayesian network has a variable: the last of its scope"
            raise ProgramError(Diagnostic("foreign-syntax", message, help=HELP))
    try:
        check_tables([(f.scope[-1], f.scope[:-1]) for f in factors], variables)
    except BadNetwork as error:
        raise ProgramError(Diagnostic("foreign-syntax", str(error), help=HELP)) from error


def _rows(factor: Factor) -> Iterable[NetworkRow]:
    """The rows of a table; the last variable of its scope is the child."""
    *parents, child = factor.scope
    size = len(child.values)
    for place, values in enumerate(value_rows(parents)):
        numbers = list(factor.listed[place * size : (place + 1) * size])
        try:
            yield table_row(child, parents, values, numbers)
        except BadNetwork as error:
            message = f"the table for ({', '.join(values)}): {error}"
            raise ProgramError(Diagnostic("foreign-syntax", message)) from error


def _markov(variables: Sequence[NetworkVariable], factors: Sequence[Factor]) -> Iterable[str]:
    """A choice for each variable, and a table for each factor."""
    for variable in variables:
        atoms = f"{variable.name}({_range(variable)})"
        yield f"1 {{{atoms}}} 1." if len(variable.values) > 1 else f"{variable.name}(0)."
    yield ""
    for number, factor in enumerate(factors):
        if not any(map(float, factor.listed)):
            message = f"all numbers of factor {number} are 0"
            raise ProgramError(Diagnostic("foreign-syntax", message))
        scope, numbers = factor.scope, factor.listed
        if not scope and variables:  # a constant, which only the sum of all weights sees
            scope, numbers = (variables[0],), numbers * len(variables[0].values)
        sets = ", ".join(f"{variable.name}({{{_range(variable)}}})" for variable in scope)
        yield f"#factor {{{', '.join(numbers)}}} : {sets}."


def _range(variable: NetworkVariable) -> str:
    last = len(variable.values) - 1
    return f"0..{last}" if last else "0"
