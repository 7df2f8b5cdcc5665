"""From questions to answers: the chosen engine, and the exact engines.

At a limit, ``auto`` falls back to bounds and samples, and ``compile`` does not. ``enumerate``
enumerates all total choices. If a limit is reached before anything is known, perhaps during
grounding, every answer is the interval from 0 to 1.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from itertools import combinations
from typing import Any, cast

import numpy as np

from dpasp import circuits
from dpasp.errors import (
    Diagnostic,
    ImpossibleEvidence,
    LimitReached,
    MemoryLimit,
    Span,
    TimeLimit,
    UsageError,
)
from dpasp.ground.program import GroundDecide, GroundProgram, GroundQuery, IntervalWeights
from dpasp.ground.questions import question_literals
from dpasp.inference.answers import (
    Answer,
    AnswerNumber,
    Answers,
    AnyAnswer,
    Decision,
    MapAnswer,
    MapAnswers,
)
from dpasp.inference.asked import Asked, EngineResult, Method, inconsistent_choices, stopped_early
from dpasp.inference.circuit import HEAD_CYCLE, Evaluator, Extremes, extremes, on_circuit
from dpasp.inference.tuning import BOUNDS, EXACT
from dpasp.language import ast
from dpasp.language.ast import Mode
from dpasp.language.statements.engines import ENGINES
from dpasp.language.statements.questions import question_text
from dpasp.limits import Watch
from dpasp.semantics import masses
from dpasp.semantics.leaves import Weights, choice_labels
from dpasp.semantics.masses import Array
from dpasp.semantics.meaning import Meaning
from dpasp.semantics.translate import Weighed, can_be_undefined

NAMED = 12  # how many of the predicates that were left out are named
SEVERAL = re.compile(r"[A-Z_;]|\.\.")  # without any of these, a question has only one instance

Solve = Callable[[Asked], EngineResult]


def solver(engine: str) -> Solve:
    """The function of an engine in the table, imported if necessary."""
    solve = ENGINES[engine].solve
    if not isinstance(solve, str):
        return solve
    module, _, name = solve.partition(":")
    return cast(Solve, getattr(import_module(module), name))


def answer(asked: Asked) -> Answers:
    """The answers, with warnings and statistics.

    Raises what the engine raises, and :class:`UsageError` if a cluster cannot share its work.
    """
    if asked.worlds:
        return _in_worlds(asked)
    started = time.perf_counter()
    if asked.ground.worth or asked.ground.decisions:
        from dpasp.inference.decide import valued  # most programs only ask queries

        result = valued(asked, _with_undefined_parts)
    else:
        result = _with_undefined_parts(asked)
    if asked.meaning.weighted:  # total choices without a model have no weight
        result = replace(result, inconsistent=0.0)
    seconds = {result.engine: time.perf_counter() - started}
    statistics: dict[str, Any] = {**_sizes(asked.ground), "ground_rules": len(asked.ground.rules)}
    if names := asked.ground.left_out:
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        statistics["left_out"] = ", ".join(names[:NAMED]) + more
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
        {**statistics, "seconds": seconds, **result.statistics},
    )


def _in_worlds(asked: Asked) -> Answers:
    """The answers if some questions set atoms with ``do(…)``, in the order of the program.

    Each intervention has a ground program of its own.
    """
    statements = asked.ground.program.statements
    order: dict[Span | None, int] = {s.span: i for i, s in enumerate(statements)}
    parts = [replace(asked, worlds=()), *asked.worlds]
    parts = [part for part in parts if part.questions or part.ground.worth]
    found: list[tuple[int, AnyAnswer]] = []
    results = []
    for left, part in zip(range(len(parts), 0, -1), parts, strict=True):
        watch = asked.watch.share(left, asked.watch.report)
        result = answer(replace(part, watch=watch, criterion=asked.criterion))
        results.append(result)
        decides = sum(isinstance(q, GroundDecide) for q in part.ground.worth)
        twice = sum(isinstance(a, Decision) for a in result.answers) // max(1, decides)
        spans = [(q.span, 1) for q in part.questions]
        for each in part.ground.worth:  # in the order of their places
            count = twice if isinstance(each, GroundDecide) else 1
            spans.insert(each.place, (each.span, count))
        places = [order.get(span, -1) for span, count in spans for _ in range(count)]
        found += zip(places, result.answers, strict=True)
    first = results[0]
    warnings = dict.fromkeys(warning for result in results for warning in result.warnings)
    return replace(
        first,
        answers=tuple(each for _, each in sorted(found, key=lambda pair: pair[0])),
        inconsistent=max(result.inconsistent for result in results),
        warnings=tuple(warnings),
    )


def _with_undefined_parts(asked: Asked) -> EngineResult:
    """The answers to queries and maps, including the probability of being undefined."""
    unknown = _undefined_parts(asked)
    parts = tuple(dict.fromkeys(part for some in unknown.values() for part in some))
    result = _solve(asked.with_questions((*asked.questions, *parts)) if parts else asked)
    if asked.rows is not None:
        from dpasp.inference.rows import with_impossible_rows

        result = with_impossible_rows(asked, result)
    return _with_undefined(asked, result, unknown, parts) if parts else result


def _sizes(ground: GroundProgram) -> dict[str, int]:
    """The number of choices; under weighted, with guesses and without factors."""
    if not isinstance(ground, Weighed):
        return {"choices": len(ground.choices)}
    if ground.plain is not None:
        numbers = sum(int((table.weights != 1).sum()) for table in ground.tables)
        return {"choices": len(ground.choices), "factors": len(ground.factors) + numbers}
    factors = len(ground.factor_choices)
    return {"choices": len(ground.choices) - factors, "factors": factors}


def solved(asked: Asked) -> EngineResult:
    """The result of the engine, for every row if there is a table of evidence."""
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
    """The result of the engine, with the workers of a pool if there are any.

    If a limit leaves an anytime engine with nothing, each answer is the interval from 0 to 1.
    """
    try:
        if not isinstance(asked.ground, Weighed) or asked.ground.plain is None:
            return _by_engine(asked)
        from dpasp.inference.summed import answered_by_sums

        return answered_by_sums(asked, _by_engine)
    except (TimeLimit, MemoryLimit) as limit:
        if not asked.method.anytime or asked.rows or len(asked.queries) < len(asked.questions):
            raise
        warnings = (before_any_bound(limit),)
        return EngineResult(tuple(unknown_answers(asked)), "bounds", warnings=warnings)


def _by_engine(asked: Asked) -> EngineResult:
    if not asked.pool.cuts:
        return solved(asked)
    from dpasp.inference.sharing import shared_out

    return shared_out(asked)


def as_bounds(result: EngineResult) -> EngineResult:
    """Exact answers as intervals; bounds stay as they are."""
    sure: list[AnyAnswer] = []
    for answer in result.answers:
        if isinstance(answer, Answer) and answer.interval is None:
            ends = (answer.numbers[0], answer.numbers[-1])
            answer = replace(answer, interval=ends, gap=0.0 * ends[0])
        sure.append(answer)
    return replace(result, answers=tuple(sure), engine="bounds")


def _undefined_parts(asked: Asked) -> dict[int, list[GroundQuery]]:
    """For each query that can be undefined, by its place: questions for the probability of that.

    A query is undefined if none of its literals is false and some are undefined; the probabilities
    are summed over the sets of undefined literals. Queries about undefined atoms are left out.
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
    """The question whether these literals of a query are undefined and the others hold."""
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
    """The answers, with the probability that each query is undefined."""
    count = len(asked.questions)
    by_part = dict(zip(parts, result.answers[count:], strict=True))
    answers = list(result.answers[:count])
    for place, some in unknown.items():
        found = [by_part[part].numbers for part in some]
        # Under credal, each part has its own bounds, so that their sums are bounds of the sum.
        ends = [np.minimum(np.sum(numbers, axis=0), 1.0) for numbers in zip(*found, strict=True)]
        if any(np.any(end > 0) for end in ends):
            numbers = tuple(end if np.ndim(end) else float(end) for end in ends)
            answer = answers[place]
            assert isinstance(answer, Answer)
            undefined = numbers[0] if len(numbers) == 1 else numbers
            answers[place] = replace(answer, undefined=undefined)
    return replace(result, answers=tuple(answers))


