"""Integers that leave 32 bits: clingo wraps them around silently, so we warn where they can.

Once a program is ground, its atoms tell between which integers each of their arguments lies.
From there the ranges of the arithmetic in rules follow, and the largest sums.

>>> from dpasp.language import parse
>>> from dpasp.logic import ground
>>> program = ground(parse("n(2000000000). m(X + X) :- n(X). 0.5::a."))
>>> [warning.code for warning in program.warnings]
['integer-overflow']
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import NamedTuple

from clingo import Symbol, SymbolType
from clingo.ast import (
    AST,
    AggregateFunction,
    ASTType,
    BinaryOperator,
    ComparisonOperator,
    Sign,
    UnaryOperator,
)

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic
from dpasp.language import ast
from dpasp.language.text.trees import walk
from dpasp.logic.constants import symbol_constants

LEAST, MOST = -(2**31), 2**31 - 1
# An integer from which sums of few numbers can leave 32 bits; not the digits of a probability.
LONG = re.compile(r"(?:(?<![\d.])|(?<=\.\.))(?:\d{7,}|0x\w{5,}|0o\w{7,}|0b\w{20,})")
FAR = re.compile(r"\*|#sum")  # what else can take numbers far
ARITHMETIC = (ASTType.BinaryOperation, ASTType.BodyAggregate)
GROWING = (BinaryOperator.Multiplication, BinaryOperator.Power)
SUMS = (AggregateFunction.Sum, AggregateFunction.SumPlus)


class Range(NamedTuple):
    """The integers from ``low`` to ``high``."""

    low: int
    high: int

    @property
    def fits(self) -> bool:
        """Whether 32 bits hold them all."""
        return self.low >= LEAST and self.high <= MOST

    def meet(self, other: Range) -> Range:
        """Those that are in both."""
        return Range(max(self.low, other.low), min(self.high, other.high))


def overflows(
    program: ast.Program, atoms: Iterable[Symbol], overrides: Mapping[str, str]
) -> list[Diagnostic]:
    """A warning for each statement whose integers can leave 32 bits, given the ground atoms."""
    texts = [*(file.text for file in program.sources.files), *overrides.values()]
    long = any(map(LONG.search, texts))
    if not long and not any(map(FAR.search, texts)):
        return []
    warnings = []
    seen: _Seen | None = None
    for statement in program.statements:
        if not isinstance(statement, ast.Plain | ast.Annotated):
            continue
        if isinstance(statement, ast.Annotated) and statement.written:
            continue  # a plain row has no arithmetic
        nodes = list(ast.clingo_terms(statement))
        if not any(_can_grow(part, long) for node in nodes for part in walk(node)):
            continue
        seen = seen or _Seen(list(atoms), symbol_constants(program, overrides))
        reach = _Statement(nodes, seen).reach()
        if reach is not None:
            message = f"this can reach {reach}, and integers go from {LEAST} to {MOST}: "
            message += "clingo wraps it around without a word"
            help = "use smaller numbers, or larger units"
            warning = Diagnostic("integer-overflow", message, statement.span, help, "warning")
            warnings.append(warning)
    return warnings


def _can_grow(node: AST, long: bool) -> bool:
    """Whether it is worth looking: adding takes small numbers nowhere in what can be ground."""
    if node.ast_type == ASTType.BodyAggregate:
        return node.function in SUMS
    if node.ast_type != ASTType.BinaryOperation:
        return False
    return long or node.operator_type in GROWING


@dataclass(slots=True)
class _Seen:
    """The ground atoms, and the values of constants."""

    atoms: list[Symbol]
    constants: Mapping[str, Symbol]
    _by_signature: dict[tuple[str, int], list[Symbol]] | None = None
    _ranges: dict[tuple[str, int, int], Range | None] = field(default_factory=dict)

    def of(self, name: str, arity: int) -> list[Symbol]:
        """The atoms of a predicate."""
        if self._by_signature is None:
            self._by_signature = {}
            for atom in self.atoms:
                key = (atom.name, len(atom.arguments))
                self._by_signature.setdefault(key, []).append(atom)
        return self._by_signature.get((name, arity), [])

    def numbers(self, name: str, arity: int, place: int) -> Iterator[int]:
        """The integers that atoms of a predicate have at a place."""
        for atom in self.of(name, arity):
            argument = atom.arguments[place]
            if argument.type == SymbolType.Number:
                yield argument.number

    def range(self, name: str, arity: int, place: int) -> Range | None:
        """The range of these integers; none where there are none."""
        key = (name, arity, place)
        if key not in self._ranges:
            numbers = list(self.numbers(*key))
            self._ranges[key] = Range(min(numbers), max(numbers)) if numbers else None
        return self._ranges[key]


class _Statement:
    """The ranges of the variables and terms of a statement."""

    def __init__(self, nodes: list[AST], seen: _Seen) -> None:
        self.nodes = [part for node in nodes for part in walk(node)]
        self.seen = seen
        self.ranges: dict[str, Range] = {}
        self.beyond: int | None = None

    def reach(self) -> int | None:
        """The integer furthest outside of 32 bits that can be reached; None if there is none."""
        self._atoms()
        for _ in range(2):  # a comparison may use what a later one says
            for node in self.nodes:
                if node.ast_type == ASTType.Comparison and len(node.guards) == 1:
                    self._comparison(node)
        self.beyond = None
        for node in self.nodes:
            if node.ast_type == ASTType.BinaryOperation:
                self.range(node)
            elif node.ast_type == ASTType.BodyAggregate and node.function in SUMS:
                self._note(self._sum(node))
        return self.beyond

    def _atoms(self) -> None:
        for name, arguments in _positive(self.nodes):
            for place, argument in enumerate(arguments):
                if argument.ast_type == ASTType.Variable:
                    self._narrow(argument.name, self.seen.range(name, len(arguments), place))

    def _narrow(self, variable: str, range: Range | None) -> None:
        if range is not None and variable != "_":
            known = self.ranges.get(variable)
            self.ranges[variable] = range if known is None else known.meet(range)

    def _comparison(self, node: AST) -> None:
        """Learn from ``X < t``, ``X = t`` and the like, on both sides."""
        guard = node.guards[0]
        operator = ComparisonOperator(guard.comparison)
        for variable, other, mirrored in (
            (node.term, guard.term, False),
            (guard.term, node.term, True),
        ):
            known = self.range(other)
            if variable.ast_type != ASTType.Variable or known is None:
                continue
            match _MIRRORED[operator] if mirrored else operator:
                case ComparisonOperator.Equal:
                    self._narrow(variable.name, known)
                case ComparisonOperator.LessThan:
                    self._narrow(variable.name, Range(LEAST, known.high - 1))
                case ComparisonOperator.LessEqual:
                    self._narrow(variable.name, Range(LEAST, known.high))
                case ComparisonOperator.GreaterThan:
                    self._narrow(variable.name, Range(known.low + 1, MOST))
                case ComparisonOperator.GreaterEqual:
                    self._narrow(variable.name, Range(known.low, MOST))

    def range(self, term: AST) -> Range | None:
        """The range of a term; none where it is not known. What leaves 32 bits is noted."""
        match term.ast_type:
            case ASTType.SymbolicTerm:
                return self._symbol(term.symbol)
            case ASTType.Variable:
                known = self.ranges.get(term.name)
                return known if known is None or known.low <= known.high else None
            case ASTType.Interval:
                return _hull(self.range(term.left), self.range(term.right))
            case ASTType.UnaryOperation if term.operator_type == UnaryOperator.Minus:
                inner = self.range(term.argument)
                return None if inner is None else self._note(Range(-inner.high, -inner.low))
            case ASTType.BinaryOperation:
                left, right = self.range(term.left), self.range(term.right)
                if left is None or right is None:
                    return None
                return self._note(_combined(term.operator_type, left, right))
        return None

    def _symbol(self, symbol: Symbol) -> Range | None:
        if symbol.type == SymbolType.Function and not symbol.arguments:
            symbol = self.seen.constants.get(symbol.name, symbol)
        if symbol.type != SymbolType.Number:
            return None
        return Range(symbol.number, symbol.number)

    def _note(self, range: Range | None) -> Range | None:
        """Remember how far a range goes beyond 32 bits; what comes of it then is not known."""
        if range is None or range.fits:
            return range
        far = range.high if range.high > MOST else range.low
        self.beyond = far if self.beyond is None or abs(far) > abs(self.beyond) else self.beyond
        return None

    def _sum(self, node: AST) -> Range | None:
        """How low and how high a sum can be, if each of its weights comes from one atom."""
        low = high = 0
        for element in node.elements:
            weights = self._weights(element)
            if weights is None:
                return None
            low += sum(weight for weight in weights if weight < 0)
            high += sum(weight for weight in weights if weight > 0)
        return Range(low, high)

    def _weights(self, element: AST) -> Iterable[int] | None:
        atoms = list(_positive(part for literal in element.condition for part in walk(literal)))
        if not element.terms or len(atoms) != 1:
            return None
        (name, arguments), weight = atoms[0], element.terms[0]
        if weight.ast_type == ASTType.Variable:
            for place, argument in enumerate(arguments):
                if argument.ast_type == ASTType.Variable and argument.name == weight.name:
                    return _distinct(self.seen, name, arguments, element, place)
            return None
        fixed = self.range(weight)
        if fixed is None or fixed.low != fixed.high:
            return None
        return [fixed.low] * len(self.seen.of(name, len(arguments)))


def _distinct(
    seen: _Seen, name: str, arguments: list[AST], element: AST, place: int
) -> Iterable[int]:
    """The weights of an element, each tuple of its terms counted once."""
    written = {str(term) for term in element.terms}
    kept = [at for at, argument in enumerate(arguments) if str(argument) in written]
    numbers = {}
    for atom in seen.of(name, len(arguments)):
        if atom.arguments[place].type == SymbolType.Number:
            key = tuple(atom.arguments[at] for at in kept)
            numbers[key] = atom.arguments[place].number
    return numbers.values()


def _positive(nodes: Iterable[AST]) -> Iterator[tuple[str, list[AST]]]:
    """The names and arguments of the atoms that are not negated."""
    for node in nodes:
        if node.ast_type == ASTType.Literal and node.sign == Sign.NoSign:
            atom = node.atom
            if atom.ast_type == ASTType.SymbolicAtom and atom.symbol.ast_type == ASTType.Function:
                yield atom.symbol.name, list(atom.symbol.arguments)


def _hull(left: Range | None, other: Range | None) -> Range | None:
    if left is None or other is None:
        return None
    return Range(min(left.low, other.low), max(left.high, other.high))


def _combined(operator: int, left: Range, right: Range) -> Range | None:
    """The range of an operation; none for those that cannot leave the ranges of 32 bits."""
    match operator:
        case BinaryOperator.Plus:
            return Range(left.low + right.low, left.high + right.high)
        case BinaryOperator.Minus:
            return Range(left.low - right.high, left.high - right.low)
        case BinaryOperator.Multiplication:
            ends = [a * b for a in left for b in right]
            return Range(min(ends), max(ends))
        case BinaryOperator.Power if right.low >= 0:
            top = min(right.high, 64)  # enough to leave 32 bits, if anything but 0 and 1 does
            ends = [base**power for base in (*left, 0, 1) for power in (min(right.low, 64), top)]
            negative = -(max(abs(left.low), abs(left.high)) ** top) if left.low < 0 else 0
            return Range(min(*ends, negative), max(*ends, -negative))
    return None


_MIRRORED = {
    ComparisonOperator.Equal: ComparisonOperator.Equal,
    ComparisonOperator.NotEqual: ComparisonOperator.NotEqual,
    ComparisonOperator.LessThan: ComparisonOperator.GreaterThan,
    ComparisonOperator.LessEqual: ComparisonOperator.GreaterEqual,
    ComparisonOperator.GreaterThan: ComparisonOperator.LessThan,
    ComparisonOperator.GreaterEqual: ComparisonOperator.LessEqual,
}
