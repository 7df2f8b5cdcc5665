"""Answers from chains, with R-hat and the effective number of samples to judge them by.

>>> from dpasp.inference.asked import ask
>>> from dpasp.language import parse
>>> from dpasp.logic import ground
>>> from dpasp.semantics.meaning import Meaning
>>> text = "0.3::a. 0.5::b. 0.001::c :- a, b. 0.0001::c :- not a. #query a | c."
>>> asked = ask(ground(parse(text)), Meaning())
>>> from dpasp.inference.sampling.stream import Prepared
>>> stream = Stream(Prepared(asked, asked.queries), asked.weights, 1, asked.watch)
>>> found = chained(stream, Wanted(chains=4, states=800))
>>> (answer,) = found.answers
>>> answer.samples, answer.chains, answer.r_hat < 1.1, answer.interval[0] < 15 / 22
(800, 4, True, True)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from dpasp.circuits.worlds import WORDS
from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, LimitReached
from dpasp.inference.answers import Answer
from dpasp.inference.sampling.chains import Walk
from dpasp.inference.sampling.mixing import AGREE, ENOUGH, Mixture
from dpasp.inference.sampling.stream import Stream
from dpasp.logic.program import GroundQuery

STATES = 20_000  # the most where no number is given
FIRST_LOOK = 32  # sweeps after which it is first asked whether they are enough
LOOK = 1.3  # the next time is after so many times the sweeps
LEAST = 8  # with fewer sweeps, chains say nothing


@dataclass(frozen=True, slots=True)
class Wanted:
    """How many chains, and when they have done enough.

    That is after so many ``states`` of all chains together; if that is None, as soon as the
    chains agree and have states enough. With a ``gap``, they must also be so precise that no end
    of an interval is further than half the gap from its number.
    """

    chains: int = WORDS
    states: int | None = None
    gap: float | None = None


@dataclass(frozen=True, slots=True)
class Chained:
    """The answers, the warnings about them, and whether the chains are good enough to rely on."""

    answers: tuple[Answer, ...]
    warnings: tuple[Diagnostic, ...]
    good: bool


def chained(stream: Stream, wanted: Wanted) -> Chained | None:
    """What chains say about the queries of a stream, within the limits of its watch.

    None if no world was found in which the evidence holds, or there was no time for chains.
    """
    try:
        walk = Walk(stream, wanted.chains)
        if not walk.start():
            return None
    except LimitReached:
        return None
    stopped = _walked(walk, wanted)
    if walk.sweeps < LEAST:
        return None
    answers = _answers(walk)
    mixtures = [mixture for numbers in walk.mixtures() for mixture in numbers]
    warnings = tuple(_warnings(walk, mixtures, stopped))
    return Chained(answers, warnings, all(mixture.good for mixture in mixtures))


def _walked(walk: Walk, wanted: Wanted) -> LimitReached | None:
    """Move the chains until they have done enough; the limit that stopped them, if one did."""
    states = wanted.states or STATES
    watch, look = walk.stream.watch, float(FIRST_LOOK)
    try:
        while walk.states < states or walk.sweeps < LEAST:
            walk.sweep()
            watch.report(walk.states, states)
            if walk.sweeps >= look:
                look = walk.sweeps * LOOK
                answers = _answers(walk)
                watch.stage(f"chains, {_widest(answers):.2g} wide")
                if _enough(walk, answers, wanted):
                    break
    except LimitReached as limit:
        return limit
    return None


def _enough(walk: Walk, answers: Sequence[Answer], wanted: Wanted) -> bool:
    """Whether the chains may stop before they have visited all the states wanted."""
    good = all(mixture.good for numbers in walk.mixtures() for mixture in numbers)
    if wanted.gap is None:
        return good and wanted.states is None
    return good and precise(answers, wanted.gap)


def precise(answers: Sequence[Answer], gap: float) -> bool:
    """Whether no end of an interval is further than ``gap / 2`` from its number."""
    return all(
        abs(float(end) - float(number)) <= gap / 2
        for answer in answers
        for end, number in zip(
            answer.interval or (), (answer.numbers[0], answer.numbers[-1]), strict=True
        )
    )


def _widest(answers: Sequence[Answer]) -> float:
    ends = (answer.interval for answer in answers if answer.interval is not None)
    return max(float(high) - float(low) for low, high in ends)


def _answers(walk: Walk) -> tuple[Answer, ...]:
    queries = walk.stream.prepared.queries
    return tuple(_answer(walk, *pair) for pair in zip(queries, walk.mixtures(), strict=True))


def _answer(walk: Walk, query: GroundQuery, numbers: Sequence[Mixture]) -> Answer:
    """The answer to a query from what the chains say about each of its numbers."""
    answer = estimate(
        query.text,
        [mixture.value for mixture in numbers],
        (numbers[0].interval[0], numbers[-1].interval[1]),
    )
    return replace(
        answer,
        samples=walk.states,
        chains=walk.chains,
        effective=min(mixture.effective for mixture in numbers),
        r_hat=max(mixture.r_hat for mixture in numbers),
    )


def estimate(query: str, values: Sequence[float | None], interval: tuple[float, float]) -> Answer:
    """An answer with one number (maxent) or two (credal); None where no sample was about it."""
    answer = Answer(query, interval=interval)
    if len(values) == 1:
        (value,) = values
        return replace(answer, value=0.5 if value is None else value)
    lower, upper = values
    said = lower is not None or upper is not None
    # lower = a / (a + d) is 1 where no world counts for a or d, upper = b / (b + c) then is 0.
    lower, upper = (1.0 if lower is None else lower, 0.0 if upper is None else upper)
    return replace(answer, lower=lower if said else 0.0, upper=upper if said else 1.0)


def _warnings(
    walk: Walk, mixtures: Sequence[Mixture], stopped: LimitReached | None
) -> Iterator[Diagnostic]:
    """The warnings about a limit that stopped the chains, and about chains that do not agree."""
    if stopped is not None:
        message = f"{stopped.diagnostics[0].message}, after {walk.states:,} states of chains"
        yield Diagnostic("stopped-early", message, severity="warning")
    agreement = max(mixture.r_hat for mixture in mixtures)
    effective = min(mixture.effective for mixture in mixtures)
    if agreement <= AGREE and effective >= ENOUGH:
        return
    yield Diagnostic(
        "slow-chains",
        f"the chains are not to be relied on: R-hat is {agreement:.4g} ({AGREE} or less is good), "
        f"and their states are worth {effective:.0f} independent ones ({ENOUGH} or more are "
        "good): the interval may miss the answer",
        walk.stream.prepared.queries[0].span,
        "take more samples, or use --engine auto, which answers exactly where it can, or "
        "--engine bounds, which is sure",
        severity="warning",
    )
