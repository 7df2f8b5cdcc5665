"""The encoding of statements for clingo, in which every instance has a *marker*.

A ground instance of ``0.3::a(X+1); 0.5::b :- c(X,Y).`` (the first statement) is marked by an atom

    {_dpasp_choice0(X, Y, X+1)} :- c(X,Y).
    a(A2) :- _dpasp_choice0(A0, A1, A2).        b :- _dpasp_choice0(A0, A1, A2).

that carries its substitution and the arguments of its heads that are more than a variable or a
name, so that clingo evaluates their arithmetic, constants, pools and intervals. Programs cannot use
names that begin like this.

A statement without variables is a *row*: its text says everything, and there may be a hundred
thousand of them. clingo is only told which atoms they may make true,

    {a(1); a(2); b} :- _dpasp_rows.        {_dpasp_rows}.

Explanations need to know which rule a ground rule comes from. For them, plain rules have markers
too: ``a(X) :- b(X,Y), not c.`` becomes

    _dpasp_rule(0, (X, Y)) :- b(X,Y), not c.        a(X) :- _dpasp_rule(0, (X, Y)).

which has the same models and the same certain atoms. Constraints, disjunctions and choice rules
make nothing certain; their bodies get another atom, which is removed afterwards, so that clingo
keeps their markers.

>>> from dpasp.language import parse
>>> markers = ChoiceMarkers(frozenset())
>>> markers.add(0, parse("0.3::a(X) :- c(X).").statements[0])
>>> for each in markers.rules:
...     print(each)
a(A0) :- _dpasp_choice0(A0).
{ _dpasp_choice0(X) } :- c(X).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from functools import cache
from itertools import product
from operator import itemgetter
from typing import NamedTuple

from clingo import Control, Function, Symbol
from clingo.ast import AST, ASTType, Sign, UnaryOperation, UnaryOperator, Variable
from clingo.ast import Rule as RuleNode

from dpasp.dataclass import dataclass
from dpasp.ground.program import Rule, Substitution
from dpasp.ground.terms import (
    NO_LOCATION,
    ROW_LITERALS,
    Signature,
    atom_literal,
    atoms_of,
    choice_rule,
    function,
    integer_term,
    rule,
    split_atom,
    symbolic,
    unpooled_atoms,
    unpooled_bodies,
)
from dpasp.language import ast
from dpasp.language.text.clingo_text import global_variables, variables
from dpasp.language.text.lexer import RESERVED

HIDDEN = RESERVED
# Variables have a capital (or are '_') and pools a semicolon; clingo does not print everything in
# conditions and aggregates. Arithmetic is clingo's, and '@' a call. Names that begin with '_' are
# our own.
_OPEN = re.compile(r"[A-Z;:{*+/\\^&?~|@]|\.\.|\b_|[\w)]\s*-")
_WORD = re.compile(r"[\w']+", re.ASCII)
RULE = f"{HIDDEN}rule"
OPEN = f"{HIDDEN}open"  # prevents a marker from being certain
ROWS = f"{HIDDEN}rows"  # prevents the heads of rows from being certain
_CHOICE = f"{HIDDEN}choice"
Links = Mapping[int, int]  # from markers to an atom that they make true
ABSENT = Function(f"{HIDDEN}absent")  # stands for a variable in another element of a pool


def with_values(
    nodes: Iterable[AST], body: Sequence[AST]
) -> tuple[tuple[str, ...], list[tuple[Sequence[AST], list[AST]]]]:
    """The variables of a statement, and its bodies without pools with their values.

    A variable that occurs only in another element of a pool is absent.
    """
    nodes = tuple(nodes)
    known = global_variables((*nodes, *body))
    bodies = unpooled_bodies(body)
    if len(bodies) == 1:
        return tuple(known), [(bodies[0], list(known.values()))]
    present = [global_variables((*nodes, *one)) for one in bodies]
    values = [[some.get(name) or symbolic(ABSENT) for name in known] for some in present]
    return tuple(known), list(zip(bodies, values, strict=True))


def substitution_of(names: Iterable[str], values: Iterable[Symbol]) -> Substitution:
    """The values of the variables that are present."""
    return tuple(pair for pair in zip(names, values, strict=False) if pair[1] != ABSENT)


def is_hidden(name: str) -> bool:
    """Whether a predicate belongs to the encoding."""
    return name.startswith(HIDDEN)


class Row(NamedTuple):
    """An annotated statement without variables: the texts of its atoms, without spaces."""

    heads: tuple[str, ...]
    positive: tuple[str, ...]
    negative: tuple[str, ...]


Argument = int | Symbol  # the place of a marker's argument, or the argument of a head itself


class _Form(NamedTuple):
    """Markers of one statement with heads of one form, and the meaning of their arguments."""

    statement: int
    variables: tuple[str, ...]  # whose values come first
    pooled: bool  # whether some variables may be absent
    heads: tuple[tuple[Signature, tuple[Argument, ...]], ...]


class FoundMarker(NamedTuple):
    """An atom that is a marker; ``atom`` is clingo's number for it."""

    atom: int
    symbol: Symbol
    form: _Form


