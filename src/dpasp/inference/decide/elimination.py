"""The best of many strategies where every utility depends on few decisions.

Then the expected value is a sum of tables, each over the decisions that lead to a utility, and its
maximum is found decision by decision: the tables that a decision is in become one table of the
others that holds the maximum. How large that becomes depends on how decisions share utilities, not
on how many there are. A decision of which one option is taken is one variable with its options;
where up to a number of many atoms may be taken, every table also counts those taken so far.

>>> from dpasp.program import loads
>>> text = '''0.3::rain(1..20). #decision {hat(D) : D = 1..20} 18. #semantics maxent.
... #utility -1 : rain(D), not hat(D). #utility D/50 : not hat(D).'''
>>> best = loads(text).decide()
>>> round(best.value, 6), best.exact, best.strategy["hat(14)"], best.strategy["hat(16)"]
(0.3, True, True, False)
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from dpasp.dataclass import dataclass
from dpasp.inference.decide.strategies import (
    SAME,
    Best,
    Deciding,
    Score,
    Strategy,
    better,
    influenced,
)
from dpasp.inference.tuning import DECIDING
from dpasp.semantics.masses import Array


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


@dataclass(frozen=True, slots=True)
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
        questions = deciding.values.ground.questions
        scopes: list[set[int]] = [set() for _ in questions]
        for place, choice in enumerate(deciding.decided):
            deciding.asked.watch.check()
            reached = influenced(deciding.ground, [choice])
            for scope, question in zip(scopes, questions, strict=True):
                if any(lit.atom and reached[lit.atom] for lit in getattr(question, "literals", ())):
                    scope.add(owner[place])
        larger: dict[frozenset[int], list[int]] = {}  # the questions of each scope and its subsets
        for number in sorted(range(1, len(scopes)), key=lambda i: -len(scopes[i])):
            mine = frozenset(scopes[number])
            larger.setdefault(next((s for s in larger if mine <= s), mine), []).append(number)
        sizes = [math.prod(len(self.variables[v].options) for v in scope) for scope in larger]
        nodes = float(deciding.evaluator.statistics.get("circuit_nodes", 1000))
        if sum(sizes) > DECIDING.tried or sum(sizes) * max(nodes, 100.0) > DECIDING.work:
            return None
        return [self._table(tuple(sorted(scope)), asked) for scope, asked in larger.items()]

    def _table(self, scope: tuple[int, ...], questions: list[int]) -> Maxima:
        """What some questions add at all options of the variables of a scope."""
        deciding = self.deciding
        options = [range(len(self.variables[v].options)) for v in scope]
        every = list(product(*options))
        strategies = np.array([self.strategy(dict(zip(scope, e, strict=True))) for e in every])
        field = "qe" if deciding.values.meaning.maxent else "a"
        numbers = deciding.values.numbers[[number - 1 for number in questions]]
        watch, found = deciding.asked.watch, []
        for start in range(0, len(every), DECIDING.batch):
            columns = deciding.columns(strategies[start : start + DECIDING.batch])
            masses = getattr(deciding.evaluator.masses(columns, watch), field)
            found.append(numbers @ masses[questions])
        return Maxima(scope, np.concatenate(found).reshape([len(o) for o in options] + [1]))

    def strategy(self, chosen: dict[int, int]) -> Strategy:
        """The strategy that takes some options, and nothing else."""
        strategy = np.zeros(len(self.deciding.decided), dtype=np.bool_)
        for variable, option in chosen.items():
            strategy[list(self.variables[variable].options[option])] = True
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
            scopes = {v: self._around(tables, v) for v in left}
            sizes = {v: self._size(scope) for v, scope in scopes.items()}
            variable = min(sizes, key=lambda v: sizes[v])
            if sizes[variable] > DECIDING.table:
                return None
            left.remove(variable)
            inside = tuple(table for table in tables if variable in table.scope)
            tables = [table for table in tables if variable not in table.scope]
            tables.append(self._maximised(variable, inside, scopes[variable]))
        return self._traced(tuple(tables))

    def _around(self, tables: Sequence[Maxima], variable: int) -> tuple[int, ...]:
        """The other variables of the tables that a variable is in."""
        inside = (table.scope for table in tables if variable in table.scope)
        return tuple(sorted({v for scope in inside for v in scope} - {variable}))

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
    return best and replace(best, most=best.score)
