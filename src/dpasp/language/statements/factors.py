"""``#factor 2.5 : a, not b.``: multiplies the weight of every model in which the body holds.

clingo reads the constraint ``:- a, not b.``; of ``#factor @net : tag(T, {n, v}), word(T).`` it
reads ``:- xxxx ; tag(T, (n; v)), word(T).``

>>> from dpasp.language import parse
>>> (factor,) = parse("#factor exp(1.5) : a(X), not b(X).").statements
>>> factor_text(factor)
'#factor exp(1.5) : a(X), not b(X).'
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from math import inf, prod
from typing import NamedTuple, NoReturn

import numpy as np
from clingo.ast import AST, ASTType, Variable
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
)
from dpasp.language.statements.neural import (
    Network,
    check_network,
    data_names,
    network_text,
    read_network,
)
from dpasp.language.statements.options import Option, call_arguments
from dpasp.language.statements.statement import (
    Draft,
    Kind,
    Probability,
    Setting,
    Statement,
    span_field,
)
from dpasp.language.statements.weights import (
    Fixed,
    Learnable,
    read_parameter,
    unknown_names,
    weight_text,
    weight_variables,
)
from dpasp.language.text import Buffer, Cursor, Piece, SourceFile, Sources
from dpasp.language.text.clingo_text import body_text, exact, global_variables
from dpasp.language.text.lexer import CLOSING, OPENING, Refused
from dpasp.language.tuning import TUNING

_SET = "Dpasp_set"  # variables that stand for sets while a factor is printed
FORM = "a factor is written #factor 2.5 : a, not b."


@dataclass(frozen=True, slots=True)
class Factor(Statement):
    """``#factor 2.5 : body.``, ``#factor ? : body.`` or ``#factor @net with lr = 0.1 : body.``

    The number of a learnable factor is where it starts. A network gives the logarithm of the
    factor for each row of data in the body and each combination of the values in its sets, that
    of the last set changing fastest. A set ``{n, v}`` in the body is a pool or an interval.
    """

    weight: Fixed | Learnable | Network
    body: tuple[AST, ...]
    options: tuple[Option, ...] = ()  # of the network
    span: Span = span_field()

    @property
    def name(self) -> str:
        """What it is called in messages."""
        return f"@{self.network.factory.function}" if self.network else "#factor"

    @property
    def learnable(self) -> bool:
        """Whether learning changes it."""
        return not isinstance(self.weight, Fixed)

    @property
    def network(self) -> Network | None:
        """The network that gives the factor, if one does."""
        return self.weight if isinstance(self.weight, Network) else None


def read_factor(file: SourceFile, piece: Piece, buffer: Buffer) -> Draft | FactorTable:
    """Read a factor; its body is left to clingo. A table of factors is read by itself."""
    if (table := read_table(file, piece)) is not None:
        return table
    cursor = Cursor(file, piece.start, piece.end)
    word = cursor.next()
    buffer.put(word.start, word.end, ":-")
    span = file.span(piece.start, piece.end)
    options: tuple[Option, ...] = ()
    weight: Fixed | Learnable | Network
    if cursor.peek().text in (":", ".", ""):
        cursor.fail("factor-syntax", "the weight of this factor is missing", word, FORM)
    if cursor.peek().text == "[":
        message = "the factors of a table stand in braces"
        cursor.fail("factor-syntax", message, cursor.peek(), "write #factor {3, 1} : x({0,1}).")
    if cursor.peek().kind == "call":
        weight, options, rest = read_network(cursor, buffer, (":", "."))
    else:
        rest = cursor.peek().start
        weight = read_parameter(cursor)
    colon = cursor.next()
    if colon.text != ":":
        message = f"expected ':' {cursor.before(colon)}"
        if colon.text == ".":
            message = "a factor says in which models it counts, after a ':'"
        cursor.fail("factor-syntax", message, colon, FORM)
    if cursor.peek().text in (".", ""):
        message = "the body of this factor is missing"
        help = f"{FORM} A factor of all models would change nothing"
        cursor.fail("factor-syntax", message, colon, help)
    buffer.blank(rest, colon.end)
    if isinstance(weight, Network):
        buffer.put(colon.start, colon.end, ";")
        _read_sets(cursor, buffer)

    def finish(nodes: list[AST], sources: Sources) -> Statement | None:
        body = tuple(nodes[0].body)
        if isinstance(weight, Network):
            factory = call_arguments(weight.factory, body[0].atom.symbol)
            network = Network(factory, weight.repository, weight.host, weight.span)
            return Factor(network, body[1:], options, span)
        return Factor(weight, body, (), span)

    return Draft(finish)


def _read_sets(cursor: Cursor, buffer: Buffer) -> None:
    """Rewrite the sets ``{n, v}`` among the arguments of atoms as pools ``(n; v)``."""
    around: list[str] = []
    while not cursor.at_end():
        token = cursor.next()
        if token.text == "{" and around and around[-1] == "(":
            if cursor.peek().text in ("}", ","):
                message, help = "a value is missing in this set", "write the values, as in {n, v}"
                cursor.fail("factor-syntax", message, token, help)
            buffer.put(token.start, token.end, "(")
            around.append("set")
        elif token.text in OPENING:
            around.append(token.text)
        elif token.text in CLOSING and around:
            if around.pop() == "set":
                buffer.put(token.start, token.end, ")")
        elif token.text == "," and around and around[-1] == "set":
            buffer.put(token.start, token.end, ";")


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


def factor_text(statement: Factor) -> str:
    body = body_text(statement.body).removeprefix(" :- ")
    match statement.weight:
        case Network() as network:
            weight = network_text(network, statement.options)
            sets = value_sets(statement.body)
            names = [Variable(statement.body[0].location, f"{_SET}{i}") for i in range(len(sets))]
            body = body_text(replace_sets(statement.body, sets, names)).removeprefix(" :- ")
            for name, (_, _, terms) in zip(names, sets, strict=True):
                shown = ", ".join(
                    exact(term).strip("()" if term.ast_type == ASTType.Interval else "")
                    for term in terms
                )
                body = body.replace(str(name), f"{{{shown}}}", 1)
        case number:
            weight = weight_text(number)
    return f"#factor {weight} : {body}"


# --- values ------------------------------------------------------------------------------------


def log_weight(expression: Expression, values: Mapping[str, float]) -> float:
    """The logarithm of a factor, which is -inf for 0.

    ``exp(x)`` may be beyond the range of floating point. Raises :class:`ProgramError` for what is
    not a number from 0 on.

    >>> log_weight(Operation("exp", None, Number(1000.0)), {})
    1000.0
    """
    match expression:
        case Operation("exp", None, exponent):
            return nearest_float(evaluate(exponent, values), exponent)
    value = evaluate(expression, values)
    if value < 0:
        shown = f"{nearest_float(value, expression):.10g}"
        plain = isinstance(expression, Number) or expression_text(expression) == shown
        message = f"{shown} is not a factor" if plain else f"this is {shown}, which is not a factor"
        help = "a factor is a number from 0 on; below 1 it makes models less probable"
        raise ProgramError(Diagnostic("factor-range", message, expression.span, help))
    if value == 0:
        return -math.inf
    try:
        return math.log(value)
    except (OverflowError, ValueError):  # a fraction beyond the range of floating point
        return math.log(value.numerator) - math.log(value.denominator)


def start_weight(weight: Learnable, values: Mapping[str, float]) -> float:
    """The logarithm of the factor that learning starts with; 0 if none is given."""
    if weight.initial is None:
        return 0.0
    log = log_weight(weight.initial, values)
    if math.isinf(log):
        message = "a learnable factor cannot start at 0, for it would stay there"
        help = "start it at a number above 0, such as 1?"
        raise ProgramError(Diagnostic("factor-range", message, weight.span, help))
    return log


# --- checks ------------------------------------------------------------------------------------

WEIGHTED = "say '#semantics weighted.', under which every model has a weight"


def check_factors(statements: Sequence[Factor], setting: Setting) -> Iterator[Diagnostic]:
    """Factors under another semantics; numbers, variables and networks that do not fit."""
    declared = data_names(setting.program)
    for statement in statements:
        if setting.meaning.probability is not Probability.WEIGHTED:
            message = f"a factor has no meaning under {setting.meaning.probability.value}"
            yield Diagnostic("factor-semantics", message, statement.span, WEIGHTED)
        match statement.weight:
            case Network():
                yield from check_network(statement, statement.name, declared, setting)
            case weight:
                yield from _check_weight(statement, weight, setting.numbers)


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


def factor_value(weight: Fixed | Learnable, values: Mapping[str, float]) -> float:
    """The logarithm of a factor, or of the one that learning starts with."""
    if isinstance(weight, Learnable):
        return start_weight(weight, values)
    return log_weight(weight.probability, values)


KIND = Kind(
    Factor,
    factor_text,
    ("#factor",),
    read=read_factor,
    check=check_factors,
    form="#factor 2.5 : a, not b.",
    about="multiplies the weight of every model in which the body holds; `?` is learned, and "
    "`@net` is the output of a network",
)


# --- tables of factors ---------------------------------------------------------------------------


TABLE_FORM = "a table of factors is written #factor {1, 2.5, 0, 4} : x({0,1}), y({a,b})."
HEADER = re.compile(r"#factor\s*\{([^{}\"%]*)\}\s*", re.ASCII)  # up to the end of the numbers
_REAL = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_REALS = re.compile(rf"\s*+{_REAL}\s*+(?:,\s*+{_REAL}\s*+)*+", re.ASCII)
_ONE = re.compile(rf"\s*{_REAL}\s*", re.ASCII)
_ATOM = re.compile(
    r"\s*(?P<before>-?_*[a-z][\w']*(?:\([^(){}]*)?)"
    r"(?:\{(?P<set>[^{}()]*)\}(?P<after>[^(){}]*\))?|(?P<end>\)))?\s*",
    re.ASCII,
)
_RANGE = re.compile(r"(-?\d{1,9})\s*\.\.\s*(-?\d{1,9})", re.ASCII)
_VALUE = re.compile(r'-?\d{1,9}|_*[a-z][\w\']*|"(?:\\["\\n]|[^"\\\n])*"', re.ASCII)
_VARIABLE = re.compile(r"(?<![\w'])(?:_*[A-Z]\w*|_(?!\w))", re.ASCII)


@dataclass(frozen=True, slots=True)
class AtomSet:
    """Atoms that differ in one argument: ``x(`` ``{0..2}`` ``)``, or one atom without a set."""

    before: str
    written: str | None  # what stands in the braces
    after: str
    values: tuple[str, ...]

    @property
    def atoms(self) -> list[str]:
        """The atoms, in order."""
        return [f"{self.before}{value}{self.after}" for value in self.values]

    def __str__(self) -> str:
        inside = "" if self.written is None else f"{{{self.written}}}"
        return f"{self.before}{inside}{self.after}"


@dataclass(frozen=True, slots=True)
class FactorTable(Statement):
    """A factor for each combination of the atoms of some sets, the last set fastest."""

    numbers: bytes  # as an array of doubles: a table may have millions
    sets: tuple[AtomSet, ...]
    span: Span = span_field()

    @property
    def weights(self) -> NDArray[np.float64]:
        """The factors."""
        return np.frombuffer(self.numbers, dtype=np.float64)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many values the sets have."""
        return tuple(len(each.values) for each in self.sets)