class StatementInstance(NamedTuple):
    """A ground instance of an annotated statement; its heads are atoms.

    For a row, which has no marker, it is 0.
    """

    statement: int
    substitution: Substitution
    heads: tuple[int, ...]
    marker: int


@dataclass(slots=True)
class ChoiceMarkers:
    """The markers of all annotated statements with variables, and the rows."""

    constants: frozenset[str]  # names that clingo replaces
    rules: list[AST] = field(default_factory=list)
    rows: dict[int, Row] = field(default_factory=dict)  # by statement
    _forms: dict[_Form, Signature] = field(default_factory=dict)  # with their predicates

    def add(self, index: int, statement: ast.Annotated) -> None:
        if (row := self._row(statement)) is not None:
            self.rows[index] = row
        else:
            self.add_marked(index, statement)

    def add_marked(self, index: int, statement: ast.Annotated) -> None:
        """Encode a statement by markers, whether it has variables or not."""
        atoms = [unpooled_atoms(head.atom) for head in statement.heads]
        symbols = [symbol for alternatives in atoms for symbol in alternatives]
        names, bodies = with_values(symbols, statement.body)
        several = len(symbols) > len(atoms)
        for body, values in bodies:
            for heads in product(*atoms):
                arguments = list(values)  # of the marker
                parts = []
                for signature, terms in map(split_atom, heads):
                    # Alternatives differ only in their values.
                    places = [None if several else self._place(term, names) for term in terms]
                    for at, term in enumerate(terms):
                        if places[at] is None:
                            places[at] = len(arguments)
                            arguments.append(term)
                    parts.append((signature, tuple(place for place in places if place is not None)))
                form = _Form(index, names, len(bodies) > 1, tuple(parts))
                name, location = self._predicate(form, len(arguments)), heads[0].location
                marker = function(name, arguments, location)
                self.rules.append(choice_rule(marker, body, location))

    def _place(self, term: AST, names: Sequence[str]) -> Argument | None:
        """The place in the marker of a head's argument, or the argument itself."""
        if term.ast_type == ASTType.Variable and term.name in names:
            return names.index(term.name)
        if term.ast_type == ASTType.SymbolicTerm and str(term) not in self.constants:
            symbol: Symbol = term.symbol
            return symbol
        return None

    def _predicate(self, form: _Form, count: int) -> str:
        """The predicate of the markers of a form with this number of arguments."""
        if form not in self._forms:
            self._forms[form] = Signature(f"{_CHOICE}{len(self._forms)}", count, True)
            # Not '_', for which clingo would make projections, which nobody needs.
            variables = named_variables("A", count)
            marker = atom_literal(function(self._forms[form].name, variables))
            for signature, places in form.heads:
                terms = [variables[p] if isinstance(p, int) else symbolic(p) for p in places]
                self.rules.append(rule(atom_term(signature, terms), [marker]))
        return self._forms[form].name

    def _row(self, statement: ast.Annotated) -> Row | None:
        """A statement without variables as texts; None if it may have some."""
        if statement.row is not None:
            heads = tuple([text.replace(" ", "") for text in statement.row.atoms])
            literals = ROW_LITERALS.findall(statement.row.condition.replace(", ", ","))
        else:
            heads, literals = tuple(str(head.atom) for head in statement.heads), []
            for node in statement.body:
                plain = node.ast_type == ASTType.Literal and node.sign != Sign.DoubleNegation
                if not plain or node.atom.ast_type != ASTType.SymbolicAtom:
                    return None
                literals.append(("" if node.sign == Sign.NoSign else "not", str(node.atom)))
            if any(map(_OPEN.search, (*heads, *(text for _, text in literals)))):
                return None
        row = Row(
            heads,
            tuple([text for sign, text in literals if not sign]),
            tuple([text for sign, text in literals if sign]),
        )
        if self.constants:
            words = {word for texts in row for text in texts for word in _WORD.findall(text)}
            return None if self.constants & words else row
        return row

    def text(self) -> str:
        """The rule that tells clingo about the rows."""
        heads = dict.fromkeys(text for row in self.rows.values() for text in row.heads)
        return f"{{{';'.join(heads)}}} :- {ROWS}. {{{ROWS}}}." if heads else ""

    def find(self, control: Control) -> list[FoundMarker]:
        """The markers that clingo has found."""
        return [
            FoundMarker(literal, symbol, form)
            for form, signature in self._forms.items()
            for symbol, literal in atoms_of(control, signature)
        ]

    def read(
        self,
        markers: Sequence[FoundMarker],
        rows: Mapping[int, Rule],
        links: Links,
        atoms: Mapping[Symbol, int],
    ) -> list[StatementInstance]:
        """The instances of the markers and the ``rows``, in the order of the statements."""
        instances = [StatementInstance(index, (), row.head, 0) for index, row in rows.items()]
        for atom, symbol, form in markers:
            arguments = symbol.arguments
            if form.pooled:
                substitution = substitution_of(form.variables, arguments)
            else:  # the common case, faster
                substitution = tuple(zip(form.variables, arguments, strict=False))
            if len(form.heads) == 1 and atom in links:  # a shortcut that needs no name
                heads: tuple[int, ...] = (links[atom],)
            else:
                heads = tuple(_atom(*head, arguments, atoms) for head in form.heads)
            instances.append(StatementInstance(form.statement, substitution, heads, atom))
        instances.sort(key=itemgetter(0))
        return instances


