"""The exact engines: masses from a circuit or a table, then answers.

``auto`` falls back to bounds and samples at a limit, ``compile`` does not; ``enumerate`` goes
through all total choices.

>>> from dpasp.inference.asked import ask
>>> from dpasp.language import parse
>>> from dpasp.ground import ground
>>> from dpasp.semantics.meaning import Meaning
>>> result = auto(ask(ground(parse("0.3::a. b :- not a. #query b.")), Meaning()))
>>> result.answers[0].lower, result.engine
(0.7, 'compile')
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from dpasp import circuits
from dpasp.errors import Diagnostic, ImpossibleEvidence, LimitReached, UsageError
from dpasp.ground.program import GroundQuery, IntervalWeights
from dpasp.inference.answers import Answer, AnswerNumber, AnyAnswer, MapAnswer, MapAnswers
from dpasp.inference.asked import Asked, EngineResult, stopped_early
from dpasp.inference.circuit import HEAD_CYCLE, Evaluator, on_circuit
from dpasp.inference.ratios import Extremes, extremes
from dpasp.inference.tuning import BOUNDS
from dpasp.semantics import masses
from dpasp.semantics.leaves import Weights, choice_labels
from dpasp.semantics.masses import Array
from dpasp.semantics.translate import Weighed


def auto(asked: Asked) -> EngineResult:
    """Exact answers or, at a limit, sure intervals with estimates inside: the engine ``auto``.

    With a time limit, half of the time goes to the exact engine, and what is left to bounds and to
    samples of what they leave open. Where only exact answers will do, a limit is an error.
    """
    by_table = isinstance(asked.ground, Weighed) and asked.ground.by_table
    if asked.method.exact or by_table:  # of models that are enumerated, no part is known alone
        return compiled(asked)
    watch, left = asked.watch, asked.watch.remaining()
    kept = BOUNDS.patience
    if left is not None:
        kept = min(BOUNDS.after_exact * left, kept)
        watch = watch.within(left - kept, watch.report)
    asked.watch.stage("exact")
    try:
        return compiled(replace(asked, watch=watch.with_memory(BOUNDS.exact_memory)))
    except LimitReached as limit:
        from dpasp.inference.bounds.not_exact import not_exact  # most answers are exact

        return not_exact(asked, limit, kept)


def compiled(asked: Asked) -> EngineResult:
    """The answers from a circuit: the engines ``auto`` and ``compile``."""
    started = time.perf_counter()
    cache = circuits.Cache.default()
    evaluator = _for_many_atoms(asked, cache)
    if evaluator is None:
        evaluator = on_circuit(
            asked.ground,
            asked.meaning,
            options=compiler_options(asked),
            cache=cache,
            watch=asked.watch,
        )
    result = answered(asked, evaluator, time.perf_counter() - started)
    return replace(result, warnings=(*_not_compiled(asked, evaluator), *result.warnings))


def _for_many_atoms(asked: Asked, cache: circuits.Cache) -> Evaluator | None:
    """An evaluator that answers many questions together, or sums up a large network."""
    if not asked.is_large:
        return None
    from dpasp.inference.together import answered_in_numbers, answered_together

    return answered_in_numbers(asked) or answered_together(asked, cache)


def compiler_options(asked: Asked) -> circuits.Options:
    """The options of the compiler, with the weights where the circuit is evaluated only once.

    The compiler then may fold them in. That is so under maxent, for queries without rows of test
    data and without intervals.
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


def log_partition(asked: Asked) -> Array:
    """The logarithm [rows] of what all models that satisfy the program's evidence weigh together.

    Under credal a total choice counts once if it has such a model: the logarithm of the share of
    those total choices. It is -inf where there are none. Raises :class:`UsageError` where models
    have no weights, or probabilities are intervals.
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


def answered(asked: Asked, evaluator: Evaluator, seconds: float) -> EngineResult:
    """The answers from an evaluator, which took ``seconds`` to make.

    Raises :class:`InconsistentProgram` and :class:`ImpossibleEvidence` as the masses demand.
    """
    ready = time.perf_counter()
    numbers = extremes(asked, evaluator)
    lost = _checked(asked, numbers)
    maps = _maps(asked, evaluator)
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


def _checked(asked: Asked, numbers: Sequence[Extremes]) -> float:
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
    """The warning about a search that a limit stopped."""
    limits = [limit for number in numbers for limit in number.stopped]
    if not limits:
        return ()
    gap = max(float(number.gap.max()) for number in numbers)
    return (stopped_early(limits[0].diagnostics[0].message, gap),)


def not_surely_best(answers: Sequence[MapAnswer | MapAnswers]) -> tuple[Diagnostic, ...]:
    """The warning about most probable values that a limit stopped the search for."""
    gap = max((answer.gap for answer in answers if not answer.exact), default=None)
    if gap is None:
        return ()
    return (
        Diagnostic(
            "not-exact",
            "a limit was reached before the most probable values were sure: those given are the "
            f"best that were found, and no others are more probable by over {gap:.6g}",
            help="raise the limit, or let it fail with --exact",
            severity="warning",
        ),
    )


def _not_compiled(asked: Asked, evaluator: Evaluator) -> tuple[Diagnostic, ...]:
    """The warning that ``compile`` was asked for and the program had to be enumerated."""
    statistics = evaluator.statistics
    if asked.method.engine != "compile" or statistics.get("enumerated") != HEAD_CYCLE:
        return ()
    total = statistics["total_choices"]
    return (
        Diagnostic(
            "head-cycle",
            "a disjunction through a positive loop is not compiled; the circuit was made "
            f"by enumerating {total:,} total choices",
            severity="warning",
        ),
    )


def _answers(
    asked: Asked,
    numbers: Sequence[Extremes],
    maps: Mapping[int, tuple[MapAnswer | MapAnswers, str]],
) -> tuple[AnyAnswer, ...]:
    """The answers in the order of the questions."""

    def number(row: Array) -> AnswerNumber:
        return row if asked.has_rows else float(row[0])

    answers: list[AnyAnswer] = []
    for i, (question, extreme) in enumerate(zip(asked.questions, numbers, strict=True)):
        if i in maps:
            answers.append(maps[i][0])
        elif asked.meaning.maxent:
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
