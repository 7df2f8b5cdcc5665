"""The engines ``sample`` and ``bounds`` for programs that also ask ``#map`` or ``#mpe``.

Most probable values are not a matter of samples or of a gap: they are answered as ``auto`` answers
them, exactly where limits allow it, and else by the best values found and a bound of all others.

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
from dpasp.inference.answers import Answer, AnswerNumber, MapAnswer
from dpasp.inference.asked import Asked, Method
from dpasp.inference.bounds.auto import auto
from dpasp.inference.bounds.best_found import best_found
from dpasp.inference.bounds.bounds import bounds, close_in, not_zero
from dpasp.inference.bounds.cases import Cases, forced_by_evidence
from dpasp.inference.bounds.formulas import bounds_of, unsure_answers
from dpasp.inference.bounds.most_probable import opened
from dpasp.inference.bounds.over_intervals import over_intervals
from dpasp.inference.bounds.remainder import Remainder
from dpasp.inference.bounds.unknown_choices import RelaxedBounds
from dpasp.inference.exact import not_surely_best
from dpasp.inference.result import EngineResult
from dpasp.inference.sampling.chains import Wanted, chained
from dpasp.inference.sampling.sample import by_evidence, sample
from dpasp.inference.sampling.stream import Prepared, Stream
from dpasp.limits import Watch
from dpasp.semantics.masses import Question

CASES = 0.65  # this share of the time is for bounds, the rest for samples
RELAXED = 0.7  # this share of the time for bounds is for those with unknown choices
WITHIN = 0.7  # this share of all time is for bounds where probabilities are intervals
DRAWN = 0.5  # after this share of the time for samples,
TELLING = 0.1  # chains are tried if the interval of a number is wider than this
GAP = 0.001  # samples go on until the time is over, or they are so precise
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
    groups = by_evidence(asked.queries)
    maps = dict.fromkeys(q for q in asked.questions if isinstance(q, GroundMap))
    answers: dict[Question, Answer | MapAnswer] = {}
    warnings: list[Diagnostic] = []
    lost, drawn, cases = 0.0, 0, 0
    for place, question in enumerate(maps):
        best = _best(asked, question, watch.share(len(maps) - place + len(groups), watch.report))
        if best is None:
            raise limit
        answers[question] = best
    warnings += not_surely_best([a for a in answers.values() if isinstance(a, MapAnswer)])
    for place, queries in enumerate(groups):
        group = _found(asked, queries, watch.share(len(groups) - place, watch.report))
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


def _best(asked: Asked, question: GroundMap, watch: Watch) -> MapAnswer | None:
    """The best values that there is time for; None if there is no time for any."""
    try:
        return best_found(asked, question, watch)
    except LimitReached:
        return None


def _found(asked: Asked, queries: Sequence[GroundQuery], watch: Watch) -> _Found:
    """The bounds and estimates that there is time for, of queries with the same evidence."""
    timed = replace(asked.with_questions(queries), watch=watch)
    seed = asked.method.whole("seed")
    seed = secrets.randbits(63) if seed is None else seed
    if asked.has_rows:
        return _sampled(timed, unsure_answers(timed), seed)
    if asked.has_intervals:
        part = watch.within(WITHIN * (watch.remaining() or 0.0), watch.report)
        found = over_intervals(timed, queries, 0.0, part)
        if not found.gap:
            return _Found(found.answers, None, found.inconsistent, cases=found.cases)
        return _sampled(timed, found.answers, seed)
    try:
        prepared = Prepared(timed, queries)
        cases, sure, lost = _closed_in(timed, prepared)
    except LimitReached:
        return _Found(unsure_answers(timed), None)
    known = _Found(sure, None, lost, cases=cases.compiled)
    if not cases.open or not any(answer.gap for answer in sure):
        return known
    if not cases.closed:
        return _sampled(timed, sure, seed)
    try:
        estimates, warnings = _estimated(Remainder(cases, prepared, seed, watch))
    except LimitReached:
        return known
    return replace(known, estimates=estimates, warnings=warnings)


def _closed_in(asked: Asked, prepared: Prepared) -> tuple[Cases, list[Answer], float]:
    """The cases of queries with the same evidence, what is sure, and the inconsistent mass."""
    watch, queries, weights = asked.watch, asked.queries, asked.weights
    cases = Cases(asked, queries, weights, False, _forced(asked, prepared))
    part = watch.within(CASES * (watch.remaining() or 0.0), watch.report)
    relaxed = RelaxedBounds(asked, queries, weights)
    relaxed.close_in(GAP, part.within(RELAXED * (part.remaining() or 0.0), watch.report))
    solved = None
    if not relaxed.applies:
        solved = opened(asked, weights, 0.0, part.share(2, watch.report))
    close_in(cases, 0.0, part, relaxed)  # exact, if that is possible
    lost = float(cases.inconsistent.max(initial=0.0))
    bounds = bounds_of(cases.masses, asked.meaning, cases.rest)
    if cases.open:  # else they are exact
        bounds = relaxed.narrowed(bounds)
        if solved is not None:
            bounds, lost = solved.joined(bounds), max(lost, solved.inconsistent)
    sure = [not_zero(asked, b).answer(q.text) for q, b in zip(queries, bounds, strict=True)]
    return cases, sure, lost


def _estimated(rest: Remainder) -> tuple[Sequence[Answer], tuple[Diagnostic, ...]]:
    """Estimates from the open cases; from chains, where hardly any sample has the evidence."""
    watch = rest.watch
    part = watch.within(DRAWN * (watch.remaining() or 0.0), watch.report)
    if rest.draw(GAP, watch=part):
        return rest.answers(), ()
    if rest.cases.asked.queries[0].evidence and not rest.tells(TELLING):
        stream = Stream(rest.prepared, rest.cases.asked.weights, rest.seed, watch)
        from_chains = chained(stream, Wanted(states=MANY, gap=GAP))
        if from_chains is not None and from_chains.good:
            return from_chains.answers, (_CHAINS,)
    rest.draw(GAP)
    return rest.answers(), ()


def _forced(asked: Asked, prepared: Prepared) -> tuple[tuple[int, int], ...]:
    """The values that choices must have for the evidence to hold."""
    return forced_by_evidence(asked, prepared.definitions, prepared.evidence, asked.weights)


def _sampled(asked: Asked, sure: list[Answer], seed: int) -> _Found:
    """Estimates from plain samples, where no case is closed."""
    method = Method("sample", {"n": MANY, "gap": GAP, "seed": seed})
    try:
        result = sample(replace(asked, method=method))
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
