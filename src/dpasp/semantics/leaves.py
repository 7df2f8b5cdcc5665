"""Leaf weights: the probabilities of a ground program as one flat vector, and their names.

Every choice, in order, has one entry for each of its values and, if possible, one more for choosing
nothing. Engines evaluate any such vector, or a batch of them as the columns of a matrix; this
module lays them out, names them, and fills in the program's own numbers. A total choice is a
position among the leaves of each choice.

>>> from dpasp.language import parse
>>> from dpasp.ground import ground
>>> program = ground(parse("0.3::a. 0.2::b; 0.8::c."))
>>> layout(program.choices), weights(program).tolist()
(LeafLayout(starts=(0, 2, 4)), [0.3, 0.7, 0.2, 0.8])
>>> leaf_names(program)
['a', 'not a', 'b', 'c']
"""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Container, Iterator, Sequence
from itertools import accumulate, islice, pairwise

import numpy as np
from numpy.typing import NDArray

from dpasp.dataclass import dataclass
from dpasp.ground.program import (
    Choice,
    Decided,
    FixedWeights,
    FromNetwork,
    GroundProgram,
    IntervalWeights,
    Learned,
    Present,
    Rule,
)
from dpasp.language.statements.weights import rest

ROUNDING = 1e-12
Weights = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LeafLayout:
    """The places of leaves: those of choice i are ``starts[i]:starts[i + 1]``."""

    starts: tuple[int, ...]

    @property
    def size(self) -> int:
        """How many leaves there are."""
        return self.starts[-1]

    @property
    def total(self) -> int:
        """How many total choices there are."""
        return math.prod(end - start for start, end in pairwise(self.starts))

    def of(self, choice: int) -> slice:
        """The leaves of a choice, those of its values first."""
        return slice(self.starts[choice], self.starts[choice + 1])


def layout(choices: Sequence[Choice]) -> LeafLayout:
    return LeafLayout(tuple(accumulate(map(leaf_count, choices), initial=0)))


def leaf_count(choice: Choice) -> int:
    return len(choice.selectors) + choice.nothing


def weights(ground: GroundProgram) -> Weights:
    """The program's own weights: probabilities, initial parameters, middles of intervals.

    The outputs of networks are unknown here, so their leaves are NaN.
    """
    parts = [choice_weights(ground, choice) for choice in ground.choices]
    return np.concatenate(parts) if parts else np.empty(0)


def with_learned(ground: GroundProgram, learned: Sequence[Sequence[float]]) -> Weights:
    """The program's weights with learned values by parameter (None: the initial ones)."""
    known, places = weights(ground), layout(ground.choices)
    for index, choice in enumerate(ground.choices):
        if learned and isinstance(choice.weight, Learned):
            values = learned[choice.weight.parameter]
            known[places.of(index)] = leaf_distribution(values, choice.nothing)
    return known


def choice_weights(ground: GroundProgram, choice: Choice) -> Weights:
    match choice.weight:
        case FixedWeights(probabilities):
            return leaf_distribution(probabilities, choice.nothing)
        case Learned(parameter):
            return leaf_distribution(ground.parameters[parameter].initial, choice.nothing)
        case IntervalWeights(lower, upper):
            return middle(*leaf_bounds(lower, upper, choice.nothing))
        case FromNetwork():
            return np.full(leaf_count(choice), np.nan)
        case Present() | Decided():
            return np.array([0.0, 1.0])  # absent, or not decided, until set


def leaf_distribution(probabilities: Sequence[float], nothing: bool) -> Weights:
    """The distribution of a choice; the rest goes to "nothing", rounding errors are spread."""
    if nothing:
        return np.array([*probabilities, rest(probabilities)], dtype=np.float64)
    total = math.fsum(probabilities)
    return np.array(probabilities, dtype=np.float64) / (total if total > 0 else 1.0)


def leaf_bounds(
    lower: Sequence[float], upper: Sequence[float], nothing: bool
) -> tuple[Weights, Weights]:
    """The bounds of all leaves of a credal choice; "nothing" takes the rest."""
    low, high = list(lower), list(upper)
    if nothing:
        low.append(rest(upper))
        high.append(rest(lower))
    return np.array(low, dtype=np.float64), np.array(high, dtype=np.float64)


