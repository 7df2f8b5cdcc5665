"""Certain bounds from programs with unknown choices: what holds whatever their values are.

Determined atoms have the same value in every model of a total choice. So a conjunction of literals
about them is an event (as is its complement), and all semantics agree on its probability. A *goal*
is such an event, written as an atom. Constraints between determined atoms are taken into account.

In the *relaxed* program every atom becomes two: one says that it surely holds, the other that it
may hold. The head of a rule surely holds if the positive atoms of the body surely hold and the
negated ones cannot hold; it may hold if the positive ones may hold and no negated one surely does.
A value of an unknown choice may hold, but never surely does. So the probability that the goal
surely holds is a lower bound on the probability of the goal; knowing more choices tightens it.

Random worlds in which the goal holds show which choices to know first. An atom that holds does so
for the reason of the rule that first derived it. An atom that does not hold has, for each of its
rules, the reason of a literal that fails. Choices in many reasons come first, above all those in
short ones.

For each query there are two goals: the evidence holds with the query, and the evidence holds
without it. Lower bounds on both goals and on their complements bound the answer from both sides.
The circuit of a goal grows choice by choice within a budget, so the bounds tighten even if no case
of the program is small enough to compile. If probabilities are intervals, the minimum over them
counts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice, pairwise
from random import Random

import numpy as np
from clingo import Function
from numpy.typing import NDArray

from dpasp import circuits
from dpasp.circuits.worlds import Definitions, Worlds, reached
from dpasp.dataclass import dataclass
from dpasp.errors import LimitReached, SizeLimit
from dpasp.ground.program import GroundLiteral, GroundProgram, GroundQuery, Rule
from dpasp.inference.asked import Asked
from dpasp.inference.bounds.cases import Bound, SureInterval, unsure, widest
from dpasp.inference.circuit import OnCircuit, extremes
from dpasp.inference.sampling.situations import Groundwork
from dpasp.inference.tuning import BOUNDS
from dpasp.language.ast import NOWHERE, Mode
from dpasp.limits import UNLIMITED, Watch
from dpasp.semantics.leaves import Weights, layout
from dpasp.semantics.meaning import Meaning
from dpasp.semantics.translate import Conjunction, Translation


@dataclass(frozen=True)
class RelaxedGoal:
    """A determined atom of a program, and the rules that it depends on."""

    ground: GroundProgram
    rules: Mapping[int, tuple[Rule, ...]]  # by atom
    atom: int
    size: int  # the atoms are 1, …, size - 1

    @cached_property
    def selectors(self) -> Mapping[int, int]:
        """The selectors that the goal depends on, with the numbers of their choices."""
        read = {abs(b) for rules in self.rules.values() for rule in rules for b in rule.body}
        return {
            selector: number
            for number, choice in enumerate(self.ground.choices)
            for selector in choice.selectors
            if selector in read
        }

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of the choices that the goal depends on."""
        return tuple(sorted(set(self.selectors.values())))


@dataclass(frozen=True)
class DeterminedPart:
    """The rules of the determined atoms of a program, and the constraints between these atoms.

    Every total choice that satisfies the constraints has a model. Three new atoms follow those of
    the translation: one without rules (see ``never``), one for a violated constraint, and the goal.
    """

    ground: GroundProgram
    translation: Translation
    rules: Mapping[int, Sequence[Rule]]
    constraints: tuple[Rule, ...]  # over determined atoms
    known: Sequence[bool]  # by atom, whether it is determined

    def conjunction(self, literals: Sequence[GroundLiteral]) -> Conjunction | None:
        """The literals in the translated program; None if some are not determined."""
        conjunction = self.translation.conjunction(literals)
        if conjunction is None:
            return self.never
        return conjunction if all(self.known[abs(b)] for b in conjunction) else None

    @property
    def never(self) -> Conjunction:
        """Literals that never hold together."""
        return (self.translation.size, -self.translation.size)

    def goal(self, bodies: Sequence[Conjunction]) -> RelaxedGoal:
        """The goal that one of the conjunctions holds and no constraint is violated."""
        violated = self.translation.size + 1
        allowed = (-violated,) if self.constraints else ()
        rules = {violated: tuple(rule._replace(head=(violated,)) for rule in self.constraints)}
        return self._goal([Rule((), (*body, *allowed)) for body in bodies], rules)

    def complement(self, bodies: Sequence[Conjunction]) -> RelaxedGoal:
        """The goal that one of the conjunctions holds, or a constraint is violated."""
        return self._goal([*(Rule((), body) for body in bodies), *self.constraints], {})

    def _goal(self, rules: Sequence[Rule], more: Mapping[int, Sequence[Rule]]) -> RelaxedGoal:
        """The goal that the body of one of the rules holds; ``more`` are rules by atom."""
        atom = self.translation.size + 2
        mine = tuple(rule._replace(head=(atom,)) for rule in rules)
        every = {**self.rules, **more, atom: mine}
        needed = reached([atom], lambda a: (abs(b) for rule in every.get(a, ()) for b in rule.body))
        below = {a: tuple(every[a]) for a in needed if a in every}
        return RelaxedGoal(self.ground, below, atom, atom + 1)


