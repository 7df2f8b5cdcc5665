"""Certain bounds by cases: the masses of compiled cases are exact, those of open cases unknown.

The compiler gets a budget. If the program exceeds it, the program is split into cases by the value
of a choice, and the most probable open case is tried next. An open case contributes between nothing
and its whole probability. So there are certain bounds at any moment, which only get narrower and
are exact in the end. Cases that contradict the evidence do not matter; therefore every case begins
with the values that the evidence forces upon choices. If probabilities are intervals, the masses
are those in the middle of the intervals, and the circuits are kept (see :class:`IntervalBounds`).

If the open cases have the mass r, it is certain that

    a / (a + d + r) ≤ lower ≤ (a + r) / (a + r + d)      and the same for upper with b, c
    qe / (e + r)    ≤ value ≤ (qe + r) / (e + r)         under maxent

The gap of a :class:`Bound` is the largest distance between the two sides of such a line.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import field, replace

import numpy as np

from dpasp import circuits
from dpasp.circuits.join import Fallen, constant_circuit, join
from dpasp.circuits.worlds import Definitions
from dpasp.dataclass import dataclass
from dpasp.errors import LimitReached, SizeLimit
from dpasp.ground.program import GroundProgram, Rule
from dpasp.inference.answers import Answer
from dpasp.inference.asked import Asked
from dpasp.inference.circuit import Extremes, OnCircuit, extremes, on_circuit
from dpasp.inference.exact import answered
from dpasp.inference.sampling.situations import Groundwork
from dpasp.inference.sampling.stream import consequences
from dpasp.inference.tuning import BOUNDS
from dpasp.limits import Watch
from dpasp.semantics.leaves import ends, layout
from dpasp.semantics.masses import Array, Masses
from dpasp.semantics.meaning import Meaning

ROUNDING = 2.0**-50  # the relative error of each mass that is added to others
TINY = 1e-300  # the probability that is used for a value whose interval has its middle at 0


@dataclass(order=True, slots=True)
class Case:
    """A case: the choices that are fixed, and how probable they are.

    The ``loss`` is the negative logarithm of the probability relative to the first case. The
    ``number`` settles ties.
    """

    loss: float
    number: int
    fallen: Fallen = field(compare=False)


class Cases:
    """The cases of queries with the same evidence."""

    def __init__(
        self,
        asked: Asked,
        whole: bool = True,
        groundwork: Groundwork | None = None,
    ) -> None:
        """With ``whole``, the whole program is the first case to be tried."""
        self.asked, self.weights = asked, asked.weights
        self.known = np.zeros((len(Masses.__slots__), len(asked.queries)))
        self.compiled = 0  # how many cases were compiled
        self.circuits: dict[Fallen, circuits.Circuit] = {}  # of closed cases, for intervals
        self._number = 0
        self._order = by_influence(asked.ground)
        least, self._most = ends(asked.ground, asked.weights)
        groundwork = groundwork or Groundwork(asked.ground, asked.meaning, asked.watch)
        first = _forced(asked, groundwork)
        # The evidence cannot force a value that may have probability 0.
        first = tuple((c, v) for c, v in first if least[asked.layout.starts[c] + v] > 0)
        self.first = first
        starts = asked.layout.starts  # all masses are relative to this one:
        self._share = math.prod(float(asked.weights[starts[c] + v]) for c, v in first)
        self._open = [Case(0.0, 0, first)]
        self._tried: list[Case] = []  # being compiled, and still open
        self._begun = len(first)
        self.whole = whole
        self.only_total = False  # whether to compile only cases that leave no choice open

    @property
    def open(self) -> list[Fallen]:
        return [case.fallen for case in (*self._open, *self._tried)]

    @property
    def masses(self) -> Masses:
        """The masses [queries] of the compiled cases, given the values that the evidence forces."""
        return Masses.of(self.known)

    @property
    def bounds(self) -> list[Bound]:
        return bounds_of(self.masses, self.asked.meaning, self.rest)

    @property
    def inconsistent(self) -> Array:
        """The mass [queries] of the total choices without a model that were seen."""
        return self.masses.inconsistent * self._share

    @property
    def rest(self) -> float:
        """The mass of the open cases, rounded up."""
        if not self._open and not self._tried:
            return 0.0
        mass = math.fsum(math.exp(-case.loss) for case in (*self._open, *self._tried))
        return min(1.0, mass * (1 + 1e-9) + ROUNDING * self.compiled)

    def close_in(
        self,
        wanted: float,
        watch: Watch,
        narrowed: Callable[[list[Bound]], list[Bound]] | None = None,
    ) -> LimitReached | None:
        """Compile cases until no gap exceeds ``wanted``; returns the limit that prevented it.

        ``narrowed`` is applied to the bounds before their gaps are compared.
        """
        try:
            for _ in self.steps(watch):
                bounds = self.bounds
                gap = widest(bounds if narrowed is None else narrowed(bounds))
                watch.stage(f"bounds, {gap:.2g} wide")
                watch.report(1.0 - self.rest, 1.0)
                if gap <= wanted:
                    break
        except LimitReached as limit:
            return limit
        return None

    def steps(self, watch: Watch) -> Iterator[None]:
        """Try one case after the other, the most probable one first, until none is open.

        A pool tries several at once, whose number does not depend on that of the workers: so the
        answers are the same. Raises what the ``watch`` raises; what is known by then is kept.
        """
        pool, job = self.asked.pool, CompilingCases(self.asked, self.whole)
        shared = pool.cuts and not self.asked.has_intervals
        while self._open or self._tried:
            self._next_to_try(BOUNDS.together if shared else 1)
            tried = list(self._tried)
            here = (self.compile(case, watch) for case in tried)
            with closing(pool.map(job, tried, watch) if shared else here) as compiled:
                for case, masses in zip(tried, compiled, strict=True):
                    del self._tried[0]
                    if masses is None:
                        self._split(case)
                    else:
                        self.known += math.exp(-case.loss) * masses
                        self.compiled += 1
            yield

    def _next_to_try(self, most: int) -> None:
        """Move the most probable cases that are worth a try to ``_tried``."""
        while self._tried:
            heapq.heappush(self._open, self._tried.pop())
        while self._open and len(self._tried) < most:
            case = heapq.heappop(self._open)
            if self._worth_a_try(case):
                self._tried.append(case)
            else:
                self._split(case)

    def _worth_a_try(self, case: Case) -> bool:
        """Whether to compile a case before it is split further.

        It is worth trying when 1, 2, 4, 8, … choices are fixed: each time it is much smaller.
        """
        if self.only_total:
            return self._next(case) is None
        depth = len(case.fallen) - self._begun
        enough = depth & (depth - 1) == 0 and (self.whole or depth > 0)
        return enough or self._next(case) is None

    def compile(self, case: Case, watch: Watch) -> Array | None:
        """The masses [9, queries] of a case, as if it had probability 1; None if it is too large.

        Raises :class:`SizeLimit` if it is too large and there is no choice left to split it by.
        """
        fallen, leaves, meaning = dict(case.fallen), self.asked.layout, self.asked.meaning
        kept = [i for i in range(len(self.asked.ground.choices)) if i not in fallen]
        kept_weights = np.concatenate([self.weights[leaves.of(i)] for i in kept] or [np.empty(0)])
        ground = restricted(self.asked.ground, fallen)
        options = BOUNDS.whole if len(case.fallen) == self._begun else BOUNDS.part
        try:
            circuit = case_circuit(ground, meaning, options, watch)
        except SizeLimit:
            if self._next(case) is None:
                raise
            return None
        if circuit is None:
            return None
        if self.asked.has_intervals:
            self.circuits[case.fallen] = circuit
        evaluator = OnCircuit(circuit, meaning, ground.questions, layout(ground.choices))
        return evaluator.masses(kept_weights[:, np.newaxis], watch).array()[..., 0]

    def _split(self, case: Case) -> None:
        """Replace the case by one for each possible value of one more choice."""
        choice = self._next(case)
        assert choice is not None
        leaves = self.asked.layout.of(choice)
        for value, weight in enumerate(self.weights[leaves]):
            if self._most[leaves][value] > 0:
                self._number += 1
                loss = case.loss - math.log(max(weight, TINY))
                fallen = (*case.fallen, (choice, value))
                heapq.heappush(self._open, Case(loss, self._number, fallen))

    def _next(self, case: Case) -> int | None:
        """The choice by which a case is split; None if all are fixed."""
        fallen = dict(case.fallen)
        return next((choice for choice in self._order if choice not in fallen), None)


@dataclass(frozen=True)
class CompilingCases:
    """The job of compiling cases of queries with the same evidence."""

    asked: Asked
    whole: bool

    def start(self, watch: Watch) -> Callable[[Case, Watch], Array | None]:
        """The function that gives the masses of a case, or None if it is too large."""
        return Cases(replace(self.asked, watch=watch), self.whole).compile


def restricted(ground: GroundProgram, fallen: Mapping[int, int]) -> GroundProgram:
    """The program with some choices fixed: each becomes a fact, or nothing."""
    facts = [
        Rule((ground.choices[choice].selectors[value],), ())
        for choice, value in fallen.items()
        if value < len(ground.choices[choice].selectors)
    ]
    choices = tuple(choice for i, choice in enumerate(ground.choices) if i not in fallen)
    return replace(ground, rules=(*ground.rules, *facts), choices=choices)


def case_circuit(
    ground: GroundProgram, meaning: Meaning, options: circuits.Options, watch: Watch
) -> circuits.Circuit | None:
    """The circuit of a case; None if it can be neither compiled nor enumerated.

    Raises :class:`SizeLimit` if it is too large.
    """
    try:
        return circuits.compile(ground, meaning, options=options, watch=watch)
    except circuits.HeadCycle:
        if layout(ground.choices).total > BOUNDS.enumerated:
            return None
        return on_circuit(ground, meaning, watch=watch).circuit


def by_influence(ground: GroundProgram) -> list[int]:
    """All choices; those whose heads occur most often in the bodies of rules come first."""
    read = Counter(abs(literal) for rule in ground.rules for literal in rule.body)
    uses = [sum(read[atom] for atom in {*choice.heads}) for choice in ground.choices]
    return sorted(range(len(ground.choices)), key=lambda i: (-uses[i], i))


def _forced(asked: Asked, groundwork: Groundwork) -> Fallen:
    """The possible values that the evidence forces upon choices, as far as single rules tell."""
    evidence = groundwork.translation.conjunction(asked.queries[0].evidence)
    program = groundwork.split
    literals = [b for b in evidence or () if program.determined[abs(b)]]
    definitions = Definitions(program.rules, asked.ground.choices)
    fallen: dict[int, int] = {}
    known = consequences(definitions, literals)
    for i, choice in enumerate(asked.ground.choices):
        values = [v for v, selector in enumerate(choice.selectors) if known.get(selector, True)]
        sure = [v for v in values if known.get(choice.selectors[v])]
        if choice.nothing and not sure:
            values.append(len(choice.selectors))
        left = sure or values
        if len(left) == 1 and asked.weights[asked.layout.starts[i] + left[0]] > 0:
            fallen[i] = left[0]
    return tuple(fallen.items())


SureInterval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Bound:
    """Certain bounds of an answer: an interval for each of its numbers.

    Under credal, these are the lower and the upper probability; under maxent there is one number,
    with an estimated ``value``.
    """

    ends: tuple[SureInterval, ...]
    value: float | None = None

    @property
    def interval(self) -> SureInterval:
        """The interval from the lowest to the highest possible number."""
        return self.ends[0][0], self.ends[-1][1]

    @property
    def gap(self) -> float:
        """The width of the widest interval."""
        return max(high - low for low, high in self.ends)

    def narrowed(self, *others: SureInterval) -> Bound:
        """The bound intersected with other intervals: one for each number, or one for them all."""
        others = others if len(others) > 1 else others * len(self.ends)
        ends = tuple(map(_intersection, self.ends, others))
        if self.value is None:
            return Bound(ends)
        low, high = ends[0]
        value = self.value if self.interval != (0.0, 1.0) else (low + high) / 2
        return Bound(ends, min(max(value, low), high))

    def answer(self, query: str) -> Answer:
        if self.value is not None:
            return Answer(query, value=self.value, interval=self.interval, gap=self.gap)
        lower, upper = self.interval
        return Answer(query, lower=lower, upper=upper, interval=self.interval, gap=self.gap)


def bounds_of(masses: Masses, meaning: Meaning, rest: float) -> list[Bound]:
    """The bounds of each query, from the masses [queries] and the open mass ``rest``."""
    bound = _maxent if meaning.maxent else _credal
    return [bound(masses[i], rest) for i in range(len(masses.consistent))]


def unsure(meaning: Meaning) -> Bound:
    """The bounds of an answer about which nothing is known."""
    return Bound(((0.0, 1.0),), 0.5) if meaning.maxent else Bound(((0.0, 1.0),) * 2)


def widest(bounds: Sequence[Bound]) -> float:
    """The largest gap."""
    return max((bound.gap for bound in bounds), default=0.0)


def _maxent(masses: Masses, rest: float) -> Bound:
    qe, e = float(masses.qe), float(masses.e)
    if not e > 0:  # nothing is known yet: what is compiled does not satisfy the evidence
        return Bound(((0.0, 1.0),), 0.5)
    low, high = qe / (e + rest), min(1.0, (qe + rest) / (e + rest))
    return Bound(((low, high),), min(1.0, qe / e))


def _credal(masses: Masses, rest: float) -> Bound:
    a, b, c, d = (float(mass) for mass in (masses.a, masses.b, masses.c, masses.d))
    if not b + d > 0:
        return Bound(((0.0, 1.0),) * 2)
    lower = _share(a, d + rest, 1.0), _share(a + rest, d, 1.0)
    upper = _share(b, c + rest, 0.0), _share(b + rest, c, 0.0)
    return Bound((lower, upper))


def _intersection(one: SureInterval, other: SureInterval) -> SureInterval:
    """The intersection of two intervals around the same number; rounding may have parted them."""
    low, high = max(one[0], other[0]), min(one[1], other[1])
    return (low, high) if low <= high else (high, low)


def _share(part: float, other: float, otherwise: float) -> float:
    """part / (part + other); ``otherwise`` where both are 0."""
    return part / (part + other) if part + other > 0 else otherwise


class IntervalBounds:
    """Bounds of queries with the same evidence where probabilities are intervals.

    The circuits of the compiled cases are joined into one. In the open cases, every model is
    assumed to satisfy the evidence, and to satisfy the query either always or never. These two
    assumptions give two circuits. The extremes of both over the vertices of the intervals, found as
    in the exact engine, bound the lower and the upper probability. When no case is open, the two
    circuits are the same, and the answer is exact.
    """

    def __init__(self, cases: Cases) -> None:
        self.cases = cases
        self.bounds = [unsure(cases.asked.meaning)] * len(cases.asked.queries)
        self.exact: list[Answer] | None = None  # when all is compiled and was searched

    def answers(self) -> list[Answer]:
        if self.exact is not None:
            return self.exact
        queries = self.cases.asked.queries
        return [b.answer(q.text) for q, b in zip(queries, self.bounds, strict=True)]

    def close_in(self, wanted: float, watch: Watch, most: float = math.inf) -> LimitReached | None:
        """Compile up to ``most`` cases, until no gap exceeds ``wanted``.

        Returns the limit that prevented that. Raises :class:`InconsistentProgram` and
        :class:`ImpossibleEvidence` if everything is compiled and a query has no answer.
        """
        left = watch.remaining()
        part = watch if left is None else watch.within(BOUNDS.first_try * left, watch.report)
        stopped, look = None, 1
        try:
            for _ in self.cases.steps(part):
                watch.report(1.0 - self.cases.rest, 1.0)
                if self.cases.compiled >= look and self.cases.open:
                    look *= 2
                    seconds = max(BOUNDS.least_looking, BOUNDS.looking * part.elapsed())
                    self._look(watch.within(seconds))
                    watch.stage(f"bounds, {widest(self.bounds):.2g} wide")
                    if widest(self.bounds) <= wanted:
                        return None
                if self.cases.compiled >= most:
                    break
        except LimitReached as limit:
            stopped = limit
        self._look(watch)
        return stopped if widest(self.bounds) > wanted else None

    def _look(self, watch: Watch) -> None:
        """Search the compiled cases for the extremes, as far as there is time."""
        try:
            if self.cases.open:
                self._between(watch)
            else:
                self._finish(watch)
        except LimitReached:  # the bounds known by then remain
            return

    def _between(self, watch: Watch) -> None:
        """Bounds from the two circuits in which the query never or always holds in open cases."""
        if not self.cases.compiled:
            return
        never, always = (
            extremes(replace(self.cases.asked, watch=part), self._joined(part, holds))
            for part, holds in ((watch.share(2), False), (watch, True))
        )
        self.bounds = [
            bound.narrowed(*_between(low, high))
            for bound, low, high in zip(self.bounds, never, always, strict=True)
        ]

    def _finish(self, watch: Watch) -> None:
        """Take the answers of the exact engine on the whole circuit."""
        asked = replace(self.cases.asked, watch=watch)
        result = answered(asked, self._joined(watch, holds=True), 0.0)
        found = [answer for answer in result.answers if isinstance(answer, Answer)]
        if all(answer.gap is None for answer in found):
            self.exact = [
                replace(a, interval=(a.numbers[0], a.numbers[-1]), gap=0.0) for a in found
            ]
        self.bounds = [b.narrowed(*_of(a)) for b, a in zip(self.bounds, found, strict=True)]

    def _joined(self, watch: Watch, holds: bool) -> OnCircuit:
        """The circuit of all cases; in the open ones, the queries always or never hold."""
        asked = self.cases.asked
        open_case = constant_circuit(holds, len(asked.queries))
        cases = {**self.cases.circuits, **dict.fromkeys(self.cases.open, open_case)}
        whole = join(
            cases, asked.ground.choices, asked.meaning, first=self.cases.first, watch=watch
        )
        return OnCircuit(whole, asked.meaning, asked.queries, asked.layout)


def _between(never: Extremes, always: Extremes) -> tuple[SureInterval, SureInterval]:
    """Intervals for the lower and the upper probability; a search may have been stopped."""
    most_lower = float(always.lower[0]) if always.found is None else always.found[0]
    least_upper = float(never.upper[0]) if never.found is None else never.found[1]
    lower = _known(float(never.lower[0]), 0.0), _known(most_lower, 1.0)
    upper = _known(least_upper, 0.0), _known(float(always.upper[0]), 1.0)
    return lower, upper


def _known(number: float, otherwise: float) -> float:
    """The number, or ``otherwise`` where the evidence is impossible."""
    return otherwise if math.isnan(number) else number


def _of(answer: Answer) -> tuple[SureInterval, SureInterval]:
    """Intervals for the two probabilities, from an answer whose search may have been stopped."""
    assert answer.lower is not None
    assert answer.upper is not None
    lower, upper = float(answer.lower), float(answer.upper)
    gap = 0.0 if answer.gap is None else float(answer.gap)
    return (lower, min(1.0, lower + gap)), (max(0.0, upper - gap), upper)
