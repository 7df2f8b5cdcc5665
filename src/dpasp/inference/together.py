"""Many questions about single atoms under one evidence, answered at once.

For a determined atom, the circuit of the evidence can have two additional leaves of weight 1, true
and false. The derivative of a mass by such a leaf is the contribution of the total choices in which
the atom is true (or false), so that one gradient answers for all atoms (:class:`Together`). A
network whose total choices all have a model needs no circuit (:mod:`dpasp.inference.summed`).

    qe = ∂ e / ∂ true        a = ∂ a / ∂ true   c = ∂ a / ∂ false
    (maxent)                 b = ∂ b / ∂ true   d = ∂ b / ∂ false        (credal)

The masses on the right are those of a query that always holds. All other questions have their own
roots in a second circuit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpasp import circuits
from dpasp.dataclass import dataclass
from dpasp.errors import SizeLimit
from dpasp.ground.program import GroundQuery
from dpasp.inference.asked import Asked
from dpasp.inference.circuit import OnCircuit, on_circuit
from dpasp.inference.tuning import EXACT
from dpasp.language.ast import Mode
from dpasp.limits import UNLIMITED, Watch
from dpasp.semantics.dependencies import determined
from dpasp.semantics.leaves import Weights
from dpasp.semantics.masses import FIELDS, Array, Masses, Question, completed
from dpasp.semantics.meaning import Meaning

if TYPE_CHECKING:
    from dpasp.inference.enumerate import Enumeration
    from dpasp.inference.summed import Summed


@dataclass(frozen=True, slots=True)
class Alike:
    """The determined atom that each question is about; 0 if it is about anything else.

    ``network`` says that all atoms of the program are determined, and ``certain`` that in addition
    every total choice has a model.
    """

    atoms: tuple[int, ...]
    network: bool
    certain: bool


def about_atoms(asked: Asked) -> Alike | None:
    """The atoms that the questions are about.

    None if the questions have different evidence, if some are not queries, or with intervals.
    """
    questions = asked.questions
    if len(asked.queries) < len(questions) or not questions or asked.has_intervals:
        return None
    if any(question.evidence != questions[0].evidence for question in questions):
        return None
    known = determined(asked.ground.rules, len(asked.ground.symbols))
    network = bool(known.all())
    certain = network and all(rule.head for rule in asked.ground.rules)  # no constraint
    return Alike(tuple(_single(query, known) for query in asked.queries), network, certain)


def _single(query: GroundQuery, known: NDArray[np.bool_]) -> int:
    """The determined atom that a query is about; 0 if it is about anything else."""
    if len(query.literals) != 1 or query.literals[0].mode is Mode.UNDEFINED:
        return 0
    atom = query.literals[0].atom
    return atom if known[atom] else 0


Leaves = NDArray[np.int64]


@dataclass(frozen=True)
class Together:
    """A circuit with leaves for atoms as an :class:`~dpasp.inference.circuit.Evaluator`.

    ``leaves`` [2, questions] has two leaves for each question: one where its literal holds, one
    where it does not; -1 for the questions that ``others`` answers. ``others`` also gives the mass
    of the total choices without a model; if it is None, there are none. ``threads`` is a function
    for the number of threads that evaluate a batch.
    """

    shared: circuits.Circuit
    meaning: Meaning
    questions: tuple[Question, ...]
    leaves: Leaves
    others: OnCircuit | None
    threads: Callable[[Watch], int] = lambda watch: 1

    name: ClassVar[str] = "compile"
    circuit: ClassVar[None] = None  # none has a root for each question

    @property
    def enumeration(self) -> Enumeration | None:
        """What the circuit of the other questions was made from, if it could not be compiled."""
        return None if self.others is None else self.others.enumeration

    @property
    def statistics(self) -> Mapping[str, int | float | str]:
        """The size of the circuits, and the number of questions that the gradient answers."""
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
        answered: NDArray[np.bool_] = self.leaves[0] >= 0
        return answered

    def masses(self, weights: Weights, watch: Watch = UNLIMITED, *, log: bool = False) -> Masses:
        """The masses [questions, batch] under weights [leaves, batch], or their logarithms."""
        others = None if self.others is None else self.others.masses(weights, watch, log=log)
        return self._joined(self._slopes(weights, log, watch), others, log)

    def _slopes(self, weights: Weights, log: bool, watch: Watch) -> Array:
        """The masses [fields, questions, batch] of the questions that the gradient answers.

        They do not include total choices without models.
        """
        of_atoms = np.ones((self.shared.leaves - len(weights), weights.shape[1]))
        wide = np.concatenate([weights, of_atoms])
        holds, fails = self.leaves[:, self._by_gradient]
        masses = np.full((len(FIELDS), len(holds), weights.shape[1]), np.nan)
        fields = dict(zip(FIELDS, masses, strict=True))
        total = self.shared.masses(wide, fields=("consistent",), log=log, watch=watch)
        fields["consistent"][:] = total[0, 0]
        if self.meaning.maxent:
            # Evidence sets leaves to weight 0, which the slope does not take into account.
            fields["e"][:], slopes = self._gradient(wide, "e", log, watch)
            fields["qe"][:] = slopes[holds]
            return masses
        _, slopes = self._gradient(wide, "b", log, watch)
        fields["b"][:], fields["d"][:] = slopes[holds], slopes[fails]
        if not self.shared.definite:  # otherwise, all models of a total choice agree
            _, slopes = self._gradient(wide, "a", log, watch)
        fields["a"][:], fields["c"][:] = slopes[holds], slopes[fails]
        return masses

    def _gradient(self, wide: Weights, field: str, log: bool, watch: Watch) -> tuple[Array, Array]:
        """The mass [batch] of a query that always holds, and the contribution of each leaf."""
        seeds = np.zeros((1, len(FIELDS), wide.shape[1]))
        seeds[:, FIELDS.index(field)] = 1.0
        threads = self.threads(watch)
        masses, slopes = self.shared.gradient(wide, seeds, log=log, threads=threads, watch=watch)
        mass: Array = masses[0, FIELDS.index(field)]
        slopes *= wide
        if log:  # the slopes of a logarithm are shares of the mass
            with np.errstate(divide="ignore", invalid="ignore"):
                slopes = np.where(mass > -np.inf, mass + np.log(slopes), -np.inf)
        return mass, slopes

    def _joined(self, slopes: Array, others: Masses | None, log: bool) -> Masses:
        """The masses of all questions in their order, from ``slopes`` and those of ``others``."""
        lost = np.full(slopes.shape[2], -np.inf if log else 0.0)
        if others is not None:  # the inconsistent mass is the same for every question
            has_undefined_model = self.meaning.has_undefined_model
            lost = (others.undefined if has_undefined_model else others.inconsistent)[0]
        here = self._by_gradient
        asked = [self.questions[i] for i in np.flatnonzero(here)]
        whole = completed(Masses.of(slopes, lost), self.meaning, asked, log=log).array()
        joined = np.empty((len(whole), len(self.questions), slopes.shape[2]))
        joined[:, here] = whole
        if others is not None and not here.all():
            joined[:, ~here] = others.array()
        return Masses.of(joined)


def answered_in_numbers(asked: Asked) -> Summed | None:
    """The sums for questions about single atoms under one evidence, if all are determined.

    None if the questions or the program are different, or if a circuit is better, which is so for
    few questions unless tables are large.
    """
    many = len(asked.questions) >= EXACT.many_questions
    if asked.has_rows or not (many or len(asked.ground.choices) >= EXACT.many_choices):
        return None
    alike = about_atoms(asked)
    if alike is None or not alike.certain or not all(alike.atoms):
        return None
    from dpasp.inference.summed import Summed  # most programs are no networks

    with suppress(SizeLimit):
        return Summed.of(asked, 0 if many else EXACT.large_tables)
    return None


def answered_together(asked: Asked, cache: circuits.Cache | None = None) -> Together | None:
    """An evaluator for many questions about single atoms under one evidence.

    None if there are too few, or if a root for each question is less work.
    """
    alike = about_atoms(asked) if len(asked.questions) >= EXACT.many_questions else None
    if alike is None:
        return None
    atoms, questions = alike.atoms, asked.questions
    observed = tuple(dict.fromkeys(atom for atom in atoms if atom))
    if len(observed) < EXACT.many_questions:
        return None
    base = asked.with_questions((GroundQuery((), questions[0].evidence, "", None),)).ground
    options = EXACT.network if alike.network else EXACT.other
    try:
        shared = circuits.compile(
            base, asked.meaning, observed=observed, options=options, cache=cache, watch=asked.watch
        )
    except (SizeLimit, circuits.HeadCycle):
        return None
    others = [query for query, atom in zip(asked.queries, atoms, strict=True) if not atom]
    if not others and not alike.certain and not asked.meaning.weighted:
        others = [GroundQuery((), (), "", None)]  # gives the mass of choices without a model
    rest = None
    if others:
        ground = asked.with_questions(others).ground
        rest = on_circuit(ground, asked.meaning, cache=cache, watch=asked.watch)
    return Together(shared, asked.meaning, questions, atom_leaves(asked, atoms, observed), rest)


def atom_leaves(asked: Asked, atoms: Sequence[int], observed: Sequence[int]) -> Leaves:
    """The ``leaves`` of :class:`Together`; they come after those of all choices."""
    places = {atom: asked.layout.size + 2 * i for i, atom in enumerate(observed)}
    leaves = np.full((2, len(atoms)), -1, dtype=np.int64)
    for i, (query, atom) in enumerate(zip(asked.queries, atoms, strict=True)):
        if atom:
            both = (places[atom], places[atom] + 1)  # true, false
            leaves[:, i] = both if query.literals[0].mode is Mode.TRUE else both[::-1]
    return leaves
