"""Variable elimination: probabilities of a Markov network from sums over its tables.

Under ``weighted``, a choice rule of exactly one atom is a variable, and a factor is a table over
variables. One elimination along a tree and back computes the total weight of all models and the
share of every value of every variable (:func:`dpasp.circuits.compiler.shares`). Rules, constraints,
probabilistic choices and evidence are part of the same network; factors do not become choices. With
maxima instead of sums, it finds the most probable model, for ``#mpe`` and for a ``#map`` whose
atoms distinguish all models.

>>> import dpasp
>>> program = dpasp.loads("1{x(0..1)}1. 1{y(0..1)}1. #factor {3, 1, 1, 2} : x({0,1}), y({0,1}).")
>>> print(program.query("x(1)"))
ℙ(x(1)) = 0.428571
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from typing import ClassVar

import numpy as np
from clingo import Function

from dpasp.circuits import HeadCycle
from dpasp.circuits.compiler import Maxima, Shares, maxima, shares
from dpasp.dataclass import dataclass
from dpasp.errors import LimitReached, MemoryLimit, SizeLimit, TimeLimit
from dpasp.ground.program import GroundLiteral, GroundMap, GroundQuery
from dpasp.inference.answers import AnyAnswer, MapAnswer
from dpasp.inference.asked import Asked, EngineResult
from dpasp.inference.exact import answered, as_bounds, not_surely_best
from dpasp.inference.map import CLOSE, MODES, VALUES, Best, best_at, map_answer
from dpasp.inference.tuning import EXACT
from dpasp.language.ast import Mode
from dpasp.limits import UNLIMITED, Watch
from dpasp.semantics import leaves
from dpasp.semantics.leaves import Weights
from dpasp.semantics.masses import FIELDS, Array, Masses, Question, query_literals
from dpasp.semantics.translate import Weighed
from dpasp.semantics.weighted import weighed

TRUE, FALSE, UNDEFINED = (VALUES.index(value) for value in (True, False, "undef"))
Evidence = tuple[GroundLiteral, ...]


def answered_by_sums(asked: Asked, otherwise: Callable[[Asked], EngineResult]) -> EngineResult:
    """The answers by sums over tables; ``otherwise`` answers what is no such sum, or too large.

    If most probable values are only bounded here, ``otherwise`` searches for them as well, and the
    best of both is the answer.
    """
    known: Maps = {}
    maps = len(asked.queries) < len(asked.questions)
    if not asked.has_intervals and asked.rows is None and not (maps and asked.has_rows):
        result, timed = None, asked
        limits: list[type[Exception]] = [SizeLimit, HeadCycle]
        if maps and not asked.method.exact:
            timed = replace(asked, watch=asked.watch.share(2, asked.watch.report))
            limits += [TimeLimit, MemoryLimit]
        with suppress(*limits):
            result = _answered(timed, known)
        if maps and not known and not asked.method.exact:
            with suppress(*limits):
                _bound(asked, known)
        if result is not None and all(answer.exact for answer, _ in known.values()):
            return as_bounds(result) if asked.method.engine == "bounds" else result
    try:
        result = otherwise(with_factor_choices(asked))
    except LimitReached:
        if asked.method.exact or not known or len(known) < len(asked.questions):
            raise
        found = [answer for answer, _ in known.values()]
        return EngineResult(tuple(found), "bounds", warnings=not_surely_best(found))
    answers = list(result.answers)
    for place, (answer, _) in known.items():
        answers[place] = _better(answers[place], answer)
    return replace(result, answers=tuple(answers))


Maps = dict[int, tuple[MapAnswer, str]]  # by the place of a question


def _answered(asked: Asked, known: Maps) -> EngineResult | None:
    """The answers by sums, or None; answers to maps are added to ``known`` in any case."""
    started, found = time.perf_counter(), None
    maps = len(asked.queries) < len(asked.questions) and not asked.method.exact
    try:
        found = Summed.of(asked)
    except SizeLimit:
        if not maps:
            raise
    for place, question in enumerate(asked.questions):
        if isinstance(question, GroundQuery) or (found and found.logs[1, place, 0] == -np.inf):
            continue  # impossible evidence is reported later
        best = _best(asked, question, None if found is None else float(found.logs[1, place, 0]))
        if best is None:
            return None
        known[place] = map_answer(asked.ground, question, best), "tables"
    if found is None:
        return None
    return answered(asked, found, time.perf_counter() - started, known)


def _bound(asked: Asked, known: Maps) -> None:
    """Add bounds of most probable values from small tables, if large ones took too long."""
    for place, question in enumerate(asked.questions):
        if isinstance(question, GroundMap):
            best = _best(asked, question, None, EXACT.quick_tables)
            if best is not None:
                known[place] = map_answer(asked.ground, question, best), "tables"


def _better(one: AnyAnswer, other: MapAnswer) -> AnyAnswer:
    """The more probable one of two answers to a ``#map``, with the lower one of their bounds."""
    assert isinstance(one, MapAnswer)
    if one.exact or one.most is None or other.most is None:
        return one
    best = max(one, other, key=lambda answer: answer.logarithms()[0])
    return replace(best, most=max(best.value or 0.0, min(one.most, other.most)))


