"""Most probable values for many rows at once: of test data, of a table of evidence, or of both.

The circuit of the evidence has leaves for the marked atoms and for the observed ones, and rows are
columns of weights. If only few assignments are possible, all of them are tried in every row.

Otherwise, two passes over the circuit treat all rows of a batch together. The pass upwards has a
maximum in place of each sum that the marked atoms decide, which bounds all assignments. The pass
downwards computes, for every leaf of a marked atom, the bound of all assignments that use it. If
the two leaves of each atom differ, the larger ones make up an assignment; if its value equals the
bound, it is the best one, and the only one. All numbers are logarithms. Rows where this does not
work (because of ties, or other sums between the marked atoms) are searched one by one.

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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpasp.circuits import Circuit
from dpasp.circuits.layers import Layers
from dpasp.dataclass import dataclass
from dpasp.errors import InferenceError, SizeLimit
from dpasp.ground.program import GroundMap
from dpasp.inference.answers import MapAnswer, MapAnswers
from dpasp.inference.asked import Asked, EngineResult, EvidenceRows
from dpasp.inference.circuit import Evaluator, on_circuit
from dpasp.inference.map import CLOSE, VALUES, best_at, by_literal, map_answer
from dpasp.inference.map.answers import map_answers
from dpasp.inference.map.atoms import exclusive_sums
from dpasp.inference.rows import (
    Leaves,
    by_questions,
    distinct_rows,
    impossible,
    observed_atoms,
    threads_for,
)
from dpasp.inference.tuning import EXACT
from dpasp.language.arguments import Rows
from dpasp.limits import UNLIMITED, Watch
from dpasp.semantics.leaves import Weights
from dpasp.semantics.masses import FIELDS, Array
from dpasp.semantics.translate import translate

Solve = Callable[[Asked], EngineResult]


class Arrays:
    """The operations on arrays [nodes, batch] that the passes need: NumPy here, torch on a GPU."""

    def new(self, nodes: int, like: Any) -> Any:
        """An array filled with the logarithm of 0."""
        return np.full((nodes, like.shape[1]), -np.inf)

    def numbers(self, values: NDArray[Any]) -> Any:
        """A NumPy array as one of these arrays."""
        return values

    def largest(self, terms: Any, starts: NDArray[np.int64], owner: Any, count: int) -> Any:
        """The largest term of each sum; the terms of a sum lie side by side."""
        return np.maximum.reduceat(terms, starts)

    def total(self, terms: Any, starts: NDArray[np.int64], owner: Any, count: int) -> Any:
        """The logarithm of the sum of the terms of each sum."""
        return np.logaddexp.reduceat(terms, starts)

    def raise_to(self, array: Any, places: Any, values: Any) -> None:
        """Raise the array to the values at some places, which may occur twice."""
        order = np.argsort(places, kind="stable")
        distinct, starts = np.unique(places[order], return_index=True)
        array[distinct] = np.maximum(array[distinct], np.maximum.reduceat(values[order], starts))

    def where(self, condition: Any, one: Any, other: Any) -> Any:
        return np.where(condition, one, other)


@dataclass(frozen=True)
class MarkedCircuit:
    """A circuit with a pair of leaves for each of the ``marks`` marked atoms, from ``first`` on."""

    circuit: Circuit
    first: int
    marks: int
    channel: str

    @property
    def layers(self) -> Layers:
        """The nodes from the bottom up."""
        return self.circuit.below(0)

    @cached_property
    def decided(self) -> NDArray[np.bool_]:
        """For each node, whether it is a sum that the marked atoms decide."""
        return exclusive_sums(self.layers, self.first, self.first + 2 * self.marks)

    def up(self, logs: Any, arrays: Arrays, *, plain: bool = False) -> Any:
        """The pass upwards: the bounds [nodes, batch] of nodes, from log weights [leaves, batch].

        If ``plain``, all sums are sums, and the result is the logarithm of the evidence's mass.
        """
        layers = self.layers
        wide = _with_one(logs, arrays)
        with np.errstate(divide="ignore"):
            values = np.log(self.circuit.values.channel(self.channel))
        best = arrays.new(len(layers), logs)
        leaf = np.flatnonzero(layers.value >= 0)
        best[arrays.numbers(leaf)] = arrays.numbers(values[layers.value[leaf]])[:, None]
        for layer in layers.layers:
            if len(layer.sums):
                terms = wide[arrays.numbers(layer.weights)] + best[arrays.numbers(layer.children)]
                owner, count = _owners(layer), len(layer.sums)
                split = self.decided[layer.sums] & (not plain)
                how = (layer.starts, arrays.numbers(owner), count)
                if split.all():
                    sums = arrays.largest(terms, *how)
                else:
                    sums = arrays.total(terms, *how)
                    if split.any():
                        largest = arrays.largest(terms, *how)
                        sums = arrays.where(arrays.numbers(split)[:, None], largest, sums)
                best[arrays.numbers(layer.sums)] = sums
            if len(layer.products):
                left, right = (arrays.numbers(part) for part in (layer.left, layer.right))
                best[arrays.numbers(layer.products)] = best[left] + best[right]
        return best

    def down(self, logs: Any, best: Any, arrays: Arrays) -> Any:
        """The pass downwards: for each leaf of a marked atom [2 · marks, batch], its bound."""
        layers, wide = self.layers, _with_one(logs, arrays)
        above = arrays.new(len(layers), logs)
        above[layers.root] = 0.0
        found = arrays.new(2 * self.marks, logs)
        for layer in reversed(layers.layers):
            if len(layer.products):
                node, left, right = (
                    above[arrays.numbers(layer.products)],
                    arrays.numbers(layer.left),
                    arrays.numbers(layer.right),
                )
                arrays.raise_to(above, left, node + best[right])
                arrays.raise_to(above, right, node + best[left])
            if len(layer.sums):
                owner = _owners(layer)
                sums = arrays.numbers(layer.sums[owner])
                child = arrays.numbers(layer.children)
                edge = wide[arrays.numbers(layer.weights)]
                through = above[sums] + edge
                plain = ~self.decided[layer.sums[owner]]
                if plain.any():  # all terms of a plain sum count, whichever one leads here
                    whole = above[sums] + best[sums] - best[child]
                    whole = arrays.where(best[child] > -np.inf, whole, -np.inf)
                    through = arrays.where(arrays.numbers(plain)[:, None], whole, through)
                arrays.raise_to(above, child, through)
                mine = (layer.weights >= self.first) & (layer.weights < self.first + 2 * self.marks)
                if mine.any():
                    places = arrays.numbers(layer.weights[mine] - self.first)
                    used = arrays.numbers(np.flatnonzero(mine))
                    arrays.raise_to(found, places, through[used] + best[child[used]])
        return found

    def walked(self, logs: Any, arrays: Arrays) -> Walk:
        """The best values of the marks [marks, batch], true or false, with three more results.

        These are, by column, the logarithm of their mass, that of the mass of the evidence, and
        whether they are certain to be the best.
        """
        best = self.up(logs, arrays)
        bound = best[self.layers.root]
        leaves = self.down(logs, best, arrays)
        true, false = leaves[0::2], leaves[1::2]
        chosen = true > false
        larger = arrays.where(chosen, true, false)
        smaller = arrays.where(chosen, false, true)
        sure = ((larger >= bound - CLOSE) & (smaller < bound - CLOSE)).all(0)
        fixed = logs + 0.0
        at = slice(self.first, self.first + 2 * self.marks)
        pairs = fixed[at]
        pairs[0::2] = arrays.where(chosen, pairs[0::2], -np.inf)
        pairs[1::2] = arrays.where(chosen, -np.inf, pairs[1::2])
        fixed[at] = pairs
        value = self.up(fixed, arrays)[self.layers.root]
        sure = sure & (value >= bound - CLOSE) & (bound > -np.inf)
        return chosen, value, self.up(logs, arrays, plain=True)[self.layers.root], sure

    def fixed(self, wide: Weights, values: NDArray[np.bool_]) -> Weights:
        """The weights [leaves, batch] with values [marks, batch] for the first marked atoms."""
        result = wide.copy()
        pairs = result[self.first : self.first + 2 * len(values)]
        pairs[0::2] *= values
        pairs[1::2] *= ~values
        return result

    def candidates(self, weights: Weights, most: int) -> NDArray[np.bool_] | None:
        """The assignments [marks, assignments] that weights [leaves] allow; None if over ``most``.

        They are found atom by atom: what is possible for the first atoms is extended in both ways.
        """
        open_ = np.ones((self.circuit.leaves, 1))
        open_[: len(weights), 0] = weights
        partial = np.zeros((self.marks, 1), dtype=np.bool_)
        for mark in range(self.marks):
            both = np.repeat(partial, 2, axis=1)
            both[mark] = np.tile([True, False], partial.shape[1])
            wide = np.repeat(open_, both.shape[1], axis=1)
            possible = self.evidence(self.fixed(wide, both[: mark + 1])) > -np.inf
            partial = both[:, possible]
            if partial.shape[1] > most:
                return None
        return partial

    def evidence(self, wide: Weights, watch: Watch = UNLIMITED) -> NDArray[np.float64]:
        """The logarithm of the mass of the evidence [batch], computed by native code."""
        field = "e" if self.channel == "qe" else "b"
        threads = threads_for(watch)
        found = self.circuit.masses(wide, fields=(field,), log=True, threads=threads, watch=watch)
        logs: NDArray[np.float64] = found[0, FIELDS.index(field)]
        return logs


Walk = tuple[Any, Any, Any, Any]
Walker = Callable[[MarkedCircuit, Weights, slice], Walk]


def by_numpy(circuit: MarkedCircuit, wide: Weights, rows: slice) -> Walk:
    """Both passes over a batch of rows, whose weights are [leaves, batch]."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return circuit.walked(np.log(wide), Arrays())


