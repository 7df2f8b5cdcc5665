"""Options ``name = value, …`` and what they are given to: calls, files, lists of names."""

from __future__ import annotations

from dpasp.language import ast
from dpasp.language.cursor import Cursor
from dpasp.language.lexer import Token

_ESCAPES = {"\\n": "\n", '\\"': '"', "\\\\": "\\"}


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
        option = _option(cursor)
        if option.name in options:
            where = _slice(cursor, option)
            message = f"the option {option.name} is given twice"
            cursor.fail("option-twice", message, where, "keep one")
        options[option.name] = option
        if cursor.at_end() or cursor.peek().text in stop:
            return tuple(options.values())
        cursor.expect(",", "option-syntax", "options are written name = value, with commas between")


def _slice(cursor: Cursor, option: ast.Option) -> tuple[int, int]:
    end = cursor.peek(-1).end
    start = next(
        token.start
        for token in reversed(cursor.tokens[: cursor.index])
        if token.text == option.name and token.kind == "name"
    )
    return start, end


def _option(cursor: Cursor) -> ast.Option:
    name = cursor.next()
    if name.kind not in ("name", "variable"):
        what = f"'{name.text}' is not an option" if name.text else "an option is missing"
        cursor.fail("option-syntax", what, name, "options are written name = value")
    value: ast.Value = True
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
    what = f"'{token.text}' is not a value" if token.text else "a value is missing"
    cursor.fail("option-syntax", what, token, 'a value is a number, a "string", true or false')


def _number(cursor: Cursor, token: Token) -> int | float:
    sign = -1 if token.text == "-" else 1
    if token.text in ("-", "+"):
        token = cursor.next()
    if token.kind != "number":
        cursor.fail("option-syntax", "a number is missing after the sign", token)
    return sign * (int(token.text) if token.text.isdigit() else float(token.text))


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
        what = f"'{token.text}' is not a function" if token.text else "a function is missing"
        cursor.fail("function-syntax", what, token, "name a Python function with @, as in @net")
    if cursor.peek().text != "(":
        return token, False
    cursor.skip_group()
    return token, True


def function_name(token: Token) -> str:
    """The name in a call token, without the ``@``."""
    return token.text[1:].strip()
