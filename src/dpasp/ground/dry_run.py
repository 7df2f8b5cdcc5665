"""Grounding that is tried in a process of its own, only to see that it comes to an end.

clingo's grounder cannot be stopped from outside. Where this process may not be copied (see
:mod:`dpasp.limits.work`), a bare clingo in a new process grounds first: at a limit that is ended,
and nothing is left. When it has come to its end, so will the grounder here.

>>> from dpasp.limits import Limits
>>> dry_run(DryRun("p(0). p(X+1) :- p(X), X < 9."), Limits(seconds=60).start())
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from math import inf
from typing import TypeVar

from clingo import Function, Symbol

from dpasp.dataclass import dataclass
from dpasp.ground import bare
from dpasp.ground.markers import FACTS, HEADS
from dpasp.limits import Watch
from dpasp.limits.work import can_fork, in_child, in_process

T = TypeVar("T")
BARE = 30.0  # megabytes of a process that has only loaded clingo


@dataclass(frozen=True, slots=True)
class DryRun:
    """A program for clingo, the parts of it to be ground, and its facts by predicate."""

    text: str
    parts: Sequence[str] = ("base",)
    facts: Sequence[Sequence[Symbol]] = ()
    most: float = inf  # rules; with more it is ended

    def request(self) -> dict[str, object]:
        """What is sent to the other process."""
        return {
            "text": self.text,
            "parts": list(self.parts),
            "facts": [str(Function("", list(symbols))) for symbols in self.facts],
            "functions": [FACTS, HEADS],
            "most": None if self.most == inf else int(self.most),
        }


def dry_run(program: DryRun, watch: Watch) -> None:
    """Return when a process of its own has ground the program, or was refused by clingo.

    Raises :class:`TimeLimit` or :class:`MemoryLimit` where that takes too much.
    """
    import json

    # -P: beside that file there is one that is called clingo, too
    command = [sys.executable, "-P", bare.__file__]
    in_process(command, json.dumps(program.request()).encode(), watch, own=BARE, quiet=True)


def stoppable(work: Callable[[], T], program: Callable[[], DryRun], watch: Watch) -> T:
    """What the work gives back, which grounds a program: nothing is left of it at a limit.

    The work is done in a copy of this process, or after a dry run.
    """
    if not watch.limited or watch.limits.ends_process:
        return work()
    if can_fork():
        return in_child(work, watch)
    dry_run(program(), watch)
    return work()