def read_table(file: SourceFile, piece: Piece) -> FactorTable | None:
    """Read a table of factors; None if a statement that begins with ``#factor`` is none."""
    header = HEADER.match(file.text, piece.start, piece.end)
    if header is None:
        return None
    weights = _numbers(file, *header.span(1))
    at = header.end()
    if file.text[at : at + 1] != ":":
        _fail(file, (at, at + 1), "expected ':' after the numbers of a table", TABLE_FORM)
    sets = tuple(_sets(file, at + 1, piece.end))
    needed = prod(len(each.values) for each in sets)
    if needed != len(weights):
        sizes = " × ".join(str(len(each.values)) for each in sets)
        sizes = f"{sizes} = {needed}" if len(sets) > 1 else str(needed)
        message = f"the table has {len(weights):,} numbers for {sizes} combinations"
        help = "write one number for each combination of the values, the last set fastest"
        if needed == 1:
            message = (
                f"the table has {len(weights):,} numbers, and its atoms have no sets of values"
            )
            help = f"write the values in braces; {TABLE_FORM}"
        _fail(file, (header.start(1) - 1, header.end(1) + 1), message, help, "factor-table-size")
    span = file.span(piece.start, piece.end)
    return FactorTable(weights.tobytes(), sets, span)


def _fail(
    file: SourceFile,
    where: tuple[int, int],
    message: str,
    help: str,
    code: str = "factor-syntax",
) -> NoReturn:
    raise Refused(Diagnostic(code, message, file.span(*where), help), None)


