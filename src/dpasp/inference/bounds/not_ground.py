"""What is sure when a limit leaves no time to find anything out: each answer is within [0, 1].

>>> from dpasp.language import parse
>>> from dpasp.limits import Limits
>>> from dpasp.semantics.meaning import Meaning
>>> program = parse("p(0). p(X+1) :- p(X). 0.3::a :- p(9). #query a. #query p(X) | a.")
>>> answers = nothing_sure(program, Meaning(), before_ground(Limits(2.0).start().out_of_time()))
>>> print(answers)
ℙ(a) = [0.000000, 1.000000]  (gap 1.000000)
ℙ(p(X) | a) = [0.000000, 1.000000]  (gap 1.000000)
>>> answers.warnings[0].message[:59]
'stopped at the time limit of 2 s before the program was gro'
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from dpasp.errors import Diagnostic, LimitReached, MemoryLimit
from dpasp.ground.questions import question_literals
from dpasp.inference.answers import Answers
from dpasp.inference.asked import Asked, Method
from dpasp.inference.bounds.formulas import unsure, unsure_answers
from dpasp.inference.result import EngineResult
from dpasp.language import ast
from dpasp.language.statements.questions import question_text
from dpasp.limits import Watch
from dpasp.semantics.meaning import Meaning

KEPT = 0.1  # this share of the time is kept from grounding, to say that there is no answer,
MOST_KEPT = 0.3  # but at most so many seconds
ROOM = 0.9  # this share of the memory is for grounding
SEVERAL = re.compile(r"[A-Z_;]|\.\.")  # only a question with one of them may stand for several


def says_something(program: ast.Program, how: Method) -> bool:
    """Whether there are answers even if the program is not ground.

    Not where exact answers are insisted on, where most probable values are asked for or nothing
    is, and where there is an answer for each row of data.
    """
    kinds = {type(statement) for statement in program.statements}
    others = {ast.Map, ast.Neural, ast.Learn} & kinds
    return how.anytime and ast.Query in kinds and not others


def for_grounding(watch: Watch) -> Watch:
    """A watch for grounding, which leaves some time and memory to say that it did not end."""
    left = watch.remaining()
    part = watch
    if left is not None:
        part = watch.within(left - min(KEPT * left, MOST_KEPT), watch.report)
    return part.with_memory(ROOM)


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
    """The answers that say nothing, and the warning why.

    They are to the questions as they are written, or to those that are ``asked``, if it is known.
    """
    warnings: tuple[Diagnostic, ...] = ()
    if asked is None:
        queries = [s for s in program.statements if isinstance(s, ast.Query)]
        asked = [question_text(query) for query in queries]
        warnings = _instances(queries, asked)
    bound = unsure(meaning)
    return Answers(
        tuple(bound.answer(text) for text in asked),
        meaning.logic.value,
        meaning.probability.value,
        "bounds",
        files=tuple(program.files),
        warnings=(why, *warnings),
    )


def nothing_found(asked: Asked, limit: LimitReached) -> EngineResult:
    """What is sure about ground questions when a limit is reached before anything is known."""
    return EngineResult(tuple(unsure_answers(asked)), "bounds", warnings=(before_any_bound(limit),))


def _instances(queries: Sequence[ast.Query], texts: Sequence[str]) -> tuple[Diagnostic, ...]:
    """The warning about questions that stand for several, which are not known."""
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
