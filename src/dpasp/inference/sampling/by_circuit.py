"""Total choices drawn given the evidence, from the root of a circuit down: none is rejected.

Every sum takes one of its edges by what the edge is worth; a choice that is not met on the way
is drawn by its own probabilities.

>>> from dpasp.inference.asked import ask
>>> from dpasp.language import parse
>>> from dpasp.logic import ground
>>> from dpasp.semantics.meaning import Meaning
>>> asked = ask(ground(parse("0.3::a. 0.5::b. c :- a, b. #evidence c.")), Meaning())
>>> import numpy as np
>>> descent(asked).draw(np.random.default_rng(1), 2)      # both take their value 0: true
[(0, 0), (0, 0)]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dpasp import circuits
from dpasp.circuits.layers import Layer, sweep
from dpasp.dataclass import dataclass
from dpasp.errors import ImpossibleEvidence, SizeLimit, Span
from dpasp.inference.asked import Asked
from dpasp.inference.sampling.situations import Places
from dpasp.language.ast import Probability
from dpasp.logic.program import GroundQuery
from dpasp.semantics.leaves import Weights
from dpasp.semantics.masses import impossible_evidence
from dpasp.semantics.meaning import Meaning
from dpasp.semantics.total_choices import TotalChoice, draw

MODEST = circuits.Options(nodes=2_000_000, work=300_000_000)  # about half a minute at most
ASKED = GroundQuery((), (), "", Span("", 0, 0, 0, 0))  # about nothing: its evidence is put in


@dataclass(frozen=True)
class Descent:
    """A circuit with what every node is worth: the mass below it that satisfies the evidence."""

    circuit: circuits.Circuit
    asked: Asked
    logs: Weights  # [nodes], the logarithms of what they are worth
    wide: Weights  # [leaves + 1], those of the weights; the last, 0, is for edges without one

    def draw(self, generator: np.random.Generator, n: int) -> list[TotalChoice]:
        """``n`` total choices given the evidence."""
        starts = self.asked.layout.starts
        values = np.array(draw(generator, self.asked.weights, starts, n), dtype=np.intp)
        walk = _Walk(self, generator, values.reshape(n, len(starts) - 1))
        return list(map(tuple, walk.run().tolist()))


class _Walk:
    """All samples on their way down, layer by layer.

    ``values`` [samples, choices] begins with every choice drawn by its own probabilities; the
    choices that are met on the way down are then overwritten.
    """

    def __init__(self, descent: Descent, generator: np.random.Generator, values: Places) -> None:
        self.logs, self.wide, self.watch = descent.logs, descent.wide, descent.asked.watch
        self.generator, self.values = generator, values
        self.layers = descent.circuit.below(0)
        self.starts = np.array(descent.asked.layout.starts)
        self.level = np.full(len(self.layers), -1, dtype=np.intp)  # by node; leaves have none
        self.place = np.zeros(len(self.layers), dtype=np.intp)  # by node: among those of its layer
        for number, layer in enumerate(self.layers.layers):
            for nodes in (layer.sums, layer.products):
                self.level[nodes] = number
                self.place[nodes] = np.arange(len(nodes))
        self.here: list[list[tuple[Places, Places]]] = [[] for _ in self.layers.layers]

    def run(self) -> Places:
        """The values of the choices [samples, choices]."""
        n = len(self.values)
        self._visit(np.arange(n), np.full(n, self.layers.root))
        for number in range(len(self.here) - 1, -1, -1):
            self.watch.check()
            if self.here[number]:
                samples, nodes = (np.concatenate(p) for p in zip(*self.here[number], strict=True))
                self._descend(self.layers.layers[number], samples, nodes)
                self.here[number] = []
        return self.values

    def _visit(self, samples: Places, nodes: Places) -> None:
        """Leave the samples waiting at the nodes, each at its layer; leaves need no visit."""
        level = self.level[nodes]
        for number in np.unique(level[level >= 0]):
            at = level == number
            self.here[number].append((samples[at], nodes[at]))

    def _descend(self, layer: Layer, samples: Places, nodes: Places) -> None:
        """Send samples on: to both factors of a product, along one edge of a sum."""
        summed = np.isin(nodes, layer.sums)
        factors = self.place[nodes[~summed]]
        self._visit(samples[~summed], layer.left[factors])
        self._visit(samples[~summed], layer.right[factors])
        if not summed.any():
            return
        edges = self._edges(layer, self.place[nodes[summed]])
        taken, weights = samples[summed], layer.weights[edges]
        chosen = weights >= 0
        choice = np.searchsorted(self.starts, weights[chosen], side="right") - 1
        self.values[taken[chosen], choice] = weights[chosen] - self.starts[choice]
        self._visit(taken, layer.children[edges])

    def _edges(self, layer: Layer, sums: Places) -> Places:
        """An edge of each of the ``sums``, drawn by what it is worth.

        The edges of all sums of a layer lie end to end; one running total over them serves to
        find the edge at a random height within each sum.
        """
        owner = np.repeat(np.arange(len(layer.sums)), layer.lengths)
        worth = self.wide[layer.weights] + self.logs[layer.children]
        whole = self.logs[layer.sums][owner]
        shares = np.exp(worth - np.where(np.isneginf(whole), 0.0, whole))
        ends = np.cumsum(shares)
        before = np.append(0.0, ends)[layer.starts]
        last = np.append(layer.starts[1:], len(layer.children)) - 1
        reach = ends[last] - before
        target = before[sums] + self.generator.random(len(sums)) * reach[sums]
        edges: Places = np.clip(
            np.searchsorted(ends, target, side="right"), layer.starts[sums], last[sums]
        )
        while np.any(lost := shares[edges] == 0):  # only by rounding, at the end of a sum
            edges[lost] -= 1
        return edges


def descent(asked: Asked) -> Descent | None:
    """The circuit of the evidence, to draw from; None if it cannot be, or would be large.

    Raises :class:`ImpossibleEvidence` if the evidence has probability 0.
    """
    evidence = asked.ground.evidence
    meaning = Meaning(asked.meaning.logic, Probability.MAXENT)
    if meaning.holds_without_models(evidence):
        return None  # total choices without stable models are not in the circuit
    alone = replace(asked.ground, questions=(replace(ASKED, evidence=evidence),))
    try:
        circuit = circuits.compile(alone, meaning, options=MODEST, watch=asked.watch.silenced())
    except (circuits.HeadCycle, SizeLimit):
        return None
    with np.errstate(divide="ignore"):
        wide = np.log(np.append(asked.weights, 1.0))
        known = np.log(circuit.values.channel("e"))
    (logs,) = sweep(
        circuit.below(0),
        [known],
        lambda layer, below: [np.logaddexp.reduceat(wide[layer.weights] + below[0], layer.starts)],
        lambda _, left, right: [left[0] + right[0]],
    )
    if np.isneginf(logs[circuit.below(0).root]):
        raise ImpossibleEvidence(impossible_evidence(evidence))
    return Descent(circuit, asked, logs, wide)


def spread(selected: NDArray[np.bool_], sizes: Sequence[int]) -> NDArray[np.intp]:
    """The value of each choice [choices, worlds] from the truth of its selectors.

    One of them is true at most; where none is, the value is the one after them, *nothing*.
    ``selected`` is [selectors of all choices, worlds], ``sizes`` how many each choice has.

    >>> spread(np.array([[True, False], [False, False], [False, True]]), [1, 2]).tolist()
    [[0, 1], [2, 1]]
    """
    counts = np.array(sizes, dtype=np.intp)
    values = np.repeat(counts[:, np.newaxis], selected.shape[1], axis=1)  # nothing, at first
    some, starts = counts > 0, np.cumsum(counts) - counts
    # From nothing back to the selector: how far that is, as a negative number.
    steps = np.arange(len(selected)) - np.repeat(starts + counts, counts)
    if some.any():
        chosen = np.where(selected, steps[:, np.newaxis], 0)
        values[some] += np.add.reduceat(chosen, starts[some], axis=0)
    return values
