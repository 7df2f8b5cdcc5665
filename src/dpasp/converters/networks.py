"""Graphical models as programs: each row of a table is an annotated disjunction.

A Bayesian network is a :class:`Diagram` without decisions. A decision becomes ``#decision 1
{d(yes); d(no)} 1 :- seen(X).``, so that a strategy says what to do in each case; a utility becomes
``#utility`` statements. A decision knows only its parents, so a diagram must have arcs for
everything that is to be remembered.

Diagrams in XML are read here: XMLBIF, and XDSL, the format of GeNIe.

>>> text = '''<smile><nodes>
... <cpt id="rain"><state id="yes"/><state id="no"/><probabilities>0.3 0.7</probabilities></cpt>
... <decision id="hat"><state id="on"/><state id="off"/><parents>rain</parents></decision>
... <utility id="u"><parents>rain hat</parents><utilities>5 -9 1 2</utilities></utility>
... </nodes></smile>'''
>>> print(from_xdsl(text, "<text>"))
% converted from an influence diagram
#semantics maxent.
<BLANKLINE>
0.3::rain(yes); 0.7::rain(no).
#decision 1 {hat(on); hat(off)} 1 :- rain(A).
#utility 5 : rain(yes), hat(on).
#utility -9 : rain(yes), hat(off).
#utility 1 : rain(no), hat(on).
#utility 2 : rain(no), hat(off).
#decide.
<BLANKLINE>
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import product
from math import isfinite, prod
from typing import NamedTuple
from xml.etree import ElementTree

from dpasp.converters import TUNING
from dpasp.converters.text import heading, is_name, quoted, slug, unused_name
from dpasp.dataclass import dataclass
from dpasp.errors import ProgramError, Span
from dpasp.language.text import SourceFile
from dpasp.semantics.dependencies import components
from dpasp.writing import counted

SEMANTICS = "#semantics maxent."
CONSTANT = "constant"  # an atom that always holds, for utilities without parents


@dataclass(frozen=True, slots=True)
class NetworkVariable:
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
    """The tables do not form a network; ``variable`` is the place of the problem."""

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


def table_of(
    child: NetworkVariable, parents: Sequence[NetworkVariable], numbers: Sequence[str]
) -> Table:
    """The table of a list of numbers in which the child's values change fastest."""
    size, count = len(child.values), row_count(parents)
    if len(numbers) != size * count:
        message = (
            f"{child.name}: {counted(len(numbers), 'number')} where {size * count:,} are needed"
        )
        raise BadNetwork(message, child.name)
    rows = {v: numbers[i * size : (i + 1) * size] for i, v in enumerate(value_rows(parents))}
    return Table(child, tuple(parents), rows)


# --- influence diagrams ---------------------------------------------------------------------------

Parents = tuple[NetworkVariable, ...]


class Payoff(NamedTuple):
    """The utility of each combination of the parents' values, the last fastest."""

    name: str
    parents: Parents
    numbers: Sequence[str]

    def lines(self, names: VariableNames) -> Iterator[str]:
        """A utility for each number but 0."""
        if len(set(self.parents)) < len(self.parents):
            raise BadNetwork(f"a parent of {self.name} is named twice", self.name)
        if len(self.numbers) != row_count(self.parents):
            needed = f"{row_count(self.parents):,}"
            message = (
                f"{self.name}: {counted(len(self.numbers), 'number')} where {needed} are needed"
            )
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
        """The program; raises :class:`BadNetwork` if the diagram makes no sense."""
        for variable in self.variables:
            if not variable.values or len(set(variable.values)) < len(variable.values):
                what = "is named twice" if variable.values else "is missing"
                raise BadNetwork(f"a value of {variable.name} {what}", variable.name)
        for table in self.tables:
            if table.child in self.known:
                name = table.child.name
                raise BadNetwork(f"the variable {name} is decided, but has probabilities", name)
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
        parents = self.known[decision]
        letters = [*"ABCDEFGH", *(f"A{i}" for i in range(8, len(parents)))]
        pairs = zip(parents, letters, strict=False)
        body = ", ".join(f"{names.predicates[v.name]}({letter})" for v, letter in pairs)
        return f"#decision 1 {{{atoms}}} 1{' :- ' if body else ''}{body}."


# --- in XML ---------------------------------------------------------------------------------------

Element = ElementTree.Element


def from_xmlbif(text: str, file: str) -> str:
    return _from_xml(text, file, _xmlbif)


def from_xdsl(text: str, file: str) -> str:
    return _from_xml(text, file, _xdsl)


