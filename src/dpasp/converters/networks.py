"""Graphical models as programs: each row of a table is an annotated disjunction.

A Bayesian network is a :class:`Diagram` in which nothing is decided. A decision becomes
``#decision 1 {d(yes); d(no)} 1 :- seen(X).``, so that a strategy says what to do in each case; a
utility becomes ``#utility`` statements. A decision knows what its arcs say, and no more: where a
diagram leaves it to the reader that earlier decisions are remembered, it must have the arcs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import product
from math import isfinite, prod
from typing import NamedTuple

from dpasp.converters import TUNING
from dpasp.converters.text import heading, is_name, quoted, slug, unused_name
from dpasp.dataclass import dataclass
from dpasp.semantics.dependencies import components

SEMANTICS = "#semantics maxent."
CONSTANT = "constant"  # an atom that always holds, for utilities without parents


@dataclass(frozen=True, slots=True)
class NetworkVariable:
    """A variable and its values."""

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """The distribution of a variable for each combination of its parents' values."""

    child: NetworkVariable
    parents: tuple[NetworkVariable, ...]
    rows: dict[tuple[str, ...], Sequence[str]]  # probabilities, as written where possible

    def lines(self, names: VariableNames) -> list[str]:
        """The rows as annotated disjunctions, or plain rules where one value is certain."""
        return [self._line(values, numbers, names) for values, numbers in self.rows.items()]

    def _line(self, values: Sequence[str], numbers: Sequence[str], names: VariableNames) -> str:
        shares = zip(self._shares(numbers), self.child.values, strict=True)
        pairs = [(p, names.atom(self.child, value)) for p, value in shares if float(p) > 0]
        heads = [f"{p}::{atom}" for p, atom in pairs] if len(pairs) > 1 else [pairs[0][1]]
        body = ", ".join(map(names.atom, self.parents, values))
        return "; ".join(heads) + (f" :- {body}." if body else ".")

    def _shares(self, numbers: Sequence[str]) -> Sequence[str]:
        """The numbers of a row, divided by their sum where they were rounded."""
        name = self.child.name
        try:
            floats = [float(number) for number in numbers]
        except ValueError as error:
            word = str(error).rpartition(": ")[2]
            raise BadNetwork(f"{name}: {word} is not a number", name) from error
        total = sum(floats)
        if any(not 0 <= number <= 1 + TUNING.row_slack for number in floats):
            raise BadNetwork(f"{name}: a number that is not a probability", name)
        if abs(total - 1) > TUNING.row_slack:
            raise BadNetwork(f"{name}: the probabilities sum to {total:g}, not to 1", name)
        if abs(total - 1) > TUNING.row_exact:
            return [repr(number / total) for number in floats]
        return numbers


class BadNetwork(Exception):
    """The tables are not those of a network; ``variable`` is where."""

    def __init__(self, message: str, variable: str) -> None:
        super().__init__(message)
        self.variable = variable


def check_tables(tables: Sequence[Table], variables: Iterable[NetworkVariable]) -> None:
    """Raise :class:`BadNetwork` unless every variable has one table and there is no cycle."""
    parents: dict[str, list[str]] = {}
    for table in tables:
        child = table.child.name
        names = [variable.name for variable in table.parents]
        if child in parents:
            raise BadNetwork(f"{child} has two tables", child)
        if len(set(names)) < len(names):
            raise BadNetwork(f"a parent of {child} is named twice", child)
        parents[child] = names
    number = {variable.name: i for i, variable in enumerate(variables)}
    for name in number:
        if name not in parents:
            raise BadNetwork(f"the variable {name} has no probabilities", name)
    below = [[number[parent] for parent in parents[name]] for name in number]
    component, _ = components(below)
    sizes = Counter(component)
    for name, i in number.items():
        if sizes[component[i]] > 1 or i in below[i]:
            raise BadNetwork(f"{name} depends on itself, so this is not a Bayesian network", name)


class VariableNames:
    """The predicate of each variable, named after it if possible."""

    def __init__(self, variables: Iterable[NetworkVariable]) -> None:
        self.predicates: dict[str, str] = {}
        for variable in variables:
            wanted = variable.name if is_name(variable.name) else slug(variable.name)
            self.predicates[variable.name] = unused_name(wanted, self.predicates.values())

    def atom(self, variable: NetworkVariable, value: str) -> str:
        """The atom for a variable with a value: itself, in lower case, or as a string."""
        if not re.fullmatch(r"0|-?[1-9]\d{0,8}", value) and not is_name(value):
            small = value.lower() if value.isupper() else value[:1].lower() + value[1:]
            alone = sum(other.lower() == small.lower() for other in variable.values) == 1
            value = small if is_name(small) and alone else quoted(value)
        return f"{self.predicates[variable.name]}({value})"

    def legend(self) -> list[str]:
        """Comments for the variables that had to be renamed."""
        return [f"% {new} is {old}" for old, new in self.predicates.items() if new != old]