def ends(ground: GroundProgram, weights: Weights) -> tuple[Weights, Weights]:
    """The lowest and highest weight of each leaf by itself: its ``weights``, or an interval."""
    low, high = weights.copy(), weights.copy()
    places = layout(ground.choices)
    for i, choice in enumerate(ground.choices):
        if isinstance(choice.weight, IntervalWeights):
            leaves = places.of(i)
            least, most = leaf_bounds(choice.weight.lower, choice.weight.upper, choice.nothing)
            # A leaf can only have what the others leave.
            floor, ceiling = 1.0 - (most.sum() - most), 1.0 - (least.sum() - least)
            low[leaves] = np.where(floor > least + ROUNDING, floor, least)
            high[leaves] = np.where(ceiling < most - ROUNDING, np.maximum(ceiling, 0.0), most)
    return low, high


def middle(lower: Weights, upper: Weights) -> Weights:
    """A distribution between the bounds, with the same share of every interval."""
    room = float((upper - lower).sum())
    share = (1.0 - float(lower.sum())) / room if room > 0 else 0.0
    return lower + share * (upper - lower)


def extreme(lower: Weights, upper: Weights, most: bool) -> Weights:
    """A distribution between the bounds, giving each leaf in turn the ``most`` (or least) it can
    have.

    >>> low, high = np.array([0.2, 0.1, 0.0]), np.array([0.7, 0.4, 1.0])
    >>> extreme(low, high, most=True).round(3).tolist(), extreme(low, high, most=False).tolist()
    ([0.7, 0.3, 0.0], [0.2, 0.1, 0.7])
    """
    weights, room = lower.copy(), 1.0 - float(lower.sum())
    order = range(len(weights)) if most else range(len(weights) - 1, -1, -1)
    for leaf in order:
        step = max(0.0, min(room, float(upper[leaf] - lower[leaf])))
        weights[leaf] += step
        room -= step
    return weights


def possible_leaves(ground: GroundProgram) -> NDArray[np.bool_]:
    """Which leaves can have a positive weight."""
    known = weights(ground)
    leaves = layout(ground.choices)
    live = np.ones(leaves.size, dtype=np.bool_)
    for index, choice in enumerate(ground.choices):
        if isinstance(choice.weight, FixedWeights):
            live[leaves.of(index)] = known[leaves.of(index)] > 0
    return live


# --- names ---------------------------------------------------------------------------------------


Labels = list[list[str]]  # by choice and value


def leaf_names(ground: GroundProgram) -> list[str]:
    """A name for each leaf: that of the value, or one for no value."""
    names = []
    for choice, labels in zip(ground.choices, choice_labels(ground), strict=True):
        names += labels
        if choice.nothing:
            names.append(f"not {labels[0]}" if len(labels) == 1 else f"none of {', '.join(labels)}")
    return names


def choice_labels(ground: GroundProgram) -> Labels:
    """For every choice, the names of its values, all different.

    A value is named after the atom it derives. If its rule has a body or the atom has other rules,
    the name includes the line: ``b by line 3``. Substitutions, and then numbers, distinguish values
    that would still have the same name: ``b [X=1] by line 3``, ``a by line 1 #2``.
    """
    rules = _rules(ground)
    short: list[str] = []
    long: list[str] = []
    for choice in ground.choices:
        values = ", ".join(f"{name}={value}" for name, value in choice.substitution)
        where = f" [{values}]" if values and not choice.labels else ""
        for place, (head, selector) in enumerate(zip(choice.heads, choice.selectors, strict=True)):
            name, line = choice.labels[place] if choice.labels else str(ground.symbols[head]), ""
            if not choice.labels and rules[head] != [Rule((head,), (selector,))]:
                line = f" by line {ground.program.statements[choice.statement].span.line}"
            short.append(name + line)
            long.append(name + where + line)
    often = Counter(short)
    names = [other if often[name] > 1 else name for name, other in zip(short, long, strict=True)]
    often, seen = Counter(names), Counter[str]()
    for place, name in enumerate(names):
        if often[name] > 1:
            seen[name] += 1
            names[place] = f"{name} #{seen[name]}"
    left = iter(names)
    return [list(islice(left, len(choice.heads))) for choice in ground.choices]


