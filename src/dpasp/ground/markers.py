"""Statements as clingo sees them: every instance of one has a *marker*.

A ground instance of ``0.3::a(X); 0.5::b :- c(X,Y).`` (the first statement) is marked by an atom

    {_dpasp_choice0(0, X, Y, X)} :- c(X,Y).
    a(A) :- _dpasp_choice0(I, X, Y, A).        b :- _dpasp_choice0(I, X, Y, A).

that carries the statement, its substitution, and the arguments of its heads as terms, so that
clingo evaluates the arithmetic, constants, pools and intervals in them. Programs cannot use names
that begin like this.

With many heads, rules that name all arguments would take quadratic space (and clingo more time
than that). The arguments are then one tuple, from which a function of ours takes those of a
head: ``a(A) :- _dpasp_choice0(I, X, T), (A,) = @_dpasp_heads(T, 0, 1, 1).``

Rules with variables are built from the nodes of their statements, so that clingo's messages know
their places. Without variables there is little to complain about, and the rule is written as
text, which is several times faster.

Where many such rules follow from one another, as in a long chain, clingo would look at each of them
again whenever one of them has found something. Their arguments become facts, of which one rule with
variables makes the markers: ``{_dpasp_choice0(I, A)} :- _dpasp_row0(I, A, B), a(B).``

Explanations need to know which rule of the text a ground rule comes from. Then plain rules have
markers, too: ``a(X) :- b(X,Y), not c.`` is given to clingo as

    _dpasp_rule(0, (X, Y)) :- b(X,Y), not c.        a(X) :- _dpasp_rule(0, (X, Y)).

which has the same models, and what clingo finds to be certain stays certain. Constraints,
disjunctions and choice rules make nothing certain; their bodies get one more atom, which is
removed again, so that clingo keeps their markers.

>>> from dpasp.language import parse
>>> markers = ChoiceMarkers(frozenset())
>>> markers.add(0, parse("0.3::a(X) :- c(X).").statements[0])
>>> for each in markers.rules:
...     print(each)
a(A2) :- _dpasp_choice0(A0,A1,A2).
{ _dpasp_choice0(0,X,X) } :- c(X).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cache
from itertools import groupby, product
from operator import itemgetter
from typing import NamedTuple

from clingo import Control, Function, Symbol
from clingo.ast import (
    AST,
    ASTType,
    ComparisonOperator,
    UnaryOperation,
    UnaryOperator,
    Variable,
)
from clingo.ast import Function as FunctionTerm
from clingo.ast import Rule as RuleNode

from dpasp.dataclass import dataclass
from dpasp.ground.program import Rule, Substitution
from dpasp.ground.terms import (
    NO_LOCATION,
    Signature,
    atom_literal,
    atoms_of,
    choice_rule,
    compared,
    first_numbers,
    function,
    integer_term,
    parse_symbol,
    reached,
    rule,
    split_atom,
    symbolic,
    unpooled_atoms,
    unpooled_bodies,
)
from dpasp.ground.tuning import TUNING
from dpasp.language import ast
from dpasp.language.text.clingo_text import global_variables, variables
from dpasp.language.text.lexer import RESERVED

HIDDEN = RESERVED
# Variables have a capital (or are '_') and pools a semicolon; clingo does not print all that
# stands in conditions and aggregates. Arithmetic is clingo's.
_OPEN = re.compile(r"[A-Z;:{*+/\\^&?~|]|\b_\b|[\w)]\s*-")
_WORD = re.compile(r"[\w']+", re.ASCII)
RULE = f"{HIDDEN}rule"
OPEN = f"{HIDDEN}open"  # keeps a marker from being certain


_CHOICE = f"{HIDDEN}choice"
_ROW = f"{HIDDEN}row"
_LITERALS = re.compile(r"(not )?([a-z]\w*)(?:\(([^()]*)\))?", re.ASCII)
HEADS = f"{HIDDEN}heads"  # the external function that takes the arguments of heads out of a tuple
Links = Mapping[int, int]  # from markers to an atom that they make true
ABSENT = Function(f"{HIDDEN}absent")  # stands for a variable of another element of a pool


def with_values(
    nodes: Iterable[AST], body: Sequence[AST]
) -> tuple[tuple[str, ...], list[tuple[Sequence[AST], list[AST]]]]:
    """The variables of a statement, and its bodies without pools, each with their values.

    A variable that a body does not have, since it is in another element of a pool, is absent.
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
    return tuple(pair for pair in zip(names, values, strict=True) if pair[1] != ABSENT)


def is_hidden(name: str) -> bool:
    """Whether a predicate is one of ours."""
    return name.startswith(HIDDEN)


