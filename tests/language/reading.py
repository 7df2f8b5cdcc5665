"""Short ways to read programs in tests."""

from __future__ import annotations

from dpasp.errors import ProgramError
from dpasp.language import ast, parse
from dpasp.language.ast import statement_text


def one(text: str) -> ast.Statement:
    """The only statement of a text."""
    (statement,) = parse(text).statements
    return statement


def kinds(text: str) -> list[str]:
    """The classes of the statements of a text."""
    return [type(statement).__name__ for statement in parse(text).statements]


def shown(text: str) -> list[str]:
    """The statements of a text as they are printed."""
    return [statement_text(statement) for statement in parse(text).statements]


def codes(text: str) -> list[str]:
    """The codes of what is wrong with a text, in order."""
    try:
        parse(text)
    except ProgramError as error:
        return [diagnostic.code for diagnostic in error.diagnostics]
    return []
