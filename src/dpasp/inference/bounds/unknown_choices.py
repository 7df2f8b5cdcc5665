"""Sure bounds of determined queries, from programs in which some choices are unknown.

What speaks for a query (it holds, with the evidence) and what speaks against it (the evidence
holds and the query does not) are goals (see ``relaxed``), and so are their complements; what
surely holds of each bounds the answer from both sides. The circuit of a goal grows choice by
choice as far as a budget goes. Its probability is a sure lower bound at every moment, under any
weights, and exact once all choices are known. So the bounds close in even where no case of the
program is small enough to compile.

Where probabilities are intervals, what surely holds is the least over all of them. The answer at
the vertex where what speaks for the query is least bounds the lower probability from above, and
likewise for the upper one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from dpasp import circuits
from dpasp.dataclass import dataclass
from dpasp.errors import LimitReached, SizeLimit
from dpasp.ground.program import GroundQuery
from dpasp.inference.asked import Asked
from dpasp.inference.bounds.cases import Bound, SureInterval, unsure, widest
from dpasp.inference.bounds.relaxed import (
    DeterminedPart,
    Ranked,
    RelaxedGoal,
    determined_part,
    important,
    relaxed,
)
from dpasp.inference.circuit import OnCircuit
from dpasp.inference.ratios import extremes
from dpasp.inference.sampling.splitting import Groundwork
from dpasp.inference.tuning import BOUNDS
from dpasp.limits import UNLIMITED, Watch
from dpasp.semantics.leaves import Weights
from dpasp.semantics.meaning import Meaning

DETERMINED = Meaning()  # about determined atoms all semantics say the same


@dataclass(frozen=True, slots=True)
class Budget:
    """How large a circuit may be, and how much work goes into it and into what to know."""

    nodes: int = 500_000
    work: int = 4_000_000
    reasons: int = BOUNDS.reasons

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
        return max(1, every // BOUNDS.first_known if not known else int(BOUNDS.more_known * known))


# Of an attempt to know more choices; where all fail, twice that, up to the most work.
FIRST_BUDGET = Budget(BOUNDS.goal.nodes, BOUNDS.goal.work, BOUNDS.goal_reasons)
ROUNDING = 1e-12  # of what is evaluated

# The places of four goals: what is for a query, its complement, what is against it, and its.
GoalPlaces = tuple[int, int, int, int]


class RelaxedBounds:
    """What is sure about queries, under weights [leaves]; nothing where it does not apply."""

    def __init__(
        self,
        asked: Asked,
        queries: Sequence[GroundQuery],
        weights: Weights,
        budget: Budget = FIRST_BUDGET,
        groundwork: Groundwork | None = None,
    ) -> None:
        self.asked, self.weights, self.budget = asked, weights, budget
        self.growing: list[Growing] = []
        part = determined_part(asked.ground, asked.meaning, asked.watch, groundwork)
        self.places = [None if part is None else self._add(part, query) for query in queries]
        self._ranked: dict[int, Ranked] = {}
        self._least = [0.0] * len(self.growing)
        self._at = [weights] * len(self.growing)  # the weights that each is least at

    @property
    def applies(self) -> bool:
        """Whether the choices determine all queries and their evidence."""
        return None not in self.places

    @property
    def intervals(self) -> list[SureInterval | None]:
        """An interval that surely holds the answer, for each query; None where nothing is known."""
        return [None if places is None else self._interval(places) for places in self.places]

    def narrowed(self, bounds: Sequence[Bound]) -> list[Bound]:
        """Other bounds of the queries, made narrower by what is sure here."""
        pairs = zip(bounds, self.places, strict=True)
        return [
            bound if places is None else self._narrowed(bound, places) for bound, places in pairs
        ]

    @property
    def gap(self) -> float:
        """The largest gap among what is known here."""
        nothing = unsure(self.asked.meaning)
        return widest(
            [self._narrowed(nothing, places) for places in self.places if places is not None]
        )

    def close_in(self, wanted: float, watch: Watch) -> None:
        """Go on until no interval is wider than wanted, nothing more helps, or a limit is met."""
        try:
            for _ in self.steps(watch):
                gap = self.gap
                watch.stage(f"bounds, {gap:.2g} wide")
                if gap <= wanted:
                    return
        except LimitReached:
            return

    def steps(self, watch: Watch) -> Iterator[None]:
        """Let one goal after the other grow; raises what the watch raises."""
        failed: set[int] = set()  # the goals that do not grow within the present budget
        while todo := [n for n, growing in enumerate(self.growing) if not growing.whole]:
            for number in todo:
                if number not in failed and self._grow(number, watch):
                    yield
                elif not self.growing[number].whole:
                    failed.add(number)
            if failed.issuperset(todo):
                if self.budget.work >= BOUNDS.most_work:
                    return
                self._raise(todo)
                failed.clear()

    def _grow(self, number: int, watch: Watch) -> bool:
        """Try to know more choices of a goal; returns whether that succeeded."""
        growing = self.growing[number]
        if number not in self._ranked:
            self._ranked[number] = self.budget.ranked(growing.goal, self.weights, number, watch)
        self.growing[number] = new = growing.grown(self._ranked[number], self.budget, watch)
        if new.circuit is growing.circuit:
            return False
        least, at = self._least_of(new, watch)
        if least >= self._least[number]:
            self._least[number], self._at[number] = least, at
        return True

    def _least_of(self, growing: Growing, watch: Watch) -> tuple[float, Weights]:
        """What a goal has at least, whatever the probabilities within intervals; and where."""
        if not self.asked.has_intervals or growing.circuit is None:
            return growing.at_least(self.weights), self.weights
        question = GroundQuery((), (), "", None)  # the circuit knows what is asked
        asked = replace(self.asked.with_questions([question]), weights=self.weights, watch=watch)
        on_circuit = OnCircuit(growing.circuit, DETERMINED, (question,), asked.layout)
        (extreme,) = extremes(asked, on_circuit)
        at = self.weights if extreme.lower_at is None else extreme.lower_at
        return min(1.0, float(extreme.lower[0])), at

    def _raise(self, todo: Sequence[int]) -> None:
        """Allow twice the work, and let those that are stuck try again."""
        budget = self.budget
        twice = {"nodes": 2 * budget.nodes, "work": 2 * budget.work, "reasons": 2 * budget.reasons}
        self.budget = replace(budget, **twice)
        self._ranked = {}
        for number in todo:
            if self.growing[number].stuck:
                self.growing[number] = replace(self.growing[number], step=-1)

    def _narrowed(self, bound: Bound, places: GoalPlaces) -> Bound:
        interval = self._interval(places)
        if not self.asked.has_intervals:
            return bound.narrowed(interval)
        at_least, at_most = (self._interval(places, self._at[places[end]]) for end in (0, 2))
        return bound.narrowed((interval[0], at_least[1]), (at_most[0], interval[1]))

    def _interval(self, places: GoalPlaces, at: Weights | None = None) -> SureInterval:
        """for / (for + against) with each at its least and the other at its most.

        With ``at``, under these weights; else under all within the intervals.
        """
        held, fails, against, not_against = (
            self._least[place] if at is None else self.growing[place].at_least(at)
            for place in places
        )
        least = held * (1 - ROUNDING), against * (1 - ROUNDING)
        most = min(1.0, 1 - fails + ROUNDING), min(1.0, 1 - not_against + ROUNDING)
        return least[0] / (least[0] + most[1]), most[0] / (most[0] + least[1])

    def _add(self, part: DeterminedPart, query: GroundQuery) -> GoalPlaces | None:
        """The goals of a query; None if the choices do not determine them."""
        both = part.conjunction((*query.evidence, *query.literals))
        given, asked = part.conjunction(query.evidence), part.conjunction(query.literals)
        if both is None or given is None or asked is None:
            return None
        held = part.goal([both])
        against = part.goal([(*given, -literal) for literal in asked])
        if not given and not part.constraints:  # what is not for it is against it
            first = self._grown(held, against)
            return (first, first + 1, first + 1, first)
        fails = part.complement([(-literal,) for literal in both])
        not_against = part.complement([asked, *((-literal,) for literal in given)])
        first = self._grown(held, fails, against, not_against)
        return (first, first + 1, first + 2, first + 3)

    def _grown(self, *goals: RelaxedGoal) -> int:
        """Add goals; returns the place of the first."""
        self.growing += map(Growing, goals)
        return len(self.growing) - len(goals)
