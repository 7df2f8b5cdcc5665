"""clingo's terms: taking them apart, building and evaluating them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import product
from operator import add, and_, inv, mul, neg, or_, sub, xor
from typing import NamedTuple, TypeVar

from clingo import Control, Function, Number, Symbol, SymbolType, parse_term
from clingo._internal import _ffi, _handle_error, _lib  # type: ignore[attr-defined]
from clingo.ast import (
    AST,
    Aggregate,
    ASTSequence,
    ASTType,
    BinaryOperator,
    Comparison,
    ComparisonOperator,
    ConditionalLiteral,
    Definition,
    Guard,
    Literal,
    Location,
    Position,
    Rule,
    Sign,
    SymbolicAtom,
    SymbolicTerm,
    UnaryOperator,
)
from clingo.ast import Function as FunctionTerm

from dpasp.errors import DataError, Diagnostic, ProgramError, UsageError, nearest
from dpasp.language import ast, parse
from dpasp.language.statements.constants import check_not_lost, number_in
from dpasp.language.text.clingo_text import walk
from dpasp.limits import silent

_AGGREGATES = frozenset((ASTType.Aggregate, ASTType.BodyAggregate))
ROW_LITERALS = re.compile(r"(not )?([a-z]\w*(?:\([^()]*\))?)", re.ASCII)  # of a row of a table
_LOCAL = _AGGREGATES | {ASTType.ConditionalLiteral, ASTType.TheoryAtom}
_HERE = Position("<string>", 1, 1)
NO_LOCATION = Location(_HERE, _HERE)
T = TypeVar("T")


class Signature(NamedTuple):
    """The name, arity and sign of a predicate."""

    name: str
    arity: int
    positive: bool

    @classmethod
    def of(cls, symbol: Symbol) -> Signature:
        """The predicate of an atom."""
        return cls(symbol.name, len(symbol.arguments), symbol.positive)

    def __str__(self) -> str:
        return f"{'' if self.positive else '-'}{self.name}/{self.arity}"


# --- looking -----------------------------------------------------------------------------------


def split_atom(symbol: AST) -> tuple[Signature, ASTSequence]:
    """The signature and the arguments of an atom that has no pool at its top."""
    positive = True
    while symbol.ast_type == ASTType.UnaryOperation:
        positive, symbol = not positive, symbol.argument
    arguments = symbol.arguments
    return Signature(symbol.name, len(arguments), positive), arguments


def unpooled_atoms(atom: AST) -> list[AST]:
    """The symbols of an atom, one for each way to choose from its pools."""
    if ";" not in str(atom):
        return [atom.symbol]
    literal = Literal(NO_LOCATION, Sign.NoSign, atom)
    return [alternative.atom.symbol for alternative in literal.unpool()]


def unpooled_bodies(body: Sequence[AST]) -> list[tuple[AST, ...]]:
    """The bodies that a body with pools stands for: rules with the same head."""
    if not any(_is_pooled(node) for node in body):
        return [tuple(body)]
    return list(product(*(node.unpool() if _is_pooled(node) else (node,) for node in body)))


def _is_pooled(node: AST) -> bool:
    if ";" not in str(node) or node.ast_type != ASTType.Literal:
        return False
    return node.atom.ast_type not in _LOCAL


def row_texts(statement: ast.Statement) -> tuple[tuple[str, ...], str] | None:
    """The heads and the body of a ground fact or a row of a table; None for other statements."""
    if isinstance(statement, ast.Plain):
        return None if statement.fact is None else ((statement.fact,), "")
    row = statement.row if isinstance(statement, ast.Annotated) else None
    return None if row is None else (row.atoms, row.condition)


# --- predicates --------------------------------------------------------------------------------


def derived(program: ast.Program) -> set[Signature]:
    """The predicates that the statements of a program may derive."""
    known: set[Signature] = set()
    for statement in program.statements:
        quick = row_predicates(statement)
        known.update(quick[0] if quick else derived_by(statement))
    return known


def can_occur(atom: AST, known: Collection[Signature]) -> bool:
    """Whether the predicate of an atom is known; of a pool, that of any alternative."""
    return any(split_atom(symbol)[0] in known for symbol in unpooled_atoms(atom))


def row_predicates(
    statement: ast.Statement,
) -> tuple[Collection[Signature], Collection[Signature]] | None:
    """The predicates of the heads and of the body of a row or a fact; None for other statements."""
    texts = row_texts(statement)
    if texts is None:
        return None
    heads, body = texts
    return list(map(_signature, heads)), [
        _signature(text) for _, text in ROW_LITERALS.findall(body)
    ]


@lru_cache(maxsize=200_000)  # large programs repeat the same atoms
def _signature(text: str) -> Signature:
    """The predicate of an atom as it is written, without terms inside its terms."""
    name, _, inside = text.partition("(")
    return Signature(name.strip(), inside.count(",") + 1 if inside else 0, True)


def derived_by(statement: ast.Statement) -> Iterator[Signature]:
    """The predicates that a statement may derive."""
    match statement:
        case ast.Neural(name=name, positive=positive):
            yield Signature(name, statement.arity, positive)
        case ast.Data(name=name, arguments=arguments):
            yield Signature(name, len(arguments), True)
        case ast.Plain(node) if node.ast_type == ASTType.Defined:
            yield Signature(node.name, node.arity, bool(node.positive))
    for atom in ast.derived_atoms(statement):
        for symbol in unpooled_atoms(atom):
            yield split_atom(symbol)[0]


# --- atoms -------------------------------------------------------------------------------------


def atoms_of(control: Control, signature: Signature) -> Iterator[tuple[Symbol, int]]:
    """The atoms of a predicate, each with clingo's number for it, in clingo's order.

    This calls clingo's library directly: its Python objects take three times as long.
    """
    base, new = control.symbolic_atoms._rep, _ffi.new
    at, valid = new("clingo_symbolic_atom_iterator_t*"), new("bool*")
    symbol, literal = new("clingo_symbol_t*"), new("clingo_literal_t*")
    sign, (name, arity, positive) = new("clingo_signature_t*"), signature
    is_valid, following = _lib.clingo_symbolic_atoms_is_valid, _lib.clingo_symbolic_atoms_next
    symbol_of, literal_of = _lib.clingo_symbolic_atoms_symbol, _lib.clingo_symbolic_atoms_literal
    _handle_error(_lib.clingo_signature_create(name.encode(), arity, positive, sign))
    _handle_error(_lib.clingo_symbolic_atoms_begin(base, sign, at))
    while is_valid(base, at[0], valid) and valid[0]:
        _handle_error(symbol_of(base, at[0], symbol) and literal_of(base, at[0], literal))
        yield Symbol(symbol[0]), literal[0]  # type: ignore[no-untyped-call]
        _handle_error(following(base, at[0], at))


# --- graphs ------------------------------------------------------------------------------------


def reached(start: Iterable[T], edges: Mapping[T, Iterable[T]]) -> set[T]:
    """All nodes that edges lead to from some, directly or not."""
    found: set[T] = set()
    todo = list(start)
    while todo:
        new = set(edges.get(todo.pop(), ())) - found
        found |= new
        todo += new
    return found


# --- building ----------------------------------------------------------------------------------


def integer_term(value: int) -> AST:
    return symbolic(Number(value))


def symbolic(symbol: Symbol) -> AST:
    return SymbolicTerm(NO_LOCATION, symbol)


def function(name: str, arguments: Sequence[AST], location: Location = NO_LOCATION) -> AST:
    """A function term; with an empty name, a tuple."""
    return FunctionTerm(location, name, arguments, False)


def atom_literal(symbol: AST, location: Location = NO_LOCATION) -> AST:
    """A positive literal over an atom given as a term."""
    return Literal(location, Sign.NoSign, SymbolicAtom(symbol))


def compared(term: AST, operator: ComparisonOperator, other: AST) -> AST:
    """The literal ``term operator other``."""
    return Literal(NO_LOCATION, Sign.NoSign, Comparison(term, [Guard(operator, other)]))


def rule(head: AST, body: Sequence[AST], location: Location = NO_LOCATION) -> AST:
    """``head :- body.`` with an atom given as a term."""
    return Rule(location, atom_literal(head, location), body)


def choice_rule(head: AST, body: Sequence[AST], location: Location = NO_LOCATION) -> AST:
    """``{head} :- body.`` with an atom given as a term."""
    element = ConditionalLiteral(location, atom_literal(head, location), [])
    return Rule(location, Aggregate(location, None, [element], None), body)


# --- values --------------------------------------------------------------------------------------


LEAST, MOST = -(2**31), 2**31 - 1  # clingo's integers, which wrap around beyond
FAR_BEYOND = 64
SMALLER = "use smaller numbers, or larger units"
_UNARY: Mapping[int, Callable[[int], int]] = {
    UnaryOperator.Minus: neg,
    UnaryOperator.Negation: inv,
    UnaryOperator.Absolute: abs,
}
_FAR = re.compile(r"\d{5,}|0[xob]\w{4,}|[*/\\]")  # if integers can leave 32 bits
_NEAR = re.compile(r"(?!.*(?:\d{10}|\b0[xob]))[\w(), ]*", re.ASCII)  # if they cannot


def override(program: ast.Program, overrides: Mapping[str, str]) -> list[AST]:
    """The ``#const`` statements that give constants other values than the program does.

    Real numbers, which clingo does not have, are left out; a definition with ``[override]`` stays
    as it is.
    """
    settled = {node.name for node in const_statements(program) if not node.is_default}
    terms = {name: _term(name, text) for name, text in overrides.items() if name not in settled}
    return [
        Definition(NO_LOCATION, name, symbolic(term), False)
        for name, term in terms.items()
        if term is not None
    ]


def unused_constants(program: ast.Program, overrides: Mapping[str, str]) -> list[Diagnostic]:
    """Warnings about constants from outside that the program does not use."""
    unused = [name for name in overrides if not program.sources.holds(name)]
    if not unused:
        return []
    known = [node.name for node in const_statements(program)]
    known += (s.name for s in program.statements if isinstance(s, ast.Const))
    return [
        Diagnostic(
            "unused-constant",
            f"the program does not name the constant {name}",
            help=nearest(name, known) or f"leave {name} out, or write '#const {name} = …'",
            severity="warning",
        )
        for name in unused
    ]


def const_statements(program: ast.Program) -> Iterator[AST]:
    """clingo's own ``#const`` statements in a program."""
    if not program.sources.holds("#const"):
        return
    for statement in program.statements:
        if isinstance(statement, ast.Plain) and statement.node.ast_type == ASTType.Definition:
            yield statement.node


