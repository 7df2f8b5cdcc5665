"""The best of many strategies where every utility depends on few decisions.

Then the expected value is a sum of tables, each over the decisions that lead to a utility, and its
maximum is found decision by decision: the tables that a decision is in become one table of the
others that holds the maximum. How large that becomes depends on how decisions share utilities, not
on how many there are. A decision of which one option is taken is one variable with its options;
where up to a number of many atoms may be taken, every table also counts those taken so far.

The instances of a decision with a body are its cases: ``treat(R)`` for each result ``R`` of a test.
What is done in one does not change what the others add, if no two of them hold together. So a
utility that all of them lead to is a sum of tables again, one for each case: over that and the
earlier decisions that it does not recall.

>>> from dpasp.program import loads
>>> text = '''0.3::rain(1..20). #decision {hat(D) : D = 1..20} 18. #semantics maxent.
... #utility -1 : rain(D), not hat(D). #utility D/50 : not hat(D).'''
>>> best = loads(text).decide()
>>> round(best.value, 6), best.exact, best.strategy["hat(14)"], best.strategy["hat(16)"]
(0.3, True, True, False)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from dpasp.dataclass import dataclass
from dpasp.inference.decide.strategies import (
    SAME,
    Best,
    Deciding,
    Score,
    Strategy,
    better,
    led_by,
)
from dpasp.inference.tuning import DECIDING
from dpasp.semantics.dependencies import Body, Exclusive
from dpasp.semantics.masses import Array, query_literals


@dataclass(frozen=True, slots=True)
class Variable:
    """What is decided at once: its options, as places in a strategy that are taken."""

    options: tuple[tuple[int, ...], ...]
    places: tuple[int, ...]
    counted: bool = False  # whether it is one of many of which only so many may be taken

    def count(self, option: int) -> int:
        """How many atoms an option adds to those that are counted."""
        return len(self.options[option]) if self.counted else 0


@dataclass(frozen=True, slots=True)
class Maxima:
    """A table [options of each variable of its scope, atoms counted], and what it is made of."""

    scope: tuple[int, ...]
    table: Array
    variable: int = -1  # that was maximised, if any,
    parts: tuple[Maxima, ...] = ()  # over the sum of these

    def at(self, chosen: dict[int, int]) -> Array:
        """The row [atoms counted] at some options."""
        row: Array = self.table[tuple(chosen[variable] for variable in self.scope)]
        return row


@dataclass(frozen=True)
class Elimination:
    """The variables of a problem; at least and at most so many of those counted are taken."""

    deciding: Deciding
    variables: tuple[Variable, ...]
    least: int
    most: int

    @classmethod
    def of(cls, deciding: Deciding) -> Elimination | None:
        """The variables; None where several decisions would have to be counted."""
        variables: list[Variable] = []
        bounds: list[tuple[int, int]] = []
        for group in deciding.groups:
            free = group.least == 0 and group.most == len(group.places)
            if free or group.size > DECIDING.options:
                bounds += [] if free else [(group.least, group.most)]
                variables += (Variable(((), (p,)), (p,), not free) for p in group.places)
            else:
                variables.append(Variable(tuple(group.options()), group.places))
        if len(bounds) > 1:
            return None
        return cls(deciding, tuple(variables), *(bounds or [(0, 0)])[0])

    def tables(self) -> list[Maxima] | None:
        """What utilities add, as tables of the variables that lead to them; None if too large."""
        deciding = self.deciding
        owner = {place: i for i, v in enumerate(self.variables) for place in v.places}
        leads = led_by(deciding.ground, deciding.decided)
        larger: dict[frozenset[int], list[int]] = {}  # the questions of each scope and its subsets
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
        """What each question adds [questions, strategies]; the first says how much is possible."""
        deciding, found = self.deciding, []
        field = "qe" if deciding.values.meaning.maxent else "a"
        for start in range(0, len(strategies), DECIDING.batch):
            columns = deciding.columns(strategies[start : start + DECIDING.batch])
            found.append(getattr(deciding.evaluator.masses(columns, deciding.asked.watch), field))
        numbers = np.concatenate([[0.0], deciding.values.numbers])
        gains: Array = numbers[:, np.newaxis] * np.concatenate(found, axis=1)
        return gains

    def _table(self, options: dict[int, list[int]], lead: bool, found: Array) -> Maxima:
        """A table with what was found at some options of its variables, and 0 elsewhere.

        With ``lead``, it is what the first variable adds to that by its other options.
        """
        table = np.zeros([len(self.variables[v].options) for v in options] + [1])
        values = found.reshape([*map(len, options.values()), 1])
        table[np.ix_(*options.values(), [0])] = values - values[:1] if lead else values
        return Maxima(tuple(options), table)

    def _split(self, scope: Iterable[int]) -> Iterator[tuple[dict[int, list[int]], bool]]:
        """Parts of a scope with the options that matter there; their tables add up to the whole.

        What a variable adds does not change with those that matter only where it does not. So each
        that has such ones *leads* a table of its own, in which those before it have their first
        option.
        """
        near = {v: set(scope) - {v} for v in scope}
        for v, w in combinations(near, 2) if len(near) <= DECIDING.cases else ():
            if self._exclusive.apart(self._needed[v], self._needed[w]):
                near[v].discard(w)
                near[w].discard(v)
        while near:
            v = min(near, key=lambda v: len(near[v]))
            if len(near[v]) == len(near) - 1:  # so has every other one
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
        """By variable, what must hold for it to matter."""
        decided = self.deciding.decided
        return [self._exclusive.needed(decided[p] for p in v.places) for v in self.variables]

    def _matters(self, variable: int, other: int) -> list[int]:
        """The options of another variable, or of itself, with which a variable may matter."""
        options, ground = self.variables[other].options, self.deciding.ground
        told = []  # what it takes for granted
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
        """The strategy of some options, and of the first one of every other variable."""
        strategy = self._first.copy()
        for number, option in chosen.items():
            strategy[list(self.variables[number].places)] = False
            strategy[list(self.variables[number].options[option])] = True
        return strategy

    def run(self, tables: list[Maxima]) -> Strategy | None:
        """The strategy with the largest sum; of several, one with few atoms. None if too wide."""
        scale = sum((float(np.abs(table.table).max()) for table in tables), 1.0)
        small = SAME * scale / (4 * len(self.deciding.decided))  # decides between equal sums
        for number, decided in enumerate(self.variables):
            costs = [[-small * len(option)] for option in decided.options]
            tables.append(Maxima((number,), np.array(costs)))
        left = set(range(len(self.variables)))
        while left:
            self.deciding.asked.watch.check()
            around: dict[int, set[int]] = {v: set() for v in left}
            for table in tables:
                for v in table.scope:
                    around[v].update(table.scope)
            scopes = {v: tuple(sorted(others - {v})) for v, others in around.items()}
            sizes = {v: self._size(scope) for v, scope in scopes.items()}
            variable = min(sizes, key=lambda v: sizes[v])
            if sizes[variable] > DECIDING.table:
                return None
            left.remove(variable)
            inside = tuple(table for table in tables if variable in table.scope)
            tables = [table for table in tables if variable not in table.scope]
            tables.append(self._maximised(variable, inside, scopes[variable]))
        return self._traced(tuple(tables))

    def _size(self, scope: tuple[int, ...]) -> float:
        counts = min(self.most, 20) + 1
        return float(math.prod(len(self.variables[v].options) for v in scope)) * 2 * counts * counts

    def _maximised(
        self, variable: int, parts: tuple[Maxima, ...], scope: tuple[int, ...]
    ) -> Maxima:
        """The maximum over a variable of the sum of tables."""
        axes = (variable, *scope)
        total = np.zeros((1,) * (len(axes) + 1))
        for part in parts:
            places = sorted(range(len(part.scope)), key=lambda i: axes.index(part.scope[i]))
            table = part.table.transpose(*places, len(part.scope))
            shape = [len(self.variables[v].options) if v in part.scope else 1 for v in axes]
            total = self._sum(total, table.reshape(*shape, -1))
        options = self.variables[variable].options
        shifted = [
            self._sum(total[i], self._only(self.variables[variable].count(i)))
            for i in range(len(options))
        ]
        length = max(table.shape[-1] for table in shifted)
        best = np.full((*np.broadcast_shapes(*(t.shape[:-1] for t in shifted)), length), -np.inf)
        for table in shifted:
            np.maximum(best[..., : table.shape[-1]], table, out=best[..., : table.shape[-1]])
        return Maxima(scope, best, variable, parts)

    def _only(self, count: int) -> Array:
        """The row that allows one count only."""
        row = np.full(count + 1, -np.inf)
        row[count] = 0.0
        return row

    def _sum(self, one: Array, other: Array) -> Array:
        """The largest sums of two tables for every count of atoms in both together."""
        shape = np.broadcast_shapes(one.shape[:-1], other.shape[:-1])
        length = min(one.shape[-1] + other.shape[-1] - 1, self.most + 1)
        result = np.full((*shape, length), -np.inf)
        for i, j in product(range(one.shape[-1]), range(other.shape[-1])):
            if i + j < length:
                np.maximum(result[..., i + j], one[..., i] + other[..., j], out=result[..., i + j])
        return result

    def _traced(self, roots: tuple[Maxima, ...]) -> Strategy:
        """The strategy behind the maximum: what was maximised last is looked up first."""
        chosen: dict[int, int] = {}
        whole = self._rows([root.at(chosen) for root in roots])[-1]
        count = max(range(self.least, len(whole)), key=lambda k: whole[k])
        waiting = list(self._shared(roots, chosen, count))
        while waiting:
            made, count = waiting.pop()
            if made.variable < 0:
                continue
            variable = self.variables[made.variable]
            best, option = -math.inf, 0
            for i in range(len(variable.options)):
                row = self._rows([part.at({**chosen, made.variable: i}) for part in made.parts])[-1]
                rest = count - variable.count(i)
                if 0 <= rest < len(row) and row[rest] > best:
                    best, option = row[rest], i
            chosen[made.variable] = option
            waiting += self._shared(made.parts, chosen, count - variable.count(option))
        return self.strategy(chosen)

    def _rows(self, rows: Sequence[Array]) -> list[Array]:
        """The largest sums of the first rows, of the first two, and so on."""
        sums = [np.zeros(1)]
        for row in rows:
            sums.append(self._sum(sums[-1], row))
        return sums

    def _shared(
        self, parts: Sequence[Maxima], chosen: dict[int, int], count: int
    ) -> Iterator[tuple[Maxima, int]]:
        """The parts with how many of the counted atoms are taken in each."""
        rows = [part.at(chosen) for part in parts]
        sums = self._rows(rows)
        for number in range(len(parts) - 1, -1, -1):
            before, row = sums[number], rows[number]
            splits = (k for k in range(len(row)) if 0 <= count - k < len(before))
            mine = max(splits, key=lambda k: before[count - k] + row[k])
            yield parts[number], mine
            count -= mine


def eliminated(deciding: Deciding, score: Score) -> Best | None:
    """The best strategy; None where tables would become too large.

    The value must be a sum of masses over a mass that no decision changes, and what decisions lead
    to must be determined.
    """
    if len(deciding.decided) * len(deciding.ground.rules) > DECIDING.work / 20:
        return None
    problem = Elimination.of(deciding)
    tables = problem.tables() if problem is not None else None
    strategy = problem.run(tables) if problem is not None and tables is not None else None
    if strategy is None:
        return None
    best = better(None, strategy[np.newaxis], deciding.worth(strategy[np.newaxis]), score)
    return best and replace(best, most=best.score, tried=1)