def _numbers(file: SourceFile, start: int, end: int) -> NDArray[np.float64]:
    """The numbers between the braces."""
    text = file.text[start:end]
    if _REALS.fullmatch(text) is None:
        at = start
        for word in text.split(","):
            if _ONE.fullmatch(word) is None:
                shown = " ".join(word.split())
                message = f"'{shown}' is not a number" if shown else "a number is missing"
                help = "the factors of a table are plain numbers from 0 on, such as 2.5 or 1e-3"
                _fail(file, _trimmed(file, at, at + len(word)), message, help)
            at += len(word) + 1
    weights = np.fromstring(text, sep=",", dtype=np.float64)
    wrong = np.flatnonzero(~((weights >= 0) & (weights < inf)))
    if wrong.size:
        words, place = text.split(","), int(wrong[0])
        at = start + sum(len(word) + 1 for word in words[:place])
        shown = words[place].strip()
        large = weights[place] == inf
        message = f"{shown} is beyond the range of doubles" if large else f"{shown} is not a factor"
        help = "a factor is a number from 0 on; below 1 it makes models less probable"
        help = "divide all numbers of the table by one number" if large else help
        _fail(file, _trimmed(file, at, at + len(words[place])), message, help, "factor-range")
    return weights + 0.0  # no negative zero


