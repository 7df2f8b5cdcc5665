"""The most probable values of any atoms: a partial assignment is a query like any other.

Whatever completes a partial assignment is at most as probable, whether the value, the
upper or the lower probability is meant, and whatever the semantics and the credal choices.
So the answers to partial assignments bound a best-first search, and that of a complete
one is its value. The queries are asked of circuits, many at a time.

>>> from dpasp.inference.asked import ask
>>> from dpasp.language import parse
>>> from dpasp.logic import ground
>>> from dpasp.semantics.meaning import Meaning
>>> from dpasp.inference.engines.circuit import on_circuit
>>> asked = ask(ground(parse("[0.1, 0.3]::a. 0.6::b. #map a?, b?.")), Meaning())
>>> upper, lower = Queries(MapTask(asked, 0, on_circuit(asked.ground, asked.meaning))).run()
>>> round(upper.value, 9), round(lower.value, 9), upper.assignments.tolist()
(0.54, 0.42, [[1, 0]])
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from dpasp.circuits.layers import Integers
from dpasp.inference.credal.extremes import extremes
from dpasp.inference.engines.circuit import on_circuit
from dpasp.inference.probable.best import VALUES, Best
from dpasp.inference.probable.search import OPEN, BoundedBatch, best_first
from dpasp.inference.probable.task import MapTask
from dpasp.language.ast import Mode
from dpasp.logic.program import GroundQuery
from dpasp.semantics.translate import translate

MODES = {True: Mode.TRUE, False: Mode.FALSE, "undef": Mode.UNDEFINED}
PartialValues = tuple[int, ...]  # by atom a position in VALUES, or OPEN


class Queries:
    """The lower and upper probabilities of partial assignments; each is asked once."""

    def __init__(self, task: MapTask) -> None:
        self.asked = task.asked
        self.watch = task.watch
        self.task = task
        self.question = task.question
        self.atoms = list({literal.symbol: literal for literal in self.question.atoms}.values())
        twins = translate(task.ground, task.meaning.logic, self.watch).twins
        # A total choice without stable models may leave all atoms undefined together.
        undefined = task.meaning.holds_without_models(self.question.evidence)
        self.values = [
            range(3 if undefined or twins[literal.atom] != literal.atom else 2)
            for literal in self.atoms
        ]
        self._known: dict[PartialValues, tuple[float, float]] = {}

    def run(self) -> list[Best]:
        """The best assignments by upper and, under credal, by lower probability."""
        self._order()
        maxent = self.asked.meaning.maxent
        limits = self.task.search_limits(1 if maxent else 2)
        bests = [best_first(self.values, lambda boxes: self.bounds(boxes, 1), limits)]
        if not maxent:
            limits, tried = self.task.search_limits(), bests[0].assignments
            bests.append(
                best_first(self.values, lambda boxes: self.bounds(boxes, 0), limits, tried=tried)
            )
        return [self._by_literal(best) for best in bests]

    def bounds(self, boxes: Integers, end: int) -> BoundedBatch:
        """Upper bounds of the lower (0) or upper (1) probabilities, and what is possible."""
        keys = [tuple(box) for box in boxes.T.tolist()]
        self._ask(dict.fromkeys(key for key in keys if key not in self._known))
        ends = np.array([self._known[key] for key in keys])
        return ends[:, end], ends[:, 1] > 0

    def _ask(self, boxes: Iterable[PartialValues]) -> None:
        """Ask for the probabilities of some boxes, all on one circuit."""
        new = list(boxes)
        if not new:
            return
        asked = replace(
            self.asked.with_questions([self._query(box) for box in new]), watch=self.watch
        )
        evaluator = on_circuit(asked.ground, asked.meaning, watch=self.watch)
        for box, extreme in zip(new, extremes(asked, evaluator), strict=True):
            if extreme.stopped:
                raise extreme.stopped[0]
            self._known[box] = float(extreme.lower[0]), float(extreme.upper[0])

    def _query(self, box: PartialValues) -> GroundQuery:
        """The query whether the atoms have the values of a box, given the evidence."""
        literals = tuple(
            literal._replace(mode=MODES[VALUES[value]])
            for literal, value in zip(self.atoms, box, strict=True)
            if value != OPEN
        )
        return GroundQuery(literals, self.question.evidence, self.question.text, self.question.span)

    def _order(self) -> None:
        """Put the atoms first whose values differ most: fewer boxes stay open."""
        count = len(self.atoms)
        single = [(i, value) for i in range(count) for value in self.values[i]]
        boxes = np.full((count, len(single)), OPEN, dtype=np.int64)
        for column, (i, value) in enumerate(single):
            boxes[i, column] = value
        most = np.zeros(count)
        np.maximum.at(most, [i for i, _ in single], self.bounds(boxes, 1)[0])
        order = np.argsort(-most, kind="stable").tolist()
        self.atoms = [self.atoms[i] for i in order]
        self.values = [self.values[i] for i in order]
        self._known.clear()

    def _by_literal(self, best: Best) -> Best:
        """The assignments in the order of the question's literals."""
        place = {literal.symbol: i for i, literal in enumerate(self.atoms)}
        columns = [place[literal.symbol] for literal in self.question.atoms]
        rows = sorted(best.assignments[:, columns].tolist())
        assignments = np.array(rows, dtype=np.int64).reshape(len(rows), len(columns))
        return Best(best.value, assignments, best.most)
