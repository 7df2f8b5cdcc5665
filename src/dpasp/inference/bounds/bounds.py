"""Certain bounds: the engine ``bounds``, and ``auto`` if exact answers take too long.

The program is compiled whole or case by case (``cases``). If that takes too long, it is also
compiled with some of its choices unknown (``relaxed``), and where the choices do not determine the
query, the most probable total choices are solved one by one (``most_probable``). If probabilities
are intervals, the compiled part is searched for bounds of the answers. ``auto`` adds estimates:
samples of the whole program, clipped to the bounds.

``sample`` and ``bounds`` leave most probable values (``#map``, ``#mpe``) to ``auto``. It answers
exactly if the limits allow, and otherwise gives the best values found with a bound on all others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dpasp import circuits
from dpasp.errors import Diagnostic, Error, LimitReached
from dpasp.ground.program import GroundMap, GroundQuery
from dpasp.inference.answers import SMALLEST, Answer, AnswerNumber, AnyAnswer, MapAnswer
from dpasp.inference.asked import (
    Approximate,
    Asked,
    EngineResult,
    Method,
    row_by_row,
    stopped_early,
)
from dpasp.inference.bounds.cases import Bound, Cases, IntervalBounds, unsure, widest
from dpasp.inference.bounds.most_probable import best_found, bounded, exactly, opened
from dpasp.inference.bounds.relaxed import RelaxedBounds
from dpasp.inference.circuit import LOG_TINY, log_least
from dpasp.inference.exact import (
    answered,
    as_bounds,
    auto,
    compiled,
    not_surely_best,
    unknown_answers,
)
from dpasp.inference.models import Outcomes
from dpasp.inference.sampling.sample import by_evidence, sample, sampled
from dpasp.inference.sampling.situations import Groundwork
from dpasp.inference.sampling.stream import Prepared
from dpasp.inference.together import answered_in_numbers
from dpasp.inference.tuning import BOUNDS
from dpasp.limits import Watch
from dpasp.semantics import masses
from dpasp.semantics.dependencies import determined
from dpasp.semantics.leaves import Weights
from dpasp.semantics.masses import Question
from dpasp.semantics.translate import Weighed

MANY = 1_000_000_000  # samples or states: more than there is ever time for


# --- the engines, which leave most probable values to auto ---------------------------------------


def _with_maps(engine: Callable[[Asked], EngineResult], asked: Asked) -> EngineResult:
    """The answers of the engine to queries, and those of ``auto`` to all other questions."""
    maps = [question for question in asked.questions if isinstance(question, GroundMap)]
    if not maps:
        return engine(asked)
    seed, watch = asked.method.options.get("seed"), asked.watch
    how = Method("auto", {} if seed is None else {"seed": seed}, pool=asked.method.pool)
    share = watch.share(2, watch.report) if asked.queries else watch
    best = auto(replace(asked.with_questions(maps), method=how, watch=share))
    if not asked.queries:
        return replace(best, engine=asked.method.engine)
    others = engine(asked.with_questions(asked.queries))
    values, numbers = iter(best.answers), iter(others.answers)
    return replace(
        others,
        answers=tuple(
            next(values if isinstance(q, GroundMap) else numbers) for q in asked.questions
        ),
        inconsistent=max(best.inconsistent, others.inconsistent),
        warnings=tuple(dict.fromkeys((*best.warnings, *others.warnings))),
        statistics={**best.statistics, **others.statistics},
    )


# --- the engine bounds ----------------------------------------------------------------------------


def bounds(asked: Asked) -> EngineResult:
    """Certain bounds of the answers; the options are ``gap`` and ``nmodels``."""
    if isinstance(asked.ground, Weighed) and asked.ground.by_table:
        return as_bounds(compiled(asked))  # its models are enumerated all at once
    gap, most = asked.method.real("gap"), asked.method.whole("nmodels")
    wanted = BOUNDS.gap if gap is None else gap
    if asked.has_intervals:
        try:  # At a limit, the search of the exact engine ends with bounds, too.
            if most is None:
                return as_bounds(
                    compiled(replace(asked, watch=_part(asked.watch, BOUNDS.first_try)))
                )
        except LimitReached:
            pass  # no circuit was made in that time; the rest of it goes to parts of the program
        return _grouped(asked, "about ", partial(over_intervals, wanted=wanted, most=most))
    if most is not None:
        total = Outcomes(asked)
        result = row_by_row(
            asked, "at least ", lambda row: bounded(asked, total, row, wanted, most)
        )
        return replace(result, statistics={"total_choices": len(total)})
    exact = _in_numbers(asked)
    return exact or _grouped(asked, "at least ", partial(by_cases, wanted=wanted))


bounds_and_maps, sample_and_maps = partial(_with_maps, bounds), partial(_with_maps, sample)


def _in_numbers(asked: Asked) -> EngineResult | None:
    """The exact answers of a network with large tables, summed up in a third of the time.

    None if the program is no such network, or the time is not enough.
    """
    timed = replace(asked, watch=_part(asked.watch, 1 / 3, BOUNDS.patience))
    try:
        evaluator = answered_in_numbers(timed)
        if evaluator is None:
            return None
        return as_bounds(answered(timed, evaluator, timed.watch.elapsed()))
    except LimitReached:
        return None


def _part(watch: Watch, share: float, otherwise: float | None = None) -> Watch:
    """A watch for a share of the remaining time; without a limit, for ``otherwise`` seconds."""
    left = watch.remaining()
    seconds = otherwise if left is None else share * left
    return watch if seconds is None else watch.within(seconds, watch.report)


def _grouped(
    asked: Asked, precision: str, find: Callable[[Asked, Groundwork], tuple[Approximate, int]]
) -> EngineResult:
    """The answers for every row.

    ``find`` answers the queries with the same evidence, and says how many cases that took.
    """
    groups, counted = by_evidence(asked.queries), list[int]()
    total = len(groups) * asked.columns.shape[1]
    groundwork = Groundwork(asked.ground, asked.meaning, asked.watch)

    def answer(weights: Weights) -> Approximate:
        answers: dict[GroundQuery, Answer] = {}
        warnings, lost = list[Diagnostic](), 0.0
        for queries in groups:
            watch = asked.watch.share(total - len(counted), asked.watch.report)
            alone = replace(asked.with_questions(queries), weights=weights, watch=watch)
            found, cases = find(alone, groundwork)
            counted.append(cases)
            answers.update(zip(queries, found.answers, strict=True))
            lost, warnings = max(lost, found.inconsistent), [*warnings, *found.warnings]
        return Approximate(tuple(answers[q] for q in asked.queries), lost, tuple(warnings))

    result = row_by_row(asked, precision, answer)
    return replace(result, statistics={"cases": sum(counted)})


def by_cases(
    asked: Asked,
    groundwork: Groundwork | None = None,
    *,
    wanted: float,
    relaxed: float | None = None,
    whole: bool = True,
) -> tuple[Approximate, int]:
    """The bounds of queries with the same evidence, and how many cases they took.

    The work ends when no gap exceeds ``wanted``, or at a limit; the part of it with unknown choices
    ends at a gap of ``relaxed``, if given. With ``whole``, compiling comes first: it has a third of
    the time, and begins with the whole program.
    """
    groundwork = groundwork or Groundwork(asked.ground, asked.meaning, asked.watch)
    watch, lost = asked.watch, 0.0
    cases = Cases(asked, whole, groundwork)
    limit = cases.close_in(wanted, _part(watch, 1 / 3, BOUNDS.patience)) if whole else None
    found = cases.bounds
    if limit is not None or not whole:
        cases.whole = False  # that was tried already
        try:
            narrowed, lost = _narrowing(cases, groundwork, wanted, relaxed)
        except LimitReached as late:
            limit = late
        else:
            limit, found = None, narrowed(found)
            if relaxed is not None or widest(found) > wanted:
                limit = cases.close_in(wanted, watch, narrowed)
                found = narrowed(cases.bounds) if cases.rest else cases.bounds
    if limit is None and cases.rest == 0:
        possible = masses.evidence_mass(cases.masses, asked.meaning)
        lost_in_zero = cases.compiled == 1 and any(perhaps_positive(asked, b) for b in found)
        if lost_in_zero or not np.all(possible > 0):
            # The evidence is impossible, or a mass was lost in floating point; the exact engine
            # can tell which.
            return exactly(asked), 1
    lost = max(lost, float(cases.inconsistent.max(initial=0.0)))
    return Approximate(_answers(asked, found), lost, _stopped(limit, widest(found))), cases.compiled


def _narrowing(
    cases: Cases, groundwork: Groundwork, wanted: float, relaxed: float | None
) -> tuple[Callable[[list[Bound]], list[Bound]], float]:
    """A function that narrows the bounds of cases, and the inconsistent mass seen on the way.

    The function uses programs with unknown choices. If the choices do not determine all queries,
    half of the remaining time goes to the most probable total choices.
    """
    asked, watch = cases.asked, cases.asked.watch
    part = _part(watch, BOUNDS.first_try, 5 * BOUNDS.patience)
    goals = RelaxedBounds(asked, groundwork=groundwork)
    goals.close_in(wanted if relaxed is None else relaxed, part)
    if goals.applies:
        return goals.narrowed, 0.0
    solved, lost = opened(asked, wanted, _part(watch, 1 / 2, BOUNDS.patience))

    def narrowed(bounds: list[Bound]) -> list[Bound]:
        pairs = zip(goals.narrowed(bounds), solved, strict=True)
        return [one.narrowed(*other.ends) for one, other in pairs]

    return narrowed, lost


def _answers(asked: Asked, bounds: Sequence[Bound]) -> tuple[Answer, ...]:
    """The bounds of all queries, whose upper end is above 0 where a 0 may be due to rounding."""
    answers = []
    for query, bound in zip(asked.queries, bounds, strict=True):
        if perhaps_positive(asked, bound):
            bound = Bound(((bound.interval[0], SMALLEST),) * len(bound.ends), bound.value)
        answers.append(bound.answer(query.text))
    return tuple(answers)


def _stopped(limit: LimitReached | None, gap: float) -> tuple[Diagnostic, ...]:
    """The warning that a limit was reached, if there was one."""
    return () if limit is None else (stopped_early(limit.diagnostics[0].message, gap),)


def perhaps_positive(asked: Asked, bound: Bound) -> bool:
    """Whether bounds of 0 may belong to a probability that is too small for a double."""
    if bound.interval[1] >= SMALLEST:
        return False
    if log_least(asked.columns, asked.layout).min() < LOG_TINY:
        return True
    free = ~determined(asked.ground.rules, len(asked.ground.symbols))
    return asked.meaning.maxent and int(free.sum()) > BOUNDS.unmeasurable  # the shares of models


def over_intervals(
    asked: Asked, groundwork: Groundwork, *, wanted: float, most: int | None = None
) -> tuple[Approximate, int]:
    """The same as :func:`by_cases`, where probabilities are intervals.

    With ``most``, only so many total choices are considered, those that are most probable in the
    middle of the intervals. Raises :class:`InconsistentProgram` and :class:`ImpossibleEvidence` if
    a query has no answer.
    """
    watch, queries = asked.watch, asked.queries
    relaxing = _part(watch, BOUNDS.first_try, 5 * BOUNDS.patience)
    try:
        found = IntervalBounds(Cases(asked, False, groundwork))
        if most is None:
            relaxed = RelaxedBounds(asked, groundwork=groundwork)
    except LimitReached as late:
        nothing = unsure(asked.meaning)
        answers = tuple(nothing.answer(query.text) for query in queries)
        return Approximate(answers, 0.0, _stopped(late, nothing.gap)), 0
    if most is None:
        relaxed.close_in(wanted, relaxing)
        found.bounds = relaxed.narrowed(found.bounds)
    found.cases.only_total = most is not None
    stopped = None
    if most is not None or widest(found.bounds) > wanted:
        stopped = found.close_in(wanted, watch, math.inf if most is None else most)
    lost = float(found.cases.inconsistent.max(initial=0.0))
    warnings = _stopped(stopped, _widest(found.answers()))
    return Approximate(tuple(found.answers()), lost, warnings), found.cases.compiled


def _widest(answers: Sequence[Answer]) -> float:
    return max((float(np.max(a.gap)) for a in answers if a.gap is not None), default=0.0)


# --- what auto does at a limit --------------------------------------------------------------------


def not_exact(asked: Asked, limit: LimitReached, kept: float) -> EngineResult:
    """Certain intervals with estimates inside; at worst the interval from 0 to 1.

    ``limit`` stopped the exact engine; there are ``kept`` seconds left. If most probable values are
    wanted and none are found in that time, the limit is raised.
    """
    watch = asked.watch.within(0.9 * kept, asked.watch.report)
    groundwork = Groundwork(asked.ground, asked.meaning, watch)
    groups = by_evidence(asked.queries)
    maps = dict.fromkeys(q for q in asked.questions if isinstance(q, GroundMap))
    answers: dict[Question, AnyAnswer] = {}
    warnings: list[Diagnostic] = []
    lost, drawn, cases = 0.0, False, 0
    for place, question in enumerate(maps):
        share = watch.share(len(maps) - place + len(groups), watch.report)
        try:
            best = best_found(asked, question, share, groundwork)
        except LimitReached:
            best = None
        if best is None:
            raise limit
        answers[question] = best
    warnings += not_surely_best([a for a in answers.values() if isinstance(a, MapAnswer)])
    for place, queries in enumerate(groups):
        share = watch.share(len(groups) - place, watch.report)
        alone = replace(asked.with_questions(queries), watch=share)
        found, estimates, compiled = _found(alone, groundwork)
        framed = found.answers if estimates is None else map(_inside, estimates, found.answers)
        answers.update(zip(queries, framed, strict=True))
        warnings += found.warnings
        lost, cases = max(lost, found.inconsistent), cases + compiled
        drawn = drawn or estimates is not None
    gap = _widest([answer for answer in answers.values() if isinstance(answer, Answer)])
    if gap > 0:
        warnings.insert(0, _not_exact_warning(asked, limit, gap, 0.1 * kept))
    return EngineResult(
        tuple(answers[question] for question in asked.questions),
        "sample" if drawn else "bounds",
        lost,
        "about ",
        tuple(dict.fromkeys(warnings)),
        {"cases": cases},
    )


Estimates = Sequence[AnyAnswer] | None  # None: there was no time for any


def _found(asked: Asked, groundwork: Groundwork) -> tuple[Approximate, Estimates, int]:
    """Certain bounds of queries with the same evidence, estimates, and the number of cases."""
    watch = asked.watch
    seed = asked.method.seed
    known, compiled = Approximate(tuple(unknown_answers(asked)), 0.0, ()), 0
    timed = replace(asked, watch=_part(watch, BOUNDS.first_try))
    if asked.has_intervals and not asked.has_rows:
        known, compiled = over_intervals(timed, groundwork, wanted=0.0)
    try:
        if not (asked.has_rows or asked.has_intervals):
            known, compiled = by_cases(
                timed, groundwork, wanted=0.0, relaxed=BOUNDS.in_passing, whole=False
            )
        known = replace(known, warnings=())
        if not asked.has_rows and not _widest(known.answers):
            return known, None, compiled
        prepared = Prepared(asked, asked.queries, groundwork=groundwork)
        method = Method("sample", {"n": MANY, "gap": BOUNDS.in_passing, "seed": seed})
        result = sampled(replace(asked, method=method), [prepared])
    except LimitReached:
        return known, None, compiled
    notes = tuple(w for w in result.warnings if w.code != "stopped-early")
    return Approximate(known.answers, result.inconsistent, notes), result.answers, compiled


def _inside(estimate: object, sure: Answer) -> Answer:
    """The estimate clipped to the certain interval, together with both intervals."""
    assert isinstance(estimate, Answer)
    assert sure.interval is not None
    assert estimate.interval is not None
    ends = sure.interval

    def framed(number: AnswerNumber) -> AnswerNumber:
        clipped = np.clip(number, *ends)
        return clipped if np.ndim(number) else float(clipped)

    low, high = map(framed, estimate.interval)
    numbers = {"value": estimate.value, "lower": estimate.lower, "upper": estimate.upper}
    clipped: dict[str, Any] = {
        name: framed(number) for name, number in numbers.items() if number is not None
    }
    return replace(estimate, **clipped, interval=ends, gap=sure.gap, likely=(low, high))


def _not_exact_warning(asked: Asked, limit: LimitReached, gap: float, seconds: float) -> Diagnostic:
    """The warning that the answers are not exact; it describes the widest part if time allows."""
    widest_part = ""
    try:
        parts = circuits.plan(asked.ground, asked.meaning, watch=asked.watch.within(seconds))
        if parts:
            choices, width = parts[0].choices, parts[0].width
            widest_part = f"the widest part has {choices:,} choices and a width of {width}; "
    except Error:
        pass  # it is only a hint
    return Diagnostic(
        "not-exact",
        f"{limit.diagnostics[0].message} before the answers were exact: they are estimates "
        f"inside intervals that are sure, at most {gap:.6g} wide",
        help=f"{widest_part}raise the limit, or let it fail with --exact",
        severity="warning",
    )
