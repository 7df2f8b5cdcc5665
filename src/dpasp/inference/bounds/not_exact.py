"""What the engine ``auto`` does when exact answers take too long: sure bounds, and samples inside.

Queries with the same evidence share what can be prepared. Bounds come from programs with unknown
choices and from cases; what the cases leave open is sampled, by chains if hardly any sample has the
evidence. If no case could be compiled, plain samples of the whole program give the estimates.

Most probable values (``#map``, ``#mpe``) are not a matter of samples or of a gap. So the engines
``sample`` and ``bounds`` leave them to ``auto`` too, which answers them exactly if the limits
allow it, and otherwise by the best values found and a bound of all others.

>>> from dpasp.inference.asked import ask
>>> from dpasp.language import parse
>>> from dpasp.ground import ground
>>> from dpasp.semantics.meaning import Meaning
>>> text = "0.3::a. 0.6::b. c :- a. c :- b. #query a | c. #map a?, b? | c."
>>> result = bounds_and_maps(ask(ground(parse(text)), Meaning()))
>>> result.answers[0].gap, result.answers[1].assignment
(0.0, {'a': False, 'b': True})
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from dpasp import circuits
from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, Error, LimitReached
from dpasp.ground.program import GroundMap, GroundQuery
from dpasp.inference.answers import Answer, AnswerNumber, AnyAnswer, MapAnswer
from dpasp.inference.asked import Asked, EngineResult, Method
from dpasp.inference.bounds.bounds import bounds, not_zero
from dpasp.inference.bounds.cases import Cases
from dpasp.inference.bounds.most_probable import best_found, opened
from dpasp.inference.bounds.nothing_known import unknown_answers
from dpasp.inference.bounds.over_intervals import over_intervals
from dpasp.inference.bounds.remainder import Remainder
from dpasp.inference.bounds.unknown_choices import RelaxedBounds
from dpasp.inference.exact import auto, not_surely_best
from dpasp.inference.sampling.chains import chained, reliable
from dpasp.inference.sampling.sample import by_evidence, sample, sampled
from dpasp.inference.sampling.splitting import Groundwork
from dpasp.inference.sampling.stream import Prepared, Stream
from dpasp.inference.tuning import BOUNDS
from dpasp.limits import Watch
from dpasp.semantics.masses import Question

MANY = 1_000_000_000  # samples or states: more than there is ever time for
_CHAINS = Diagnostic(
    "chains",
    "hardly any sample is about the evidence: the estimate is from chains among worlds that "
    "satisfy it, and its interval of 95 % holds in the long run, not at any number of samples",
    help="raise the limit, or let it fail with --exact",
    severity="warning",
)


def bounds_and_maps(asked: Asked) -> EngineResult:
    """The answers of the engine ``bounds``."""
    return _answered(asked, bounds)


def sample_and_maps(asked: Asked) -> EngineResult:
    """The answers of the engine ``sample``."""
    return _answered(asked, sample)


def _answered(asked: Asked, engine: Callable[[Asked], EngineResult]) -> EngineResult:
    """The answers of the engine to queries, and of ``auto`` to the others, in their order."""
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


@dataclass(frozen=True, slots=True)
class _Found:
    """What bounds and samples say about some queries."""

    sure: list[Answer]
    estimates: Sequence[object] | None  # None: there was no time for any
    inconsistent: float = 0.0
    warnings: tuple[Diagnostic, ...] = ()
    cases: int = 0  # how many were compiled


def not_exact(asked: Asked, limit: LimitReached, kept: float) -> EngineResult:
    """Sure intervals with estimates inside; at worst the interval from 0 to 1.

    The ``limit`` is what stopped the exact engine, and ``kept`` how many seconds are left. Raises
    the limit if there is no time for most probable values that are asked for.
    """
    watch = asked.watch.within(0.9 * kept, asked.watch.report)
    groundwork = Groundwork(asked.ground, asked.meaning, watch)
    groups = by_evidence(asked.queries)
    maps = dict.fromkeys(q for q in asked.questions if isinstance(q, GroundMap))
    answers: dict[Question, AnyAnswer] = {}
    warnings: list[Diagnostic] = []
    lost, drawn, cases = 0.0, 0, 0
    for place, question in enumerate(maps):
        share = watch.share(len(maps) - place + len(groups), watch.report)
        best = _best(asked, question, share, groundwork)
        if best is None:
            raise limit
        answers[question] = best
    warnings += not_surely_best([a for a in answers.values() if isinstance(a, MapAnswer)])
    for place, queries in enumerate(groups):
        share = watch.share(len(groups) - place, watch.report)
        group = _found(asked, queries, share, groundwork)
        estimates = group.estimates
        framed = group.sure if estimates is None else map(_inside, estimates, group.sure)
        answers.update(zip(queries, framed, strict=True))
        warnings += group.warnings
        lost, cases = max(lost, group.inconsistent), cases + group.cases
        drawn += group.estimates is not None
    gaps = [a.gap for a in answers.values() if isinstance(a, Answer) and a.gap is not None]
    gap = max((float(np.max(gap)) for gap in gaps), default=0.0)
    if gap > 0:
        warnings.insert(0, _warning(asked, limit, gap, 0.1 * kept))
    return EngineResult(
        tuple(answers[question] for question in asked.questions),
        "sample" if drawn else "bounds",
        lost,
        "about ",
        tuple(dict.fromkeys(warnings)),
        {"cases": cases},
    )


def _best(
    asked: Asked, question: GroundMap, watch: Watch, groundwork: Groundwork
) -> MapAnswer | None:
    """The best values that there is time for; None if there is no time for any."""
    try:
        return best_found(asked, question, watch, groundwork)
    except LimitReached:
        return None


def _found(
    asked: Asked, queries: Sequence[GroundQuery], watch: Watch, groundwork: Groundwork
) -> _Found:
    """The bounds and estimates that there is time for, of queries with the same evidence."""
    timed = replace(asked.with_questions(queries), watch=watch)
    seed = asked.method.whole("seed")
    seed = secrets.randbits(63) if seed is None else seed
    known = _Found(unknown_answers(timed), None)
    if asked.has_intervals and not asked.has_rows:
        part = watch.within(BOUNDS.bounding * (watch.remaining() or 0.0), watch.report)
        found = over_intervals(timed, queries, 0.0, part, groundwork)
        known = _Found(found.answers, None, found.inconsistent, cases=found.cases)
        if not found.gap:
            return known
    try:
        prepared = Prepared(timed, queries, groundwork=groundwork)
        if asked.has_rows or asked.has_intervals:
            return _sampled(timed, known.sure, seed, prepared)
        cases, sure, lost = _closed_in(timed, groundwork)
        known = _Found(sure, None, lost, cases=cases.compiled)
        if not cases.open or not any(answer.gap for answer in sure):
            return known
        if not cases.closed:
            return _sampled(timed, sure, seed, prepared)
        estimates, warnings = _estimated(Remainder(cases, prepared, seed, watch))
    except LimitReached:
        return known
    return replace(known, estimates=estimates, warnings=warnings)


def _closed_in(asked: Asked, groundwork: Groundwork) -> tuple[Cases, list[Answer], float]:
    """The cases of queries with the same evidence, what is sure, and the inconsistent mass."""
    watch, queries, weights = asked.watch, asked.queries, asked.weights
    cases = Cases(asked, queries, weights, False, groundwork)
    part = watch.within(BOUNDS.bounding * (watch.remaining() or 0.0), watch.report)
    relaxed = RelaxedBounds(asked, queries, weights, groundwork=groundwork)
    relaxing = part.within(BOUNDS.relaxed * (part.remaining() or 0.0), watch.report)
    relaxed.close_in(BOUNDS.in_passing, relaxing)
    solved = None
    if not relaxed.applies:
        solved = opened(asked, weights, 0.0, part.share(2, watch.report))
    cases.close_in(0.0, part, relaxed.narrowed)  # exact, if that is possible
    lost = float(cases.inconsistent.max(initial=0.0))
    bounds = cases.bounds
    if cases.open:  # else they are exact
        bounds = relaxed.narrowed(bounds)
        if solved is not None:
            bounds, lost = solved.joined(bounds), max(lost, solved.inconsistent)
    sure = [not_zero(asked, b).answer(q.text) for q, b in zip(queries, bounds, strict=True)]
    return cases, sure, lost


def _estimated(rest: Remainder) -> tuple[Sequence[Answer], tuple[Diagnostic, ...]]:
    """Estimates from the open cases; from chains, where hardly any sample has the evidence."""
    watch, gap = rest.watch, BOUNDS.in_passing
    if rest.draw(gap, watch=watch.share(2, watch.report)):
        return rest.answers(), ()
    if rest.cases.asked.queries[0].evidence and not rest.tells(BOUNDS.tells):
        stream = Stream(rest.prepared, rest.cases.asked.weights, rest.seed, watch)
        found = chained(stream, states=MANY, gap=gap)
        if found is not None and all(map(reliable, found.answers)):
            return found.answers, (_CHAINS,)
    rest.draw(gap)
    return rest.answers(), ()


def _sampled(asked: Asked, sure: list[Answer], seed: int, prepared: Prepared) -> _Found:
    """Estimates from plain samples, where no case is closed."""
    method = Method("sample", {"n": MANY, "gap": BOUNDS.in_passing, "seed": seed})
    try:
        result = sampled(replace(asked, method=method), [prepared])
    except LimitReached:
        return _Found(sure, None)
    warnings = tuple(w for w in result.warnings if w.code != "stopped-early")
    return _Found(sure, result.answers, result.inconsistent, warnings)


def _inside(estimate: object, sure: Answer) -> Answer:
    """The estimate, clipped to the sure interval, with both intervals."""
    assert isinstance(estimate, Answer)
    assert sure.interval is not None
    assert estimate.interval is not None
    low, high = sure.interval

    def framed(number: AnswerNumber | None) -> AnswerNumber | None:
        if number is None:
            return None
        clipped = np.clip(number, low, high)
        return clipped if np.ndim(number) else float(clipped)

    ends = [framed(end) for end in estimate.interval]
    assert ends[0] is not None
    assert ends[1] is not None
    return replace(
        estimate,
        value=framed(estimate.value),
        lower=framed(estimate.lower),
        upper=framed(estimate.upper),
        interval=sure.interval,
        gap=sure.gap,
        likely=(ends[0], ends[1]),
    )


def _warning(asked: Asked, limit: LimitReached, gap: float, seconds: float) -> Diagnostic:
    """The warning that the answers are not exact, and what it would take."""
    return Diagnostic(
        "not-exact",
        f"{limit.diagnostics[0].message} before the answers were exact: they are estimates "
        f"inside intervals that are sure, at most {gap:.6g} wide",
        help=f"{_what_it_takes(asked, seconds)}raise the limit, or let it fail with --exact",
        severity="warning",
    )


def _what_it_takes(asked: Asked, seconds: float) -> str:
    """The width of the program's widest part in words, if it is found within so many seconds."""
    try:
        parts = circuits.plan(asked.ground, asked.meaning, watch=asked.watch.within(seconds))
    except Error:
        return ""
    if not parts:
        return ""
    return f"the widest part has {parts[0].choices:,} choices and a width of {parts[0].width}; "
