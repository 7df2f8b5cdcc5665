"""The most probable values of any atoms: a partial assignment is a query like any other.

Whatever completes a partial assignment is at most as probable, whether the value, the
upper or the lower probability is meant, and whatever the semantics and the credal choices.
So the answers to partial assignments bound a best-first search, and that of a complete
one is its value. The queries are asked of circuits, many at a time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from dpasp.circuits.layers import Integers
from dpasp.inference.engines import on_circuit
from dpasp.inference.numbers import evaluate
from dpasp.inference.probable.best import VALUES, Best
from dpasp.inference.probable.search import OPEN, Bounded, best_first
from dpasp.language.ast import Logic, Mode, Probability
from dpasp.limits import Watch
from dpasp.logic.program import GroundMap, GroundProgram, GroundQuery
from dpasp.semantics.leaves import Weights
from dpasp.semantics.masses import all_undefined
from dpasp.semantics.translate import translate

MODES = {True: Mode.TRUE, False: Mode.FALSE, "undef": Mode.UNDEFINED}
Box = tuple[int, ...]  # by atom a position in VALUES, or OPEN


class Queries:
    """The lower and upper probabilities of partial assignments; each is asked once."""

    def __init__(
        self,
        ground: GroundProgram,
        question: GroundMap,
        logic: Logic,
        probability: Probability,
        weights: Weights,
        watch: Watch,
    ) -> None:
        self.ground = ground
        self.question = question
        self.meaning = logic, probability
        self.weights = weights
        self.watch = watch
        self.atoms = list({literal.symbol: literal for literal in question.atoms}.values())
        twins = translate(ground, logic, watch).twins
        # Under smproblog a total choice without models leaves all atoms undefined together.
        undefined = logic is Logic.SMPROBLOG and all_undefined(question.evidence)
        self.values = [
            range(3 if undefined or twins[literal.atom] != literal.atom else 2)
            for literal in self.atoms
        ]
        self._known: dict[Box, tuple[float, float]] = {}

    def run(self) -> list[Best]:
        """The best assignments by upper and, under credal, by lower probability."""
        self._order()
        found = [best_first(self.values, lambda boxes: self.bounds(boxes, 1), self.watch)]
        if self.meaning[1] is Probability.CREDAL:
            found.append(best_first(self.values, lambda boxes: self.bounds(boxes, 0), self.watch))
        return [self._by_literal(best) for best in found]

    def bounds(self, boxes: Integers, end: int) -> Bounded:
        """Upper bounds of the lower (0) or upper (1) probabilities, and what is possible."""
        keys = [tuple(box) for box in boxes.T.tolist()]
        self._ask(dict.fromkeys(key for key in keys if key not in self._known))
        found = np.array([self._known[key] for key in keys])
        return found[:, end], found[:, 1] > 0

    def _ask(self, boxes: Iterable[Box]) -> None:
        """Ask for the probabilities of some boxes, all on one circuit."""
        asked = list(boxes)
        if not asked:
            return
        program = replace(self.ground, questions=tuple(map(self._query, asked)))
        evaluator = on_circuit(program, *self.meaning, watch=self.watch)
        rows = self.weights[:, np.newaxis]
        numbers = evaluate(program, *self.meaning, evaluator, rows, self.watch)
        if numbers.stopped:
            raise numbers.stopped[0]
        pairs = np.stack([numbers.lower[:, 0], numbers.upper[:, 0]], axis=1)
        self._known.update(zip(asked, map(tuple, pairs.tolist()), strict=True))

    def _query(self, box: Box) -> GroundQuery:
        """That the atoms have the values of a box, given the evidence."""
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
        return Best(best.value, np.array(rows, dtype=np.int64).reshape(len(rows), len(columns)))
