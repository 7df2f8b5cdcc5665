"""Factors and tables summed up: probabilities of a Markov network at the cost of its tables.

Under ``weighted``, a choice rule of exactly one atom is a variable and a factor a table over some
of them. One elimination along a tree, and its way back, gives what all models weigh together and
the share of every value of every variable (:func:`dpasp.circuits.compiler.shares`). Rules,
constraints, probabilistic choices and evidence are part of the same network. No choice is made for
a factor. A maximum in place of every sum gives the most probable model, for ``#mpe`` and for a
``#map`` whose atoms tell all models apart.

>>> import dpasp
>>> program = dpasp.loads("1{x(0..1)}1. 1{y(0..1)}1. #factor {3, 1, 1, 2} : x({0,1}), y({0,1}).")
>>> print(program.query("x(1)"))
ℙ(x(1)) = 0.428571
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import ClassVar

import numpy as np
from clingo import Function

from dpasp.circuits import HeadCycle
from dpasp.circuits.compiler import Shares, maxima, shares
from dpasp.dataclass import dataclass
from dpasp.errors import MemoryLimit, SizeLimit, TimeLimit
from dpasp.ground.program import GroundLiteral, GroundMap, GroundQuery, Rule
from dpasp.inference.answers import MapAnswer
from dpasp.inference.asked import Asked, EngineResult
from dpasp.inference.exact import answered
from dpasp.inference.map import VALUES, Best, best_at, map_answer
from dpasp.inference.tuning import EXACT
from dpasp.language.ast import Mode
from dpasp.limits import UNLIMITED, Watch
from dpasp.semantics import leaves
from dpasp.semantics.leaves import Weights
from dpasp.semantics.masses import FIELDS, Array, Masses, Question
from dpasp.semantics.translate import Weighed
from dpasp.semantics.weighted import weighed

Evidence = tuple[GroundLiteral, ...]


def answered_by_sums(asked: Asked) -> EngineResult | None:
    """The answers by sums over tables; None where a question is no such sum, or they are too large.

    Where most probable values are asked for, also None after half of the time: there are other
    ways to find some.
    """
    if asked.has_intervals or asked.rows is not None:
        return None
    started, timed = time.perf_counter(), asked
    stops: tuple[type[Exception], ...] = (SizeLimit, HeadCycle)
    if len(asked.queries) < len(asked.questions):
        if asked.has_rows or not all(_reads_all(asked, question) for question in asked.questions):
            return None
        if not asked.method.exact:
            timed = replace(asked, watch=asked.watch.share(2, asked.watch.report))
            stops += (TimeLimit, MemoryLimit)
    try:
        found = Summed.of(timed)
        maps = None if found is None else _maps(timed, found)
    except stops:
        return None
    if found is None or maps is None:
        return None
    return answered(asked, found, time.perf_counter() - started, maps)


def _reads_all(asked: Asked, question: Question) -> bool:
    """Whether it is a query, or its atoms tell all models apart: the values of all choices."""
    ground = asked.ground
    assert isinstance(ground, Weighed)
    if isinstance(question, GroundQuery) or question.everything:
        return True
    twins = ground.translation.twins
    marked = {literal.atom for literal in question.atoms}
    if any(twins[atom] != atom for atom in marked):
        return False
    rules: dict[int, list[Rule]] = {}
    for rule in ground.rules:
        for head in rule.head:
            rules.setdefault(head, []).append(rule)

    def read(place: int, head: int, selector: int) -> bool:
        alone = place >= ground.outer or rules.get(head, []) == [Rule((head,), (selector,))]
        return alone and head in marked

    return all(
        sum(not read(i, *pair) for pair in zip(choice.heads, choice.selectors, strict=True))
        <= 1 - choice.nothing
        for i, choice in enumerate(ground.choices)
    )


def _maps(asked: Asked, found: Summed) -> dict[int, tuple[MapAnswer, str]] | None:
    """By the place of a question for the most probable values: its answer, and how it was found."""
    answers = {}
    for place, question in enumerate(asked.questions):
        if isinstance(question, GroundQuery) or found.logs[1, place, 0] == -np.inf:
            continue  # impossible evidence is reported where the answers are put together
        best = _best(asked, question, float(found.logs[1, place, 0]))
        if best is None:
            return None
        answers[place] = map_answer(asked.ground, question, best), "tables"
    return answers


def _best(asked: Asked, question: GroundMap, log_evidence: float) -> Best | None:
    """The most probable values, by a maximum in place of every sum."""
    ground, choices = asked.ground, asked.ground.choices
    selectors = [selector for choice in choices for selector in choice.selectors]
    marked = [literal.atom for literal in question.atoms]
    asks = tuple(
        GroundQuery((GroundLiteral(Mode.TRUE, atom, Function("")),), question.evidence, "", None)
        for atom in (*selectors, *marked)
    )
    largest = maxima(
        replace(ground, questions=asks),
        asked.meaning,
        asked.columns[:, 0],
        EXACT.ties + 1,
        watch=asked.watch,
    )
    if largest is None:
        return None
    holds = largest.holds[:, : len(selectors)]
    rows = np.where(largest.holds[:, len(selectors) :], VALUES.index(True), VALUES.index(False))
    if question.everything:
        starts = np.cumsum([0, *(len(choice.selectors) for choice in choices)])
        # Where no value holds, it is nothing, which comes last.
        columns = [
            np.where(holds[:, a:b].any(axis=1), holds[:, a:b].argmax(axis=1), b - a)
            for a, b in pairwise(starts.tolist())
        ]
        rows = np.stack(columns, axis=1)
    order = np.lexsort(rows.T[::-1])
    return best_at(min(largest.log - log_evidence, 0.0), rows[order])


def log_total(asked: Asked) -> Array | None:
    """The logarithm [rows] of what all models weigh that satisfy the program's evidence.

    None where the tables are too large, or cannot be summed up.
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
    """The same question to the program with a choice for each factor, as other engines need it."""
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
    asked: Asked, weights: Weights, queries: tuple[GroundQuery, ...], evidence: Evidence
) -> Shares | None:
    """What the models of the evidence weigh, all of them and for each query about one literal."""
    everything = GroundQuery((), evidence, "", None)
    ground = replace(asked.ground, questions=(everything, *queries))
    return shares(ground, asked.meaning, weights, watch=asked.watch)


