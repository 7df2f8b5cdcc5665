"""What the readers of directives share.

>>> from dpasp.language import parse
>>> parse("#query(a).").statements == parse("#query a.").statements
True
"""

from __future__ import annotations

from clingo.ast import AST

from dpasp.language.statements.kind import Draft
from dpasp.language.statements.statement import Statement
from dpasp.language.text.cursor import Cursor
from dpasp.language.text.source import Sources


def whole_statement(statement: Statement) -> Draft:
    """A statement of which nothing is left to clingo."""

    def finish(nodes: list[AST], sources: Sources) -> Statement:
        return statement

    return Draft(finish, whole=True)


def expect_end(cursor: Cursor, form: str, parenthesis: bool = False) -> None:
    """Raise unless only the final dot is left, after the ``parenthesis`` that was opened."""
    if parenthesis:
        cursor.expect(")", "directive-syntax", form)
    rest = cursor.next()
    if rest.text != "." or not cursor.at_end():
        what = f"unexpected '{rest.text}'" if rest.text else "the end is missing"
        cursor.fail("directive-syntax", what, rest, form)


def accept_parenthesis(cursor: Cursor) -> bool:
    """Take the parenthesis that opens a directive as a whole, if there is one."""
    return cursor.accept("(") is not None
