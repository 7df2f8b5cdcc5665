"""The engine ``bounds``: intervals that surely hold the answers, and close in on them.

The program is compiled, whole or in cases (``cases``), and if that takes long also with some of its
choices unknown (``unknown_choices``). With the option ``nmodels``, its most probable total choices
are solved one by one instead (``most_probable``). Intervals of probabilities have ways of their own
(``over_intervals``).

>>> from dpasp.inference.asked import ask
>>> from dpasp.language import parse
>>> from dpasp.ground import ground
>>> from dpasp.semantics.meaning import Meaning
>>> asked = ask(ground(parse("0.3::a. 0.5::b. c :- a. c :- b. #query a | c.")), Meaning())
>>> (answer,) = bounds(asked).answers
>>> answer.interval, answer.gap
((0.46153846153846156, 0.46153846153846156), 0.0)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from dpasp.errors import Diagnostic, LimitReached
from dpasp.ground.program import GroundQuery
from dpasp.inference.answers import SMALLEST, Answer
from dpasp.inference.asked import (
    Approximate,
    Asked,
    EngineResult,
    row_by_row,
    stopped_early,
)
from dpasp.inference.bounds.cases import Bound, Cases, widest
from dpasp.inference.bounds.most_probable import Opened, bounded, opened
from dpasp.inference.bounds.over_intervals import (
    SureAnswers,
    over_intervals,
    over_total_choices,
)
from dpasp.inference.bounds.unknown_choices import RelaxedBounds
from dpasp.inference.exact import answered, compiled
from dpasp.inference.models import Outcomes
from dpasp.inference.ratios import LOG_TINY, log_least
from dpasp.inference.sampling.sample import by_evidence
from dpasp.inference.sampling.splitting import Groundwork
from dpasp.inference.together import answered_in_numbers
from dpasp.inference.tuning import BOUNDS
from dpasp.limits import Watch
from dpasp.semantics import masses
from dpasp.semantics.dependencies import determined
from dpasp.semantics.leaves import Weights
from dpasp.semantics.translate import Weighed


def bounds(asked: Asked) -> EngineResult:
    """Sure bounds of the answers; the options are ``gap`` and ``nmodels``."""
    if isinstance(asked.ground, Weighed) and asked.ground.by_table:
        result = compiled(asked)  # its models are enumerated: there are no parts to close in on
        return replace(result, answers=_sure(result.answers), engine="bounds")
    gap, most = asked.method.real("gap"), asked.method.whole("nmodels")
    wanted = BOUNDS.gap if gap is None else gap
    if asked.has_intervals:
        if most is not None:
            return _parts(asked, wanted, partial(over_total_choices, most=most))
        return _with_intervals(asked, wanted)
    if most is not None:
        outcomes = Outcomes(asked)
        result = row_by_row(asked, "at least ", lambda row: bounded(outcomes, row, wanted, most))
        return replace(result, statistics={"total_choices": len(outcomes)})
    exact = _in_numbers(asked)
    if exact is not None:
        return exact
    counted: list[int] = []
    groundwork = Groundwork(asked.ground, asked.meaning, asked.watch)

    def answer(weights: Weights) -> Approximate:
        approximate, cases = by_cases(asked, weights, wanted, groundwork=groundwork)
        counted.append(cases)
        return approximate

    result = row_by_row(asked, "at least ", answer)
    return replace(result, statistics={"cases": sum(counted)})


def _in_numbers(asked: Asked) -> EngineResult | None:
    """The exact answers of a network with large tables; None if it is none, or a third of the
    time is not enough to sum it up."""
    left = asked.watch.remaining()
    part = asked.watch.within(BOUNDS.patience if left is None else left / 3, asked.watch.report)
    timed = replace(asked, watch=part)
    try:
        evaluator = answered_in_numbers(timed)
        if evaluator is None:
            return None
        result = answered(timed, evaluator, part.elapsed())
    except LimitReached:
        return None
    return replace(result, answers=_sure(result.answers), engine="bounds")


def by_cases(
    asked: Asked,
    weights: Weights,
    wanted: float,
    whole: bool = True,
    groundwork: Groundwork | None = None,
) -> tuple[Approximate, int]:
    """The bounds when the gap is as wanted or a limit is reached; and how many cases it took.

    With ``whole``, the whole program is the first case to be tried.
    """
    bounds: dict[GroundQuery, Bound] = {}
    warnings: list[Diagnostic] = []
    lost, counted = 0.0, 0
    groups = by_evidence(asked.queries)
    groundwork = groundwork or Groundwork(asked.ground, asked.meaning, asked.watch)
    for place, queries in enumerate(groups):
        cases = Cases(asked, queries, weights, whole, groundwork)
        watch = asked.watch.share(len(groups) - place, asked.watch.report)
        group_bounds, limit = _closed_in(cases, wanted, watch, groundwork)
        closed = limit is None and cases.rest == 0
        lost_in_zero = closed and any(perhaps_positive(asked, bound) for bound in group_bounds)
        if closed and (_says_nothing(cases) or (lost_in_zero and cases.compiled == 1)):
            # The evidence is impossible, or a mass is lost in floating point: the exact engine
            # finds out.
            return _exactly(asked, weights), 1
        if limit is not None:
            warnings.append(stopped_early(limit.diagnostics[0].message, widest(group_bounds)))
        bounds.update(zip(queries, group_bounds, strict=True))
        lost = max(lost, float(cases.inconsistent.max(initial=0.0)))
        counted += cases.compiled
    answers = tuple(not_zero(asked, bounds[query]).answer(query.text) for query in asked.queries)
    return Approximate(answers, lost, tuple(warnings)), counted


def perhaps_positive(asked: Asked, bound: Bound) -> bool:
    """Whether bounds of 0 may be those of a probability below the range of doubles."""
    if bound.interval[1] >= SMALLEST:
        return False
    if log_least(asked.columns, asked.layout).min() < LOG_TINY:
        return True
    free = ~determined(asked.ground.rules, len(asked.ground.symbols))
    return asked.meaning.maxent and int(free.sum()) > BOUNDS.unmeasurable  # the shares of models


def not_zero(asked: Asked, bound: Bound) -> Bound:
    """The bound, with the smallest double as its end where 0 may not be the whole truth."""
    if not perhaps_positive(asked, bound):
        return bound
    low = bound.interval[0]
    numbers = bound.numbers if len(bound.numbers) == 1 else (low, SMALLEST)
    return Bound(numbers, (low, SMALLEST), SMALLEST - low, ((low, SMALLEST), (low, SMALLEST)))


def _closed_in(
    cases: Cases, wanted: float, watch: Watch, groundwork: Groundwork
) -> tuple[list[Bound], LimitReached | None]:
    """The bounds by cases, and where that takes long also by unknown choices.

    Where the choices do not determine what is asked, the most probable ones are solved, too. With
    the bounds comes the limit that was reached before the gap was as wanted, if one was.
    """
    left, patience = watch.remaining(), BOUNDS.patience
    limit = cases.close_in(
        wanted, watch.within(patience if left is None else left / 3, watch.report)
    )
    bounds = cases.bounds
    if limit is None:
        return bounds, None
    cases.whole = False  # to compile it whole was tried already
    asked, weights = cases.asked, cases.weights
    try:
        relaxed = RelaxedBounds(asked, asked.queries, weights, groundwork=groundwork)
    except LimitReached as late:
        return bounds, late
    left = watch.remaining()
    seconds = 5 * patience if left is None else BOUNDS.relaxed * left
    relaxed.close_in(wanted, watch.within(seconds, watch.report))
    solved: Opened | None = None
    if not relaxed.applies:
        part = watch.within(patience if left is None else left / 2, watch.report)
        solved = opened(asked, weights, wanted, part)

    def narrowed(bounds: list[Bound]) -> list[Bound]:
        bounds = relaxed.narrowed(bounds)
        return bounds if solved is None else solved.joined(bounds)

    if widest(narrowed(bounds)) <= wanted:
        return narrowed(bounds), None
    limit = cases.close_in(wanted, watch, narrowed)
    return narrowed(cases.bounds) if cases.rest else cases.bounds, limit


def _says_nothing(cases: Cases) -> bool:
    """Whether the evidence of some query has mass 0 in what is compiled."""
    possible = masses.evidence_mass(cases.masses, cases.asked.meaning)
    return not bool(np.all(possible > 0))


def _exactly(asked: Asked, weights: Weights) -> Approximate:
    """The exact answers under weights [leaves], as intervals."""
    result = compiled(replace(asked, weights=weights))
    return Approximate(_sure(result.answers), result.inconsistent, result.warnings)


def _with_intervals(asked: Asked, wanted: float) -> EngineResult:
    """With intervals of probabilities the exact engine searches; a limit leaves it with bounds.

    Where there is no circuit in most of the time, the rest goes to parts of the program.
    """
    watch, left = asked.watch, asked.watch.remaining()
    part = watch if left is None else watch.within(BOUNDS.first_try * left, watch.report)
    try:
        result = compiled(replace(asked, watch=part))
    except LimitReached:
        return _parts(asked, wanted, over_intervals)
    return replace(result, answers=_sure(result.answers), engine="bounds")


def _parts(asked: Asked, wanted: float, find: Callable[..., SureAnswers]) -> EngineResult:
    """What parts of the program say where probabilities are intervals.

    Of queries with the same evidence, ``find`` finds it.
    """
    groups, counted = by_evidence(asked.queries), list[int]()
    total = len(groups) * asked.columns.shape[1]
    groundwork = Groundwork(asked.ground, asked.meaning, asked.watch)

    def answer(weights: Weights) -> Approximate:
        answers: dict[GroundQuery, Answer] = {}
        warnings, lost = list[Diagnostic](), 0.0
        for queries in groups:
            watch = asked.watch.share(total - len(counted), asked.watch.report)
            one_row = replace(asked, weights=weights)
            found = find(one_row, queries, wanted, watch, groundwork)
            answers.update(zip(queries, found.answers, strict=True))
            lost = max(lost, found.inconsistent)
            counted.append(found.cases)
            if found.stopped is not None:
                warnings.append(stopped_early(found.stopped.diagnostics[0].message, found.gap))
        return Approximate(tuple(answers[q] for q in asked.queries), lost, tuple(warnings))

    result = row_by_row(asked, "about ", answer)
    return replace(result, statistics={"cases": sum(counted)})


def _sure(answers: Sequence[object]) -> tuple[Answer, ...]:
    """Exact answers as intervals, those that are bounds already as they are."""
    sure = []
    for answer in answers:
        assert isinstance(answer, Answer)
        if answer.interval is None:
            ends = (answer.numbers[0], answer.numbers[-1])
            answer = replace(answer, interval=ends, gap=0.0 * np.asarray(ends[0]))
        sure.append(answer)
    return tuple(sure)
