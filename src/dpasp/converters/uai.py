"""Networks in the format of the UAI competitions.

A Bayesian network becomes annotated disjunctions. In a Markov network, each variable becomes a
choice of exactly one value, and each factor a table (``#factor {…} : …``) under the weighted
semantics. Evidence is in a separate file (``.evid``).

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
from collections.abc import Iterable, Sequence
from math import isinf
from pathlib import Path

from dpasp.converters import TUNING
from dpasp.converters.networks import (
    BadNetwork,
    Diagram,
    NetworkVariable,
    Payoff,
    VariableNames,
    row_count,
    table_of,
    value_rows,
)
from dpasp.converters.text import Reader, Word, heading, words_of
from dpasp.errors import ProgramError
from dpasp.language.text import SourceFile
from dpasp.language.text.source import load_text
from dpasp.writing import counted

EVIDENCE_HELP = "the format is: how many observations, then variable and value of each"
HELP = "the format is: BAYES or MARKOV, the sizes, the scopes, the tables"
AGRUM = "% (written by aGrUM, whose tables let the first parent change fastest)"
Scope = tuple[NetworkVariable, ...]
Factor = tuple[Scope, Sequence[str]]  # numbers in the order of the scope, the last fastest


def from_uai(text: str, file: str, evidence: str | Path | None = None) -> str:
    """Convert a network in UAI format, with the evidence of a file.

    By default, it is the file next to the network with ``.evid`` added to its name.
    """
    reader = _UaiReader(text, file, HELP)
    kind, variables, factors = reader.read()
    observed = _evidence(file, evidence, variables, VariableNames(variables))
    if kind == "Markov":
        head = heading("a Markov network", file, "#semantics weighted.")
        return head + "\n".join([*_markov(variables, factors), *observed]) + "\n"
    roles: Sequence[str] = "P" * len(factors)
    known: dict[NetworkVariable, Scope] = {}
    tables, payoffs = [], []
    try:
        if kind == "influence":
            roles, known = _said_beside(variables, len(factors), file)
        for number, ((scope, numbers), role) in enumerate(zip(factors, roles, strict=True)):
            if role == "U":
                payoffs.append(Payoff(f"utility {number}", scope, numbers))
            elif scope:  # the child is the last of its scope
                tables.append(table_of(scope[-1], scope[:-1], numbers))
            else:
                raise BadNetwork(
                    "a table of probabilities has a variable: the last of its scope", ""
                )
        text = Diagram(variables, tables, known, payoffs, reader.notes).text(file)
    except BadNetwork as error:
        raise ProgramError.at("foreign-syntax", str(error), help=HELP) from error
    return text + "".join(f"{line}\n" for line in observed)


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
            raise self.refuse("this does not say what is known when a decision is made")
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
        """Read observations: their number, variables and values; older files begin with a 1."""
        count = self.count()
        if len(self.words) != 1 + 2 * count:
            count = self.count() if count == 1 and len(self.words) > 1 else count
        if len(self.words) - self.next != 2 * count:
            self.next = len(self.words)
            raise self.refuse(f"{counted(count, 'observation')}: {2 * count} numbers are needed")
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
            raise self.refuse(f"a table of {counted(size, 'number')} where {expected} are needed")
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


def _said_beside(
    variables: Sequence[NetworkVariable], functions: int, file: str
) -> tuple[list[str], dict[NetworkVariable, Scope]]:
    """Read the two files of an influence diagram: the roles of functions, what decisions know.

    ``.id`` says which variables are decided (C or D) and which functions are utilities (P or U);
    ``.pvo`` has the blocks of variables in the order in which they are summed out or decided, so
    that a decision knows everything in the blocks after its own.
    """
    said = _beside(file, ".id")
    kinds, roles = (said[1], said[3]) if len(said) > 3 else ([], [])
    fits = (len(kinds), len(roles)) == (len(variables), functions)
    if not fits or not set(kinds) <= {"C", "D"} or not set(roles) <= {"P", "U"}:
        raise BadNetwork("the file .id does not fit the network", "")
    indices = {str(i): i for i in range(len(variables))}
    blocks = [[indices.get(word, -1) for word in block] for block in _beside(file, ".pvo")[2:]]
    if sorted(i for block in blocks for i in block) != list(range(len(variables))):
        raise BadNetwork("the file .pvo does not name every variable once", "")
    known = {}
    for at, block in enumerate(blocks):
        before = sorted(i for later in blocks[at + 1 :] for i in later)
        for index in block:
            if kinds[index] == "D":
                known[variables[index]] = tuple(variables[i] for i in before)
    return roles, known


def _beside(file: str, suffix: str) -> list[list[str]]:
    """The lines of the file beside another one, as words."""
    path = Path(file).with_suffix(suffix)
    if file.startswith("<") or not path.is_file():
        message = f"an influence diagram needs {path.name} beside it"
        help = "it comes with the diagram: .id says what is decided, .pvo what is known when"
        raise ProgramError.at("foreign-syntax", message, help=help)
    lines = load_text(path).replace(";", " ").splitlines()
    return [words for line in lines if (words := line.split())]


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
        if not scope and variables:  # a constant matters only for the sum of all weights
            scope, numbers = (variables[0],), [*numbers] * len(variables[0].values)
        sets = ", ".join(f"{variable.name}({{{_range(variable)}}})" for variable in scope)
        yield f"#factor {{{', '.join(numbers)}}} : {sets}."


def _range(variable: NetworkVariable) -> str:
    last = len(variable.values) - 1
    return f"0..{last}" if last else "0"
