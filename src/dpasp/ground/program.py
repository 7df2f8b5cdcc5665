"""Ground programs: choices, rules and queries over numbered atoms.

Atoms are positive integers and a literal is an atom or its negative, as in
clingo. Every value of a choice has a *selector*: an atom of its own that no rule
derives and that is true exactly when the choice takes that value, so that

    0.3::a; 0.5::b :- c.          becomes      a :- x1, c.   b :- x2, c.

with one choice ``(x1: 0.3, x2: 0.5, nothing: 0.2)``. Everything else is an
ordinary ground logic program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import NamedTuple

import numpy as np
from clingo import Symbol, SymbolType
from numpy.typing import NDArray

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, Span
from dpasp.language.ast import Mode, Program
from dpasp.writing import counted

Substitution = tuple[tuple[str, Symbol], ...]  # the values of variables, by name


class Rule(NamedTuple):
    """``head :- body.`` with atoms in the head and literals in the body.

    Several heads are a disjunction, or a choice when ``choice`` is set; none is a
    constraint. With ``weights``, the body holds when the weights of its true
    literals sum to at least ``bound``.
    """

    head: tuple[int, ...]
    body: tuple[int, ...]
    choice: bool = False
    weights: tuple[int, ...] | None = None
    bound: int = 0


@dataclass(frozen=True, slots=True)
class FixedWeights:
    """Fixed probabilities, one for each value."""

    probabilities: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class IntervalWeights:
    """Bounds of the probabilities, one pair for each value; they sum to 1 (one head: at most 1)."""

    lower: tuple[float, ...]
    upper: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Learned:
    """The probabilities of a parameter (an index into the program's parameters)."""

    parameter: int


@dataclass(frozen=True, slots=True)
class FromNetwork:
    """Outputs of a network for one input row and one outcome."""

    network: int  # index into the program's networks
    row: int  # index into the network's rows
    outcome: int


@dataclass(frozen=True, slots=True)
class Present:
    """Whether an optional data atom exists: 1 or 0, depending on the data."""

    atom: Symbol


@dataclass(frozen=True, slots=True)
class Decided:
    """No probability: a strategy says whether the value is taken."""


GroundWeight = FixedWeights | IntervalWeights | Learned | FromNetwork | Present | Decided


@dataclass(frozen=True, slots=True)
class FixedFactor:
    """The logarithm of a fixed factor; -inf for 0."""

    log: float


@dataclass(frozen=True, slots=True)
class GroundTable:
    """A factor for each combination of atoms, one of each set, the last set fastest.

    It multiplies the weight of every model in which they all hold; atom 0 never holds.
    """

    statement: int  # index into the program's statements
    sets: tuple[tuple[int, ...], ...]
    weights: NDArray[np.float64] = field(compare=False)


@dataclass(frozen=True, slots=True)
class Factor:
    """Multiplies the weight of every model in which one of its ``bodies`` (literals) holds.

    A learned parameter p stands for the factor p / (1 - p). A network gives the logarithm.
    A weak constraint of cost c is the factor exp(-c).
    """

    statement: int  # index into the program's statements
    substitution: Substitution
    bodies: tuple[tuple[int, ...], ...]  # usually one
    weight: FixedFactor | Learned | FromNetwork


@dataclass(frozen=True, slots=True)
class Choice:
    """An independent choice among values; ``nothing`` is one more value when it is possible."""

    statement: int  # index into the program's statements
    substitution: Substitution
    selectors: tuple[int, ...]
    heads: tuple[int, ...]  # the atom that each value derives
    weight: GroundWeight
    nothing: bool
    labels: tuple[str, ...] = ()  # the names of the values, if they differ from those of the heads


@dataclass(frozen=True, slots=True)
class Parameter:
    """A learnable distribution over the heads of a statement; ``fixed`` values do not change."""

    statement: int
    key: Substitution
    initial: tuple[float, ...]
    fixed: tuple[bool, ...]
    nothing: bool


class GroundData(NamedTuple):
    """An atom of a data predicate, and the statement that says which rows it stands for.

    ``values`` are those of the variables that the functions of the statement are called with.
    """

    statement: int
    atom: Symbol
    values: Substitution = ()


@dataclass(frozen=True, slots=True)
class GroundNetwork:
    """A network's use in a neural statement: the data atoms that are its rows, and its outputs.

    A row is a data atom, or a tuple of them when the body has several data predicates.
    The output of row r has one distribution over ``values`` for each of ``outcomes``
    (one unnamed outcome when there are none); no values is a single probability.
    """

    statement: int
    rows: tuple[Symbol, ...]
    outcomes: tuple[Symbol, ...]
    values: tuple[Symbol, ...]


def data_atoms(row: Symbol) -> Sequence[Symbol]:
    """The data atoms of a network's row: one, or those of a tuple."""
    if row.type is SymbolType.Function and not row.name:
        return row.arguments
    return (row,)


class GroundLiteral(NamedTuple):
    """A literal of a query; the atom is 0 when it cannot occur."""

    mode: Mode
    atom: int
    symbol: Symbol

    def __str__(self) -> str:
        return f"{self.mode.value}{self.symbol}"


@dataclass(frozen=True, slots=True)
class GroundQuery:
    """A ground instance of ``#query``: P(literals | evidence), the program's evidence included."""

    literals: tuple[GroundLiteral, ...]
    evidence: tuple[GroundLiteral, ...]
    text: str  # the canonical form, without what ``#evidence`` joined to it
    span: Span | None  # None if it was not written by the user
    given: tuple[GroundLiteral, ...] = ()  # observed before anything is set (``ground.worlds``)


@dataclass(frozen=True, slots=True)
class GroundMap:
    """A ``#map``: the most probable joint value of the atoms; for ``#mpe``, of all choices."""

    atoms: tuple[GroundLiteral, ...]
    evidence: tuple[GroundLiteral, ...]
    everything: bool
    text: str
    span: Span
    given: tuple[GroundLiteral, ...] = ()


@dataclass(frozen=True, slots=True)
class GroundDecision:
    """An instance of ``#decision``: its choices, of which ``least`` to ``most`` are taken."""

    statement: int
    choices: tuple[int, ...]  # indices into the program's choices, one for each atom
    least: int
    most: int


class GroundUtility(NamedTuple):
    """A value that counts in the models in which all literals hold."""

    value: float
    literals: tuple[GroundLiteral, ...]
    statement: int


@dataclass(frozen=True, slots=True)
class GroundExpect:
    """An ``#expect``: the expected total of some values; ``place`` is that of its answer."""

    terms: tuple[GroundUtility, ...]
    evidence: tuple[GroundLiteral, ...]
    text: str
    span: Span | None
    place: int
    given: tuple[GroundLiteral, ...] = ()


@dataclass(frozen=True, slots=True)
class GroundDecide:
    """A ``#decide``; without literals, the utilities count."""

    literals: tuple[GroundLiteral, ...]
    evidence: tuple[GroundLiteral, ...]
    text: str
    span: Span | None
    place: int


class Definition(NamedTuple):
    """``head :- literals, atoms.``: a rule that reads models, under any semantics.

    The literals are those of questions; the atoms (or their negatives) are other definitions.
    """

    head: int
    literals: tuple[GroundLiteral, ...]
    atoms: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class GroundProgram:
    """Choices, rules and questions over atoms 1, …, len(symbols) - 1."""

    program: Program
    symbols: tuple[Symbol | None, ...]  # by atom; None for atom 0 and atoms without a name
    rules: tuple[Rule, ...]
    choices: tuple[Choice, ...]
    parameters: tuple[Parameter, ...] = ()
    networks: tuple[GroundNetwork, ...] = ()
    questions: tuple[GroundQuery | GroundMap, ...] = ()
    evidence: tuple[GroundLiteral, ...] = ()
    warnings: tuple[Diagnostic, ...] = ()
    atoms: Mapping[Symbol, int] = field(default_factory=dict, repr=False)  # by name
    data: tuple[GroundData, ...] = ()
    left_out: tuple[str, ...] = ()  # predicates that no question needs, in words
    decisions: tuple[GroundDecision, ...] = ()
    utilities: tuple[GroundUtility, ...] = ()
    worth: tuple[GroundExpect | GroundDecide, ...] = ()  # questions about values and decisions
    definitions: tuple[Definition, ...] = ()  # of atoms without a name, for questions
    factors: tuple[Factor, ...] = ()
    tables: tuple[GroundTable, ...] = ()
    externals: Mapping[Symbol, str] = field(default_factory=dict)  # true, false, free or chance
    worlds: tuple[GroundProgram, ...] = ()  # for the questions with do(…), see ``ground.worlds``
    observed: Mapping[Symbol, int] | None = None  # the atoms as they were, in a counterfactual
    seconds: float = field(default=0.0, compare=False)  # taken by grounding

    def __repr__(self) -> str:
        return f"<ground program with {counted(len(self.choices), 'choice')}; print() shows it>"

    def __str__(self) -> str:
        from dpasp.ground.text import ground_text

        return ground_text(self)

    def _repr_html_(self) -> str:
        from dpasp.display.html import ground_html

        return ground_html(self)
