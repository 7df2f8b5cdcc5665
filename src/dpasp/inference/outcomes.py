"""What single total choices say about every question, solved one at a time.

Engines that look at some of the total choices only (samples, the most probable ones)
share it. A total choice is the tuple of the values of the choices: positions among
their leaves.

>>> from dpasp.inference.asked import ask
>>> from dpasp.language import parse
>>> from dpasp.ground import ground
>>> from dpasp.semantics.meaning import Meaning
>>> asked = ask(ground(parse("0.3::a. b :- not a. #query b.")), Meaning())
>>> outcome = Masses.of(Outcomes(asked).of((0,)))
>>> outcome.b, outcome.d                   # if a is true, no model has b, and some lacks it
(array([0.]), array([1.]))
"""

from __future__ import annotations

from contextlib import closing

import numpy as np
from numpy.typing import NDArray

from dpasp.errors import SizeLimit
from dpasp.ground.solve import Solver
from dpasp.inference.asked import Asked
from dpasp.inference.enumerate import (
    Bits,
    Condition,
    Reader,
    least_undefined,
    live_groups,
    shares_of_masses,
)
from dpasp.semantics.masses import FIELDS, Array, Masses, completed
from dpasp.semantics.total_choices import TotalChoice, selector_literals
from dpasp.semantics.translate import translate


class Outcomes:
    """The outcomes of total choices; each is solved once.

    With ``most``, no more models of a total choice are looked at.
    """

    def __init__(self, asked: Asked, most: int | None = None) -> None:
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
        rules = (*reader.translation.rules, *reader.rules)
        self._solver = Solver(rules, groups, reader.read, project=not meaning.maxent)
        # Models that agree on what is asked need not be counted, and they are found first.
        self._agreeing = None
        if most is not None and meaning.maxent:
            self._agreeing = Solver(rules, groups, reader.read, project=True)
        self._most = most
        self._known: dict[TotalChoice, Array] = {}

    def __len__(self) -> int:
        return len(self._known)

    def of(self, choice: TotalChoice) -> Array:
        """The masses [9, queries] if this were the only total choice (see ``Masses.of``).

        Raises :class:`SizeLimit` if it has more models than are looked at.
        """
        masses = self._known.get(choice)
        if masses is None:
            self.watch.check()
            values, found = self._shares(selector_literals(self.ground, choice, self._possible))
            lost = np.full(len(self.queries), float(not found))
            whole = completed(Masses.of(values, lost), self.meaning, self.queries)
            masses = self._known[choice] = whole.array()
        return masses

    def _shares(self, assumed: list[int]) -> tuple[Array, bool]:
        """The masses [7, queries] of a total choice, and whether it has a model."""
        if self._agreeing is not None:
            values, found = self._read(self._models(self._agreeing, assumed))
            if np.isin(values, (0.0, 1.0)).all():
                return values, found
        return self._read(self._models(self._solver, assumed))

    def _read(self, bits: Bits) -> tuple[Array, bool]:
        """The masses [7, queries] by rows of models, and whether there is one."""
        if self._least:  # without columns of choices: all rows are of this total choice
            bits = bits[least_undefined(bits[:, :0], bits[:, self._width :])]
        values = np.empty((len(FIELDS), len(self.queries)))
        for i, conditions in enumerate(self._conditions):
            values[:, i] = _masses(bits, conditions.both, conditions.evidence)
        return values, bool(len(bits))

    def _models(self, solver: Solver, assumed: list[int]) -> Bits:
        """The models of a total choice, as rows."""
        if self._most is None:
            return solver.models(assumed, self.watch)
        found: list[Bits] = []
        with closing(solver.blocks(assumed, self.watch)) as blocks:
            for block in blocks:
                found.append(block)
                if sum(map(len, found)) > self._most:
                    raise SizeLimit(f"a total choice has more than {self._most:,} models")
        return np.concatenate([*found, np.empty((0, len(solver.read)), dtype=np.bool_)])


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
