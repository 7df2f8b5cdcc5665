"""Influence diagrams: what is left to chance, what is decided knowing what, and what it is worth.

A decision becomes ``#decision 1 {d(yes); d(no)} 1 :- seen(X).``, so that a strategy says what to do
in each case; a utility becomes ``#utility`` statements. A decision knows what its arcs say, and no
more: where a diagram leaves it to the reader that earlier decisions are remembered, it must have
the arcs. They are read from XMLBIF (with ``bif``), from XDSL and from UAI files.

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

from collections.abc import Iterator, Sequence
from math import isfinite
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from dpasp.converters.networks import (
    BadNetwork,
    NetworkVariable,
    Table,
    VariableNames,
    by_rows,
    check_tables,
    row_count,
    value_rows,
)
from dpasp.converters.text import heading
from dpasp.dataclass import dataclass
from dpasp.errors import ProgramError
from dpasp.language.text.source import load_text

SYSTEM = "an influence diagram"
CONSTANT = "constant"  # an atom that always holds, for utilities without parents
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
    """The parts of an influence diagram; ``known`` are the parents of each decision."""

    tables: Sequence[Table]
    known: dict[NetworkVariable, Parents]
    payoffs: Sequence[Payoff]

    def text(self, file: str, *notes: str) -> str:
        """The program; raises :class:`BadNetwork` where the diagram makes no sense."""
        chance = [table.child for table in self.tables]
        for name, values in ((v.name, v.values) for v in (*chance, *self.known)):
            if not values or len(set(values)) < len(values):
                what = "is named twice" if values else "is missing"
                raise BadNetwork(f"a value of {name} {what}", name)
        names = VariableNames([*chance, *self.known])
        decided = [Table(d, parents, {}) for d, parents in self.known.items()]
        check_tables([*self.tables, *decided], [*chance, *self.known])
        if not self.known or not self.payoffs:
            missing = "decisions" if not self.known else "utilities"
            raise BadNetwork(f"this diagram has no {missing}", "")
        lines = [line for table in self.tables for line in table.lines(names)]
        lines += [self._decision(decision, names) for decision in self.known]
        if not all(payoff.parents for payoff in self.payoffs):
            lines.append(f"{CONSTANT}.")
        lines += [line for payoff in self.payoffs for line in payoff.lines(names)]
        head = heading(SYSTEM, file, "#semantics maxent.", *names.legend(), *notes)
        return head + "\n".join([*lines, "#decide."]) + "\n"

    def _decision(self, decision: NetworkVariable, names: VariableNames) -> str:
        atoms = "; ".join(names.atom(decision, value) for value in decision.values)
        pairs = enumerate(self.known[decision])
        body = ", ".join(f"{names.predicates[v.name]}({_letter(i)})" for i, v in pairs)
        return f"#decision 1 {{{atoms}}} 1{' :- ' if body else ''}{body}."


def _letter(number: int) -> str:
    return "ABCDEFGH"[number] if number < 8 else f"A{number}"


# --- XDSL -----------------------------------------------------------------------------------------


def from_xdsl(text: str, file: str) -> str:
    """Convert an influence diagram in XDSL, the format of GeNIe."""
    try:
        root = ElementTree.fromstring(text)
        return _xdsl(root).text(file)
    except ElementTree.ParseError as error:
        message = f"this is not XML: {error.msg.split(':')[0]}"
        raise ProgramError.at("foreign-syntax", message) from error
    except BadNetwork as error:
        raise ProgramError.at("foreign-syntax", str(error)) from error


def _xdsl(root: ElementTree.Element) -> Diagram:
    nodes = root.find("nodes")
    if nodes is None:
        raise BadNetwork("there are no nodes in this file", "")
    variables: dict[str, NetworkVariable] = {}
    for node in nodes:
        name = node.get("id", "")
        if node.tag in ("cpt", "decision", "deterministic"):
            values = tuple(state.get("id", "") for state in node.iter("state"))
            variables[name] = NetworkVariable(name, values)
        elif node.tag != "utility":
            raise BadNetwork(f"{name}: nodes of the kind {node.tag} have no counterpart", name)
    tables, known, payoffs = [], {}, []
    for node in nodes:
        name = node.get("id", "")
        parents = tuple(_parent(variables, name, one) for one in _words(node, "parents"))
        match node.tag:
            case "decision":
                known[variables[name]] = parents
            case "utility":
                payoffs.append(Payoff(name, parents, _words(node, "utilities")))
            case "cpt":
                numbers = _words(node, "probabilities")
                tables.append(table_of(variables[name], parents, numbers))
            case _:
                states = _words(node, "resultingstates")
                shares = [str(int(v == s)) for s in states for v in variables[name].values]
                tables.append(table_of(variables[name], parents, shares))
    return Diagram(tables, known, payoffs)


def _words(node: ElementTree.Element, tag: str) -> list[str]:
    child = node.find(tag)
    return [] if child is None else (child.text or "").split()


def _parent(variables: dict[str, NetworkVariable], of: str, name: str) -> NetworkVariable:
    if name not in variables:
        raise BadNetwork(f"{of}: there is no variable {name}", of)
    return variables[name]


def table_of(child: NetworkVariable, parents: Parents, numbers: Sequence[str]) -> Table:
    """A table in which the child's values change fastest, then the last parent's."""
    needed = len(child.values) * row_count(parents)
    if len(numbers) != needed:
        message = f"{child.name}: {len(numbers)} numbers where {needed:,} are needed"
        raise BadNetwork(message, child.name)
    return by_rows(child, parents, numbers)


# --- UAI ------------------------------------------------------------------------------------------


def from_uai_files(
    variables: Sequence[NetworkVariable],
    factors: Sequence[tuple[Parents, Sequence[str]]],
    file: str,
) -> str:
    """Convert a diagram in UAI format, of which two files beside it say the rest.

    ``.id`` says which variables are decided (C or D) and which functions are utilities (P or U);
    ``.pvo`` has the blocks of variables in the order in which they are summed out or decided, so
    that a decision knows everything in the blocks after its own.
    """
    said = _beside(file, ".id")
    kinds, roles = (said[1], said[3]) if len(said) > 3 else ([], [])
    fits = (len(kinds), len(roles)) == (len(variables), len(factors))
    if not fits or not set(kinds) <= {"C", "D"} or not set(roles) <= {"P", "U"}:
        raise BadNetwork("the file .id does not fit the network", "")
    indices = {str(i): i for i in range(len(variables))}
    words = _beside(file, ".pvo")[2:]
    if sorted(word for block in words for word in block) != sorted(indices):
        raise BadNetwork("the file .pvo does not name every variable once", "")
    blocks = [[indices[word] for word in block] for block in words]
    tables, known, payoffs = [], {}, []
    for number, ((scope, numbers), role) in enumerate(zip(factors, roles, strict=True)):
        if role == "U":
            payoffs.append(Payoff(f"utility {number}", scope, numbers))
        elif scope:
            tables.append(table_of(scope[-1], scope[:-1], numbers))
        else:
            raise BadNetwork("a table of probabilities has no variable", "")
    chance = {v for v, kind in zip(variables, kinds, strict=True) if kind == "C"}
    for variable in chance ^ {table.child for table in tables}:
        what = "has no probabilities" if variable in chance else "is decided, and has probabilities"
        raise BadNetwork(f"the variable {variable.name} {what}", variable.name)
    for at, block in enumerate(blocks):
        for index in block:
            if kinds[index] == "D":
                before = sorted(i for later in blocks[at + 1 :] for i in later)
                known[variables[index]] = tuple(variables[i] for i in before)
    return Diagram(tables, known, payoffs).text(file)


def _beside(file: str, suffix: str) -> list[list[str]]:
    """The lines of the file beside another one, as words."""
    path = Path(file).with_suffix(suffix)
    if file.startswith("<") or not path.is_file():
        message = f"an influence diagram needs {path.name} beside it"
        help = "it comes with the diagram: .id says what is decided, .pvo what is known when"
        raise ProgramError.at("foreign-syntax", message, help=help)
    lines = load_text(path).replace(";", " ").splitlines()
    return [words for line in lines if (words := line.split())]
