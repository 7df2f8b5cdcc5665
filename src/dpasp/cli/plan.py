"""The plan before long work: printed once, when it turns out to be long or with ``-v``."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dpasp.circuits import HeadCycle
from dpasp.cli.console import Console
from dpasp.dataclass import dataclass
from dpasp.display.progress import PATIENCE, watching
from dpasp.errors import LimitReached
from dpasp.limits import Report, untold

if TYPE_CHECKING:
    from dpasp.circuits.compiler import Plan


@contextmanager
def planned(what: str, plan: Callable[[], Plan] | None, console: Console) -> Iterator[Report]:
    """Progress of some work that begins with compiling, and its plan; without one, progress."""
    teller = _Teller(plan, console)
    if console.verbose:
        teller.tell()
    with watching(what, None if console.quiet else console.messages) as report:
        yield _Planned(teller, report)


@dataclass(frozen=True, slots=True)
class _Planned:
    """A report that tells the plan when it is time."""

    teller: _Teller
    report: Report

    def __call__(self, done: float, total: float | None) -> None:
        self.teller.look()
        self.report(done, total)

    def stage(self, text: str) -> None:
        """Say what is done now."""
        getattr(self.report, "stage", untold)(text)


class _Teller:
    """Tells a plan at most once."""

    def __init__(self, plan: Callable[[], Plan] | None, console: Console) -> None:
        self.plan = None if console.quiet else plan
        self.console = console
        self.due: float | None = None

    def look(self) -> None:
        """Tell the plan if the work has become long since the first look."""
        now = time.monotonic()
        if self.due is None:
            self.due = now + 0.9 * PATIENCE  # above the bar, so before it
        if now >= self.due:
            self.tell()

    def tell(self) -> None:
        """Tell the plan, if that has not been done."""
        plan, self.plan = self.plan, None
        if plan is None:
            return
        try:
            self.console.note(str(plan()))
        except LimitReached:
            return  # who answers finds out, too
        except HeadCycle:
            self.console.note("a disjunction through a positive loop: models are enumerated")
