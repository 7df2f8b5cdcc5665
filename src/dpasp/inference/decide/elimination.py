"""The best of many strategies if every utility depends on few decisions.

The expected value is then a sum of tables, each over the decisions that influence a utility. Read
as logarithms, these are the tables of a Markov network, and the best strategy is its most probable
state (:func:`dpasp.circuits.compiler.maxima`). How hard that is depends on how decisions share
utilities, not on how many decisions there are. A decision for one of several options is one
variable. If up to a given number of many atoms may be taken, there are more variables, which count
the atoms taken so far.

The instances of a decision with a body are its cases: ``treat(R)`` for each result ``R`` of a test.
If no two cases can hold together, what is done in one does not change what the others add. So a
utility that all of them influence is itself a sum of tables, one for each case: over that case and
the earlier decisions that it does not recall.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations, pairwise, product

import numpy as np
from clingo import Function
from numpy.typing import NDArray

from dpasp.circuits.compiler import maxima
from dpasp.dataclass import dataclass
from dpasp.errors import SizeLimit
from dpasp.ground.program import (
    Choice,
    FixedWeights,
    GroundLiteral,
    GroundProgram,
    GroundQuery,
    GroundTable,
)
from dpasp.inference.decide.strategies import (
    SAME,
    Best,
    Deciding,
    Group,
    Score,
    Strategy,
    better,
    led_by,
)
from dpasp.inference.tuning import DECIDING, EXACT
from dpasp.language.ast import Logic, Mode, Probability, Program
from dpasp.semantics.dependencies import Body, Exclusive
from dpasp.semantics.masses import Array, query_literals
from dpasp.semantics.meaning import Meaning
from dpasp.semantics.weighted import without_factors

LOGS = 300.0  # the largest logarithm of a product of factors, which is a double


@dataclass(frozen=True, slots=True)
class Variable:
    """Something to decide: its options, as the places in a strategy that are taken."""

    options: tuple[tuple[int, ...], ...]
    places: tuple[int, ...]


Table = tuple[Sequence[int], Array]  # variables, and a number for each of their options


@dataclass(frozen=True)
class Elimination:
    """The variables of a problem, and those of each decision whose atoms are counted."""

    deciding: Deciding
    variables: tuple[Variable, ...]
    counted: tuple[tuple[range, Group], ...]

    @classmethod
    def of(cls, deciding: Deciding) -> Elimination:
        """The variables: decisions with their options, or single atoms if there are many."""
        variables: list[Variable] = []
        counted = []
        for group in deciding.groups:
            free = group.least == 0 and group.most == len(group.places)
            if free or group.size > DECIDING.options:
                if not free:
                    numbers = range(len(variables), len(variables) + len(group.places))
                    counted.append((numbers, group))
                variables += (Variable(((), (place,)), (place,)) for place in group.places)
            else:
                variables.append(Variable(tuple(group.options()), group.places))
        return cls(deciding, tuple(variables), tuple(counted))

    def tables(self) -> list[Table] | None:
        """The utilities as tables over the variables that influence them; None if too large."""
        deciding = self.deciding
        owner = {place: i for i, v in enumerate(self.variables) for place in v.places}
        leads = led_by(deciding.ground, deciding.decided)
        larger: dict[frozenset[int], list[int]] = {}  # by scope: its questions, and of its subsets
        scopes = []
        for question in deciding.values.ground.questions:
            reached = 0
            for literal in query_literals(question):
                reached |= leads[literal.atom] if literal.atom else 0
            scopes.append(frozenset(v for place, v in owner.items() if reached >> place & 1))
        for number in sorted(range(1, len(scopes)), key=lambda i: -len(scopes[i])):
            mine = scopes[number]
            larger.setdefault(next((s for s in larger if mine <= s), mine), []).append(number)
        parts = [(*part, asked) for scope, asked in larger.items() for part in self._split(scope)]
        sizes = [math.prod(map(len, options.values())) for options, *_ in parts]
        nodes = float(deciding.evaluator.statistics.get("circuit_nodes", 1000))
        if sum(sizes) > DECIDING.tried or sum(sizes) * max(nodes, 100.0) > DECIDING.work:
            return None
        strategies = [
            self.strategy(dict(zip(options, chosen, strict=True)))
            for options, *_ in parts
            for chosen in product(*options.values())
        ]
        tried, places = np.unique(np.array(strategies), axis=0, return_inverse=True)
        gains = self._gains(tried)[:, places.ravel()]
        columns = np.split(gains, np.cumsum(sizes)[:-1], axis=1)
        return [
            self._table(options, lead, found[asked].sum(axis=0))
            for (options, lead, asked), found in zip(parts, columns, strict=True)
        ]

    def _gains(self, strategies: NDArray[np.bool_]) -> Array:
        """What each question adds [questions, strategies]; the first adds nothing."""
        deciding, found = self.deciding, []
        field = "qe" if deciding.values.meaning.maxent else "a"
        for start in range(0, len(strategies), EXACT.batch):
            columns = deciding.columns(strategies[start : start + EXACT.batch])
            found.append(getattr(deciding.evaluator.masses(columns, deciding.asked.watch), field))
        numbers = np.concatenate([[0.0], deciding.values.numbers])
        gains: Array = numbers[:, np.newaxis] * np.concatenate(found, axis=1)
        return gains

    def _table(self, options: dict[int, list[int]], lead: bool, found: Array) -> Table:
        """A table with the values that were found for some options of its variables, else 0.

        With ``lead``, its values are relative to those of the first variable's first option.
        """
        table = np.zeros([len(self.variables[v].options) for v in options])
        values = found.reshape([*map(len, options.values())])
        table[np.ix_(*options.values())] = values - values[:1] if lead else values
        return tuple(options), table

    def _split(self, scope: Iterable[int]) -> Iterator[tuple[dict[int, list[int]], bool]]:
        """Parts of a scope with the options that matter there; their tables add up to the whole.

        What a variable adds does not depend on variables that matter only where it does not. So
        each variable of that kind *leads* a table of its own, in which the earlier ones have their
        first option.
        """
        near = {v: set(scope) - {v} for v in scope}
        for v, w in combinations(near, 2) if len(near) <= DECIDING.cases else ():
            if self._exclusive.apart(self._needed[v], self._needed[w]):
                near[v].discard(w)
                near[w].discard(v)
        while near:
            v = min(near, key=lambda v: len(near[v]))
            if len(near[v]) == len(near) - 1:  # all of the others depend on each other
                break
            yield {w: self._matters(v, w) for w in (v, *sorted(near.pop(v)))}, True
            for others in near.values():
                others.discard(v)
        yield {v: list(range(len(self.variables[v].options))) for v in sorted(near)}, False

    @cached_property
    def _exclusive(self) -> Exclusive:
        return Exclusive(self.deciding.ground)

    @cached_property
    def _needed(self) -> list[set[Body]]:
        """For each variable, what must hold for it to matter."""
        decided = self.deciding.decided
        return [self._exclusive.needed(decided[p] for p in v.places) for v in self.variables]

    def _matters(self, variable: int, other: int) -> list[int]:
        """The options of another variable, or its own, with which a variable may matter."""
        options, ground = self.variables[other].options, self.deciding.ground
        told = []  # the places that must be taken for that
        for place in self.variables[other].places if other != variable else ():
            choice = ground.choices[self.deciding.decided[place]]
            (head,), (selector,) = choice.heads, choice.selectors
            if all(self._exclusive.tells(b, head, selector) for b in self._needed[variable]):
                told.append(place)
        return [i for i, option in enumerate(options) if all(place in option for place in told)]

    @cached_property
    def _first(self) -> Strategy:
        """The strategy of the first option of every variable."""
        strategy = np.zeros(len(self.deciding.decided), dtype=np.bool_)
        strategy[[place for variable in self.variables for place in variable.options[0]]] = True
        return strategy

    def strategy(self, chosen: dict[int, int]) -> Strategy:
        """The strategy with some options, and the first one of every other variable."""
        strategy = self._first.copy()
        for number, option in chosen.items():
            strategy[list(self.variables[number].places)] = False
            strategy[list(self.variables[number].options[option])] = True
        return strategy

    def run(self, tables: list[Table]) -> Strategy | None:
        """The strategy with the largest sum; of several, one with few atoms. None if too wide.

        If atoms are counted, a variable after each of them says how many are taken so far.
        """
        scale = sum((float(np.abs(table).max()) for _, table in tables), 1.0)
        unit = LOGS / scale
        few = SAME * LOGS / (4 * len(self.deciding.decided))  # makes fewer atoms win a tie
        factors: list[Table] = [(scope, np.exp(unit * table)) for scope, table in tables]
        sizes = [len(variable.options) for variable in self.variables]
        for numbers, group in self.counted:
            before, states = list[int](), 1
            for number in numbers:
                after = min(states, group.most) + 1
                counts = np.stack([np.eye(states, after, k) for k in (0, 1)], axis=1)
                factors.append(((*before, number, len(sizes)), counts))
                before, states = [len(sizes)], after
                sizes.append(after)
            factors.append((before, np.where(np.arange(states) < group.least, 0.0, 1.0)))
        ends = np.cumsum([1, *sizes]).tolist()
        values = [tuple(range(first, end)) for first, end in pairwise(ends)]
        ground = GroundProgram(
            Program(()),
            (None,) * ends[-1],
            (),
            tuple(Choice(0, (), v, v, FixedWeights((1 / len(v),) * len(v)), False) for v in values),
            questions=tuple(
                GroundQuery((GroundLiteral(Mode.TRUE, atom, Function("")),), (), "", None)
                for atom in range(1, ends[-1])
            ),
            tables=tuple(
                GroundTable(0, tuple(values[v] for v in scope), table.ravel())
                for scope, table in factors
                if scope
            ),
        )
        meaning = Meaning(Logic.STABLE, Probability.WEIGHTED)
        network = without_factors(ground, meaning)
        assert network is not None
        taken = [len(option) for variable in self.variables for option in variable.options]
        weights = np.ones(ends[-1] - 1)
        weights[: len(taken)] = np.exp(-few * np.array(taken))
        watch = self.deciding.asked.watch
        try:
            best = maxima(network, meaning, weights, 1, most=DECIDING.tables, watch=watch)
        except SizeLimit:
            return None
        assert best is not None
        holds = np.split(best.holds[0], np.array(ends[1:-1]) - 1)
        return self.strategy({v: int(holds[v].argmax()) for v in range(len(self.variables))})


def eliminated(deciding: Deciding, score: Score) -> Best | None:
    """The best strategy; None if tables would become too large.

    The value must be a sum of masses divided by a mass that no decision changes, and all atoms that
    decisions influence must be determined.
    """
    if len(deciding.decided) * len(deciding.ground.rules) > DECIDING.work / 20:
        return None
    problem = Elimination.of(deciding)
    tables = problem.tables()
    strategy = None if tables is None else problem.run(tables)
    if strategy is None:
        return None
    best = better(None, strategy[np.newaxis], deciding.worth(strategy[np.newaxis]), score)
    return best and replace(best, most=best.score, tried=1)
