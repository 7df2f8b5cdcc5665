"""AST → ground program. The only user of clingo's Control.

>>> from dpasp.language import parse
>>> print(ground_text(ground(parse("0.3::a. b :- not a. #query b."))))
% 1 choice, 1 rule
0.3::a.
b :- not a.
#query b.
"""

from __future__ import annotations

from dpasp.logic.checking import check_without_grounding
from dpasp.logic.grounding import ground
from dpasp.logic.program import GroundProgram
from dpasp.logic.text import ground_text

__all__ = ["GroundProgram", "check_without_grounding", "ground", "ground_text"]
