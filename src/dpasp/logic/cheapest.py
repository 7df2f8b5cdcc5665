"""The cheapest stable model of ground rules, by clingo's core-guided optimisation.

>>> rules = [Rule((3,), (1,)), Rule((3,), (2,)), Rule((), (-3,))]
>>> found = cheapest(rules, [Group((1,), False), Group((2,), False)], [(1, 7), (2, 5)], [1, 2])
>>> found.rows[-1].tolist(), found.cost, found.least
([False, True], 5, 5)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from clingo import Model
from numpy.typing import NDArray

from dpasp.dataclass import dataclass
from dpasp.errors import LimitReached
from dpasp.limits import UNLIMITED, Watch
from dpasp.logic.program import Rule
from dpasp.logic.solve import TICK, Group, control_of

STRATEGY = "usc,stratify"  # cores from below, and models on the way


@dataclass(frozen=True, slots=True)
class Cheapest:
    """The models found, each cheaper than the last; no model costs less than ``least``."""

    rows: tuple[NDArray[np.bool_], ...]
    cost: int
    least: int


def cheapest(
    rules: Iterable[Rule],
    groups: Iterable[Group],
    costs: Sequence[tuple[int, int]],
    read: Sequence[int],
    watch: Watch = UNLIMITED,
) -> Cheapest | None:
    """The cheapest model, or at a limit the best so far; None if none was found.

    ``costs`` are those of literals, none of which is negative.
    """
    control = control_of(rules, groups, read)
    control.configuration.solver.opt_strategy = STRATEGY  # type: ignore[union-attr]
    with control.backend() as backend:
        backend.add_minimize(0, costs)
    rows: list[NDArray[np.bool_]] = []
    costs_seen, least, proven = [0], [0], False

    def keep(model: Model) -> None:
        rows.append(np.array([model.is_true(atom) for atom in read], dtype=np.bool_))
        costs_seen.append(model.cost[0] if model.cost else 0)

    def raised(lower: Sequence[int]) -> None:
        least.append(lower[0])

    with control.solve(on_model=keep, on_unsat=raised, async_=True) as handle:
        try:
            while not handle.wait(TICK):
                watch.check()
            proven = bool(handle.get().exhausted)
        except LimitReached:
            handle.cancel()
    if not rows:
        return None
    cost = costs_seen[-1]
    return Cheapest(tuple(rows), cost, cost if proven else min(max(least), cost))
