"""Sure bounds: the engine ``bounds``, and what ``auto`` does when exact answers take too long.

The program is compiled, whole or in cases (``cases``), and if that takes long also with some of its
choices unknown (``relaxed``). Where the choices do not determine what is asked, the most probable
total choices are solved one by one (``most_probable``). With intervals of probabilities, a search
among what is compiled bounds the answers.

``auto`` also draws samples of the cases that are left open, by chains if hardly any sample has the
evidence. If no case could be compiled, plain samples of the whole program give the estimates.

Most probable values (``#map``, ``#mpe``) are not a matter of samples or of a gap. So the engines
``sample`` and ``bounds`` leave them to ``auto``, which answers them exactly if the limits allow it,
and otherwise by the best values found and a bound of all others.
"""

from __future__ import annotations

import heapq
import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dpasp import circuits
from dpasp.circuits.join import Fallen
from dpasp.circuits.worlds import BLOCK
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
from dpasp.inference.bounds.most_probable import best_found, bounded, opened
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
from dpasp.inference.sampling.chains import chained, precise, reliable, width_text
from dpasp.inference.sampling.sample import by_evidence, numbered, sample, sampled
from dpasp.inference.sampling.situations import Groundwork
from dpasp.inference.sampling.stream import Prepared, SeenWorlds, Stream, outcomes
from dpasp.inference.sampling.tallies import Frame, Tally
from dpasp.inference.summed import answered_in_numbers
from dpasp.inference.tuning import BOUNDS, SAMPLING
from dpasp.limits import Watch
from dpasp.semantics import masses
from dpasp.semantics.dependencies import determined
from dpasp.semantics.leaves import Weights
from dpasp.semantics.masses import Array, Masses, Question
from dpasp.semantics.translate import Weighed

MANY = 1_000_000_000  # samples or states: more than there is ever time for
_CHAINS = Diagnostic(
    "chains",
    "hardly any sample is about the evidence: the estimate is from chains among worlds that "
    "satisfy it, and its interval of 95 % holds in the long run, not at any number of samples",
    help="raise the limit, or let it fail with --exact",
    severity="warning",
)


# --- the engines, which leave most probable values to auto ---------------------------------------


def _with_maps(engine: Callable[[Asked], EngineResult], asked: Asked) -> EngineResult:
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


# --- the engine bounds ----------------------------------------------------------------------------


def bounds(asked: Asked) -> EngineResult:
    """Sure bounds of the answers; the options are ``gap`` and ``nmodels``."""
    if isinstance(asked.ground, Weighed) and asked.ground.by_table:
        return as_bounds(compiled(asked))  # its models are enumerated: no parts to close in on
    gap, most = asked.method.real("gap"), asked.method.whole("nmodels")
    wanted = BOUNDS.gap if gap is None else gap
    if asked.has_intervals:
        try:  # The exact engine searches, and a limit leaves it with bounds.
            if most is None:
                return as_bounds(
                    compiled(replace(asked, watch=_part(asked.watch, BOUNDS.first_try)))
                )
        except LimitReached:
            pass  # there was no circuit in most of the time: the rest goes to parts of the program
        return _grouped(asked, "about ", partial(over_intervals, wanted=wanted, most=most))
    if most is not None:
        total = Outcomes(asked)
        result = row_by_row(asked, "at least ", lambda row: bounded(total, row, wanted, most))
        return replace(result, statistics={"total_choices": len(total)})
    exact = _in_numbers(asked)
    return exact or _grouped(asked, "at least ", partial(by_cases, wanted=wanted))


bounds_and_maps, sample_and_maps = partial(_with_maps, bounds), partial(_with_maps, sample)


def _in_numbers(asked: Asked) -> EngineResult | None:
    """The exact answers of a network with large tables; None if it is none, or a third of the
    time is not enough to sum it up."""
    timed = replace(asked, watch=_part(asked.watch, 1 / 3, BOUNDS.patience))
    try:
        evaluator = answered_in_numbers(timed)
        if evaluator is None:
            return None
        return as_bounds(answered(timed, evaluator, timed.watch.elapsed()))
    except LimitReached:
        return None