@dataclass(frozen=True, slots=True)
class Summed:
    """Sums over tables as an :class:`~dpasp.inference.circuit.Evaluator`, of its own weights."""

    asked: Asked
    logs: Array  # [2, questions, rows]: of what satisfies query and evidence, and the evidence
    consistent: Array  # [rows]: 0 where no model has a weight above 0
    entries: int
    width: int

    name: ClassVar[str] = "compile"
    circuit: ClassVar[None] = None
    enumeration: ClassVar[None] = None

    @classmethod
    def of(cls, asked: Asked) -> Summed | None:
        """The sums for all questions: one elimination for each evidence."""
        columns = asked.columns
        queries = [_as_query(question) for question in asked.questions]
        logs = np.full((2, len(queries), columns.shape[1]), -np.inf)
        entries = width = 0
        by_evidence: dict[Evidence, list[int]] = {}
        for place, query in enumerate(queries):
            by_evidence.setdefault(query.evidence, []).append(place)
        for row, weights in enumerate(columns.T):
            for evidence, places in by_evidence.items():
                single = [i for i in places if _is_single(queries[i])]
                found = _sums(asked, weights, tuple(queries[i] for i in single), evidence)
                if found is None:
                    return None
                logs[:, places, row] = found.log_holds[0]
                logs[0, single, row] = found.log_holds[1:]
                entries, width = max(entries, found.entries), max(width, found.width)
                for i in (i for i in places if queries[i].literals and i not in single):
                    both = (*evidence, *queries[i].literals)
                    own = _sums(asked, weights, (), both)
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
        """How large the tables are."""
        return {"table_entries": self.entries, "width": self.width, "way": "sums"}

    def masses(self, weights: Weights, watch: Watch = UNLIMITED, *, log: bool = False) -> Masses:
        """The masses [questions, batch] as shares of the evidence, or their logarithms.

        What all models weigh may be beyond doubles; only shares of it matter.
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


def _as_query(question: Question) -> GroundQuery:
    """The question, or that for its evidence alone where it asks for the most probable values."""
    if isinstance(question, GroundQuery):
        return question
    return GroundQuery((), question.evidence, question.text, question.span)


def _is_single(query: GroundQuery) -> bool:
    return len(query.literals) == 1 and query.literals[0].mode is not Mode.UNDEFINED
