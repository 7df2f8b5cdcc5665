"""Grounding that is tried in a process of its own, only to see that it comes to an end.

clingo's grounder cannot be stopped from outside. Where this process may not be copied (see
:mod:`dpasp.limits.work`), a bare clingo in a new process grounds first: at a limit that is ended,
and nothing is left. When it has come to its end, so will the grounder here.

That process runs this file as a script. It loads clingo and nothing of ours, which takes a
twentieth of a second, so nothing of ours is imported at the top.

>>> from dpasp.limits import Limits
>>> dry_run(DryRun("p(0). p(X+1) :- p(X), X < 9."), Limits(seconds=60).start())
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

from clingo import Control, Observer

if TYPE_CHECKING:
    from dpasp.limits import Watch

BARE = 30.0  # megabytes of a process that has only loaded clingo


class DryRun(NamedTuple):
    """A program for clingo, and the parts of it to be ground."""

    text: str
    parts: Sequence[str] = ("base",)
    most: float = inf  # rules; with more it is ended

    def request(self) -> dict[str, object]:
        """What is sent to the other process."""
        return {
            "text": self.text,
            "parts": list(self.parts),
            "most": None if self.most == inf else int(self.most),
        }


def dry_run(program: DryRun, watch: Watch) -> None:
    """Return when a process of its own has ground the program, or was refused by clingo.

    Raises :class:`TimeLimit` or :class:`MemoryLimit` where that takes too much.
    """
    import json

    from dpasp.limits.work import in_process

    command = [sys.executable, "-P", __file__]  # -P: other files here have names of modules
    in_process(command, json.dumps(program.request()).encode(), watch, own=BARE, quiet=True)


# --- in the other process -----------------------------------------------------------------------


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
    """clingo's control after grounding what :meth:`DryRun.request` says."""
    control = Control(logger=lambda _code, _message: None)
    if asked["most"] is not None:
        control.register_observer(_Counted(asked["most"]))
    control.add("base", [], asked["text"])
    control.ground([(part, []) for part in asked["parts"]])
    return control


if __name__ == "__main__":
    import json

    ground_bare(json.load(sys.stdin))
