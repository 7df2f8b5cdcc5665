"""What clingo's grounder says, gathered as rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from clingo import Observer, TruthValue

from dpasp.logic.program import Rule


class Rules(Observer):
    """Gathers ground rules; ``check`` is called at each, and may raise to stop the grounder."""

    def __init__(self, check: Callable[[], None]) -> None:
        self.found: list[Rule] = []
        self.externals: dict[int, TruthValue] = {}
        self.open = True
        self._check = check

    def rule(self, choice: bool, head: Sequence[int], body: Sequence[int]) -> None:
        """Called by clingo for each rule."""
        self._check()
        if self.open:
            self.found.append(Rule(tuple(head), tuple(body), choice))

    def weight_rule(
        self,
        choice: bool,
        head: Sequence[int],
        lower_bound: int,
        body: Sequence[tuple[int, int]],
    ) -> None:
        """Called by clingo for each rule with weights in its body."""
        self._check()
        if self.open:
            literals, weights = tuple(zip(*body, strict=True)) if body else ((), ())
            self.found.append(Rule(tuple(head), literals, choice, weights, lower_bound))

    def external(self, atom: int, value: TruthValue) -> None:
        """Called by clingo for each external atom."""
        self._check()
        self.externals[atom] = value