class _Shape(NamedTuple):
    """The arguments of a marker: so many values, then the arguments of these heads."""

    values: int
    heads: tuple[Signature, ...]

    @property
    def is_wide(self) -> bool:
        """Whether the arguments of the heads are one tuple."""
        return len(self.heads) > TUNING.wide

    @property
    def arity(self) -> int:
        arguments = 1 if self.is_wide else sum(head.arity for head in self.heads)
        return 1 + self.values + arguments


class RuleText(NamedTuple):
    """A rule as text; it ends with the body of the statement."""

    text: str
    statement: ast.Annotated
    predicate: int = 0  # of its marker, and what that has besides the statement's index
    place: int = 0
    arguments: tuple[str, ...] = ()


_BodyShape = tuple[tuple[str, str, int], ...]  # 'not ' or nothing, name and arity of each literal


class FoundMarker(NamedTuple):
    """An atom that is a marker; ``atom`` is clingo's number for it."""

    atom: int
    symbol: Symbol
    shape: _Shape


class StatementInstance(NamedTuple):
    """A ground instance of an annotated statement; its heads are atoms.

    The marker of a plain fact is 0: it has none.
    """

    statement: int
    substitution: Substitution
    heads: tuple[int, ...]
    marker: int


@dataclass(slots=True)
class ChoiceMarkers:
    """The markers of all annotated statements: one predicate for each shape."""

    constants: frozenset[str]  # names that clingo replaces
    rules: list[AST] = field(default_factory=list)
    lines: list[RuleText] = field(default_factory=list)  # rules without variables
    rows: list[str] = field(default_factory=list)  # those that became facts, and their rules
    quick: bool = True  # whether plain facts can be external atoms, which need no markers
    plain: dict[int, tuple[str, ...]] = field(default_factory=dict)  # heads of such statements
    row_heads: dict[str, Signature] = field(default_factory=dict)  # heads of rows by text
    _heads: dict[str, tuple[Symbol, str] | None] = field(default_factory=dict)  # by text
    _ground: dict[int, tuple[str, ...]] = field(default_factory=dict)  # heads by statement
    _predicates: dict[_Shape, int] = field(default_factory=dict)
    _variables: dict[int, tuple[str, ...]] = field(default_factory=dict)
    _pooled: set[int] = field(default_factory=set)  # statements with a pool in the body

    def add(self, index: int, statement: ast.Annotated) -> None:
        """Encode a statement."""
        if self._add_ground(index, statement):
            return
        atoms = [unpooled_atoms(head.atom) for head in statement.heads]
        symbols = [symbol for alternatives in atoms for symbol in alternatives]
        self._variables[index], bodies = with_values(symbols, statement.body)
        if len(bodies) > 1:
            self._pooled.add(index)
        for body, values in bodies:
            for heads in product(*atoms):
                self._add_rule(index, values, heads, body)

    def _add_ground(self, index: int, statement: ast.Annotated) -> bool:
        """Encode a statement without variables as text; false when it may have some."""
        if (row := statement.row) is not None:
            body, atoms = row.condition, row.atoms
            if not self._has_constant(f"{body} {atoms}"):
                self._add_row(index, statement, tuple([text.replace(" ", "") for text in atoms]))
                return True
        else:
            nodes = [str(node) for node in statement.body]
            atoms = tuple(str(head.atom) for head in statement.heads)
            if any(map(_OPEN.search, (*nodes, *atoms))):
                return False
            body = "; ".join(nodes)
        if self._has_constant(body):
            return False
        heads = [self._ground_head(text) for text in atoms]
        possible = [head for head in heads if head is not None]
        if len(possible) < len(heads):
            return False
        self._variables[index] = ()
        self._ground[index] = atoms
        shape = _Shape(0, tuple(Signature.of(symbol) for symbol, _ in possible))
        self._add_line(index, statement, shape, [text for _, text in possible if text], body)
        return True

    def _add_row(self, index: int, statement: ast.Annotated, atoms: tuple[str, ...]) -> None:
        """Encode a row of a table, of which the text says everything."""
        assert statement.row is not None
        body, signatures = statement.row.condition, []
        for text in atoms:
            signature = self.row_heads.get(text)
            if signature is None:
                name, _, inside = text.partition("(")
                arity = inside.count(",") + 1 if inside else 0
                signature = self.row_heads[text] = Signature(name, arity, True)
            signatures.append(signature)
        if not body and self.quick:
            self.plain[index] = atoms
            return
        self._variables[index], self._ground[index] = (), atoms
        texts = [text[text.index("(") + 1 : -1] for text in atoms if text[-1] == ")"]
        self._add_line(index, statement, _Shape(0, tuple(signatures)), texts, body)

    def _add_line(
        self, index: int, statement: ast.Annotated, shape: _Shape, texts: list[str], body: str
    ) -> None:
        """The rule of a marker, with the arguments of its heads as texts."""
        predicate = self._predicate(shape)
        if shape.is_wide:  # a tuple of one term has a comma as well
            texts = [f"({','.join(texts)},)" if texts else "()"]
        marker = f"{_name(predicate)}({','.join([str(index), *texts])})"
        text = f"{{{marker}}} :- {body}." if body else f"{{{marker}}}."
        self.lines.append(RuleText(text, statement, predicate, index, tuple(texts)))

    def join_rows(self) -> None:
        """Turn rules without variables that follow from one another into facts, if many do."""
        if len(self.lines) < TUNING.rows:
            return
        known = {head for shape in self._predicates for head in shape.heads}
        known |= set(self.row_heads.values())
        groups: dict[tuple[int, _BodyShape], list[tuple[int, str]]] = {}
        for place, line in enumerate(self.lines):
            if line.statement.row is not None:
                found = _LITERALS.findall(line.statement.row.condition)
                body = tuple([(s, name, t.count(",") + 1 if t else 0) for s, name, t in found])
                inside = ",".join([str(line.place), *line.arguments, *(t for *_, t in found if t)])
                groups.setdefault((line.predicate, body), []).append((place, inside))
        shapes = list(self._predicates)
        below: dict[str, set[str]] = {}
        for predicate, body in groups:
            for head in shapes[predicate].heads:
                below.setdefault(head.name, set()).update(name for _, name, _ in body)
        left = list[RuleText | None](self.lines)
        for (predicate, body), rows in groups.items():
            heads = {head.name for head in shapes[predicate].heads}
            all_known = all(Signature(name, arity, True) in known for _, name, arity in body)
            above: set[str] = reached(heads, below)
            if len(rows) >= TUNING.rows and all_known and heads & above:
                self._add_rows(predicate, shapes[predicate], body, [text for _, text in rows])
                for place, _ in rows:
                    left[place] = None
        self.lines[:] = [line for line in left if line is not None]

    def _add_rows(
        self, predicate: int, shape: _Shape, body: _BodyShape, rows: Sequence[str]
    ) -> None:
        """Facts with the arguments of rules of one form, and the rule that they stand for."""
        row = f"{_ROW}{len(self.rows)}"
        variables = [f"A{i}" for i in range(shape.arity)]
        literals = []
        for sign, name, arity in body:
            own = [f"A{len(variables) + i}" for i in range(arity)]
            variables += own
            literals.append(f"{sign}{name}({','.join(own)})" if own else f"{sign}{name}")
        marker = f"{_name(predicate)}({','.join(variables[: shape.arity])})"
        said = ", ".join([f"{row}({','.join(variables)})", *literals])
        self.rows.append(f"{{{marker}}} :- {said}.")
        self.rows += [f"{row}({inside})." for inside in rows]

    def _ground_head(self, text: str) -> tuple[Symbol, str] | None:
        """An atom without variables and constants, and the text of its arguments."""
        if text not in self._heads:
            symbol = None if self._has_constant(text) else parse_symbol(text)
            inside = text[text.index("(") + 1 : -1] if symbol and symbol.arguments else ""
            self._heads[text] = None if symbol is None else (symbol, inside)
        return self._heads[text]

    def _has_constant(self, text: str) -> bool:
        """Whether a text may name a constant."""
        return bool(self.constants) and not self.constants.isdisjoint(_WORD.findall(text))

    def _add_rule(
        self, index: int, values: Sequence[AST], heads: Sequence[AST], body: Sequence[AST]
    ) -> None:
        split = [split_atom(head) for head in heads]
        shape = _Shape(len(values), tuple(signature for signature, _ in split))
        terms = [argument for _, arguments in split for argument in arguments]
        if shape.is_wide:
            terms = [function("", terms)]
        location = heads[0].location
        name = _name(self._predicate(shape))
        marker = function(name, [integer_term(index), *values, *terms], location)
        self.rules.append(choice_rule(marker, body, location))

    def _predicate(self, shape: _Shape) -> int:
        """The predicate of markers of a shape."""
        number = self._predicates.get(shape)
        if number is None:
            number = self._predicates[shape] = len(self._predicates)
            self.rules.extend(_links(number, shape))
        return number

    def find(self, control: Control) -> list[FoundMarker]:
        """The markers that clingo has found."""
        return [
            FoundMarker(literal, symbol, shape)
            for shape, predicate in self._predicates.items()
            for symbol, literal in atoms_of(control, Signature(_name(predicate), shape.arity, True))
        ]

    def read(
        self,
        markers: Sequence[FoundMarker],
        links: Links,
        atoms: Mapping[Symbol, int],
        by_text: Mapping[str, int],
    ) -> list[StatementInstance]:
        """The instances that markers stand for, in the order of the statements.

        ``by_text`` has the atoms in the heads of rows.
        """
        heads = dict(by_text)
        for text, head in self._heads.items():
            if head is not None:
                heads[text] = atoms.get(head[0], 0)
        instances: list[StatementInstance] = []
        ground, indices = self._ground, first_numbers(marker.symbol for marker in markers)
        for marker, index in zip(markers, indices, strict=True):
            if marker.shape.values or index not in ground:
                instances.append(self._instance(marker, index, links, atoms))
            else:  # a statement without variables, whose heads are known by their text
                known = tuple([heads[text] for text in ground[index]])
                instances.append(StatementInstance(index, (), known, marker.atom))
        instances += [
            StatementInstance(index, (), tuple([heads[text] for text in texts]), 0)
            for index, texts in self.plain.items()
        ]
        instances.sort(key=itemgetter(0))
        return instances

    def _instance(
        self, marker: FoundMarker, statement: int, links: Links, atoms: Mapping[Symbol, int]
    ) -> StatementInstance:
        atom, symbol, shape = marker
        arguments = symbol.arguments
        at = 1 + shape.values
        names, values = self._variables[statement], arguments[1:at]
        if statement in self._pooled:
            substitution = substitution_of(names, values)
        else:  # the common way, and quicker
            substitution = tuple(zip(names, values, strict=True))
        if len(shape.heads) == 1 and atom in links:  # the short way: no need for the name
            return StatementInstance(statement, substitution, (links[atom],), atom)
        heads = []
        if shape.is_wide:
            arguments, at = arguments[at].arguments, 0
        for name, arity, positive in shape.heads:
            heads.append(atoms[Function(name, arguments[at : at + arity], positive)])
            at += arity
        return StatementInstance(statement, substitution, tuple(heads), atom)


