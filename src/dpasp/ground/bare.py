"""clingo alone: what an encoded program calls, and grounding whose result nobody needs.

:mod:`dpasp.ground.dry_run` runs this file as a script, in a process that loads clingo and nothing
of ours, which takes a twentieth of a second. So nothing of ours is imported here.

>>> from clingo import Number, parse_term
>>> [str(head) for head in grouped_heads(parse_term("(a,1,b,2)"), *map(Number, (0, 2, 2)))]
['(a,1)', '(b,2)']
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

from clingo import Control, Function, Observer, Symbol, parse_term


def grouped_heads(held: Symbol, start: Symbol, count: Symbol, arity: Symbol) -> list[Symbol]:
    """The arguments of so many heads, each as a tuple, out of a tuple of all."""
    arguments, size = _held(held), arity.number
    places = range(start.number, start.number + count.number * size, size)
    return [Function("", arguments[place : place + size]) for place in places]


@lru_cache(maxsize=1)  # one marker is asked about again and again, and its list is long
def _held(symbol: Symbol) -> list[Symbol]:
    return symbol.arguments


class _Counted(Observer):
    """Stops clingo at more rules than are wanted."""

    def __init__(self, most: int) -> None:
        self._left = most

    def rule(self, choice: bool, head: Sequence[int], body: Sequence[int]) -> None:
        """Called by clingo for each rule."""
        self._left -= 1
        if self._left < 0:
            raise OverflowError


def ground_bare(asked: Mapping[str, Any]) -> Control:
    """clingo's control after grounding what :meth:`dpasp.ground.dry_run.DryRun.request` says."""
    facts = [parse_term(text).arguments for text in asked["facts"]]
    listing, grouping = asked["functions"]
    own = SimpleNamespace(**{listing: lambda number: facts[number.number], grouping: grouped_heads})
    control = Control(logger=lambda _code, _message: None)
    if asked["most"] is not None:
        control.register_observer(_Counted(asked["most"]))
    control.add("base", [], asked["text"])
    control.ground([(part, []) for part in asked["parts"]], context=own)
    return control


if __name__ == "__main__":
    import json

    ground_bare(json.load(sys.stdin))
