"""Most probable values for many rows at once: of test data, of a table of evidence, or of both.

The circuit of the evidence has leaves for the marked atoms and for the observed ones, and rows are
columns of weights. The marked atoms of all rows of a batch get their values one after the other. A
maximum in place of the sums that they decide bounds what any assignment has. Where only one of the
values of each atom attains the bound, they are the best, and the only one. Rows where that does not
tell (ties, or sums between the marked atoms) are searched one by one, as without rows.

>>> from dpasp import loads
>>> program = loads("0.3::a. 0.9::b :- a. 0.2::b :- not a. #semantics maxent.")
>>> [answer.assignment for answer in program.map("a?", evidence={"b": [True, False]})]
[{'a': True}, {'a': False}]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpasp.circuits import Circuit
from dpasp.circuits.layers import Layers
from dpasp.dataclass import dataclass
from dpasp.errors import ImpossibleEvidence, InferenceError, SizeLimit
from dpasp.ground.program import GroundMap
from dpasp.inference.answers import MapAnswer, MapAnswers
from dpasp.inference.asked import Asked, EngineResult
from dpasp.inference.circuit import TINY, Evaluator, on_circuit
from dpasp.inference.map import CLOSE, VALUES, best_at, map_answer
from dpasp.inference.map.answers import map_answers
from dpasp.inference.map.atoms import exclusive_sums, relaxed
from dpasp.inference.rows import Leaves, distinct_rows, observed_atoms, threads_for
from dpasp.inference.tuning import EXACT
from dpasp.limits import UNLIMITED, Watch
from dpasp.semantics.leaves import Weights
from dpasp.semantics.masses import FIELDS
from dpasp.semantics.translate import translate

Solve = Callable[[Asked], EngineResult]
NAN = float("nan")


@dataclass(frozen=True)
class MarkedCircuit:
    """A circuit whose leaves from ``first`` on are ``marks`` atoms, a pair each, then others."""

    circuit: Circuit
    first: int
    marks: int
    channel: str

    @property
    def layers(self) -> Layers:
        """The nodes, bottom up."""
        return self.circuit.below(0)

    @cached_property
    def decided(self) -> NDArray[np.bool_]:
        """By node: whether it is a sum of which the marked atoms leave one term at most."""
        return exclusive_sums(self.layers, self.first, self.first + 2 * self.marks)

    def bound(self, wide: Weights) -> NDArray[np.float64]:
        """A bound of what any values of the marked atoms have [batch], exact if all are fixed."""
        values = self.circuit.values.channel(self.channel)
        vectors = np.concatenate([wide, np.ones((1, wide.shape[1]))])
        return relaxed(self.layers, values, self.decided, vectors)

    def best(self, wide: Weights) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """The best values [marks, batch], and what they weigh; NaN where that is not sure."""
        fixed = wide.copy()
        enough = self.bound(wide) * (1 - CLOSE)
        sure = enough > TINY
        chosen = np.zeros((self.marks, wide.shape[1]), dtype=np.bool_)
        for mark, true in enumerate(range(self.first, self.first + 2 * self.marks, 2)):
            holding = fixed.copy()
            holding[true + 1] = 0.0
            chosen[mark] = self.bound(holding) >= enough
            others = fixed[:, chosen[mark]]
            others[true] = 0.0
            sure[chosen[mark]] &= self.bound(others) < enough[chosen[mark]]
            fixed[true] *= chosen[mark]
            fixed[true + 1] *= ~chosen[mark]
        value = self.bound(fixed)
        return chosen, np.where(sure & (value >= enough), value, np.nan)

    def evidence(self, wide: Weights, watch: Watch = UNLIMITED) -> NDArray[np.float64]:
        """The logarithm of the mass of the evidence [batch], by native code."""
        field = "e" if self.channel == "qe" else "b"
        threads = threads_for(self.circuit, wide.shape[1], watch)
        found = self.circuit.masses(wide, fields=(field,), log=True, threads=threads, watch=watch)
        logs: NDArray[np.float64] = found[0, FIELDS.index(field)]
        return logs


def marked_circuit(
    asked: Asked, question: GroundMap, observed: Sequence[int]
) -> tuple[MarkedCircuit, list[int]] | None:
    """The circuit with leaves for marked and observed atoms, and the marked atoms.

    None where that is not known to be right: with intervals, undefined atoms, or models of one
    total choice that disagree.
    """
    meaning = asked.meaning
    if question.everything or asked.has_intervals or meaning.has_undefined_model:
        return None
    twins = translate(asked.ground, meaning.logic, asked.watch).twins
    marks = list(dict.fromkeys(literal.atom for literal in question.atoms if literal.atom))
    if not marks or any(twins[atom] != atom for atom in (*marks, *observed)):
        return None
    others = [atom for atom in observed if atom not in marks]
    alone = asked.with_questions([question]).ground
    try:
        circuit = on_circuit(
            alone, meaning, observed=[*marks, *others], watch=asked.watch.silenced()
        ).circuit
    except (InferenceError, SizeLimit):
        return None
    if not (meaning.maxent or circuit.definite):
        return None
    channel = "qe" if meaning.maxent else "b"
    return MarkedCircuit(circuit, asked.layout.size, len(marks), channel), [*marks, *others]


def batched(asked: Asked, question: GroundMap) -> list[MapAnswer | None] | None:
    """By row: its answer, or None where it must be searched; None if all of them must be."""
    observed = observed_atoms(asked) if asked.rows is not None else []
    found = None if observed is None else marked_circuit(asked, question, observed)
    if found is None:
        return None
    circuit, atoms = found
    total = circuit.circuit.leaves
    count = len(asked.rows) if asked.rows is not None else asked.weights.shape[1]
    places = {atom: place for place, atom in enumerate(atoms)}
    leaves = None if asked.rows is None else Leaves(asked.rows, asked.weights, places)
    step = max(1, EXACT.row_numbers // max(1, len(circuit.layers)))
    answers: list[MapAnswer | None] = []
    for start in range(0, count, step):
        asked.watch.check()
        end = min(start + step, count)
        if leaves is None:
            wide = np.ones((total, end - start))
            wide[: len(asked.weights)] = asked.weights[:, start:end]
        else:
            wide = leaves.batch(start, end, total)
        answers += decided(asked, question, atoms, circuit, wide)
        asked.watch.report(end, count)
    return answers


def _positions(question: GroundMap, atoms: Sequence[int], values: NDArray[np.bool_]) -> list[int]:
    """The positions in VALUES of the marked literals; an atom that cannot occur is false."""
    true, false = VALUES.index(True), VALUES.index(False)
    return [
        true if literal.atom and values[atoms.index(literal.atom)] else false
        for literal in question.atoms
    ]


def _answer(
    asked: Asked, question: GroundMap, log: float, positions: NDArray[np.int64]
) -> MapAnswer:
    best = best_at(log, positions)
    bests = (best,) if asked.meaning.maxent else (best, best)
    return map_answer(asked.ground, question, *bests)


def decided(
    asked: Asked,
    question: GroundMap,
    atoms: Sequence[int],
    circuit: MarkedCircuit,
    wide: Weights,
) -> list[MapAnswer | None]:
    """The answers of a batch; None where they are not sure."""
    chosen, values = circuit.best(wide)
    answers: list[MapAnswer | None] = []
    for row, evidence in enumerate(circuit.evidence(wide, asked.watch).tolist()):
        if np.isneginf(evidence):
            answers.append(impossible(asked, question))
        elif np.isnan(values[row]):
            answers.append(None)
        else:
            positions = np.array([_positions(question, atoms, chosen[:, row])])
            log = math.log(values[row]) - evidence
            answers.append(_answer(asked, question, log, positions))
    return answers


def impossible(asked: Asked, question: GroundMap) -> MapAnswer:
    """The answer for a row whose evidence is impossible."""
    if asked.meaning.maxent:
        return MapAnswer(question.text, {}, value=NAN)
    return MapAnswer(question.text, {}, upper=NAN, lower=NAN, lower_assignment={})


def map_test_rows(asked: Asked, evaluator: Evaluator) -> dict[int, tuple[MapAnswers, str]]:
    """By the place of a question: the answers for all rows of test data, and how they were found.

    The evidence is known to be possible in each of them.
    """
    found: dict[int, tuple[MapAnswers, str]] = {}
    places = [i for i, question in enumerate(asked.questions) if isinstance(question, GroundMap)]
    for place in places:
        question = asked.questions[place]
        assert isinstance(question, GroundMap)
        quick = batched(asked, question) if evaluator.circuit is not None else None
        answers = quick or [None] * asked.weights.shape[1]
        for row, answer in enumerate(answers):
            if answer is None:
                one = replace(asked, weights=asked.weights[:, row])
                answers[row] = map_answers(one, evaluator, [place])[place][0]
        found[place] = (_joined(question, answers), "rows" if quick else "row by row")
    return found


def map_table(asked: Asked, question: GroundMap, solve: Solve) -> MapAnswers:
    """The answers for all rows of a table of evidence; NaN where that is impossible."""
    asked, which = distinct_rows(asked)
    assert asked.rows is not None
    answers = batched(asked, question) or [None] * len(asked.rows)
    for row, answer in enumerate(answers):
        if answer is None:
            asked.watch.check()
            evidence = dict.fromkeys((*question.evidence, *asked.rows.evidence(row)))
            alone = replace(question, evidence=tuple(evidence))
            weights = asked.weights[:, row] if asked.has_rows else asked.weights
            one = replace(asked.with_questions([alone]), rows=None, weights=weights)
            try:
                (found,) = solve(replace(one, watch=asked.watch.silenced())).answers
                assert isinstance(found, MapAnswer)
                answers[row] = replace(found, query=question.text)
            except ImpossibleEvidence:
                answers[row] = impossible(asked, question)
            asked.watch.report(row + 1, len(answers))
    return _joined(question, [answers[i] for i in which.tolist()])


def _joined(question: GroundMap, answers: Sequence[MapAnswer | None]) -> MapAnswers:
    return MapAnswers(question.text, tuple(answer for answer in answers if answer is not None))
