"""Neural statements and data predicates.

``?::digit(X, {0..9}) as @net with lr = 0.1 :- input(X).`` reaches clingo as the rule
``digit(X, (0..9)) ; xxxx :- input(X).``: sets become tuples, the network an atom.
"""

from __future__ import annotations

import re

from clingo.ast import AST, ASTType

from dpasp.errors import Diagnostic, ProgramError, Span
from dpasp.language import ast
from dpasp.language.annotations import Draft, head_atoms
from dpasp.language.buffer import Buffer
from dpasp.language.cursor import CLOSING, OPENING, Cursor, nearest
from dpasp.language.lexer import Piece, Token
from dpasp.language.options import function_name, read_call, read_options, unquote
from dpasp.language.source import SourceFile, Sources

_NETWORK = re.compile(r"\bas\s*@|\(.*\{.*\}.*\)|!\s*::", re.DOTALL)
_FORM = "a neural statement is written ?::digit(X, {0..9}) as @net :- input(X)."
_DATA_FORM = "data is written input(0) ~ test(@te(0)), train(@tr(0))."


def is_neural(text: str) -> bool:
    """Whether the head of an annotated statement names a network (or should)."""
    return _NETWORK.search(text.partition(":-")[0]) is not None


class _Sets:
    """Which arguments of a neural head are sets, and how many elements each has written."""

    def __init__(self) -> None:
        self.commas: dict[int, int] = {}  # argument → commas between its elements
        self.semicolon: int | None = None  # the first argument after the ';'


def read_neural(file: SourceFile, piece: Piece, buffer: Buffer) -> Draft:
    """Read a neural statement, its body and terms left to clingo."""
    cursor = Cursor(file, piece.start, piece.end)
    sign = cursor.next()
    if sign.text not in ("?", "!") or cursor.next().text != "::":
        cursor.fail(
            "neural-annotation",
            "a neural head is annotated with '?' (learnable) or '!' (frozen)",
            sign,
            _FORM,
        )
    buffer.blank(piece.start, cursor.peek().start)
    sets = _head(cursor, buffer)
    network, options = _network(cursor, buffer)
    span = file.span(piece.start, piece.end)

    def finish(node: AST | None, sources: Sources) -> ast.Statement | None:
        if node is None:
            return None
        atom, call = head_atoms(node, sources, span)
        factory = _call(network.factory, call.symbol)
        return _neural(
            atom.symbol,
            sets,
            sources,
            learnable=sign.text == "?",
            network=ast.Network(factory, network.repository, network.host, network.span),
            options=options,
            body=tuple(node.body),
            span=span,
        )

    return Draft(piece.start, piece.end, finish)


def _head(cursor: Cursor, buffer: Buffer) -> _Sets:
    """Rewrite the atom of a neural head into a term of clingo's, up to ``as``."""
    sets, depth, argument = _Sets(), 0, 0
    while cursor.peek().text != "as":
        token = cursor.next()
        if token.kind == "end" or (depth == 0 and token.text in (":-", ".", ";", "|")):
            cursor.fail("neural-network-missing", "this neural head names no network", token, _FORM)
        if token.text == "{" and depth == 1:
            sets.commas[argument] = 0
        if token.text in "{}":
            buffer.put(token.start, token.end, "(" if token.text == "{" else ")")
        elif token.kind == "ellipsis":
            _ellipsis(cursor, buffer)
            sets.commas[argument] = sets.commas.get(argument, 1) - 1  # it joined two elements
        elif depth == 1 and token.text in ";,":
            argument += 1
            if token.text == ";":
                if sets.semicolon is not None:
                    cursor.fail("neural-outcomes", "a second ';' in a neural head", token, _FORM)
                sets.semicolon = argument
                buffer.put(token.start, token.end, ",")
        elif depth == 2 and token.text == "," and argument in sets.commas:
            sets.commas[argument] += 1
        depth += (token.text in OPENING) - (token.text in CLOSING)
    return sets


def _ellipsis(cursor: Cursor, buffer: Buffer) -> None:
    """Rewrite ``0, ..., 9`` (the ellipsis was just taken) into ``0 .. 9``."""
    before, dots, after = cursor.peek(-2), cursor.peek(-1), cursor.next()
    if before.text != "," or after.text != ",":
        cursor.fail("ellipsis", "an ellipsis stands between two numbers", dots, "{0, ..., 9}")
    buffer.put(before.start, after.end, "..")


def _network(cursor: Cursor, buffer: Buffer) -> tuple[ast.Network, tuple[ast.Option, ...]]:
    """Read ``as @net on "repo" at "github" with …`` and leave the call to clingo as an atom."""
    keyword = cursor.next()
    buffer.put(keyword.start, keyword.end, ";")
    token, _ = read_call(cursor)
    buffer.put(token.start, token.end, "x" * (token.end - token.start))
    rest = cursor.peek().start
    repository = host = None
    if cursor.accept("on"):
        repository = _string(cursor, 'a repository is written on "owner/repo" or on "folder"')
    if cursor.accept("at"):
        host = _string(cursor, 'the host of a repository is written at "github"')
    end = cursor.peek(-1).end
    options: tuple[ast.Option, ...] = ()
    if cursor.accept("with"):
        options = read_options(cursor, (":-", "."))
    if cursor.peek().text not in (":-", ".") and not cursor.at_end():
        cursor.fail("neural-syntax", f"unexpected '{cursor.peek().text}'", cursor.peek(), _FORM)
    buffer.blank(rest, cursor.peek().start)
    span = cursor.file.span(token.start, end)
    factory = ast.Call(function_name(token), (), cursor.file.span(token.start, token.end))
    return ast.Network(factory, repository, host, span), options