# --- the exact engines ----------------------------------------------------------------------------


def auto(asked: Asked) -> EngineResult:
    """The engine ``auto``: exact answers or, at a limit, certain intervals with estimates inside.

    With a time limit, half of the time goes to the exact engine, and the rest to bounds and
    samples. If only exact answers are accepted, a limit is an error.
    """
    by_table = isinstance(asked.ground, Weighed) and asked.ground.by_table
    if asked.method.exact or by_table:  # enumerated models give no partial results
        return compiled(asked)
    watch, left = asked.watch, asked.watch.remaining()
    kept = BOUNDS.patience
    if left is not None:
        kept = min(BOUNDS.after_exact * left, kept)
        watch = watch.within(left - kept, watch.report)
    asked.watch.stage("exact")
    try:
        return compiled(replace(asked, watch=watch.with_memory(BOUNDS.memory)))
    except LimitReached as limit:
        from dpasp.inference.bounds.bounds import not_exact  # most answers are exact

        return not_exact(asked, limit, kept)


def compiled(asked: Asked) -> EngineResult:
    """The answers from a circuit: the engines ``auto`` and ``compile``."""
    started = time.perf_counter()
    cache = circuits.Cache.default()
    evaluator: Evaluator | None = None
    many = len(asked.questions) >= EXACT.many_questions
    if many or len(asked.ground.choices) >= EXACT.many_choices:
        from dpasp.inference.together import answered_in_numbers, answered_together

        evaluator = answered_in_numbers(asked) or answered_together(asked, cache)
    if evaluator is None:
        evaluator = on_circuit(
            asked.ground,
            asked.meaning,
            options=compiler_options(asked),
            cache=cache,
            watch=asked.watch,
        )
    result = answered(asked, evaluator, time.perf_counter() - started)
    statistics = evaluator.statistics
    if asked.method.engine != "compile" or statistics.get("enumerated") != HEAD_CYCLE:
        return result
    warning = Diagnostic(
        "head-cycle",
        "a disjunction through a positive loop is not compiled; the circuit was made "
        f"by enumerating {statistics['total_choices']:,} total choices",
        severity="warning",
    )
    return replace(result, warnings=(warning, *result.warnings))


