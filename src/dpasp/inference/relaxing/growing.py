"""The circuit of a goal of whose choices ever more are known, as far as a budget goes.

What the circuit says is sure at any moment: the goal has at least its probability, under any
weights. It only grows, since what is known stays known, and is exact when all choices are.

>>> from dpasp.inference.relaxing.goals import determined_part
>>> from dpasp.language import parse
>>> from dpasp.logic import ground
>>> from dpasp.semantics.leaves import weights
>>> from dpasp.semantics.meaning import Meaning
>>> program = ground(parse("0.5::a. 0.5::b. 0.5::c. d :- a, b. d :- c. #query d."))
>>> goal = determined_part(program, Meaning()).goal([(program.questions[0].literals[0].atom,)])
>>> growing = Growing(goal)
>>> growing.at_least(weights(program))
0.0
>>> ranked = important(goal, weights(program), seed=0)
>>> while not growing.whole:
...     growing = growing.grown(ranked, Budget())
>>> growing.at_least(weights(program))
0.625
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from dpasp import circuits
from dpasp.dataclass import dataclass
from dpasp.errors import SizeLimit
from dpasp.inference.relaxing.goals import RelaxedGoal
from dpasp.inference.relaxing.reasons import MANY_REASONS, Ranked, important
from dpasp.inference.relaxing.two_sides import relaxed
from dpasp.limits import UNLIMITED, Watch
from dpasp.semantics.leaves import Weights
from dpasp.semantics.meaning import Meaning

FIRST = 8  # at first one in so many choices is known,
MORE = 0.2  # and then more each time, by this share of those that are known
DETERMINED = Meaning()  # about determined atoms all semantics say the same


@dataclass(frozen=True, slots=True)
class Budget:
    """How large a circuit may be, and how much work goes into it and into what to know."""

    nodes: int = 500_000
    work: int = 4_000_000
    reasons: int = MANY_REASONS

    def ranked(self, goal: RelaxedGoal, weights: Weights, seed: int, watch: Watch) -> Ranked:
        """The choices of a goal, those that matter most under the weights first."""
        return important(goal, weights, seed, self.reasons, watch)

    def compiled(self, goal: RelaxedGoal, known: Collection[int], watch: Watch) -> circuits.Circuit:
        """The circuit of what surely holds if some choices are known."""
        options = circuits.Options(nodes=self.nodes, work=self.work)
        return circuits.compile(relaxed(goal, known), DETERMINED, options=options, watch=watch)


@dataclass(frozen=True)
class Growing:
    """A goal with the choices that are known, and the circuit of what they make sure."""

    goal: RelaxedGoal
    known: frozenset[int] = frozenset()
    circuit: circuits.Circuit | None = None  # None: nothing is sure yet
    step: int = -1  # how many choices come next; -1: as many as usual, 0: no more fit

    @property
    def whole(self) -> bool:
        """Whether all choices are known."""
        return self.circuit is not None and len(self.known) == len(self.goal.numbers)

    @property
    def stuck(self) -> bool:
        """Whether no more fits into the budget."""
        return self.step == 0

    @property
    def nodes(self) -> int:
        """How large the circuit is."""
        return 0 if self.circuit is None else self.circuit.statistics.nodes

    def at_least(self, weights: Weights) -> float:
        """A number that the probability of the goal is not below, under weights [leaves]."""
        if self.circuit is None:
            return 0.0
        return min(1.0, float(self.circuit.masses(weights, fields=("a",))[0, 1]))

    def grown(self, ranked: Ranked, budget: Budget, watch: Watch = UNLIMITED) -> Growing:
        """The same with more choices known: the next ones of those that are ranked.

        Where that does not fit into the budget, it tries fewer the next time, until it is stuck.
        Raises what the ``watch`` raises.
        """
        if not ranked.choices and self.goal.numbers:
            return replace(self, step=0)  # the goal holds in no world that was drawn
        step = self._usual if self.step < 0 else self.step
        least = 0 if self.known else ranked.enough
        new = [number for number in ranked.choices if number not in self.known]
        known = self.known.union(new[: max(step, least)])
        try:
            return Growing(self.goal, known, budget.compiled(self.goal, known, watch), self.step)
        except SizeLimit:
            return replace(self, step=step // 2 if step > least else 0)

    def renewed(
        self, ranked: Ranked, weights: Weights, budget: Budget, watch: Watch = UNLIMITED
    ) -> Growing:
        """The same with as many choices known, but the first that are ranked.

        This one itself if that is no better under the weights, or does not fit into the budget.
        """
        known = frozenset(ranked.choices[: len(self.known)])
        if known == self.known or not known:
            return self
        try:
            circuit = budget.compiled(self.goal, known, watch)
        except SizeLimit:
            return self
        other = replace(self, known=known, circuit=circuit)
        return other if other.at_least(weights) > self.at_least(weights) else self

    @property
    def _usual(self) -> int:
        """How many choices come next, if nothing is known about the budget."""
        every, known = len(self.goal.numbers), len(self.known)
        return max(1, every // FIRST if not known else int(MORE * known))
