"""What an engine gives back.

>>> from dpasp.inference.answers import Answer
>>> result = EngineResult((Answer("a", value=0.3),), "my engine", inconsistent=0.1)
>>> [warning.message for warning in inconsistent_choices(result.inconsistent)]
['total choices of probability 0.1 have no model; the answers are conditional on the others']
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, InconsistentProgram
from dpasp.inference.answers import Answer, AnswerNumber, MapAnswer
from dpasp.inference.asked import Asked
from dpasp.semantics.leaves import Weights


@dataclass(frozen=True, slots=True)
class EngineResult:
    """The answers to all questions, in their order.

    ``engine`` is the one that answered in the end, ``inconsistent`` the mass of the total
    choices without a model, of which ``precision`` says in words how exact it is.
    """

    answers: tuple[Answer | MapAnswer, ...]
    engine: str
    inconsistent: float = 0.0
    precision: str = ""
    warnings: tuple[Diagnostic, ...] = ()
    statistics: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Approximate:
    """Approximate answers under one weight vector, and the inconsistent mass that was seen."""

    answers: tuple[Answer, ...]
    inconsistent: float
    warnings: tuple[Diagnostic, ...]


def row_by_row(
    asked: Asked, precision: str, answer: Callable[[Weights], Approximate]
) -> EngineResult:
    """The answers for every row of weights, found one after the other.

    Raises :class:`InconsistentProgram` if total choices without a model were seen and are
    asked to be an error.
    """
    rows = [answer(row) for row in asked.columns.T]
    lost = max((row.inconsistent for row in rows), default=0.0)
    if lost > 0 and asked.inconsistent == "error":
        raise InconsistentProgram(f"total choices of probability about {lost:g} have no model")
    answers = _joined(rows) if asked.has_rows else rows[0].answers
    warnings = dict.fromkeys(warning for row in rows for warning in row.warnings)
    return EngineResult(answers, asked.method.engine, lost, precision, tuple(warnings))


def _joined(rows: Sequence[Approximate]) -> tuple[Answer, ...]:
    """The answers for several rows as one, with a number for each row."""
    return tuple(_columns(answers) for answers in zip(*(r.answers for r in rows), strict=True))


def _columns(answers: Sequence[Answer]) -> Answer:
    """The answers to one query for several rows as one."""

    def column(name: str) -> AnswerNumber | None:
        values = [getattr(answer, name) for answer in answers]
        return None if values[0] is None else np.array(values, dtype=np.float64)

    ends = np.array([answer.interval for answer in answers], dtype=np.float64)
    samples = [answer.samples for answer in answers if answer.samples is not None]
    return replace(
        answers[0],
        value=column("value"),
        lower=column("lower"),
        upper=column("upper"),
        interval=(ends[:, 0], ends[:, 1]),
        samples=min(samples, default=None),
        gap=column("gap"),
        **worst_chains(answers),
    )


def worst_chains(answers: Sequence[Answer]) -> dict[str, Any]:
    """How good the chains of several answers are at the worst, as fields of an answer."""
    chained = [answer for answer in answers if answer.chains is not None]
    if not chained:
        return {}
    return {
        "chains": chained[0].chains,
        "effective": min(answer.effective or 0.0 for answer in chained),
        "r_hat": max(answer.r_hat or 0.0 for answer in chained),
    }


def stopped_early(stopped: str, gap: float) -> Diagnostic:
    """The warning about answers that a limit left with a gap; ``stopped`` says which limit."""
    return Diagnostic("stopped-early", f"{stopped}, with a gap of {gap:g}", severity="warning")


def inconsistent_choices(inconsistent: float, precision: str = "") -> tuple[Diagnostic, ...]:
    """The warning about total choices without a model; ``precision``: how exact that number is."""
    if not inconsistent:
        return ()
    return (
        Diagnostic(
            "inconsistent-choices",
            f"total choices of probability {precision}{inconsistent:g} have no model; "
            "the answers are conditional on the others",
            help="dpasp explain --why-inconsistent (program.why_inconsistent()) shows what "
            "leaves no model",
            severity="warning",
        ),
    )
