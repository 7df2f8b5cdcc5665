"""The engine ``sample``: answers from random worlds, with 95 % intervals.

If possible, choices are drawn so that the evidence is likely, and the worlds are weighted; other
evidence selects the worlds that count. If hardly any world satisfies it, or on request, Markov
chains are used (:mod:`dpasp.inference.sampling.chains`). The intervals are explained in
:mod:`dpasp.inference.sampling.tallies`.

A seed determines every world, and the shards into which worlds are divided do not depend on the
workers: the same seed gives the same answer for any number of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import field, replace
from typing import Any

import numpy as np

from dpasp.circuits.worlds import WORDS
from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, LimitReached, SizeLimit
from dpasp.ground.program import GroundQuery
from dpasp.inference.answers import Answer
from dpasp.inference.asked import Approximate, Asked, EngineResult, Method, row_by_row
from dpasp.inference.sampling.chains import chained, estimate, precise, width_text
from dpasp.inference.sampling.draws import Descent, ModelSource, descent, holds
from dpasp.inference.sampling.situations import Groundwork
from dpasp.inference.sampling.stream import Prepared, Stream, outcomes
from dpasp.inference.sampling.tallies import Tally
from dpasp.inference.tuning import EXACT, SAMPLING
from dpasp.limits import Watch
from dpasp.semantics.leaves import Weights
from dpasp.semantics.masses import Array
from dpasp.semantics.translate import Weighed
from dpasp.writing import counted


@dataclass(frozen=True, slots=True)
class Sampled:
    """The results of the worlds of a shard.

    ``samples`` has an array [2, queries, worlds] for each number of an answer: how much of each
    world is for the query and against it. If that is all or nothing, it only has the sums
    [2, queries, 1]. If a limit ``stopped`` the drawing, these are the first worlds of the shard.
    """

    count: int
    lost: int  # worlds without a model
    weight: float  # of the worlds that are for or against the query
    squares: float  # the sum of the squares of those weights
    samples: tuple[Array, ...]
    stopped: LimitReached | None = None


def shards(wanted: int, queries: int, slow: bool) -> Iterator[range]:
    """The numbers of the ``wanted`` worlds in shards; ``slow``: whether a solver is needed.

    >>> [len(shard) for shard in shards(20_000, 1, slow=False)][-3:]
    [1024, 2048, 1568]
    """
    first, most = SAMPLING.slow_shard if slow else SAMPLING.shard
    most = max(1, min(most, EXACT.held_numbers // max(1, queries)))
    begin = number = 0
    while begin < wanted:
        end = min(begin + min(first << min(number // SAMPLING.alike, 64), most), wanted)
        yield range(begin, end)
        begin, number = end, number + 1


@dataclass(frozen=True)
class DrawingWorlds:
    """The job of drawing worlds under weights [leaves], for queries with the same evidence."""

    asked: Asked
    queries: Sequence[GroundQuery]
    weights: Weights
    seed: int
    prepared: Prepared | None = field(default=None, compare=False)  # another process makes its own

    def __reduce__(self) -> tuple[Any, ...]:
        return DrawingWorlds, (self.asked, tuple(self.queries), self.weights, self.seed)

    def start(self, watch: Watch) -> Callable[[range, Watch], Sampled]:
        """The function that draws a shard."""
        asked = replace(self.asked, watch=watch)
        prepared = self.prepared or Prepared(asked, self.queries)
        stream = Stream(prepared, self.weights, self.seed, watch)

        def draw(shard: range, watch: Watch) -> Sampled:
            stream.watch = watch
            return _drawn(stream, shard)

        return draw


def _drawn(stream: Stream, shard: range) -> Sampled:
    """The worlds of a shard, as many as the watch allows."""
    prepared = stream.prepared
    meaning, queries, binary = prepared.asked.meaning, prepared.queries, prepared.binary
    ends = 1 if meaning.maxent else 2
    parts: list[list[Array]] = [[np.empty((2, len(queries), 0))] for _ in range(ends)]
    informative = [np.empty(0)]
    count = lost = 0
    stopped = None
    try:
        for seen in stream.worlds(len(shard), shard.start):
            numbers = outcomes(seen.known, meaning, queries)
            weights = np.ones(seen.count) if seen.weights is None else seen.weights
            for pieces, number in zip(parts, numbers, strict=True):
                weighted = number * weights
                pieces.append(weighted.sum(axis=2, keepdims=True) if binary else weighted)
            informative.append(weights * (numbers[0][:, 0].sum(axis=0) > 0))
            lost += int(np.count_nonzero(seen.lost))
            count += seen.count
    except LimitReached as limit:
        stopped = limit
    # Summed in one go: rounding must not depend on the sizes of the pieces, which depend on time.
    weights = np.concatenate(informative)
    samples = [np.concatenate(pieces, axis=2) for pieces in parts]
    if binary:
        samples = [sums.sum(axis=2, keepdims=True) for sums in samples]
    squares = float((weights**2).sum())
    return Sampled(count, lost, float(weights.sum()), squares, tuple(samples), stopped)


def sample(asked: Asked) -> EngineResult:
    """The sampled answers; the options are ``n``, ``seed``, ``gap`` and ``chains``."""
    ground = asked.ground
    if isinstance(ground, Weighed) and (ground.by_table or not asked.method.whole("chains")):
        drawn = _by_descent(asked)
        if drawn is not None:
            return drawn
    groundwork = Groundwork(asked.ground, asked.meaning, asked.watch)
    groups = by_evidence(asked.queries)
    return sampled(asked, [Prepared(asked, queries, groundwork=groundwork) for queries in groups])


def sampled(asked: Asked, groups: Sequence[Prepared]) -> EngineResult:
    """The sampled answers to prepared queries, one group for each evidence."""
    result = row_by_row(asked, "about ", lambda row: sampled_row(asked, groups, row))
    parts = (part for group in groups for part in group.situations)
    return replace(result, statistics={"situations": sum(map(len, parts))})


def _by_descent(asked: Asked) -> EngineResult | None:
    """The answers under weighted, from models drawn by weight; None if no circuit can be made.

    Since most total choices have no model, the models are drawn from a circuit of the evidence.
    """
    ground = asked.ground
    wanted, gap = asked.method.whole("n") or SAMPLING.samples, asked.method.real("gap")
    seed = asked.method.seed
    planned = gap is None and not _limited(asked)

    def row(weights: Weights) -> Approximate:
        answers: dict[GroundQuery, Answer] = {}
        notes: list[Diagnostic] = []
        for place, queries in enumerate(by_evidence(asked.queries)):
            generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(place,)))
            given = replace(ground, evidence=queries[0].evidence)
            alone = replace(asked, ground=given, weights=weights)
            drawing = descent(alone)
            if drawing is None:
                raise SizeLimit("there are too many models to draw from")
            tallies = [Tally(binary=True) for _ in queries]
            stopped = _count_models(
                drawing, ModelSource(alone), queries, tallies, wanted, gap, generator
            )
            done = tallies[0].count
            if stopped is not None:
                why = stopped.diagnostics[0].message
                said = f"{why}, after {done:,} of {counted(wanted, 'sample')}"
                notes.append(Diagnostic("stopped-early", said, severity="warning"))
            for query, tally in zip(queries, tallies, strict=True):
                answers[query] = numbered(query.text, [tally], done, planned)
        return Approximate(tuple(answers[q] for q in asked.queries), 0.0, tuple(notes))

    try:
        return row_by_row(asked, "", row)
    except SizeLimit:
        if isinstance(ground, Weighed) and ground.by_table:
            raise
        return None


def _count_models(
    drawing: Descent,
    source: ModelSource,
    queries: Sequence[GroundQuery],
    tallies: Sequence[Tally],
    wanted: int,
    gap: float | None,
    generator: np.random.Generator,
) -> LimitReached | None:
    """Count in how many random models each query holds; returns the limit that stopped it."""
    watch = drawing.asked.watch
    try:
        while tallies[0].count < wanted:
            count = min(SAMPLING.run, wanted - tallies[0].count)
            models = [source.of(choice).kept[0] for choice in drawing.draw(generator, count)]
            for query, tally in zip(queries, tallies, strict=True):
                held = np.array([holds(model, query.literals) for model in models])
                tally.add(np.stack([held, ~held]).astype(np.float64))
            watch.report(tallies[0].count, wanted)
            ends = [tally.interval(planned=False) for tally in tallies] if gap else []
            if gap is not None and all(high - low <= gap for low, high in ends):
                break
    except LimitReached as limit:
        if not tallies[0].count:
            raise
        return limit
    return None


def by_evidence(queries: Sequence[GroundQuery]) -> list[list[GroundQuery]]:
    """The queries in groups that have the same evidence."""
    groups: dict[object, list[GroundQuery]] = {}
    for query in queries:
        groups.setdefault(query.evidence, []).append(query)
    return list(groups.values())


class Estimates:
    """The results so far for queries with the same evidence."""

    def __init__(self, prepared: Prepared) -> None:
        self.prepared = prepared
        ends = 1 if prepared.asked.meaning.maxent else 2
        # For each query, one under maxent and two under credal.
        self.numbers = [[Tally(prepared.binary) for _ in range(ends)] for _ in self.queries]
        self.worlds = 0
        self.lost = 0  # worlds without a model
        self.weight = 0.0  # of the worlds that are for or against a query
        self.squares = 0.0  # the sum of the squares of these weights

    @property
    def queries(self) -> tuple[GroundQuery, ...]:
        return self.prepared.queries

    def add(self, sampled: Sampled) -> None:
        """Add the results of a shard."""
        for place, samples in enumerate(sampled.samples):
            for i, tallies in enumerate(self.numbers):
                tallies[place].add(samples[:, i])
        self.weight += sampled.weight
        self.squares += sampled.squares
        self.lost += sampled.lost
        self.worlds += sampled.count

    @property
    def effective(self) -> float:
        """How many samples of equal weight these are worth."""
        return self.weight**2 / self.squares if self.squares > 0 else 0.0

    def answers(self, planned: bool) -> list[Answer]:
        """The answers with their intervals; ``planned`` as for :meth:`Tally.interval`."""
        return [
            numbered(query.text, tallies, self.worlds, planned)
            for query, tallies in zip(self.queries, self.numbers, strict=True)
        ]


def numbered(query: str, tallies: Sequence[Tally], worlds: int, planned: bool) -> Answer:
    """The answer from the tallies of its numbers; ``worlds`` were drawn."""
    ends = [tally.interval(planned) for tally in tallies]
    values = [tally.value for tally in tallies]
    return replace(estimate(query, values, (ends[0][0], ends[-1][1])), samples=worlds)


def sampled_row(asked: Asked, groups: Sequence[Prepared], weights: Weights) -> Approximate:
    """The sampled answers under weights [leaves]."""
    method = asked.method
    wanted, gap, seed = method.whole("n") or SAMPLING.samples, method.real("gap"), method.seed
    answers: dict[GroundQuery, Answer] = {}
    warnings: list[Diagnostic] = []
    lost = 0.0
    for place, prepared in enumerate(groups):
        watch = asked.watch.share(len(groups) - place, asked.watch.report)
        timed = replace(asked, watch=watch)
        estimates = Estimates(prepared)
        stream = Stream(prepared, weights, seed, watch)
        found = _by_chains(method, stream, estimates) if method.whole("chains") else None
        if found is None:
            job = DrawingWorlds(timed, prepared.queries, weights, seed, prepared)
            stopped = _draw(job, estimates, wanted, gap)
            found = _by_chains(method, stream, estimates) if _hopeless(estimates) else None
        if found is None:
            # The number of samples is planned if it does not depend on what they are. Whether a
            # limit is reached may depend on that.
            planned = gap is None and not _limited(asked)
            notes = tuple(_warnings(estimates, stopped, wanted))
            found = Approximate(tuple(estimates.answers(planned)), 0.0, notes)
        answers.update(zip(prepared.queries, found.answers, strict=True))
        warnings += found.warnings
        lost = max(lost, _lost(asked, estimates, weights, seed))
    return Approximate(tuple(answers[q] for q in asked.queries), lost, tuple(warnings))


def _hopeless(estimates: Estimates) -> bool:
    """Whether, after enough samples, hardly any satisfies the evidence."""
    worlds = estimates.worlds
    rare = min(SAMPLING.few, SAMPLING.rare * worlds)
    told = estimates.queries[0].evidence or estimates.prepared.asked.meaning.weighted
    return worlds >= SAMPLING.seen and estimates.effective < rare and bool(told)


def _by_chains(method: Method, stream: Stream, estimates: Estimates) -> Approximate | None:
    """The answers from chains in place of samples; None if there are none."""
    chains, states = method.whole("chains"), method.whole("n")
    if not chains and states is not None and states <= SAMPLING.states:
        states = None  # so many independent samples would have been enough
    found = chained(stream, chains or WORDS, states, method.real("gap"))
    if found is None or chains:
        return found
    return replace(found, warnings=(_instead(estimates), *found.warnings))


def _instead(estimates: Estimates) -> Diagnostic:
    """The warning that the answer comes from chains."""
    said = ", ".join(map(str, estimates.queries[0].evidence))
    what = f"are about the evidence {said}" if said else "have a model"
    return Diagnostic(
        "chains",
        f"only about {estimates.effective:.2g} of {estimates.worlds:,} samples "
        f"{what}: the answer is from {WORDS} chains among worlds that satisfy "
        "it, and its interval holds in the long run, not at any number of samples",
        estimates.queries[0].span,
        "--engine auto answers exactly where it can; --engine bounds is sure",
        severity="warning",
    )


def _limited(asked: Asked) -> bool:
    """Whether a limit can stop the drawing."""
    limits = asked.watch.limits
    return limits.seconds is not None or limits.megabytes is not None


def _draw(
    job: DrawingWorlds, estimates: Estimates, wanted: int, gap: float | None
) -> LimitReached | None:
    """Add worlds until there are enough; returns the limit that stopped it."""
    look, watch = SAMPLING.look, job.asked.watch
    parts = shards(wanted, len(estimates.queries), slow=bool(estimates.prepared.situations))
    try:
        with closing(job.asked.pool.map(job, parts, watch)) as drawn:
            for sampled in drawn:
                estimates.add(sampled)
                watch.report(estimates.worlds, wanted)
                if sampled.stopped is not None:
                    raise sampled.stopped
                if estimates.worlds >= SAMPLING.hopeless and _hopeless(estimates):
                    break
                if gap is not None and estimates.worlds >= look:
                    look = estimates.worlds * SAMPLING.look
                    answers = estimates.answers(planned=False)
                    watch.stage(f"estimate, {width_text(answers)}")
                    if precise(answers, gap):
                        break
    except LimitReached as limit:
        if not estimates.worlds:
            raise
        return limit
    return None


def _lost(asked: Asked, estimates: Estimates, weights: Weights, seed: int) -> float:
    """The mass of the total choices without a model, estimated without the evidence."""
    prepared = estimates.prepared
    if asked.meaning.has_undefined_model or not prepared.can_be_inconsistent:
        return 0.0
    if not prepared.worlds.pushes and estimates.worlds:
        return estimates.lost / estimates.worlds
    lost = worlds = 0
    try:
        plain = Prepared(asked, prepared.queries, push=False, groundwork=prepared.groundwork)
        for seen in Stream(plain, weights, seed, asked.watch).worlds(SAMPLING.samples):
            lost += int(np.count_nonzero(seen.lost))
            worlds += seen.count
    except LimitReached:
        pass  # the worlds drawn so far have to do
    return lost / max(1, worlds)


def _warnings(
    estimates: Estimates, stopped: LimitReached | None, wanted: int
) -> Iterator[Diagnostic]:
    """The warnings that a limit stopped the drawing, and that too few samples count."""
    done = estimates.worlds
    if stopped is not None:
        why = stopped.diagnostics[0].message
        message = f"{why}, after {done:,} of {counted(wanted, 'sample')}"
        yield Diagnostic("stopped-early", message, severity="warning")
    said, span = ", ".join(map(str, estimates.queries[0].evidence)), estimates.queries[0].span
    help = "take more samples, or use --engine auto, which answers exactly where it can"
    if not estimates.weight:
        some = said and estimates.lost < done
        what = f"satisfies the evidence {said}" if some else "has a model"
        message = f"none of {counted(done, 'sample')} {what}: that says nothing about the answer"
        yield Diagnostic("unsampled", message, span, help, severity="warning")
    elif said and estimates.effective < min(SAMPLING.few, done / 10):
        about = f"only about {estimates.effective:.0f} of the {done:,}"
        message = f"{about} samples are about the evidence {said}"
        yield Diagnostic("few-samples", message, span, help, severity="warning")
