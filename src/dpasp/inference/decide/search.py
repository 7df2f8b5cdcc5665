"""The best of many strategies, by branch and bound.

In an open part of the search, some atoms are taken, some are left, and the others are open; the
bound of the part holds for all decisions about these. The value is a sum of masses, each times a
number. How much an atom can add to a mass depends on how rules lead from decisions to the literals
of its question:

- not at all: the mass is constant;
- through rules with at most one such literal and without negation, as in reachability: the mass is
  *submodular* in the atoms taken, so that an atom adds at most what it adds to the smallest set of
  the part, and at least what it adds to the largest;
- without negation, or only through odd numbers of negations: the mass is largest (smallest) if all,
  or none, of the open atoms are taken;
- otherwise, all open decisions are taken both ways at once. That exceeds every strategy, as if one
  decided late, knowing everything.

The open part with the best bound is opened first. If a limit stops the search, the best strategy
found and the largest remaining bound are known. If the evidence depends on decisions, the value is
a ratio N / E, and a part is dropped if N - λE cannot be positive for the best value λ found.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations, islice

import numpy as np
from numpy.typing import NDArray

from dpasp.dataclass import dataclass
from dpasp.errors import LimitReached
from dpasp.ground.program import GroundLiteral, GroundProgram, Rule
from dpasp.inference.decide.elimination import eliminated
from dpasp.inference.decide.expected import over_vertices
from dpasp.inference.decide.strategies import (
    Best,
    Deciding,
    Group,
    Score,
    Strategy,
    better,
    influenced,
    lower,
    tolerance,
)
from dpasp.inference.intervals import corners, vertex_weights
from dpasp.inference.tuning import DECIDING, EXACT
from dpasp.language.ast import Mode
from dpasp.semantics.dependencies import determined
from dpasp.semantics.masses import FIELDS, Array, Masses, query_literals

CONSTANT, COVER, UNCOVER, RISING, FALLING, ANY = range(6)  # how a mass depends on decisions


@dataclass(frozen=True)
class Shape:
    """How atoms depend on decisions: which do, in which direction, and through which rules."""

    ground: GroundProgram
    choices: tuple[int, ...]

    @cached_property
    def reached(self) -> NDArray[np.bool_]:
        """For each atom, whether it depends on decisions."""
        return self._signs[0] | self._signs[1]

    @cached_property
    def steady(self) -> bool:
        """Whether all atoms are determined, and no constraint depends on decisions.

        Then the consistent total choices are the same for every strategy.
        """
        known = determined(self.ground.rules, len(self.ground.symbols))
        return bool(known.all()) and not any(
            any(self.reached[abs(literal)] for literal in rule.body)
            for rule in self.ground.rules
            if not rule.head
        )

    @cached_property
    def _signs(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """By atom, whether it depends on decisions through an even, an odd number of negations."""
        size = len(self.ground.symbols)
        # Each atom occurs twice here, the second time for an odd number.
        rules = [
            Rule(
                tuple(head + size * (odd != (lit < 0)) for head in rule.head),
                (abs(lit) + size * odd,),
            )
            for rule in self.ground.rules
            for lit in rule.body
            for odd in (False, True)
        ]
        twice = replace(self.ground, rules=tuple(rules), symbols=self.ground.symbols * 2)
        reached = influenced(twice, self.choices)
        return reached[:size], reached[size:]

    @cached_property
    def _linear(self) -> NDArray[np.bool_]:
        """For each atom, whether its rules have at most one literal that depends on decisions."""
        linear = ~self._signs[1]
        changed = True
        while changed:
            changed = False
            for rule in self.ground.rules:
                inner = [literal for literal in rule.body if self.reached[abs(literal)]]
                if not inner:
                    continue
                fits = len(inner) == 1 and inner[0] > 0 and linear[inner[0]]
                fits = fits and rule.weights is None and len(rule.head) == 1 and not rule.choice
                for head in rule.head if not fits else ():
                    changed |= bool(linear[head])
                    linear[head] = False
        return linear

    def of(self, literals: Sequence[GroundLiteral]) -> int:
        """How the mass of the total choices that satisfy these literals depends on decisions."""
        if not self.steady:
            return ANY
        inner = [literal for literal in literals if literal.atom and self.reached[literal.atom]]
        if not inner:
            return CONSTANT
        if any(literal.mode is Mode.UNDEFINED for literal in inner):
            return ANY
        if len(inner) == 1 and self._linear[inner[0].atom]:
            return COVER if inner[0].mode is Mode.TRUE else UNCOVER
        even, odd = self._signs
        rises = [(even if lit.mode is Mode.TRUE else odd)[lit.atom] for lit in inner]
        falls = [(odd if lit.mode is Mode.TRUE else even)[lit.atom] for lit in inner]
        if not any(falls):
            return RISING
        return ANY if any(rises) else FALLING


@dataclass(frozen=True, slots=True)
class Part:
    """An open part of the search: the atoms that are taken, and those that are open."""

    taken: Strategy
    open: Strategy

    @property
    def most(self) -> Strategy:
        """The largest set of the part."""
        return self.taken | self.open


@dataclass(frozen=True, slots=True)
class Looked:
    """A bound on a part, how much each decision lowers it, and promising strategies."""

    bound: float
    out: Array  # how much lower the bound is if an atom is left
    into: Array  # how much lower it is if an atom is taken
    guesses: NDArray[np.bool_]  # [guesses, decided atoms]


class Search:
    """Branch and bound for one score of one problem."""

    def __init__(self, deciding: Deciding, score: Score) -> None:
        self.deciding = deciding
        self.score = score
        values = deciding.values
        questions = values.ground.questions
        shape = Shape(values.ground, tuple(deciding.decided))
        self.steady = shape.steady
        self.kinds = np.array([shape.of((*query_literals(q), *q.evidence)) for q in questions])
        self.weighted = values.meaning.weighted  # decisions may influence the weights of models
        if self.weighted:
            self.kinds[:] = ANY
        steps = np.diff(values.levels)
        first = float(values.levels[0])
        self.numbers = np.concatenate([[first], values.numbers, steps])
        self.field = FIELDS.index("qe" if values.meaning.maxent else "a" if score is lower else "b")
        self.mass = FIELDS.index("e" if values.meaning.maxent else "b")

    @property
    def bounded(self) -> bool:
        """Whether the value is a ratio of sums of masses: not if the evidence is undetermined."""
        return self.deciding.values.together

    @property
    def separable(self) -> bool:
        """Whether the value is a sum of masses divided by a mass that no decision changes."""
        exact = self.deciding.evaluator.name != "sample"
        constant = (
            self.steady and self.kinds[0] == CONSTANT and len(self.deciding.values.levels) == 1
        )
        return exact and constant and self.bounded and not self.deciding.asked.has_intervals

    def look(self, part: Part, floor: float) -> Looked:
        """Bounds of N - floor · E over a part, and how decisions lower them."""
        if self.deciding.asked.has_intervals:
            return self._look_at_vertices(part, floor)
        base, full = part.taken.astype(float), part.most.astype(float)
        numbers = self.numbers.copy()
        numbers[0] -= floor  # the number of the evidence
        kinds = self.kinds
        sub = ((kinds == COVER) & (numbers > 0)) | ((kinds == UNCOVER) & (numbers < 0))
        sup = ((kinds == COVER) & (numbers < 0)) | ((kinds == UNCOVER) & (numbers > 0))
        plain = ~(sub | sup)
        at_base, slope_sub, slope_sup0 = self._at(base, numbers * sub, numbers * sup)
        at_full, slope_sub1, slope_sup = self._at(full, numbers * sub, numbers * sup)
        rest = self._rest(numbers * plain, at_base, at_full, part)
        gains = np.where(part.open, slope_sub + slope_sup, 0.0)
        up = float(((sub | sup) * numbers) @ at_base) + rest
        first = _chosen(self.deciding.groups, part, gains)
        bound1 = up + float(gains[first & part.open].sum())
        kept = np.where(part.open, slope_sub1 + slope_sup0, 0.0)
        down = float(((sub | sup) * numbers) @ at_full) + rest
        second = _chosen(self.deciding.groups, part, kept)
        bound2 = down - float(kept[part.open & ~second].sum())
        gains, first, bound = (gains, first, bound1) if bound1 <= bound2 else (kept, second, bound2)
        out, into = _losses(self.deciding.groups, part, gains, first)
        guesses = np.unique(np.array([first, second]), axis=0)
        return Looked(bound, out, into, guesses)

    def _look_at_vertices(self, part: Part, floor: float) -> Looked:
        """The same with intervals of probabilities: the bound at the decisive vertex."""
        deciding = self.deciding
        numbers = self.numbers.copy()
        numbers[0] -= floor
        bounds = []
        intervals = corners(deciding.asked.ground)
        for batch in vertex_weights(intervals, self._both_ways(part), EXACT.batch):
            found = self._field(deciding.evaluator.masses(batch[:, :, 0], deciding.asked.watch))
            bounds.append(numbers.clip(min=0) @ np.minimum(found, 1.0))
            if not part.open.any():
                bounds[-1] += numbers.clip(max=0) @ found
        extreme = np.min if self.score is lower else np.max
        nothing = np.zeros(len(deciding.decided))
        guess = _chosen(deciding.groups, part, nothing)
        return Looked(float(extreme(np.concatenate(bounds))), nothing, nothing, guess[np.newaxis])

    def _both_ways(self, part: Part) -> Array:
        """Weights [leaves, 1] with which all open decisions are taken both ways at once."""
        columns = self.deciding.columns(part.most[np.newaxis])
        columns[self.deciding.leaves + 1, 0] = ~part.taken
        return columns

    def candidate(self) -> Best | None:
        """A strategy under which the evidence is possible; None if there is none."""
        deciding = self.deciding
        nothing = np.zeros(len(deciding.decided), dtype=np.bool_)
        waiting = [Part(nothing, ~nothing)]
        while waiting:
            part = waiting.pop()
            asked, columns = deciding.asked, self._both_ways(part)
            found = over_vertices(asked, deciding.evaluator, deciding.values, columns, asked.watch)
            if found.possible[0] <= 0:
                continue
            if not part.open.any():
                if self._feasible(part.taken):
                    only = part.taken[np.newaxis]
                    return better(None, only, deciding.worth(only), self.score)
                continue
            place = int(np.argmax(part.open))
            halves = (_split(deciding.groups, part, place, taken) for taken in (True, False))
            waiting += [half for half in halves if half is not None]
        return None

    def _at(self, strategy: Array, sub: Array, sup: Array) -> tuple[Array, Array, Array]:
        """The masses at a strategy, and how much each decision adds to two sums of them."""
        deciding, leaves = self.deciding, self.deciding.leaves
        columns = deciding.columns(strategy[np.newaxis])
        watch = deciding.asked.watch
        circuit = deciding.evaluator.circuit
        slopes = []
        if circuit is not None:
            for numbers in (sub, sup):
                if not numbers.any():
                    slopes.append(np.zeros(len(leaves)))
                    continue
                seeds = np.zeros((len(numbers), len(FIELDS), 1))
                seeds[:, self.field, 0] = numbers
                _, slope = circuit.gradient(columns, seeds, watch=watch)
                slopes.append(slope[leaves, 0] - slope[leaves + 1, 0])
        else:
            flips = np.repeat(strategy[np.newaxis], 2 * len(leaves), axis=0)
            which = np.arange(len(leaves))
            flips[which, which], flips[len(leaves) + which, which] = 1.0, 0.0
            found = self._field(deciding.evaluator.masses(deciding.columns(flips), watch))
            change = found[:, : len(leaves)] - found[:, len(leaves) :]
            slopes = [sub @ change, sup @ change]
        masses = self._field(deciding.evaluator.masses(columns, watch))[:, 0]
        return masses, slopes[0], slopes[1]

    def _field(self, found: Masses) -> Array:
        if not self.deciding.values.meaning.maxent:
            found = self.deciding.values.completed(found)
        array: Array = getattr(found, FIELDS[self.field]).copy()
        array[0] = getattr(found, FIELDS[self.mass])[0]
        return array

    def _rest(self, numbers: Array, at_base: Array, at_full: Array, part: Part) -> float:
        """An upper bound on the sum of the other masses."""
        low, high = np.minimum(at_base, at_full), np.maximum(at_base, at_full)
        loose = (self.kinds == ANY) & (numbers != 0)
        if loose.any():
            deciding, columns = self.deciding, self._both_ways(part)
            found = self._field(deciding.evaluator.masses(columns, deciding.asked.watch))[:, 0]
            found = found if self.weighted else np.minimum(found, 1.0)
            low, high = np.where(loose, 0.0, low), np.where(loose, found, high)
        return float(numbers.clip(min=0) @ high + numbers.clip(max=0) @ low)

    def run(self) -> Best:
        """The best strategy; at a limit, the best one found, with a bound."""
        deciding = self.deciding
        best = self.first()
        nothing = np.zeros(len(deciding.decided), dtype=np.bool_)
        heap: list[tuple[float, int, Part]] = [(-math.inf, 0, Part(nothing, ~nothing))]
        count, stopped = 0, None
        try:
            while heap and len(heap) < DECIDING.held:
                bound, _, part = heap[0]
                if best is not None and -bound <= self._gain(best):
                    heap.clear()
                    break
                best, children = self._open(part, best)
                heapq.heappop(heap)
                for looked, child in children:
                    count += 1
                    heapq.heappush(heap, (-looked, count, child))
                if len(heap) > DECIDING.patience and deciding.at_most(DECIDING.tried_later):
                    return deciding.best_of_all(self.score)
        except LimitReached as limit:
            stopped = limit
        if best is None:
            if stopped is not None:
                raise stopped
            raise deciding.impossible()
        if stopped is None and self.deciding.is_goal:
            best = self.fewest(best)
        open_bound = max((-bound for bound, *_ in heap), default=0.0)
        most = best.score + max(0.0, open_bound) / self._least_evidence if heap else best.score
        return replace(best, most=min(most, self.largest()), stopped=stopped, tried=count)

    def _gain(self, best: Best) -> float:
        """How far above 0 N - λE must be if a strategy is better by more than rounding."""
        rounding = 1e-15 * float(np.abs(self.numbers).sum() + abs(best.score))
        return max(rounding, tolerance(best.score) * self._least_evidence)

    def _open(self, part: Part, best: Best | None) -> tuple[Best | None, list[tuple[float, Part]]]:
        """Search a part: returns the best strategy, and the parts that it is split into."""
        floor = best.score if best is not None else self.least()
        looked = self.look(part, floor)
        best = better(best, looked.guesses, self.deciding.worth(looked.guesses), self.score)
        gain = 0.0 if best is None else self._gain(best)
        if best is not None and looked.bound <= gain:
            return best, []
        part = _fixed(part, looked, gain if best is not None else -math.inf)
        if not part.open.any():
            only = part.taken[np.newaxis]
            if self._feasible(part.taken):
                best = better(best, only, self.deciding.worth(only), self.score)
            return best, []
        undecided = np.minimum(looked.out, looked.into) + 1e-12 * (looked.out + looked.into)
        place = int(np.argmax(np.where(part.open, undecided, -1.0)))
        children = []
        for is_taken in (True, False):
            child = _split(self.deciding.groups, part, place, is_taken)
            if child is not None:
                loss = looked.into[place] if is_taken else looked.out[place]
                children.append((looked.bound - max(0.0, float(loss)), child))
        return best, children

    def fewest(self, best: Best) -> Best:
        """Of the strategies that are as good as the best one, one that takes the fewest atoms.

        If there are too many to try, or at a limit, it may only be one from which no atom can be
        left out.
        """
        least = best.score - tolerance(best.score)
        try:
            fewer = self._climbed(best)
            if fewer.score >= least:
                best = replace(fewer, most=best.most, tried=best.tried)
            places, count = range(len(best.strategy)), 0
            for size in range(int(best.strategy.sum())):
                count += math.comb(len(places), size)
                if count > DECIDING.tried:
                    break
                every = combinations(places, size)
                while some := list(islice(every, EXACT.batch)):
                    tried = np.zeros((len(some), len(places)), dtype=np.bool_)
                    for row, taken in zip(tried, some, strict=True):
                        row[list(taken)] = True
                    tried = tried[[self._feasible(row) for row in tried]]
                    if not len(tried):
                        continue
                    found = better(None, tried, self.deciding.worth(tried), self.score)
                    if found is not None and found.score >= least:
                        return replace(found, most=best.most, tried=best.tried)
        except LimitReached:
            pass
        return best

    def _feasible(self, strategy: Strategy) -> bool:
        groups = self.deciding.groups
        return all(least <= strategy[list(places)].sum() <= most for places, least, most in groups)

    def first(self) -> Best | None:
        """A good strategy to start with: the smallest one, improved step by step."""
        strategy = np.zeros(len(self.deciding.decided), dtype=np.bool_)
        for places, least, _ in self.deciding.groups:
            strategy[list(places)[:least]] = True
        some = strategy[np.newaxis]
        best = better(None, some, self.deciding.worth(some), self.score) or self.candidate()
        return best and self._climbed(best)

    def _climbed(self, best: Best) -> Best:
        """A strategy that has no neighbour that is better, or as good with fewer atoms.

        At a limit, it is the best so far.
        """
        for _ in range(2 * len(best.strategy)):
            near = np.array(list(_neighbours(self.deciding.groups, best.strategy)))
            if not len(near):
                break
            try:
                found = better(best, near, self.deciding.worth(near), self.score)
            except LimitReached:
                break
            if found is None or found is best:
                break
            best = found
        return best

    @cached_property
    def _least_evidence(self) -> float:
        """A positive lower bound on the mass of the evidence under any strategy."""
        if self.kinds[0] == CONSTANT and not (
            self.deciding.evidence and self.deciding.asked.has_intervals
        ):
            best = np.zeros((1, len(self.deciding.decided)))
            found = self.deciding.evaluator.masses(self.deciding.columns(best))
            return max(float(getattr(found, FIELDS[self.mass])[0, 0]), 1e-300)
        return 1e-9

    def least(self) -> float:
        """A number that every strategy exceeds: less than the sum of all that is negative."""
        return float(np.clip(self.numbers[1:], None, 0).sum() + self.numbers[0]) - 1.0

    def largest(self) -> float:
        """A number that no strategy can exceed: the sum of all that is positive."""
        return float(np.clip(self.numbers[1:], 0, None).sum() + self.numbers[0])


def _neighbours(groups: Sequence[Group], strategy: Strategy) -> Iterator[Strategy]:
    """Strategies that differ in one atom, or in two of one decision."""
    for places, least, most in groups:
        taken = int(strategy[list(places)].sum())
        for place in places:
            changed = strategy.copy()
            changed[place] = not changed[place]
            if least <= taken + (1 if changed[place] else -1) <= most:
                yield changed
            elif changed[place]:
                for other in places:
                    if strategy[other]:
                        swapped = changed.copy()
                        swapped[other] = False
                        yield swapped


def _chosen(groups: Sequence[Group], part: Part, gains: Array) -> Strategy:
    """The strategy of a part with the largest sum of gains."""
    chosen = part.taken.copy()
    for places, least, most in groups:
        here = [place for place in places if part.open[place]]
        taken = sum(bool(part.taken[place]) for place in places)
        here.sort(key=lambda place: -gains[place])
        for number, place in enumerate(here):
            if taken + number >= most or (gains[place] <= 0 and taken + number >= least):
                break
            chosen[place] = True
    return chosen


def chosen_set(deciding: Deciding, gains: Array) -> Strategy:
    """The strategy with the largest sum of gains."""
    nothing = np.zeros(len(deciding.decided), dtype=np.bool_)
    return _chosen(deciding.groups, Part(nothing, ~nothing), gains)


def _losses(
    groups: Sequence[Group], part: Part, gains: Array, chosen: Strategy
) -> tuple[Array, Array]:
    """How much lower the largest sum of gains is if an atom is left, or taken."""
    out, into = np.zeros(len(gains)), np.zeros(len(gains))
    for places, least, most in groups:
        inside = [p for p in places if part.open[p] and chosen[p]]
        outside = [p for p in places if part.open[p] and not chosen[p]]
        count = sum(bool(chosen[place]) for place in places)
        best_out = max((gains[p] for p in outside), default=-math.inf)
        worst_in = min((gains[p] for p in inside), default=math.inf)
        for place in inside:
            forced = count <= least  # another must take its place
            other = best_out if forced else max(best_out, 0.0)
            out[place] = max(0.0, gains[place] - other)
        for place in outside:
            other = worst_in if count >= most else min(worst_in, 0.0) if count > least else 0.0
            into[place] = max(0.0, other - gains[place])
    return out, into


def _fixed(part: Part, looked: Looked, gain: float) -> Part:
    """The part in which decisions that cannot lead to a better strategy are ruled out."""
    if gain == -math.inf:
        return part
    left = part.open & (looked.bound - looked.into <= gain)
    taken = part.open & (looked.bound - looked.out <= gain) & ~left
    return Part(part.taken | taken, part.open & ~left & ~taken)


def _split(groups: Sequence[Group], part: Part, place: int, is_taken: bool) -> Part | None:
    """The part with an atom taken or left, and what follows from that; None if it is empty."""
    taken, still = part.taken.copy(), part.open.copy()
    taken[place], still[place] = is_taken, False
    for places, least, most in groups:
        here = list(places)
        if place not in here:
            continue
        count, free = int(taken[here].sum()), int(still[here].sum())
        if count > most or count + free < least:
            return None
        if count == most:
            still[here] = False
        elif count + free == least:
            taken[here] |= still[here]
            still[here] = False
    return Part(taken, still)


def searched(deciding: Deciding, score: Score) -> Best:
    """The best of many strategies: exact, or with a bound if a limit stops the search."""
    search = Search(deciding, score)
    if search.separable and (best := eliminated(deciding, score)) is not None:
        return best
    if search.bounded:
        return search.run()
    found = search.first()
    if found is None:
        raise deciding.impossible()
    return replace(found, most=search.largest())