def _trimmed(file: SourceFile, start: int, end: int) -> tuple[int, int]:
    """A slice without the space around it; at least one character."""
    text = file.text[start:end]
    start += len(text) - len(text.lstrip())
    return start, max(start + len(text.strip()), start + 1)


def _sets(file: SourceFile, at: int, end: int) -> Iterator[AtomSet]:
    text = file.text
    while True:
        match = _ATOM.match(text, at, end)
        balanced = match is not None and ("(" in match["before"]) == bool(
            match["end"] or match["after"]
        )
        if match is None or not balanced or match["before"].strip() == "not":
            help = f"{TABLE_FORM} Atoms have at most one set, and no terms in their terms"
            _fail(file, _trimmed(file, at, end - 1), "an atom with a set belongs here", help)
        if variable := _VARIABLE.search(re.sub(r'"[^"]*"', "", match[0])):
            message = f"{variable[0]} is a variable, and the atoms of a table have none"
            help = "write a table for each value, or '#factor W : body.' with variables"
            _fail(file, _trimmed(file, *match.span()), message, help)
        yield _set(file, match)
        at = match.end()
        if text[at : at + 1] == "." and at + 1 == end:
            return
        if text[at : at + 1] != ",":
            _fail(file, (at, at + 1), "expected ',' or '.' after an atom", TABLE_FORM)
        at += 1


def _set(file: SourceFile, match: re.Match[str]) -> AtomSet:
    before, written, after = match["before"], match["set"], match["after"] or match["end"] or ""
    if written is None:
        return AtomSet(before, None, after, ("",))
    values: list[str] = []
    at = match.start("set")
    for word in written.split(","):
        own = word.strip()
        span = _RANGE.fullmatch(own)
        if span is not None:
            first, last = int(span[1]), int(span[2])
            if last - first >= TUNING.pool_statements:
                message = f"a set of more than {TUNING.pool_statements:,} values"
                _fail(file, _trimmed(file, at, at + len(word)), message, TABLE_FORM)
            values += map(str, range(first, last + 1))
        elif _VALUE.fullmatch(own):
            values.append(own if not own.lstrip("-").isdecimal() else str(int(own)))
        else:
            message = f"'{own}' is not a value of a set" if own else "a value is missing"
            help = "values are integers, names and strings; 0..3 stands for 0, 1, 2, 3"
            _fail(file, _trimmed(file, at, at + len(word)), message, help)
        at += len(word) + 1
    twice = next((value for value in values if values.count(value) > 1), None)
    if twice is not None or not values:
        message = "a set without values" if not values else f"{twice} is twice in this set"
        _fail(file, match.span("set"), message, "list each value once")
    return AtomSet(before, re.sub(r"\s+", "", written), after, tuple(values))


def table_text(statement: FactorTable) -> str:
    numbers = ", ".join(repr(number).removesuffix(".0") for number in statement.weights.tolist())
    return f"#factor {{{numbers}}} : {', '.join(map(str, statement.sets))}."


def check_tables(statements: Sequence[FactorTable], setting: Setting) -> Iterator[Diagnostic]:
    """Tables under another semantics."""
    if setting.meaning.probability is Probability.WEIGHTED:
        return
    for statement in statements:
        message = f"a factor has no meaning under {setting.meaning.probability.value}"
        yield Diagnostic("factor-semantics", message, statement.span, WEIGHTED)


TABLE = Kind(
    FactorTable,
    table_text,
    recognise=lambda file, piece: False,  # the reader of #factor does
    check=check_tables,
    form="#factor {1, 2.5, 0, 4} : x({0,1}), y({a,b}).",
    about="a factor for each combination of the values, the last set fastest",
)
