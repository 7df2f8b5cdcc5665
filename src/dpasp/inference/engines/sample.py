"""Answers by sampling total choices, with intervals that hold the exact ones in 95 %.

Draws are independent and equal ones are solved once; evidence is conditioned on by
rejection. Under credal the bounds a / (a + d) and b / (b + c) are proportions, and so
is the answer under maxent if all models of a total choice agree: Wilson's interval.
Otherwise qe / e is a ratio of means, and its interval comes from the delta method.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpasp.errors import Diagnostic, InferenceError, LimitReached
from dpasp.inference.answers import Answer
from dpasp.inference.asked import Asked
from dpasp.inference.engines.outcomes import Outcomes, check_questions
from dpasp.inference.engines.result import Approximate, EngineResult, row_by_row
from dpasp.inference.method import Method
from dpasp.logic.program import GroundQuery
from dpasp.semantics import masses
from dpasp.semantics.leaves import Weights
from dpasp.semantics.masses import Masses
from dpasp.semantics.total_choices import TotalChoice, draw

SAMPLES = 10_000
BLOCK = 500  # draws between two looks at the precision
QUANTILE = 1.959963984540054  # of the normal distribution, for 95 %

Ends = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Drawn:
    """The distinct total choices that were drawn: how often, and their outcomes."""

    counts: NDArray[np.float64]  # [distinct]
    masses: Masses  # [queries, distinct]


def sample(asked: Asked) -> EngineResult:
    """The sampled answers; the options are ``n``, ``seed`` and ``gap``."""
    check_questions(asked.ground, "the engine sample")
    outcomes = Outcomes(asked)
    found = row_by_row(asked, "about ", lambda row: _sample(outcomes, row, asked.method))
    return replace(found, statistics={"total_choices": len(outcomes)})


def _sample(outcomes: Outcomes, weights: Weights, method: Method) -> Approximate:
    """The sampled answers under weights [leaves]."""
    wanted, gap = method.whole("n") or SAMPLES, method.real("gap")
    generator = np.random.default_rng(method.whole("seed"))
    seen: Counter[TotalChoice] = Counter()
    stopped: LimitReached | None = None
    done = 0
    while done < wanted and stopped is None:
        for choice in draw(generator, weights, outcomes.starts, min(BLOCK, wanted - done)):
            try:
                outcomes.watch.check()  # also where all total choices are known
                outcomes.of(choice)
            except LimitReached as limit:
                if not done:
                    raise
                stopped = limit
                break
            seen[choice] += 1
            done += 1
        outcomes.watch.report(done, wanted)
        if gap is not None and done < wanted and _precise(outcomes, seen, gap):
            break
    drawn = _drawn(outcomes, seen)
    answers = _answers(outcomes, drawn, done)
    lost = 0.0
    if outcomes.queries:
        lost = float(drawn.counts @ drawn.masses.inconsistent[0]) / done
    return Approximate(answers, lost, _warnings(stopped, done, wanted))


def wilson(hits: float, n: float) -> Ends:
    """Wilson's 95 % interval of a proportion.

    >>> [round(end, 4) for end in wilson(0, 10)]
    [0.0, 0.2775]
    """
    if n <= 0:
        return 0.0, 1.0
    share, z = hits / n, QUANTILE**2 / n
    middle = (share + z / 2) / (1 + z)
    half = QUANTILE / (1 + z) * np.sqrt(share * (1 - share) / n + z / (4 * n))
    # Rounding must not leave out the ends.
    low = 0.0 if hits <= 0 else max(0.0, float(middle - half))
    return low, 1.0 if hits >= n else min(1.0, float(middle + half))


def _drawn(outcomes: Outcomes, seen: Counter[TotalChoice]) -> Drawn:
    values = np.stack([outcomes.of(choice) for choice in seen], axis=-1)
    return Drawn(np.array(list(seen.values()), dtype=np.float64), Masses.of(values))


def _answers(outcomes: Outcomes, drawn: Drawn, done: int) -> tuple[Answer, ...]:
    found: list[Answer] = []
    for i, query in enumerate(outcomes.queries):
        own = drawn.masses[i]
        if not drawn.counts @ masses.possible(own, outcomes.meaning) > 0:
            raise InferenceError(_unseen(query, own, done))
        if outcomes.meaning.maxent:
            value, interval = _maxent(own, drawn.counts)
            found.append(Answer(query.text, value=value, interval=interval, samples=done))
        else:
            (lower, upper), interval = _credal(own, drawn.counts)
            found.append(
                Answer(query.text, lower=lower, upper=upper, interval=interval, samples=done)
            )
    return tuple(found)


def _maxent(own: Masses, counts: NDArray[np.float64]) -> tuple[float, Ends]:
    """The value and its interval."""
    qe, e = float(counts @ own.qe), float(counts @ own.e)
    ratio = min(1.0, qe / e)
    if np.all((own.e == 0) | (own.e == 1)) and np.all((own.qe == 0) | (own.qe == own.e)):
        return ratio, wilson(qe, e)
    spread = float(counts @ (own.qe - ratio * own.e) ** 2)
    half = QUANTILE * np.sqrt(spread) / e
    return ratio, (max(0.0, float(ratio - half)), min(1.0, float(ratio + half)))


def _credal(own: Masses, counts: NDArray[np.float64]) -> tuple[Ends, Ends]:
    """The lower and the upper value, and an interval that holds both."""
    a, b, c, d = (float(counts @ mass) for mass in (own.a, own.b, own.c, own.d))
    lower = a / (a + d) if a + d > 0 else 1.0
    upper = b / (b + c) if b + c > 0 else 0.0
    # Each outer end is missed in 2.5 %, so that both hold in 95 %.
    return (lower, upper), (wilson(a, a + d)[0], wilson(b, b + c)[1])


def _precise(outcomes: Outcomes, seen: Counter[TotalChoice], gap: float) -> bool:
    """Whether no end of an interval is further than ``gap / 2`` from its number."""
    try:
        found = _answers(outcomes, _drawn(outcomes, seen), seen.total())
    except InferenceError:
        return False
    return all(
        abs(float(end) - float(number)) <= gap / 2
        for answer in found
        for end, number in zip(
            answer.interval or (), (answer.numbers[0], answer.numbers[-1]), strict=True
        )
    )


def _unseen(query: GroundQuery, own: Masses, done: int) -> Diagnostic:
    """The message when no sample says anything about a query."""
    what = "has a model"
    if np.any(own.consistent > 0):
        what = f"satisfies the evidence {', '.join(map(str, query.evidence))}"
    return Diagnostic(
        "unsampled",
        f"none of the {done} samples {what}",
        query.span,
        "take more samples, or use --engine auto, which answers exactly",
    )


def _warnings(stopped: LimitReached | None, done: int, wanted: int) -> tuple[Diagnostic, ...]:
    if stopped is None:
        return ()
    message = f"{stopped.diagnostics[0].message}, after {done} of {wanted} samples"
    return (Diagnostic("stopped-early", message, severity="warning"),)
