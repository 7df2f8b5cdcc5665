"""The engines ``sample`` and ``bounds`` for programs that also ask ``#map`` or ``#mpe``.

Most probable values are not a matter of samples or of a gap: they are answered as ``auto`` answers
them, exactly where limits allow it, and else by the best values found and a bound of all others.

>>> from dpasp.inference.asked import ask
>>> from dpasp.language import parse
>>> from dpasp.logic import ground
>>> from dpasp.semantics.meaning import Meaning
>>> text = "0.3::a. 0.6::b. c :- a. c :- b. #query a | c. #map a?, b? | c."
>>> result = bounds_and_maps(ask(ground(parse(text)), Meaning()))
>>> result.answers[0].gap, result.answers[1].assignment
(0.0, {'a': False, 'b': True})
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from dpasp.inference.asked import Asked
from dpasp.inference.bounding.auto import auto
from dpasp.inference.bounding.bounds import bounds
from dpasp.inference.engines.result import EngineResult
from dpasp.inference.method import Method
from dpasp.inference.sampling.sample import sample
from dpasp.logic.program import GroundMap


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
