"""Many atoms under one evidence, answered together by one circuit and its way back.

Where the choices determine an atom, its truth can be two more leaves of the circuit of the
evidence, both of weight 1. The derivative of a mass by one of them is what the total choices
in which the atom is true (or false) contribute to it. So one evaluation and its gradient answer
for all such atoms, where a root for each would cost an evaluation each:

    qe = ∂ e / ∂ true        a = ∂ a / ∂ true   c = ∂ a / ∂ false
    (maxent)                 b = ∂ b / ∂ true   d = ∂ b / ∂ false        (credal)

with the masses of a query that always holds on the right. Other questions, and those about
atoms that models may choose, have roots of their own in a second circuit.

>>> from dpasp.inference.asked import ask
>>> from dpasp.language import parse
>>> from dpasp.logic import ground
>>> from dpasp.semantics.meaning import Meaning
>>> asked = ask(ground(parse("0.3::a(1..20). #query a(X).")), Meaning())
>>> evaluator = answered_together(asked)
>>> evaluator.masses(asked.columns).a.shape, evaluator.statistics["together"]
((20, 1), 20)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpasp import circuits
from dpasp.dataclass import dataclass
from dpasp.errors import SizeLimit
from dpasp.inference.asked import MANY_QUESTIONS, Asked
from dpasp.inference.engines.alike import about_atoms
from dpasp.inference.engines.circuit import OnCircuit, on_circuit
from dpasp.language.ast import Mode
from dpasp.limits import UNLIMITED, Watch
from dpasp.logic.program import GroundQuery
from dpasp.semantics.leaves import Weights
from dpasp.semantics.masses import (
    FIELDS,
    Array,
    Masses,
    Question,
    completed,
    completed_logs,
)
from dpasp.semantics.meaning import Meaning

if TYPE_CHECKING:
    from dpasp.inference.engines.reference.enumerate import Enumeration

# A root for each question may be less work than one circuit for all, so this is tried only so
# far: a network is known beforehand to be too wide, other programs after a moment.
NETWORK = circuits.Options(way="elimination", nodes=5_000_000, work=50_000_000)
OTHERS = circuits.Options(nodes=500_000, work=2_000_000)


Leaves = NDArray[np.int64]
Complete = Callable[[Masses, Meaning, Sequence[Question]], Masses]


@dataclass(frozen=True)
class Together:
    """A circuit with leaves for atoms as an :class:`~dpasp.inference.engines.evaluator.Evaluator`.

    ``leaves`` [2, questions] are those of the atom of each question: where its literal holds,
    and where it does not; -1 for the questions that ``others`` answers. ``others`` also gives
    the mass of the total choices without a model; where it is None, every one has a model.
    """

    shared: circuits.Circuit
    meaning: Meaning
    questions: tuple[Question, ...]
    leaves: Leaves
    others: OnCircuit | None

    @property
    def name(self) -> str:
        """The engine's name."""
        return "compile"

    @property
    def circuit(self) -> None:
        """No circuit has a root for each question."""

    @property
    def enumeration(self) -> Enumeration | None:
        """What the circuit of the other questions was folded from, if it could not be compiled."""
        return None if self.others is None else self.others.enumeration

    @property
    def statistics(self) -> Mapping[str, int | float | str]:
        """How large the circuits are, and for how many questions there is one gradient."""
        sizes = [self.shared.statistics]
        if self.others is not None:
            sizes.append(self.others.circuit.statistics)
        return {
            "circuit_nodes": sum(size.nodes for size in sizes),
            "circuit_edges": sum(size.edges for size in sizes),
            "width": max(size.width for size in sizes),
            "way": sizes[0].way,
            "together": int(np.count_nonzero(self._by_gradient)),
        }

    @cached_property
    def _by_gradient(self) -> NDArray[np.bool_]:
        """Which questions the gradient answers."""
        answered: NDArray[np.bool_] = self.leaves[0] >= 0
        return answered

    def masses(self, weights: Weights, watch: Watch = UNLIMITED) -> Masses:
        """The masses [questions, batch] under weights [leaves, batch]."""
        others = None if self.others is None else self.others.masses(weights, watch)
        return self._joined(self._slopes(weights, False, watch), others, completed, 0.0)

    def log_masses(self, weights: Weights, watch: Watch = UNLIMITED) -> Masses:
        """The logarithms of the masses [questions, batch], also of those below 1e-308."""
        others = None if self.others is None else self.others.log_masses(weights, watch)
        return self._joined(self._slopes(weights, True, watch), others, completed_logs, -np.inf)

    def _slopes(self, weights: Weights, log: bool, watch: Watch) -> Array:
        """The masses [fields, questions, batch] of the questions that the gradient answers.

        Total choices without models are not in them.
        """
        of_atoms = np.ones((self.shared.leaves - len(weights), weights.shape[1]))
        wide = np.concatenate([weights, of_atoms])
        holds, fails = self.leaves[:, self._by_gradient]
        masses = np.full((len(FIELDS), len(holds), weights.shape[1]), np.nan)
        fields = dict(zip(FIELDS, masses, strict=True))
        total = self.shared.masses(wide, fields=("consistent",), log=log, watch=watch)
        fields["consistent"][:] = total[0, 0]
        if self.meaning.maxent:
            fields["e"][:], slopes = self._gradient(wide, "e", log, watch)
            fields["qe"][:] = slopes[holds]
            return masses
        _, slopes = self._gradient(wide, "b", log, watch)
        fields["b"][:], fields["d"][:] = slopes[holds], slopes[fails]
        if not self.shared.definite:  # otherwise what some model does, every model does
            _, slopes = self._gradient(wide, "a", log, watch)
        fields["a"][:], fields["c"][:] = slopes[holds], slopes[fails]
        return masses

    def _gradient(self, wide: Weights, field: str, log: bool, watch: Watch) -> tuple[Array, Array]:
        """The mass [batch] of a query that always holds, and what each leaf contributes to it."""
        seeds = np.zeros((1, len(FIELDS), wide.shape[1]))
        seeds[:, FIELDS.index(field)] = 1.0
        masses, slopes = self.shared.gradient(wide, seeds, log=log, watch=watch)
        mass: Array = masses[0, FIELDS.index(field)]
        if log:  # the slopes of a logarithm are shares of the mass
            with np.errstate(divide="ignore", invalid="ignore"):
                slopes = np.where(mass > -np.inf, mass + np.log(slopes), -np.inf)
        return mass, slopes

    def _joined(
        self, slopes: Array, others: Masses | None, complete: Complete, nothing: float
    ) -> Masses:
        """The masses of all questions in their order, from ``slopes`` and those of ``others``."""
        lost = np.full(slopes.shape[2], nothing)
        if others is not None:  # the total choices without models: the same for every question
            has_undefined_model = self.meaning.has_undefined_model
            lost = (others.undefined if has_undefined_model else others.inconsistent)[0]
        here = self._by_gradient
        asked = [self.questions[i] for i in np.flatnonzero(here)]
        whole = complete(Masses.of(slopes, lost), self.meaning, asked).array()
        joined = np.empty((len(whole), len(self.questions), slopes.shape[2]))
        joined[:, here] = whole
        if others is not None and not here.all():
            joined[:, ~here] = others.array()
        return Masses.of(joined)