def _string(cursor: Cursor, help: str) -> str:
    token = cursor.next()
    if token.kind != "string":
        cursor.fail("neural-syntax", "expected a string in quotes", token, help)
    return unquote(token.text)


def _call(call: ast.Call, node: AST) -> ast.Call:
    """The call with the arguments that clingo read."""
    arguments = tuple(node.arguments) if node.ast_type == ASTType.Function else ()
    return ast.Call(call.function, arguments, call.span)


def _neural(
    symbol: AST,
    sets: _Sets,
    sources: Sources,
    *,
    learnable: bool,
    network: ast.Network,
    options: tuple[ast.Option, ...],
    body: tuple[AST, ...],
    span: Span,
) -> ast.Neural:
    positive = symbol.ast_type != ASTType.UnaryOperation
    function = symbol if positive else symbol.argument
    arguments = list(function.arguments) if function.ast_type == ASTType.Function else []
    cut = len(arguments) if sets.semicolon is None else sets.semicolon
    first, second = arguments[:cut], arguments[cut:]

    def elements(index: int) -> tuple[AST, ...]:
        node = arguments[index]
        return tuple(node.arguments) if sets.commas[index] else (node,)

    values = elements(cut - 1) if cut - 1 in sets.commas else ()
    outcomes = elements(cut) if cut in sets.commas else ()
    misplaced = [index for index in sets.commas if index not in (cut - 1, cut)]
    if misplaced or len(second) > 1 or (second and not outcomes):
        where = arguments[misplaced[0]] if misplaced else second[-1]
        raise ProgramError(
            Diagnostic(
                "neural-sets",
                "a neural head has its values last, and after ';' one set of outcomes",
                sources.span_of(where.location),
                "write f(X, {a,b}) or f(X, {a,b}; {0..8})",
            )
        )
    return ast.Neural(
        name=function.name,
        positive=positive,
        arguments=tuple(first[:-1] if values else first),
        values=values,
        outcomes=outcomes,
        learnable=learnable,
        network=network,
        options=options,
        body=body,
        span=span,
    )


def read_data(file: SourceFile, piece: Piece, buffer: Buffer) -> Draft:
    """Read a data predicate, the terms left to clingo."""
    cursor = Cursor(file, piece.start, piece.end)
    while cursor.peek().text != "~":
        cursor.skip_group()
    tilde = cursor.next()
    buffer.put(tilde.start, tilde.end, ";")
    origins: dict[str, ast.Origin] = {}
    while True:
        role = cursor.next()
        origins[_role(cursor, role, origins)] = _origin(cursor, buffer)
        comma = cursor.accept(",", ";")
        if comma is None:
            break
        buffer.put(comma.start, comma.end, ";")
    if cursor.peek().text != ".":
        cursor.fail("data-syntax", f"unexpected '{cursor.peek().text}'", cursor.peek(), _DATA_FORM)
    span = file.span(piece.start, piece.end)

    def finish(node: AST | None, sources: Sources) -> ast.Statement | None:
        if node is None:
            return None
        atom, *roles = head_atoms(node, sources, span)
        function = atom.symbol
        if function.ast_type != ASTType.Function or len(function.arguments) != 1:
            raise ProgramError(
                Diagnostic(
                    "data-predicate",
                    "a data predicate has exactly one argument",
                    sources.span_of(function.location),
                    _DATA_FORM,
                )
            )
        given = {
            role.symbol.name: _with_arguments(origins[role.symbol.name], role.symbol.arguments[0])
            for role in roles
        }
        argument = function.arguments[0]
        return ast.Data(function.name, argument, given.get("test"), given.get("train"), span)

    return Draft(piece.start, piece.end, finish)


def _role(cursor: Cursor, role: Token, seen: dict[str, ast.Origin]) -> str:
    if role.text not in ("test", "train"):
        help = nearest(role.text, ("test", "train")) or _DATA_FORM
        cursor.fail("data-syntax", "expected test(…) or train(…)", role, help)
    if role.text in seen:
        cursor.fail("data-twice", f"{role.text} is given twice", role, "keep one")
    return role.text


def _origin(cursor: Cursor, buffer: Buffer) -> ast.Origin:
    """Read ``(@f(0))`` or ``("file")``."""
    cursor.expect("(", "data-syntax", _DATA_FORM)
    token = cursor.peek()
    origin: ast.Origin
    if token.kind == "string":
        cursor.next()
        origin = ast.File(unquote(token.text), cursor.file.span(token.start, token.end))
    else:
        read_call(cursor)
        buffer.put(token.start, token.end, "x" * (token.end - token.start))
        span = cursor.file.span(token.start, cursor.peek(-1).end)
        origin = ast.Call(function_name(token), (), span)
    cursor.expect(")", "data-syntax", _DATA_FORM)
    return origin


def _with_arguments(origin: ast.Origin, node: AST) -> ast.Origin:
    return _call(origin, node) if isinstance(origin, ast.Call) else origin