def is_choice_marker(name: str) -> bool:
    """Whether a predicate is that of markers of annotated statements."""
    return name.startswith(_CHOICE)


def _name(predicate: int) -> str:
    return f"{_CHOICE}{predicate}"


@cache
def named_variables(prefix: str, count: int) -> tuple[AST, ...]:
    """Variables ``prefix0``, ``prefix1``, …"""
    return tuple(Variable(NO_LOCATION, f"{prefix}{index}") for index in range(count))


def atom_term(signature: Signature, arguments: Sequence[AST]) -> AST:
    """An atom of this signature as a term (``-a(X)`` is the negative of a term)."""
    term = function(signature.name, arguments)
    return term if signature.positive else UnaryOperation(NO_LOCATION, UnaryOperator.Minus, term)


def _links(predicate: int, shape: _Shape) -> Iterator[AST]:
    """The rules that tell clingo which atoms the markers can make true."""
    # Not '_', for which clingo would make projections: atoms that nobody needs.
    variables = named_variables("A", shape.arity)
    marker = atom_literal(function(_name(predicate), variables))
    if shape.is_wide:
        yield from _wide_links(marker, variables[-1], shape.heads)
        return
    at = 1 + shape.values
    for signature in shape.heads:
        yield rule(atom_term(signature, variables[at : at + signature.arity]), [marker])
        at += signature.arity