def _rules(ground: GroundProgram) -> dict[int, list[Rule]]:
    """The rules of the atoms that choices derive, by atom."""
    heads = {head for choice in ground.choices for head in choice.heads}
    by_head: dict[int, list[Rule]] = defaultdict(list)
    for rule in ground.rules:
        for head in heads.intersection(rule.head):
            by_head[head].append(rule)
    return by_head


# --- total choices ------------------------------------------------------------------------------

TotalChoice = tuple[int, ...]
# (choice in order, rank of its value) for values that are not the best
Changes = tuple[tuple[int, int], ...]


def probability_of(choice: TotalChoice, weights: Weights, starts: Sequence[int]) -> float:
    """The probability of a total choice under weights [leaves]."""
    places = np.array(starts[:-1], dtype=np.intp) + np.array(choice, dtype=np.intp)
    return float(np.prod(weights[places]))


def log_probability_of(choice: TotalChoice, weights: Weights, starts: Sequence[int]) -> float:
    """The logarithm of its probability, which may itself be too small for a double."""
    places = np.array(starts[:-1], dtype=np.intp) + np.array(choice, dtype=np.intp)
    with np.errstate(divide="ignore"):
        return float(np.log(weights[places]).sum())


def distributions(weights: Weights, starts: Sequence[int]) -> list[Weights]:
    """The weights [leaves] choice by choice."""
    return [weights[start:end] for start, end in pairwise(starts)]


def certain(choices: Sequence[TotalChoice], starts: Sequence[int]) -> Weights:
    """Weights [leaves, total choices] with which each of the total choices is certain."""
    first = np.array(starts[:-1], dtype=np.int64)
    result = np.zeros((starts[-1], len(choices)))
    for column, choice in enumerate(choices):
        result[first + np.array(choice, dtype=np.int64), column] = 1.0
    return result


def selector_literals(
    ground: GroundProgram, choice: TotalChoice, possible: Container[int]
) -> list[int]:
    """A total choice as literals over the possible selectors, for a solver to assume."""
    return [
        selector if position == value else -selector
        for among, value in zip(ground.choices, choice, strict=True)
        for position, selector in enumerate(among.selectors)
        if selector in possible
    ]


def draw(
    generator: np.random.Generator, weights: Weights, starts: Sequence[int], n: int
) -> list[TotalChoice]:
    """``n`` independent total choices, each by its probability under weights [leaves]."""
    columns = [
        generator.choice(len(distribution), size=n, p=distribution / distribution.sum())
        for distribution in distributions(weights, starts)
    ]
    return list(zip(*(column.tolist() for column in columns), strict=True)) or [()] * n


def most_probable_first(weights: Weights, starts: Sequence[int]) -> Iterator[TotalChoice]:
    """The total choices of positive probability, the most probable first.

    The values of every choice are ranked; a total choice costs what its ranks lose against the
    best. With choices ordered by what the second value loses, each total choice has one parent of
    at most its cost, so a heap yields all of them in order.
    """
    ranked = [
        np.argsort(-distribution, kind="stable") for distribution in distributions(weights, starts)
    ]
    losses = [
        [
            float(np.log(distribution[order[0]]) - np.log(distribution[k]))
            for k in order
            if distribution[k] > 0
        ]
        for distribution, order in zip(distributions(weights, starts), ranked, strict=True)
    ]
    order = sorted(
        (i for i, lost in enumerate(losses) if len(lost) > 1), key=lambda i: losses[i][1]
    )
    sizes = [len(losses[i]) for i in order]
    best = [int(order_of[0]) for order_of in ranked]
    heap: list[tuple[float, Changes]] = [(0.0, ())]
    while heap:
        cost, changes = heapq.heappop(heap)
        values = best.copy()
        for place, rank in changes:
            values[order[place]] = int(ranked[order[place]][rank])
        yield tuple(values)
        for following in _following(changes, sizes):
            extra = sum(losses[order[place]][rank] for place, rank in following)
            heapq.heappush(heap, (max(cost, extra), following))


def _following(changes: Changes, sizes: Sequence[int]) -> Iterator[Changes]:
    """The children of a total choice; each has a single parent."""
    if not changes:
        if sizes:
            yield ((0, 1),)
        return
    *before, (place, rank) = changes
    if rank + 1 < sizes[place]:
        yield (*before, (place, rank + 1))
    if place + 1 < len(sizes):
        yield (*changes, (place + 1, 1))
        if rank == 1:
            yield (*before, (place + 1, 1))
