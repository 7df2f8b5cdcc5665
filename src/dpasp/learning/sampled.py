"""Gradients from random worlds: unbiased, whatever the size of the program.

By Fisher's identity the gradient of log P(O) by p_x is the mean of [X = x] / p_x over total
choices drawn given O. So worlds are drawn, with what can be of O pushed into their choices, and
each is accepted in proportion to its weight and to the share of its models that satisfy O: those
that are accepted are draws given O, exactly. Of choices that O does not depend on nothing is
drawn: they keep their probability (Rao and Blackwell). Where some total choices have no model,
others are drawn given that there is one, and log P(consistent) is subtracted with its gradient.

>>> from dpasp.language import parse
>>> from dpasp.ground.grounding import ground
>>> from dpasp.learning.observations import ObservationReader
>>> program = ground(parse("0.5?::a. 0.5?::b. c :- a. c :- b."))
>>> seen = ObservationReader(program).read([["c"]], "")
>>> sampled = SampledLikelihood.of(program, Meaning(), seen.distinct, samples=100_000)
>>> weights = torch.full((4, 1), 0.5, dtype=torch.float64)
>>> logs, slopes = sampled.log_shared(weights, torch.ones(1, dtype=torch.float64))
>>> abs(logs.exp().item() - 3 / 4) < 0.01, abs(slopes[0].item() - 1 / 2 / (3 / 4) / (1 / 2)) < 0.02
(True, True)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from dpasp.circuits.worlds import BLOCK, Worlds
from dpasp.errors import DataError, Diagnostic
from dpasp.ground.program import GroundProgram, GroundQuery
from dpasp.inference.asked import ask
from dpasp.inference.sampling.stream import Prepared, SeenWorlds, Stream, outcomes
from dpasp.language.ast import NOWHERE
from dpasp.learning.likelihood import surely_consistent
from dpasp.learning.masses import tries_of
from dpasp.learning.observations import Observation, observation_brief
from dpasp.learning.tuning import TUNING
from dpasp.limits import UNLIMITED, Watch
from dpasp.semantics.leaves import Weights, layout
from dpasp.semantics.masses import Array
from dpasp.semantics.meaning import Meaning


class SampledLikelihood:
    """The likelihood of observations by sampling, of a program without networks."""

    def __init__(
        self, sources: Sequence[_Source], seed: int, consistent: _Source | None = None
    ) -> None:
        self.sources, self.seed = tuple(sources), seed
        self.consistent = consistent  # worlds with a model, if not all have one
        self._moment = (0, 0)
        self._kept: tuple[object, tuple[float, Weights]] | None = None

    @classmethod
    def of(
        cls,
        ground: GroundProgram,
        meaning: Meaning,
        observations: Sequence[Observation],
        samples: int,
        seed: int = 0,
        lower: float = 0.5,
        watch: Watch = UNLIMITED,
    ) -> SampledLikelihood:
        """What draws worlds of the observations of a program.

        ``samples`` worlds of each are accepted in a step; ``lower`` is the share of the lower
        probability in what is maximised.
        """

        def source(literals: Observation) -> _Source:
            return _Source(ground, meaning, literals, samples, lower, watch)

        sure = surely_consistent(ground, meaning)
        return cls(list(map(source, observations)), seed, None if sure else source(()))

    @property
    def count(self) -> int:
        return len(self.sources)

    def to(self, device: torch.device) -> SampledLikelihood:
        """The same: worlds are drawn on the CPU."""
        return self

    def begin(self, iteration: int, step: int) -> None:
        """Every step has worlds of its own."""
        self._moment = (iteration, step)

    def log(self, weights: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
        parts = [self._drawn(number, weights[:, i]) for i, number in enumerate(ids.tolist())]
        return torch.stack([log for log, _ in parts]), torch.stack([s for _, s in parts], dim=1)

    def log_by_logs(self, logs: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
        found, slopes = self.log(logs.exp(), ids)
        return found, slopes * logs.exp()

    def log_shared(self, weights: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
        logs, total = torch.zeros_like(counts), torch.zeros_like(weights)
        for number in counts.nonzero()[:, 0].tolist():
            logs[number], slopes = self._drawn(number, weights[:, 0])
            total[:, 0] += counts[number] * slopes
        return logs, total

    def _drawn(self, number: int, weights: Tensor) -> tuple[Tensor, Tensor]:
        key = (self.seed, *self._moment, number)
        log, slopes = self.sources[number].drawn(weights.detach().cpu().double().numpy(), key)
        if self.consistent is not None:
            given, down = self._given(weights)
            log, slopes = log - given, slopes - down
        return weights.new_tensor(log), torch.from_numpy(slopes).to(weights)

    def tries(self, weights: Tensor, ids: Tensor) -> Tensor | None:
        """How many total choices [batch] are drawn until one has a model; None: one, always."""
        if self.consistent is None:
            return None
        given = [self._given(weights[:, i])[0] for i in range(weights.shape[1])]
        return tries_of(weights.new_tensor(given)).expand(len(ids))

    def _given(self, weights: Tensor) -> tuple[float, Weights]:
        """log P of there being a model, and its gradient; drawn once for the same weights."""
        assert self.consistent is not None
        array = weights.detach().cpu().double().numpy()
        asked = (self._moment, array.tobytes())
        if self._kept is None or self._kept[0] != asked:
            key = (self.seed, *self._moment, len(self.sources))
            self._kept = asked, self.consistent.drawn(array, key)
        return self._kept[1]


class _Source:
    """The worlds of one observation."""

    def __init__(
        self,
        ground: GroundProgram,
        meaning: Meaning,
        literals: Observation,
        samples: int,
        lower: float,
        watch: Watch,
    ) -> None:
        self.meaning, self.samples, self.lower, self.watch = meaning, samples, lower, watch
        self.query = GroundQuery((), literals, observation_brief(literals), NOWHERE)
        program = replace(ground, questions=(self.query,), evidence=())
        self.leaves = layout(ground.choices)
        even = np.full(self.leaves.size, 0.5)  # prepared for any weights
        prepared = Prepared(ask(program, meaning, weights=even, watch=watch), [self.query])
        outputs = prepared.outputs
        self.read = _read(prepared, outputs)
        self.rows: list[int] = []  # the leaf of each selector that is drawn
        selectors: list[int] = []
        for number in self.read:
            choice = ground.choices[number]
            selectors += choice.selectors
            self.rows += range(
                self.leaves.starts[number], self.leaves.starts[number] + len(choice.selectors)
            )
        self.first = len(outputs)
        pushes = prepared.worlds.pushes
        prepared.worlds = Worlds(
            prepared.definitions, prepared.size, [*outputs, *selectors], pushes
        )
        self.prepared = prepared

    def drawn(self, weights: Weights, key: Sequence[int]) -> tuple[float, Weights]:
        """log P and its gradient [leaves] under weights; the key decides which worlds."""
        generator = np.random.default_rng(key)
        seed = int(generator.integers(2**62))
        stream = Stream(self.prepared, weights, seed, self.watch)
        accepted, mass, worlds, number = 0, 0.0, 0, 0
        counts = np.zeros(len(self.rows))
        piece = TUNING.worlds_together if self.prepared.situations else BLOCK
        while accepted < self.samples and worlds < TUNING.most_worlds:
            block = stream.block(number)
            number += 1
            for start in range(0, BLOCK, piece):
                part = slice(start, start + piece)
                share = self._share(stream.seen(block, part))
                mass += float(share.sum())
                worlds += piece
                good = np.flatnonzero(generator.random(piece) < share)
                good = good[: self.samples - accepted]
                counts += block.bits[self.first :, part][:, good].sum(axis=1)
                accepted += len(good)
        if not accepted:
            raise DataError(_unseen(self.query, worlds))
        return float(np.log(stream.most * mass / worlds)), self._slopes(weights, counts, accepted)

    def _share(self, seen: SeenWorlds) -> Array:
        """How often each world is to be accepted."""
        numbers = [n[0, 0] for n in outcomes(seen.known, self.meaning, [self.query])]
        share: Array = self.lower * numbers[0] + (1 - self.lower) * numbers[-1]
        return share if seen.weights is None else share * seen.weights

    def _slopes(self, weights: Weights, counts: Array, accepted: int) -> Weights:
        slopes = np.ones(self.leaves.size)  # of choices that the observation does not depend on
        slopes[self.rows] = counts / accepted
        for number in self.read:
            leaves = self.leaves.of(number)
            drawn = set(range(leaves.start, leaves.stop)) & set(self.rows)
            if len(drawn) < leaves.stop - leaves.start:  # nothing has no selector
                slopes[leaves.stop - 1] = max(0.0, 1.0 - slopes[sorted(drawn)].sum())
            some = weights[leaves] > 0
            slopes[leaves] = np.where(
                some, slopes[leaves] / np.where(some, weights[leaves], 1.0), 0.0
            )
        return slopes


def _read(prepared: Prepared, outputs: Sequence[int]) -> list[int]:
    """The numbers of the choices that an observation depends on."""
    selectors, rules = prepared.definitions.selectors, prepared.definitions.rules
    seen, todo = set(outputs), list(outputs)
    while todo:
        for rule in rules.get(todo.pop(), ()):
            for atom in map(abs, rule.body):
                if atom not in seen:
                    seen.add(atom)
                    todo.append(atom)
    return sorted({selectors[atom][0] for atom in seen if atom in selectors})


def _unseen(query: GroundQuery, worlds: int) -> Diagnostic:
    return Diagnostic(
        "unsampled",
        f"none of {worlds:,} sampled worlds satisfies the observation {query.text}",
        help='say likelihood = "bound", or start from probabilities that make it less rare',
    )
