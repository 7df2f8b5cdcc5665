"""Answers from random worlds, with intervals that hold the exact ones in 95 %.

Evidence is pushed into the choices where that can be, and weighs the worlds; elsewhere only
the worlds that satisfy it count. How the intervals are computed is
explained in :mod:`dpasp.inference.sampling.intervals`.

>>> from dpasp.inference.asked import ask
>>> from dpasp.language import parse
>>> from dpasp.logic import ground
>>> from dpasp.semantics.meaning import Meaning
>>> asked = ask(ground(parse("0.3::a. b :- not a. #query b.")), Meaning())
>>> from dataclasses import replace
>>> from dpasp.inference.method import method
>>> seeded = method(asked.ground.program, "sample", {"n": 1000, "seed": 1})
>>> (answer,) = sample(replace(asked, method=seeded)).answers
>>> answer.lower, answer.samples, answer.interval[0] < 0.7 < answer.interval[1]
(0.723, 1000, True)
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace

import numpy as np

from dpasp.errors import Diagnostic, LimitReached
from dpasp.inference.answers import Answer
from dpasp.inference.asked import Asked
from dpasp.inference.engines.outcomes import check_maps
from dpasp.inference.engines.result import Approximate, EngineResult, row_by_row
from dpasp.inference.sampling.shards import Sampled, Samples, shards
from dpasp.inference.sampling.stream import Prepared, Stream
from dpasp.inference.sampling.tally import Tally
from dpasp.logic.program import GroundQuery
from dpasp.semantics.leaves import Weights

SAMPLES = 10_000
FEW = 100  # effective samples below which an estimate rests on little
LOOK = 1.5  # how many times the samples of the last look at the precision the next one has


def sample(asked: Asked) -> EngineResult:
    """The sampled answers; the options are ``n``, ``seed`` and ``gap``."""
    check_maps(asked.ground, "the engine sample")
    groups = [_Group(asked, queries) for queries in by_evidence(asked.queries)]
    result = row_by_row(asked, "about ", lambda row: _sampled(asked, groups, row))
    parts = (part for group in groups for part in group.prepared.situations)
    return replace(result, statistics={"situations": sum(map(len, parts))})


def by_evidence(queries: Sequence[GroundQuery]) -> list[list[GroundQuery]]:
    """The queries with the same evidence together."""
    groups: dict[object, list[GroundQuery]] = {}
    for query in queries:
        groups.setdefault(query.evidence, []).append(query)
    return list(groups.values())


@dataclass
class _Group:
    """Queries with the same evidence."""

    asked: Asked
    queries: list[GroundQuery]
    prepared: Prepared = field(init=False)

    def __post_init__(self) -> None:
        self.prepared = Prepared(self.asked, self.queries)


@dataclass
class Estimates:
    """What the worlds said so far about queries with the same evidence."""

    asked: Asked
    queries: list[GroundQuery]
    prepared: Prepared
    numbers: list[list[Tally]] = field(init=False)  # by query: one under maxent, two under credal
    worlds: int = 0
    lost: float = 0.0  # worlds without a model
    weight: float = 0.0
    squares: float = 0.0

    def __post_init__(self) -> None:
        ends = 1 if self.asked.meaning.maxent else 2
        binary = self.prepared.binary
        self.numbers = [[Tally(binary) for _ in range(ends)] for _ in self.queries]

    def add(self, sampled: Sampled) -> None:
        """Add what the worlds of a shard say."""
        for place, samples in enumerate(sampled.samples):
            for i, tallies in enumerate(self.numbers):
                tallies[place].add(samples[:, i])
        self.weight += sampled.weight
        self.squares += sampled.squares
        self.lost += sampled.lost
        self.worlds += sampled.count

    @property
    def effective(self) -> float:
        """How many samples of equal weight would say as much."""
        return self.weight**2 / self.squares if self.squares > 0 else 0.0

    def answers(self, planned: bool) -> list[Answer]:
        """The answers with their intervals."""
        return [
            numbered(query.text, tallies, self.worlds, planned)
            for query, tallies in zip(self.queries, self.numbers, strict=True)
        ]


def numbered(query: str, tallies: Sequence[Tally], worlds: int, planned: bool) -> Answer:
    """The answer that the tallies of its numbers come to, after so many worlds."""
    ends = [tally.interval(planned) for tally in tallies]
    answer = Answer(query, interval=(ends[0][0], ends[-1][1]), samples=worlds)
    if len(tallies) == 1:
        value = tallies[0].value
        return replace(answer, value=0.5 if value is None else value)
    lower, upper = (tally.value for tally in tallies)
    said = lower is not None or upper is not None
    # Where nothing says that q can fail given e it is certain, and the reverse.
    lower, upper = (1.0 if lower is None else lower, 0.0 if upper is None else upper)
    return replace(answer, lower=lower if said else 0.0, upper=upper if said else 1.0)


def _sampled(asked: Asked, groups: Sequence[_Group], weights: Weights) -> Approximate:
    """The sampled answers under weights [leaves]."""
    method = asked.method
    wanted, gap, seed = method.whole("n") or SAMPLES, method.real("gap"), method.whole("seed")
    seed = secrets.randbits(63) if seed is None else seed
    answers: dict[GroundQuery, Answer] = {}
    warnings: list[Diagnostic] = []
    lost = 0.0
    for place, group in enumerate(groups):
        watch = asked.watch.share(len(groups) - place, asked.watch.report)
        job = Samples(replace(asked, watch=watch), group.queries, weights, seed, group.prepared)
        estimates = Estimates(asked, group.queries, group.prepared)
        stopped = _draw(job, estimates, wanted, gap)
        # Whether a limit is reached may depend on what the worlds are.
        planned = gap is None and not _limited(asked)
        answers.update(zip(group.queries, estimates.answers(planned), strict=True))
        warnings += _warnings(estimates, stopped, wanted)
        lost = max(lost, _lost(asked, estimates, weights, seed))
    return Approximate(tuple(answers[q] for q in asked.queries), lost, tuple(warnings))


def _limited(asked: Asked) -> bool:
    limits = asked.watch.limits
    return limits.seconds is not None or limits.megabytes is not None


def _draw(
    job: Samples, estimates: Estimates, wanted: int, gap: float | None
) -> LimitReached | None:
    """Add worlds until there are enough of them; the limit that stopped it, if one did."""
    look, watch = LOOK, job.asked.watch
    parts = shards(wanted, len(estimates.queries), slow=bool(estimates.prepared.situations))
    try:
        with closing(job.asked.pool.map(job, parts, watch)) as drawn:
            for sampled in drawn:
                estimates.add(sampled)
                watch.report(estimates.worlds, wanted)
                if sampled.stopped is not None:
                    raise sampled.stopped
                if gap is not None and estimates.worlds >= look:
                    look = estimates.worlds * LOOK
                    if precise(estimates.answers(planned=False), gap):
                        break
    except LimitReached as limit:
        if not estimates.worlds:
            raise
        return limit
    return None


def precise(answers: Sequence[Answer], gap: float) -> bool:
    """Whether no end of an interval is further than ``gap / 2`` from its number."""
    return all(
        abs(float(end) - float(number)) <= gap / 2
        for answer in answers
        for end, number in zip(
            answer.interval or (), (answer.numbers[0], answer.numbers[-1]), strict=True
        )
    )


def _lost(asked: Asked, estimates: Estimates, weights: Weights, seed: int) -> float:
    """The mass of the total choices without a model, estimated without any evidence."""
    prepared = estimates.prepared
    if asked.meaning.has_undefined_model or not prepared.can_be_inconsistent:
        return 0.0
    if not prepared.worlds.pushes:
        return estimates.lost / estimates.worlds
    lost = worlds = 0
    try:
        plain = Prepared(asked, estimates.queries, push=False)
        for seen in Stream(plain, weights, seed, asked.watch).worlds(SAMPLES):
            lost += int(np.count_nonzero(seen.lost))
            worlds += seen.count
    except LimitReached:
        pass  # with what there is by then
    return lost / max(1, worlds)


def _warnings(
    estimates: Estimates, stopped: LimitReached | None, wanted: int
) -> Iterator[Diagnostic]:
    done = estimates.worlds
    if stopped is not None:
        message = f"{stopped.diagnostics[0].message}, after {done:,} of {wanted:,} samples"
        yield Diagnostic("stopped-early", message, severity="warning")
    said = ", ".join(map(str, estimates.queries[0].evidence))
    if not estimates.weight:
        what = f"satisfies the evidence {said}" if said else "has a model"
        if estimates.lost == done:
            what = "has a model"
        yield Diagnostic(
            "unsampled",
            f"none of the {done:,} samples {what}: they say nothing about the answer",
            estimates.queries[0].span,
            "take more samples, or use --engine auto, which answers exactly where it can",
            severity="warning",
        )
    elif said and estimates.effective < min(FEW, done / 10):
        yield Diagnostic(
            "few-samples",
            f"only about {estimates.effective:.0f} of the {done:,} samples are about the "
            f"evidence {said}",
            estimates.queries[0].span,
            "take more samples, or use --engine auto, which answers exactly where it can",
            severity="warning",
        )
