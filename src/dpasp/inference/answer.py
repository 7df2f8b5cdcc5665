"""The answers to what is asked, by the engine that is asked for.

>>> from dpasp.inference.asked import ask
>>> from dpasp.language import parse
>>> from dpasp.logic import ground
>>> from dpasp.semantics.meaning import Meaning
>>> print(answer(ask(ground(parse("0.3::a. #query a.")), Meaning())))
ℙ(a) = 0.300000
"""

from __future__ import annotations

import time

from dpasp.errors import MemoryLimit, TimeLimit
from dpasp.inference.answers import Answers
from dpasp.inference.asked import Asked
from dpasp.inference.engines.result import EngineResult, inconsistent_choices
from dpasp.inference.engines.solvers import solver

NAMED = 12  # predicates that are named among those that were left out


def answer(asked: Asked) -> Answers:
    """The answers, with the warnings and statistics that belong to them.

    Raises what the engine raises, and :class:`UsageError` for one that a cluster cannot share.
    """
    started = time.perf_counter()
    result = _solve(asked)
    seconds = {result.engine: time.perf_counter() - started}
    return Answers(
        result.answers,
        asked.meaning.logic.value,
        asked.meaning.probability.value,
        result.engine,
        result.inconsistent,
        tuple(asked.ground.program.files),
        (
            *asked.ground.warnings,
            *result.warnings,
            *inconsistent_choices(result.inconsistent, result.precision),
        ),
        {
            "choices": len(asked.ground.choices),
            "ground_rules": len(asked.ground.rules),
            **_left_out(asked.ground.left_out),
            "seconds": seconds,
            **result.statistics,
        },
    )


def _solve(asked: Asked) -> EngineResult:
    """What the engine finds, alone or by the workers of a pool.

    At a limit that leaves an engine for any time with nothing, each answer is between 0 and 1.
    """
    try:
        if not asked.pool.cuts:
            return solver(asked.method.engine)(asked)
        from dpasp.inference.sharing import shared_out

        return shared_out(asked)
    except (TimeLimit, MemoryLimit) as limit:
        if not asked.method.anytime or len(asked.queries) < len(asked.questions):
            raise
        from dpasp.inference.bounding.not_ground import nothing_found  # most answers are in time

        return nothing_found(asked, limit)


def _left_out(names: tuple[str, ...]) -> dict[str, str]:
    """What of the program was not ground, if anything; of many predicates the first."""
    if not names:
        return {}
    more = len(names) - NAMED
    return {"left_out": ", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")}
