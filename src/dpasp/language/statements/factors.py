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
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from clingo.ast import AST, ASTType, Variable

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, ProgramError, Span, nearest
from dpasp.language.statements.data import inputs, no_data
from dpasp.language.statements.expressions import (
    Expression,
    Number,
    Operation,
    evaluate,
    expression_text,
    nearest_float,
)
from dpasp.language.statements.kind import Draft, Kind, Setting
from dpasp.language.statements.neural import (
    Network,
    data_names,
    network_text,
    read_network,
)
from dpasp.language.statements.options import (
    NETWORK,
    Call,
    Option,
    call_arguments,
    check_values,
)
from dpasp.language.statements.statement import Probability, Statement, span_field
from dpasp.language.statements.tables import read_table
from dpasp.language.statements.weights import (
    Fixed,
    Learnable,
    read_parameter,
    weight_text,
    weight_variables,
)
from dpasp.language.text import Buffer, Cursor, Piece, SourceFile, Sources
from dpasp.language.text.clingo_text import body_text, exact, global_variables
from dpasp.language.text.lexer import CLOSING, OPENING

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


def read_factor(file: SourceFile, piece: Piece, buffer: Buffer) -> Draft:
    """Read a factor; its body is left to clingo. A table of factors is read by itself."""
    if (table := read_table(file, piece, buffer)) is not None:
        return table
    cursor = Cursor(file, piece.start, piece.end)
    word = cursor.next()
    buffer.put(word.start, word.end, ":-")
    span = file.span(piece.start, piece.end)
    options: tuple[Option, ...] = ()
    weight: Fixed | Learnable | Network
    if cursor.peek().text in (":", ".", ""):
        cursor.fail("factor-syntax", "the weight of this factor is missing", word, FORM)
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
        if not nodes:
            return None
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


def _is_range(term: AST) -> bool:
    return bool(term.ast_type == ASTType.Interval)


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
                    exact(term).strip("()") if _is_range(term) else exact(term) for term in terms
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
        shown = f"{float(value):.10g}"
        plain = isinstance(expression, Number) or expression_text(expression) == shown
        message = f"{shown} is not a factor" if plain else f"this is {shown}, which is not a factor"
        help = "a factor is a number from 0 on; below 1 it makes models less probable"
        raise ProgramError(Diagnostic("factor-range", message, expression.span, help))
    return math.log(value) if value > 0 else -math.inf


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
    if not statements:
        return
    declared = data_names(setting.program)
    span_of = setting.program.sources.span_of
    for statement in statements:
        if setting.meaning.probability is not Probability.WEIGHTED:
            message = f"a factor has no meaning under {setting.meaning.probability.value}"
            yield Diagnostic("factor-semantics", message, statement.span, WEIGHTED)
        match statement.weight:
            case Network(factory):
                if not any(True for _ in inputs(statement.body, declared)):
                    places = [span_of(node.location) for node in statement.body]
                    where = places[0].to(places[-1])
                    yield no_data(f"@{factory.function}", statement.body, declared, where)
                yield from check_values(statement.options, NETWORK)
            case weight:
                yield from _check_weight(statement, weight, setting.numbers)


def _check_weight(
    statement: Factor, weight: Fixed | Learnable, values: Mapping[str, float] | None
) -> Iterator[Diagnostic]:
    known = global_variables(statement.body)
    names = list(weight_variables(weight))
    for variable in names:
        if variable.name not in known:
            message = f"the variable {variable.name} does not occur in the body"
            help = nearest(variable.name, known) or "bind it in a positive body literal"
            yield Diagnostic("unknown-variable", message, variable.span, help)
    for name in weight.key if isinstance(weight, Learnable) else ():
        if name not in known:
            message = f"the variable {name} does not occur in the body"
            help = nearest(name, known) or "name a variable of the body"
            yield Diagnostic("parameter-key", message, weight.span, help)
    if values is None or names:
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


def _terms(statement: Factor) -> Iterator[AST]:
    yield from statement.body
    if statement.network is not None:
        yield from statement.network.factory.arguments


def _calls(statement: Factor) -> tuple[Call, ...]:
    network = statement.network
    return (network.factory,) if network is not None and network.repository is None else ()


KIND = Kind(
    Factor,
    factor_text,
    ("#factor",),
    read=read_factor,
    terms=_terms,
    calls=_calls,
    check=check_factors,
    form="#factor 2.5 : a, not b.",
    about="multiplies the weight of every model in which the body holds; `?` is learned, and "
    "`@net` is the output of a network",
)
