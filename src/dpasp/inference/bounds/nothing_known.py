"""What is said where a limit is reached before anything is known about the answers.

That may be while the program is being grounded. All that is sure is that every answer is between 0
and 1; :func:`nothing_sure` says so.

>>> from dpasp.language import parse
>>> from dpasp.limits import Limits
>>> program = parse("p(0). p(X+1) :- p(X). 0.3::a :- p(9). #query a.")
>>> answers = nothing_sure(program, Meaning(), before_ground(Limits(2.0).start().out_of_time()))
>>> print(answers)
ℙ(a) = [0.000000, 1.000000]  (gap 1.000000)
>>> answers.warnings[0].message[:59]
'stopped at the time limit of 2 s before the program was gro'
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dpasp.errors import Diagnostic, LimitReached, MemoryLimit
from dpasp.ground.questions import question_literals
from dpasp.inference.answers import Answer, AnswerNumber, Answers
from dpasp.inference.asked import Asked, EngineResult, Method
from dpasp.inference.tuning import BOUNDS
from dpasp.language import ast
from dpasp.language.statements.questions import question_text
from dpasp.limits import Watch
from dpasp.semantics.meaning import Meaning

SEVERAL = re.compile(r"[A-Z_;]|\.\.")  # a question without any of these stands for one


def says_something(program: ast.Program, how: Method) -> bool:
    """Whether there are answers even if grounding does not end.

    There are none if exact answers are insisted on, if most probable values are asked for or
    nothing is, or if every row of some data has an answer of its own.
    """
    kinds = {type(statement) for statement in program.statements}
    others = {ast.Map, ast.Neural, ast.Learn, ast.Decision, ast.Expect} & kinds
    others |= {type(s) for s in program.statements if getattr(s, "network", None) is not None}
    return how.anytime and ast.Query in kinds and not others


def for_grounding(watch: Watch) -> Watch:
    """A watch for grounding, which leaves some time and memory to say that it did not end."""
    left, part = watch.remaining(), watch
    if left is not None:
        kept = min(BOUNDS.after_grounding * left, BOUNDS.most_after_grounding)
        part = watch.within(left - kept, watch.report)
    return part.with_memory(BOUNDS.ground_memory)


def before_ground(limit: LimitReached) -> Diagnostic:
    """The warning that a limit was reached while the program was ground."""
    return _nothing_known(
        limit,
        "before the program was ground: all that is sure is that the answers are between 0 and 1",
        "; or let less be ground: ask for less, make domains smaller, and bound rules such as "
        "p(X+1) :- p(X), as in p(X+1) :- p(X), X < 9",
    )


def before_any_bound(limit: LimitReached) -> Diagnostic:
    """The warning that a limit was reached before anything was known about the answers."""
    return _nothing_known(
        limit,
        "before anything was known about the answers: all that is sure is that they are between "
        "0 and 1",
        ", or make the program smaller",
    )


def _nothing_known(limit: LimitReached, so_far: str, otherwise: str) -> Diagnostic:
    option = "--memory-limit" if isinstance(limit, MemoryLimit) else "--time-limit"
    message = f"{limit.diagnostics[0].message} {so_far}"
    return Diagnostic("not-exact", message, help=f"raise {option}{otherwise}", severity="warning")


def nothing_sure(
    program: ast.Program, meaning: Meaning, why: Diagnostic, asked: Sequence[str] | None = None
) -> Answers:
    """Answers that say nothing, with the warning ``why``.

    They answer the questions as they are written, or those that are ``asked`` if these are known.
    """
    warnings: tuple[Diagnostic, ...] = ()
    if asked is None:
        queries = [s for s in program.statements if isinstance(s, ast.Query)]
        asked = [question_text(query) for query in queries]
        warnings = _instances(queries, asked)
    return Answers(
        tuple(_unknown(text, meaning) for text in asked),
        meaning.logic.value,
        meaning.probability.value,
        "bounds",
        files=tuple(program.files),
        warnings=(why, *warnings),
    )


def nothing_found(asked: Asked, limit: LimitReached) -> EngineResult:
    """The result for ground questions when a limit is reached before anything is known."""
    warnings = (before_any_bound(limit),)
    return EngineResult(tuple(unknown_answers(asked)), "bounds", warnings=warnings)


def unknown_answers(asked: Asked) -> list[Answer]:
    """Answers that say nothing to all queries, with one number for each row of test data."""
    rows = np.ones(asked.weights.shape[1]) if asked.has_rows else 1.0
    return [_unknown(query.text, asked.meaning, rows) for query in asked.queries]


def _unknown(query: str, meaning: Meaning, rows: AnswerNumber = 1.0) -> Answer:
    """The answer that says nothing; ``rows`` is an array of ones where there is test data."""
    answer = Answer(query, interval=(0.0 * rows, rows), gap=rows)
    if meaning.maxent:
        return replace(answer, value=0.5 * rows)
    return replace(answer, lower=0.0 * rows, upper=rows)


def _instances(queries: Sequence[ast.Query], texts: Sequence[str]) -> tuple[Diagnostic, ...]:
    """Warnings about questions that may stand for several, as it is unknown which."""
    return tuple(
        Diagnostic(
            "instances-unknown",
            f"{text} may stand for several questions: which they are is not known "
            "before the program is ground, and the answer is about each of them",
            query.span,
            severity="warning",
        )
        for query, text in zip(queries, texts, strict=True)
        if SEVERAL.search(text)  # looking inside is slow
        and not all(literal.names_one for literal in question_literals(query))
    )
