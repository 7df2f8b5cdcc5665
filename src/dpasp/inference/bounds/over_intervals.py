"""Sure bounds by cases where probabilities are intervals.

The circuits of the cases that were compiled are joined into one (see ``cases``). What is open is
taken as if every model satisfied the evidence, and the query either always or never: the answers
to both, searched over the vertices of the intervals as the exact engine does, are bounds of the
lower and of the upper probability. When nothing is open, both are the same circuit, and its answer
is the exact one.

>>> from dpasp.inference.asked import ask
>>> from dpasp.language import parse
>>> from dpasp.limits import UNLIMITED
>>> from dpasp.ground import ground
>>> from dpasp.semantics.meaning import Meaning
>>> text = "[0.2, 0.4]::a. [0.5, 0.6]::b. c :- a. c :- b. #query a | c."
>>> asked = ask(ground(parse(text)), Meaning())
>>> bounds = IntervalBounds(asked, asked.queries)
>>> bounds.close_in(0.0, UNLIMITED)
>>> [round(number, 4) for number in bounds.bounds[0].numbers], bounds.bounds[0].gap
([0.2941, 0.5714], 0.0)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from dpasp.circuits.join import constant_circuit, join
from dpasp.dataclass import dataclass
from dpasp.errors import LimitReached
from dpasp.ground.program import GroundQuery
from dpasp.inference.answers import Answer
from dpasp.inference.asked import Asked
from dpasp.inference.bounds.cases import Cases, SureInterval, unsure, widest
from dpasp.inference.bounds.unknown_choices import RelaxedBounds
from dpasp.inference.circuit import OnCircuit
from dpasp.inference.exact import answered
from dpasp.inference.ratios import Extremes, extremes
from dpasp.inference.sampling.splitting import Groundwork
from dpasp.inference.tuning import BOUNDS
from dpasp.limits import Watch


@dataclass(frozen=True, slots=True)
class SureAnswers:
    """What is sure about queries with the same evidence."""

    answers: list[Answer]
    inconsistent: float = 0.0  # the mass that was seen, in the middle of the intervals
    stopped: LimitReached | None = None  # the limit that was reached before the gap was as wanted
    cases: int = 0  # how many were compiled

    @property
    def gap(self) -> float:
        """The largest gap."""
        return max((float(answer.gap) for answer in self.answers if answer.gap), default=0.0)


def over_intervals(
    asked: Asked,
    queries: Sequence[GroundQuery],
    wanted: float,
    watch: Watch,
    groundwork: Groundwork | None = None,
) -> SureAnswers:
    """What is sure by programs with unknown choices, and by cases.

    To compile the program whole is not tried. Raises :class:`InconsistentProgram` and
    :class:`ImpossibleEvidence` if it comes out that a query has no answer.
    """
    left = watch.remaining()
    groundwork = groundwork or Groundwork(asked.ground, asked.meaning, watch)
    try:
        found = IntervalBounds(replace(asked, watch=watch), queries, False, groundwork)
        relaxed = RelaxedBounds(found.cases.asked, queries, asked.weights, groundwork=groundwork)
    except LimitReached as late:
        return _nothing_sure(asked, queries, late)
    seconds = 5 * BOUNDS.patience if left is None else BOUNDS.relaxed * left
    relaxed.close_in(wanted, watch.within(seconds, watch.report))
    found.bounds = relaxed.narrowed(found.bounds)
    stopped = None
    if widest(found.bounds) > wanted:
        stopped = found.close_in(wanted, watch)
    return found.sure(stopped)


def over_total_choices(
    asked: Asked,
    queries: Sequence[GroundQuery],
    wanted: float,
    watch: Watch,
    groundwork: Groundwork | None = None,
    *,
    most: int,
) -> SureAnswers:
    """What is sure by the total choices that are most probable in the middle of the intervals.

    There are ``most`` of them, for queries with the same evidence; the rest is open.
    """
    try:
        found = IntervalBounds(replace(asked, watch=watch), queries, False, groundwork)
    except LimitReached as late:
        return _nothing_sure(asked, queries, late)
    found.cases.only_total = True
    return found.sure(found.close_in(wanted, watch, most))


def _nothing_sure(asked: Asked, queries: Sequence[GroundQuery], late: LimitReached) -> SureAnswers:
    return SureAnswers([unsure(asked.meaning).answer(q.text) for q in queries], stopped=late)


class IntervalBounds:
    """What is sure about queries with the same evidence."""

    def __init__(
        self,
        asked: Asked,
        queries: Sequence[GroundQuery],
        whole: bool = True,
        groundwork: Groundwork | None = None,
    ) -> None:
        """With ``whole``, the whole program is the first case to be tried."""
        self.cases = Cases(asked, queries, asked.weights, whole, groundwork)
        self.bounds = [unsure(asked.meaning)] * len(queries)
        self.exact: list[Answer] | None = None  # when all is compiled and was searched

    def sure(self, stopped: LimitReached | None) -> SureAnswers:
        """What is sure, and what stopped it."""
        lost = float(self.cases.inconsistent.max(initial=0.0))
        return SureAnswers(self.answers(), lost, stopped, self.cases.compiled)

    def answers(self) -> list[Answer]:
        """What is sure, as answers."""
        if self.exact is not None:
            return self.exact
        queries = self.cases.asked.queries
        return [b.answer(q.text) for q, b in zip(queries, self.bounds, strict=True)]

    def close_in(self, wanted: float, watch: Watch, most: float = math.inf) -> LimitReached | None:
        """Go on until the gap is as wanted, or ``most`` cases are compiled.

        Returns the limit that stopped it before that, if one did.

        Raises :class:`InconsistentProgram` and :class:`ImpossibleEvidence` if all is compiled
        and a query has no answer.
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
        """Search what is compiled for the extremes, as far as there is time."""
        try:
            if self.cases.open:
                self._between(watch)
            else:
                self._finish(watch)
        except LimitReached:  # what is known stays
            return

    def _between(self, watch: Watch) -> None:
        """Bounds from the two circuits in which what is open never or always holds."""
        if not self.cases.closed:
            return
        never, always = (
            extremes(self._asked(part), self._joined(part, holds))
            for part, holds in ((watch.share(2), False), (watch, True))
        )
        self.bounds = [
            bound.narrowed(*_between(low, high))
            for bound, low, high in zip(self.bounds, never, always, strict=True)
        ]

    def _finish(self, watch: Watch) -> None:
        """The answers of the exact engine on the whole circuit."""
        result = answered(self._asked(watch), self._joined(watch, holds=True), 0.0)
        found = [answer for answer in result.answers if isinstance(answer, Answer)]
        if all(answer.gap is None for answer in found):
            self.exact = [
                replace(a, interval=(a.numbers[0], a.numbers[-1]), gap=0.0) for a in found
            ]
        self.bounds = [b.narrowed(*_of(a)) for b, a in zip(self.bounds, found, strict=True)]

    def _asked(self, watch: Watch) -> Asked:
        return replace(self.cases.asked, watch=watch)

    def _joined(self, watch: Watch, holds: bool) -> OnCircuit:
        """The circuit of all cases; in the open ones the queries hold, or never do."""
        asked = self.cases.asked
        open_case = constant_circuit(holds, len(asked.queries))
        cases = {**self.cases.circuits, **dict.fromkeys(self.cases.open, open_case)}
        whole = join(
            cases, asked.ground.choices, asked.meaning, first=self.cases.first, watch=watch
        )
        return OnCircuit(whole, asked.meaning, asked.queries, asked.layout)


def _between(never: Extremes, always: Extremes) -> tuple[SureInterval, SureInterval]:
    """What holds the lower and the upper probability.

    Where a limit stopped a search, the extreme is between its bound and the best that it found.
    """
    most_lower = float(always.lower[0]) if always.found is None else always.found[0]
    least_upper = float(never.upper[0]) if never.found is None else never.found[1]
    lower = _known(float(never.lower[0]), 0.0), _known(most_lower, 1.0)
    upper = _known(least_upper, 0.0), _known(float(always.upper[0]), 1.0)
    return lower, upper


def _known(number: float, otherwise: float) -> float:
    """The number, and something else where the evidence is impossible."""
    return otherwise if math.isnan(number) else number


def _of(answer: Answer) -> tuple[SureInterval, SureInterval]:
    """What holds the lower and the upper probability, by an answer whose search may be stopped."""
    assert answer.lower is not None
    assert answer.upper is not None
    lower, upper = float(answer.lower), float(answer.upper)
    gap = 0.0 if answer.gap is None else float(answer.gap)
    return (lower, min(1.0, lower + gap)), (max(0.0, upper - gap), upper)