def symbol_constants(program: ast.Program, overrides: Mapping[str, str]) -> dict[str, Symbol]:
    """The values of the constants that terms can hold, by name.

    >>> from dpasp.language import parse
    >>> symbol_constants(parse("#const n = 3. #const m = n+1."), {"n": "5"})
    {'n': Number(5), 'm': Number(6)}
    """
    pending = {node.name: node.value for node in const_statements(program)}
    pending |= {node.name: node.value for node in override(program, overrides)}
    values: dict[str, Symbol] = {}
    settled = True
    while settled:
        settled = False
        for name, term in list(pending.items()):
            if not any(str(part) in pending for part in walk(term)):
                del pending[name]
                settled = True
                try:
                    value = term_value(term, values)
                except IntegerOverflow as error:
                    raise ProgramError(
                        replace(d, span=program.sources.span_of(term.location))
                        for d in error.diagnostics
                    ) from None
                if value is not None:
                    values[name] = value
    return values


def term_value(term: AST, constants: Mapping[str, Symbol]) -> Symbol | None:
    """The symbol that a term evaluates to; None if it has no single value.

    ``constants`` also holds the values of variables. Raises :class:`IntegerOverflow` if an integer
    leaves 32 bits.
    """
    match term.ast_type:
        case ASTType.Variable:
            return constants.get(term.name)
        case ASTType.SymbolicTerm:
            symbol: Symbol = term.symbol
            named = symbol.type == SymbolType.Function and not symbol.arguments
            return constants.get(symbol.name, symbol) if named else symbol
        case ASTType.Function if not term.external:
            parts = [term_value(part, constants) for part in term.arguments]
            symbols = [part for part in parts if part is not None]
            return Function(term.name, symbols) if len(symbols) == len(parts) else None
        case ASTType.UnaryOperation | ASTType.BinaryOperation:
            operands = [term_value(operand, constants) for operand in operands_of(term)]
            numbers = [o.number for o in operands if o is not None and o.type == SymbolType.Number]
            value = computed(term, numbers) if len(numbers) == len(operands) else None
            return None if value is None else number_symbol(value, str(term))
    return None


