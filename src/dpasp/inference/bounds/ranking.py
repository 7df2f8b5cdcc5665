"""Which choices to know first: those that most often make an event hold in random worlds.

In a world, the reason of an atom that holds is the reason of the rule that derived it first; the
reason of an atom that does not hold is, for each of its rules, that of a literal that fails.
Choices that are part of many reasons, and above all of short ones, are the ones to know first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from random import Random

import numpy as np
from numpy.typing import NDArray

from dpasp.circuits.worlds import Definitions, Worlds
from dpasp.dataclass import dataclass
from dpasp.ground.program import Rule
from dpasp.inference.bounds.relaxed import RelaxedGoal
from dpasp.limits import UNLIMITED, Watch
from dpasp.semantics.leaves import Weights, layout

MANY_REASONS = 500  # so many reasons are enough,
WORK = 400_000  # or fewer, if there are more rules than this to look at for them
BLOCKS = 4  # so many blocks of worlds are drawn, with choices made ever more even
EVEN = (0.0, 0.2, 0.5, 1.0)  # by these shares, until the goal holds in some world


@dataclass(frozen=True, slots=True)
class Ranked:
    """The choices that a goal depends on, in the order in which they are to be known.

    The first ``enough`` of them are a reason by themselves, the shortest that was seen; none if
    the goal was seen in no world.
    """

    choices: tuple[int, ...] = ()
    enough: int = 0


def important(
    goal: RelaxedGoal,
    weights: Weights,
    seed: int,
    reasons: int = MANY_REASONS,
    watch: Watch = UNLIMITED,
) -> Ranked:
    """A reason of the goal, and then the choices that are part of most reasons first.

    A reason of n choices counts 1/n for each.
    """
    walk = _Walk(goal, Random(seed))
    most = min(reasons, WORK // max(1, len(walk.rules)) + 10)
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
    first = shortest

    def place(number: int) -> tuple[bool, float, int]:
        return number not in first, -counts[number], number

    return Ranked(tuple(sorted(counts, key=place)), len(first))


def _worlds(
    goal: RelaxedGoal, weights: Weights, seed: int, watch: Watch
) -> Iterator[Sequence[bool]]:
    """Worlds in which the goal holds: by atom, what is true."""
    atoms = sorted({*goal.rules, *goal.selectors})
    definitions = Definitions(goal.rules, goal.ground.choices)
    worlds = Worlds(definitions, goal.size, atoms)
    place = atoms.index(goal.atom)
    for even in EVEN:
        drawn = worlds.draw(_evened(goal, weights, even), seed, 0, BLOCKS, watch).bits
        good = np.flatnonzero(drawn[place])
        for world in good[:MANY_REASONS].tolist():
            true: NDArray[np.bool_] = np.zeros(goal.size, dtype=np.bool_)
            true[atoms] = drawn[:, world]
            yield true.tolist()
        if len(good):
            return


def _evened(goal: RelaxedGoal, weights: Weights, share: float) -> Weights:
    """The weights with a share of an even distribution over the values that are possible."""
    mixed = weights.copy()
    for first, last in pairwise(layout(goal.ground.choices).starts):
        possible = (weights[first:last] > 0).astype(np.float64)
        even = possible / max(1.0, float(possible.sum()))
        mixed[first:last] = (1 - share) * weights[first:last] + share * even
    return mixed


class _Walk:
    """Finds reasons in one world after the other."""

    def __init__(self, goal: RelaxedGoal, random: Random) -> None:
        self.goal, self.random = goal, random
        self.rules = [(atom, rule) for atom, rules in goal.rules.items() for rule in rules]
        self.plain = [_plain(rule) for _, rule in self.rules]
        self.read: dict[int, list[int]] = {}  # by atom: the rules that have it as a condition
        for number, (_, rule) in enumerate(self.rules):
            for literal in rule.body:
                if literal > 0:
                    self.read.setdefault(literal, []).append(number)

    def reason(self, true: Sequence[bool]) -> set[int]:
        """The choices that are a reason for the goal in a world where it holds.

        Where several literals of a body fail, at random either one about a choice is preferred
        or one about another atom, so that reasons of different worlds differ.
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
                more = derived[atom]
            else:
                more = [
                    blocker
                    for rule in self.goal.rules.get(atom, ())
                    for blocker in self._blockers(rule, true, seen, near)
                ]
            for other in more:
                if other not in seen:
                    seen.add(other)
                    todo.append(other)
        return choices

    def _derived(self, true: Sequence[bool]) -> dict[int, list[int]]:
        """By atom that holds: the atoms of the body by which it was first derived.

        As in unit propagation: ``left`` counts down what each body still lacks.
        """
        left = [
            _missing(rule, true) if plain is None else plain
            for (_, rule), plain in zip(self.rules, self.plain, strict=True)
        ]
        reasons: dict[int, list[int]] = {}
        todo = deque(s for s in self.goal.selectors if true[s])
        done = set(todo)

        def derive(number: int) -> None:
            atom, rule = self.rules[number]
            if atom not in done:
                done.add(atom)
                reasons[atom] = _sufficient(rule, true, done)
                todo.append(atom)

        for number, missing in enumerate(left):
            if missing <= 0:
                derive(number)
        while todo:
            atom = todo.popleft()
            for number in self.read.get(atom, ()):
                rule = self.rules[number][1]
                left[number] -= 1 if rule.weights is None else _weight(rule, atom)
                if left[number] <= 0:
                    derive(number)
        return reasons

    def _blockers(
        self, rule: Rule, true: Sequence[bool], seen: set[int], near: bool
    ) -> Iterator[int]:
        """Atoms that are enough for the body of a rule to fail, those already seen first."""
        failing = [abs(b) for b in rule.body if true[abs(b)] != (b > 0)]
        selectors = self.goal.selectors

        def cost(atom: int) -> tuple[bool, bool, float]:
            return atom not in seen, (atom in selectors) != near, self.random.random()

        failing.sort(key=cost)
        if rule.weights is None:
            yield failing[0]
            return
        room = sum(rule.weights) - rule.bound
        for atom in failing:
            yield atom
            room -= _weight(rule, atom)
            if room < 0:
                return


def _plain(rule: Rule) -> int | None:
    """How many atoms the body of a rule without negation and weights has; else None."""
    if rule.weights is not None or any(b < 0 for b in rule.body):
        return None
    return len(rule.body)


def _missing(rule: Rule, true: Sequence[bool]) -> float:
    """How much a body lacks before any atom is derived; infinite if it does not hold."""
    if rule.weights is None:
        if any(b < 0 and true[-b] for b in rule.body):
            return float("inf")
        return sum(b > 0 for b in rule.body)
    pairs = zip(rule.body, rule.weights, strict=True)
    return rule.bound - sum(weight for b, weight in pairs if b < 0 and not true[-b])


def _weight(rule: Rule, atom: int) -> int:
    """What an atom weighs in the body of a rule with weights."""
    pairs = zip(rule.body, rule.weights or (), strict=True)
    return sum(weight for literal, weight in pairs if abs(literal) == atom)


def _sufficient(rule: Rule, true: Sequence[bool], done: set[int]) -> list[int]:
    """Atoms of a body that make it hold, of those that are derived."""
    if rule.weights is None:
        return [abs(b) for b in rule.body]
    pairs = sorted(zip(rule.weights, rule.body, strict=True), reverse=True)
    holding = [(w, abs(b)) for w, b in pairs if (b in done if b > 0 else not true[-b])]
    chosen, total = [], 0
    for weight, atom in holding:
        if total >= rule.bound:
            break
        chosen.append(atom)
        total += weight
    return chosen