def compiler_options(asked: Asked) -> circuits.Options:
    """The options of the compiler, with the weights if the circuit is evaluated only once.

    Then the compiler may compute with the weights right away. This is so under maxent, for queries
    without rows of test data and without intervals.
    """
    numbers = asked.meaning.maxent and len(asked.queries) == len(asked.questions)
    if not numbers or asked.has_rows or asked.has_intervals:
        return circuits.Options()
    return circuits.Options(weights=asked.weights)


def enumerated(asked: Asked) -> EngineResult:
    """The answers from the table of all total choices: the engine ``enumerate``."""
    from dpasp.inference.enumerate import enumerate_models

    started = time.perf_counter()
    evaluator = enumerate_models(asked.ground, asked.meaning, watch=asked.watch)
    return answered(asked, evaluator, time.perf_counter() - started)


def answered(
    asked: Asked,
    evaluator: Evaluator,
    seconds: float,
    maps: Mapping[int, tuple[MapAnswer | MapAnswers, str]] | None = None,
) -> EngineResult:
    """The answers from an evaluator, which took ``seconds`` to make.

    ``maps`` are the answers about most probable values, if they are known already. Raises
    :class:`InconsistentProgram` and :class:`ImpossibleEvidence` if the masses show that.
    """
    ready = time.perf_counter()
    numbers = extremes(asked, evaluator)
    lost = inconsistent_mass(asked, numbers)
    maps = _maps(asked, evaluator) if maps is None else maps
    searches = {"map": "+".join(dict.fromkeys(name for _, name in maps.values()))} if maps else {}
    taken = {evaluator.name: seconds, "evaluate": time.perf_counter() - ready}
    return EngineResult(
        _answers(asked, numbers, maps),
        evaluator.name,
        lost,
        "up to " if asked.has_intervals else "",
        (*_stopped(numbers), *not_surely_best([answer for answer, _ in maps.values()])),
        {**evaluator.statistics, **searches, "seconds": taken},
    )


def _maps(asked: Asked, evaluator: Evaluator) -> Mapping[int, tuple[MapAnswer | MapAnswers, str]]:
    """The answers to the questions for the most probable values."""
    if len(asked.queries) == len(asked.questions):
        return {}
    if asked.has_rows:
        from dpasp.inference.map.rows import map_test_rows

        return map_test_rows(asked, evaluator)
    from dpasp.inference.map.answers import map_answers

    return map_answers(asked, evaluator)