def _atom(
    signature: Signature,
    places: Iterable[Argument],
    arguments: Sequence[Symbol],
    atoms: Mapping[Symbol, int],
) -> int:
    """The atom of a marker's head."""
    symbols = [arguments[place] if isinstance(place, int) else place for place in places]
    return atoms[Function(signature.name, symbols, signature.positive)]


def is_choice_marker(name: str) -> bool:
    """Whether a predicate is one of markers of annotated statements."""
    return name.startswith(_CHOICE)


@cache
def named_variables(prefix: str, count: int) -> tuple[AST, ...]:
    """Variables ``prefix0``, ``prefix1``, …"""
    return tuple(Variable(NO_LOCATION, f"{prefix}{index}") for index in range(count))


def atom_term(signature: Signature, arguments: Sequence[AST]) -> AST:
    """An atom of this signature as a term (``-a(X)`` is the negative of a term)."""
    term = function(signature.name, arguments)
    return term if signature.positive else UnaryOperation(NO_LOCATION, UnaryOperator.Minus, term)


class RuleInstance(NamedTuple):
    """A ground instance of a rule that can hold; its ``atom`` is true if its body is."""

    statement: int
    substitution: Substitution
    atom: int
    certain: bool  # clingo knows that its body holds in every model


@dataclass(slots=True)
class RuleMarkers:
    """The rules of a program with their markers."""

    rules: list[AST] = field(default_factory=list)
    _names: dict[int, tuple[str, ...]] = field(default_factory=dict)
    _open: bool = False

    def add(self, index: int, node: AST) -> None:
        """Add a rule, a constraint or a fact."""
        if not node.body and next(variables(node.head), None) is None and _is_atom(node.head):
            self.rules.append(node)
            return
        self._names[index], bodies = with_values([node.head], node.body)
        opened: tuple[AST, ...] = ()
        if not _is_atom(node.head):
            opened = (atom_literal(function(OPEN, [])),)
            if not self._open:
                self._open = True
                self.rules.append(choice_rule(function(OPEN, []), []))
        for body, values in bodies:
            marker = function(RULE, [integer_term(index), function("", values)], node.location)
            self.rules.append(rule(marker, (*body, *opened), node.location))
        # The marker determines the head, even if a pool leaves variables open.
        known = [Variable(NO_LOCATION, name) for name in self._names[index]]
        marker = function(RULE, [integer_term(index), function("", known)])
        self.rules.append(RuleNode(node.location, node.head, [atom_literal(marker)]))

    def closed(self, control: Control, ground: Iterable[Rule]) -> list[Rule]:
        """The ground rules without the atom that prevented certain markers."""
        open_atom = control.symbolic_atoms[Function(OPEN)] if self._open else None
        if open_atom is None:
            return list(ground)
        added = open_atom.literal
        return [
            one._replace(body=tuple(b for b in one.body if b != added))
            if added in one.body
            else one
            for one in ground
            if one.head != (added,)
        ]

    def read(self, control: Control) -> tuple[RuleInstance, ...]:
        """The instances that clingo has found, in the order of the statements."""
        instances = []
        for atom in control.symbolic_atoms.by_signature(RULE, 2):
            index, values = atom.symbol.arguments
            substitution = substitution_of(self._names[index.number], values.arguments)
            instances.append(RuleInstance(index.number, substitution, atom.literal, atom.is_fact))
        return tuple(sorted(instances, key=_instance_order))


def _instance_order(instance: RuleInstance) -> tuple[int, Symbol]:
    """A sort key: the statement, then the values as clingo orders terms."""
    return instance.statement, Function("", [value for _, value in instance.substitution])


def _is_atom(head: AST) -> bool:
    return bool(head.ast_type == ASTType.Literal and head.atom.ast_type == ASTType.SymbolicAtom)
