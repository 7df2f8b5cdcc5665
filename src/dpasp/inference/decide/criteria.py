"""Which strategies survive where values are intervals: three criteria, by definition.

- interval dominance leaves a strategy whose upper value reaches every lower one;
- maximality leaves one unless another is better whatever nature does;
- E-admissibility leaves one that is best for something that nature may do.

Nature chooses probabilities within their intervals (mixtures of extreme ones) and, in every total
choice, a model. What does not depend on decisions is the same for all strategies that are compared:
two models are compared if they agree on all atoms that no decision leads to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from dpasp.errors import Diagnostic, SizeLimit, UsageError
from dpasp.ground.program import GroundDecide, GroundLiteral, GroundUtility
from dpasp.inference.decide.search import influenced
from dpasp.inference.decide.strategies import SAME, Deciding, Strategy
from dpasp.inference.intervals.vertices import corners, vertex_weights
from dpasp.inference.sampling.draws import ModelSource
from dpasp.inference.tuning import DECIDING
from dpasp.language.ast import Mode
from dpasp.semantics.leaves import leaf_count
from dpasp.semantics.masses import Array

Situation = dict[tuple[object, ...], tuple[float, float]]  # ends of the utility, by what is shared


def undominated(
    deciding: Deciding,
    question: GroundDecide,
    terms: Sequence[GroundUtility],
    criterion: str,
) -> list[Strategy]:
    """The strategies that a criterion leaves, in order.

    Raises :class:`SizeLimit` where there are too many strategies or total choices to compare.
    """
    if deciding.count > DECIDING.listed:
        raise _too_many(f"{deciding.count:,} strategies")
    every = np.array(list(deciding.strategies()))
    if criterion == "interval dominance":
        value = deciding.worth(every)
        least = np.nanmax(value.lower)
        kept = value.upper >= least - SAME * max(1.0, abs(float(least)))
        return list(every[kept])
    situations = _situations(deciding, question, terms, every)
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
    """The total choices, with a gap (-1) for what is decided."""
    decided = set(deciding.decided)
    choices = deciding.ground.choices
    ranges = [(-1,) if i in decided else range(leaf_count(c)) for i, c in enumerate(choices)]
    count = int(np.prod([float(len(values)) for values in ranges]))
    if count * deciding.count > DECIDING.compared:
        raise _too_many(f"{count:,} total choices for each of {deciding.count:,} strategies")
    return list(product(*ranges))


def _chances(deciding: Deciding, count: int) -> Array:
    """The probabilities [vertices, total choices] at the extremes that intervals allow."""
    asked = deciding.asked
    columns = asked.columns[:, [deciding.row]]
    batches = vertex_weights(corners(asked.ground), columns, 256)
    weights = np.concatenate([batch[:, :, 0] for batch in batches], axis=1)
    result = np.ones((weights.shape[1], count))
    for number, choice in enumerate(_total_choices(deciding)):
        for value, start in zip(choice, asked.layout.starts, strict=False):
            if value >= 0:
                result[:, number] *= weights[start + value]
    return result


def _situations(
    deciding: Deciding,
    question: GroundDecide,
    terms: Sequence[GroundUtility],
    strategies: NDArray[np.bool_],
) -> list[list[Situation]]:
    """By total choice and strategy: the utility where the evidence holds, by what is shared."""
    ground = deciding.ground
    reached = influenced(ground, deciding.decided)
    for literal in question.evidence:
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
            for values in source.each(tuple(whole)):
                key = tuple(values.get(name, False) for name in shared)
                total = _utility(values, terms) if _holds(values, question.evidence) else 0.0
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


def _holds(values: Mapping[str, object], literals: Sequence[GroundLiteral]) -> bool:
    wanted: dict[Mode, object] = {Mode.TRUE: True, Mode.FALSE: False, Mode.UNDEFINED: "undef"}
    return all(values.get(str(lit.symbol), False) == wanted[lit.mode] for lit in literals)


def _utility(values: Mapping[str, object], terms: Sequence[GroundUtility]) -> float:
    return sum(term.value for term in terms if _holds(values, term.literals))


def _shared(one: Situation, other: Situation) -> Iterator[tuple[float, float, float, float]]:
    """The ends of both where they share what does not depend on decisions."""
    for key, (low, high) in one.items():
        if key in other:
            yield low, high, *other[key]


def _dominated(index: int, situations: list[list[Situation]], chances: Array) -> bool:
    """Whether another strategy is better whatever nature does."""
    for other in range(len(situations[0])):
        if other == index:
            continue
        least = [
            min((low - high for low, _, _, high in _shared(row[other], row[index])), default=0.0)
            for row in situations
        ]
        if float((chances @ np.array(least)).min()) > SAME:
            return True
    return False


def _admissible(index: int, situations: list[list[Situation]], chances: Array) -> bool:
    """Whether a strategy is best for something that nature may do: a linear programme.

    The unknowns are the shares of the extreme distributions and, by total choice, of its
    situations; where a model depends on decisions, nature is kind to this strategy alone.
    """
    vertices, count = chances.shape
    keys = [sorted(row[index], key=str) for row in situations]
    width = vertices + sum(map(len, keys))
    equations: list[Array] = []
    sides: list[float] = []
    one = np.zeros(width)
    one[:vertices] = 1.0
    equations.append(one)
    sides.append(1.0)
    starts = np.cumsum([vertices, *map(len, keys)])
    for number in range(count):
        if keys[number]:
            row = np.zeros(width)
            row[:vertices] = -chances[:, number]
            row[starts[number] : starts[number + 1]] = 1.0
            equations.append(row)
            sides.append(0.0)
    better = []
    for other in range(len(situations[0])):
        row = np.zeros(width)
        for number, some in enumerate(situations):
            for place, key in enumerate(keys[number]):
                if other != index and key in some[other]:
                    row[starts[number] + place] = some[index][key][1] - some[other][key][0]
        better.append(row)
    # at least -SAME for each other strategy: a slack unknown each
    slack = -np.eye(len(better))
    top = np.hstack([np.array(equations), np.zeros((len(equations), len(better)))])
    bottom = np.hstack([np.array(better), slack])
    return _has_solution(np.vstack([top, bottom]), np.array([*sides, *[-SAME] * len(better)]))


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