def inconsistent_mass(asked: Asked, numbers: Sequence[Extremes]) -> float:
    """The largest inconsistent mass of all rows.

    Raises :class:`InconsistentProgram` if that is an error, or nothing is left, and
    :class:`ImpossibleEvidence` if a question has evidence of probability 0.
    """
    if not numbers:
        return 0.0
    lost = np.stack([number.inconsistent for number in numbers])
    consistent = np.stack([number.consistent for number in numbers])
    masses.check_consistent(consistent, lost, asked.inconsistent == "normalize")
    problems = {
        masses.impossible_evidence(question.evidence, question.span): None
        for question, number in zip(asked.questions, numbers, strict=True)
        if not np.all(number.possible > 0)
    }
    if problems and not asked.lenient:
        raise ImpossibleEvidence(problems)
    return float(lost.max(initial=0.0))


def _stopped(numbers: Sequence[Extremes]) -> tuple[Diagnostic, ...]:
    """The warning that a limit stopped a search."""
    limits = [limit for number in numbers for limit in number.stopped]
    if not limits:
        return ()
    gap = max(float(number.gap.max()) for number in numbers)
    return (stopped_early(limits[0].diagnostics[0].message, gap),)


def not_surely_best(answers: Sequence[MapAnswer | MapAnswers]) -> tuple[Diagnostic, ...]:
    """The warning that a limit stopped the search for most probable values."""
    gap = max((answer.gap for answer in answers if not answer.exact), default=None)
    if gap is None:
        return ()
    return (
        Diagnostic(
            "not-exact",
            "a limit was reached before the most probable values were sure: those given are the "
            "best that were found, with lower bounds of their probabilities, and no others are "
            f"more probable by over {gap:.6g}",
            help="raise the limit, or let it fail with --exact",
            severity="warning",
        ),
    )


def _answers(
    asked: Asked,
    numbers: Sequence[Extremes],
    maps: Mapping[int, tuple[MapAnswer | MapAnswers, str]],
) -> tuple[AnyAnswer, ...]:
    def number(row: Array) -> AnswerNumber:
        return row if asked.has_rows else float(row[0])

    answers: list[AnyAnswer] = []
    maxent = asked.meaning.maxent
    for i, (question, extreme) in enumerate(zip(asked.questions, numbers, strict=True)):
        if i in maps:
            answers.append(maps[i][0])
        elif maxent:
            logs = extreme.logs and (number(extreme.logs[0]),)
            answers.append(Answer(question.text, value=number(extreme.lower), logs=logs))
        else:
            lower, upper = number(extreme.lower), number(extreme.upper)
            answer = Answer(
                question.text,
                lower=lower,
                upper=upper,
                lower_at=_credal_choices(asked, extreme.lower_at),
                upper_at=_credal_choices(asked, extreme.upper_at),
                logs=extreme.logs and (number(extreme.logs[0]), number(extreme.logs[1])),
            )
            if np.any(extreme.gap > 0):
                answer = replace(answer, interval=(lower, upper), gap=number(extreme.gap))
            answers.append(answer)
    return tuple(answers)


def _credal_choices(asked: Asked, weights: Weights | None) -> dict[str, float] | None:
    """The probabilities of the values of credal choices in a weight vector."""
    if weights is None:
        return None
    labels = choice_labels(asked.ground)
    return {
        label: float(weight)
        for i, choice in enumerate(asked.ground.choices)
        if isinstance(choice.weight, IntervalWeights)
        for label, weight in zip(labels[i], weights[asked.layout.of(i)], strict=False)
    }


def log_partition(asked: Asked) -> Array:
    """The logarithm [rows] of the total weight of all models that satisfy the program's evidence.

    Under credal, it is the logarithm of the mass of the total choices that have such a model. It is
    -inf if there are none. Raises :class:`UsageError` if models have no weights, or probabilities
    are intervals.
    """
    ground = asked.ground
    if isinstance(ground, Weighed) and ground.plain is not None:
        from dpasp.inference.summed import log_total, with_factor_choices

        if (sums := log_total(asked)) is not None:
            return sums
        asked = with_factor_choices(asked)
        ground = asked.ground
    everything = GroundQuery((), ground.evidence, "", None)
    alone = asked.with_questions((everything,))
    if not isinstance(ground, Weighed) and (asked.meaning.maxent or asked.has_intervals):
        raise UsageError(
            f"models have no weights under {asked.meaning}"
            if asked.meaning.maxent
            else "the probabilities are intervals, and so is this sum",
            help='say #semantics weighted., or log_partition(semantics="weighted")',
        )
    evaluator = on_circuit(
        alone.ground, asked.meaning, cache=circuits.Cache.default(), watch=asked.watch
    )
    found = evaluator.masses(asked.columns, asked.watch, log=True)
    if not isinstance(ground, Weighed):
        upper: Array = found.b[0]
        return upper
    (logs,) = found.e
    # A factor w that does not hold has the weight 1 / (1 + w) in place of 1.
    last = [asked.layout.of(i).stop - 1 for i in ground.factor_choices]
    with np.errstate(divide="ignore"):
        scale: Array = np.log(asked.columns[last]).sum(axis=0)
    total: Array = logs + ground.log_scale - scale
    return total


