"""Our own directives: ``#semantics``, ``#learn``, ``#inference``, ``#python``, and those of
clingo's that we read ourselves: ``#const`` with a real value, ``#include``, ``#script``."""

from __future__ import annotations

import re

from clingo.ast import AST

from dpasp.language import ast, engines
from dpasp.language.annotations import Draft
from dpasp.language.buffer import Buffer
from dpasp.language.cursor import Cursor, nearest
from dpasp.language.expressions import read_expression
from dpasp.language.lexer import Token
from dpasp.language.options import call_arguments, function_name, read_call, read_options, unquote
from dpasp.language.source import SourceFile, Sources
from dpasp.language.split import Piece

_SEMANTICS_FORM = "semantics are written #semantics lstable, maxent."
_LEARN_FORM = "learning is written #learn @labels, lr = 0.001, niters = 5."
_INFERENCE_FORM = "inference is written #inference exact. or #inference sample, n = 10000."
_SCRIPT = re.compile(r"#script\s*\(\s*(\w+)\s*\)", re.ASCII)


def _whole(statement: ast.Statement) -> Draft:
    """A statement of which nothing is left to clingo."""

    def finish(nodes: list[AST], sources: Sources) -> ast.Statement:
        return statement

    return Draft(finish, whole=True)


def _finish(cursor: Cursor, form: str) -> None:
    """Nothing but the final dot is left."""
    rest = cursor.next()
    if rest.text != "." or not cursor.at_end():
        what = f"unexpected '{rest.text}'" if rest.text else "the end is missing"
        cursor.fail("directive-syntax", what, rest, form)


def read_semantics(file: SourceFile, piece: Piece, buffer: Buffer) -> Draft:
    """Read ``#semantics``: a logic semantics, a probabilistic one, or both in any order."""
    cursor = Cursor(file, piece.start, piece.end)
    cursor.next()
    parenthesis = cursor.accept("(")
    logic, probability = read_semantics_words(cursor)
    if parenthesis:
        cursor.expect(")", "directive-syntax", _SEMANTICS_FORM)
    _finish(cursor, _SEMANTICS_FORM)
    buffer.blank(piece.start, piece.end)
    return _whole(ast.Semantics(logic, probability, file.span(piece.start, piece.end)))


def read_semantics_words(cursor: Cursor) -> tuple[ast.Logic | None, ast.Probability | None]:
    """Read ``lstable, maxent``."""
    logics = {logic.value: logic for logic in ast.Logic}
    probabilities = {probability.value: probability for probability in ast.Probability}
    logic: ast.Logic | None = None
    probability: ast.Probability | None = None
    while True:
        word = cursor.next()
        name = word.text.lower()
        if name in logics and logic is None:
            logic = logics[name]
        elif name in probabilities and probability is None:
            probability = probabilities[name]
        elif name in logics or name in probabilities:
            first = logic.value if name in logics and logic else None
            first = first or (probability.value if probability else "")
            kind = "logic" if name in logics else "probabilistic"
            message = f"{name} is a second {kind} semantics, after {first}"
            cursor.fail("semantics-twice", message, word, "choose one of them")
        else:
            _refuse_semantics(cursor, word, [*logics, *probabilities])
        if cursor.accept(",") is None:
            if cursor.peek().text in (*logics, *probabilities):
                help = "write a ',' between them"
                cursor.fail("directive-syntax", "a ',' is missing here", cursor.peek(), help)
            return logic, probability


def _refuse_semantics(cursor: Cursor, word: Token, known: list[str]) -> None:
    missing = word.text in ("", ".")
    what = "a semantics is missing here" if missing else f"{word.text} is not a semantics"
    help = nearest(word.text.lower().strip('"'), known) or f"known are {', '.join(known)}"
    cursor.fail("unknown-semantics", what, word, help)


def read_learn(file: SourceFile, piece: Piece, buffer: Buffer) -> Draft:
    """Read ``#learn``; the arguments of its function are left to clingo."""
    cursor = Cursor(file, piece.start, piece.end)
    cursor.next()
    parenthesis = _wrapped(cursor)
    token = cursor.peek()
    origin, arguments = _observations(cursor)
    stop = cursor.peek(-1).end
    if cursor.peek().kind == "name":
        cursor.fail("directive-syntax", "a ',' is missing here", cursor.peek(), _LEARN_FORM)
    options = read_options(cursor, (".", ")")) if cursor.accept(",") else ()
    if parenthesis:
        cursor.expect(")", "directive-syntax", _LEARN_FORM)
    _finish(cursor, _LEARN_FORM)
    if arguments:  # clingo reads ':- xxx(…).'
        buffer.put(piece.start, token.start, ":-")
        buffer.put(token.start, token.end, "x" * (token.end - token.start))
        buffer.put(stop, piece.end, ".")
    else:
        buffer.blank(piece.start, piece.end)
    whole = file.span(piece.start, piece.end)

    def finish(nodes: list[AST], sources: Sources) -> ast.Statement | None:
        if isinstance(origin, ast.File) or not arguments:
            return ast.Learn(origin, options, whole)
        if not nodes:
            return None
        call = call_arguments(origin, nodes[0].body[0].atom.symbol)
        return ast.Learn(call, options, whole)

    return Draft(finish, whole=not arguments)