def _owners(layer: Any) -> NDArray[np.int64]:
    """For each edge, the place of its sum in the layer."""
    return np.repeat(np.arange(len(layer.sums)), layer.lengths)


def _with_one(logs: Any, arrays: Arrays) -> Any:
    """The logarithms, followed by that of 1 for edges without a weight."""
    wide = arrays.new(len(logs) + 1, logs)
    wide[: len(logs)] = logs
    wide[len(logs)] = 0.0
    return wide


def marked_circuit(
    asked: Asked, question: GroundMap, observed: Sequence[int]
) -> tuple[MarkedCircuit, list[int]] | None:
    """The circuit with leaves for marked and observed atoms, and these atoms.

    None if that may be wrong: with intervals, undefined atoms, or models of one total choice that
    disagree.
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


def batched(
    asked: Asked, question: GroundMap, walker: Walker = by_numpy
) -> list[MapAnswer | None] | None:
    """The answer for each row, or None if it must be searched; None if all of them must be."""
    if asked.rows is None:
        nothing = Rows((), np.zeros((asked.weights.shape[1], 0), dtype=np.int32))
        asked = replace(asked, rows=EvidenceRows(nothing, ()))
    assert asked.rows is not None
    observed = observed_atoms(asked)
    found = None if observed is None else marked_circuit(asked, question, observed)
    if found is None:
        return None
    circuit, atoms = found
    count = len(asked.rows)
    leaves = Leaves(asked.rows, asked.weights, {atom: i for i, atom in enumerate(atoms)})
    with_value = asked.weights.max(axis=1) if asked.has_rows else asked.weights
    few = circuit.candidates(with_value, EXACT.map_candidates)
    step = max(1, EXACT.held_numbers // max(1, len(circuit.layers)))
    answers: list[MapAnswer | None] = []
    for start in range(0, count, step):
        asked.watch.check()
        end = min(start + step, count)
        wide = leaves.batch(start, end, circuit.circuit.leaves)
        if few is not None:
            answers += tried(asked, question, circuit, few, wide)
        else:
            answers += named(asked, question, walker(circuit, wide, slice(start, end)))
        asked.watch.report(end, count)
    return answers


def tried(
    asked: Asked,
    question: GroundMap,
    circuit: MarkedCircuit,
    few: NDArray[np.bool_],
    wide: Weights,
) -> list[MapAnswer | None]:
    """The answers of a batch, from all possible assignments [marks, assignments]."""
    logs = np.full((few.shape[1], wide.shape[1]), -np.inf)
    for i, values in enumerate(few.T):
        logs[i] = circuit.evidence(circuit.fixed(wide, values[:, np.newaxis]), asked.watch)
    evidence = circuit.evidence(wide, asked.watch)
    most = logs.max(axis=0, initial=-np.inf)
    positions = _positions(question, few)
    bests = [positions[column >= top - CLOSE] for column, top in zip(logs.T, most, strict=True)]
    return _answers(asked, question, most, evidence, bests)


def _positions(question: GroundMap, values: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The values [marks, rows] as positions in VALUES of the marked literals [rows]."""
    true, false = VALUES.index(True), VALUES.index(False)
    marks = {literal.atom: literal for literal in question.atoms if literal.atom}
    return by_literal(question, list(marks.values()), np.where(values, true, false).T)


