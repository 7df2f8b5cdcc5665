"""Neural statements.

``?::digit(X, {0..9}) as @net with lr = 0.1 :- input(X).`` reaches clingo as the rule
``digit(X, (0..9)) ; xxxx :- input(X).``: sets become pools, the network an atom.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn

from clingo.ast import AST, ASTType

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, ProgramError, Span, nearest
from dpasp.language.statements.annotated import before_body, head_atoms
from dpasp.language.statements.data import data_predicates, inputs, no_data
from dpasp.language.statements.options import (
    NETWORK,
    Call,
    Option,
    check_values,
    quote,
    read_call,
    read_options,
)
from dpasp.language.statements.statement import Draft, Program, Setting, Statement, span_field
from dpasp.language.text import Cursor, Piece, Reading, SourceFile, Sources, Token
from dpasp.language.text.clingo_text import body_text, exact
from dpasp.language.text.lexer import Refused, unbalanced

_NETWORK = re.compile(r"\bas\s*@|!\s*::|::\s*-?\w+\s*\([^)]*\{|\)\s*as\s+[\w\"]", re.ASCII)
FORM = "a neural statement is written ?::digit(X, {0..9}) as @net :- input(X)."
HOSTS = ("github",)
_STRING = "expected a string in quotes"


@dataclass(frozen=True, slots=True)
class Network:
    """``@net``, ``@net on "owner/repo" at "github"``, ``@net on "folder"``."""

    factory: Call
    repository: str | None = None
    host: str | None = None
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Neural(Statement):
    """A neural fact (``values`` empty) or annotated disjunction.

    ``?::f(X, {a,b}; {0..8}) as @net :- g(X).`` has the arguments ``X``, the values
    ``a, b`` and the outcomes ``0, …, 8``; its atoms are ``f(X, value, outcome)``.
    """

    name: str
    positive: bool
    arguments: tuple[AST, ...]
    values: tuple[AST, ...]
    outcomes: tuple[AST, ...]
    learnable: bool
    network: Network
    options: tuple[Option, ...]
    body: tuple[AST, ...]
    span: Span = span_field()

    form = "?::digit(X, {0..9}) as @net with lr = 0.001 :- input(X)."
    about = "a choice whose distribution is the output of a network"

    @property
    def arity(self) -> int:
        return len(self.arguments) + bool(self.values) + bool(self.outcomes)

    @staticmethod
    def recognise(file: SourceFile, piece: Piece) -> bool:
        """Whether the head of an annotated statement names a network (or should)."""
        text = file.text[piece.start : piece.end]
        return piece.annotated and _NETWORK.search(before_body(text)) is not None

    @staticmethod
    def read(cursor: Reading) -> Draft:
        if problem := unbalanced(cursor):
            raise Refused(problem, cursor.start)
        learnable = _annotation(cursor)
        positive = cursor.accept("-") is None
        name = cursor.next()
        if name.kind != "name":
            what, help = f"'{name.text}' is not the name of a predicate", FORM
            if name.kind == "variable":
                help = f"write {name.text[:1].lower()}{name.text[1:]}: names begin in lower case"
            cursor.fail("neural-syntax", what, name, help)
        places = read_arguments(cursor) if cursor.peek().text == "(" else (None, None)
        network, options = _network(cursor)
        has_body = cursor.peek().text == ":-"
        span = cursor.span

        def finish(nodes: list[AST], sources: Sources) -> Statement | None:
            (node,) = nodes
            atom, call = head_atoms(node, 2)
            symbol = atom.symbol if positive else atom.symbol.argument
            arguments = list(getattr(symbol, "arguments", ()))
            values, outcomes = (_members(arguments, place, sources) for place in places)
            plain = arguments[: next((place for place in places if place is not None), None)]
            return Neural(
                name=name.text,
                positive=positive,
                arguments=tuple(plain),
                values=values,
                outcomes=outcomes,
                learnable=learnable,
                network=replace(network, factory=network.factory.filled(call.symbol)),
                options=options,
                body=tuple(node.body) if has_body else (),
                span=span,
            )

        return Draft(finish)

    @staticmethod
    def check(statements: Sequence[Neural], setting: Setting) -> Iterator[Diagnostic]:
        """Check for bodies without data and for wrong options."""
        declared = data_names(setting.program)
        for statement in statements:
            yield from check_network(statement, statement.name, declared, setting)

    def __str__(self) -> str:
        groups = [", ".join(map(exact, self.arguments))] if self.arguments else []
        if self.values:
            groups.append(_set_text(self.values))
        inner = ", ".join(groups)
        if self.outcomes:
            inner += f"; {_set_text(self.outcomes)}"
        sign = "?" if self.learnable else "!"
        minus = "" if self.positive else "-"
        text = f"{sign}::{minus}{self.name}" + (f"({inner})" if inner else "")
        text += f" as {network_text(self.network, self.options)}"
        return text + body_text(self.body)


def _annotation(cursor: Reading) -> bool:
    """Consume ``?::`` or ``!::``; return whether the network is learnable."""
    sign = cursor.next()
    mark = cursor.next()
    if sign.text not in ("?", "!") or mark.text != "::":
        end = next(token.start for token in cursor.tokens if token.text == "::")
        message = "a neural head has '?' (learnable) or '!' (frozen) in place of a probability"
        cursor.fail("neural-annotation", message, (sign.start, max(end, sign.end)), FORM)
    cursor.blank(sign, mark)
    return sign.text == "?"


def _network(cursor: Reading) -> tuple[Network, tuple[Option, ...]]:
    """Read ``as @net on "repo" at "github" with …``; the call is left to clingo as an atom."""
    keyword = cursor.next()
    if keyword.text != "as":
        message = "this neural head names no network"
        if any(token.text == "as" for token in cursor.tokens[cursor.index :]):
            message = "the network is named before the ':-'"
        cursor.fail("neural-network-missing", message, keyword, FORM)
    cursor.put(keyword, ";")
    network, options, rest = read_network(cursor, (":-", "."))
    after = cursor.peek()
    if after.text not in (":-", "."):
        _refuse_after(cursor, after, bool(options))
    cursor.buffer.blank(rest, after.start)
    return network, options


def read_network(cursor: Reading, ends: tuple[str, ...]) -> tuple[Network, tuple[Option, ...], int]:
    """Read ``@net on "repo" at "github" with …``, and find the start of what clingo must not see.

    The call is left to clingo as an atom. Options end at one of the tokens in ``ends``.
    """
    token = cursor.peek()
    factory = replace(read_call(cursor), span=cursor.where(token))
    rest = cursor.peek().start
    repository = host = None
    if cursor.accept("on"):
        help = 'a repository is written on "owner/repo" or on "folder"'
        repository = cursor.expect_string("neural-syntax", _STRING, help)
    if (at := cursor.accept("at")) is not None:
        help = 'the host of a repository is written at "github"'
        host = cursor.expect_string("neural-syntax", _STRING, help)
        if host not in HOSTS:
            help = nearest(host, HOSTS) or 'write at "github"'
            message = f"{host} is not a known host"
            cursor.fail("unknown-host", message, cursor.peek(-1), help)
        if repository is None:
            help = 'write on "owner/repo" at "github"'
            cursor.fail("neural-syntax", "a host without a repository", at, help)
    last = cursor.peek(-1)
    options: tuple[Option, ...] = ()
    if cursor.accept("with"):
        options = read_options(cursor, (*ends, "on", "at"))
    return Network(factory, repository, host, cursor.where(token, last)), options, rest


def _refuse_after(cursor: Cursor, token: Token, options: bool) -> NoReturn:
    message, help = f"unexpected '{token.text}' after the network", FORM
    if token.text in (";", "|"):
        message, help = "a neural statement has one head", "write a statement for each head"
    elif token.text in ("on", "at") and options:
        message = f"'{token.text}' comes before 'with'"
        help = 'write as @net on "owner/repo" at "github" with lr = 0.1'
    elif cursor.peek(1).text == "=":
        help = "options follow 'with': as @net with lr = 0.1"
    cursor.fail("neural-syntax", message, token, help)


# --- printing and checks -----------------------------------------------------------------------


def network_text(network: Network, options: tuple[Option, ...]) -> str:
    """``@net on "folder" with lr = 0.1``."""
    text = str(network.factory)
    if network.repository is not None:
        text += f" on {quote(network.repository)}"
    if network.host is not None:
        text += f" at {quote(network.host)}"
    if options:
        text += f" with {', '.join(map(str, options))}"
    return text


def _set_text(elements: Iterable[AST]) -> str:
    return "{" + ", ".join(map(exact, elements)) + "}"


def check_network(
    statement: Any, name: str, declared: Mapping[str, int], setting: Setting
) -> Iterator[Diagnostic]:
    """Check that a network's statement has data in its body and right options."""
    body = statement.body
    if not any(True for _ in inputs(body, declared)):
        places = [setting.program.sources.span_of(node.location) for node in body]
        where = places[0].to(places[-1]) if places else statement.span
        yield no_data(name, body, declared, where)
    yield from check_values(statement.options, NETWORK)