def _from_xml(text: str, file: str, read: Callable[[Element], Diagram]) -> str:
    source = SourceFile(file, text)
    parser = ElementTree.XMLParser(target=ElementTree.TreeBuilder(insert_comments=True))
    try:
        return read(ElementTree.fromstring(text, parser)).text(file)
    except ElementTree.ParseError as error:
        line, column = error.position
        span = Span(file, line, column + 1, line, column + 2)
        message = f"this is not XML: {error.msg.split(':')[0]}"
        raise ProgramError.at("foreign-syntax", message, span) from error
    except BadNetwork as error:
        place = _place(source, error.variable)
        raise ProgramError.at("foreign-syntax", str(error), place) from error


def _place(source: SourceFile, name: str) -> Span | None:
    """Where a variable's table is, or its name."""
    word = re.escape(name)
    for pattern in (rf"<FOR>\s*{word}\s*</FOR>", rf">\s*{word}\s*<", rf'id="{word}"'):
        if name and (match := re.search(pattern, source.text)):
            return source.span(*match.span())
    return None


def _text(element: Element, tag: str) -> str:
    child = element.find(tag)
    return "" if child is None else "".join(child.itertext()).strip()


def _notes(element: Element) -> list[str]:
    """The comments directly inside an element."""
    return [f"% {' '.join((e.text or '').split())}" for e in element if callable(e.tag)]


def _variable(variables: dict[str, NetworkVariable], name: str, of: str) -> NetworkVariable:
    """The variable with a name in the definition of another one."""
    if name not in variables:
        raise BadNetwork(f"{of}: there is no variable {name}", of)
    return variables[name]


def _xmlbif(root: Element) -> Diagram:
    network = root if root.tag == "NETWORK" else root.find("NETWORK")
    if network is None:
        raise BadNetwork("there is no NETWORK in this file", "")
    variables: dict[str, NetworkVariable] = {}
    kinds: dict[str, str] = {}
    for element in network.iter("VARIABLE"):
        name, kind = _text(element, "NAME"), element.get("TYPE", "nature")
        if kind not in ("nature", "decision", "utility"):
            raise BadNetwork(f"{name}: variables of the kind {kind} have no counterpart", name)
        if name in variables:
            raise BadNetwork(f"the variable {name} occurs twice", name)
        values = tuple((outcome.text or "").strip() for outcome in element.iter("OUTCOME"))
        variables[name], kinds[name] = NetworkVariable(name, values), kind
    known: dict[NetworkVariable, Parents] = {
        variable: () for name, variable in variables.items() if kinds[name] == "decision"
    }
    tables, payoffs = [], []
    for element in network:
        if element.tag not in ("DEFINITION", "PROBABILITY"):
            continue
        name = _text(element, "FOR")
        variable = _variable(variables, name, name)
        given = [(parent.text or "").strip() for parent in element.iter("GIVEN")]
        parents = tuple(_variable(variables, one, name) for one in given)
        if any(kinds[one] == "utility" for one in given):
            raise BadNetwork(f"{name} depends on a utility, which has no counterpart", name)
        numbers = _text(element, "TABLE").split()
        match kinds[name]:
            case "nature":
                tables.append(table_of(variable, parents, numbers))
            case "decision":
                known[variable] = parents
            case _:
                payoffs.append(Payoff(name, parents, numbers))
    ours = [variable for name, variable in variables.items() if kinds[name] != "utility"]
    return Diagram(ours, tables, known, payoffs, _notes(network))


def _xdsl(root: Element) -> Diagram:
    nodes = root.find("nodes")
    if nodes is None:
        raise BadNetwork("there are no nodes in this file", "")
    variables: dict[str, NetworkVariable] = {}
    for node in nodes:
        name = node.get("id", "")
        if node.tag in ("cpt", "decision", "deterministic"):
            values = tuple(state.get("id", "") for state in node.iter("state"))
            variables[name] = NetworkVariable(name, values)
        elif node.tag != "utility" and not callable(node.tag):
            raise BadNetwork(f"{name}: nodes of the kind {node.tag} have no counterpart", name)
    tables, known, payoffs = [], {}, []
    for node in nodes:
        name = node.get("id", "")
        parents = tuple(_variable(variables, one, name) for one in _text(node, "parents").split())
        match node.tag:
            case "decision":
                known[variables[name]] = parents
            case "utility":
                payoffs.append(Payoff(name, parents, _text(node, "utilities").split()))
            case "cpt":
                numbers = _text(node, "probabilities").split()
                tables.append(table_of(variables[name], parents, numbers))
            case "deterministic":
                states = _text(node, "resultingstates").split()
                shares = [str(int(v == s)) for s in states for v in variables[name].values]
                tables.append(table_of(variables[name], parents, shares))
    return Diagram(list(variables.values()), tables, known, payoffs, _notes(nodes))
