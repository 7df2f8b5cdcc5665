"""Integers beyond 32 bits, which clingo silently wraps around.

A program is first ground as it is. If the largest integers among its atoms might take arithmetic or
a sum beyond 32 bits, it is ground again, *carefully*: Python functions do the arithmetic exactly
and refuse what leaves 32 bits, and sums are added up (see :mod:`dpasp.ground.sums`).

>>> from dpasp.language import parse
>>> from dpasp.ground import ground
>>> found = ground(parse("p(2000000000). q(X+X-3000000000/2) :- p(X)."))
Traceback (most recent call last):
    ...
dpasp.errors.ProgramError: <program>:1:22: error: 3000000000 is too large: integers go up to ...
>>> found = ground(parse("p(2000000000). q((X+X)/4) :- p(X)."))        # exact in between
>>> [str(symbol) for symbol in found.symbols if symbol]
['p(2000000000)', 'q(1000000000)']
>>> ground(parse("p(2000000000). q(X+X) :- p(X)."))
Traceback (most recent call last):
    ...
dpasp.errors.ProgramError: <program>:1:18: error: X+X is 4000000000 here, and integers go from ...
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from clingo import Control, Number, Symbol, SymbolType
from clingo.ast import (
    AST,
    ASTType,
    BinaryOperator,
    ComparisonOperator,
    Function,
    Sign,
    Transformer,
    UnaryOperator,
)

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, ProgramError, Span
from dpasp.ground.markers import HIDDEN
from dpasp.ground.messages import undefined_operation, untyped
from dpasp.ground.sums import SUMS, LargeSums
from dpasp.ground.terms import (
    LEAST,
    MOST,
    RANGE,
    SMALLER,
    compared,
    computed,
    digits_text,
    integer_term,
    operands_of,
    symbol_constants,
)
from dpasp.language import ast
from dpasp.language.statements.constants import numeric_constants
from dpasp.language.statements.statistical import constraints
from dpasp.language.text.clingo_text import is_positive, variables, walk

NUMBER, FITS = f"{HIDDEN}number", f"{HIDDEN}fits"  # the functions that clingo calls
OPERATIONS = (ASTType.UnaryOperation, ASTType.BinaryOperation)
COMPUTED = (*OPERATIONS, ASTType.BodyAggregate, ASTType.HeadAggregate)
QUOTIENTS = (BinaryOperator.Division, BinaryOperator.Modulo)
LINEAR = (BinaryOperator.Plus, BinaryOperator.Minus, BinaryOperator.Multiplication)
CONDITIONED = (ASTType.ConditionalLiteral, ASTType.BodyAggregateElement)
COMPUTING = ast.Plain | ast.Annotated | ast.Neural | ast.Data | ast.Factor | ast.Statistical
SURE = 2**30  # clingo computes sums of weights below this correctly
UNKNOWN = 2**40  # an unknown magnitude
# What makes integers grow far, in the text of a program; all else adds small numbers. There is one
# pattern for each first character, because Python searches for it quickly. Digits must not be
# inside a name or after a decimal point, and "-" not part of ":-".
_START = r"(?:(?<![\w.].)|(?<=\.\..))"
_GROWING = [
    re.compile(pattern, re.ASCII)
    for pattern in (
        *(r"#sum", r"\)\s*\[", r"\*", r"\+\s*[A-Z_(|@]", r"-(?<!:-)\s*[A-Z_(|@]"),
        *(rf"\d{_START}\d\d\d\d\d\d", rf"0{_START}[xob]\w{{5,}}"),
    )
]
_COMPUTES = re.compile(r"#sum|[*+~|?^&]|[\w)]\s*-|-\s*[A-Z_(|]", re.ASCII)
_DIVIDES = re.compile(r"[/\\]\s*[^\d\s]")


# --- what may leave 32 bits ----------------------------------------------------------------------


def suspects(
    program: ast.Program, control: Control, overrides: Mapping[str, str], questions: bool
) -> frozenset[int]:
    """The statements whose integers may leave 32 bits, judged by the atoms that clingo found.

    Only ``questions``, or only the others.
    """
    found = {}
    for index in _where(program, _COMPUTES):
        statement = program.statements[index]
        if isinstance(statement, ast.Question) == questions:
            nodes = list(ast.clingo_terms(statement))
            if isinstance(statement, ast.Statistical):
                nodes += constraints(statement, numeric_constants(program, overrides))
            if any(part.ast_type in COMPUTED for node in nodes for part in walk(node)):
                found[index] = nodes
    if not found or not may_grow(program, overrides):
        return frozenset()
    atoms = _Atoms(control, symbol_constants(program, overrides))
    return frozenset(index for index, nodes in found.items() if _Magnitudes(nodes, atoms).leave())


def may_leave(nodes: Iterable[AST], control: Control, constants: Mapping[str, Symbol]) -> bool:
    """Whether integers may leave 32 bits in the ground rules."""
    atoms = _Atoms(control, constants)
    return any(_Magnitudes([node], atoms).leave() for node in nodes)


def may_grow(program: ast.Program, overrides: Mapping[str, str] | None = None) -> bool:
    """Whether integers can grow large in a program, judged by its text."""
    values = (overrides or {}).values()
    return any(file.has(_grows) for file in program.sources.files) or any(map(_grows, values))


def _grows(text: str) -> bool:
    return any(pattern.search(text) for pattern in _GROWING)


def dividing(program: ast.Program) -> frozenset[int]:
    """The statements that may divide -2147483648 by -1, which would end the process."""
    if not any(file.has(_divides) for file in program.sources.files):
        return frozenset()
    return frozenset(_where(program, _DIVIDES))


def _divides(text: str) -> bool:
    return ("/" in text or "\\" in text) and _DIVIDES.search(text) is not None


def _where(program: ast.Program, pattern: re.Pattern[str]) -> Iterator[int]:
    """The statements whose text matches a pattern; plain rows compute nothing."""
    for index, statement in enumerate(program.statements):
        if isinstance(statement, ast.Annotated) and statement.row is not None:
            continue
        if isinstance(statement, ast.Plain) and statement.fact is not None:
            continue
        if not isinstance(statement, COMPUTING | ast.Question):
            continue
        text = program.sources.text_of(statement.span)
        if text is None or pattern.search(text):
            yield index


class _Atoms:
    """How many atoms a predicate has, and the largest magnitude of an integer in them."""

    def __init__(self, control: Control, constants: Mapping[str, Symbol]) -> None:
        self.control, self.constants = control, constants
        self._known: dict[tuple[str, int], tuple[int, int]] = {}

    def of(self, atom: AST) -> tuple[int, int]:
        """The count and magnitude for the predicate of an atom."""
        symbol = atom.symbol
        while symbol.ast_type == ASTType.UnaryOperation:
            symbol = symbol.argument
        if symbol.ast_type != ASTType.Function:
            return UNKNOWN, UNKNOWN
        key = symbol.name, len(symbol.arguments)
        if key not in self._known:
            base = self.control.symbolic_atoms
            found = [a.symbol for sign in (True, False) for a in base.by_signature(*key, sign)]
            self._known[key] = len(found), max(map(_largest, found), default=0)
        return self._known[key]


def _largest(symbol: Symbol) -> int:
    """The largest magnitude of an integer in a symbol."""
    if symbol.type == SymbolType.Number:
        return abs(symbol.number)
    if symbol.type != SymbolType.Function:
        return 0
    return max(map(_largest, symbol.arguments), default=0)


class _Magnitudes:
    """How large the terms of a statement can be, ignoring signs."""

    def __init__(self, nodes: Sequence[AST], atoms: _Atoms) -> None:
        self.parts = [part for node in nodes for part in walk(node)]
        self.atoms = atoms
        self.known: dict[str, int] = {}  # of variables
        written = [self.of(p) for p in self.parts if p.ast_type == ASTType.SymbolicTerm]
        shift = max(written, default=0)  # by how much a variable inside an atom may differ
        for atom in _binding(nodes):
            for variable in variables(atom):
                most = min(atoms.of(atom)[1] + shift, self.of(variable))
                self.known[variable.name] = most
        for _ in range(2):  # an equation may depend on a later one
            for part in self.parts:
                if part.ast_type == ASTType.Comparison:
                    self._learn([part.term, *(guard.term for guard in part.guards)], part.guards)

    def _learn(self, sides: list[AST], guards: Sequence[AST]) -> None:
        """Learn magnitudes from equations ``X = t``."""
        if all(guard.comparison == ComparisonOperator.Equal for guard in guards):
            least = min(map(self.of, sides))
            for side in sides:
                if side.ast_type == ASTType.Variable:
                    self.known[side.name] = least

    def leave(self) -> bool:
        """Whether a term or a sum may leave 32 bits."""
        for part in self.parts:
            kind = part.ast_type
            if kind in OPERATIONS and self.of(part) > MOST:
                return True
            sums = kind in (ASTType.BodyAggregate, ASTType.HeadAggregate) and part.function in SUMS
            if sums and sum(map(self._element, part.elements)) >= SURE:
                return True
        return False

    def of(self, term: AST) -> int:
        """How large a term can be."""
        return min(self._of(term), UNKNOWN)

    def _of(self, term: AST) -> int:
        match term.ast_type:
            case ASTType.SymbolicTerm:
                symbol: Symbol = term.symbol
                if symbol.type == SymbolType.Function and not symbol.arguments:
                    symbol = self.atoms.constants.get(symbol.name, symbol)
                return _largest(symbol)
            case ASTType.Variable:
                return self.known.get(term.name, UNKNOWN)
            case ASTType.Function | ASTType.Pool if not getattr(term, "external", 0):
                return max((self.of(part) for part in term.arguments), default=0)
            case ASTType.Interval:
                return max(self.of(term.left), self.of(term.right))
            case ASTType.UnaryOperation:
                return self.of(term.argument) + int(term.operator_type == UnaryOperator.Negation)
            case ASTType.BinaryOperation:
                return _combined(term.operator_type, self.of(term.left), self.of(term.right))
        return UNKNOWN

    def _element(self, element: AST) -> int:
        """How large the sum over the instances of an element can be."""
        head = element.ast_type == ASTType.HeadAggregateElement
        condition = element.condition.condition if head else element.condition
        atoms = [literal.atom for literal in condition if is_positive(literal)]
        bound = {v.name for atom in atoms for v in variables(atom)}
        count = 1
        for atom in atoms:
            count = min(UNKNOWN, count * max(1, self.atoms.of(atom)[0]))
        if any(v.name not in bound and v.name not in self.known for v in variables(element)):
            count = UNKNOWN
        weight = self.of(element.terms[0]) if element.terms else 0
        return count * weight


def _combined(operator: int, left: int, right: int) -> int:
    match operator:
        case BinaryOperator.Multiplication:
            return left * right
        case BinaryOperator.Power:
            return int(max(left, 1) ** min(right, 41))
        case BinaryOperator.Division:
            return left
        case BinaryOperator.Modulo:
            return min(left, right)
    return left + right + (operator not in LINEAR)


def _binding(nodes: Iterable[AST]) -> Iterator[AST]:
    """The atoms that give variables their values: positive ones of bodies and conditions."""
    for node in nodes:
        if node.ast_type in (ASTType.Rule, ASTType.External, ASTType.Edge, ASTType.ShowTerm):
            yield from _binding(node.body)
        elif is_positive(node):
            yield node.atom
        for part in walk(node):
            if part.ast_type in CONDITIONED:
                yield from (literal.atom for literal in part.condition if is_positive(literal))


# --- exact arithmetic ----------------------------------------------------------------------------


class _Beyond(Exception):
    """An integer that left 32 bits during a computation."""

    def __init__(self, value: int) -> None:
        self.value = value


@dataclass(slots=True)
class Arithmetic:
    """The terms that are computed for clingo, and their problems."""

    problems: dict[int, Diagnostic] = field(default_factory=dict)  # by expression
    warnings: dict[Diagnostic, None] = field(default_factory=dict)
    _terms: list[tuple[AST, Span | None]] = field(default_factory=list)

    def call(self, term: AST, name: str, span: Span | None) -> AST:
        """The call of one of our functions for a term."""
        self._terms.append((term, span))
        number = integer_term(len(self._terms) - 1)
        return Function(term.location, name, [number, *_leaves(term)], True)

    def functions(self) -> dict[str, Callable[..., Sequence[Symbol]]]:
        """The functions that clingo calls, by name."""
        return {NUMBER: self._number, FITS: self._fits}

    def _number(self, index: Symbol, *symbols: Symbol) -> Sequence[Symbol]:
        """The exact value of a term; empty if it is undefined or leaves 32 bits."""
        term, span = self._terms[index.number]
        value = _evaluated(term, iter(symbols), False)
        if value is None:
            self.warnings[undefined_operation(untyped(str(term)), span)] = None
            return []
        if LEAST <= value <= MOST:
            return [Number(value)]
        self._refuse(index.number, symbols, value)
        return []

    def _fits(self, index: Symbol, *symbols: Symbol) -> Sequence[Symbol]:
        """Check that a term computed by clingo itself never leaves 32 bits; return 0."""
        try:
            _evaluated(self._terms[index.number][0], iter(symbols), True)
        except _Beyond as left:
            self._refuse(index.number, symbols, left.value)
        return [Number(0)]

    def _refuse(self, index: int, symbols: Sequence[Symbol], value: int) -> None:
        if index not in self.problems:
            term, span = self._terms[index]
            given = dict(zip(map(str, _leaves(term)), map(str, symbols), strict=True))
            said = ", ".join(f"{name} = {text}" for name, text in given.items() if name != text)
            message = f"{untyped(str(term))} is {digits_text(value)} here, and {RANGE}"
            message += f" (with {said})" if said else ""
            self.problems[index] = Diagnostic("integer-overflow", message, span, SMALLER)


@dataclass(frozen=True, slots=True)
class Careful:
    """Rewrites the rules of some statements for clingo.

    Without ``sums``, only divisions are computed here, which could end the process.
    """

    program: ast.Program
    statements: frozenset[int]
    arithmetic: Arithmetic
    sums: LargeSums | None = None

    def rewritten(self, node: AST) -> AST:
        """A rule with exact arithmetic and listed sums; other nodes unchanged."""
        if node.ast_type not in (ASTType.Rule, ASTType.External):
            return node
        exact = _Exact(self).rule(node)
        return exact if self.sums is None else self.sums.listed(exact)

    def call(self, term: AST, name: str) -> AST:
        """The call of one of our functions for a term."""
        return self.arithmetic.call(term, name, self.program.sources.span_of(term.location))

    def unsure(self, error: ProgramError) -> ProgramError:
        """The error if clingo refuses a rewritten program after accepting the original.

        A variable that only gets values from arithmetic is no longer bound.
        """
        unbound = [d for d in error.diagnostics if d.code == "unsafe-variable"]
        if self.sums is None or not unbound:
            return error
        message = f"the integers of this rule may leave 32 bits, and {RANGE}"
        help = "bind this variable in a positive literal, as in 'domain(X)', to have them checked"
        return ProgramError(Diagnostic("integer-overflow", message, unbound[0].span, help))


def careful_from_the_start(program: ast.Program, arithmetic: Arithmetic) -> Careful:
    """How a program is first given to clingo: -2147483648 / -1 would end the process."""
    return Careful(program, dividing(program), arithmetic)


def again(
    careful: Careful,
    control: Control,
    overrides: Mapping[str, str],
    questions: bool = False,
) -> Careful | None:
    """How to ground a program, or its questions, again; None if that is not needed.

    Raises :class:`ProgramError` for integers that leave 32 bits.
    """
    program, problems = careful.program, careful.arithmetic.problems
    if careful.sums is not None:
        if every := [*problems.values(), *careful.sums.problems()]:
            raise ProgramError(program.sources.in_order(every))
        return None
    found = suspects(program, control, overrides, questions)
    if problems:  # a division left 32 bits, but the term around it may not
        found |= careful.statements
        problems.clear()
    statements = careful.statements | found
    return Careful(program, statements, careful.arithmetic, LargeSums(program)) if found else None


class _Exact(Transformer):
    """Replaces arithmetic (only divisions, if sums are left alone) by calls of Python functions.

    A term that clingo may solve for its variable, in a positive literal or an equation, stays; an
    additional literal checks what clingo computes.
    """

    def __init__(self, careful: Careful) -> None:
        self.careful = careful
        self.in_body = self.matching = False
        self.checks: list[AST] = []

    def rule(self, node: AST) -> AST:
        """The rule, with checks at the end of its body."""
        key = "head" if node.ast_type == ASTType.Rule else "atom"
        head = self.visit(getattr(node, key))
        self.in_body = True
        body = self.visit_sequence(node.body)
        return node.update(**{key: head}, body=[*body, *self.checks])

    def visit_Literal(self, node: AST) -> AST:  # noqa: N802
        kind, plain = node.atom.ast_type, self.in_body and node.sign == Sign.NoSign
        if kind == ASTType.Comparison:
            plain = plain and all(
                guard.comparison == ComparisonOperator.Equal for guard in node.atom.guards
            )
        before, self.matching = self.matching, plain
        changed = node.update(**self.visit_children(node))
        self.matching = before
        return changed

    def visit_SymbolicAtom(self, node: AST) -> AST:  # noqa: N802
        symbol = node.symbol  # a minus before a name is not arithmetic
        if symbol.ast_type == ASTType.UnaryOperation:
            return node.update(symbol=symbol.update(argument=self.visit(symbol.argument)))
        return node.update(**self.visit_children(node))

    def visit_ConditionalLiteral(self, node: AST) -> AST:  # noqa: N802
        return self._conditioned(node, literal=lambda: self._head(node.literal))

    def visit_BodyAggregateElement(self, node: AST) -> AST:  # noqa: N802
        return self._conditioned(node, terms=lambda: self.visit_sequence(node.terms))

    def _head(self, literal: AST) -> AST:
        """A literal before a condition, which binds no variable."""
        before, self.in_body = self.in_body, False
        changed = self.visit(literal)
        self.in_body = before
        return changed

    def _conditioned(self, node: AST, **parts: Callable[[], Any]) -> AST:
        """A node with a condition, which gets its checks."""
        outside, self.checks = self.checks, []
        matching, self.matching = self.matching, False
        body, self.in_body = self.in_body, True
        condition = self.visit_sequence(node.condition)
        self.in_body = body
        changed = {name: part() for name, part in parts.items()}
        changed["condition"] = [*condition, *self.checks]
        self.checks, self.matching = outside, matching
        return node.update(**changed)

    def visit_UnaryOperation(self, node: AST) -> AST:  # noqa: N802
        argument = node.argument
        if argument.ast_type == ASTType.SymbolicTerm and argument.symbol.type == SymbolType.Number:
            return node
        if self.careful.sums is None:
            return node.update(**self.visit_children(node))
        return self.visit_BinaryOperation(node)

    def visit_BinaryOperation(self, node: AST) -> AST:  # noqa: N802
        if self.careful.sums is None and node.operator_type not in QUOTIENTS:
            return node.update(**self.visit_children(node))
        if not (self.matching and _is_linear(node)):
            return self.careful.call(node, NUMBER)
        fits = self.careful.call(node, FITS)
        self.checks.append(compared(integer_term(0), ComparisonOperator.Equal, fits))
        return node


def _is_linear(term: AST) -> bool:
    """Whether clingo can solve a term for its only variable."""
    parts = list(walk(term))
    return sum(part.ast_type == ASTType.Variable for part in parts) == 1 and all(
        part.ast_type in (ASTType.Variable, ASTType.SymbolicTerm)
        or (part.ast_type == ASTType.UnaryOperation and part.operator_type == UnaryOperator.Minus)
        or (part.ast_type == ASTType.BinaryOperation and part.operator_type in LINEAR)
        for part in parts
    )


def _leaves(term: AST) -> list[AST]:
    """The terms that an arithmetic term is computed from, from left to right."""
    if term.ast_type not in OPERATIONS:
        return [term]
    return [leaf for operand in operands_of(term) for leaf in _leaves(operand)]


def _evaluated(term: AST, symbols: Iterator[Symbol], strict: bool) -> int | None:
    """The value of a term whose leaves have these values; None if it is undefined.

    With ``strict``, no intermediate result may leave 32 bits.
    """
    if term.ast_type not in OPERATIONS:
        symbol = next(symbols)
        return symbol.number if symbol.type == SymbolType.Number else None
    found = [_evaluated(operand, symbols, strict) for operand in operands_of(term)]
    numbers = [number for number in found if number is not None]
    result = computed(term, numbers) if len(numbers) == len(found) else None
    if strict and result is not None and not LEAST <= result <= MOST:
        raise _Beyond(result)
    return result