# --- arithmetic --------------------------------------------------------------------------------

RANGE = f"integers go from {LEAST} to {MOST}"


class IntegerOverflow(DataError):
    """An integer that leaves 32 bits."""

    default_code = "integer-overflow"


def number_symbol(value: int, text: str) -> Symbol:
    """An integer as a symbol; ``text`` is what it was computed from."""
    if LEAST <= value <= MOST:
        return Number(value)
    raise IntegerOverflow(f"{text} is {digits_text(value)}, and {RANGE}", SMALLER)


def digits_text(value: int) -> str:
    """An integer as text, abbreviated if it is long."""
    return str(value) if abs(value) < 10**18 else f"beyond {'-' * (value < 0)}10^18"


def operands_of(term: AST) -> tuple[AST, ...]:
    """The operands of an arithmetic operation."""
    if term.ast_type == ASTType.UnaryOperation:
        return (term.argument,)
    return term.left, term.right


def computed(term: AST, numbers: Sequence[int]) -> int | None:
    """The exact result of an arithmetic operation; None if it is undefined.

    It is clingo's arithmetic, in which division rounds towards zero.
    """
    if len(numbers) == 1:
        return _UNARY[term.operator_type](numbers[0])
    return _BINARY[term.operator_type](*numbers)


def _divided(left: int, right: int) -> int | None:
    if right == 0:
        return None
    return abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)


