"""Graphical models as programs: each row of a table is an annotated disjunction.

>>> rain = NetworkVariable("Rain", ("yes", "no"))
>>> wet = NetworkVariable("Wet", ("yes", "no"))
>>> names = VariableNames.of([rain, wet])
>>> print(row_text(table_row(wet, [rain], ["yes"], ["0.9", "0.1"]), names))
0.9::wet(yes); 0.1::wet(no) :- rain(yes).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import product
from math import prod

from dpasp.converters import TUNING
from dpasp.converters.rules import is_name, quoted, slug, unused_name
from dpasp.dataclass import dataclass
from dpasp.semantics.dependencies import components


@dataclass(frozen=True, slots=True)
class NetworkVariable:
    """A variable and its values."""

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NetworkRow:
    """A variable's distribution for one combination of its parents' values."""

    variable: NetworkVariable
    parents: tuple[tuple[NetworkVariable, str], ...]
    shares: tuple[str, ...]  # probabilities, as written where possible


class BadNetwork(Exception):
    """The tables are not those of a Bayesian network; ``variable`` is where."""

    def __init__(self, message: str, variable: NetworkVariable) -> None:
        super().__init__(message)
        self.variable = variable


def check_tables(
    tables: Sequence[tuple[NetworkVariable, Sequence[NetworkVariable]]],
    variables: Iterable[NetworkVariable],
) -> None:
    """Raise :class:`BadNetwork` unless every variable has one table and there is no cycle."""
    parents: dict[str, Sequence[NetworkVariable]] = {}
    for child, needed in tables:
        names = [variable.name for variable in needed]
        if child.name in parents:
            raise BadNetwork(f"{child.name} has two tables", child)
        if len(set(names)) < len(names):
            raise BadNetwork(f"a parent of {child.name} is named twice", child)
        parents[child.name] = needed
    by_name = {variable.name: variable for variable in variables}
    for variable in by_name.values():
        if variable.name not in parents:
            raise BadNetwork(f"the variable {variable.name} has no probabilities", variable)
    number = {name: i for i, name in enumerate(by_name)}
    below = [[number[parent.name] for parent in parents[name]] for name in by_name]
    component, _ = components(below)
    sizes = Counter(component)
    for i, variable in enumerate(by_name.values()):
        if sizes[component[i]] > 1 or i in below[i]:
            message = f"{variable.name} depends on itself, so this is not a Bayesian network"
            raise BadNetwork(message, variable)


@dataclass(frozen=True, slots=True)
class VariableNames:
    """The predicate of each variable."""

    predicates: dict[str, str]

    @staticmethod
    def of(variables: Iterable[NetworkVariable]) -> VariableNames:
        """Name a predicate for each variable, after the variable if possible."""
        by_variable: dict[str, str] = {}
        for variable in variables:
            wanted = variable.name if is_name(variable.name) else slug(variable.name)
            by_variable[variable.name] = unused_name(wanted, by_variable.values())
        return VariableNames(by_variable)

    def atom(self, variable: NetworkVariable, value: str) -> str:
        """The atom for a variable with a value."""
        return f"{self.predicates[variable.name]}({value_text(value, variable)})"

    def legend(self) -> list[str]:
        """Comments for the variables that had to be renamed."""
        return [f"% {new} is {old}" for old, new in self.predicates.items() if new != old]


def value_text(value: str, variable: NetworkVariable) -> str:
    """A value as a term: itself, in lower case, or as a string."""
    if re.fullmatch(r"0|-?[1-9]\d{0,8}", value) or is_name(value):
        return value
    small = value[:1].lower() + value[1:]
    return small if is_name(small) and small not in variable.values else quoted(value)


def table_row(
    variable: NetworkVariable,
    parents: Sequence[NetworkVariable],
    values: Sequence[str],
    numbers: Sequence[str],
) -> NetworkRow:
    """The row for some values of the parents.

    Numbers that were rounded are divided by their sum; :class:`BadNetwork` if they are no
    distribution.
    """
    try:
        floats = [float(number) for number in numbers]
    except ValueError as error:
        word = str(error).rpartition(": ")[2]
        raise BadNetwork(f"{variable.name}: {word} is not a number", variable) from error
    total = sum(floats)
    if any(not 0 <= number <= 1 + TUNING.row_slack for number in floats):
        raise BadNetwork(f"{variable.name}: a number that is not a probability", variable)
    if abs(total - 1) > TUNING.row_slack:
        message = f"{variable.name}: the probabilities sum to {total:g}, not to 1"
        raise BadNetwork(message, variable)
    if abs(total - 1) > TUNING.row_exact:
        numbers = [repr(number / total) for number in floats]
    shares = (text if number else "0" for text, number in zip(numbers, floats, strict=True))
    return NetworkRow(variable, tuple(zip(parents, values, strict=True)), tuple(shares))


def row_text(row: NetworkRow, names: VariableNames) -> str:
    """A row as an annotated disjunction, or as a plain rule if one value is certain."""
    pairs = [
        (share, names.atom(row.variable, value))
        for share, value in zip(row.shares, row.variable.values, strict=True)
        if float(share) > 0
    ]
    heads = [atom for _, atom in pairs]
    if len(pairs) > 1:
        heads = [f"{share}::{atom}" for share, atom in pairs]
    body = ", ".join(names.atom(variable, value) for variable, value in row.parents)
    return "; ".join(heads) + (f" :- {body}." if body else ".")


def row_count(variables: Sequence[NetworkVariable]) -> int:
    """Number of rows of a table with these parents."""
    return prod(len(variable.values) for variable in variables)


def value_rows(variables: Sequence[NetworkVariable]) -> Iterable[tuple[str, ...]]:
    """All combinations of values; those of the last variable change fastest."""
    return product(*(variable.values for variable in variables))
