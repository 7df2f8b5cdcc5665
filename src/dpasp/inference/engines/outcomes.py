"""What single total choices say about every question, solved one at a time.

Engines that look at some of the total choices only (samples, the most probable ones)
share it. A total choice is the tuple of the values of the choices: positions among
their leaves.

>>> from dpasp.inference.asked import ask
>>> from dpasp.language import parse
>>> from dpasp.logic import ground
>>> from dpasp.semantics.meaning import Meaning
>>> asked = ask(ground(parse("0.3::a. b :- not a. #query b.")), Meaning())
>>> outcome = Masses.of(Outcomes(asked).of((0,)))
>>> outcome.b, outcome.d                   # if a is true, no model has b, and some lacks it
(array([0.]), array([1.]))
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpasp.inference.asked import Asked
from dpasp.inference.engines.reference.enumerate import Reader, least_undefined, live_groups
from dpasp.inference.engines.reference.rows import Bits
from dpasp.inference.engines.reference.table import Condition, shares_of_masses
from dpasp.logic.solve import Solver
from dpasp.semantics.masses import FIELDS, Array, Masses, completed
from dpasp.semantics.total_choices import TotalChoice, selector_literals
from dpasp.semantics.translate import translate


class Outcomes:
    """The outcomes of total choices; each is solved once."""

    def __init__(self, asked: Asked) -> None:
        ground, meaning, watch = asked.ground, asked.meaning, asked.watch
        self.ground = ground
        self.meaning = meaning
        self.watch = watch
        self.queries = asked.queries
        self.starts = asked.layout.starts
        reader = Reader(translate(ground, meaning.logic, watch))
        self._conditions = [reader.query(query) for query in self.queries]
        self._least, self._width = reader.translation.least, len(reader.read)
        if self._least:
            reader.read_undefined()
        groups = live_groups(ground)
        self._possible = {atom for group in groups for atom in group.atoms}
        self._solver = Solver(
            (*reader.translation.rules, *reader.rules),
            groups,
            reader.read,
            project=not meaning.maxent,
        )
        self._known: dict[TotalChoice, Array] = {}

    def __len__(self) -> int:
        return len(self._known)

    def of(self, choice: TotalChoice) -> Array:
        """The masses [9, queries] if this were the only total choice (see ``Masses.of``)."""
        masses = self._known.get(choice)
        if masses is None:
            self.watch.check()
            assumed = selector_literals(self.ground, choice, self._possible)
            bits = self._solver.models(assumed, self.watch)
            if self._least:  # without columns of choices: all rows are of this total choice
                bits = bits[least_undefined(bits[:, :0], bits[:, self._width :])]
            values = np.empty((len(FIELDS), len(self.queries)))
            for i, conditions in enumerate(self._conditions):
                values[:, i] = _masses(bits, conditions.both, conditions.evidence)
            lost = np.full(len(self.queries), float(not len(bits)))
            whole = completed(Masses.of(values, lost), self.meaning, self.queries)
            masses = self._known[choice] = whole.array()
        return masses


def _masses(bits: Bits, both: Condition, evidence: Condition) -> NDArray[np.float64]:
    """The masses [7] of a query when the rows are all the models there are."""
    n = len(bits)
    if not n:
        return np.zeros(len(FIELDS))
    counts = np.array([n, _count(bits, both), _count(bits, evidence)])
    return np.array(shares_of_masses(*counts), dtype=np.float64)


def _count(bits: Bits, condition: Condition) -> int:
    if condition.column is None:
        return len(bits) * condition.sign
    true = int(np.count_nonzero(bits[:, condition.column]))
    return true if condition.sign else len(bits) - true