def _remainder(left: int, right: int) -> int | None:
    return None if right == 0 else abs(left) % abs(right) * (1 if left >= 0 else -1)


def _power(base: int, exponent: int) -> int | None:
    if exponent < 0:
        return None if base == 0 else 0
    if exponent > FAR_BEYOND and abs(base) > 1:  # far beyond 32 bits is enough
        exponent = FAR_BEYOND + exponent % 2
    return int(base**exponent)


_BINARY: Mapping[int, Callable[[int, int], int | None]] = {
    BinaryOperator.Plus: add,
    BinaryOperator.Minus: sub,
    BinaryOperator.Multiplication: mul,
    BinaryOperator.Division: _divided,
    BinaryOperator.Modulo: _remainder,
    BinaryOperator.Power: _power,
    BinaryOperator.And: and_,
    BinaryOperator.Or: or_,
    BinaryOperator.XOr: xor,
}

# --- texts from outside ------------------------------------------------------------------------


def parse_symbol(text: str) -> Symbol | None:
    """The symbol written in a text; None if it is not a ground term.

    Raises :class:`IntegerOverflow` for integers beyond 32 bits, which clingo wraps around.
    """
    if _FAR.search(text) is None or _NEAR.fullmatch(text):
        return _parsed(text)
    try:
        program = parse(f"#const x = {text}.")
    except ProgramError as error:
        wide = next((d for d in error.diagnostics if d.code == "number-range"), None)
        if wide is not None:
            raise IntegerOverflow(replace(wide, span=None)) from None
        return _parsed(text)
    for node in const_statements(program):
        term_value(node.value, {})
    return _parsed(text)


