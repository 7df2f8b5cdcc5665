"""The engine ``auto``: exact answers where a limit allows it, and else what is sure.

Most of the time goes to the exact engine. If that does not come to an end, what is left goes to
sure bounds and to samples: the answer is then an estimate inside an interval that surely holds
the exact one. Who wants exact answers or none asks for ``exact``.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dpasp import circuits
from dpasp.errors import Diagnostic, Error, LimitReached
from dpasp.inference.answers import Answer, Number
from dpasp.inference.asked import Asked
from dpasp.inference.engines.result import EngineResult
from dpasp.inference.exact import compiled
from dpasp.inference.method import Method
from dpasp.limits import Watch
from dpasp.logic.program import GroundMap

KEPT = 0.2  # of the time is kept for bounds and samples,
MOST_KEPT = 20.0  # but not more seconds than this: they are also taken where there is no limit
ROOM = 0.75  # of the memory is for the exact engine
FINE = {"n": 1_000_000_000, "gap": 0.001}  # samples go on until the time is over, or so precise


def auto(asked: Asked) -> EngineResult:
    """Exact answers, or (unless that is asked for) sure intervals with estimates inside."""
    if asked.method.exact or any(isinstance(q, GroundMap) for q in asked.questions):
        return compiled(asked)
    kept = _kept(asked.watch)
    try:
        return compiled(replace(asked, watch=_most_of(asked.watch, kept)))
    except LimitReached as limit:
        return _not_exact(asked, limit, kept)


def _kept(watch: Watch) -> float:
    """The seconds that are kept for bounds and samples."""
    left = watch.remaining()
    return MOST_KEPT if left is None else min(KEPT * left, MOST_KEPT)


def _most_of(watch: Watch, kept: float) -> Watch:
    """A watch that stops when only the time that is kept is left, and that leaves some memory."""
    left = watch.remaining()
    part = watch if left is None else watch.within(left - kept, watch.report)
    return part.with_memory(ROOM)


def _not_exact(asked: Asked, limit: LimitReached, kept: float) -> EngineResult:
    """Sure intervals with estimates inside; raises the limit if there is no time for them."""
    watch = asked.watch.within(0.8 * kept)
    try:
        estimate = _estimated(asked, watch.within(0.5 * kept))
        sure = _sure(asked, watch)
    except LimitReached:
        raise limit from None
    answers = tuple(map(_inside, estimate.answers, sure))
    gap = max(float(np.max(answer.gap)) for answer in answers if answer.gap is not None)
    return EngineResult(
        answers,
        "sample",
        estimate.inconsistent,
        "about ",
        (_warning(asked, limit, gap, 0.1 * kept), *_worth_telling(estimate)),
        estimate.statistics,
    )


def _estimated(asked: Asked, watch: Watch) -> EngineResult:
    from dpasp.inference.sampling.sample import sample  # most answers are exact

    options = {**FINE, "seed": asked.method.whole("seed")}
    method = Method("sample", {k: v for k, v in options.items() if v is not None})
    return sample(replace(asked, method=method, watch=watch))


def _sure(asked: Asked, watch: Watch) -> tuple[Answer, ...]:
    """Sure bounds, at worst those that say nothing."""
    from dpasp.inference.bounding.bounds import by_cases
    from dpasp.inference.bounding.formulas import Bound

    if not asked.has_rows and not asked.has_intervals:
        try:
            return by_cases(replace(asked, watch=watch), asked.weights, 0.0, whole=False)[0].answers
        except LimitReached:
            pass
    nothing = (0.5,) if asked.meaning.maxent else (0.0, 1.0)
    return tuple(Bound(nothing, (0.0, 1.0), 1.0).answer(q.text) for q in asked.queries)


def _inside(estimate: object, sure: Answer) -> Answer:
    """The estimate in the frame of what is sure."""
    assert isinstance(estimate, Answer)
    assert sure.interval is not None
    assert estimate.interval is not None
    low, high = sure.interval

    def framed(number: Number | None) -> Number | None:
        if number is None:
            return None
        clipped = np.clip(number, low, high)
        return clipped if np.ndim(number) else float(clipped)

    ends = [framed(end) for end in estimate.interval]
    assert ends[0] is not None
    assert ends[1] is not None
    shape = np.shape(estimate.interval[0])
    return replace(
        estimate,
        value=framed(estimate.value),
        lower=framed(estimate.lower),
        upper=framed(estimate.upper),
        interval=sure.interval if not shape else (np.full(shape, low), np.full(shape, high)),
        gap=sure.gap if not shape else np.full(shape, sure.gap),
        likely=(ends[0], ends[1]),
    )


def _worth_telling(estimate: EngineResult) -> list[Diagnostic]:
    return [warning for warning in estimate.warnings if warning.code != "stopped-early"]


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
    """How wide the program is for the compiler, if that is known within so many seconds."""
    try:
        parts = circuits.plan(asked.ground, asked.meaning, watch=asked.watch.within(seconds))
    except Error:
        return ""
    if not parts:
        return ""
    return f"the widest part has {parts[0].choices:,} choices and a width of {parts[0].width}; "