def _observations(cursor: Cursor) -> tuple[ast.Origin, bool]:
    """Take ``@labels(…)`` or ``"labels.csv"``; give back whether it has arguments."""
    token = cursor.peek()
    span = cursor.file.span(token.start, token.end)
    if token.kind == "string":
        cursor.next()
        return ast.File(unquote(token.text), span), False
    if token.kind == "call":
        token, arguments = read_call(cursor)
        span = cursor.file.span(token.start, cursor.peek(-1).end)
        return ast.Call(function_name(token), (), span), arguments
    named = token.kind == "name" and cursor.peek(1).text != "="
    help = f'write @{token.text}, or a file, "{token.text}.csv"' if named else _LEARN_FORM
    cursor.fail("learn-data", "#learn begins with the observations", token, help)


def _wrapped(cursor: Cursor) -> bool:
    """Take the parenthesis that opens a directive as a whole, if there is one."""
    return cursor.accept("(") is not None


def read_inference(file: SourceFile, piece: Piece, buffer: Buffer) -> Draft:
    """Read ``#inference``."""
    cursor = Cursor(file, piece.start, piece.end)
    cursor.next()
    parenthesis = _wrapped(cursor)
    method = cursor.next()
    known = engines.names()
    if method.text not in known:
        missing = method.text in ("", ".")
        what = "a method is missing here" if missing else f"{method.text} is not a method"
        help = nearest(method.text.strip('"'), known) or f"known are {', '.join(known)}"
        cursor.fail("unknown-method", what, method, help)
    options = read_options(cursor, (".", ")")) if cursor.accept(",") else ()
    if parenthesis:
        cursor.expect(")", "directive-syntax", _INFERENCE_FORM)
    _finish(cursor, _INFERENCE_FORM)
    buffer.blank(piece.start, piece.end)
    return _whole(ast.Inference(method.text, options, file.span(piece.start, piece.end)))


def read_const(file: SourceFile, piece: Piece, buffer: Buffer) -> Draft:
    """Read ``#const p = 0.3.``, a constant that clingo cannot have."""
    form = "a constant is written #const p = 0.3."
    cursor = Cursor(file, piece.start, piece.end)
    cursor.next()
    name = cursor.next()
    if name.kind != "name":
        cursor.fail("const-syntax", "the name of a constant begins in lower case", name, form)
    cursor.expect("=", "const-syntax", form)
    value = read_expression(cursor)
    if cursor.peek().text == "." and cursor.peek(1).text == "[":
        help = "use -c NAME=VALUE to override it"
        cursor.fail("const-syntax", "a real constant has no type", cursor.peek(1), help)
    _finish(cursor, form)
    buffer.blank(piece.start, piece.end)
    return _whole(ast.Const(name.text, value, file.span(piece.start, piece.end)))


def read_python(file: SourceFile, piece: Piece, buffer: Buffer) -> Draft:
    """Read ``#python … #end.``; nothing of it is run."""
    code = file.text[piece.start + len("#python") : file.text.rindex("#end", 0, piece.end)]
    buffer.blank(piece.start, piece.end)
    return _whole(ast.Python(code, file.span(piece.start, piece.end)))


def read_script(file: SourceFile, piece: Piece, buffer: Buffer) -> Draft:
    """Read ``#script (python) … #end.``; clingo sees an empty one."""
    header = _SCRIPT.match(file.text, piece.start)
    end = file.text.rindex("#end", 0, piece.end)
    if header is None:
        cursor = Cursor(file, piece.start, piece.start + len("#script"))
        message = "a script begins with its language in parentheses"
        help = "write #script (python) … #end., or #python … #end."
        cursor.fail("directive-syntax", message, cursor.next(), help)
    code = file.text[header.end() : end].strip(" \t\r")  # as clingo does
    buffer.blank(header.end(), end)
    span = file.span(piece.start, piece.end)

    def finish(nodes: list[AST], sources: Sources) -> ast.Statement | None:
        return ast.Plain(nodes[0].update(code=code), span) if nodes else None

    return Draft(finish)


def read_include(file: SourceFile, piece: Piece, buffer: Buffer) -> tuple[str, Token]:
    """Read ``#include "file".``; give back the name and its token."""
    form = 'a file is included by #include "file.plp".'
    cursor = Cursor(file, piece.start, piece.end)
    cursor.next()
    token = cursor.next()
    if token.text == "<":
        message = "clingo's own files in <…> cannot be included"
        cursor.fail("include-syntax", message, token, form)
    if token.kind != "string":
        cursor.fail("include-syntax", "a file name in quotes is missing here", token, form)
    _finish(cursor, form)
    buffer.blank(piece.start, piece.end)
    return unquote(token.text), token
