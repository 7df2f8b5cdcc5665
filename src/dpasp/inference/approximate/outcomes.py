"""What single total choices say about every question, solved one at a time.

Engines that look at some of the total choices only (samples, the most probable ones)
share it. A total choice is the tuple of the values of the choices: positions among
their leaves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dpasp.errors import Diagnostic, ProgramError
from dpasp.inference.reference.enumerate import Reader, least_undefined, live_groups
from dpasp.inference.reference.rows import Bits
from dpasp.inference.reference.table import Condition
from dpasp.language.ast import Logic, Probability
from dpasp.limits import UNLIMITED, Watch
from dpasp.logic.program import GroundMap, GroundProgram, GroundQuery, Interval
from dpasp.logic.solve import Solver
from dpasp.semantics.leaves import Weights, layout
from dpasp.semantics.masses import FIELDS, Masses, prepare
from dpasp.semantics.translate import translate

TotalChoice = tuple[int, ...]


class Outcomes:
    """The outcomes of total choices; each is solved once."""

    def __init__(
        self,
        ground: GroundProgram,
        logic: Logic,
        probability: Probability,
        watch: Watch = UNLIMITED,
    ) -> None:
        self.ground = ground
        self.logic = logic
        self.watch = watch
        self.queries = [q for q in ground.questions if isinstance(q, GroundQuery)]
        self.starts = layout(ground.choices).starts
        reader = Reader(translate(ground, logic, watch))
        self._conditions = [reader.query(question) for question in ground.questions]
        self._width = len(reader.read)
        if logic is Logic.LSTABLE:
            reader.read_undefined()
        groups = live_groups(ground)
        self._live = {atom for group in groups for atom in group.atoms}
        self._solver = Solver(
            (*reader.translation.rules, *reader.rules),
            groups,
            reader.read,
            project=probability is Probability.CREDAL,
        )
        self._known: dict[TotalChoice, Weights] = {}

    def __len__(self) -> int:
        return len(self._known)

    def of(self, choice: TotalChoice) -> Weights:
        """The masses [questions, 8] if this were the only total choice."""
        found = self._known.get(choice)
        if found is None:
            self.watch.check()
            bits = self._solver.models(chosen(self.ground, choice, self._live), self.watch)
            if self.logic is Logic.LSTABLE:
                bits = bits[least_undefined(bits[:, :0], bits[:, self._width :])]
            found = self._known[choice] = np.stack(
                [_masses(bits, both, given) for both, given in self._pairs()] or [np.empty((0, 8))]
            ).reshape(-1, len(FIELDS) + 1)
        return found

    def masses(self, values: Weights) -> list[Masses]:
        """The masses of every query from an array [questions, 8, …batch]."""
        return [
            prepare(Masses.of(own), self.logic, query.literals, query.evidence)
            for own, query in zip(values, self.queries, strict=True)
        ]

    def _pairs(self) -> Iterator[tuple[Condition, Condition]]:
        return ((one.both, one.given) for one in self._conditions)


def chosen(ground: GroundProgram, choice: TotalChoice, live: set[int]) -> list[int]:
    """A total choice as literals over the selectors."""
    return [
        selector if position == value else -selector
        for one, value in zip(ground.choices, choice, strict=True)
        for position, selector in enumerate(one.selectors)
        if selector in live
    ]


def probability_of(choice: TotalChoice, weights: Weights, starts: Sequence[int]) -> float:
    """P(θ) under weights [leaves]."""
    places = np.array(starts[:-1], dtype=np.intp) + np.array(choice, dtype=np.intp)
    return float(np.prod(weights[places]))


def distributions(weights: Weights, starts: Sequence[int]) -> list[Weights]:
    """The weights [leaves] of each choice."""
    return [weights[start:end] for start, end in pairwise(starts)]


def check_questions(ground: GroundProgram, who: str) -> None:
    """Raise :class:`ProgramError` for what an approximate engine does not answer."""
    problems = [
        Diagnostic(
            "approximate-map",
            f"{who} does not answer questions for the most probable values",
            question.span,
            "use --engine auto, which answers them exactly",
        )
        for question in ground.questions
        if isinstance(question, GroundMap)
    ]
    places = {c.statement: None for c in ground.choices if isinstance(c.weight, Interval)}
    problems += [
        Diagnostic(
            "approximate-credal",
            f"{who} does not take intervals of probabilities",
            ground.program.statements[place].span,
            "use --engine auto, or give one probability",
        )
        for place in places
    ]
    if problems:
        raise ProgramError(problems)


def _masses(bits: Bits, both: Condition, given: Condition) -> NDArray[np.float64]:
    """The masses [8] of a question when the rows are all the models there are."""
    n = len(bits)
    if not n:
        return np.array([0.0] * len(FIELDS) + [1.0])
    n_qe, n_e = _count(bits, both), _count(bits, given)
    found = (
        True,
        n_qe == n,
        n_qe > 0,
        n_e == n and n_qe == 0,
        n_e > n_qe,
        n_qe / n,
        n_e / n,
        False,
    )
    return np.array(found, dtype=np.float64)


def _count(bits: Bits, condition: Condition) -> int:
    if condition.column is None:
        return len(bits) * condition.sign
    true = int(np.count_nonzero(bits[:, condition.column]))
    return true if condition.sign else len(bits) - true
