"""Options ``name = value, …`` and what they are given to: calls and files."""

from __future__ import annotations

from clingo.ast import AST, ASTType

from dpasp.errors import Diagnostic, ProgramError
from dpasp.language import ast
from dpasp.language.cursor import Cursor
from dpasp.language.expressions import real
from dpasp.language.lexer import Token

_ESCAPES = {"\\n": "\n", '\\"': '"', "\\\\": "\\"}
_FORM = "options are written name = value, with ',' between them"
_LONGEST = 18  # digits of an integer


def unquote(text: str) -> str:
    """The content of a string as clingo writes it.

    >>> unquote('"a\\\\\\\\b"')
    'a\\\\b'
    """
    parts, at, inner = [], 0, text[1:-1]
    while at < len(inner):
        pair = inner[at : at + 2]
        parts.append(_ESCAPES.get(pair, inner[at]))
        at += 2 if pair in _ESCAPES else 1
    return "".join(parts)


def read_options(cursor: Cursor, stop: tuple[str, ...] = (".",)) -> tuple[ast.Option, ...]:
    """Read options up to one of the ``stop`` tokens; the same name twice is an error."""
    options: dict[str, ast.Option] = {}
    while True:
        start = cursor.peek().start
        option = _option(cursor)
        if option.name in options:
            where = (start, cursor.peek(-1).end)
            message = f"the option {option.name} is given twice"
            cursor.fail("option-twice", message, where, "keep one of them")
        options[option.name] = option
        if cursor.at_end() or cursor.peek().text in stop:
            return tuple(options.values())
        cursor.expect(",", "option-syntax", _FORM)


def _option(cursor: Cursor) -> ast.Option:
    name = cursor.next()
    if name.kind not in ("name", "variable"):
        missing = name.text in ("", ".", ":-", ",")
        what = "an option is missing here" if missing else f"'{name.text}' is not an option"
        cursor.fail("option-syntax", what, name, _FORM)
    value: ast.Value = True
    if cursor.peek().text in (":", ":=", "=="):
        cursor.fail("option-syntax", "an option has '=' before its value", cursor.peek(), _FORM)
    if cursor.accept("="):
        value = _value(cursor)
    return ast.Option(name.text, value, cursor.file.span(name.start, cursor.peek(-1).end))


def _value(cursor: Cursor) -> ast.Value:
    token = cursor.next()
    if token.text == "(":
        return _tuple(cursor)
    if token.text in ("-", "+") or token.kind == "number":
        return _number(cursor, token)
    if token.kind == "string":
        return unquote(token.text)
    if token.text.lower() in ("true", "false"):
        return token.text.lower() == "true"
    if token.kind == "name":
        return token.text
    missing = token.text in ("", ".", ":-", ",")
    what = "a value is missing here" if missing else f"'{token.text}' is not a value"
    cursor.fail("option-syntax", what, token, 'a value is a number, a "string", true or false')


def _number(cursor: Cursor, token: Token) -> int | float:
    sign = -1 if token.text == "-" else 1
    if token.text in ("-", "+"):
        token = cursor.next()
    if token.kind != "number":
        help = "write a number such as 0.001"
        cursor.fail("option-syntax", "a number is missing here", token, help)
    whole = token.text.isdigit() and len(token.text) <= _LONGEST
    return sign * (int(token.text) if whole else real(cursor, token))


def _tuple(cursor: Cursor) -> tuple[int | float, ...]:
    numbers: list[int | float] = []
    while not cursor.accept(")"):
        numbers.append(_number(cursor, cursor.next()))
        if not cursor.accept(","):
            cursor.expect(")", "option-syntax", "a list of numbers is written (0.9, 0.999)")
            break
    return tuple(numbers)


def read_call(cursor: Cursor) -> tuple[Token, bool]:
    """Take ``@f`` or ``@f(…)``; give back the name's token and whether arguments follow it."""
    token = cursor.next()
    if token.kind != "call":
        named = token.kind in ("name", "variable", "string")
        what = f"{token.text} is not a function" if named else "a function is missing here"
        name = token.text.strip('"').split("/")[-1] if named else "net"
        cursor.fail("function-syntax", what, token, f"name a Python function with @: @{name}")
    if token.text.find(":") < 0 and _is_module(cursor, token):
        message = "a function in a module is named after a colon"
        help = f"write {token.text}.module:function"
        cursor.fail("function-syntax", message, token, help)
    if cursor.peek().text != "(":
        return token, False
    cursor.skip_group()
    return token, True


def _is_module(cursor: Cursor, token: Token) -> bool:
    """Whether ``@package`` goes on as ``.module``, with no function after a colon."""
    following = cursor.file.text[token.end : token.end + 2]
    return following[:1] == "." and (following[1:].isalpha() or following[1:] == "_")


def function_name(token: Token) -> str:
    """The name in a call token, without the ``@``."""
    return token.text[1:].strip()


def call_arguments(call: ast.Call, node: AST) -> ast.Call:
    """The call with the arguments that clingo read."""
    if node.ast_type == ASTType.Pool:
        message, help = "a call has one list of arguments", "write ',' between the arguments"
        raise ProgramError(Diagnostic("function-syntax", message, call.span, help))
    arguments = tuple(node.arguments) if node.ast_type == ASTType.Function else ()
    return ast.Call(call.function, arguments, call.span)
