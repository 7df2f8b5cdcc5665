"""From statements to a ground program. The only user of clingo's Control.

>>> from dpasp.language import parse
>>> print(ground_text(ground(parse("0.3::a. b :- not a. #query b."))))
% 1 choice, 1 rule
0.3::a.
b :- not a.
#query b.
"""

from __future__ import annotations

from dpasp.ground.checking import check_without_grounding
from dpasp.ground.grounding import ground
from dpasp.ground.program import GroundProgram
from dpasp.ground.text import ground_text

__all__ = ["GroundProgram", "check_without_grounding", "ground", "ground_text"]
