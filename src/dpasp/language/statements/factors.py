"""``#factor 2.5 : a, not b.``: multiplies the weight of every model in which the body holds.

clingo reads the constraint ``:- a, not b.``; of ``#factor @net : tag(T, {n, v}), word(T).`` it
reads ``:- xxxx ; tag(T, (n; v)), word(T).``

>>> from dpasp.language import parse
>>> (factor,) = parse("#factor exp(1.5) : a(X), not b(X).").statements
>>> print(factor)
#factor exp(1.5) : a(X), not b(X).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import product
from math import inf, prod
from typing import NamedTuple, NoReturn

import numpy as np
from clingo.ast import AST, ASTType
from numpy.typing import NDArray

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, ProgramError, Span
from dpasp.language.statements.expressions import (
    Expression,
    Number,
    Operation,
    evaluate,
    expression_text,
    nearest_float,
    value_of,
)
from dpasp.language.statements.neural import (
    Network,
    check_network,
    data_names,
    network_text,
    read_network,
    read_set,
)
from dpasp.language.statements.options import Option
from dpasp.language.statements.statement import Draft, Probability, Setting, Statement, span_field
from dpasp.language.statements.weights import (
    Fixed,
    Learnable,
    read_parameter,
    unknown_names,
    weight_text,
    weight_variables,
)
from dpasp.language.text import Piece, Reading, SourceFile, Sources
from dpasp.language.text.clingo_text import body_text, global_variables
from dpasp.language.text.lexer import Refused, unbalanced
from dpasp.language.tuning import TUNING
from dpasp.writing import counted

FORM = "a factor is written #factor 2.5 : a, not b."
MOST_LOG = 2.0**31  # of factors: as large as the costs of weak constraints
HARD = "write a constraint for what must hold, and a factor of 0 for what must not"


@dataclass(frozen=True, slots=True)
class Factor(Statement):
    """``#factor 2.5 : body.``, ``#factor ? : body.`` or ``#factor @net with lr = 0.1 : body.``

    The number of a learnable factor is its initial value. A network returns the logarithm of the
    factor for each row of data in the body and each combination of the values in its sets, the last
    set changing fastest. A set ``{n, v}`` in the body is a pool or an interval.
    """

    weight: Fixed | Learnable | Network
    body: tuple[AST, ...]
    options: tuple[Option, ...] = ()  # of the network
    span: Span = span_field()

    words = ("#factor",)
    form = "#factor 2.5 : a, not b."
    about = (
        "multiplies the weight of every model in which the body holds; `?` is learned, and "
        "`@net` is the output of a network"
    )

    @property
    def name(self) -> str:
        """Its name in messages."""
        return f"@{self.network.factory.function}" if self.network else "#factor"

    @property
    def learnable(self) -> bool:
        return not isinstance(self.weight, Fixed)

    @property
    def network(self) -> Network | None:
        """The network that computes the factor, if any."""
        return self.weight if isinstance(self.weight, Network) else None

    @staticmethod
    def read(cursor: Reading) -> Draft | FactorTable:
        if header := HEADER.match(cursor.file.text, cursor.start, cursor.end):
            return _read_table(cursor, header)
        word = cursor.next()
        cursor.put(word, ":-")
        span = cursor.span
        options: tuple[Option, ...] = ()
        weight: Fixed | Learnable | Network
        if cursor.peek().text in (":", ".", ""):
            cursor.fail("factor-syntax", "the weight of this factor is missing", word, FORM)
        if cursor.peek().text == "[":
            message = "the factors of a table stand in braces"
            cursor.fail("factor-syntax", message, cursor.peek(), "write #factor {3, 1} : x({0,1}).")
        if cursor.peek().kind == "call":
            weight, options, rest = read_network(cursor, (":", "."))
        else:
            rest = cursor.peek().start
            weight = read_parameter(cursor)
        colon = cursor.next()
        if colon.text != ":":
            message = f"expected ':' {cursor.before(colon)}"
            if colon.text == ".":
                message = "a factor says after a ':' in which models it counts"
            cursor.fail("factor-syntax", message, colon, FORM)
        if cursor.peek().text in (".", ""):
            message = "the body of this factor is missing"
            help = f"{FORM} A factor of all models would change nothing"
            cursor.fail("factor-syntax", message, colon, help)
        cursor.buffer.blank(rest, colon.end)
        if isinstance(weight, Network):
            cursor.put(colon, ";")
            _read_sets(cursor)

        def finish(nodes: list[AST], sources: Sources) -> Statement | None:
            body = tuple(nodes[0].body)
            if isinstance(weight, Network):
                network = replace(weight, factory=weight.factory.filled(body[0].atom.symbol))
                return Factor(network, body[1:], options, span)
            return Factor(weight, body, (), span)

        return Draft(finish)

    @staticmethod
    def check(statements: Sequence[Factor], setting: Setting) -> Iterator[Diagnostic]:
        """Factors under another semantics; numbers, variables and networks that do not fit."""
        declared = data_names(setting.program)
        yield from _other_semantics(statements, setting)
        for statement in statements:
            match statement.weight:
                case Network():
                    yield from check_network(statement, statement.name, declared, setting)
                case weight:
                    yield from _check_weight(statement, weight, setting.numbers)

    def __str__(self) -> str:
        match self.weight:
            case Network() as network:
                weight = network_text(network, self.options)
            case number:
                weight = weight_text(number)
        return f"#factor {weight} : {body_text(self.body).removeprefix(' :- ')}"


def _read_sets(cursor: Reading) -> None:
    """Rewrite the sets ``{n, v}`` among the arguments of atoms as pools ``(n; v)``."""
    if problem := unbalanced(cursor):
        raise Refused(problem, cursor.start)
    depth = 0
    while not cursor.at_end():
        if depth and cursor.peek().text == "{" and cursor.peek(-1).text in ("(", ","):
            read_set(cursor, "factor-syntax")
        else:
            token = cursor.next()
            depth += (token.text == "(") - (token.text == ")")


class ValueSet(NamedTuple):
    """A set in the body of a factor: its place, and the terms that it holds."""

    literal: int
    argument: int
    terms: tuple[AST, ...]


def value_sets(body: Sequence[AST]) -> list[ValueSet]:
    """The sets among the arguments of the atoms in a body, from left to right."""
    found = []
    for place, literal in enumerate(body):
        atom = literal.atom if literal.ast_type == ASTType.Literal else None
        if atom is None or atom.ast_type != ASTType.SymbolicAtom:
            continue
        for at, term in enumerate(getattr(atom.symbol, "arguments", ())):
            if term.ast_type == ASTType.Pool:
                found.append(ValueSet(place, at, tuple(term.arguments)))
            elif term.ast_type == ASTType.Interval:
                found.append(ValueSet(place, at, (term,)))
    return found


def replace_sets(body: Sequence[AST], sets: Sequence[ValueSet], terms: Sequence[AST]) -> list[AST]:
    """The body with other terms in place of its sets."""
    nodes = list(body)
    for where, term in zip(sets, terms, strict=True):
        literal = nodes[where.literal]
        arguments = list(literal.atom.symbol.arguments)
        arguments[where.argument] = term
        symbol = literal.atom.symbol.update(arguments=arguments)
        nodes[where.literal] = literal.update(atom=literal.atom.update(symbol=symbol))
    return nodes


# --- values ------------------------------------------------------------------------------------


def log_weight(expression: Expression, values: Mapping[str, float]) -> float:
    """The logarithm of a factor, which is -inf for 0.

    ``exp(x)`` may be beyond the range of floating point. Raises :class:`ProgramError` unless the
    factor is a number from 0 on.

    >>> log_weight(Operation("exp", None, Number(1000.0)), {})
    1000.0
    """
    match expression:
        case Operation("exp", None, exponent):
            log = value_of(exponent, values)
            if abs(log) > MOST_LOG:
                end = "large" if log > 0 else "small"
                message = f"exp({log:.10g}) is too {end} a factor"
                raise ProgramError.at("factor-range", message, expression.span, HARD)
            return log
    value = evaluate(expression, values)
    if value < 0:
        shown = f"{nearest_float(value, expression):.10g}"
        plain = isinstance(expression, Number) or expression_text(expression) == shown
        message = f"{shown} is not a factor" if plain else f"this is {shown}, which is not a factor"
        help = "a factor is a number from 0 on; below 1 it makes models less probable"
        raise ProgramError.at("factor-range", message, expression.span, help)
    if value == 0:
        return -math.inf
    try:
        return math.log(value)
    except (OverflowError, ValueError):  # a fraction beyond the range of floating point
        return math.log(value.numerator) - math.log(value.denominator)


def factor_value(weight: Fixed | Learnable, values: Mapping[str, float]) -> float:
    """The logarithm of a factor or of its initial value, which is 0 by default."""
    if isinstance(weight, Fixed):
        return log_weight(weight.probability, values)
    log = 0.0 if weight.initial is None else log_weight(weight.initial, values)
    if math.isinf(log):
        message = "a learnable factor cannot start at 0, for it would stay there"
        help = "start it at a number above 0, such as 1?"
        raise ProgramError.at("factor-range", message, weight.span, help)
    return log


# --- checks ------------------------------------------------------------------------------------

WEIGHTED = "say '#semantics weighted.', under which every model has a weight"


def _other_semantics(
    statements: Sequence[Factor | FactorTable], setting: Setting
) -> Iterator[Diagnostic]:
    under = setting.meaning.probability
    for statement in statements if under is not Probability.WEIGHTED else ():
        message = f"a factor has no meaning under {under.value}"
        yield Diagnostic("factor-semantics", message, statement.span, WEIGHTED)


def _check_weight(
    statement: Factor, weight: Fixed | Learnable, values: Mapping[str, float] | None
) -> Iterator[Diagnostic]:
    known = global_variables(statement.body)
    yield from unknown_names([weight], known, "in the body", "name a variable of the body")
    if values is None or any(weight_variables(weight)):
        return
    try:
        factor_value(weight, values)
    except ProgramError as error:
        yield from error.diagnostics


# --- tables of factors ---------------------------------------------------------------------------


TABLE_FORM = "a table of factors is written #factor {1, 2.5, 0, 4} : x({0,1}), y({a,b})."
# the part up to the end of the numbers
HEADER = re.compile(r"#factor\s*\{([^{}\"%]*)\}\s*", re.ASCII)
_REAL = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_REALS = re.compile(rf"\s*+{_REAL}\s*+(?:,\s*+{_REAL}\s*+)*+", re.ASCII)
_VALUE = r'-?\d{1,9}|_*[a-z][\w\']*|"(?:\\["\\n]|[^"\\\n])*"'
_ITEM = re.compile(rf"(-?\d{{1,9}})\s*\.\.\s*(-?\d{{1,9}})|({_VALUE})", re.ASCII)
_ITEMS = rf"\s*+(?:{_VALUE})(?:\s*+\.\.\s*+-?\d{{1,9}})?+\s*+"
_ARGUMENT = re.compile(rf"\s*+\{{{_ITEMS}(?:,{_ITEMS})*+\}}\s*+|{_ITEMS}", re.ASCII)
_ATOM = re.compile(
    r"\s*+(?P<name>-?(?!not\b)_*[a-z][\w']*)"
    rf"(?:\((?P<arguments>(?:{_ARGUMENT.pattern})(?:,(?:{_ARGUMENT.pattern}))*+)\))?\s*(?:,|\.\Z)",
    re.ASCII,
)
_VARIABLE = re.compile(r"(?<![\w'\"])(?:_*[A-Z]\w*|_(?!\w))", re.ASCII)


@dataclass(frozen=True, slots=True)
class FactorTable(Statement):
    """A factor for each combination of the atoms of some sets, the last set fastest."""

    numbers: bytes  # as an array of doubles: a table may have millions
    # the atoms of each set; an atom without a set is a set of one
    sets: tuple[tuple[str, ...], ...]
    written: str = field(compare=False)  # the sets as text
    span: Span = span_field()

    form = "#factor {1, 2.5, 0, 4} : x({0,1}), y({a,b})."
    about = "a factor for each combination of the values, the last set fastest"

    @property
    def weights(self) -> NDArray[np.float64]:
        return np.frombuffer(self.numbers, dtype=np.float64)

    @staticmethod
    def recognise(file: SourceFile, piece: Piece) -> bool:
        return False

    @staticmethod
    def check(statements: Sequence[FactorTable], setting: Setting) -> Iterator[Diagnostic]:
        """Tables under another semantics."""
        return _other_semantics(statements, setting)

    def __str__(self) -> str:
        numbers = ", ".join(repr(number).removesuffix(".0") for number in self.weights.tolist())
        return f"#factor {{{numbers}}} : {self.written}"


def _read_table(cursor: Reading, header: re.Match[str]) -> FactorTable:
    weights = _numbers(cursor, *header.span(1))
    text, at, end = cursor.file.text, header.end(), cursor.end
    if text[at : at + 1] != ":":
        _fail(cursor, (at, at + 1), "expected ':' after the numbers of a table", TABLE_FORM)
    sets = tuple(_sets(cursor, at + 1))
    needed = prod(map(len, sets))
    if needed != len(weights):
        sizes = " × ".join(str(len(each)) for each in sets)
        sizes = f"{sizes} = {needed}" if len(sets) > 1 else str(needed)
        message = f"the table has {counted(len(weights), 'number')} for {sizes} combinations"
        help = "write one number for each combination of the values, the last set fastest"
        if needed == 1:
            message = f"the table has {counted(len(weights), 'number')}, but no sets of values"
            help = f"write the values in braces; {TABLE_FORM}"
        _fail(cursor, (header.start(1) - 1, header.end(1) + 1), message, help, "factor-table-size")
    written = text[at + 1 : end].strip()
    return FactorTable(weights.tobytes(), sets, written, cursor.span)


def _fail(
    cursor: Reading, where: tuple[int, int], message: str, help: str, code: str = "factor-syntax"
) -> NoReturn:
    """Refuse a table, pointing at a slice without the space around it."""
    text = cursor.file.text[slice(*where)]
    start = where[0] + len(text) - len(text.lstrip())
    cursor.refuse(code, message, (start, start + max(len(text.strip()), 1)), help)


def _numbers(cursor: Reading, start: int, end: int) -> NDArray[np.float64]:
    """The numbers between the braces."""
    text, code = cursor.file.text[start:end], "factor-range"
    help = "a factor is a number from 0 on; below 1 it makes models less probable"
    if _REALS.fullmatch(text) is not None:
        weights = np.fromstring(text, sep=",", dtype=np.float64)
        wrong = np.flatnonzero(~((weights >= 0) & (weights < inf)))
        if not wrong.size:
            return weights + 0.0  # no negative zero
        place, words = int(wrong[0]), text.split(",")
        message = f"{words[place].strip()} is not a factor"
        if weights[place] == inf:
            message = f"{words[place].strip()} is too large for a double"
            help = "divide all numbers of the table by one number"
    else:
        words, code = text.split(","), "factor-syntax"
        place = next(at for at, word in enumerate(words) if not _REALS.fullmatch(word))
        shown = " ".join(words[place].split())
        message = f"'{shown}' is not a number" if shown else "a number is missing"
        help = "the factors of a table are plain numbers from 0 on, such as 2.5 or 1e-3"
    at = start + sum(len(before) + 1 for before in words[:place])
    _fail(cursor, (at, at + len(words[place])), message, help, code)


def _sets(cursor: Reading, at: int) -> Iterator[tuple[str, ...]]:
    """The atoms that each literal of a table stands for."""
    text, end = cursor.file.text, cursor.end
    while at < end:
        match = _ATOM.match(text, at, end)
        if match is None:
            message, where = "an atom with a set of values belongs here", (at, end - 1)
            if variable := _VARIABLE.search(text, at, end):
                message = f"{variable[0]} is a variable, but atoms of a table cannot have any"
                where = variable.span()
            help = f"{TABLE_FORM} Values are integers, names and strings"
            _fail(cursor, where, message, help)
        name, arguments = match["name"], match["arguments"]
        if arguments is None:
            yield (name,)
        else:
            values = [_values(cursor, match, part[0]) for part in _ARGUMENT.finditer(arguments)]
            yield tuple([f"{name}({','.join(chosen)})" for chosen in product(*values)])
        at = match.end()


def _values(cursor: Reading, atom: re.Match[str], argument: str) -> list[str]:
    """The values of an argument of an atom: those of its set, or one."""
    values: list[str] = []
    for item in _ITEM.finditer(argument):
        first, last, value = item.groups()
        if value is not None:
            values.append(value if not value.lstrip("-").isdecimal() else str(int(value)))
        elif int(last) - int(first) < TUNING.pool_statements:
            values += map(str, range(int(first), int(last) + 1))
        else:
            message = f"a set of more than {TUNING.pool_statements:,} values"
            _fail(cursor, atom.span(), message, TABLE_FORM)
    twice = next((value for value in values if values.count(value) > 1), None)
    if twice is not None or not values:
        message = "a set without values" if not values else f"{twice} occurs twice in this set"
        _fail(cursor, atom.span("arguments"), message, "list each value once")
    return values
