"""The table of the reference engine: every total choice that has models, and its counts.

From it follow, for any leaf weights, all the masses of every question. Everything is
a sum of products of weights: nothing is subtracted, so small numbers stay exact.

>>> from dpasp.inference.asked import ask
>>> from dpasp.language import parse
>>> from dpasp.logic import ground
>>> from dpasp.semantics.meaning import Meaning
>>> from dpasp.inference.engines.reference.enumerate import enumerate_models
>>> asked = ask(ground(parse("0.5::a. 0.4::b. :- a, b. #query a.")), Meaning())
>>> table = enumerate_models(asked.ground, asked.meaning).table
>>> table.values.tolist()                            # the total choices that have models
[[1, 1], [1, 0], [0, 1]]
>>> table.inconsistent(asked.columns)
array([0.2])
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpasp.dataclass import dataclass
from dpasp.inference.engines.reference.rows import Bits, Counts, run_starts
from dpasp.logic.program import Choice
from dpasp.semantics.leaves import LeafLayout, Weights, layout

Indices = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Condition:
    """That a column of the table is ``sign``; without a column, always or never."""

    column: int | None
    sign: bool


ALWAYS = Condition(None, True)
NEVER = Condition(None, False)


@dataclass(frozen=True, slots=True)
class Folded:
    """P(θ) = ``constant[θ] * varying[group[θ]]`` over a batch.

    Total choices that agree on the choices whose weights vary are one group, so that a batch
    costs as many products as there are groups.
    """

    constant: Weights  # [total choices]
    group: Indices  # [total choices]
    varying: Weights  # [groups, batch]

    def sum(self, values: NDArray[np.generic]) -> Weights:
        """Σ P(θ) values[θ] for each weight vector of the batch."""
        weighted = np.multiply(self.constant, values, dtype=np.float64)
        return np.bincount(self.group, weighted, len(self.varying)) @ self.varying


@dataclass(frozen=True, slots=True)
class Table:
    """Total choices in lexicographic order, and the rows of their models.

    ``values[θ, i]`` is the value that choice i takes (its position among its leaves);
    the rows of θ are ``starts[θ]:starts[θ + 1]``. A row stands for ``counts[row]``
    models that satisfy the conditions ``bits[row]``.
    """

    leaves: LeafLayout
    values: Indices
    starts: Indices
    bits: Bits
    counts: Counts

    def __len__(self) -> int:
        return len(self.values)

    def probabilities(self, weights: Weights) -> Weights:
        """P(θ) for every total choice, [total choices, batch], from weights [leaves, batch]."""
        result = np.ones((len(self), weights.shape[1]))
        for i, start in enumerate(self.leaves.starts[:-1]):
            result *= weights[start + self.values[:, i]]
        return result

    def fold(self, weights: Weights) -> Folded:
        """P(θ) as what does not change over the batch times what does."""
        changes = (weights != weights[:, :1]).any(axis=1)
        varying = [
            i for i in range(len(self.leaves.starts) - 1) if changes[self.leaves.of(i)].any()
        ]
        constant = np.ones(len(self))
        for i, start in enumerate(self.leaves.starts[:-1]):
            if i not in varying:
                constant *= weights[start + self.values[:, i], 0]
        if not varying:
            group = np.zeros(len(self), dtype=np.intp)
            return Folded(constant, group, np.ones((1, weights.shape[1])))
        distinct, group = np.unique(self.values[:, varying], axis=0, return_inverse=True)
        product = np.ones((len(distinct), weights.shape[1]))
        for column, i in enumerate(varying):
            product *= weights[self.leaves.starts[i] + distinct[:, column]]
        return Folded(constant, group.reshape(-1), product)

    def holds(self, condition: Condition) -> Bits:
        """Which rows satisfy a condition."""
        if condition.column is None:
            return np.full(len(self.counts), condition.sign)
        column = self.bits[:, condition.column]
        return column if condition.sign else ~column

    def count(self, rows: Bits) -> Counts:
        """How many models of each total choice are in the rows."""
        counts = self.counts * rows
        return np.add.reduceat(counts, self.starts[:-1]) if len(self) else counts

    def inconsistent(self, weights: Weights) -> Weights:
        """The mass of the total choices that are not in the table, for each weight vector.

        The total choices are the paths of a tree that branches at each choice by its values.
        Level by level, the branches that no path of the table takes are added up, each with
        everything below it.
        """
        mass = np.zeros(weights.shape[1])
        if not len(self):
            return _rest(self.leaves, weights, 0)
        if len(self) == self.leaves.total:
            return mass
        prefix = np.ones((1, weights.shape[1]))  # what the nodes of the level weigh
        parents = np.zeros(len(self), dtype=np.intp)  # the node that each total choice is at
        for i in range(len(self.leaves.starts) - 1):
            here = weights[self.leaves.of(i)]
            present = np.zeros((len(prefix), len(here)), dtype=np.bool_)
            present[parents, self.values[:, i]] = True
            missing = np.where(present, 0.0, 1.0) @ here
            mass += (prefix * missing).sum(axis=0) * _rest(self.leaves, weights, i + 1)
            parent, value = np.nonzero(present)
            prefix = prefix[parent] * here[value]
            position = np.cumsum(present).reshape(present.shape) - 1
            parents = position[parents, self.values[:, i]]
        return mass


def _rest(leaves: LeafLayout, weights: Weights, first: int) -> Weights:
    """What all total choices over the choices from ``first`` on weigh together."""
    result = np.ones(weights.shape[1])
    for i in range(first, len(leaves.starts) - 1):
        result *= weights[leaves.of(i)].sum(axis=0)
    return result


def sorted_table(choices: Sequence[Choice], bits: Bits, counts: Counts) -> Table:
    """The table of sorted rows: one bit for every selector, then the conditions.

    A choice none of whose selectors is true takes its last value, *nothing*.
    """
    width = sum(len(choice.selectors) for choice in choices)
    chosen = bits[:, :width]
    starts = run_starts(chosen)
    values = np.zeros((len(starts), len(choices)), dtype=np.intp)
    first = 0
    for i, choice in enumerate(choices):
        selected = chosen[starts, first : first + len(choice.selectors)]
        taken = selected.any(axis=1)
        values[:, i] = np.where(
            taken, selected.argmax(axis=1) if selected.size else 0, selected.shape[1]
        )
        first += len(choice.selectors)
    ends = np.append(starts, len(bits))
    return Table(layout(choices), values, ends, bits[:, width:], counts)


def question_masses(table: Table, folded: Folded, both: Condition, evidence: Condition) -> Weights:
    """The masses [7, batch] of a question; the conditions are 'q and e', and 'e'."""
    return np.stack([folded.sum(row) for row in _shares(table, both, evidence)])


def log_masses(table: Table, weights: Weights, both: Condition, evidence: Condition) -> Weights:
    """The logarithms [7] of the masses of a question under weights [leaves]."""
    with np.errstate(divide="ignore"):
        logs = np.log(weights)
        shares = np.log(np.array(_shares(table, both, evidence), dtype=np.float64))
    for i, start in enumerate(table.leaves.starts[:-1]):
        shares += logs[start + table.values[:, i]]
    sums: Weights = np.logaddexp.reduce(shares, axis=1, initial=-np.inf)
    return sums


def _shares(table: Table, both: Condition, evidence: Condition) -> list[NDArray[np.generic]]:
    """How much of P(θ) each mass has, for every total choice of the table."""
    n = table.count(table.holds(ALWAYS))
    return shares_of_masses(n, table.count(table.holds(both)), table.count(table.holds(evidence)))


def shares_of_masses(n: Counts, n_qe: Counts, n_e: Counts) -> list[NDArray[np.generic]]:
    """How much of P(θ) each of ``FIELDS`` has where θ has n > 0 models, n_e with the evidence,
    and n_qe with the query too: the definitions of :mod:`dpasp.semantics.masses`.
    """
    return [
        n > 0,
        n_qe == n,
        n_qe > 0,
        (n_e == n) & (n_qe == 0),
        n_e > n_qe,
        n_qe / n,
        n_e / n,
    ]