def data_names(program: Program) -> dict[str, int]:
    """The data predicates of a program, with their arities (see :func:`data_predicates`)."""
    named = (s for s in program.statements if getattr(s, "network", None) is not None)
    bodies: list[tuple[AST, ...]] = [statement.body for statement in named]  # type: ignore[attr-defined]
    return data_predicates(program, bodies)


# --- arguments of the head: plain ones, the set of values, the set of outcomes -----------------

_SETS = "write f(X, {a,b}), or f(X, {a,b}; {0..8}) for several outcomes"


def read_arguments(cursor: Reading) -> tuple[int | None, int | None]:
    """Rewrite the arguments of a neural head as terms; return the places of values and outcomes."""
    cursor.next()
    starts: list[Token] = []
    cut: int | None = None  # how many come before the ';'
    while True:
        starts.append(cursor.peek())
        if starts[-1].text == "{":
            read_set(cursor, "neural-sets")
        ending = _rest_of_argument(cursor, starts[-1].text == "{")
        if ending.text == ")":
            break
        if ending.text == ";":
            if cut is not None:
                cursor.fail("neural-sets", "a second ';' in a neural head", ending, _SETS)
            cut = len(starts)
            cursor.put(ending, ",")
    first, after = starts[:cut], starts[len(starts) if cut is None else cut :]
    if wrong := next((start for start in first[:-1] if start.text == "{"), None):
        message = "the set of values is the last argument of a neural head"
        cursor.fail("neural-sets", message, wrong, _SETS)
    if cut is not None and (len(after) != 1 or after[0].text != "{"):
        message = "one set of outcomes follows the ';' in a neural head"
        cursor.fail("neural-sets", message, after[after[0].text == "{"], _SETS)
    return len(first) - 1 if first[-1].text == "{" else None, cut