def _wide_links(marker: AST, held: AST, heads: Sequence[Signature]) -> Iterator[AST]:
    """The same where the arguments of all heads are held in one tuple."""
    at = 0
    for signature, run in groupby(heads):
        count = len(list(run))
        if not signature.arity:
            yield rule(atom_term(signature, ()), [marker])
            continue
        variables = named_variables("B", signature.arity)
        parts = [held, integer_term(at), integer_term(count), integer_term(signature.arity)]
        call = FunctionTerm(NO_LOCATION, HEADS, parts, True)
        taken = compared(function("", variables), ComparisonOperator.Equal, call)
        yield rule(atom_term(signature, variables), [marker, taken])
        at += count * signature.arity


class RuleInstance(NamedTuple):
    """A ground instance of a rule that can hold; its ``atom`` is true where its body is."""

    statement: int
    substitution: Substitution
    atom: int
    certain: bool  # its body holds in every model, as clingo knows


@dataclass(slots=True)
class RuleMarkers:
    """The rules of a program with their markers."""

    rules: list[AST] = field(default_factory=list)
    _names: dict[int, tuple[str, ...]] = field(default_factory=dict)
    _open: bool = False

    def add(self, index: int, node: AST) -> None:
        """Take a rule, a constraint or a fact."""
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
        # The head is bound to what the marker says, also where a pool leaves some open.
        known = [Variable(NO_LOCATION, name) for name in self._names[index]]
        marker = function(RULE, [integer_term(index), function("", known)])
        self.rules.append(RuleNode(node.location, node.head, [atom_literal(marker)]))

    def closed(self, control: Control, ground: Iterable[Rule]) -> list[Rule]:
        """The ground rules without the atom that kept markers from being certain."""
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
