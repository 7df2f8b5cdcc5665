"""Strategies, their values, and the best one.

A strategy takes some of the decided atoms and leaves the others. In the ground program, each
decided atom is a choice without a probability, so one circuit is evaluated for many strategies at
once. A few strategies are all tried; among many, there is a search
(:mod:`dpasp.inference.decide.search`).

If values are intervals, three criteria say which strategies to keep:

- interval dominance keeps a strategy if its upper value reaches every lower one;
- maximality keeps it unless another one is better whatever nature does;
- E-admissibility keeps it if it is the best one for something that nature may do.

Nature chooses probabilities within their intervals (mixtures of extreme ones) and, in every total
choice, a model. What no decision influences is the same for all strategies that are compared: so
models are compared if they agree on all atoms that no decision influences.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations, islice, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, ImpossibleEvidence, LimitReached, SizeLimit, UsageError
from dpasp.ground.program import Decided, GroundLiteral, GroundProgram, GroundUtility, Rule
from dpasp.ground.text import atom_names
from dpasp.inference.asked import Asked
from dpasp.inference.circuit import Evaluator
from dpasp.inference.decide.expected import (
    ExpectedValue,
    Values,
    evaluator_of,
    over_vertices,
    values,
)
from dpasp.inference.intervals import corners, vertex_weights
from dpasp.inference.tuning import DECIDING, EXACT
from dpasp.semantics import masses
from dpasp.semantics.leaves import Weights, leaf_count
from dpasp.semantics.masses import Array

Strategy = NDArray[np.bool_]  # by decided atom
Score = Callable[[ExpectedValue], Array]
SAME = 1e-9  # the relative difference below which values count as equal


def lower(value: ExpectedValue) -> Array:
    """The score of maximin, and under maxent the value itself."""
    return value.lower


def upper(value: ExpectedValue) -> Array:
    """The score of maximax."""
    return value.upper


class Group(NamedTuple):
    """An instance of a decision: its atoms, as places in a strategy, and how many are taken."""

    places: tuple[int, ...]
    least: int
    most: int

    @property
    def size(self) -> int:
        """How many options there are."""
        return sum(math.comb(len(self.places), n) for n in range(self.least, self.most + 1))

    def options(self) -> Iterator[tuple[int, ...]]:
        """The sets of places that can be taken, small ones first."""
        for taken in range(self.least, self.most + 1):
            yield from combinations(self.places, taken)


@dataclass(frozen=True, slots=True)
class Best:
    """The best strategy that was found; no strategy has a score above ``most``."""

    strategy: Strategy
    score: float
    most: float
    value: ExpectedValue  # of that strategy alone
    stopped: LimitReached | None = None
    tried: int = 0  # strategies, or parts of the search

    @property
    def exact(self) -> bool:
        """Whether no other strategy is better."""
        return self.most <= self.score + tolerance(self.score)


def tolerance(score: float) -> float:
    """The difference below which another score counts as equal."""
    return SAME * max(1.0, abs(score))


@dataclass(frozen=True)
class Deciding:
    """The decisions of a program, and the values of strategies under one row of weights."""

    asked: Asked
    terms: tuple[GroundUtility, ...]  # what is maximised
    evidence: tuple[GroundLiteral, ...]
    values: Values
    evaluator: Evaluator
    row: int = 0

    @classmethod
    def of(
        cls, asked: Asked, terms: tuple[GroundUtility, ...], evidence: tuple[GroundLiteral, ...]
    ) -> Deciding:
        """The decisions of a program that should maximise the terms, given the evidence."""
        wanted = values(asked.ground, asked.meaning, terms, evidence)
        return cls(asked, terms, evidence, wanted, evaluator_of(asked, wanted))

    def of_row(self, row: int) -> Deciding:
        """The same under another row of the weights."""
        return replace(self, row=row)

    @property
    def ground(self) -> GroundProgram:
        return self.asked.ground

    @property
    def is_goal(self) -> bool:
        """Whether a goal is maximised, not utilities: then as few atoms as possible are taken."""
        return self.terms != self.ground.utilities

    @cached_property
    def decided(self) -> list[int]:
        """The choices that are decided, in order."""
        return decided_choices(self.ground)

    @cached_property
    def groups(self) -> list[Group]:
        """The decisions, with their atoms as places in a strategy."""
        place = {choice: i for i, choice in enumerate(self.decided)}
        return [
            Group(
                tuple(place[choice] for choice in decision.choices), decision.least, decision.most
            )
            for decision in self.ground.decisions
        ]

    @cached_property
    def names(self) -> list[str]:
        """The names of the decided atoms."""
        return decided_names(self.ground)

    def named(self, strategy: Strategy) -> dict[str, bool]:
        """A strategy by the names of its atoms."""
        return dict(zip(self.names, map(bool, strategy), strict=True))

    @cached_property
    def count(self) -> int:
        """How many strategies there are."""
        return math.prod(group.size for group in self.groups)

    def strategies(self) -> Iterator[Strategy]:
        """All strategies, those that take fewer atoms of the last decisions first."""
        options = [list(group.options()) for group in self.groups]
        for chosen in product(*options):
            strategy = np.zeros(len(self.decided), dtype=np.bool_)
            strategy[[place for taken in chosen for place in taken]] = True
            yield strategy

    def columns(self, strategies: NDArray[np.bool_] | Array) -> Weights:
        """The weights [leaves, strategies] under strategies [strategies, decided atoms]."""
        weights = np.repeat(self.asked.columns[:, [self.row]], len(strategies), axis=1)
        taken = self.leaves
        weights[taken] = strategies.T
        weights[taken + 1] = 1.0 - strategies.T
        return weights

    @cached_property
    def leaves(self) -> NDArray[np.intp]:
        """For each decided atom, the leaf that says it is taken; the next one says it is not."""
        starts = self.asked.layout.starts
        return np.array([starts[choice] for choice in self.decided], dtype=np.intp)

    def worth(self, strategies: NDArray[np.bool_]) -> ExpectedValue:
        """The expected values of strategies [strategies, decided atoms]."""
        parts = [
            over_vertices(
                self.asked,
                self.evaluator,
                self.values,
                self.columns(strategies[start : start + EXACT.batch]),
                self.asked.watch,
            )
            for start in range(0, len(strategies), EXACT.batch)
        ]
        return ExpectedValue(*map(np.concatenate, zip(*parts, strict=True)))

    @property
    def few(self) -> bool:
        """Whether all strategies can be tried."""
        return self.at_most(DECIDING.tried)

    def at_most(self, most: int) -> bool:
        """Whether there are at most so many strategies, and trying them takes only seconds."""
        nodes = float(self.evaluator.statistics.get("circuit_nodes", 1000))
        return self.count <= most and self.count * max(nodes, 100.0) <= DECIDING.work

    def best(self, score: Score) -> Best:
        """The strategy with the best score; of several, one that takes the fewest atoms.

        Raises :class:`ImpossibleEvidence` if the evidence is impossible under all strategies.
        """
        if self.few:
            return self.best_of_all(score)
        from dpasp.inference.decide.search import searched

        return searched(self, score)

    def best_of_all(self, score: Score) -> Best:
        """The best strategy, by trying all of them."""
        best: Best | None = None
        every = self.strategies()
        while len(batch := np.array(list(islice(every, EXACT.batch)))):
            value = self.worth(batch)
            best = better(best, batch, value, score)
        if best is None:
            raise self.impossible()
        return replace(best, most=best.score, tried=self.count)

    def impossible(self) -> ImpossibleEvidence:
        """The error if the evidence is impossible under all strategies."""
        if not self.evidence:
            masses.check_consistent(np.zeros(1), np.ones(1))
        found = masses.impossible_evidence(self.evidence)
        return ImpossibleEvidence(replace(found, message=f"{found.message} under every strategy"))


def better(
    best: Best | None, strategies: NDArray[np.bool_], value: ExpectedValue, score: Score
) -> Best | None:
    """The better of the best so far and the best of some strategies."""
    scores = score(value)
    known = np.flatnonzero(~np.isnan(scores))
    if not len(known):
        return best
    top = float(scores[known].max())
    near = known[scores[known] >= top - tolerance(top)]
    first = int(near[np.argmin(strategies[near].sum(axis=1))])
    found = float(scores[first])
    if best is not None:
        close = tolerance(best.score)
        fewer = strategies[first].sum() < best.strategy.sum()
        if found < best.score - close or (found <= best.score + close and not fewer):
            return best
    alone = ExpectedValue(*(number[[first]] for number in value))
    return Best(strategies[first].copy(), found, math.inf, alone)


def decided_choices(ground: GroundProgram) -> list[int]:
    """The choices that are decided, in order."""
    return [i for i, c in enumerate(ground.choices) if isinstance(c.weight, Decided)]


def decided_names(ground: GroundProgram) -> list[str]:
    """A name for each decided atom; if atoms repeat, with what is known when it is decided."""
    names = atom_names(ground)
    plain = [names[ground.choices[i].heads[0]] for i in decided_choices(ground)]
    often = Counter(plain)
    if max(often.values(), default=0) < 2:
        return plain
    bodies = {rule.body[0]: rule.body[1:] for rule in reversed(ground.rules) if rule.body}
    labels = []
    for name, place in zip(plain, decided_choices(ground), strict=True):
        choice = ground.choices[place]
        body = bodies.get(choice.selectors[0], ())
        told = ", ".join(names[lit] if lit > 0 else f"not {names[-lit]}" for lit in body)
        labels.append(f"{name} if {told}" if often[name] > 1 and told else name)
    seen: Counter[str] = Counter()
    often = Counter(labels)
    for i, label in enumerate(labels):
        if often[label] > 1:
            seen[label] += 1
            labels[i] = f"{label} #{seen[label]}"
    return labels


def influenced(ground: GroundProgram, choices: Sequence[int]) -> NDArray[np.bool_]:
    """For each atom, whether rules lead from one of these choices to it."""
    return np.array([reached > 0 for reached in led_by(ground, choices)], dtype=np.bool_)


def led_by(ground: GroundProgram, choices: Sequence[int]) -> list[int]:
    """For each atom, from which of these choices rules lead to it: a bit for each."""
    reached = [0] * len(ground.symbols)
    for number, choice in enumerate(choices):
        for selector in ground.choices[choice].selectors:
            reached[selector] |= 1 << number
    waiting = deque(atom for atom, bits in enumerate(reached) if bits)
    by_atom: dict[int, list[Rule]] = {}
    for rule in ground.rules:
        for literal in rule.body:
            by_atom.setdefault(abs(literal), []).append(rule)
    while waiting:
        atom = waiting.popleft()
        for rule in by_atom.get(atom, ()):
            for head in rule.head:
                if reached[atom] & ~reached[head]:
                    reached[head] |= reached[atom]
                    waiting.append(head)
    return reached


# --- which strategies to keep if values are intervals --------------------------------------------

# The lowest and highest utility, by whether the evidence holds and by what no decision influences.
Situation = dict[tuple[object, ...], tuple[float, float]]


def undominated(deciding: Deciding, criterion: str) -> list[Strategy]:
    """The strategies that a criterion keeps, in order.

    Raises :class:`SizeLimit` if there are too many strategies or total choices to compare.
    """
    if deciding.count > DECIDING.listed:
        raise _too_many(f"{deciding.count:,} strategies")
    every = np.array(list(deciding.strategies()))
    if criterion == "interval dominance":
        value = deciding.worth(every)
        least = np.nanmax(value.lower)
        kept = value.upper >= least - tolerance(float(least))
        return list(every[kept])
    situations = _situations(deciding, every)
    chances = _chances(deciding, len(situations))
    if criterion == "maximality":
        return [s for i, s in enumerate(every) if not _dominated(i, situations, chances)]
    return [s for i, s in enumerate(every) if _admissible(i, situations, chances)]


def _too_many(what: str) -> SizeLimit:
    return SizeLimit(
        Diagnostic(
            "size-limit",
            f"{what} are too many to compare with each other",
            help="ask for maximin or maximax, or decide less at once",
        )
    )


def _total_choices(deciding: Deciding) -> list[tuple[int, ...]]:
    """The total choices, with -1 for decisions."""
    decided = set(deciding.decided)
    choices = deciding.ground.choices
    ranges = [(-1,) if i in decided else range(leaf_count(c)) for i, c in enumerate(choices)]
    count = int(np.prod([float(len(values)) for values in ranges]))
    if count * deciding.count > DECIDING.compared:
        raise _too_many(f"{count:,} total choices for each of {deciding.count:,} strategies")
    return list(product(*ranges))


def _chances(deciding: Deciding, count: int) -> Array:
    """The probabilities [vertices, total choices] at the vertices of the intervals."""
    asked = deciding.asked
    columns = asked.columns[:, [deciding.row]]
    batches = vertex_weights(corners(asked.ground), columns, EXACT.batch)
    weights = np.concatenate([batch[:, :, 0] for batch in batches], axis=1)
    choices = np.array(_total_choices(deciding), dtype=np.intp).reshape(count, -1)
    leaves = np.where(choices < 0, len(weights), choices + asked.layout.starts[:-1])
    chances: Array = np.append(weights, np.ones((1, weights.shape[1])), axis=0)[leaves].prod(axis=1)
    return chances.T


def _situations(deciding: Deciding, strategies: NDArray[np.bool_]) -> list[list[Situation]]:
    """For each total choice and strategy, its :data:`Situation`."""
    from dpasp.inference.sampling.draws import ModelSource, holds

    ground, evidence = deciding.ground, deciding.evidence
    reached = influenced(ground, deciding.decided)
    for literal in evidence:
        if reached[literal.atom]:
            raise UsageError(
                f"the evidence {literal} depends on what is decided: strategies cannot be compared",
                help="ask for maximin or maximax",
            )
    asked = replace(deciding.asked, ground=replace(ground, evidence=()))
    source = ModelSource(replace(asked, weights=asked.columns[:, deciding.row]))
    shared = [str(s) for i, s in enumerate(ground.symbols) if s is not None and not reached[i]]
    table = []
    for choice in _total_choices(deciding):
        row = []
        for strategy in strategies:
            asked.watch.check()
            whole = list(choice)
            for place, taken in zip(deciding.decided, strategy, strict=True):
                whole[place] = 0 if taken else 1
            found: Situation = {}
            for model in source.each(tuple(whole)):
                held = holds(model, evidence)
                key = (held, *(model.get(name, False) for name in shared))
                total = sum(t.value for t in deciding.terms if holds(model, t.literals))
                low, high = found.get(key, (total, total))
                found[key] = min(low, total), max(high, total)
            row.append(found)
        if len({bool(found) for found in row}) > 1:
            raise UsageError(
                "some strategies leave a total choice without a model: they cannot be compared",
                help="ask for maximin or maximax",
            )
        table.append(row)
    return table


def _dominated(index: int, situations: list[list[Situation]], chances: Array) -> bool:
    """Whether another strategy is better, given the evidence, whatever nature does."""
    for other in range(len(situations[0])):
        least = []
        for row in situations:
            its, mine = row[other], row[index]
            gaps = (
                its[key][0] - mine[key][1] - SAME if key[0] else 0.0 for key in its.keys() & mine
            )
            least.append(min(gaps, default=0.0))
        if other != index and float((chances @ np.array(least)).min()) >= -1e-13:
            return True
    return False


def _admissible(index: int, situations: list[list[Situation]], chances: Array) -> bool:
    """Whether a strategy is the best one for something that nature may do: a linear programme.

    The unknowns are the shares of the extreme distributions and, for each total choice, those of
    its situations, in proportion to the evidence. If a model depends on decisions, nature chooses
    the best one for this strategy, and the worst ones for others.
    """
    columns = [(n, key) for n, row in enumerate(situations) for key in sorted(row[index], key=str)]
    owners = np.array([number for number, _ in columns], dtype=np.intp)
    used = np.unique(owners)
    held = np.array([[float(bool(key[0])) for _, key in columns]])
    gains = np.zeros((len(situations[0]), len(columns)))
    for other, column in product(range(len(gains)), range(len(columns))):
        number, key = columns[column]
        mine, its = situations[number][index], situations[number][other]
        if other != index and key in its and key[0]:
            gains[other, column] = mine[key][1] - its[key][0]
    vertices, slack = len(chances), -np.eye(len(gains))  # gains are at least -SAME
    matrix = np.block(
        [
            [np.zeros((1, vertices)), held, np.zeros((1, len(gains)))],
            [-chances.T[used], used[:, np.newaxis] == owners, np.zeros((len(used), len(gains)))],
            [np.zeros((len(gains), vertices)), gains, slack],
        ]
    )
    sides = np.concatenate([[1.0], np.zeros(len(used)), np.full(len(gains), -SAME)])
    return _has_solution(matrix, sides)


def _has_solution(matrix: Array, side: Array) -> bool:
    """Whether matrix · x = side for some x ≥ 0: the first phase of the simplex method."""
    flip = np.where(side < 0, -1.0, 1.0)
    rows, width = matrix.shape
    table = np.hstack([matrix * flip[:, np.newaxis], np.eye(rows), (side * flip)[:, np.newaxis]])
    basis = list(range(width, width + rows))
    cost = -table.sum(axis=0)
    cost[width : width + rows] = 0.0
    while True:
        entering = np.flatnonzero(cost[:width] < -1e-10)
        if not len(entering):
            return bool(-cost[-1] <= 1e-8)
        column = int(entering[0])  # Bland's rule: no cycles
        positive = table[:, column] > 1e-10
        if not positive.any():
            return bool(-cost[-1] <= 1e-8)
        ratios = np.where(positive, table[:, -1] / np.where(positive, table[:, column], 1), np.inf)
        least = float(ratios.min())
        row = min(np.flatnonzero(ratios <= least + 1e-12), key=lambda r: basis[int(r)])
        table[row] /= table[row, column]
        for other in range(rows):
            if other != row and table[other, column]:
                table[other] -= table[other, column] * table[row]
        cost = cost - cost[column] * table[row]
        basis[row] = column
