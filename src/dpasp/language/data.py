"""Data statements: ``input(0) ~ test(@te(0)), train("tr.csv").``

clingo reads them as the disjunction ``input(0) ; test(xxx(0)) ; train("tr.csv").``
"""

from __future__ import annotations

import re
from typing import NoReturn

from clingo.ast import AST

from dpasp.language import ast
from dpasp.language.annotations import Draft, head_atoms
from dpasp.language.buffer import Buffer
from dpasp.language.cursor import Cursor, nearest
from dpasp.language.lexer import Token
from dpasp.language.options import call_arguments, function_name, read_call, unquote
from dpasp.language.source import SourceFile, Sources
from dpasp.language.split import Piece

FORM = "data is written input(0) ~ test(@te(0)), train(@tr(0))."
_TILDES = ("~", "∼")
_ROLES = ("test", "train")
_FILE = re.compile(r"[\w.]*")


def is_data(file: SourceFile, piece: Piece) -> bool:
    """Whether a statement with a '~' in it says which data a constant stands for."""
    cursor = Cursor(file, piece.start, piece.end)
    if cursor.peek().text in _TILDES:
        return cursor.peek(1).text in _ROLES
    cursor.accept("-")
    if cursor.next().kind not in ("name", "variable"):
        return False
    depth = 0
    while cursor.peek().text == "(" or depth:
        token = cursor.next()
        depth += (token.text == "(") - (token.text == ")")
        if not token.text:
            return False
    return cursor.peek().text in _TILDES


def read_data(file: SourceFile, piece: Piece, buffer: Buffer) -> Draft:
    """Read a data statement, its terms left to clingo."""
    cursor = Cursor(file, piece.start, piece.end)
    name = _predicate(cursor)
    tilde = cursor.next()
    buffer.put(tilde.start, tilde.end, ";")
    origins: dict[str, ast.Origin] = {}
    while True:
        role = _role(cursor, origins)
        origins[role] = _origin(cursor, buffer)
        comma = cursor.accept(",", ";")
        if comma is None:
            break
        buffer.put(comma.start, comma.end, ";")
    _end(cursor)
    span = file.span(piece.start, piece.end)

    def finish(nodes: list[AST], sources: Sources) -> ast.Statement | None:
        if not nodes:
            return None
        (node,) = nodes
        atom, *roles = head_atoms(node, 1 + len(origins))
        given = {
            role: _with_arguments(origin, found.symbol.arguments[0])
            for (role, origin), found in zip(origins.items(), roles, strict=True)
        }
        (argument,) = atom.symbol.arguments
        return ast.Data(name.text, argument, given.get("test"), given.get("train"), span)

    return Draft(finish)


def _with_arguments(origin: ast.Origin, node: AST) -> ast.Origin:
    return call_arguments(origin, node) if isinstance(origin, ast.Call) else origin


def _predicate(cursor: Cursor) -> Token:
    """Take ``input(0)``, an atom with one argument that is no variable."""
    name = cursor.next()
    if name.text in _TILDES:
        cursor.fail("data-predicate", "an atom is missing before the '~'", name, FORM)
    if name.text == "-":
        cursor.fail("data-predicate", "a data predicate is not negated", name, FORM)
    if name.kind != "name":
        message = "a data predicate has a name that begins in lower case"
        cursor.fail("data-predicate", message, name, FORM)
    start, depth, pieces = cursor.index, 0, 0
    while depth or cursor.peek().text not in _TILDES:
        token = cursor.next()
        pieces += token.text in (",", ";") and depth == 1
        depth += (token.text == "(") - (token.text == ")")
        if token.kind == "variable":
            message = f"{token.text} is a variable, but data stand for one constant"
            help = "write one data statement for each constant: input(0) ~ …, input(1) ~ …"
            cursor.fail("data-predicate", message, token, help)
    if cursor.index - start < 3 or pieces:
        message = "a data predicate has exactly one argument, a constant"
        cursor.fail("data-predicate", message, (name.start, cursor.peek(-1).end), FORM)
    return name


def _role(cursor: Cursor, seen: dict[str, ast.Origin]) -> str:
    role = cursor.next()
    if role.text not in _ROLES:
        what = (
            f"'{role.text}' is neither test nor train"
            if role.text not in ("", ".")
            else ("test(…) or train(…) is missing")
        )
        cursor.fail("data-syntax", what, role, nearest(role.text, _ROLES) or FORM)
    if role.text in seen:
        cursor.fail("data-twice", f"{role.text} is given twice", role, "keep one of them")
    return role.text


def _origin(cursor: Cursor, buffer: Buffer) -> ast.Origin:
    """Read ``(@f(0))`` or ``("file")``."""
    cursor.expect("(", "data-syntax", FORM)
    token = cursor.peek()
    origin: ast.Origin
    if token.kind == "string":
        cursor.next()
        origin = ast.File(unquote(token.text), cursor.file.span(token.start, token.end))
    elif token.kind == "call":
        read_call(cursor)
        buffer.put(token.start, token.end, "x" * (token.end - token.start))
        span = cursor.file.span(token.start, cursor.peek(-1).end)
        origin = ast.Call(function_name(token), (), span)
    else:
        _refuse_origin(cursor, token)
    if cursor.peek().text != ")":
        message = "test and train hold one function or one file"
        cursor.fail("data-syntax", message, cursor.peek(), "close it with ')' before this")
    cursor.next()
    return origin


def _refuse_origin(cursor: Cursor, token: Token) -> NoReturn:
    if token.kind != "name":
        what = "a function or a file is missing here"
        cursor.fail("data-syntax", what, token, 'write @function or "file.csv"')
    match = _FILE.match(cursor.file.text, token.start)
    name = match.group() if match else token.text
    message = f"'{name}' is neither a function nor a file in quotes"
    where = (token.start, token.start + len(name))
    cursor.refuse("data-syntax", message, where, f'write @{token.text} or "{name.rstrip(".")}"')


def _end(cursor: Cursor) -> None:
    token = cursor.next()
    if token.text == ":-":
        message = "a data statement has no body"
        cursor.fail("data-syntax", message, token, "write one data statement for each constant")
    if token.text != "." or not cursor.at_end():
        what = f"unexpected '{token.text}'" if token.text else "the end is missing"
        cursor.fail("data-syntax", what, token, FORM)