def determined_part(groundwork: Groundwork) -> DeterminedPart | None:
    """The determined part of a program; None if the other rules may rule out all models."""
    program = groundwork.split
    if not all(part.certain for part in program.parts):
        return None
    if program.constraints and groundwork.meaning.has_undefined_model:
        return None  # there, violating a constraint yields a model with every atom undefined
    known, rules = [*program.determined.tolist(), True], (program.rules, program.constraints)
    return DeterminedPart(groundwork.ground, groundwork.translation, *rules, known)


def relaxed(goal: RelaxedGoal, known: Collection[int]) -> GroundProgram:
    """The relaxed program that asks whether a goal surely holds, if only some choices are known.

    It keeps all choices of the program, so that their leaves stay where they are. The atoms that
    say "surely" and "may" are numbered after those of the program; selectors stand for themselves.
    """
    ground, selectors = goal.ground, goal.selectors
    numbers: dict[tuple[int, bool], int] = {}
    todo: list[tuple[int, bool]] = []  # atoms whose rules are still to come, and whether "surely"

    def number(atom: int, surely: bool) -> int:
        if atom in selectors:
            return atom
        if (atom, surely) not in numbers:
            numbers[atom, surely] = len(ground.symbols) + len(numbers)
            todo.append((atom, surely))
        return numbers[atom, surely]

    literal = GroundLiteral(Mode.TRUE, number(goal.atom, True), Function("goal"))
    rules: dict[Rule, None] = {}
    while todo:
        atom, surely = todo.pop()
        for rule in goal.rules.get(atom, ()):
            whole, bound = _sum_of(rule)
            body: list[tuple[int, int]] = []
            for b, weight in whole:
                choice = selectors.get(abs(b))
                if choice is None or choice in known:
                    body.append((b, weight))
                elif not surely:  # a value of an unknown choice may hold
                    bound -= weight
            if bound > sum(weight for _, weight in body):
                continue
            head, plain = (numbers[atom, surely],), rule.weights is None or bound <= 0
            sides = ((number(abs(b), surely == (b > 0)), b > 0) for b, _ in body if bound > 0)
            literals = tuple(side if positive else -side for side, positive in sides)
            weights = None if plain else tuple(weight for _, weight in body)
            rules[Rule(head, literals, weights=weights, bound=0 if plain else bound)] = None
    return replace(
        ground,
        symbols=(*ground.symbols, *[None] * len(numbers)),
        rules=tuple(rules),
        questions=(GroundQuery((literal,), (), str(literal), NOWHERE),),
        evidence=(),
    )


@dataclass(frozen=True, slots=True)
class Ranked:
    """The choices that a goal depends on, in the order in which they should become known.

    The first ``enough`` of them are the shortest reason that was seen. There are none if the goal
    held in no world.
    """

    choices: tuple[int, ...] = ()
    enough: int = 0