def _best(
    asked: Asked, question: GroundMap, log_evidence: float | None, most: float = 3e8
) -> Best | None:
    """The most probable values, with maxima in place of sums; bounds if tables are too large.

    None if the question is no such maximum, or nothing was found. ``log_evidence`` is the log
    weight of the evidence, if known. Tables have at most ``most`` entries.
    """
    choices = asked.ground.choices
    marked = [literal.atom for literal in question.atoms]
    sums = not question.everything
    literals = [(mode, atom) for mode in (Mode.TRUE, Mode.FALSE) for atom in marked]
    literals += [(Mode.TRUE, s) for choice in choices for s in choice.selectors if not sums]
    largest = _maxima(asked, question, literals, sums, most)
    if largest is None:
        return None
    if question.everything:
        starts = np.cumsum([0, *(len(choice.selectors) for choice in choices)])
        # If no value holds, the choice takes its last one, nothing.
        columns = [
            np.where(holds.any(axis=1), holds.argmax(axis=1), holds.shape[1])
            for a, b in pairwise(starts.tolist())
            for holds in [largest.holds[:, a:b]]
        ]
        rows = np.stack(columns, axis=1)
    else:
        true, false = np.split(largest.holds, 2, axis=1)
        rows = np.where(true, TRUE, np.where(false, FALSE, UNDEFINED))
    rows = rows[np.lexsort(rows.T[::-1])]
    if largest.exact and log_evidence is not None:
        return best_at(min(largest.log - log_evidence, 0.0), rows)
    found = largest.found
    if sums and most > EXACT.quick_tables:
        values = [
            literal._replace(mode=MODES[VALUES[value]])
            for literal, value in zip(question.atoms, rows[0].tolist(), strict=True)
        ]
        with suppress(SizeLimit):
            own = _sums(asked, asked.columns[:, 0], (), (*question.evidence, *values))
            found = found if own is None else float(own.log_holds[0])
    if found == -np.inf:
        return None
    least = highest = log_evidence
    if least is None or highest is None:  # the evidence has at least the weight that was found
        whole = _maxima(asked, question, [], True, most)
        if whole is None:
            return None
        least, highest = found, whole.log
    elif found >= largest.log - CLOSE:
        return best_at(min(found - highest, 0.0), rows)
    upper = math.exp(min(largest.log - least, 0.0))
    return best_at(min(found - highest, 0.0), rows, upper)


def _maxima(
    asked: Asked,
    question: GroundMap,
    literals: Sequence[tuple[Mode, int]],
    sums: bool,
    most: float,
) -> Maxima | None:
    asks = tuple(
        GroundQuery((GroundLiteral(mode, atom, Function("")),), question.evidence, "", None)
        for mode, atom in literals
    )
    asks = asks or (GroundQuery((), question.evidence, "", None),)
    found = maxima(
        replace(asked.ground, questions=asks),
        asked.meaning,
        asked.columns[:, 0],
        EXACT.ties + 1,
        sums=sums,
        bounded=not asked.method.exact,
        most=most,
        watch=asked.watch,
    )
    return found and replace(found, holds=found.holds.astype(np.bool_))


def log_total(asked: Asked) -> Array | None:
    """The logarithm [rows] of the total weight of all models that satisfy the program's evidence.

    None if the tables are too large, or cannot be summed up.
    """
    ground = asked.ground
    assert isinstance(ground, Weighed)
    try:
        sums = [_sums(asked, column, (), ground.evidence) for column in asked.columns.T]
    except (SizeLimit, HeadCycle):
        return None
    totals = [each.log_holds[0] for each in sums if each is not None]
    return np.array(totals) + ground.log_scale if len(totals) == len(sums) else None