def row_count(variables: Sequence[NetworkVariable]) -> int:
    """Number of combinations of the values of some variables."""
    return prod(len(variable.values) for variable in variables)


def value_rows(variables: Sequence[NetworkVariable]) -> Iterable[tuple[str, ...]]:
    """All combinations of values; those of the last variable change fastest."""
    return product(*(variable.values for variable in variables))


def by_rows(
    child: NetworkVariable, parents: Sequence[NetworkVariable], numbers: Sequence[str]
) -> Table:
    """The table of a list of numbers in which the child's values change fastest."""
    size = len(child.values)
    rows = {v: numbers[i * size : (i + 1) * size] for i, v in enumerate(value_rows(parents))}
    return Table(child, tuple(parents), rows)


def table_of(
    child: NetworkVariable, parents: Sequence[NetworkVariable], numbers: Sequence[str]
) -> Table:
    """The table of a list of numbers, of which there have to be enough."""
    needed = len(child.values) * row_count(parents)
    if len(numbers) != needed:
        message = f"{child.name}: {len(numbers)} numbers where {needed:,} are needed"
        raise BadNetwork(message, child.name)
    return by_rows(child, parents, numbers)


# --- influence diagrams ---------------------------------------------------------------------------

Parents = tuple[NetworkVariable, ...]


class Payoff(NamedTuple):
    """What each combination of the parents' values is worth, the last fastest."""

    name: str
    parents: Parents
    numbers: Sequence[str]

    def lines(self, names: VariableNames) -> Iterator[str]:
        """A utility for each number but 0."""
        if len(set(self.parents)) < len(self.parents):
            raise BadNetwork(f"a parent of {self.name} is named twice", self.name)
        if len(self.numbers) != row_count(self.parents):
            needed = f"{row_count(self.parents):,}"
            message = f"{self.name}: {len(self.numbers)} numbers where {needed} are needed"
            raise BadNetwork(message, self.name)
        for values, number in zip(value_rows(self.parents), self.numbers, strict=True):
            if not _is_finite(number):
                raise BadNetwork(f"{self.name}: {number} is not a finite number", self.name)
            if float(number):
                atoms = ", ".join(map(names.atom, self.parents, values))
                yield f"#utility {number} : {atoms or CONSTANT}."


def _is_finite(number: str) -> bool:
    try:
        return isfinite(float(number)) and "_" not in number
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Diagram:
    """The parts of a network or an influence diagram.

    ``variables`` are left to chance, with a table each, or decided: ``known`` has their parents.
    """

    variables: Sequence[NetworkVariable]
    tables: Sequence[Table]
    known: Mapping[NetworkVariable, Parents] = field(default_factory=dict)
    payoffs: Sequence[Payoff] = ()
    notes: Sequence[str] = ()

    def text(self, file: str) -> str:
        """The program; raises :class:`BadNetwork` where the diagram makes no sense."""
        for variable in self.variables:
            if not variable.values or len(set(variable.values)) < len(variable.values):
                what = "is named twice" if variable.values else "is missing"
                raise BadNetwork(f"a value of {variable.name} {what}", variable.name)
        for table in self.tables:
            if table.child in self.known:
                name = table.child.name
                raise BadNetwork(f"the variable {name} is decided, and has probabilities", name)
        names = VariableNames(self.variables)
        decided = [Table(decision, parents, {}) for decision, parents in self.known.items()]
        check_tables([*self.tables, *decided], self.variables)
        if bool(self.known) != bool(self.payoffs):
            missing = "utilities" if self.known else "decisions"
            raise BadNetwork(f"this diagram has no {missing}", "")
        lines = [line for table in self.tables for line in table.lines(names)]
        lines += [self._decision(decision, names) for decision in self.known]
        if not all(payoff.parents for payoff in self.payoffs):
            lines.append(f"{CONSTANT}.")
        lines += [line for payoff in self.payoffs for line in payoff.lines(names)]
        lines += ["#decide."] * bool(self.known)
        system = "an influence diagram" if self.known else "a Bayesian network"
        head = heading(system, file, SEMANTICS, *names.legend(), *self.notes)
        return head + "\n".join(lines) + "\n"

    def _decision(self, decision: NetworkVariable, names: VariableNames) -> str:
        atoms = "; ".join(names.atom(decision, value) for value in decision.values)
        pairs = enumerate(self.known[decision])
        body = ", ".join(f"{names.predicates[v.name]}({_letter(i)})" for i, v in pairs)
        return f"#decision 1 {{{atoms}}} 1{' :- ' if body else ''}{body}."


def _letter(number: int) -> str:
    return "ABCDEFGH"[number] if number < 8 else f"A{number}"