def answered_together(asked: Asked, cache: circuits.Cache | None = None) -> Together | None:
    """An evaluator for many questions about single atoms under one evidence.

    None where there are not so many, or where a root for each question is less work.
    """
    alike = about_atoms(asked) if len(asked.questions) >= MANY_QUESTIONS else None
    if alike is None:
        return None
    atoms, questions = alike.atoms, asked.questions
    observed = tuple(dict.fromkeys(atom for atom in atoms if atom))
    if len(observed) < MANY_QUESTIONS:
        return None
    base = asked.with_questions((GroundQuery((), questions[0].evidence, "", None),)).ground
    options = NETWORK if alike.network else OTHERS
    try:
        shared = circuits.compile(
            base, asked.meaning, observed=observed, options=options, cache=cache, watch=asked.watch
        )
    except (SizeLimit, circuits.HeadCycle):
        return None
    others = [query for query, atom in zip(asked.queries, atoms, strict=True) if not atom]
    if not others and not alike.certain:
        others = [GroundQuery((), (), "", None)]  # gives the mass of choices without a model
    rest = None
    if others:
        ground = asked.with_questions(others).ground
        rest = on_circuit(ground, asked.meaning, cache=cache, watch=asked.watch)
    return Together(shared, asked.meaning, questions, _leaves(asked, atoms, observed), rest)


def _leaves(asked: Asked, atoms: Sequence[int], observed: Sequence[int]) -> Leaves:
    """The ``leaves`` of :class:`Together`; those of observed atoms come after all choices."""
    places = {atom: asked.layout.size + 2 * i for i, atom in enumerate(observed)}
    leaves = np.full((2, len(atoms)), -1, dtype=np.int64)
    for i, (query, atom) in enumerate(zip(asked.queries, atoms, strict=True)):
        if atom:
            both = (places[atom], places[atom] + 1)  # true, false
            leaves[:, i] = both if query.literals[0].mode is Mode.TRUE else both[::-1]
    return leaves
