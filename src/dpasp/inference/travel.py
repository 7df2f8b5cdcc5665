"""What is asked, as it travels to another process: without what only this one needs.

The ground program goes as it is, so that nothing is read, ground or run again elsewhere; of its
text only the places of the statements, which errors and names need.

>>> from dpasp.inference.asked import ask
>>> from dpasp.language import parse
>>> from dpasp.logic import ground
>>> from dpasp.semantics.meaning import Meaning
>>> asked = ask(ground(parse("0.3::a. #query a.")), Meaning())
>>> light(asked).weights, type(light(asked).ground.program.statements[0]).__name__
(array([0.3, 0.7]), 'Placed')
"""

from __future__ import annotations

from dataclasses import replace

from dpasp.dataclass import dataclass
from dpasp.errors import Span
from dpasp.inference.asked import Asked
from dpasp.language.ast import Program
from dpasp.language.statements.statement import Statement
from dpasp.limits import UNLIMITED


@dataclass(frozen=True, slots=True)
class Placed(Statement):
    """The place of a statement, in its stead."""

    span: Span


def light(asked: Asked) -> Asked:
    """The same question without what stays in this process: its text, its watch and its pool."""
    places = tuple(Placed(statement.span) for statement in asked.ground.program.statements)
    ground = replace(asked.ground, program=Program(places), warnings=(), networks=(), data=())
    method = replace(asked.method, pool=None)
    return replace(asked, ground=ground, method=method, watch=UNLIMITED)
