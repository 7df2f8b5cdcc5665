"""The engine ``auto``: exact answers where a limit allows it, and else what is sure.

Half of the time goes to the exact engine. If that does not come to an end, what is left goes to
sure bounds and to samples of what they leave open (see ``not_exact``). To get exact
answers or none, ask for ``exact``.

>>> from dpasp.inference.asked import ask
>>> from dpasp.language import parse
>>> from dpasp.ground import ground
>>> from dpasp.semantics.meaning import Meaning
>>> asked = ask(ground(parse("0.3::a. 0.5::b. c :- a. c :- b. #query a | c.")), Meaning())
>>> result = auto(asked)
>>> result.engine, result.answers[0].numbers
('compile', (0.46153846153846156, 0.46153846153846156))
"""

from __future__ import annotations

from dataclasses import replace

from dpasp.errors import LimitReached
from dpasp.inference.asked import Asked
from dpasp.inference.exact import compiled
from dpasp.inference.result import EngineResult
from dpasp.limits import Watch

KEPT = 0.5  # this share of the time is kept for bounds and samples,
MOST_KEPT = 20.0  # at most so many seconds, which are also taken where there is no limit
ROOM = 0.75  # this share of the memory is for the exact engine


def auto(asked: Asked) -> EngineResult:
    """Exact answers, or (unless that is asked for) sure intervals with estimates inside."""
    if asked.method.exact:
        return compiled(asked)
    kept = _kept(asked.watch)
    asked.watch.stage("exact")
    try:
        return compiled(replace(asked, watch=_most_of(asked.watch, kept)))
    except LimitReached as limit:
        # Imported here, since most answers are exact and need none of it.
        from dpasp.inference.bounds.not_exact import not_exact

        return not_exact(asked, limit, kept)


def _kept(watch: Watch) -> float:
    """The seconds that are kept for bounds and samples."""
    left = watch.remaining()
    return MOST_KEPT if left is None else min(KEPT * left, MOST_KEPT)


def _most_of(watch: Watch, kept: float) -> Watch:
    """A watch that stops when only the time that is kept is left, and that leaves some memory."""
    left = watch.remaining()
    part = watch if left is None else watch.within(left - kept, watch.report)
    return part.with_memory(ROOM)
