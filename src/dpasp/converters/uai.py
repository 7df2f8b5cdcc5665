"""Bayesian and Markov networks in the format of the UAI competitions.

A Bayesian network becomes annotated disjunctions. In a Markov network each factor is scaled so
that its largest entry is 1; an entry becomes a fact with that probability and a constraint that
requires the fact where the variables have those values. Conditioning on the constraints
normalises the product.

>>> print(converted("MARKOV 1 2 1 1 0 2 0.5 1.5", "<text>"))
% converted from a Markov network
#semantics maxent.
<BLANKLINE>
0.25::x0(0); 0.75::x0(1).
<BLANKLINE>
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import exp, inf, isinf, log, prod

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

HELP = "the format is: BAYES or MARKOV, the sizes, the scopes, the tables"


@dataclass(frozen=True, slots=True)
class Factor:
    """A table over some variables, indexed by their values."""

    scope: tuple[NetworkVariable, ...]
    numbers: dict[tuple[str, ...], str]


def converted(text: str, file: str) -> str:
    """Convert a network in UAI format."""
    reader = _Reader(text, file)
    kind, variables, factors = reader.read()
    names = VariableNames.of(variables)
    head = [title(f"a {kind} network", file).rstrip(), "#semantics maxent.", *reader.notes, ""]
    if kind == "Bayesian":
        _check_bayesian(variables, factors)
        lines = [row_text(row, names) for factor in factors for row in _rows(factor)]
    else:
        lines = list(_markov(variables, factors, names))
    return "\n".join([*head, *lines]) + "\n"


class _Reader:
    """Reads the words of a file one after the other."""

    def __init__(self, text: str, file: str) -> None:
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
        numbers = [self.number() for _ in range(size)]
        order = self.order(scope, kind)
        keys = (dict(zip(order, values, strict=True)) for values in value_rows(order))
        table = {
            tuple(key[variable] for variable in scope): number
            for key, number in zip(keys, numbers, strict=True)
        }
        return Factor(scope, table)

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

    def refuse(self, message: str, help: str = HELP) -> ProgramError:
        """An error that points at the last word read."""
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
    for values in value_rows(parents):
        numbers = [factor.numbers[(*values, value)] for value in child.values]
        try:
            yield table_row(child, parents, values, numbers)
        except BadNetwork as error:
            message = f"the table for ({', '.join(values)}): {error}"
            raise ProgramError(Diagnostic("foreign-syntax", message)) from error


def _markov(
    variables: Sequence[NetworkVariable], factors: Sequence[Factor], names: VariableNames
) -> Iterable[str]:
    for variable in variables:
        single = [factor for factor in factors if factor.scope == (variable,)]
        numbers = [[float(f.numbers[(value,)]) for f in single] for value in variable.values]
        if not any(map(all, numbers)):
            message = f"no value of {variable.name} has a weight above 0"
            raise ProgramError(Diagnostic("foreign-syntax", message))
        weights = [prod(of_value) for of_value in numbers]
        possible = [i for i, of_value in enumerate(numbers) if all(of_value)]
        if sum(weights) == inf or not all(weights[i] for i in possible):
            logs = [sum(map(log, n)) if all(n) else -inf for n in numbers]
            weights = [exp(weight - max(logs)) for weight in logs]
        if not all(weights[i] for i in possible):
            raise _too_far_apart(variable.name)
        shares = [repr(weight / sum(weights)) for weight in weights]
        yield row_text(table_row(variable, (), (), shares), names)
    for number, factor in enumerate(f for f in factors if len(f.scope) > 1):
        yield ""
        yield from _factor(f"factor{number}", factor, names)


def _too_far_apart(name: str) -> ProgramError:
    message = f"the weights of {name} are too far apart: one vanishes beside another"
    help = "write 0 where a value is impossible"
    return ProgramError(Diagnostic("foreign-syntax", message, help=help))


def _factor(name: str, factor: Factor, names: VariableNames) -> Iterable[str]:
    """A fact for each entry below the largest, and the constraint that requires it."""
    weights = {values: float(text) for values, text in factor.numbers.items()}
    largest = max(weights.values())
    if largest == 0:
        raise ProgramError(Diagnostic("foreign-syntax", f"all numbers of {name} are 0"))
    for number, (values, weight) in enumerate(weights.items()):
        pairs = zip(factor.scope, values, strict=True)
        body = ", ".join(names.atom(variable, value) for variable, value in pairs)
        if weight == 0:
            yield f":- {body}."
        elif weight / largest == 0:
            raise _too_far_apart(name)
        elif weight < largest:
            yield f"{weight / largest!r}::{name}({number}). :- {body}, not {name}({number})."
