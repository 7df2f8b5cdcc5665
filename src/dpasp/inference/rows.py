"""A table of evidence: every question answered for every row.

If the choices determine the observed atoms, one circuit answers for all rows: each of these atoms
has two more leaves, true and false, whose weights in a row are 1 or 0 (both 1 if it was not
observed). Rows are then columns of weights, evaluated in batches. Questions about single atoms
share one more evaluation, as in :mod:`dpasp.inference.together`.

Otherwise, the questions are asked once for each distinct row, by any engine. A row with impossible
evidence has NaN for answers, and a warning counts such rows.

>>> from dpasp import loads
>>> text = "0.4::s(yes); 0.6::s(no). 0.9::w :- s(yes). 0.1::w :- s(no). #semantics maxent."
>>> program = loads(text)
>>> program.query("w", evidence={"s": ["yes", "no", None]})[0].value
array([0.9 , 0.1 , 0.42])
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpasp import circuits
from dpasp.dataclass import dataclass
from dpasp.errors import (
    DataError,
    Diagnostic,
    ImpossibleEvidence,
    InferenceError,
    SizeLimit,
)
from dpasp.ground.program import GroundLiteral, GroundQuery
from dpasp.inference.answers import Answer, AnyAnswer, Decision, MapAnswer
from dpasp.inference.asked import Asked, EngineResult, EvidenceRows, in_columns
from dpasp.inference.circuit import Extremes, answer_masses, extremes, on_circuit
from dpasp.inference.exact import inconsistent_mass
from dpasp.inference.intervals import corners, over_vertices
from dpasp.inference.together import Together, about_atoms, atom_leaves
from dpasp.inference.tuning import EXACT
from dpasp.language.ast import Mode
from dpasp.language.statements.engines import ENGINES
from dpasp.limits import UNLIMITED, Watch
from dpasp.semantics.dependencies import determined
from dpasp.semantics.leaves import Weights
from dpasp.semantics.masses import FIELDS, Masses, Question
from dpasp.semantics.meaning import Meaning
from dpasp.writing import counted

Solve = Callable[[Asked], EngineResult]
Evidence = Sequence[GroundLiteral]


def answered_rows(asked: Asked, solve: Solve) -> EngineResult:
    """The answers to every query for every row; ``solve`` is the engine.

    Raises what the engine raises, except :class:`ImpossibleEvidence`.
    """
    few, which = distinct_rows(asked)
    result = by_leaves(few) if ENGINES[asked.method.engine].compiles else None
    if result is None:
        result = by_questions(few, solve)
    return replace(result, answers=tuple(_spread(answer, which) for answer in result.answers))


def distinct_rows(asked: Asked) -> tuple[Asked, NDArray[np.intp]]:
    """The questions with distinct rows only, and which of these each row is.

    If there is test data, all rows are distinct. Raises :class:`DataError` if the evidence and the
    data have different numbers of rows.
    """
    rows = asked.rows
    assert rows is not None
    if not asked.has_rows:
        codes, which = rows.table.distinct()
        distinct = replace(rows, table=replace(rows.table, codes=codes))
        return replace(asked, rows=distinct), which
    _check_lengths(asked, rows)
    return asked, np.arange(len(rows))


def _check_lengths(asked: Asked, rows: EvidenceRows) -> None:
    """Raise :class:`DataError` if the evidence and the data have different numbers of rows."""
    if asked.has_rows and asked.weights.shape[1] != len(rows):
        message = (
            f"the evidence has {counted(len(rows), 'row')} and the data {asked.weights.shape[1]:,}"
        )
        raise DataError(Diagnostic("data-length", message, help="give one row of each"))


def _spread(answer: Any, which: NDArray[np.intp]) -> Any:
    """The answer for every row, from the one for distinct rows."""

    def spread(number: Any) -> Any:
        if isinstance(number, tuple):
            return tuple(map(spread, number))
        return number if number is None or not np.ndim(number) else np.asarray(number)[which]

    names = ("value", "lower", "upper", "interval", "gap", "likely", "logs", "undefined")
    return replace(answer, **{name: spread(getattr(answer, name)) for name in names})


def with_impossible_rows(asked: Asked, result: EngineResult) -> EngineResult:
    """The result with a warning about rows whose evidence is impossible, if there are any."""
    assert asked.rows is not None
    bad = np.zeros(len(asked.rows), dtype=np.bool_)
    for answer in result.answers:
        for number in answer.numbers:
            bad |= np.isnan(number)
    return replace(result, warnings=(*result.warnings, *_impossible_rows(asked, bad)))


def _impossible_rows(asked: Asked, bad: NDArray[np.bool_]) -> tuple[Diagnostic, ...]:
    """The warning about bad rows, if there are any."""
    assert asked.rows is not None
    if not bad.any():
        return ()
    first, count = int(bad.argmax()), int(bad.sum())
    said = ", ".join(map(str, asked.rows.evidence(first))) or "nothing"
    rows = "1 row has" if count == 1 else f"{count:,} rows have"
    warning = Diagnostic(
        "impossible-rows",
        f"{rows} evidence of probability 0, and NaN for answers; the first is row {first}: {said}",
        help="program.why_inconsistent(given=…) shows what rules such evidence out",
        severity="warning",
    )
    return (warning,)


# --- one circuit for all rows ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RowEvaluator:
    """A circuit whose last leaves are observed atoms; ``questions`` are its roots."""

    circuit: circuits.Circuit
    meaning: Meaning
    questions: tuple[Question, ...]
    walked: Any = None  # the circuit on a GPU

    def masses(self, weights: Weights, watch: Watch = UNLIMITED, *, log: bool = False) -> Masses:
        """The masses [questions, batch] under weights [leaves, batch], or their logarithms.

        The inconsistent mass is left out; it does not depend on the evidence.
        """
        fields = self.meaning.fields
        if self.walked is None or (log and not self.walked.scaled):
            threads = threads_for(watch)
            values = self.circuit.masses(
                weights, fields=fields, log=log, threads=threads, watch=watch
            )
        else:
            from dpasp.circuits.gpu.walks import masses_on

            values = masses_on(self.walked, weights, fields, log)
        nothing = np.full(weights.shape[1], -np.inf if log else 0.0)
        return Masses.of(np.moveaxis(values, 1, 0), nothing)


def threads_for(watch: Watch) -> int:
    """How many threads evaluate a large batch: the number given, or all cores."""
    return watch.limits.threads or _cores()


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class Leaves:
    """The evidence of rows as weights of leaves, which come after those of the choices.

    ``atoms`` are the observed atoms, with two leaves each (true, false); others have weight 1.
    """

    rows: EvidenceRows
    weights: Weights  # of the choices: [leaves], or [leaves, rows]
    atoms: Mapping[int, int]  # the place of each, from 0

    def batch(self, start: int, end: int, total: int) -> Weights:
        """The weights [leaves, rows] of some rows, for a circuit that has ``total`` leaves."""
        size = len(self.weights)
        wide = np.ones((total, end - start))
        by_row = self.weights.ndim == 2
        wide[:size] = self.weights[:, start:end] if by_row else self.weights[:, np.newaxis]
        codes = self.rows.table.codes[start:end]
        for column, literals in enumerate(self.rows.literals):
            for code, literal in enumerate(literals, 1):
                if literal.atom:
                    excluded = 0 if literal.mode is Mode.FALSE else 1
                    leaf = size + 2 * self.atoms[literal.atom] + excluded
                    wide[leaf, codes[:, column] == code] = 0.0
        return wide


def observed_atoms(asked: Asked) -> list[int] | None:
    """The atoms observed in rows, if the choices determine all of them; else None."""
    assert asked.rows is not None
    literals = [literal for column in asked.rows.literals for literal in column]
    known = determined(asked.ground.rules, len(asked.ground.symbols))
    if any(literal.mode is Mode.UNDEFINED or not known[literal.atom] for literal in literals):
        return None
    return list(dict.fromkeys(literal.atom for literal in literals if literal.atom))


def by_leaves(asked: Asked) -> EngineResult | None:
    """The answers from a circuit with leaves for the evidence; None if that is not possible."""
    if asked.meaning.has_undefined_model or len(asked.queries) < len(asked.questions):
        return None
    observed = observed_atoms(asked)
    vertices = math.prod(len(corner.points) for corner in corners(asked.ground))
    if observed is None or vertices > EXACT.few_vertices:
        return None
    started = time.perf_counter()
    try:
        parts = list(_evaluators(asked, observed))
        lost = _inconsistent(asked)
    except (SizeLimit, circuits.HeadCycle):
        return None
    except InferenceError as error:
        if error.diagnostics[0].code != "observed-inner":
            raise
        return None
    ready = time.perf_counter()
    answers: dict[int, Answer] = {}
    for places, circuit, evaluator, atoms in parts:
        some = asked.with_questions([asked.questions[i] for i in places])
        numbers = _evaluated(some, circuit, evaluator, atoms)
        for place, number in zip(places, numbers, strict=True):
            answers[place] = _answer(asked, asked.questions[place], number)
    statistics: dict[str, Any] = {}
    if parts:
        sizes = parts[0][1].statistics
        statistics = {"circuit_nodes": sizes.nodes, "circuit_edges": sizes.edges, "way": sizes.way}
    taken = {"compile": ready - started, "evaluate": time.perf_counter() - ready}
    assert asked.rows is not None
    statistics |= {"rows": len(asked.rows), "seconds": taken}
    every = tuple(answers[i] for i in range(len(asked.questions)))
    return EngineResult(every, "compile", lost, "", (), statistics)


def _inconsistent(asked: Asked) -> float:
    """The mass of the total choices without a model, whatever the evidence.

    Raises :class:`InconsistentProgram` if that is an error, or no total choice has a model.
    """
    rules = asked.ground.rules
    if all(rule.head for rule in rules) and determined(rules, len(asked.ground.symbols)).all():
        return 0.0
    alone = asked.with_questions([GroundQuery((), (), "", None)])
    return inconsistent_mass(
        alone, extremes(alone, on_circuit(alone.ground, asked.meaning, watch=asked.watch))
    )


RowPart = tuple[Sequence[int], circuits.Circuit, RowEvaluator | Together, Sequence[int]]


def _evaluators(asked: Asked, observed: Sequence[int]) -> Iterator[RowPart]:
    """Groups of questions, with their circuit and evaluator, and the atoms of the last leaves."""
    alike = about_atoms(asked)
    together = {place: atom for place, atom in enumerate(alike.atoms) if atom} if alike else {}
    walks = _walks(asked.rows.device if asked.rows else "cpu")
    if len(together) < EXACT.many_questions or walks is not None:
        together = {}
    others = [i for i in range(len(asked.questions)) if i not in together]
    cache = circuits.Cache.default()
    if together:
        atoms = tuple(dict.fromkeys((*observed, *together.values())))
        some = asked.with_questions([asked.questions[i] for i in together])
        base = asked.with_questions([GroundQuery((), some.questions[0].evidence, "", None)]).ground
        shared = circuits.compile(
            base, asked.meaning, observed=atoms, cache=cache, watch=asked.watch
        )
        leaves = atom_leaves(some, list(together.values()), atoms)
        evaluator = Together(shared, asked.meaning, some.questions, leaves, None, threads_for)
        yield list(together), shared, evaluator, atoms
    if others:
        questions = tuple(asked.questions[i] for i in others)
        ground = asked.with_questions(questions).ground
        circuit = on_circuit(
            ground, asked.meaning, observed=observed, cache=cache, watch=asked.watch
        ).circuit
        walked = walks and walks(circuit)
        yield others, circuit, RowEvaluator(circuit, asked.meaning, questions, walked), observed


def _walks(device: str) -> Callable[[circuits.Circuit], Any] | None:
    """A function that puts a circuit on a device; None for the CPU."""
    if device == "cpu":
        return None
    from dpasp.circuits.gpu.walks import Walked, there_is

    place = there_is(device)
    return None if place.type == "cpu" else lambda circuit: Walked(circuit, place)


def _evaluated(
    asked: Asked,
    circuit: circuits.Circuit,
    evaluator: RowEvaluator | Together,
    atoms: Sequence[int],
) -> list[Extremes]:
    """The numbers of every question for all rows, batch by batch."""
    rows, watch = asked.rows, asked.watch
    assert rows is not None
    leaves = Leaves(rows, asked.weights, {atom: place for place, atom in enumerate(atoms)})
    total = circuit.leaves
    step = max(EXACT.batch, EXACT.held_numbers // (total + len(asked.questions) * len(FIELDS)))
    parts: list[list[Extremes]] = []
    every = corners(asked.ground)
    watch.stage("rows")
    for start in range(0, len(rows), step):
        watch.check()
        end = min(start + step, len(rows))
        wide = leaves.batch(start, end, total)
        if asked.has_intervals:
            parts.append(over_vertices(asked, evaluator, wide, every))  # type: ignore[arg-type]
        else:
            found, logs = answer_masses(asked, evaluator, wide, watch)  # type: ignore[arg-type]
            parts.append(Extremes.of(found, asked.meaning, logs))
        watch.report(end, len(rows))
    return [Extremes.side_by_side(each) for each in zip(*parts, strict=True)] if parts else []


def _answer(asked: Asked, question: Question, number: Extremes) -> Answer:
    bad = ~(number.possible > 0)
    lower, upper = (np.where(bad, np.nan, end) for end in (number.lower, number.upper))
    if asked.meaning.maxent:
        return Answer(question.text, value=lower, logs=number.logs and number.logs[:1])
    return Answer(question.text, lower=lower, upper=upper, logs=number.logs)


# --- every row as separate evidence ------------------------------------------------------------


def by_questions(asked: Asked, solve: Solve) -> EngineResult:
    """The answers to separate questions with the evidence of each row, some rows at a time.

    Raises :class:`ImpossibleEvidence` if there are decisions and it is impossible in every row.
    """
    rows, watch, engine = asked.rows, asked.watch, ENGINES[asked.method.engine]
    assert rows is not None
    _check_lengths(asked, rows)
    valued = bool(asked.ground.worth or asked.ground.decisions)
    if not (asked.questions or valued):
        return EngineResult((), engine.name)
    queries = len(asked.queries) == len(asked.questions) and not valued
    step = 1
    if queries and not asked.has_rows:
        if engine.name == "enumerate":
            step = max(1, EXACT.enumerated_questions // max(1, len(asked.questions)))
        elif engine.exact:
            step = EXACT.many_questions
    inner = replace(asked, rows=None, lenient=queries, watch=watch.silenced())
    found: list[Sequence[AnyAnswer]] = []
    last = EngineResult((), engine.name)
    for start in range(0, len(rows), step):
        watch.check()
        end = min(start + step, len(rows))
        some = _given(inner, [rows.evidence(row) for row in range(start, end)])
        if asked.has_rows:
            some = replace(some, weights=asked.weights[:, start])
        last, answers = _solved(some, solve, last)
        count = len(answers) // (end - start)
        found += [answers[i * count : (i + 1) * count] for i in range(end - start)]
        watch.report(end, len(rows))
    likely = next(filter(None, found), ())
    if not likely and valued:
        solve(some)  # raises the error
    bad = np.array([not answers for answers in found], dtype=np.bool_)
    last = replace(last, warnings=(*last.warnings, *_impossible_rows(asked, bad)))
    columns = in_columns([answers or tuple(map(_nowhere, likely)) for answers in found])
    return replace(last, answers=columns, statistics={**last.statistics, "rows": len(rows)})


def _given(asked: Asked, seen: Sequence[Evidence]) -> Asked:
    """The questions with the evidence of each row added to theirs."""

    def given(question: Any, evidence: Evidence) -> Any:
        return replace(question, evidence=tuple(dict.fromkeys((*question.evidence, *evidence))))

    ground = asked.ground
    ground = replace(
        ground,
        questions=tuple(given(question, row) for row in seen for question in asked.questions),
        worth=tuple(given(question, row) for row in seen for question in ground.worth),
        evidence=(*ground.evidence, *(seen[0] if ground.decisions else ())),
    )
    return replace(asked, ground=ground)


def _solved(
    asked: Asked, solve: Solve, last: EngineResult
) -> tuple[EngineResult, tuple[AnyAnswer, ...]]:
    """The answers, NaN if the evidence is impossible, with the warnings of all results so far.

    If there are decisions, impossible evidence leaves no answers.
    """
    try:
        found = solve(asked)
    except ImpossibleEvidence:
        if asked.ground.worth or asked.ground.decisions:
            return last, ()
        if len(asked.questions) > 1:
            answers: tuple[AnyAnswer, ...] = ()
            for question in asked.questions:
                last, more = _solved(asked.with_questions([question]), solve, last)
                answers += more
            return last, answers
        found = replace(last, answers=(impossible(asked.questions[0], asked.meaning),))
    warnings = dict.fromkeys((*last.warnings, *found.warnings))
    lost = max(last.inconsistent, found.inconsistent)
    return replace(found, warnings=tuple(warnings), inconsistent=lost), found.answers


def impossible(question: Question, meaning: Meaning) -> Any:
    """The answer if the evidence is impossible."""
    names = ["value"] if meaning.maxent else ["lower", "upper"]
    ends: dict[str, Any] = dict.fromkeys(names, math.nan)
    if isinstance(question, GroundQuery):
        return Answer(question.text, **ends)
    return MapAnswer(question.text, {}, **ends, lower_assignment=None if meaning.maxent else {})


def _nowhere(answer: AnyAnswer) -> AnyAnswer:
    """The answer if the evidence is impossible, from the answer for another row."""
    names = ("value", "lower", "upper")
    ends: dict[str, Any] = {n: math.nan for n in names if getattr(answer, n) is not None}
    if isinstance(answer, Answer):
        return type(answer)(answer.query, **ends)
    if isinstance(answer, Decision):
        return Decision(answer.query, {}, **ends, criterion=answer.criterion, goal=answer.goal)
    return MapAnswer(answer.query, {}, **ends)
