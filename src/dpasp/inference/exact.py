"""Exact answers: choose an engine, evaluate it, turn masses into numbers."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dpasp.errors import DataError, Diagnostic, ImpossibleEvidence, UsageError
from dpasp.inference.answers import Answer, Answers, MapAnswer
from dpasp.inference.approximate.early import stopped_early
from dpasp.inference.engines import OnCircuit, not_compiled, prepare
from dpasp.inference.evaluator import Evaluator, Report, silent
from dpasp.inference.numbers import Numbers, evaluate
from dpasp.inference.probable.asked import Asked
from dpasp.inference.probable.by_circuit import most_probable_by_circuit
from dpasp.inference.probable.by_table import check_enumerable, most_probable
from dpasp.inference.reference.enumerate import Enumeration, enumerate_models
from dpasp.language.ast import Logic, Probability
from dpasp.limits import UNLIMITED, Watch
from dpasp.logic.program import GroundMap, GroundProgram, Interval
from dpasp.semantics import leaves, masses
from dpasp.semantics.leaves import Weights
from dpasp.semantics.names import choice_labels

Inconsistent = Literal["normalize", "error"]


def answer(
    ground: GroundProgram,
    logic: Logic,
    probability: Probability,
    *,
    engine: str = "auto",
    inconsistent: str = "normalize",
    weights: Weights | None = None,
    watch: Watch = UNLIMITED,
    progress: Report = silent,
) -> Answers:
    """The answers to the questions of a ground program.

    ``weights`` replaces what the program says, [leaves] or [leaves, rows]; with rows
    every number is an array.
    """
    if inconsistent not in get_args(Inconsistent):
        raise UsageError(f"inconsistent is normalize or error, not {inconsistent!r}")
    given = complete(leaves.weights(ground) if weights is None else weights)
    if given.ndim > 1 and any(isinstance(question, GroundMap) for question in ground.questions):
        raise UsageError("#map and #mpe cannot be asked for several test rows at once")
    clock = time.perf_counter
    started = clock()
    evaluator = prepare(ground, logic, probability, engine=engine, watch=watch, progress=progress)
    ready = clock()
    rows = given if given.ndim == 2 else given[:, np.newaxis]
    numbers = evaluate(ground, logic, probability, evaluator, rows, watch, progress)
    lost = _checked(ground, numbers, inconsistent == "normalize")
    meaning = (logic, probability)
    maps = _map_answers(ground, *meaning, evaluator, given, watch)
    seconds = {evaluator.name: ready - started, "evaluate": clock() - ready}
    sizes = {"choices": len(ground.choices), "ground_rules": len(ground.rules)}
    ways = {"map": "+".join(dict.fromkeys(way for _, way in maps.values()))} if maps else {}
    return Answers(
        _answers(ground, probability, numbers, maps, given),
        logic.value,
        probability.value,
        evaluator.name,
        lost,
        tuple(ground.program.files),
        (
            *ground.warnings,
            *not_compiled(engine, evaluator),
            *inconsistent_choices(lost, "up to " if _credal(ground) else ""),
            *_stopped(numbers),
        ),
        {**sizes, **evaluator.statistics, **ways, "seconds": seconds},
    )


def _checked(ground: GroundProgram, numbers: Numbers, normalize: bool) -> float:
    """The largest inconsistent mass; raises if a question has no answer."""
    masses.check_consistent(numbers.consistent, numbers.inconsistent, normalize)
    problems = {
        masses.impossible_evidence(question.evidence, question.span): None
        for question, possible in zip(ground.questions, numbers.possible, strict=True)
        if not np.all(possible > 0)
    }
    if problems:
        raise ImpossibleEvidence(problems)
    return float(numbers.inconsistent.max(initial=0.0))


def _credal(ground: GroundProgram) -> bool:
    return any(isinstance(choice.weight, Interval) for choice in ground.choices)


def _stopped(numbers: Numbers) -> tuple[Diagnostic, ...]:
    """The warning about a search that a limit stopped."""
    if not numbers.stopped:
        return ()
    said = numbers.stopped[0].diagnostics[0].message
    return (stopped_early(said, float(numbers.gap.max())),)


def _answers(
    ground: GroundProgram,
    probability: Probability,
    numbers: Numbers,
    maps: Mapping[int, tuple[MapAnswer, str]],
    weights: Weights,
) -> tuple[Answer | MapAnswer, ...]:
    """The answers in the order of the questions."""

    def number(row: NDArray[np.float64]) -> float | NDArray[np.float64]:
        return row if weights.ndim == 2 else float(row[0])

    found: list[Answer | MapAnswer] = []
    for i, question in enumerate(ground.questions):
        if i in maps:
            found.append(maps[i][0])
        elif probability is Probability.MAXENT:
            found.append(Answer(question.text, value=number(numbers.lower[i])))
        else:
            lower, upper = number(numbers.lower[i]), number(numbers.upper[i])
            answer = Answer(
                question.text,
                lower=lower,
                upper=upper,
                lower_at=_credal_choices(ground, numbers.lower_at.get(i)),
                upper_at=_credal_choices(ground, numbers.upper_at.get(i)),
            )
            if np.any(numbers.gap[i] > 0):
                answer = replace(answer, interval=(lower, upper), gap=number(numbers.gap[i]))
            found.append(answer)
    return tuple(found)


def _map_answers(
    ground: GroundProgram,
    logic: Logic,
    probability: Probability,
    evaluator: Evaluator,
    weights: Weights,
    watch: Watch,
) -> dict[int, tuple[MapAnswer, str]]:
    """The answers to questions for the most probable values, and how they were found."""
    found = {}
    table = evaluator.enumeration if isinstance(evaluator, OnCircuit) else evaluator
    for i, question in enumerate(ground.questions):
        if not isinstance(question, GroundMap):
            continue
        best = None
        if isinstance(evaluator, OnCircuit):
            asked = Asked(ground, i, logic, probability, evaluator, weights, watch)
            best = most_probable_by_circuit(asked)
        if best is None:
            if not isinstance(table, Enumeration):
                assert isinstance(evaluator, OnCircuit)
                check_enumerable(ground, question, evaluator)
                table = enumerate_models(ground, logic, probability, watch=watch)
            read = (question, table.maps[i], table.table, logic, probability)
            best = most_probable(ground, *read, weights, watch), "table"
        found[i] = best
    return found


def _credal_choices(ground: GroundProgram, weights: Weights | None) -> dict[str, float] | None:
    """The probabilities of the values of credal choices in a weight vector."""
    if weights is None:
        return None
    labels, places = choice_labels(ground), leaves.layout(ground.choices)
    return {
        label: float(weight)
        for i, choice in enumerate(ground.choices)
        if isinstance(choice.weight, Interval)
        for label, weight in zip(labels[i], weights[places.of(i)], strict=False)
    }


def complete(weights: Weights) -> Weights:
    """The weights, if all of them are known."""
    if np.isnan(weights).any():
        raise DataError(
            Diagnostic(
                "network-output",
                "the probabilities of this program come from a network, and no data was given",
                help="name test data, as in input(x) ~ test(@images), or ask program.module()",
            )
        )
    return weights


def inconsistent_choices(inconsistent: float, how: str = "") -> tuple[Diagnostic, ...]:
    """The warning about total choices without a model; ``how`` exact their probability is."""
    if not inconsistent:
        return ()
    return (
        Diagnostic(
            "inconsistent-choices",
            f"total choices of probability {how}{inconsistent:g} have no model; "
            "the answers are conditional on the others",
            severity="warning",
        ),
    )
