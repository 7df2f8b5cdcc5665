"""Asking: the questions of a ground program, by any engine."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

import numpy as np

from dpasp.errors import InconsistentProgram, UsageError
from dpasp.inference.answers import Answer, Answers, Number
from dpasp.inference.approximate.bounds import bounds
from dpasp.inference.approximate.early import Approximate
from dpasp.inference.approximate.outcomes import Outcomes, check_questions
from dpasp.inference.approximate.sample import sample
from dpasp.inference.evaluator import Report, silent
from dpasp.inference.exact import Inconsistent, answer, complete, inconsistent_choices
from dpasp.inference.method import Method
from dpasp.language.ast import Logic, Probability
from dpasp.limits import UNLIMITED, Watch
from dpasp.logic.program import GroundProgram
from dpasp.semantics import leaves
from dpasp.semantics.leaves import Weights

APPROXIMATE = {"sample": sample, "bounds": bounds}
LOST = {"sample": "about ", "bounds": "at least "}  # how exact the inconsistent mass is


def ask(
    ground: GroundProgram,
    logic: Logic,
    probability: Probability,
    how: Method,
    *,
    inconsistent: str = "normalize",
    weights: Weights | None = None,
    watch: Watch = UNLIMITED,
    progress: Report = silent,
) -> Answers:
    """The answers to the questions of a ground program, by the engine that ``how`` names."""
    if how.engine not in APPROXIMATE:
        return answer(
            ground,
            logic,
            probability,
            engine=how.engine,
            inconsistent=inconsistent,
            weights=weights,
            watch=watch,
            progress=progress,
        )
    if inconsistent not in get_args(Inconsistent):
        raise UsageError(f"inconsistent is normalize or error, not {inconsistent!r}")
    check_questions(ground, f"the engine {how.engine}")
    given = complete(leaves.weights(ground) if weights is None else weights)
    started = time.perf_counter()
    outcomes = Outcomes(ground, logic, probability, watch)
    rows = given.T if given.ndim == 2 else given[np.newaxis]
    engine = APPROXIMATE[how.engine]
    found = [engine(outcomes, probability, row, how, progress) for row in rows]
    lost = max((one.inconsistent for one in found), default=0.0)
    if lost > 0 and inconsistent == "error":
        raise InconsistentProgram(f"total choices of probability about {lost:g} have no model")
    told = dict.fromkeys(warning for one in found for warning in one.warnings)
    return Answers(
        joined(found) if given.ndim == 2 else found[0].answers,
        logic.value,
        probability.value,
        how.engine,
        lost,
        tuple(ground.program.files),
        (*ground.warnings, *inconsistent_choices(lost, LOST[how.engine]), *told),
        {
            "choices": len(ground.choices),
            "ground_rules": len(ground.rules),
            "total_choices": len(outcomes),
            "seconds": {how.engine: time.perf_counter() - started},
        },
    )


def joined(found: Sequence[Approximate]) -> tuple[Answer, ...]:
    """The answers of several weight vectors as one, with a number for each."""
    return tuple(_joined(rows) for rows in zip(*(one.answers for one in found), strict=True))


def _joined(rows: Sequence[Answer]) -> Answer:
    def column(name: str) -> Number | None:
        values = [getattr(row, name) for row in rows]
        return None if values[0] is None else np.array(values, dtype=np.float64)

    ends = np.array([row.interval for row in rows], dtype=np.float64)
    return replace(
        rows[0],
        value=column("value"),
        lower=column("lower"),
        upper=column("upper"),
        interval=(ends[:, 0], ends[:, 1]),
        samples=None if rows[0].samples is None else min(row.samples or 0 for row in rows),
        gap=column("gap"),
    )