def _answers(
    asked: Asked,
    question: GroundMap,
    values: Array,
    evidence: Array,
    bests: Sequence[NDArray[np.int64] | None],
) -> list[MapAnswer | None]:
    """The answers from the logarithms of masses; NaN if the evidence is impossible."""
    answers: list[MapAnswer | None] = []
    logs = np.where(np.isneginf(evidence), np.nan, values) - evidence
    for log, best in zip(logs.tolist(), bests, strict=True):
        if math.isnan(log):
            answers.append(impossible(question, asked.meaning))
        elif best is None:
            answers.append(None)
        else:
            found = best_at(log, best[np.lexsort(best.T[::-1])])
            same = (found,) if asked.meaning.maxent else (found, found)
            answers.append(map_answer(asked.ground, question, *same))
    return answers


def named(asked: Asked, question: GroundMap, walk: Walk) -> list[MapAnswer | None]:
    """The answers of a batch; None where the passes are not certain."""
    chosen, values, evidence, sure = (np.asarray(part) for part in walk)
    positions = _positions(question, chosen)[:, np.newaxis]
    bests = [row if known else None for row, known in zip(positions, sure, strict=True)]
    return _answers(asked, question, values, evidence, bests)


def map_test_rows(
    asked: Asked, evaluator: Evaluator, walker: Walker = by_numpy
) -> dict[int, tuple[MapAnswers, str]]:
    """The answers for all rows of test data by the place of the question, and how they were found.

    The evidence is known to be possible in each row.
    """
    found: dict[int, tuple[MapAnswers, str]] = {}
    places = [i for i, question in enumerate(asked.questions) if isinstance(question, GroundMap)]
    for place in places:
        question = asked.questions[place]
        assert isinstance(question, GroundMap)
        quick = batched(asked, question, walker) if evaluator.circuit is not None else None
        answers = quick or [None] * asked.weights.shape[1]
        for row, answer in enumerate(answers):
            if answer is None:
                one = replace(asked, weights=asked.weights[:, row])
                answers[row] = map_answers(one, evaluator, [place])[place][0]
        found[place] = (_joined(question, answers), "rows" if quick else "row by row")
    return found


def map_table(
    asked: Asked, question: GroundMap, solve: Solve, walker: Walker = by_numpy
) -> MapAnswers:
    """The answers for all rows of a table of evidence; NaN where the evidence is impossible."""
    asked, which = distinct_rows(asked)
    assert asked.rows is not None
    answers = batched(asked, question, walker) or [None] * len(asked.rows)
    open_ = [row for row, answer in enumerate(answers) if answer is None]
    if open_:
        weights = asked.weights[:, open_] if asked.has_rows else asked.weights
        some = replace(asked.with_questions([question]), rows=asked.rows[open_], weights=weights)
        (found,) = by_questions(some, solve).answers
        assert isinstance(found, MapAnswers)
        for row, answer in zip(open_, found, strict=True):
            answers[row] = answer
    return _joined(question, [answers[i] for i in which.tolist()])


def _joined(question: GroundMap, answers: Sequence[MapAnswer | None]) -> MapAnswers:
    return MapAnswers(question.text, tuple(answer for answer in answers if answer is not None))
