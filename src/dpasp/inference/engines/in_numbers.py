"""Atoms of a network under one evidence, summed up in numbers.

Where the choices determine every atom and every total choice has a model, all that is asked is
what the total choices weigh in which an atom holds, and those in which it does not. One
elimination with numbers for entries, and its way back, gives that for every atom. A circuit could
be evaluated again under other probabilities, but takes longer to make: so this is for many atoms
at once, and for networks whose tables are very large.

>>> from dpasp.inference.asked import ask
>>> from dpasp.language import parse
>>> from dpasp.logic import ground
>>> from dpasp.semantics.meaning import Meaning
>>> asked = ask(ground(parse("0.3::a(1..20). b :- a(1), a(2). #query a(X) | b.")), Meaning())
>>> evaluator = answered_in_numbers(asked)
>>> evaluator.masses(asked.columns).a[:3, 0].round(6)
array([0.09 , 0.09 , 0.027])
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dpasp.circuits.shares import Shares, shares
from dpasp.dataclass import dataclass
from dpasp.errors import SizeLimit
from dpasp.inference.asked import MANY_CHOICES, MANY_QUESTIONS, Asked
from dpasp.inference.engines.alike import about_atoms
from dpasp.limits import UNLIMITED, Watch
from dpasp.semantics.leaves import Weights
from dpasp.semantics.masses import FIELDS, Array, Masses

MANY_ENTRIES = 5e6  # of tables: from there on it is worth it for one question as well


@dataclass(frozen=True)
class InNumbers:
    """Elimination in numbers as an :class:`~dpasp.inference.engines.evaluator.Evaluator`.

    ``known`` are the shares under the weights of what is ``asked``; under others they are
    computed again.
    """

    asked: Asked
    known: Shares

    @property
    def name(self) -> str:
        """The engine's name."""
        return "compile"

    @property
    def circuit(self) -> None:
        """There is none."""

    @property
    def enumeration(self) -> None:
        """Nothing was enumerated."""

    @property
    def statistics(self) -> Mapping[str, int | float | str]:
        """How large the tables are, and for how many questions they were made."""
        return {
            "table_entries": self.known.entries,
            "width": self.known.width,
            "way": "elimination",
            "together": len(self.asked.questions),
        }

    def masses(self, weights: Weights, watch: Watch = UNLIMITED) -> Masses:
        """The masses [questions, batch] under weights [leaves, batch]."""
        columns = [self._shares(column, watch) for column in weights.T]
        holds = np.stack([column.holds for column in columns], axis=1)
        fails = np.stack([column.fails for column in columns], axis=1)
        return _masses(holds, fails, holds + fails, 1.0)

    def log_masses(self, weights: Weights, watch: Watch = UNLIMITED) -> Masses:
        """The logarithms of the masses [questions, batch], also of those below 1e-308."""
        columns = [self._shares(column, watch) for column in weights.T]
        holds = np.stack([column.log_holds for column in columns], axis=1)
        fails = np.stack([column.log_fails for column in columns], axis=1)
        return _masses(holds, fails, np.logaddexp(holds, fails), 0.0)

    def _shares(self, weights: Weights, watch: Watch) -> Shares:
        if np.array_equal(weights, self.asked.weights):
            return self.known
        computed = shares(self.asked.ground, self.asked.meaning, weights, watch=watch)
        assert computed is not None  # under other weights it is the same network
        return computed


def _masses(holds: Array, fails: Array, evidence: Array, consistent: float) -> Masses:
    """The masses of questions that every model answers alike; nothing is inconsistent."""
    fields = {"a": holds, "b": holds, "c": fails, "d": fails, "qe": holds, "e": evidence}
    whole = np.full_like(holds, consistent)
    nothing = np.full(holds.shape[1], 0.0 if consistent else -np.inf)
    return Masses.of(np.stack([fields.get(name, whole) for name in FIELDS]), nothing)


def answered_in_numbers(asked: Asked) -> InNumbers | None:
    """An evaluator for questions about single atoms under one evidence.

    None where the questions or the program are not of this kind, or where a circuit is better.
    """
    many = len(asked.questions) >= MANY_QUESTIONS
    if asked.has_rows or not (many or len(asked.ground.choices) >= MANY_CHOICES):
        return None
    alike = about_atoms(asked)
    if alike is None or not alike.certain or not all(alike.atoms):
        return None
    try:
        known = shares(
            asked.ground,
            asked.meaning,
            asked.weights,
            least=0 if many else MANY_ENTRIES,
            watch=asked.watch,
        )
    except SizeLimit:
        return None
    return None if known is None else InNumbers(asked, known)
