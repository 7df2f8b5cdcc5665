"""Networks as programs: a variable is a predicate, each row of a table an annotated disjunction.

>>> rain = NetworkVariable("Rain", ("yes", "no"))
>>> wet = NetworkVariable("Wet", ("yes", "no"))
>>> names = VariableNames.of([rain, wet])
>>> print(row_text(NetworkRow(wet, ((rain, "yes"),), ("0.9", "0.1")), names))
0.9::wet(yes); 0.1::wet(no) :- rain(yes).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import product
from math import prod

from dpasp.converters.rules import is_name, quoted, slug, unused_name
from dpasp.dataclass import dataclass

SLACK = 1e-3  # tables are rounded; what is further from 1 is a mistake
EXACT = 1e-12
LARGEST = 1_000_000  # rows of a table, values of variables: nobody means more than that


@dataclass(frozen=True, slots=True)
class NetworkVariable:
    """A variable with the names of its values."""

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NetworkRow:
    """The distribution of a variable for some values of its parents."""

    variable: NetworkVariable
    parents: tuple[tuple[NetworkVariable, str], ...]
    numbers: tuple[str, ...]  # as they were written


class BadRow(Exception):
    """Numbers that are not a distribution; the message says why."""


class BadNetwork(Exception):
    """Tables that are not those of a Bayesian network; the message says why, for a variable."""

    def __init__(self, message: str, variable: NetworkVariable) -> None:
        super().__init__(message)
        self.variable = variable


def check_tables(
    tables: Sequence[tuple[NetworkVariable, Sequence[NetworkVariable]]],
    variables: Iterable[NetworkVariable],
) -> None:
    """Raise :class:`BadNetwork` unless every variable has one table and none needs itself."""
    parents: dict[str, Sequence[NetworkVariable]] = {}
    for child, needed in tables:
        names = [variable.name for variable in needed]
        if child.name in parents:
            raise BadNetwork(f"{child.name} has two tables", child)
        if len(set(names)) < len(names):
            raise BadNetwork(f"a parent of {child.name} is named twice", child)
        parents[child.name] = needed
    waiting = {variable.name: variable for variable in variables}
    for variable in waiting.values():
        if variable.name not in parents:
            raise BadNetwork(f"the variable {variable.name} has no probabilities", variable)
    free = [name for name in waiting if not parents[name]]
    left = {name: len(parents[name]) for name in waiting}
    children: dict[str, list[str]] = {name: [] for name in waiting}
    for name in waiting:
        for parent in parents[name]:
            children[parent.name].append(name)
    while free:
        done = free.pop()
        del waiting[done]
        for name in children[done]:
            left[name] -= 1
            if not left[name]:
                free.append(name)
    if waiting:
        first = next(v for v in waiting.values() if _needs_itself(v.name, parents))
        raise BadNetwork(f"{first.name} depends on itself, so this is no Bayesian network", first)


def _needs_itself(name: str, parents: dict[str, Sequence[NetworkVariable]]) -> bool:
    seen, todo = set[str](), [name]
    while todo:
        new = {parent.name for parent in parents[todo.pop()]} - seen
        if name in new:
            return True
        seen |= new
        todo += new
    return False


@dataclass(frozen=True, slots=True)
class VariableNames:
    """What variables are called as predicates."""

    predicates: dict[str, str]

    @staticmethod
    def of(variables: Iterable[NetworkVariable]) -> VariableNames:
        """A name for each variable, its own where that is possible."""
        by_variable: dict[str, str] = {}
        for variable in variables:
            wanted = variable.name if is_name(variable.name) else slug(variable.name)
            by_variable[variable.name] = unused_name(wanted, by_variable.values())
        return VariableNames(by_variable)

    def atom(self, variable: NetworkVariable, value: str) -> str:
        """The atom that says that a variable has a value."""
        return f"{self.predicates[variable.name]}({value_text(value, variable)})"

    def legend(self) -> list[str]:
        """Comments for the variables that are called otherwise."""
        return [f"% {new} is {old}" for old, new in self.predicates.items() if new != old]


def value_text(value: str, variable: NetworkVariable) -> str:
    """A value as a term: itself, with a small first letter where that is enough, or a text."""
    if re.fullmatch(r"0|-?[1-9]\d{0,8}", value) or is_name(value):
        return value
    small = value[:1].lower() + value[1:]
    return small if is_name(small) and small not in variable.values else quoted(value)


def normalised(numbers: Sequence[str]) -> list[str]:
    """Probabilities that sum to 1: as they were written, or divided by their sum if rounded."""
    values = [float(number) for number in numbers]
    total = sum(values)
    if any(not 0 <= value <= 1 + SLACK for value in values):
        raise BadRow("a number that is not a probability")
    if abs(total - 1) > SLACK:
        raise BadRow(f"the probabilities sum to {total:g}, not to 1")
    if abs(total - 1) <= EXACT:
        return [number if value else "0" for number, value in zip(numbers, values, strict=True)]
    return [repr(value / total) if value else "0" for value in values]


def row_text(row: NetworkRow, names: VariableNames) -> str:
    """A row as an annotated disjunction, or as a plain rule where one value is certain."""
    shares = normalised(row.numbers)
    pairs = [
        (share, names.atom(row.variable, value))
        for share, value in zip(shares, row.variable.values, strict=True)
        if float(share) > 0
    ]
    heads = [atom for _, atom in pairs]
    if len(pairs) > 1:
        heads = [f"{share}::{atom}" for share, atom in pairs]
    body = ", ".join(names.atom(variable, value) for variable, value in row.parents)
    return "; ".join(heads) + (f" :- {body}." if body else ".")


def row_count(variables: Sequence[NetworkVariable]) -> int:
    """How many rows a table with these parents has."""
    return prod(len(variable.values) for variable in variables)


def value_rows(variables: Sequence[NetworkVariable]) -> Iterable[tuple[str, ...]]:
    """All values of some variables, those of the last changing fastest."""
    return product(*(variable.values for variable in variables))
