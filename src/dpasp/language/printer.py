"""Program → text, such that reading the text gives the same program again.

>>> from dpasp.language import parse
>>> print(to_text(parse("0.3 :: a ; 7/10::b:-c . #query(a|not b).")), end="")
0.3::a; 7/10::b :- c.
#query a | not b.
"""

from __future__ import annotations

from dpasp.language.statements.expressions import expression_text, number_text
from dpasp.language.statements.kind import kind_of
from dpasp.language.statements.questions import literal_text, question_text
from dpasp.language.statements.statement import Program, Statement
from dpasp.language.statements.weights import head_text, weight_text
from dpasp.language.text.trees import exact


def to_text(program: Program) -> str:
    """The text of a program, a statement a line."""
    return "".join(f"{statement_text(statement)}\n" for statement in program.statements)


def statement_text(statement: Statement) -> str:
    """The text of one statement."""
    return kind_of(statement).text(statement)


__all__ = [
    "exact",
    "expression_text",
    "head_text",
    "literal_text",
    "number_text",
    "question_text",
    "statement_text",
    "to_text",
    "weight_text",
]