# --- where nothing is known -----------------------------------------------------------------------


def says_something(program: ast.Program, how: Method) -> bool:
    """Whether there are answers even if grounding does not finish.

    There are none if only exact answers are accepted, if there is no query or a ``#map``, or if
    every row of some data has its own answer.
    """
    kinds = {type(statement) for statement in program.statements}
    others = {ast.Map, ast.Neural, ast.Learn, ast.Decision, ast.Expect} & kinds
    others |= {type(s) for s in program.statements if getattr(s, "network", None) is not None}
    return how.anytime and ast.Query in kinds and not others


def for_grounding(watch: Watch) -> Watch:
    """A watch for grounding, which leaves some time and memory to report that it did not end."""
    left, part = watch.remaining(), watch
    if left is not None:
        kept = min(BOUNDS.after_grounding * left, BOUNDS.most_after_grounding)
        part = watch.within(left - kept, watch.report)
    return part.with_memory(BOUNDS.memory)


def before_any_bound(limit: LimitReached, *, grounding: bool = False) -> Diagnostic:
    """The warning that a limit was reached before anything was known."""
    option = "--memory-limit" if isinstance(limit, MemoryLimit) else "--time-limit"
    when, those = "before anything was known about the answers", "they"
    help = f"raise {option}, or make the program smaller"
    if grounding:
        when, those = "before the program was ground", "the answers"
        help = (
            f"raise {option}; or let less be ground: ask for less, make domains smaller, and bound "
            "rules such as p(X+1) :- p(X), as in p(X+1) :- p(X), X < 9"
        )
    so_far = f"{when}: all that is sure is that {those} are between 0 and 1"
    message = f"{limit.diagnostics[0].message} {so_far}"
    return Diagnostic("not-exact", message, help=help, severity="warning")


def nothing_sure(
    program: ast.Program, meaning: Meaning, why: Diagnostic, asked: Sequence[str] | None = None
) -> Answers:
    """The interval from 0 to 1 for every question, with the warning ``why``.

    The questions are those ``asked``, if these are known, and otherwise those written.
    """
    warnings = [why]
    if asked is None:
        queries = [s for s in program.statements if isinstance(s, ast.Query)]
        asked = [question_text(query) for query in queries]
        warnings += [
            Diagnostic(
                "instances-unknown",
                f"{text} may stand for several questions: which they are is not known "
                "before the program is ground, and the answer is about each of them",
                query.span,
                severity="warning",
            )
            for query, text in zip(queries, asked, strict=True)
            if SEVERAL.search(text)  # looking inside is slow
            and not all(literal.names_one for literal in question_literals(query))
        ]
    return Answers(
        tuple(_unknown(text, meaning) for text in asked),
        meaning.logic.value,
        meaning.probability.value,
        "bounds",
        files=tuple(program.files),
        warnings=tuple(warnings),
    )


def unknown_answers(asked: Asked) -> list[Answer]:
    """The interval from 0 to 1 for all queries, with one number for each row of test data."""
    rows = np.ones(asked.weights.shape[1]) if asked.has_rows else 1.0
    return [_unknown(query.text, asked.meaning, rows) for query in asked.queries]


def _unknown(query: str, meaning: Meaning, rows: AnswerNumber = 1.0) -> Answer:
    """The interval from 0 to 1 as an answer; ``rows`` is an array of ones if there is test data."""
    answer = Answer(query, interval=(0.0 * rows, rows), gap=rows)
    if meaning.maxent:
        return replace(answer, value=0.5 * rows)
    return replace(answer, lower=0.0 * rows, upper=rows)
