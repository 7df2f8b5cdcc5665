"""The answers to what is asked, from the engine that is asked for.

>>> solver("enumerate").__name__
'enumerated'
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from itertools import combinations
from typing import cast

import numpy as np

from dpasp.errors import MemoryLimit, TimeLimit
from dpasp.ground.program import GroundProgram, GroundQuery
from dpasp.inference.answers import Answer, Answers
from dpasp.inference.asked import Asked, EngineResult, inconsistent_choices
from dpasp.inference.tuning import EXACT
from dpasp.language.ast import Mode
from dpasp.language.statements.engines import ENGINES
from dpasp.semantics.translate import Weighed, can_be_undefined

NAMED = 12  # predicates that are named among those that were left out


Solve = Callable[[Asked], EngineResult]


def solver(engine: str) -> Solve:
    """The function of an engine in the table, imported if it must be."""
    solve = ENGINES[engine].solve
    if not isinstance(solve, str):
        return solve
    module, _, name = solve.partition(":")
    return cast(Solve, getattr(import_module(module), name))


def answer(asked: Asked) -> Answers:
    """The answers, with the warnings and statistics that belong to them.

    Raises what the engine raises, and :class:`UsageError` for one that a cluster cannot share.
    """
    started = time.perf_counter()
    if asked.ground.worth or asked.ground.decisions:
        from dpasp.inference.decide.answering import valued  # most programs only ask queries

        result = valued(asked, _with_undefined_parts)
    else:
        result = _with_undefined_parts(asked)
    if asked.meaning.weighted:  # what has no model weighs nothing
        result = replace(result, inconsistent=0.0)
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
            **_sizes(asked.ground),
            "ground_rules": len(asked.ground.rules),
            **_left_out(asked.ground.left_out),
            "seconds": seconds,
            **result.statistics,
        },
    )


def _with_undefined_parts(asked: Asked) -> EngineResult:
    """The answers to queries and maps, which say how probable it is that they are undefined."""
    unknown = _undefined_parts(asked)
    parts = tuple(dict.fromkeys(part for some in unknown.values() for part in some))
    result = _solve(asked.with_questions((*asked.questions, *parts)) if parts else asked)
    if asked.rows is not None:
        from dpasp.inference.rows import with_impossible_rows

        result = with_impossible_rows(asked, result)
    return _with_undefined(asked, result, unknown, parts) if parts else result


def _sizes(ground: GroundProgram) -> dict[str, int]:
    """How many choices there are; under weighted, guesses are among them, and factors are not."""
    if not isinstance(ground, Weighed):
        return {"choices": len(ground.choices)}
    factors = len(ground.factor_choices)
    return {"choices": len(ground.choices) - factors, "factors": factors}


def solved(asked: Asked) -> EngineResult:
    """What the engine finds, for every row where there is a table of evidence."""
    solve = solver(asked.method.engine)
    if asked.rows is None:
        return solve(asked)
    from dpasp.inference.rows import answered_rows

    result = answered_rows(asked.with_questions(asked.queries), solve)
    if len(asked.queries) == len(asked.questions):
        return result
    from dpasp.inference.map.rows import map_table

    queries = iter(result.answers)
    every = [
        next(queries) if isinstance(question, GroundQuery) else map_table(asked, question, solve)
        for question in asked.questions
    ]
    return replace(result, answers=tuple(every))


def _solve(asked: Asked) -> EngineResult:
    """What the engine finds, alone or by the workers of a pool.

    At a limit that leaves an engine for any time with nothing, each answer is between 0 and 1.
    """
    try:
        if isinstance(asked.ground, Weighed) and asked.ground.plain is not None:
            from dpasp.inference.summed import answered_by_sums, with_factor_choices

            if (result := answered_by_sums(asked)) is not None:
                return result
            asked = with_factor_choices(asked)
        if not asked.pool.cuts:
            return solved(asked)
        from dpasp.inference.sharing import shared_out

        return shared_out(asked)
    except (TimeLimit, MemoryLimit) as limit:
        if not asked.method.anytime or asked.rows or len(asked.queries) < len(asked.questions):
            raise
        from dpasp.inference.bounds.nothing_known import nothing_found  # most answers are in time

        return nothing_found(asked, limit)


def _undefined_parts(asked: Asked) -> dict[int, list[GroundQuery]]:
    """By the place of a query that can be undefined: questions for how probable that is.

    A query is undefined where none of its literals is false and some are undefined: a sum over
    which of them are. Where a query asks for undefined atoms itself, it needs no such note.
    """
    if not asked.queries:
        return {}
    possible = can_be_undefined(asked.ground, asked.meaning.logic)
    if not possible.any():
        return {}
    parts: dict[int, list[GroundQuery]] = {}
    for place, query in enumerate(asked.questions):
        if not isinstance(query, GroundQuery) or any(
            literal.mode is Mode.UNDEFINED for literal in query.literals
        ):
            continue
        some = [i for i, literal in enumerate(query.literals) if possible[literal.atom]]
        if asked.meaning.has_undefined_model:  # all atoms at once
            subsets = [tuple(range(len(query.literals)))] if some else []
        else:
            subsets = [s for n in range(1, len(some) + 1) for s in combinations(some, n)]
        if 0 < len(subsets) <= EXACT.undefined_subsets:
            parts[place] = [_undefined(query, subset) for subset in subsets]
    return parts


def _undefined(query: GroundQuery, which: tuple[int, ...]) -> GroundQuery:
    """The question whether these literals of a query are undefined, and the others hold."""
    literals = tuple(
        literal._replace(mode=Mode.UNDEFINED) if i in which else literal
        for i, literal in enumerate(query.literals)
    )
    return replace(query, literals=literals, text=f"undefined: {query.text}")


def _with_undefined(
    asked: Asked,
    result: EngineResult,
    unknown: Mapping[int, Sequence[GroundQuery]],
    parts: Sequence[GroundQuery],
) -> EngineResult:
    """The answers to what is asked, with the probability that each query is undefined."""
    count = len(asked.questions)
    by_part = dict(zip(parts, result.answers[count:], strict=True))
    answers = list(result.answers[:count])
    for place, some in unknown.items():
        found = [by_part[part].numbers for part in some]
        # Under credal the parts are bounded one by one, and so the sum holds their whole.
        ends = [np.minimum(np.sum(numbers, axis=0), 1.0) for numbers in zip(*found, strict=True)]
        if any(np.any(end > 0) for end in ends):
            numbers = tuple(end if np.ndim(end) else float(end) for end in ends)
            answer = answers[place]
            assert isinstance(answer, Answer)
            undefined = numbers[0] if len(numbers) == 1 else numbers
            answers[place] = replace(answer, undefined=undefined)
    return replace(result, answers=tuple(answers))


def _left_out(names: tuple[str, ...]) -> dict[str, str]:
    """What of the program was not ground, if anything; of many predicates the first."""
    if not names:
        return {}
    more = len(names) - NAMED
    return {"left_out": ", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")}