def _part(watch: Watch, share: float, otherwise: float | None = None) -> Watch:
    """A watch for a share of the time that is left; ``otherwise`` seconds where there is no limit.

    Without these, there is none for the part either.
    """
    left = watch.remaining()
    seconds = otherwise if left is None else share * left
    return watch if seconds is None else watch.within(seconds, watch.report)


def _grouped(
    asked: Asked, precision: str, find: Callable[[Asked, Groundwork], tuple[Approximate, int]]
) -> EngineResult:
    """The answers for every row, to the queries of each evidence together.

    ``find`` gives those to the queries of what is asked, and how many cases it took.
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
    asked: Asked, groundwork: Groundwork | None = None, *, wanted: float, whole: bool = True
) -> tuple[Approximate, int]:
    """The bounds of queries with one evidence; and how many cases they took.

    It ends when no gap is above ``wanted``, or at a limit. With ``whole``, the whole program is the
    first case to be tried.
    """
    groundwork = groundwork or Groundwork(asked.ground, asked.meaning, asked.watch)
    cases = Cases(asked, asked.queries, asked.weights, whole, groundwork)
    found, limit = _closed_in(cases, wanted, groundwork)
    if limit is None and cases.rest == 0:
        possible = masses.evidence_mass(cases.masses, asked.meaning)
        lost_in_zero = cases.compiled == 1 and any(perhaps_positive(asked, b) for b in found)
        if lost_in_zero or not np.all(possible > 0):
            # The evidence is impossible, or a mass is lost in floating point: the exact engine
            # finds out.
            exact = as_bounds(compiled(asked))
            answers = tuple(answer for answer in exact.answers if isinstance(answer, Answer))
            return Approximate(answers, exact.inconsistent, exact.warnings), 1
    warnings = _stopped(limit, widest(found))
    lost = float(cases.inconsistent.max(initial=0.0))
    return Approximate(_answers(asked, found), lost, warnings), cases.compiled


def _closed_in(
    cases: Cases, wanted: float, groundwork: Groundwork
) -> tuple[list[Bound], LimitReached | None]:
    """The bounds by cases, and where that takes long also by unknown choices.

    With the bounds comes the limit that was reached before the gap was as wanted, if one was.
    """
    watch = cases.asked.watch
    limit = cases.close_in(wanted, _part(watch, 1 / 3, BOUNDS.patience))
    if limit is None:
        return cases.bounds, None
    cases.whole = False  # to compile it whole was tried already
    relaxing = _part(watch, BOUNDS.relaxed, 5 * BOUNDS.patience)
    try:
        narrowed, _ = _narrowing(cases, groundwork, (wanted, relaxing), (wanted, watch))
    except LimitReached as late:
        return cases.bounds, late
    if widest(narrowed(cases.bounds)) <= wanted:
        return narrowed(cases.bounds), None
    limit = cases.close_in(wanted, watch, narrowed)
    return narrowed(cases.bounds) if cases.rest else cases.bounds, limit


def _narrowing(
    cases: Cases,
    groundwork: Groundwork,
    relaxing: tuple[float, Watch],
    solving: tuple[float, Watch],
) -> tuple[Callable[[list[Bound]], list[Bound]], float]:
    """What narrows the bounds of cases, and the inconsistent mass that was seen on the way.

    Programs with unknown choices do; where the choices do not determine what is asked, half of
    the time for ``solving`` goes to the most probable total choices. Both come with the gap at
    which they may stop.
    """
    asked, weights = cases.asked, cases.weights
    relaxed = RelaxedBounds(asked, asked.queries, weights, groundwork=groundwork)
    relaxed.close_in(*relaxing)
    if relaxed.applies:
        return relaxed.narrowed, 0.0
    wanted, watch = solving
    solved, lost = opened(asked, weights, wanted, _part(watch, 1 / 2, BOUNDS.patience))

    def narrowed(bounds: list[Bound]) -> list[Bound]:
        pairs = zip(relaxed.narrowed(bounds), solved, strict=True)
        return [one.joined(other) for one, other in pairs]

    return narrowed, lost


def _answers(asked: Asked, bounds: Sequence[Bound]) -> tuple[Answer, ...]:
    """The bounds of all queries as answers.

    Where 0 may not be the whole truth, the end is the smallest double.
    """
    answers = []
    for query, bound in zip(asked.queries, bounds, strict=True):
        if perhaps_positive(asked, bound):
            ends = (bound.interval[0], SMALLEST)
            numbers = bound.numbers if len(bound.numbers) == 1 else ends
            bound = Bound(numbers, ends, SMALLEST - ends[0], (ends, ends))
        answers.append(bound.answer(query.text))
    return tuple(answers)


def _stopped(limit: LimitReached | None, gap: float) -> tuple[Diagnostic, ...]:
    """The warning about the limit that was reached, if one was."""
    return () if limit is None else (stopped_early(limit.diagnostics[0].message, gap),)


def perhaps_positive(asked: Asked, bound: Bound) -> bool:
    """Whether bounds of 0 may be those of a probability below the range of doubles."""
    if bound.interval[1] >= SMALLEST:
        return False
    if log_least(asked.columns, asked.layout).min() < LOG_TINY:
        return True
    free = ~determined(asked.ground.rules, len(asked.ground.symbols))
    return asked.meaning.maxent and int(free.sum()) > BOUNDS.unmeasurable  # the shares of models


def over_intervals(
    asked: Asked, groundwork: Groundwork, *, wanted: float, most: int | None = None
) -> tuple[Approximate, int]:
    """The bounds of queries with one evidence where probabilities are intervals; and the cases.

    With ``most``, they come from so many total choices, the most probable ones in the middle of
    the intervals; otherwise from programs with unknown choices, and from cases. To compile the
    program whole is not tried. Raises :class:`InconsistentProgram` and
    :class:`ImpossibleEvidence` if it comes out that a query has no answer.
    """
    watch, queries = asked.watch, asked.queries
    relaxing = _part(watch, BOUNDS.relaxed, 5 * BOUNDS.patience)
    try:
        found = IntervalBounds(asked, queries, False, groundwork)
        if most is None:
            relaxed = RelaxedBounds(asked, queries, asked.weights, groundwork=groundwork)
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
    """The largest gap."""
    return max((float(np.max(a.gap)) for a in answers if a.gap is not None), default=0.0)


# --- what auto does at a limit --------------------------------------------------------------------


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
        warnings.insert(0, _warning(asked, limit, gap, 0.1 * kept))
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
    """What is sure of queries with one evidence, the estimates, and how many cases that took."""
    watch = asked.watch
    seed = asked.method.seed
    known, compiled = Approximate(tuple(unknown_answers(asked)), 0.0, ()), 0
    if asked.has_intervals and not asked.has_rows:
        timed = replace(asked, watch=_part(watch, BOUNDS.bounding, 0.0))
        known, compiled = over_intervals(timed, groundwork, wanted=0.0)
        known = replace(known, warnings=())
        if not _widest(known.answers):
            return known, None, compiled
    try:
        prepared = Prepared(asked, asked.queries, groundwork=groundwork)
        if not (asked.has_rows or asked.has_intervals):
            cases, known = _cases_in_time(asked, groundwork)
            compiled = cases.compiled
            if not cases.open or not any(answer.gap for answer in known.answers):
                return known, None, compiled
            if cases.closed:
                estimates, warnings = _estimated(Remainder(cases, prepared, seed, watch))
                return replace(known, warnings=warnings), estimates, compiled
        method = Method("sample", {"n": MANY, "gap": BOUNDS.in_passing, "seed": seed})
        result = sampled(replace(asked, method=method), [prepared])
    except LimitReached:
        return known, None, compiled
    notes = tuple(w for w in result.warnings if w.code != "stopped-early")
    return Approximate(known.answers, result.inconsistent, notes), result.answers, compiled


def _cases_in_time(asked: Asked, groundwork: Groundwork) -> tuple[Cases, Approximate]:
    """The cases of queries with one evidence, and what is sure."""
    watch = _part(asked.watch, BOUNDS.bounding, 0.0)
    cases = Cases(asked, asked.queries, asked.weights, False, groundwork)
    relaxing = _part(watch, BOUNDS.relaxed, 0.0)
    narrowed, lost = _narrowing(
        cases, groundwork, (BOUNDS.in_passing, relaxing), solving=(0.0, watch)
    )
    cases.close_in(0.0, watch, narrowed)  # exact, if that is possible
    lost = max(lost, float(cases.inconsistent.max(initial=0.0)))
    bounds = narrowed(cases.bounds) if cases.open else cases.bounds  # else they are exact
    return cases, Approximate(_answers(asked, bounds), lost, ())


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


def _inside(estimate: object, sure: Answer) -> Answer:
    """The estimate, clipped to the sure interval, with both intervals."""
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


def _warning(asked: Asked, limit: LimitReached, gap: float, seconds: float) -> Diagnostic:
    """The warning that the answers are not exact, with the program's widest part.

    Finding that may take so many seconds.
    """
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


# --- samples of the open cases --------------------------------------------------------------------


class Remainder:
    """Estimates for a program that is compiled in part: worlds are drawn from the open cases only.

    What the closed cases say is exact. The open ones are strata of known probability: a sample has
    one world of each, weighted by the probability of its stratum, so the mean of the samples
    estimates the open mass without bias (Rao-Blackwellisation). It varies less the more is closed,
    and is exact once everything is.
    """

    def __init__(self, cases: Cases, prepared: Prepared, seed: int, watch: Watch) -> None:
        self.cases, self.prepared, self.watch, self.seed = cases, prepared, watch, seed
        cases_drawn = strata(cases, BOUNDS.strata)
        seeds = np.random.SeedSequence(seed).generate_state(
            len(cases_drawn), np.uint64
        ) >> np.uint64(1)
        self.streams, shares = list[Stream](), list[float]()
        for fallen, stratum_seed in zip(cases_drawn, seeds.tolist(), strict=True):
            stream = Stream(prepared, fixed(cases, fallen), stratum_seed, watch)
            # The weight of no world is more than ``most``: a stratum is worth no more than that.
            share = cases.chance(fallen) * stream.most
            if share > 0:  # it may contradict the evidence
                self.streams.append(stream)
                shares.append(share)
        self.open = sum(shares)
        self._shares = [share / self.open for share in shares]
        self.worlds = self._rounds_drawn = self._blocks = 0
        self.tallies = self._tallies(set(cases_drawn))

    def draw(self, gap: float, most: float = math.inf, watch: Watch | None = None) -> bool:
        """Draw more samples; returns False if a limit stopped it.

        It ends when the answers are as precise as ``gap`` says, after ``most`` samples, or at a
        limit of the ``watch``; without a watch, at one of that which it was made with.
        """
        rounds, look = self._rounds_drawn, self._rounds_drawn * SAMPLING.look + 1.0
        limit = rounds + most
        for stream in self.streams:
            stream.watch = watch or self.watch
        try:
            for sample in self._drawn_on(most):
                for place, samples in enumerate(sample):
                    for i, tallies in enumerate(self.tallies):
                        tallies[place].add(samples[:, i])
                rounds += sample[0].shape[-1]
                self._rounds_drawn = rounds
                self.watch.report(self.worlds, None)
                if rounds >= limit:
                    return True
                if gap > 0 and rounds >= look:
                    look = rounds * SAMPLING.look
                    answers = self.answers()
                    self.watch.stage(f"estimate, {width_text(answers)}")
                    if precise(answers, gap):
                        return True
        except LimitReached:
            return False
        return True

    def answers(self) -> list[Answer]:
        """The estimates, with intervals of 95 %."""
        return [
            numbered(query.text, tallies, self.worlds, planned=False)
            for query, tallies in zip(self.cases.asked.queries, self.tallies, strict=True)
        ]

    def _tallies(self, drawn: set[Fallen]) -> list[list[Tally]]:
        """By query and number, a tally: closed cases outside of the strata are known masses."""
        first = len(self.cases.first)
        known = np.zeros_like(self.cases.known)
        for closed in self.cases.closed:
            if not any(closed.fallen[:end] in drawn for end in range(first, len(closed.fallen))):
                known += closed.masses
        masses = Masses.of(known)
        if self.cases.asked.meaning.maxent:
            sides = [(masses.qe, masses.e - masses.qe)]
        else:
            sides = [(masses.a, masses.d), (masses.b, masses.c)]
        return [
            [Tally(False, Frame(float(f[i]), max(0.0, float(a[i])), self.open)) for f, a in sides]
            for i in range(known.shape[1])
        ]

    def tells(self, width: float) -> bool:
        """Whether the interval of every number is at most so wide."""
        ends = (tally.interval(planned=False) for tallies in self.tallies for tally in tallies)
        return all(high - low <= width for low, high in ends)

    def _drawn_on(self, most: float) -> Iterator[list[Array]]:
        """Samples [2, queries, samples] for each number of an answer, in pieces."""
        number, piece = self._blocks, SAMPLING.piece if self.prepared.situations else BLOCK
        while self.streams:
            self._blocks = number + 1  # what a limit leaves of a block is not drawn again
            drawn = [stream.block(number) for stream in self.streams]
            start = 0
            while start < BLOCK:
                began, count = time.monotonic(), int(min(piece, most, BLOCK - start))
                part = slice(start, start + count)
                seen = [s.seen(d, part) for s, d in zip(self.streams, drawn, strict=True)]
                self.worlds += sum(worlds.count for worlds in seen)
                yield self._joined(seen)
                start, most = part.stop, max(1.0, most - count)
                if time.monotonic() - began < SAMPLING.quick:
                    piece = min(2 * piece, BLOCK)
            number += 1

    def _joined(self, worlds: Sequence[SeenWorlds]) -> list[Array]:
        """Samples of one world of each stratum, weighed by the probabilities of the strata."""
        meaning, queries = self.cases.asked.meaning, self.cases.asked.queries
        weighed = []
        for share, seen in zip(self._shares, worlds, strict=True):
            weights = share if seen.weights is None else share * seen.weights
            weighed.append([weights * number for number in outcomes(seen.known, meaning, queries)])
        return [sum(numbers[1:], numbers[0]) for numbers in zip(*weighed, strict=True)]


def strata(cases: Cases, most: int) -> list[Fallen]:
    """Cases that exclude each other and together hold every open case.

    There are about ``most``: where there are more open cases, some stay joined under a case that
    they were split from, those first under which least is closed. Closed cases in there are
    drawn from again. ``shut`` is the closed mass below each case of the tree.
    """
    first, shut = len(cases.first), defaultdict[Fallen, float](float)
    children, left = defaultdict[Fallen, set[Fallen]](set), set[Fallen]()
    for fallen, chance in (
        *((closed.fallen, cases.chance(closed.fallen)) for closed in cases.closed),
        *((fallen, 0.0) for fallen in cases.open),
    ):
        for end in range(first, len(fallen) + 1):
            shut[fallen[:end]] += chance
            if end > first:
                children[fallen[: end - 1]].add(fallen[:end])
    for fallen in cases.open:
        left.update(fallen[:end] for end in range(first, len(fallen) + 1))
    whole = [node for node in (cases.first,) if node in left]
    split = [(-shut[node], node) for node in whole if shut[node] > 0]
    untouched = [node for node in whole if not shut[node] > 0]
    while split and len(split) + len(untouched) < most:
        _, node = heapq.heappop(split)
        for child in sorted(children[node] & left):
            if shut[child] > 0:
                heapq.heappush(split, (-shut[child], child))
            else:
                untouched.append(child)
    return untouched + [node for _, node in split]


def fixed(cases: Cases, fallen: Fallen) -> Weights:
    """The weights [leaves] in a case: the choices that it fixes are certain."""
    weights = cases.weights.copy()
    for choice, value in fallen:
        leaves = cases.asked.layout.of(choice)
        weights[leaves] = 0.0
        weights[cases.asked.layout.starts[choice] + value] = 1.0
    return weights
