"""Dividing questions and rows of test data among the workers of a pool.

The parts, and so the answers, do not depend on the number of workers. If there are many rows, these
are divided, otherwise the questions. A single question is left to its engine, which may divide its
own work: samples, cases to compile, a search over intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, ImpossibleEvidence, UsageError
from dpasp.inference.answers import Answer
from dpasp.inference.asked import Asked, EngineResult, in_columns
from dpasp.inference.exact import solved
from dpasp.inference.tuning import EXACT
from dpasp.language.statements.engines import ENGINES
from dpasp.limits import Watch
from dpasp.semantics.translate import translate

Part = tuple[slice, slice]  # some of the questions, and some of the rows of test data


def shared_out(asked: Asked) -> EngineResult:
    """The answers, found by the workers of the pool.

    Raises :class:`UsageError` for an engine whose work cannot be shared.
    """
    engine = ENGINES[asked.method.engine]
    if not engine.cut:
        others = ", ".join(name for name, other in ENGINES.items() if other.cut)
        raise UsageError(
            f"the work of the engine {engine.name} cannot be shared by a cluster",
            help=f"use one of {others}, or leave the cluster out",
        )
    cut = cut_parts(asked)
    if len(cut) > 1:
        return _joined(cut, _results(asked, cut))
    result = solved(asked)
    return replace(result, warnings=(*_nothing_shared(asked), *result.warnings))


def cut_parts(asked: Asked) -> list[Part]:
    """The parts into which the work is divided; at most one if it cannot be divided."""
    engine = ENGINES[asked.method.engine]
    rows, questions = asked.columns.shape[1], len(asked.questions)
    least = EXACT.part_rows if engine.exact else 1  # a circuit answers many rows at once
    if asked.rows is not None:
        rows = len(asked.rows)
    if (asked.has_rows or asked.rows is not None) and rows > least:
        size = max(least, -(-rows // EXACT.parts))
        return [(slice(None), slice(i, i + size)) for i in range(0, rows, size)]
    size = max(1, -(-questions // EXACT.parts))
    cut = [(slice(i, i + size), slice(None)) for i in range(0, questions, size)]
    return cut if engine.whole_questions else []


@dataclass(frozen=True)
class Questions:
    """The job of answering some questions for some rows."""

    asked: Asked

    def start(self, watch: Watch) -> Callable[[Part, Watch], EngineResult | ImpossibleEvidence]:
        """The function that answers a part.

        Impossible evidence is returned, not raised, and is reported for all parts together.
        """

        def answer(part: Part, watch: Watch) -> EngineResult | ImpossibleEvidence:
            questions, rows = part
            asked = replace(self.asked.with_questions(self.asked.questions[questions]), watch=watch)
            if asked.has_rows:
                asked = replace(asked, weights=asked.weights[:, rows])
            if asked.rows is not None:
                asked = replace(asked, rows=asked.rows[rows])
            try:
                return solved(asked)
            except ImpossibleEvidence as error:
                return error

        return answer


def _results(asked: Asked, cut: Sequence[Part]) -> list[EngineResult]:
    """The result of each part; raises :class:`ImpossibleEvidence` with that of all parts."""
    # Errors are raised here, because workers do not have the text to show the place.
    translate(asked.ground, asked.meaning.logic, asked.watch)
    answered: list[EngineResult] = []
    problems: dict[Diagnostic, None] = {}
    with closing(asked.pool.map(Questions(asked), cut, asked.watch, fair=True)) as results:
        for done, result in enumerate(results, 1):
            asked.watch.report(done, len(cut))
            if isinstance(result, ImpossibleEvidence):
                problems |= dict.fromkeys(result.diagnostics)
            else:
                answered.append(result)
    if problems:
        raise ImpossibleEvidence(problems)
    return answered


# --- the answers of all parts as one ------------------------------------------------------------


def _joined(cut: Sequence[Part], results: Sequence[EngineResult]) -> EngineResult:
    if cut[0][1] == slice(None):
        answers = tuple(answer for result in results for answer in result.answers)
    else:
        answers = in_columns([result.answers for result in results])
    unsure = (r for r in results if any(isinstance(a, Answer) and not a.exact for a in r.answers))
    least_exact = next(unsure, results[0])
    statistics = _statistics([result.statistics for result in results])
    return EngineResult(
        answers,
        least_exact.engine,
        max(result.inconsistent for result in results),
        least_exact.precision,
        tuple(dict.fromkeys(warning for result in results for warning in result.warnings)),
        {**statistics, "parts": len(cut)},
    )


def _statistics(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The statistics of all parts: sizes are those of the largest, seconds are added up."""
    joined: dict[str, Any] = {}
    for part in parts:
        for name, value in part.items():
            before = joined.get(name)
            if isinstance(value, Mapping):
                known = before or {}
                joined[name] = {**known, **{k: known.get(k, 0.0) + v for k, v in value.items()}}
            elif isinstance(value, int | float) and isinstance(before, int | float):
                joined[name] = max(before, value)
            else:
                joined.setdefault(name, value)
    return joined


def _nothing_shared(asked: Asked) -> tuple[Diagnostic, ...]:
    """The warning that a cluster cannot help an exact engine with a single question."""
    engine = ENGINES[asked.method.engine]
    if not engine.whole_questions or engine.inside or asked.has_intervals:
        return ()
    return (
        Diagnostic(
            "cluster-idle",
            f"one question of the engine {engine.name} cannot be shared: this process answers it",
            help="a cluster shares several questions, rows of test data and intervals of "
            "probabilities; for one question use --engine bounds or sample",
            severity="warning",
        ),
    )