def important(
    goal: RelaxedGoal,
    weights: Weights,
    seed: int,
    reasons: int = BOUNDS.reasons,
    watch: Watch = UNLIMITED,
) -> Ranked:
    """The choices of the shortest reason, then the others by how many reasons they are part of.

    In a reason with n choices, each counts 1/n.
    """
    walk = _Reasons(goal, Random(seed))
    most = min(reasons, BOUNDS.ranking_work // max(1, len(walk.every)) + 10)
    counts = dict.fromkeys(goal.numbers, 0.0)
    shortest: set[int] | None = None
    for true in islice(_worlds(goal, weights, seed, watch), most):
        watch.check()
        reason = walk.reason(true)
        for number in reason:
            counts[number] += 1.0 / len(reason)
        if shortest is None or len(reason) < len(shortest):
            shortest = reason
    if shortest is None:
        return Ranked()
    others = sorted(counts.keys() - shortest, key=lambda number: (-counts[number], number))
    first = sorted(shortest, key=lambda number: (-counts[number], number))
    return Ranked((*first, *others), len(first))


def _worlds(
    goal: RelaxedGoal, weights: Weights, seed: int, watch: Watch
) -> Iterator[Sequence[bool]]:
    """Worlds in which the goal holds: for each atom, whether it is true."""
    atoms = sorted({*goal.rules, *goal.selectors})
    definitions = Definitions(goal.rules, goal.ground.choices)
    worlds = Worlds(definitions, goal.size, atoms)
    place = atoms.index(goal.atom)
    for even in BOUNDS.evened:
        mixed = _evened(goal, weights, even)
        drawn = worlds.draw(mixed, seed, 0, BOUNDS.ranking_blocks, watch).bits
        good = np.flatnonzero(drawn[place])
        for world in good[: BOUNDS.reasons].tolist():
            true: NDArray[np.bool_] = np.zeros(goal.size, dtype=np.bool_)
            true[atoms] = drawn[:, world]
            yield true.tolist()
        if len(good):
            return


def _evened(goal: RelaxedGoal, weights: Weights, share: float) -> Weights:
    """The weights, mixed with a share of the uniform distribution over the possible values."""
    mixed = weights.copy()
    for first, last in pairwise(layout(goal.ground.choices).starts):
        possible = (weights[first:last] > 0).astype(np.float64)
        even = possible / max(1.0, float(possible.sum()))
        mixed[first:last] = (1 - share) * weights[first:last] + share * even
    return mixed


class _Reasons:
    """Finds the reason of a goal in one world after another."""

    def __init__(self, goal: RelaxedGoal, random: Random) -> None:
        self.goal, self.random = goal, random
        self.sums = {atom: [_sum_of(rule) for rule in rules] for atom, rules in goal.rules.items()}
        self.every = [(atom, sum_) for atom, sums in self.sums.items() for sum_ in sums]
        # For each atom, the sums that contain it, or its negation, and its weight there.
        self.read: dict[int, list[tuple[int, int]]] = {}
        self.negated: dict[int, list[tuple[int, int]]] = {}
        for number, (_, (body, _)) in enumerate(self.every):
            for literal, weight in body:
                read = self.read if literal > 0 else self.negated
                read.setdefault(abs(literal), []).append((number, weight))

    def reason(self, true: Sequence[bool]) -> set[int]:
        """The choices that are the reason for the goal in a world where it holds.

        If several literals of a body fail, one about a choice is preferred in some worlds and one
        about another atom in others, at random: so the reasons of different worlds differ.
        """
        selectors, near = self.goal.selectors, self.random.random() < 0.5
        derived = self._derived(true)
        choices: set[int] = set()
        todo, seen = deque([self.goal.atom]), {self.goal.atom}
        while todo:
            atom = todo.popleft()
            if atom in selectors:
                choices.add(selectors[atom])
                continue
            if true[atom]:
                place, (body, bound) = derived[atom][0], self.every[derived[atom][1]][1]
                holding = [
                    (b, w)
                    for b, w in body
                    if (true[b] and derived[b][0] < place if b > 0 else not true[-b])
                ]
                more = _first(holding, bound)
            else:
                more = [
                    blocker
                    for sum_ in self.sums.get(atom, ())
                    for blocker in self._blockers(sum_, true, seen, near)
                ]
            for other in more:
                if other not in seen:
                    seen.add(other)
                    todo.append(other)
        return choices

    def _derived(self, true: Sequence[bool]) -> dict[int, tuple[int, int]]:
        """For each atom that holds, when it was derived and by which body first.

        As in unit propagation, ``left`` counts down what each body still lacks.
        """
        left = [bound for _, (_, bound) in self.every]
        for atom, negated in self.negated.items():
            if not true[atom]:
                for number, weight in negated:
                    left[number] -= weight
        todo = deque(s for s in self.goal.selectors if true[s])
        derived = dict.fromkeys(todo, (-1, -1))

        def derive(number: int) -> None:
            atom = self.every[number][0]
            if atom not in derived:
                derived[atom] = len(derived), number
                todo.append(atom)

        for number, missing in enumerate(left):
            if missing <= 0:
                derive(number)
        while todo:
            for number, weight in self.read.get(todo.popleft(), ()):
                left[number] -= weight
                if left[number] <= 0:
                    derive(number)
        return derived

    def _blockers(self, sum_: _Sum, true: Sequence[bool], seen: set[int], near: bool) -> list[int]:
        """Atoms whose literals suffice to make a body fail; those already seen are preferred."""
        body, bound = sum_
        selectors = self.goal.selectors

        def cost(pair: tuple[int, int]) -> tuple[bool, bool, float]:
            atom = abs(pair[0])
            return atom not in seen, (atom in selectors) != near, self.random.random()

        failing = sorted(((b, w) for b, w in body if true[abs(b)] != (b > 0)), key=cost)
        return _first(failing, sum(weight for _, weight in body) - bound + 1)


_Sum = tuple[list[tuple[int, int]], int]  # the body of a rule: literals with weights, and the bound


def _sum_of(rule: Rule) -> _Sum:
    weights = (1,) * len(rule.body) if rule.weights is None else rule.weights
    bound = len(rule.body) if rule.weights is None else rule.bound
    return list(zip(rule.body, weights, strict=True)), bound


def _first(pairs: Sequence[tuple[int, int]], bound: int) -> list[int]:
    """The atoms of the first literals whose weights add up to the bound."""
    atoms, total = [], 0
    for literal, weight in pairs:
        if total >= bound:
            break
        atoms.append(abs(literal))
        total += weight
    return atoms


# --- bounds of queries ----------------------------------------------------------------------------


DETERMINED = Meaning()  # all semantics agree on determined atoms


@dataclass(frozen=True, slots=True)
class Budget:
    """How large a circuit may be, the work of compiling it, and the reasons to rank choices by.

    The default is for one attempt to add choices. If all attempts fail, it is doubled, up to the
    maximum of work.
    """

    nodes: int = BOUNDS.goal.nodes
    work: int = BOUNDS.goal.work
    reasons: int = BOUNDS.goal_reasons

    def compiled(self, goal: RelaxedGoal, known: Collection[int], watch: Watch) -> circuits.Circuit:
        """The circuit of the relaxed program of a goal."""
        options = circuits.Options(nodes=self.nodes, work=self.work)
        return circuits.compile(relaxed(goal, known), DETERMINED, options=options, watch=watch)


@dataclass(frozen=True)
class Growing:
    """A goal with the choices that are known so far, and the circuit of its relaxed program."""

    goal: RelaxedGoal
    known: frozenset[int] = frozenset()
    circuit: circuits.Circuit | None = None  # None: there is no bound yet
    step: int = -1  # how many choices to add next; -1: as many as usual, 0: no more fit

    @property
    def whole(self) -> bool:
        """Whether all choices are known."""
        return self.circuit is not None and len(self.known) == len(self.goal.numbers)

    @property
    def stuck(self) -> bool:
        """Whether no more choices fit into the budget."""
        return self.step == 0

    def at_least(self, weights: Weights) -> float:
        """A lower bound on the probability of the goal under weights [leaves]."""
        if self.circuit is None:
            return 0.0
        return min(1.0, float(self.circuit.masses(weights, fields=("a",))[0, 1]))

    def grown(self, ranked: Ranked, budget: Budget, watch: Watch = UNLIMITED) -> Growing:
        """The same goal with more choices known, the next ones in the ranking.

        If the circuit exceeds the budget, fewer are tried the next time, until it is stuck.
        """
        if not ranked.choices and self.goal.numbers:
            return replace(self, step=0)  # the goal holds in no world that was drawn
        step, every, count = self.step, len(self.goal.numbers), len(self.known)
        if step < 0:
            step = max(1, int(BOUNDS.more_known * count) if count else every // BOUNDS.first_known)
        least = 0 if self.known else ranked.enough
        new = [number for number in ranked.choices if number not in self.known]
        known = self.known.union(new[: max(step, least)])
        try:
            return Growing(self.goal, known, budget.compiled(self.goal, known, watch), self.step)
        except SizeLimit:
            return replace(self, step=step // 2 if step > least else 0)


ROUNDING = 1e-12  # the relative error of an evaluation

# The places of four goals: for a query and the complement of that, against it and its complement.
GoalPlaces = tuple[int, int, int, int]


class RelaxedBounds:
    """Bounds of queries from relaxed programs; no bounds for queries that are not determined."""

    def __init__(
        self,
        asked: Asked,
        budget: Budget = Budget(),  # noqa: B008 - frozen
        groundwork: Groundwork | None = None,
    ) -> None:
        self.asked, self.weights, self.budget = asked, asked.weights, budget
        self.growing: list[Growing] = []
        groundwork = groundwork or Groundwork(asked.ground, asked.meaning, asked.watch)
        part = determined_part(groundwork)
        self.places = [None if part is None else self._add(part, query) for query in asked.queries]
        self._ranked: dict[int, Ranked] = {}
        self._least = [0.0] * len(self.growing)
        self._at = [asked.weights] * len(self.growing)  # weights at which each has its minimum

    @property
    def applies(self) -> bool:
        """Whether the choices determine all queries and their evidence."""
        return None not in self.places

    def narrowed(self, bounds: Sequence[Bound]) -> list[Bound]:
        """Other bounds of the queries, intersected with those known here."""
        pairs = zip(bounds, self.places, strict=True)
        return [
            bound if places is None else self._narrowed(bound, places) for bound, places in pairs
        ]

    def close_in(self, wanted: float, watch: Watch) -> None:
        """Continue until no interval is wider than wanted, nothing helps, or a limit stops it."""
        known, nothing = [p for p in self.places if p is not None], unsure(self.asked.meaning)
        try:
            for _ in self.steps(watch):
                gap = widest([self._narrowed(nothing, places) for places in known])
                watch.stage(f"bounds, {gap:.2g} wide")
                if gap <= wanted:
                    return
        except LimitReached:
            return

    def steps(self, watch: Watch) -> Iterator[None]:
        """Let one goal after another grow; raises what the watch raises."""
        failed: set[int] = set()  # the goals that cannot grow within the present budget
        while todo := [n for n, growing in enumerate(self.growing) if not growing.whole]:
            for number in todo:
                if number not in failed and self._grow(number, watch):
                    yield
                elif not self.growing[number].whole:
                    failed.add(number)
            if failed.issuperset(todo):
                if self.budget.work >= BOUNDS.most_work:
                    return
                failed.clear()
                # The budget is doubled, and the goals that are stuck try again.
                old, self._ranked = self.budget, {}
                self.budget = Budget(2 * old.nodes, 2 * old.work, 2 * old.reasons)
                for number in todo:
                    if self.growing[number].stuck:
                        self.growing[number] = replace(self.growing[number], step=-1)

    def _grow(self, number: int, watch: Watch) -> bool:
        """Try to add choices to those known of a goal; returns whether that succeeded."""
        growing = self.growing[number]
        if number not in self._ranked:
            self._ranked[number] = important(
                growing.goal, self.weights, number, self.budget.reasons, watch
            )
        self.growing[number] = new = growing.grown(self._ranked[number], self.budget, watch)
        if new.circuit is growing.circuit:
            return False
        least, at = self._least_of(new, watch)
        if least >= self._least[number]:
            self._least[number], self._at[number] = least, at
        return True

    def _least_of(self, growing: Growing, watch: Watch) -> tuple[float, Weights]:
        """The minimum of the bound over all intervals, and the weights that attain it."""
        if not self.asked.has_intervals or growing.circuit is None:
            return growing.at_least(self.weights), self.weights
        question = GroundQuery((), (), "", None)  # a placeholder: the circuit has the goal as root
        asked = replace(self.asked.with_questions([question]), watch=watch)
        on_circuit = OnCircuit(growing.circuit, DETERMINED, (question,), asked.layout)
        (extreme,) = extremes(asked, on_circuit)
        at = self.weights if extreme.lower_at is None else extreme.lower_at
        return min(1.0, float(extreme.lower[0])), at

    def _narrowed(self, bound: Bound, places: GoalPlaces) -> Bound:
        interval = self._interval(places)
        if not self.asked.has_intervals:
            return bound.narrowed(interval)
        at_least, at_most = (self._interval(places, self._at[places[end]]) for end in (0, 2))
        return bound.narrowed((interval[0], at_least[1]), (at_most[0], interval[1]))

    def _interval(self, places: GoalPlaces, at: Weights | None = None) -> SureInterval:
        """The bounds of for / (for + against), under weights ``at`` or all within the intervals.

        They are attained with one of the two at its minimum and the other at its maximum.
        """
        held, fails, against, not_against = (
            self._least[place] if at is None else self.growing[place].at_least(at)
            for place in places
        )
        least = held * (1 - ROUNDING), against * (1 - ROUNDING)
        most = min(1.0, 1 - fails + ROUNDING), min(1.0, 1 - not_against + ROUNDING)
        return least[0] / (least[0] + most[1]), most[0] / (most[0] + least[1])

    def _add(self, part: DeterminedPart, query: GroundQuery) -> GoalPlaces | None:
        """Add the goals of a query; returns their places, or None if they are not determined."""
        both = part.conjunction((*query.evidence, *query.literals))
        given, asked = part.conjunction(query.evidence), part.conjunction(query.literals)
        if both is None or given is None or asked is None:
            return None
        first = len(self.growing)
        held = Growing(part.goal([both]))
        against = Growing(part.goal([(*given, -literal) for literal in asked]))
        if not given and not part.constraints:  # each goal is the complement of the other
            self.growing += held, against
            return (first, first + 1, first + 1, first)
        fails = part.complement([(-literal,) for literal in both])
        not_against = part.complement([asked, *((-literal,) for literal in given)])
        self.growing += held, Growing(fails), against, Growing(not_against)
        return (first, first + 1, first + 2, first + 3)
