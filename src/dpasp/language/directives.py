"""``#semantics``, ``#learn``, ``#inference``, ``#python`` and ``#const`` with a real value."""

from __future__ import annotations

from clingo.ast import AST

from dpasp.language import ast
from dpasp.language.annotations import Draft
from dpasp.language.buffer import Buffer
from dpasp.language.cursor import Cursor, nearest
from dpasp.language.expressions import read_expression
from dpasp.language.lexer import Piece, Token
from dpasp.language.options import function_name, read_call, read_options, unquote
from dpasp.language.source import SourceFile, Sources

METHODS = ("auto", "exact", "compile", "enumerate", "sample", "bounds", "aseo")
_SEMANTICS_FORM = "semantics are written #semantics lstable, maxent."
_LEARN_FORM = "learning is written #learn @labels, lr = 0.001, niters = 5."
_INFERENCE_FORM = "inference is written #inference exact. or #inference sample, n = 10000."


def _whole(file: SourceFile, piece: Piece, statement: ast.Statement) -> Draft:
    """A statement of which nothing is left to clingo."""

    def finish(node: AST | None, sources: Sources) -> ast.Statement:
        return statement

    return Draft(piece.start, piece.end, finish, needs=False)


def _finish(cursor: Cursor, piece: Piece, form: str) -> None:
    """Nothing but the final dot is left."""
    rest = cursor.next()
    if rest.text != "." or not cursor.at_end():
        if not rest.text:
            cursor.fail("missing-dot", "the final dot is missing", (piece.end - 1, piece.end), form)
        cursor.fail("directive-syntax", f"unexpected '{rest.text}'", rest, form)


def read_semantics(file: SourceFile, piece: Piece, buffer: Buffer) -> Draft:
    """Read ``#semantics``: a logic semantics, a probabilistic one, or both in any order."""
    cursor = Cursor(file, piece.start, piece.end)
    cursor.next()
    parenthesis = cursor.accept("(")
    logic, probability = read_semantics_words(cursor)
    if parenthesis:
        cursor.expect(")", "directive-syntax", _SEMANTICS_FORM)
    _finish(cursor, piece, _SEMANTICS_FORM)
    buffer.blank(piece.start, piece.end)
    span = file.span(piece.start, piece.end)
    return _whole(file, piece, ast.Semantics(logic, probability, span))


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
            kind = "logic" if name in logics else "probabilistic"
            cursor.fail("semantics-twice", f"a second {kind} semantics", word, "choose one")
        else:
            known = [*logics, *probabilities]
            what = f"'{word.text}' is not a semantics" if word.text else "a semantics is missing"
            help = nearest(name, known) or f"known are {', '.join(known)}"
            cursor.fail("unknown-semantics", what, word, help)
        if not cursor.accept(","):
            return logic, probability


def read_learn(file: SourceFile, piece: Piece, buffer: Buffer) -> Draft:
    """Read ``#learn``; the arguments of its function are left to clingo."""
    cursor = Cursor(file, piece.start, piece.end)
    cursor.next()
    token = cursor.peek()
    origin: ast.Origin
    arguments = False
    if token.kind == "string":
        cursor.next()
        origin = ast.File(unquote(token.text), file.span(token.start, token.end))
    else:
        token, arguments = read_call(cursor)
        span = file.span(token.start, cursor.peek(-1).end)
        origin = ast.Call(function_name(token), (), span)
    stop = cursor.peek(-1).end
    options = read_options(cursor) if cursor.accept(",") else ()
    _finish(cursor, piece, _LEARN_FORM)
    if arguments:
        buffer.put(piece.start, token.start, ":-")
        buffer.put(token.start, token.end, "x" * (token.end - token.start))
        buffer.put(stop, piece.end, ".")
    else:
        buffer.blank(piece.start, piece.end)
    whole = file.span(piece.start, piece.end)

    def finish(node: AST | None, sources: Sources) -> ast.Statement | None:
        if isinstance(origin, ast.File) or not arguments:
            return ast.Learn(origin, options, whole)
        if node is None:
            return None
        call = ast.Call(origin.function, tuple(node.body[0].atom.symbol.arguments), origin.span)
        return ast.Learn(call, options, whole)

    return Draft(piece.start, piece.end, finish, needs=arguments)


def read_inference(file: SourceFile, piece: Piece, buffer: Buffer) -> Draft:
    """Read ``#inference``."""
    cursor = Cursor(file, piece.start, piece.end)
    cursor.next()
    method = cursor.next()
    if method.text not in METHODS:
        what = f"'{method.text}' is not a way of inference" if method.text else "a way is missing"
        help = nearest(method.text, METHODS) or f"known are {', '.join(METHODS)}"
        cursor.fail("unknown-method", what, method, help)
    options = read_options(cursor) if cursor.accept(",") else ()
    _finish(cursor, piece, _INFERENCE_FORM)
    buffer.blank(piece.start, piece.end)
    span = file.span(piece.start, piece.end)
    return _whole(file, piece, ast.Inference(method.text, options, span))


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
    _finish(cursor, piece, form)
    buffer.blank(piece.start, piece.end)
    span = file.span(piece.start, piece.end)
    return _whole(file, piece, ast.Const(name.text, value, span))


def read_python(file: SourceFile, piece: Piece, buffer: Buffer) -> Draft:
    """Read ``#python … #end.``; nothing of it is run."""
    code = file.text[piece.start + len("#python") : file.text.rindex("#end", 0, piece.end)]
    buffer.blank(piece.start, piece.end)
    return _whole(file, piece, ast.Python(code, file.span(piece.start, piece.end)))


def read_include(file: SourceFile, piece: Piece, buffer: Buffer) -> tuple[str, Token]:
    """Read ``#include "file".``; give back the name and its token."""
    form = 'a file is included by #include "file".'
    cursor = Cursor(file, piece.start, piece.end)
    cursor.next()
    token = cursor.next()
    if token.kind != "string":
        cursor.fail("include-syntax", "expected a file name in quotes", token, form)
    _finish(cursor, piece, form)
    buffer.blank(piece.start, piece.end)
    return unquote(token.text), token
