"""Graphical models as programs: each row of a table is an annotated disjunction.

The format of the UAI competitions is read here. A Bayesian network becomes annotated disjunctions.
In a Markov network each variable becomes a choice of exactly one value, and each factor a table
(``#factor {…} : …``) under the weighted semantics. Evidence is in a file of its own (``.evid``).

>>> print(from_uai("MARKOV 1 2 1 1 0 2 0.5 1.5", "<text>"))
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
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import product
from math import isinf, prod
from pathlib import Path

from dpasp.converters import TUNING
from dpasp.converters.text import (
    Reader,
    Word,
    heading,
    is_name,
    quoted,
    slug,
    unused_name,
    words_of,
)
from dpasp.dataclass import dataclass
from dpasp.errors import ProgramError
from dpasp.language.text import SourceFile
from dpasp.language.text.source import load_text
from dpasp.semantics.dependencies import components

# --- Bayesian networks --------------------------------------------------------------------------


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
    """The tables are not those of a Bayesian network; ``variable`` is where."""

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


# --- UAI ------------------------------------------------------------------------------------------

EVIDENCE_HELP = "the format is: how many observations, then variable and value of each"
HELP = "the format is: BAYES or MARKOV, the sizes, the scopes, the tables"
AGRUM = "% (written by aGrUM, whose tables let the first parent change fastest)"
Scope = tuple[NetworkVariable, ...]
Factor = tuple[Scope, Sequence[str]]  # numbers in the order of the scope, the last fastest


def from_uai(text: str, file: str, evidence: str | Path | None = None) -> str:
    """Convert a network in UAI format, with the evidence of a file.

    Where none is named, it is that of the file beside the network's that is called like it with
    ``.evid`` at its end, if there is one.
    """
    reader = _UaiReader(text, file, HELP)
    kind, variables, factors = reader.read()
    names = VariableNames(variables)
    observed = _evidence(file, evidence, variables, names)
    if kind == "influence":
        from dpasp.converters.influence import from_uai_files  # which reads tables as this does

        try:
            converted = from_uai_files(variables, factors, file)
        except BadNetwork as error:
            raise ProgramError.at("foreign-syntax", str(error)) from error
        return converted + "".join(f"{line}\n" for line in observed)
    if kind == "Bayesian":
        lines = _bayesian(variables, factors, names)
    else:
        lines = list(_markov(variables, factors))
    semantics = "#semantics maxent." if kind == "Bayesian" else "#semantics weighted."
    head = heading(f"a {kind} network", file, semantics, *reader.notes)
    return head + "\n".join([*lines, *observed]) + "\n"


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
    pairs = _UaiReader(load_text(path), str(path), EVIDENCE_HELP).evidence(variables)
    if not pairs:
        return []
    literals = ", ".join(names.atom(variable, value) for variable, value in pairs)
    return ["", f"% evidence: {path.name}", f"#evidence {literals}."]


class _UaiReader(Reader):
    """Reads the words of a file; errors point at the last word that was read."""

    def __init__(self, text: str, file: str, help: str) -> None:
        plain = re.sub(r"#[^\n]*", lambda m: " " * len(m[0]), text)
        super().__init__(words_of(re.compile(r"(?P<word>\S+)"), plain), SourceFile(file, text))
        self.help = help
        self.by_agrum = "#" in text  # the format has no comments; aGrUM writes some
        self.notes: list[str] = []

    def read(self) -> tuple[str, list[NetworkVariable], list[Factor]]:
        kinds = {"BAYES": "Bayesian", "MARKOV": "Markov", "ID": "influence"}
        kind = kinds.get(word := self.take().text)
        if word == "LIMID":
            raise self.refuse("this does not say what is known when a decision is taken")
        if kind is None:
            raise self.refuse("a network begins with BAYES, MARKOV or ID")
        sizes = [self.size() for _ in range(self.count())]
        if sum(sizes) > TUNING.table_rows:
            raise self.refuse(f"variables with {sum(sizes):,} values in all")
        variables = [
            NetworkVariable(f"x{i}", tuple(map(str, range(size)))) for i, size in enumerate(sizes)
        ]
        scopes = [self.scope(variables) for _ in range(self.count())]
        factors = [(scope, self.table(scope, kind)) for scope in scopes]
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
            variable = self.variable(variables)
            value = str(self.count())
            number = variable.name[1:]
            if value not in variable.values:
                raise self.refuse(f"variable {number} has no value {value}")
            if found.setdefault(variable, value) != value:
                raise self.refuse(f"variable {number} is observed with two values")
        return list(found.items())

    def scope(self, variables: Sequence[NetworkVariable]) -> Scope:
        scope: list[NetworkVariable] = []
        for _ in range(self.count()):
            variable = self.variable(variables)
            if variable in scope:
                raise self.refuse(f"the variable {variable.name[1:]} is twice in this scope")
            scope.append(variable)
        return tuple(scope)

    def variable(self, variables: Sequence[NetworkVariable]) -> NetworkVariable:
        index = self.count()
        if index >= len(variables):
            raise self.refuse(f"there is no variable {index}; they count from 0")
        return variables[index]

    def table(self, scope: Scope, kind: str) -> Sequence[str]:
        size, expected = self.count(), row_count(scope)
        if size != expected:
            raise self.refuse(f"a table of {size} numbers where {expected} are needed")
        numbers = [self.number(negative=kind == "influence") for _ in range(size)]
        if not self.by_agrum or len(scope) < 2:
            return numbers
        # The format says that the last variable changes fastest. aGrUM (recognised by its
        # comments) writes and reads tables in which the first parent does after the child.
        if kind == "Markov":
            message = "aGrUM writes the scopes of Markov networks out of order"
            raise self.refuse(message, "write the network with another tool, or as BIF")
        self.notes = [AGRUM]
        *parents, child = scope
        keys = ((*reversed(key), value) for *key, value in value_rows((*parents[::-1], child)))
        table = dict(zip(keys, numbers, strict=True))
        return [table[values] for values in value_rows(scope)]

    def count(self) -> int:
        word = self.take().text
        if not (word.isascii() and word.isdigit()) or len(word) > 9:
            raise self.refuse(f"{word!r} is not a whole number")
        return int(word)

    def size(self) -> int:
        size = self.count()
        if size == 0:
            raise self.refuse("a variable has at least one value")
        return size

    def number(self, negative: bool = False) -> str:
        word = self.take().text
        plain = word.removeprefix("-") if negative else word
        if re.fullmatch(r"\+?(\d*\.?\d+|\d+\.)(?:[eE][-+]?\d+)?", plain) is None:
            raise self.refuse(f"{word!r} is not a number from 0")
        if isinf(float(word)):
            raise self.refuse(f"{word} is too large a number", "divide the table by its largest")
        return repr(float(word))

    def refuse(self, message: str, help: str = "", at: Word | None = None) -> ProgramError:
        if not self.words:
            message = "the file is empty"
        else:
            at = at or self.words[max(self.next - 1, 0)]
        return super().refuse(message, help or self.help, at)


def _bayesian(
    variables: Sequence[NetworkVariable], factors: Sequence[Factor], names: VariableNames
) -> list[str]:
    """The rows of all tables; the last variable of a scope is the child."""
    if not all(scope for scope, _ in factors):
        message = "a table of a Bayesian network has a variable: the last of its scope"
        raise ProgramError.at("foreign-syntax", message, help=HELP)
    tables = [by_rows(scope[-1], scope[:-1], numbers) for scope, numbers in factors]
    try:
        check_tables(tables, variables)
        return [line for table in tables for line in table.lines(names)]
    except BadNetwork as error:
        raise ProgramError.at("foreign-syntax", str(error), help=HELP) from error


def _markov(variables: Sequence[NetworkVariable], factors: Sequence[Factor]) -> Iterable[str]:
    """A choice for each variable, and a table for each factor."""
    for variable in variables:
        atoms = f"{variable.name}({_range(variable)})"
        yield f"1 {{{atoms}}} 1."
    yield ""
    for number, (scope, numbers) in enumerate(factors):
        if not any(map(float, numbers)):
            message = f"all numbers of factor {number} are 0"
            raise ProgramError.at("foreign-syntax", message)
        if not scope and variables:  # a constant, which only the sum of all weights sees
            scope, numbers = (variables[0],), [*numbers] * len(variables[0].values)
        sets = ", ".join(f"{variable.name}({{{_range(variable)}}})" for variable in scope)
        yield f"#factor {{{', '.join(numbers)}}} : {sets}."


def _range(variable: NetworkVariable) -> str:
    last = len(variable.values) - 1
    return f"0..{last}" if last else "0"