def with_factor_choices(asked: Asked) -> Asked:
    """The same questions about the program with a choice for each factor, for other engines."""
    lean = asked.ground
    assert isinstance(lean, Weighed)
    assert lean.plain is not None
    plain = replace(lean.plain, questions=lean.questions, evidence=lean.evidence)
    whole = weighed(plain, asked.meaning, asked.watch)
    own = leaves.weights(whole)[len(asked.weights) :]
    if asked.has_rows:
        own = np.repeat(own[:, np.newaxis], asked.weights.shape[1], axis=1)
    return replace(asked, ground=whole, weights=np.concatenate([asked.weights, own]))


def _sums(
    asked: Asked,
    weights: Weights,
    queries: Sequence[Question],
    evidence: Evidence,
    least: float = 0,
) -> Shares | None:
    """The weight of all models of the evidence, and for each query about a single literal.

    None if the program is no network, or its tables have fewer than ``least`` entries.
    """
    everything = GroundQuery((), evidence, "", None)
    ground = replace(asked.ground, questions=(everything, *queries))
    return shares(ground, asked.meaning, weights, least=least, watch=asked.watch)


@dataclass(frozen=True, slots=True)
class Summed:
    """Sums over tables as an :class:`~dpasp.inference.circuit.Evaluator`, for fixed weights."""

    asked: Asked
    logs: Array  # [2, questions, rows]: log weights of query and evidence, and of the evidence
    consistent: Array  # [rows]: 0 where no model has a weight above 0
    entries: int
    width: int

    name: ClassVar[str] = "compile"
    circuit: ClassVar[None] = None
    enumeration: ClassVar[None] = None

    @classmethod
    def of(cls, asked: Asked, least: float = 0) -> Summed | None:
        """The sums for all questions, with one elimination for each evidence.

        None if there are none, or the tables have fewer than ``least`` entries.
        """
        columns = asked.columns
        questions = asked.questions
        literals = [query_literals(question) for question in questions]
        logs = np.full((2, len(questions), columns.shape[1]), -np.inf)
        entries = width = 0
        by_evidence: dict[Evidence, list[int]] = {}
        for place, question in enumerate(questions):
            by_evidence.setdefault(question.evidence, []).append(place)
        for row, weights in enumerate(columns.T):
            for evidence, places in by_evidence.items():
                alone = [i for i in places if len(literals[i]) == 1]
                single = [i for i in alone if literals[i][0].mode is not Mode.UNDEFINED]
                found = _sums(asked, weights, [questions[i] for i in single], evidence, least)
                if found is None:
                    return None
                logs[:, places, row] = found.log_holds[0]
                logs[0, single, row] = found.log_holds[1:]
                entries, width = max(entries, found.entries), max(width, found.width)
                for i in (i for i in {*places}.difference(single) if literals[i]):
                    own = _sums(asked, weights, (), (*evidence, *literals[i]))
                    if own is None:
                        return None
                    logs[0, i, row] = own.log_holds[0]
        consistent = np.ones(columns.shape[1])
        for place in np.flatnonzero((logs[1] == -np.inf).any(axis=0)).tolist():
            every = _sums(asked, columns[:, place], (), ())
            consistent[place] = every is not None and every.log_holds[0] > -np.inf
        return cls(asked, logs, consistent, entries, width)

    @property
    def statistics(self) -> Mapping[str, int | float | str]:
        """The size of the tables, and the number of questions they answer."""
        return {
            "table_entries": self.entries,
            "width": self.width,
            "way": "sums" if self.asked.meaning.weighted else "elimination",
            "together": len(self.asked.questions),
        }

    def masses(self, weights: Weights, watch: Watch = UNLIMITED, *, log: bool = False) -> Masses:
        """The masses [questions, batch] as shares of the evidence, or their logarithms.

        The weight of all models may be too large for a double, but only shares of it matter.
        """
        own = {column.tobytes(): row for row, column in enumerate(self.asked.columns.T)}
        rows = [own[column.tobytes()] for column in weights.T]
        both, evidence = self.logs[:, :, rows]
        possible = evidence > -np.inf
        with np.errstate(divide="ignore", invalid="ignore"):
            holds = np.minimum(np.where(possible, both - evidence, -np.inf), 0.0)
            fails = np.where(possible, np.log(-np.expm1(holds)), -np.inf)
            consistent = np.broadcast_to(np.log(self.consistent[rows]), holds.shape)
        whole = np.where(possible, 0.0, -np.inf)
        fields = {"a": holds, "b": holds, "c": fails, "d": fails, "qe": holds, "e": whole}
        fields["consistent"] = consistent
        values = np.stack([fields[name] for name in FIELDS])
        lost = np.full(len(rows), -np.inf)
        return Masses.of(values, lost) if log else Masses.of(np.exp(values), np.exp(lost))
