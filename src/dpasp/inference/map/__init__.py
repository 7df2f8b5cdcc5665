"""The most probable values of the atoms marked in a ``#map``, or of all choices for ``#mpe``.

This module has the question with its evaluator, and the answer with the names of atoms.

- ``total_choices``: the best total choices on a circuit
- ``atoms``: a best-first search for the best values of atoms
- ``answers``: chooses between these two and the table of the reference engine
- ``rows``: the same for many rows at once
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dpasp.circuits import Circuit
from dpasp.dataclass import dataclass
from dpasp.ground.program import GroundLiteral, GroundMap, GroundProgram
from dpasp.inference.answers import SMALLEST, Assignment, MapAnswer, Value
from dpasp.inference.asked import Asked
from dpasp.inference.circuit import LOG_TINY, Evaluator
from dpasp.inference.tuning import EXACT
from dpasp.language.ast import Mode
from dpasp.limits import Watch
from dpasp.semantics.leaves import Labels, Weights, choice_labels
from dpasp.semantics.masses import Masses
from dpasp.semantics.translate import Weighed

VALUES: tuple[Value, ...] = (True, False, "undef")
MODES = {True: Mode.TRUE, False: Mode.FALSE, "undef": Mode.UNDEFINED}
CLOSE = 1e-10  # values that differ by less, relatively, are ties


@dataclass(frozen=True, slots=True)
class MapTask:
    """A ``#map`` or ``#mpe``: its place among all the questions, and the evaluator."""

    asked: Asked
    place: int  # of the question
    evaluator: Evaluator

    @property
    def question(self) -> GroundMap:
        question = self.asked.questions[self.place]
        assert isinstance(question, GroundMap)
        return question

    @property
    def circuit(self) -> Circuit:
        """The circuit of the evaluator, which must have one."""
        circuit = self.evaluator.circuit
        assert circuit is not None
        return circuit

    @property
    def watch(self) -> Watch:
        """The watch; work within a search reports no progress."""
        return self.asked.watch.silenced()

    @property
    def at_any_time(self) -> bool:
        """Whether a search that reaches a limit gives the best so far; otherwise it is an error."""
        return not self.asked.method.exact

    def at(self, weights: Weights) -> MapTask:
        """The same question under other weights [leaves]."""
        return replace(self, asked=replace(self.asked, weights=weights))

    def evidence_masses(self, log: bool = False) -> Masses:
        """The masses of the evidence as single numbers; with ``log``, their logarithms."""
        weights = self.asked.weights[:, np.newaxis]
        return self.evaluator.masses(weights, self.watch, log=log)[self.place, 0]

    def tiny(self) -> bool:
        """Whether the masses of the evidence may have lost digits."""
        total = self.evidence_masses(log=True)
        return any(-np.inf < mass < LOG_TINY for mass in (total.a, total.b, total.e))

    def undefined(self) -> bool:
        """Whether total choices without stable models have weight and satisfy the evidence."""
        if not self.asked.meaning.holds_without_models(self.question.evidence):
            return False
        return bool(self.evidence_masses().undefined > 0)


@dataclass(frozen=True, slots=True)
class Best:
    """The largest probability, and the assignments that have it (only some, if over EXACT.ties).

    An assignment has a position in ``VALUES`` for each marked atom, or for ``#mpe`` the value of
    each choice. If a limit stopped the search, certainly none exceeds ``most``. ``log`` is the
    natural logarithm of the value, which may be too small for a double.
    """

    value: float
    assignments: NDArray[np.integer]  # [ties, atoms or choices]
    most: float | None = None
    log: float | None = None

    @property
    def log10(self) -> float:
        """The logarithm (base 10) of the value."""
        if self.log is not None:
            return self.log / math.log(10.0)
        return math.log10(self.value) if self.value > 0 else -math.inf


def best_at(log: float, assignments: NDArray[np.integer], most: float | None = None) -> Best:
    """A :class:`Best` from the logarithm of its value."""
    return Best(math.exp(min(log, 0.0)), assignments, most, log)


def map_answer(
    ground: GroundProgram, question: GroundMap, upper: Best, lower: Best | None = None
) -> MapAnswer:
    """The answer under maxent, or with ``lower`` under credal."""
    (best, *ties), more = _named(ground, question, upper)
    bests = [upper] if lower is None else [lower, upper]
    below = any(one.value < SMALLEST and one.log10 > -math.inf for one in bests)
    answer = MapAnswer(
        question.text,
        best,
        ties=tuple(ties),
        more_ties=more,
        most=upper.most,
        logs=tuple(one.log10 for one in bests) if below else None,
    )
    if lower is None:
        return replace(answer, value=upper.value)
    (surest, *lower_ties), more_lower = _named(ground, question, lower)
    return replace(
        answer,
        upper=upper.value,
        lower=lower.value,
        lower_assignment=surest,
        lower_ties=tuple(lower_ties),
        more_lower_ties=more_lower,
        lower_most=lower.most,
    )


def _named(ground: GroundProgram, question: GroundMap, best: Best) -> tuple[list[Assignment], bool]:
    """At most EXACT.ties assignments, by name, and whether there are more."""
    rows = best.assignments[: EXACT.ties].tolist()
    more = len(best.assignments) > EXACT.ties
    if question.everything:
        names = choice_labels(ground)
        if isinstance(ground, Weighed):  # the other choices already determine the factors
            names = [[] if i in ground.factor_choices else some for i, some in enumerate(names)]
        return [_three_valued(_total_choice(names, row)) for row in rows], more
    atoms = [str(literal.symbol) for literal in question.atoms]
    return [dict(zip(atoms, (VALUES[v] for v in row), strict=True)) for row in rows], more


def by_literal(
    question: GroundMap, atoms: Sequence[GroundLiteral], rows: NDArray[np.integer]
) -> NDArray[np.int64]:
    """Assignments of some atoms as those of the question's literals; the others are false."""
    places = {literal.symbol: place for place, literal in enumerate(atoms)}
    values = np.full((len(rows), len(question.atoms)), VALUES.index(False), dtype=np.int64)
    for column, literal in enumerate(question.atoms):
        if literal.symbol in places:
            values[:, column] = rows[:, places[literal.symbol]]
    return values


def _three_valued(values: Assignment) -> Assignment:
    """The values, with ``undef`` for an atom that is possibly true but not true (``weighted``).

    >>> _three_valued({"a": False, "possibly a": True, "possibly b": False})
    {'a': 'undef', 'possibly b': False}
    """
    prefix = "possibly "
    possibly = [n for n in values if n.startswith(prefix) and n.removeprefix(prefix) in values]
    known = {name: value for name, value in values.items() if name not in possibly}
    for name in possibly:
        atom = name.removeprefix(prefix)
        if values[name] and not values[atom]:
            known[atom] = "undef"
    return known


def _total_choice(names: Labels, values: Sequence[int]) -> Assignment:
    """For the names of all values of all choices, whether the choice takes the value."""
    return {
        label: position == value
        for labels, value in zip(names, values, strict=True)
        for position, label in enumerate(labels)
    }