def _parsed(text: str) -> Symbol | None:
    if "\0" in text:  # where clingo would stop reading
        return None
    try:
        return parse_term(text, logger=silent)
    except (RuntimeError, UnicodeDecodeError):  # clingo quotes half of a letter that it refuses
        return None


def _term(name: str, text: str) -> Symbol | None:
    if number_in(text) is None:
        check_not_lost(name, text)
    try:
        symbol = parse_symbol(text)
    except IntegerOverflow as error:
        problem = error.diagnostics[0]
        message = f"the constant {name} cannot be {text}: {problem.message}"
        raise UsageError(message, problem.help) from None
    if symbol is None and number_in(text) is None:
        help = f"write -c {name}=0.3, -c {name}=5 or -c {name}=some_name"
        raise UsageError(f"'{text}' is not a value for the constant {name}", help)
    return symbol


def symbol_number(symbol: Symbol) -> float | None:
    """The number that a symbol stands for in a probability: integers, and strings like "0.3"."""
    if symbol.type == SymbolType.Number:
        return float(symbol.number)
    return number_in(symbol.string) if symbol.type == SymbolType.String else None


Values = Mapping[str, Symbol]  # of variables and constants, by name


def match(atom: AST, symbol: Symbol, known: Values) -> Values | None:
    """The values under which an atom (given as a term) equals a symbol; None if there are none.

    What cannot be decided (arithmetic over unknown variables, calls of functions) counts as equal.
    """
    if atom.ast_type == ASTType.Pool:
        matches = (match(part, symbol, known) for part in atom.arguments)
        return next((values for values in matches if values is not None), None)
    signature, arguments = split_atom(atom)
    symbols = symbol.arguments
    if signature != Signature.of(symbol):
        return None
    return _match_terms(arguments, symbols, known)


def _match_terms(terms: Sequence[AST], symbols: Sequence[Symbol], known: Values) -> Values | None:
    for term, symbol in zip(terms, symbols, strict=True):
        matched = _match_term(term, symbol, known)
        if matched is None:
            return None
        known = matched
    return known


def _match_term(term: AST, symbol: Symbol, known: Values) -> Values | None:
    match term.ast_type:
        case ASTType.Variable:
            if term.name == "_":
                return known
            if term.name in known:
                return known if known[term.name] == symbol else None
            return {**known, term.name: symbol}
        case ASTType.Function if not term.external:
            return _match_function(term, symbol, known)
        case ASTType.Interval:
            ends = term_value(term.left, known), term_value(term.right, known)
            if symbol.type != SymbolType.Number:
                return None
            if ends[0] is None or ends[1] is None:
                return known
            return known if ends[0] <= Number(symbol.number) <= ends[1] else None
        case ASTType.Pool:
            matches = (_match_term(part, symbol, known) for part in term.arguments)
            return next((values for values in matches if values is not None), None)
    if term.ast_type == ASTType.BinaryOperation and symbol.type != SymbolType.Number:
        return None
    value = term_value(term, known)
    return known if value is None or value == symbol else None


def _match_function(term: AST, symbol: Symbol, known: Values) -> Values | None:
    if not term.arguments and term.name in known:  # a constant
        return known if known[term.name] == symbol else None
    if symbol.type != SymbolType.Function or not symbol.positive:
        return None
    if (symbol.name, len(symbol.arguments)) != (term.name, len(term.arguments)):
        return None
    return _match_terms(term.arguments, symbol.arguments, known)
