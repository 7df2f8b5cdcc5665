"""Intervals of probabilities: the extremes of an answer over all distributions they allow.

The answer to a query is linear-fractional in each single probability, so its extremes are at
vertices. If there are only few vertices, all are evaluated.

Otherwise, some credal choices may be interchangeable in a question: swapping two of them changes no
mass, whatever the probabilities. Then only few vertices may differ. This is an identity of
polynomials, which is tested at random points of a finite field, without rounding; different
polynomials pass the test with a probability of about 10^-15. Equal fixed probabilities are the same
random number. (Given that 8 of 16 exchangeable facts hold, the extremes of one of them take 0.04 s
this way, and 5.7 s by search; with 20 facts, the search is not finished after 20 s.) In all other
cases, branch and bound searches for the extremes (``boxes``).

>>> [[round(p, 9) for p in vertex] for vertex in vertices((0.1, 0.2), (0.3, 0.9))]
[[0.1, 0.9], [0.3, 0.7]]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial, reduce
from itertools import chain, combinations_with_replacement, product

import numpy as np
from numpy.typing import NDArray

from dpasp.circuits import Circuit
from dpasp.circuits.layers import Layer, Layers, LeafValues, Numbers, same_in_columns, sweep
from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, SizeLimit
from dpasp.ground.program import GroundProgram, GroundQuery, IntervalWeights
from dpasp.inference.asked import Asked
from dpasp.inference.boxes import (
    MASSES,
    BoundGoal,
    Extreme,
    OpenBox,
    Relaxation,
    Score,
    Search,
    relaxation,
)
from dpasp.inference.circuit import (
    LOG_TINY,
    TINY,
    Evaluator,
    Extremes,
    answer_masses,
    log_ratio,
    too_improbable,
)
from dpasp.inference.tuning import EXACT
from dpasp.language.statements.weights import rest
from dpasp.limits import Watch
from dpasp.semantics import masses
from dpasp.semantics.leaves import LeafLayout, Weights, layout
from dpasp.semantics.masses import FIELDS, Array, Masses
from dpasp.semantics.meaning import Meaning


def vertices(lower: Sequence[float], upper: Sequence[float]) -> list[tuple[float, ...]]:
    """The vertices of {p : lower ≤ p ≤ upper, Σ p = 1}, where all but one number are at a bound.

    The numbers are taken as their shortest decimals, and compared exactly: an interval may be as
    narrow as [0, 1e-300].
    """
    from fractions import Fraction

    slack = Fraction(1, 10**15)  # the bounds may have been rounded
    low, high = ([Fraction(repr(float(p))) for p in bound] for bound in (lower, upper))
    distinct = set()
    for free in range(len(low)):
        others = [i for i in range(len(low)) if i != free]
        for ends in product(*(sorted({low[i], high[i]}) for i in others)):
            left = 1 - sum(ends, Fraction(0))
            if low[free] - slack <= left <= high[free] + slack:
                vertex = list(ends)
                vertex.insert(free, min(max(left, low[free]), high[free]))
                distinct.add(tuple(map(float, vertex)))
    return sorted(distinct)


@dataclass(frozen=True, slots=True)
class Corners:
    """The extreme distributions of a credal choice."""

    choice: int
    leaves: slice
    points: Weights  # [vertices, leaves of the choice]


def corners(ground: GroundProgram) -> list[Corners]:
    """The extreme distributions of every credal choice."""
    leaves = layout(ground.choices)
    every = []
    for i, choice in enumerate(ground.choices):
        if isinstance(choice.weight, IntervalWeights):
            lower, upper = choice.weight.lower, choice.weight.upper
            points: list[tuple[float, ...]]
            if choice.nothing:  # a single head: its probability, and the rest for "nothing"
                points = [(p, rest((p,))) for p in sorted({lower[0], upper[0]})]
            else:
                points = vertices(lower, upper)
            every.append(Corners(i, leaves.of(i), np.array(points)))
    return every


def vertex_weights(intervals: Sequence[Corners], weights: Weights, most: int) -> Iterator[Weights]:
    """The weights [leaves, rows] at all vertices, as batches [leaves, vertices, rows].

    A batch has about ``most`` weight vectors. Without credal choices there is one
    vertex: the weights themselves. Raises :class:`SizeLimit` if there are too many vertices.
    """
    total = math.prod(len(corner.points) for corner in intervals)
    if total > EXACT.vertices:
        message = (
            f"{len(intervals)} credal choices have {total:,} extreme distributions: too many to try"
        )
        help = "make some of the intervals single probabilities"
        raise SizeLimit(Diagnostic("size-limit", message, help=help))
    step = max(1, most // max(1, weights.shape[1]))
    for start in range(0, total, step):
        batch = np.arange(start, min(start + step, total))
        picked = []
        for corner in intervals:  # one digit of the vertex's number belongs to each credal choice
            batch, pick = np.divmod(batch, len(corner.points))
            picked.append(pick)
        yield _at_corners(intervals, picked, weights, len(pick) if intervals else 1)


def _at_corners(
    corners: Iterable[Corners], picked: Iterable[NDArray[np.intp]], weights: Weights, count: int
) -> Weights:
    """The weights [leaves, rows] as [leaves, vertices, rows], at corners given by number."""
    result = np.repeat(weights[:, np.newaxis, :], count, axis=1)
    for corner, pick in zip(corners, picked, strict=True):
        result[corner.leaves] = corner.points[pick].T[:, :, np.newaxis]
    return result


def over_intervals(asked: Asked, evaluator: Evaluator) -> list[Extremes]:
    """The numbers of every question: few vertices are all evaluated, many are searched."""
    intervals = corners(asked.ground)
    if math.prod(len(corner.points) for corner in intervals) > EXACT.few_vertices:
        found = searched_extremes(asked, evaluator, intervals, EXACT.few_vertices)
        if found is not None:
            return found
    return over_vertices(asked, evaluator, asked.columns, intervals)


def over_vertices(
    asked: Asked, evaluator: Evaluator, weights: Weights, intervals: Sequence[Corners]
) -> list[Extremes]:
    """The numbers of every question under weights [leaves, rows], over all vertices."""
    numbers: list[Extremes] = []
    for batch in vertex_weights(intervals, weights, EXACT.batch):
        new = over_batch(asked, evaluator, batch, range(len(asked.questions)), asked.watch)
        numbers = [a.joined(b) for a, b in zip(numbers, new, strict=True)] if numbers else new
    return numbers


def over_batch(
    asked: Asked, evaluator: Evaluator, batch: Weights, questions: Sequence[int], watch: Watch
) -> list[Extremes]:
    """The numbers of some questions over some vertices, which are [leaves, vertices, rows]."""
    shape = batch.shape[1:]
    vectors = batch.reshape(len(batch), shape[0] * shape[1])
    found, logs = answer_masses(asked, evaluator, vectors, watch)
    return [
        _over_vertices(found[i], asked.meaning, batch, logs and (logs[0][i], logs[1][i]))
        for i in questions
    ]


def _over_vertices(
    flat: Masses,
    meaning: Meaning,
    batch: Weights,
    logs: tuple[Array, Array] | None,
) -> Extremes:
    """The extremes over the vertices with the evidence; ``logs`` (base 10) if doubles underflow."""
    shape = batch.shape[1:]
    flat = Masses(*(getattr(flat, name).reshape(shape) for name in Masses.__slots__))
    lower, upper = masses.lower_upper(flat, meaning)
    low, high = (lower, upper) if logs is None else (log.reshape(shape) for log in logs)
    lower_at = upper_at = None
    if batch.shape[2] == 1:
        lower_at, upper_at = (_attaining(batch, values[:, 0]) for values in (low, -high))
    return Extremes(
        np.fmax.reduce(flat.consistent, axis=0),
        np.fmax.reduce(flat.inconsistent, axis=0),
        np.fmax.reduce(masses.evidence_mass(flat, meaning), axis=0),
        np.fmin.reduce(lower, axis=0),
        np.fmax.reduce(upper, axis=0),
        np.zeros(shape[1]),
        lower_at,
        upper_at,
        logs=None if logs is None else (np.fmin.reduce(low, axis=0), np.fmax.reduce(high, axis=0)),
    )


def _attaining(batch: Weights, values: Array) -> Weights | None:
    """The weights of the vertex with the smallest value, if any has one."""
    known = np.where(np.isnan(values), np.inf, values)
    best = int(np.argmin(known))
    return batch[:, best, 0].copy() if known[best] < np.inf else None


# --- interchangeable choices ----------------------------------------------------------------------


PRIME = np.uint64(2**31 - 1)
SEED = 20
# Channels that multiply over products and together determine the masses a, b, c and d.
CHANNELS = (
    "consistent",
    "a",
    "b",
    "some e",
    "every e is qe",
    "every is e",
    "every is e, some qe",
)


Field = NDArray[np.uint64]  # numbers below PRIME
Class = list[int]  # interchangeable credal choices, by position among the corners


def symmetric_choices(
    circuit: Circuit,
    question: int,
    weights: Weights,
    layout: LeafLayout,
    corners: Sequence[Corners],
) -> list[Class]:
    """The credal choices in classes that are interchangeable in the question.

    If the circuit is too large for this, every choice is a class of its own. A single evaluation
    for a whole group separates most choices cheaply; the remaining candidates are then tested.
    """
    layers, values = circuit.below(question), circuit.values
    random = np.random.default_rng(SEED)
    if len(layers) * len(corners) > EXACT.symmetry_numbers:
        return [[position] for position in range(len(corners))]
    groups: dict[bytes, Class] = {}
    for position, corner in enumerate(corners):
        groups.setdefault(corner.points.tobytes(), []).append(position)
    classes = []
    for group in groups.values():
        point = _point(random, weights, layout, corners)
        for position in group[1:]:  # in each column, one shall differ from all others
            point[corners[position].leaves] = point[corners[group[-1]].leaves]
        roots = _root_values(layers, values, _swaps(point, group, corners))
        similar: dict[bytes, Class] = {}
        for column, position in enumerate(group):
            similar.setdefault(roots[:, column].tobytes(), []).append(position)
        for left in similar.values():
            while left:  # those that can be swapped with the first of them are a class
                points = [_point(random, weights, layout, corners) for _ in range(2)]
                swapped = [_swaps(point, left, corners) for point in points]
                at_swaps = np.concatenate([_root_values(layers, values, swap) for swap in swapped])
                same = np.all(at_swaps == at_swaps[:, :1], axis=0)
                classes.append([left[k] for k in np.flatnonzero(same)])
                left = [left[k] for k in np.flatnonzero(~same)]
    return classes


def count_vertices(classes: Sequence[Class], corners: Sequence[Corners]) -> int:
    """How many vertices differ if only the number of each corner in a class matters."""
    sizes = [(len(members), len(corners[members[0]].points)) for members in classes]
    return math.prod(math.comb(n + size - 1, size - 1) for n, size in sizes)


def different_vertices(
    classes: Sequence[Class], corners: Sequence[Corners], weights: Weights, most: int
) -> Iterator[Weights]:
    """The weights [leaves] at all vertices that differ, in batches [leaves, vertices, 1]."""
    multisets = [
        combinations_with_replacement(range(len(corners[members[0]].points)), len(members))
        for members in classes
    ]
    order = [corners[position] for members in classes for position in members]
    picks = np.array([[*chain.from_iterable(pick)] for pick in product(*multisets)], dtype=np.intp)
    for start in range(0, len(picks), most):
        some = picks[start : start + most]
        yield _at_corners(order, some.T, weights[:, np.newaxis], len(some))


def _point(
    random: np.random.Generator, weights: Weights, layout: LeafLayout, corners: Sequence[Corners]
) -> Field:
    """Random weights [leaves]; those of each choice sum to 1, as probabilities do."""
    distinct, which = np.unique(weights, return_inverse=True)
    values = random.integers(2, PRIME, len(distinct), dtype=np.uint64)
    for known in (0, 1):
        values[distinct == known] = known
    result: Field = values[which.reshape(-1)]
    for corner in corners:
        size = corner.leaves.stop - corner.leaves.start
        result[corner.leaves] = random.integers(2, PRIME, size, dtype=np.uint64)
    for choice in range(len(layout.starts) - 1):
        leaves = layout.of(choice)
        others = result[leaves.start : leaves.stop - 1].sum() % PRIME
        result[leaves.stop - 1] = (PRIME + np.uint64(1) - others) % PRIME
    return result


def _swaps(point: Field, some: Class, corners: Sequence[Corners]) -> Field:
    """A column for each choice, in which it is swapped with the first of them."""
    columns = np.repeat(point[:, np.newaxis], len(some), axis=1)
    first = corners[some[0]].leaves
    for column, position in enumerate(some):
        other = corners[position].leaves
        columns[first, column], columns[other, column] = point[other], point[first]
    return columns


def _root_values(layers: Layers, values: LeafValues, weights: Field) -> Field:
    """The values [channels, columns] of the root under weights [leaves, columns]."""
    wide = np.concatenate([weights, np.ones((1, weights.shape[1]), dtype=np.uint64)])

    def add(layer: Layer, below: Sequence[Numbers]) -> list[Numbers]:
        return [layer.sum(wide[layer.weights] * below[0] % PRIME) % PRIME]

    def multiply(_: Layer, left: Sequence[Numbers], right: Sequence[Numbers]) -> list[Numbers]:
        return [left[0] * right[0] % PRIME]

    roots = []
    for name in CHANNELS:  # one after the other: they are large
        leaves = same_in_columns(values.channel(name).astype(np.uint64), weights.shape[1])
        (channel,) = sweep(layers, [leaves], add, multiply)
        roots.append(channel[layers.root])
    return np.stack(roots)


@dataclass(frozen=True)
class Closing:
    """The job of searching boxes for a goal of a question, under weights [leaves]."""

    circuit: Circuit
    question: int
    weights: Weights
    corners: Sequence[Corners]
    goal: BoundGoal

    def start(self, watch: Watch) -> Callable[[OpenBox, Watch], Extreme]:
        """The function that searches a box."""
        relaxed = relaxation(self.circuit, self.question, self.weights, self.corners)
        assert relaxed is not None  # the search that handed out the boxes has one
        score = fraction(self.circuit, self.question, self.goal)

        def close(start: OpenBox, watch: Watch) -> Extreme:
            search = Search(relaxed, self.goal, score, watch)
            box, search.best, search.pick = start
            return search.within(box)

        return close


def fraction(circuit: Circuit, question: int, goal: BoundGoal) -> Score:
    """The function to minimise: the lower probability, or 1 - the upper one; 1 if impossible."""
    names = MASSES[goal] if goal == "lower" else MASSES[goal][::-1]
    number, other = map(FIELDS.index, names)

    def score(weights: Weights) -> Array:
        pair = circuit.masses(weights, fields=names)[question]
        total = pair[number] + pair[other]
        tiny = total < TINY
        ratio: Array = pair[number] / np.where(tiny, 1.0, total)
        if np.any(tiny):
            logs = circuit.masses(weights[:, tiny], fields=names, log=True)[question]
            ratio[tiny] = log_ratio(logs[number], logs[other])
        return ratio

    return score


def searched_extremes(
    asked: Asked, evaluator: Evaluator, intervals: Sequence[Corners], few: int
) -> list[Extremes] | None:
    """The numbers of every question; None if a search does not apply.

    That is so without a circuit, if all atoms may be undefined in total choices without stable
    models, or if masses are too small. Up to ``few`` different vertices are simply evaluated. A
    search reports to the watch what share of all vertices it has ruled out.
    """
    if evaluator.circuit is None:
        return None
    searches = []
    for question in range(len(asked.questions)):
        for row in asked.columns.T:
            relaxed = relaxation(evaluator.circuit, question, row, intervals)
            if relaxed is None:
                return None
            if asked.meaning.has_undefined_model and not relaxed.always_consistent:
                return None
            searches.append(_Sought(asked, evaluator, evaluator.circuit, question, relaxed))
    rows = asked.columns.shape[1]
    numbers = []
    for done, search in enumerate(searches):
        number = search.over_different_vertices(few) if rows == 1 else None
        if number is None and search.is_query and search.below_doubles:
            if math.prod(len(corner.points) for corner in intervals) > EXACT.vertices:
                raise too_improbable("the extremes over so many intervals")
            return None  # all vertices can be tried, with logarithms
        if number is None:
            number = search.numbers(_part(asked.watch, done, len(searches)))
        numbers.append(number)
    return [Extremes.side_by_side(numbers[i : i + rows]) for i in range(0, len(numbers), rows)]


def _part(watch: Watch, done: int, total: int) -> Watch:
    """The watch for the next one of ``total`` parts, of which ``done`` are finished."""

    def report(share: float, whole: float | None) -> None:
        watch.report(done + share / (whole or 1.0), total)

    return watch.share(total - done, report)


@dataclass(frozen=True, slots=True)
class _Sought:
    """A question under one row of weights, with the part of the circuit that it needs."""

    asked: Asked
    evaluator: Evaluator
    circuit: Circuit
    question: int
    relaxed: Relaxation

    @property
    def is_query(self) -> bool:
        """Whether there are bounds to search for; for a #map, only the evidence matters here."""
        return isinstance(self.asked.questions[self.question], GroundQuery)

    @property
    def below_doubles(self) -> bool:
        """Whether the bounds of a search would be too small for floating point."""
        logs = self.circuit.masses(self.relaxed.middle(), log=True)[self.question]
        pairs = [[logs[FIELDS.index(name)] for name in names] for names in MASSES.values()]
        return any(
            -np.inf < mass < LOG_TINY
            for number, other in pairs
            for mass in (number, np.logaddexp(number, other))
        )

    def over_different_vertices(self, few: int) -> Extremes | None:
        """The numbers from the vertices that differ for the question; None if those are many."""
        relaxed, asked = self.relaxed, self.asked
        place = (self.circuit, self.question)
        classes = symmetric_choices(*place, relaxed.weights, asked.layout, relaxed.corners)
        if count_vertices(classes, relaxed.corners) > few:
            return None
        batches = different_vertices(classes, relaxed.corners, relaxed.weights, EXACT.batch)
        return reduce(
            Extremes.joined,
            (
                over_batch(asked, self.evaluator, batch, [self.question], asked.watch)[0]
                for batch in batches
            ),
        )

    def numbers(self, watch: Watch) -> Extremes:
        """The numbers by branch and bound."""
        goals = self._goals(watch)
        at = {
            goal: self.relaxed.vectors(extreme.pick[:, np.newaxis], 0)[:-1, 0]
            for goal, extreme in goals.items()
        }
        # What is possible at some vertex is also possible in the middle of all.
        ends = [*at.values(), self.relaxed.middle()]
        # Without the watch, since this is needed for the answer even when the time is over.
        found, _ = answer_masses(self.asked, self.evaluator, np.stack(ends, axis=1))
        at_ends = found[self.question]
        stopped = tuple(extreme.stopped for extreme in goals.values() if extreme.stopped)
        low = high = least = most = np.nan
        if self.is_query:
            low, high = (float(bound[at]) for at, bound in enumerate(masses.credal(at_ends)))
            # An end where the evidence is impossible means that no vertex decides that bound.
            low, high = 1.0 if np.isnan(low) else low, 0.0 if np.isnan(high) else high
            lower, upper = goals["lower"], goals["upper"]
            least = low if lower.stopped is None else min(low, lower.bound)
            most = high if upper.stopped is None else max(high, 1.0 - upper.bound)
        return Extremes(
            at_ends.consistent.max(keepdims=True),
            at_ends.inconsistent.max(keepdims=True),
            (at_ends.b + at_ends.d).max(keepdims=True),
            np.array([least]),
            np.array([most]),
            np.array([max(low - least, most - high) if self.is_query else 0.0]),
            at.get("lower"),
            at.get("upper"),
            stopped,
            (low, high) if stopped else None,
        )

    def _goals(self, watch: Watch) -> dict[BoundGoal, Extreme]:
        """The extremes for the lower and the upper bound, and for consistency if necessary."""
        by_goal: dict[BoundGoal, Extreme] = {}
        goals: tuple[BoundGoal, ...] = ("lower", "upper") if self.is_query else ()
        for done, goal in enumerate(goals):
            part, share = _part(watch, done, len(goals)), None
            if (pool := self.asked.pool).cuts:
                here = (self.relaxed.weights, self.relaxed.corners)
                job = Closing(self.circuit, self.question, *here, goal)
                share = partial(pool.map, job, watch=part, fair=True)
            score = fraction(self.circuit, self.question, goal)
            by_goal[goal] = Search(self.relaxed, goal, score, part).run(share)
        if not self.relaxed.always_consistent:

            def consistent(weights: Weights) -> Array:
                mass: Array = self.circuit.masses(weights, fields=("consistent",))[self.question, 0]
                return mass

            # Without reports: this is the last and shortest part.
            search = Search(self.relaxed, "consistent", consistent, watch.silenced())
            by_goal["consistent"] = search.run()
        return by_goal
