"""Statements as heads and bodies over predicates: what is needed to see who needs whom.

>>> from dpasp.language import parse
>>> (statement,) = parse("0.6::w(sun,T); 0.4::w(rain,T) :- T > 0, P = T-1, w(sun,P).").statements
>>> shape = read_shape(statement, frozenset())
>>> [str(atom) for atom in shape.heads], [str(call) for call in shape.calls]
(['w(sun,T)', 'w(rain,T)'], ['w(sun,P)'])
>>> sorted(shape.bound({"T"}, frozenset()))
['P', 'T']
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from clingo.ast import AST, ASTType, BinaryOperator, ComparisonOperator, Sign, UnaryOperator

from dpasp.dataclass import dataclass
from dpasp.language import ast
from dpasp.language.statements.expressions import expression_variables
from dpasp.language.statements.weights import Fixed, expressions
from dpasp.language.text.trees import variables, walk
from dpasp.logic.terms import Signature, split_atom

_ATOMS = re.compile(r"(not )?([a-z]\w*(?:\([^()]*\))?)", re.ASCII)
_FACT = re.compile(r"([a-z]\w*(?:\((?:[a-z0-9]\w*,)*[a-z0-9]\w*\))?)\.", re.ASCII)
_VARIABLE = re.compile(r"\b_*[A-Z]")
_ORDER = {
    ComparisonOperator.LessThan,
    ComparisonOperator.LessEqual,
    ComparisonOperator.GreaterThan,
    ComparisonOperator.GreaterEqual,
}


class ArgumentShape(NamedTuple):
    """An argument of an atom.

    ``matches`` says that values for the whole are values for its variables; ``grows`` that it
    may be larger than they are.
    """

    text: str
    names: frozenset[str]
    matches: bool
    grows: bool
    is_interval: bool = False

    @property
    def shifts(self) -> bool:
        """Whether its variables may be found at other numbers, as in ``X+1``."""
        return self.grows and ("+" in self.text or "-" in self.text)


class Atom(NamedTuple):
    """An atom of a statement; ``kind`` is its predicate."""

    kind: Signature
    terms: tuple[ArgumentShape, ...]

    def __str__(self) -> str:
        inside = ",".join(term.text for term in self.terms)
        return f"{self.kind.name}({inside})" if self.terms else self.kind.name


class Test(NamedTuple):
    """A comparison of a body: its variables, those that it gives values to, and what they need."""

    text: str
    names: frozenset[str]
    gives: tuple[tuple[str, frozenset[str]], ...]
    is_bound: bool  # an order: it may end a recursion
    grows: bool


@dataclass(frozen=True, slots=True)
class Shape:
    """What a rule says about predicates.

    ``simple`` rules consist of atoms, under ``not`` or not, and comparisons, and have no
    variables that nothing gives values to. Of the others only the predicates are known.
    """

    heads: tuple[Atom, ...]
    positive: tuple[Atom, ...] = ()
    negative: tuple[Atom, ...] = ()
    tests: tuple[Test, ...] = ()
    others: frozenset[Signature] = frozenset()  # in aggregates and conditions
    simple: bool = True
    has_variables: bool = False

    @property
    def calls(self) -> tuple[Atom, ...]:
        """The atoms that the body looks at."""
        return (*self.positive, *self.negative)

    @property
    def kinds(self) -> set[Signature]:
        """The predicates that the body looks at."""
        return {atom.kind for atom in self.calls} | self.others

    @property
    def grows(self) -> bool:
        """Whether it may derive ever larger terms."""
        larger = any(term.grows for head in self.heads for term in head.terms)
        return larger or any(test.grows for test in self.tests)

    def bound(self, known: Iterable[str], certain: frozenset[Signature]) -> set[str]:
        """The variables that have values, if some have: by comparisons and certain atoms."""
        names = set(known)
        for atom in self.positive:
            if atom.kind in certain:
                names |= _matched(atom)
        return self._equated(names)

    def _equated(self, names: set[str]) -> set[str]:
        while True:
            new = {
                name
                for test in self.tests
                for name, needs in test.gives
                if name not in names and needs <= names
            }
            if not new:
                return names
            names |= new

    def is_safe(self) -> bool:
        """Whether its body surely gives values to all its variables."""
        names = self._equated({name for atom in self.positive for name in _matched(atom)})
        atoms = {
            name
            for atom in (*self.heads, *self.calls)
            for term in atom.terms
            for name in term.names
        }
        return atoms <= names and all(test.names <= names for test in self.tests)


def _matched(atom: Atom) -> set[str]:
    return {name for term in atom.terms if term.matches for name in term.names}


def read_shape(statement: ast.Statement, constants: frozenset[str]) -> Shape | None:
    """What a normal rule or an annotated statement says; None for everything else.

    A statement of which more must be known than this (whose probability depends on variables or
    is to be learned, that calls a function) is none of these.
    """
    match statement:
        case ast.Annotated(written=written) if written is not None and not constants:
            fixed = statement.numbers is not None
            if fixed or all(isinstance(head.weight, Fixed) for head in statement.heads):
                return _read_written(written.heads, written.body)
        case ast.Annotated():
            if all(_is_plain(head) for head in statement.heads):
                return _read_rule([head.atom for head in statement.heads], statement.body)
        case ast.Plain(node) if not constants and (fact := _FACT.fullmatch(str(node))):
            # Most statements of large programs are facts, and to look into nodes is slow.
            return Shape((_ground_atom(fact[1]),))
        case ast.Plain(node) if node.ast_type == ASTType.Rule:
            head = node.head
            plain = head.ast_type == ASTType.Literal and head.sign == Sign.NoSign
            if plain and head.atom.ast_type == ASTType.SymbolicAtom:
                return _read_rule([head.atom], node.body)
    return None


def _is_plain(head: ast.Head) -> bool:
    weight = head.weight
    if not isinstance(weight, Fixed):
        return False
    return not any(True for part in expressions(weight) for _ in expression_variables(part))


def _read_written(heads: tuple[str, ...], body: str) -> Shape | None:
    outside = [_written_atom(text) for text in heads]
    inside = [(sign, _written_atom(text)) for sign, text in _ATOMS.findall(body)]
    if any(atom is None for atom in (*outside, *(atom for _, atom in inside))):
        return None
    return Shape(
        tuple(atom for atom in outside if atom),
        tuple(atom for sign, atom in inside if atom and not sign),
        tuple(atom for sign, atom in inside if atom and sign),
    )


@lru_cache(maxsize=200_000)  # rows of tables name the same atoms again and again
def _written_atom(text: str) -> Atom | None:
    """An atom without variables."""
    return None if _VARIABLE.search(text) else _ground_atom(text)


def _ground_atom(text: str) -> Atom:
    name, _, inside = text.partition("(")
    words = [word.strip() for word in inside.removesuffix(")").split(",")] if inside else []
    terms = tuple(ArgumentShape(word, frozenset(), True, False) for word in words)
    return Atom(Signature(name.strip(), len(terms), True), terms)


def _read_rule(heads: list[AST], body: Iterable[AST]) -> Shape | None:
    head_atoms = [read_atom(head.symbol) for head in heads]
    if any(atom is None or _is_open(atom) for atom in head_atoms):
        return None
    positive: list[Atom] = []
    negative: list[Atom] = []
    tests: list[Test] = []
    others: set[Signature] = set()
    simple = True
    for node in body:
        kind = node.atom.ast_type if node.ast_type == ASTType.Literal else node.ast_type
        if kind == ASTType.SymbolicAtom and (atom := read_atom(node.atom.symbol)) is not None:
            (positive if node.sign == Sign.NoSign else negative).append(atom)
        elif kind == ASTType.Comparison and node.sign == Sign.NoSign and "@" not in str(node):
            tests.append(_test(node))
        else:
            simple = False
            others |= _kinds(node)
            if "@" in str(node) or kind == ASTType.TheoryAtom or _has_pool(node):
                return None
    atoms = tuple(atom for atom in head_atoms if atom is not None)
    shape = Shape(atoms, tuple(positive), tuple(negative), tuple(tests), frozenset(others))
    names = {
        n for atom in (*atoms, *positive, *negative) for term in atom.terms for n in term.names
    }
    if not simple or not shape.is_safe():
        return Shape(atoms, shape.positive, shape.negative, (), shape.others, simple=False)
    has = bool(names or any(test.names for test in tests))
    return Shape(atoms, shape.positive, shape.negative, shape.tests, has_variables=has)


def _is_open(atom: Atom) -> bool:
    """Whether an atom has ``_`` in it, which gives a head no values."""
    return any("_" in re.split(r"\W+", term.text) for term in atom.terms)


def read_atom(symbol: AST) -> Atom | None:
    """An atom with its arguments; None where it has a pool or calls a function."""
    if symbol.ast_type not in (ASTType.Function, ASTType.UnaryOperation):
        return None
    text = str(symbol)
    if "@" in text or ";" in text:
        return None
    kind, arguments = split_atom(symbol)
    return Atom(kind, tuple(map(_term, arguments)))


def _term(node: AST) -> ArgumentShape:
    names = frozenset(variable.name for variable in variables(node))
    text = str(node)
    matches = _can_match(node)
    grows = bool(names) and node.ast_type != ASTType.Variable
    return ArgumentShape(text, names, matches, grows, node.ast_type == ASTType.Interval)


def _can_match(node: AST) -> bool:
    """Whether clingo finds the values of the variables in a term from a value of the whole."""
    match node.ast_type:
        case ASTType.Variable:
            return bool(node.name != "_")
        case ASTType.SymbolicTerm:
            return True
        case ASTType.UnaryOperation:  # a negative number
            kind = node.argument.ast_type
            return bool(node.operator_type == UnaryOperator.Minus and kind == ASTType.SymbolicTerm)
        case ASTType.Function:
            return not node.external and all(map(_can_match, node.arguments))
        case ASTType.BinaryOperation:
            kinds = {node.left.ast_type, node.right.ast_type}
            known = {BinaryOperator.Plus, BinaryOperator.Minus}
            simple = kinds == {ASTType.Variable, ASTType.SymbolicTerm}
            return node.operator_type in known and simple and "_" not in str(node)
    return False


def _test(node: AST) -> Test:
    comparison = node.atom
    sides = [comparison.term, *(guard.term for guard in comparison.guards)]
    kinds = [guard.comparison for guard in comparison.guards]
    names = [frozenset(variable.name for variable in variables(side)) for side in sides]
    gives: list[tuple[str, frozenset[str]]] = []
    if kinds == [ComparisonOperator.Equal]:
        for side, other in ((0, 1), (1, 0)):
            if _can_match(sides[side]):
                gives += ((name, names[other]) for name in names[side])
    equal = bool(gives)
    grows = equal and any(side.ast_type == ASTType.BinaryOperation for side in sides)
    ends = all(kind in _ORDER for kind in kinds)
    ends = ends or (equal and any(side.ast_type == ASTType.Interval for side in sides))
    return Test(str(node), frozenset().union(*names), tuple(gives), ends, grows)


def _kinds(node: AST) -> set[Signature]:
    """The predicates below a node."""
    return {
        split_atom(part.symbol)[0]
        for part in walk(node)
        if part.ast_type == ASTType.SymbolicAtom
        and part.symbol.ast_type in (ASTType.Function, ASTType.UnaryOperation)
    }


def _has_pool(node: AST) -> bool:
    """Whether atoms below a node have pools, which hide their arity."""
    return any(
        part.ast_type == ASTType.SymbolicAtom and part.symbol.ast_type == ASTType.Pool
        for part in walk(node)
    )


def predicate_names(nodes: Iterable[AST]) -> set[str]:
    """The names of all predicates below some nodes."""
    names: set[str] = set()
    for node in nodes:
        for part in walk(node):
            if part.ast_type == ASTType.SymbolicAtom:
                names |= {p.name for p in walk(part.symbol) if p.ast_type == ASTType.Function}
    return names
