"""Exact answers: choose an engine, evaluate it, turn masses into numbers."""

from __future__ import annotations

import time
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dpasp.errors import DataError, Diagnostic, ImpossibleEvidence, UsageError
from dpasp.inference.answers import Answer, Answers, MapAnswer
from dpasp.inference.engines import prepare
from dpasp.inference.enumerate import Enumeration, enumerate_models
from dpasp.inference.evaluator import Evaluator, Report, silent
from dpasp.inference.labels import choice_labels
from dpasp.inference.map import most_probable
from dpasp.inference.map_circuit import most_probable_by_circuit
from dpasp.inference.numbers import Numbers, evaluate
from dpasp.language.ast import Logic, Probability
from dpasp.limits import UNLIMITED, Watch
from dpasp.logic.program import GroundMap, GroundProgram, Interval
from dpasp.semantics import leaves, masses
from dpasp.semantics.leaves import Weights

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
    clock = time.perf_counter
    started = clock()
    evaluator = prepare(ground, logic, probability, engine=engine, watch=watch, progress=progress)
    ready = clock()
    rows = given if given.ndim == 2 else given[:, np.newaxis]
    numbers = evaluate(ground, logic, probability, evaluator, rows, watch)
    lost = _checked(ground, numbers, inconsistent == "normalize")
    found = _answers(ground, logic, probability, numbers, evaluator, given, watch)
    seconds = {evaluator.name: ready - started, "evaluate": clock() - ready}
    sizes = {"choices": len(ground.choices), "ground_rules": len(ground.rules)}
    return Answers(
        found,
        logic.value,
        probability.value,
        evaluator.name,
        lost,
        tuple(ground.program.files),
        ground.warnings + inconsistent_choices(lost),
        {**sizes, **evaluator.statistics, "seconds": seconds},
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


def _answers(
    ground: GroundProgram,
    logic: Logic,
    probability: Probability,
    numbers: Numbers,
    evaluator: Evaluator,
    weights: Weights,
    watch: Watch,
) -> tuple[Answer | MapAnswer, ...]:
    """The answers in the order of the questions."""

    def number(row: NDArray[np.float64]) -> float | NDArray[np.float64]:
        return row if weights.ndim == 2 else float(row[0])

    meaning = (logic, probability)
    found: list[Answer | MapAnswer] = []
    for i, question in enumerate(ground.questions):
        if isinstance(question, GroundMap):
            best = None
            if not isinstance(evaluator, Enumeration):
                best = most_probable_by_circuit(*(ground, question, *meaning, weights, watch))
            if best is None:
                if not isinstance(evaluator, Enumeration):
                    evaluator = enumerate_models(ground, *meaning, watch=watch)
                table, conditions = evaluator.table, evaluator.maps[i]
                best = most_probable(ground, question, conditions, table, *meaning, weights, watch)
            found.append(best)
        elif probability is Probability.MAXENT:
            found.append(Answer(question.text, value=number(numbers.lower[i])))
        else:
            found.append(
                Answer(
                    question.text,
                    lower=number(numbers.lower[i]),
                    upper=number(numbers.upper[i]),
                    lower_at=_credal_choices(ground, numbers.lower_at.get(i)),
                    upper_at=_credal_choices(ground, numbers.upper_at.get(i)),
                )
            )
    return tuple(found)


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


def inconsistent_choices(inconsistent: float) -> tuple[Diagnostic, ...]:
    """The warning about total choices without a model."""
    if not inconsistent:
        return ()
    return (
        Diagnostic(
            "inconsistent-choices",
            f"total choices of probability {inconsistent:g} have no model; "
            "the answers are conditional on the others",
            severity="warning",
        ),
    )
