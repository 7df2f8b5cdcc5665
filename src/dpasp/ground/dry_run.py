"""Try grounding in a separate process, only to see whether it ends.

clingo's grounder cannot be stopped from outside. If this process may not be forked (see
:mod:`dpasp.limits.work`), a bare clingo in a new process grounds first, and is ended at a limit. If
it finishes, so will the grounder here.

That process runs this file as a script. To start in a twentieth of a second, it loads clingo but no
module of dPASP.

>>> from dpasp.limits import Limits
>>> dry_run("p(0). p(X+1) :- p(X), X < 9.", ["base"], Limits(seconds=60).start())
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from math import inf
from typing import TYPE_CHECKING

from clingo import Control, Observer

if TYPE_CHECKING:
    from dpasp.limits import Watch

BARE = 30.0  # megabytes of a process that has only loaded clingo


def dry_run(text: str, parts: Iterable[str], watch: Watch, most: float = inf) -> None:
    """Return when a separate process has ground parts of a program, or clingo has refused it.

    It is ended at more than ``most`` rules. Raises :class:`TimeLimit` or :class:`MemoryLimit` if it
    takes too much.
    """
    from dpasp.limits.work import in_process

    command = [sys.executable, "-P", __file__, str(most), *parts]  # -P: files here have names of
    in_process(command, text.encode(), watch, own=BARE, quiet=True)  # modules


# --- in the other process -----------------------------------------------------------------------


class _Counted(Observer):
    """Stops clingo at too many rules."""

    def __init__(self, most: float) -> None:
        self._left = most

    def rule(self, choice: bool, head: Sequence[int], body: Sequence[int]) -> None:
        """Called by clingo for each rule."""
        self._left -= 1
        if self._left < 0:
            raise OverflowError


def ground_bare(text: str, parts: Iterable[str], most: float = inf) -> Control:
    """clingo's control after grounding parts of a program."""
    control = Control(logger=lambda _code, _message: None)
    if most < inf:
        control.register_observer(_Counted(most))
    control.add("base", [], text)
    control.ground([(part, []) for part in parts])
    return control


if __name__ == "__main__":
    ground_bare(sys.stdin.read(), sys.argv[2:], float(sys.argv[1]))
