"""Annotated and neural statements as clingo sees them: choices of *markers*.

A ground instance of ``0.3::a(X); 0.5::b :- c(X,Y).`` (the first statement) is told by an atom

    {$choice0(0, (X,Y), (X,), ())} :- c(X,Y).
    a(A) :- $choice0(_, _, (A,), _).        b :- $choice0(_, _, _, ()).

which carries the statement, its substitution, and the arguments of its heads as terms,
so that clingo evaluates the arithmetic, constants, pools and intervals in them. Names
that begin with ``$`` cannot be written in a program, so they never clash with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

from clingo import Control, Function, Number, Symbol
from clingo.ast import (
    AST,
    Comparison,
    ComparisonOperator,
    Guard,
    Literal,
    Sign,
    UnaryOperation,
    UnaryOperator,
    Variable,
)
from clingo.ast import Function as FunctionTerm

from dpasp.language import ast
from dpasp.logic.constants import parse_symbol
from dpasp.logic.terms import (
    NOWHERE,
    Signature,
    atom_literal,
    choice_rule,
    function,
    global_variables,
    number,
    rule,
    split_atom,
    symbolic,
    unpooled_atoms,
    unpooled_bodies,
)
from dpasp.logic.weights import Substitution

HIDDEN = "$"
FACTS = "$facts"  # the external function that lists the markers of ground facts
ABSENT = Function("$absent")  # stands for a variable of another element of a pool
EMPTY = Function("")


def is_hidden(name: str) -> bool:
    """Whether a predicate is one of ours."""
    return name.startswith(HIDDEN)


@dataclass(frozen=True, slots=True)
class Marker:
    """A ground instance of an annotated statement; ``atom`` is clingo's number for it."""

    statement: int
    substitution: Substitution
    heads: tuple[Symbol, ...]
    atom: int


@dataclass(slots=True)
class ChoiceMarkers:
    """The markers of all annotated statements: one predicate for each list of head predicates."""

    constants: frozenset[str]  # names that clingo replaces
    rules: list[AST] = field(default_factory=list)
    facts: list[list[Symbol]] = field(default_factory=list)  # markers of facts by predicate
    _predicates: dict[tuple[Signature, ...], int] = field(default_factory=dict)
    _variables: dict[int, tuple[str, ...]] = field(default_factory=dict)

    def add(self, index: int, statement: ast.Annotated) -> None:
        """Encode a statement."""
        if not statement.body and self._add_fact(index, statement):
            return
        atoms = [unpooled_atoms(head.atom) for head in statement.heads]
        symbols = [symbol for alternatives in atoms for symbol in alternatives]
        known = global_variables((*symbols, *statement.body))
        self._variables[index] = tuple(known)
        bodies = unpooled_bodies(statement.body)
        for body in bodies:
            present = known if len(bodies) == 1 else global_variables((*symbols, *body))
            values = [present.get(name) or symbolic(ABSENT) for name in known]
            for heads in product(*atoms):
                self._add_rule(index, values, heads, body)

    def _add_fact(self, index: int, statement: ast.Annotated) -> bool:
        """Encode a ground fact the short way; false when it is none."""
        symbols = []
        for head in statement.heads:
            symbol = parse_symbol(str(head.atom))
            if symbol is None or not self._is_constant_free(symbol.arguments):
                return False
            symbols.append(symbol)
        signatures = tuple(Signature(s.name, len(s.arguments), s.positive) for s in symbols)
        arguments = (Function("", symbol.arguments) for symbol in symbols)
        predicate = self._predicate(signatures)
        if not self.facts[predicate]:
            self.rules.append(_fact_rule(predicate, len(signatures)))
        self.facts[predicate].append(Function("", [Number(index), EMPTY, *arguments]))
        self._variables[index] = ()
        return True

    def _is_constant_free(self, symbols: Sequence[Symbol]) -> bool:
        if not self.constants:
            return True
        return not any(
            name in self.constants for symbol in symbols for name in _constant_names(symbol)
        )

    def _add_rule(
        self, index: int, values: Sequence[AST], heads: Sequence[AST], body: Sequence[AST]
    ) -> None:
        split = [split_atom(head) for head in heads]
        predicate = self._predicate(tuple(signature for signature, _ in split))
        terms = [function("", arguments) for _, arguments in split]
        location = heads[0].location
        marker = function(_name(predicate), [number(index), function("", values), *terms], location)
        self.rules.append(choice_rule(marker, body, location))

    def _predicate(self, signatures: tuple[Signature, ...]) -> int:
        """The predicate of markers for heads of these signatures."""
        found = self._predicates.get(signatures)
        if found is None:
            found = self._predicates[signatures] = len(self._predicates)
            self.facts.append([])
            self.rules.extend(_links(found, signatures))
        return found

    def read(self, control: Control) -> Iterator[Marker]:
        """The markers of a ground program, in the order of the statements."""
        found: list[Marker] = []
        for signatures, predicate in self._predicates.items():
            arity = len(signatures) + 2
            for atom in control.symbolic_atoms.by_signature(_name(predicate), arity):
                index, values, *heads = atom.symbol.arguments
                found.append(self._marker(index.number, values, heads, signatures, atom.literal))
        return iter(sorted(found, key=lambda marker: marker.statement))

    def _marker(
        self,
        index: int,
        values: Symbol,
        heads: Sequence[Symbol],
        signatures: Sequence[Signature],
        atom: int,
    ) -> Marker:
        pairs = zip(self._variables[index], values.arguments, strict=True)
        symbols = tuple(
            Function(signature.name, head.arguments, signature.positive)
            for signature, head in zip(signatures, heads, strict=True)
        )
        return Marker(index, tuple(pair for pair in pairs if pair[1] != ABSENT), symbols, atom)


def _name(predicate: int) -> str:
    return f"{HIDDEN}choice{predicate}"


def _constant_names(symbol: Symbol) -> Iterator[str]:
    """The names that clingo takes for constants in a symbol."""
    if symbol.type.name != "Function":
        return
    if not symbol.arguments:
        yield symbol.name
    for argument in symbol.arguments:
        yield from _constant_names(argument)


def named_variables(prefix: str, count: int) -> list[AST]:
    """Variables ``prefix0``, ``prefix1``, …"""
    return [Variable(NOWHERE, f"{prefix}{index}") for index in range(count)]


def atom_term(signature: Signature, arguments: Sequence[AST]) -> AST:
    """An atom of this signature as a term (``-a(X)`` is the negative of a term)."""
    term = function(signature.name, arguments)
    return term if signature.positive else UnaryOperation(NOWHERE, UnaryOperator.Minus, term)


def _links(predicate: int, signatures: Sequence[Signature]) -> Iterator[AST]:
    """The rules that tell clingo which atoms the markers can make true."""
    for position, signature in enumerate(signatures):
        arguments = named_variables("A", signature.arity)
        # Not '_', for which clingo would make projections: atoms that nobody needs.
        parts = named_variables("B", len(signatures) + 2)
        parts[position + 2] = function("", arguments)
        marker = function(_name(predicate), parts)
        yield rule(atom_term(signature, arguments), [atom_literal(marker)])


def _fact_rule(predicate: int, heads: int) -> AST:
    """``{marker} :- (its arguments) = @$facts(predicate).``"""
    variables = named_variables("A", heads + 2)
    call = FunctionTerm(NOWHERE, FACTS, [number(predicate)], True)
    equal = Guard(ComparisonOperator.Equal, call)
    condition = Literal(NOWHERE, Sign.NoSign, Comparison(function("", variables), [equal]))
    return choice_rule(function(_name(predicate), variables), [condition])