def _rest_of_argument(cursor: Cursor, is_set: bool) -> Token:
    """Consume the rest of an argument and the ',', ';' or ')' after it."""
    while cursor.peek().text not in (",", ";", ")"):
        token = cursor.peek()
        if is_set or token.text == "{":
            message = "a set is an argument of its own"
            cursor.fail("neural-sets", message, token, _SETS)
        if token.text == "[":
            message = "the values of a network stand in braces"
            cursor.fail("neural-sets", message, token, "write {a, b}")
        cursor.skip_group()
    return cursor.next()


def read_set(cursor: Reading, code: str) -> None:
    """Rewrite the set ``{a, b}`` that comes next as the pool ``(a; b)``."""
    opening = ending = cursor.next()
    cursor.put(opening, "(")
    while ending.text != "}":
        token = cursor.peek()
        if token.text in ("}", ","):
            where = (opening.start, token.end)
            message = "a value is missing in this set"
            cursor.fail(code, message, where, "write the values, as in {a, b} or {0..9}")
        if token.kind == "ellipsis":
            _ellipsis(cursor)
        while cursor.peek().text not in (",", ";", "}"):
            if (part := cursor.peek()).kind == "variable":
                message = f"{part.text} is a variable, but the values of a network are fixed"
                help = "write the values, or use a constant: {0..n} with #const n = 9."
                cursor.fail("neural-values", message, part, help)
            cursor.skip_group()
        ending = cursor.next()
        if ending.text == ";":
            cursor.fail(code, "the values of a set have ',' between them", ending, _SETS)
        cursor.put(ending, ")" if ending.text == "}" else ";")


def _ellipsis(cursor: Reading) -> None:
    """Rewrite ``0, ..., 9`` (the ellipsis is next) as ``0 .. 9``."""
    before, comma, dots = cursor.peek(-2), cursor.peek(-1), cursor.next()
    after, last = cursor.next(), cursor.peek()
    if not (before.text.isdigit() and after.text == "," and last.text.isdigit()):
        message = "an ellipsis stands between two integers"
        cursor.fail("ellipsis", message, dots, "write {0, ..., 9}, or {0..9}")
    earlier, between = cursor.peek(-6), cursor.peek(-5)  # in 'earlier, before, ..., last'
    if between.text == "," and earlier.text.isdigit():
        step = float(before.text) - float(earlier.text)
        if step != 1:
            message = f"an ellipsis counts by ones, not by {step:g}"
            cursor.fail("ellipsis", message, dots, "write out all the values")
    cursor.buffer.put(comma.start, after.end, "..")


def _members(nodes: list[AST], place: int | None, sources: Sources) -> tuple[AST, ...]:
    """The members of the set at a place, which must differ; none if there is no set."""
    if place is None:
        return ()
    node = nodes[place]
    members = tuple(node.arguments) if node.ast_type == ASTType.Pool else (node,)
    shown = list(map(str, members))
    for at, text in enumerate(shown):
        if text in shown[:at]:
            where = sources.span_of(members[at].location)
            message = f"the value {text} occurs twice"
            raise ProgramError.at("neural-values", message, where, "write it once")
    return members
