"""Decisions that know what was observed: each case is maximised on its own, the last one first.

The instances of a decision with a body are its cases: ``treat(R)`` for each result ``R`` of a
test. If no two cases hold together, what is done in one does not change what the others add. So
for the last decision each case takes its best option, whatever was done before, if the case tells
what that was and everything that was known then (*perfect recall*). Then the decision before it
follows, and so on: a sum of options is tried in place of their product.

Without perfect recall the same steps lead to a good strategy, which may not be the best.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import combinations

import numpy as np

from dpasp.dataclass import dataclass
from dpasp.ground.program import Rule
from dpasp.inference.decide.strategies import Deciding, Group, Score, Strategy, influenced
from dpasp.inference.tuning import DECIDING

Body = frozenset[int]


@dataclass(frozen=True)
class Case:
    """An instance of a decision: its choices, its atoms, and when it is taken."""

    choices: tuple[int, ...]
    group: Group
    heads: tuple[int, ...]  # the atoms, in the same order
    body: Body


@dataclass(frozen=True)
class Rollback:
    """The stages of a problem, from the first decision to the last."""

    deciding: Deciding

    @cached_property
    def stages(self) -> list[list[Case]] | None:
        """The cases of each decision in order; None where that is not clear."""
        ground = self.deciding.ground
        by_selector: dict[int, list[Rule]] = {}
        for rule in ground.rules:
            for literal in rule.body:
                by_selector.setdefault(literal, []).append(rule)
        stages: dict[int, list[Case]] = {}
        for decision, group in zip(ground.decisions, self.deciding.groups, strict=True):
            bodies = set()
            for choice in decision.choices:
                (selector,) = ground.choices[choice].selectors
                bodies |= {frozenset(r.body) - {selector} for r in by_selector.get(selector, ())}
            if len(bodies) != 1:
                return None
            heads = tuple(ground.choices[choice].heads[0] for choice in decision.choices)
            case = Case(decision.choices, group, heads, bodies.pop())
            stages.setdefault(decision.statement, []).append(case)
        return self._in_order(list(stages.values()))

    def _in_order(self, stages: list[list[Case]]) -> list[list[Case]] | None:
        """The stages, each after those that lead to its cases; None if they go in circles."""
        ground = self.deciding.ground
        reaches = []
        for stage in stages:
            choices = [choice for case in stage for choice in case.choices]
            reached = influenced(ground, choices)
            reaches.append(
                {
                    i
                    for i, other in enumerate(stages)
                    if any(reached[abs(lit)] for case in other for lit in case.body)
                }
            )
        if any(i in reaches[i] for i in range(len(stages))):
            return None
        order = sorted(range(len(stages)), key=lambda i: -len(reaches[i]))
        later = all(j not in reaches[i] for n, i in enumerate(order) for j in order[:n])
        return [stages[i] for i in order] if later else None

    def strategy(self, score: Score) -> Strategy | None:
        """A strategy from the last decision to the first; None where there are no cases."""
        stages = self.stages
        if stages is None or all(not case.body for stage in stages for case in stage):
            return None
        strategy = np.zeros(len(self.deciding.decided), dtype=np.bool_)
        for stage in stages:
            for case in stage:
                strategy[list(case.group.places[: case.group.least])] = True
        for number in range(len(stages) - 1, -1, -1):
            self._maximise(strategy, stages[:number], stages[number], score)
        return strategy

    def _maximise(
        self, strategy: Strategy, before: Sequence[list[Case]], stage: list[Case], score: Score
    ) -> None:
        """Put the best option of every case of a stage into the strategy."""
        trials, owners = [], []
        for number, case in enumerate(stage):
            told = self._as_told(strategy, before, case)
            for option in case.group.options():
                trial = told.copy()
                trial[list(case.group.places)] = False
                trial[list(option)] = True
                trials.append(trial)
                owners.append(number)
        scores = np.nan_to_num(score(self.deciding.worth(np.array(trials))), nan=-np.inf)
        for number, case in enumerate(stage):
            mine = [i for i, owner in enumerate(owners) if owner == number]
            best = max(mine, key=lambda i: scores[i])
            strategy[list(case.group.places)] = trials[best][list(case.group.places)]

    def _as_told(self, strategy: Strategy, before: Sequence[list[Case]], case: Case) -> Strategy:
        """The strategy in which earlier decisions are as a case tells."""
        told = strategy.copy()
        for stage in before:
            for other in stage:
                pairs = zip(other.group.places, other.heads, strict=True)
                taken = [place for place, head in pairs if head in case.body]
                if taken and other.group.least <= len(taken) <= other.group.most:
                    told[list(other.group.places)] = False
                    told[taken] = True
        return told

    @cached_property
    def is_exact(self) -> bool:
        """Whether the strategy is the best: cases exclude each other and recall all before."""
        stages = self.stages
        if stages is None or sum(map(len, stages)) > DECIDING.cases:
            return False
        exclusive = _Exclusive(self.deciding)
        for number, stage in enumerate(stages):
            if not all(case.group.least == case.group.most == 1 for case in stage):
                return False
            pairs = combinations(stage, 2)
            if not all(exclusive.bodies(one.body, other.body) for one, other in pairs):
                return False
            for earlier in stages[:number]:
                if not all(_recalls(case, earlier) for case in stage):
                    return False
        return True


def _recalls(case: Case, earlier: Sequence[Case]) -> bool:
    """Whether a case tells what was known at an earlier decision, and what was decided."""
    return any(
        other.body <= case.body and any(head in case.body for head in other.heads)
        for other in earlier
    )


class _Exclusive:
    """Which atoms never hold together, whatever is decided."""

    def __init__(self, deciding: Deciding) -> None:
        ground = deciding.ground
        self.rules: dict[int, list[Rule]] = {}
        for rule in ground.rules:
            for head in rule.head:
                self.rules.setdefault(head, []).append(rule)
        self.owner = {s: i for i, c in enumerate(ground.choices) for s in c.selectors}
        for number, decision in enumerate(ground.decisions):
            if decision.most <= 1:  # its choices exclude each other, as the values of one do
                for choice in decision.choices:
                    self.owner[ground.choices[choice].selectors[0]] = -1 - number
        self._known: dict[tuple[int, int], bool] = {}

    def bodies(self, one: Body, other: Body) -> bool:
        """Whether two bodies never hold together."""
        return any(self.literals(x, y) for x in one - other for y in other - one)

    def literals(self, x: int, y: int) -> bool:
        """Whether two literals never hold together."""
        if x == -y:
            return True
        if x < 0 or y < 0:
            return False
        if x in self.owner or y in self.owner:  # a choice takes one value
            return x != y and x in self.owner and self.owner[x] == self.owner.get(y)
        key = min(x, y), max(x, y)
        if key not in self._known:
            self._known[key] = False  # while it is looked at: no circular reasons
            self._known[key] = all(
                len(r.head) == len(s.head) == 1
                and r.weights is s.weights is None
                and self.bodies(frozenset(r.body), frozenset(s.body))
                for r in self.rules.get(x, ())
                for s in self.rules.get(y, ())
            )
        return self._known[key]
