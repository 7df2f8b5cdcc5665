"""Evidence that independent worlds hardly ever satisfy: chains that walk among worlds that do.

A chain is at a total choice that satisfies the evidence. A move draws some groups of choices
anew, many times, as likelihood weighting draws worlds, with all others as they are; one of these
worlds and the one where the chain is comes next, by their weights. So a chain that is at a world
by its probability given the evidence stays so (Tjelmeland, 2004; Andrieu, Doucet and Holenstein,
2010), whatever the semantics. Each word of a block is a chain, with 63 worlds to go to, and what
all of them say is taken by their weights. Some moves draw with probabilities that are nearer to
each other than the true ones are, and weigh the worlds by the difference: so chains get from one
rare cause of the evidence to another.

A chain visits the total choices that have some model with the evidence; what a total choice says
about a query is what it says elsewhere (see ``stream.outcomes``).

>>> from dpasp.inference.asked import ask
>>> from dpasp.language import parse
>>> from dpasp.logic import ground
>>> from dpasp.semantics.meaning import Meaning
>>> text = "0.3::a. 0.5::b. 0.001::c :- a, b. 0.0001::c :- not a. #query a | c."
>>> asked = ask(ground(parse(text)), Meaning())
>>> from dpasp.inference.sampling.stream import Prepared
>>> walk = Walk(Stream(Prepared(asked, asked.queries), asked.weights, 1, asked.watch))
>>> walk.start()
True
>>> for _ in range(200):
...     walk.sweep()
>>> ((mixed, _),) = walk.mixtures()
>>> abs(mixed.value - 15 / 22) < 0.05, mixed.good
(True, True)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpasp.circuits.worlds import BLOCK, WORDS, Chains, Drawn, Worlds
from dpasp.inference.sampling.by_circuit import spread
from dpasp.inference.sampling.groups import Groups
from dpasp.inference.sampling.mixing import Mixture, mixture
from dpasp.inference.sampling.situations import Places
from dpasp.inference.sampling.stream import Stream, outcomes
from dpasp.logic.program import Rule
from dpasp.logic.solve import Group, found_at_random
from dpasp.semantics.masses import Array

IMPOSSIBLE = -1e30  # the logarithm of 0, which can be subtracted
TRIES = 4  # blocks that each chain draws to find where to start
FEW_WORLDS = 8  # to go to, where models of each must be found
FLAT = (1.0, 1.0, 0.5, 0.2)  # a move draws with the probabilities to one of these powers
FLATTENED = 64  # with more choices than this in a move, only to the power 1
WARM = 0.5  # this share of the first states is not counted: a chain may have started anywhere


class Walk:
    """Chains among the worlds of a stream."""

    def __init__(self, stream: Stream, chains: int = WORDS) -> None:
        """There are from 2 to ``WORDS`` chains."""
        prepared = stream.prepared
        self.stream, self.chains = stream, chains
        self.groups = Groups(prepared.definitions, prepared.outputs)
        choices = prepared.definitions.choices
        self._moved = self.groups.relevant
        self._sizes = [len(choices[choice].selectors) for choice in self._moved]
        selectors = [s for choice in self._moved for s in choices[choice].selectors]
        self._outputs = len(prepared.outputs)
        outputs = [*prepared.outputs, *selectors]
        pushes = prepared.worlds.pushes
        self._worlds = Worlds(prepared.definitions, prepared.size, outputs, pushes, stream.watch)
        self._generator = np.random.default_rng(stream.seed)
        self._states = np.zeros((chains, len(choices)), dtype=np.int64)
        self._columns = self._candidates(FEW_WORLDS if prepared.situations else 64)
        self._moves = 0
        self._series: list[Array] = []  # by sweep: [numbers, 2, queries, chains]
        self._energies: list[Array] = []  # by sweep: [chains]
        self._starts = np.array(prepared.definitions.leaves.starts)
        self._drawing = {power: self._flattened(power) for power in dict.fromkeys(FLAT)}
        self._logs = self._drawing[1.0][1]

    def _candidates(self, each: int) -> Places:
        """The worlds of a block that each chain may go to [chains, worlds]."""
        words = np.arange(WORDS // self.chains * self.chains).reshape(self.chains, -1)
        worlds = words[:, :, np.newaxis] * 64 + np.arange(each)
        keep = np.ones(worlds.shape[1:], dtype=np.bool_)
        keep[1:, 0] = False  # where the chain is comes once
        return worlds[:, keep]

    # --- where to start -------------------------------------------------------------------------

    def start(self) -> bool:
        """Find worlds that satisfy the evidence, a different one for each chain if there are.

        False if none is found. Raises what the watch raises.
        """
        starts: list[NDArray[np.int64]] = []
        missing = []
        for chain in range(self.chains):
            state = self._drawn_start(chain)
            if state is None:
                missing.append(chain)
            else:
                self._states[chain, self._moved] = state
                starts.append(state)
        for chain, state in zip(missing, self._solved_starts(len(missing)), strict=False):
            self._states[chain, self._moved] = state
            starts.append(state)
        if not starts:
            return False
        for chain in range(len(starts), self.chains):
            self._states[missing[chain - self.chains], self._moved] = starts[chain % len(starts)]
        return True

    def _drawn_start(self, chain: int) -> NDArray[np.int64] | None:
        """A world that was drawn and satisfies the evidence; None after a few vain tries."""
        stream = self.stream
        for attempt in range(TRIES):
            number = chain * TRIES + attempt
            drawn = self._worlds.draw(stream.weights, stream.seed, number, 1, stream.watch)
            weights = self._weights(drawn, np.arange(BLOCK))[0]
            if weights.sum() > 0:
                place = self._generator.choice(BLOCK, p=weights / weights.sum())
                return self._read(drawn, np.array([place]))[:, 0]
        return None

    def _solved_starts(self, count: int) -> list[NDArray[np.int64]]:
        """At most ``count`` worlds that clingo finds at random, with a model of the evidence."""
        prepared = self.stream.prepared
        translation, choices = prepared.drawable.translation, prepared.definitions.choices
        evidence = prepared.conjunctions[0].evidence
        if not count or evidence is None:
            return []
        rules = [*translation.rules, *(Rule((), (-literal,)) for literal in evidence)]
        selectors = [s for choice in self._moved for s in choices[choice].selectors]
        seed = int(self._generator.integers(2**31))
        rows = found_at_random(rules, self._live(), selectors, (count, seed), self.stream.watch)
        states = [spread(row[:, np.newaxis], self._sizes)[:, 0] for row in rows]
        return [state for state in states if self._informative(state)]

    def _live(self) -> list[Group]:
        """The choices for a solver, without what has probability 0."""
        groups = []
        for i, choice in enumerate(self.stream.prepared.definitions.choices):
            weights = self.stream.weights[self._starts[i] : self._starts[i + 1]]
            atoms = [s for s, w in zip(choice.selectors, weights, strict=False) if w > 0]
            exactly = not choice.nothing or not weights[-1] > 0
            groups.append(Group(tuple(atoms), exactly))
        return groups

    def _informative(self, state: NDArray[np.int64]) -> bool:
        """Whether a world says something about the evidence, as the semantics takes it.

        Under some semantics it takes more for that than one model with the evidence.
        """
        states = np.zeros((WORDS, self._states.shape[1]), dtype=np.int64)
        states[:, self._moved] = state
        still = Chains(states, np.zeros(states.shape[1], dtype=np.int64))
        drawn = self._worlds.move(self.stream.weights, (0, 0), still, self.stream.watch)
        return bool(self._weights(drawn, np.arange(1))[0][0] > 0)

    # --- moves ----------------------------------------------------------------------------------

    def sweep(self) -> None:
        """Move every group of choices once at least. Raises what the watch raises."""
        numbers = [self._move(free) for free in self.groups.sweep(self._generator)]
        self._series.append(np.mean(numbers, axis=0))
        chosen = self._starts[self._moved] + self._states[:, self._moved]
        self._energies.append(self._logs[chosen].sum(axis=1))

    def _move(self, free: NDArray[np.int64]) -> Array:
        """Move the choices where ``free`` is 1, and give what the candidates say.

        That is their mean by their weights, [numbers, 2, queries, chains].
        """
        stream = self.stream
        stream.watch.check()
        words = np.repeat(self._states, WORDS // self.chains, axis=0)
        rest = np.repeat(self._states[:1], WORDS - len(words), axis=0)
        chains = Chains(np.concatenate([words, rest]), free)
        power = float(self._generator.choice(FLAT)) if free.sum() <= FLATTENED else 1.0
        probabilities, logs = self._drawing[power]
        self._moves += 1
        drawn = self._worlds.move(probabilities, (stream.seed, self._moves), chains, stream.watch)
        columns = self._columns
        flat, said = self._weights(drawn, columns.reshape(-1))
        weights = flat.reshape(columns.shape)
        if power != 1.0:
            weights = weights * self._differences(drawn, free, self._logs - logs)
        shares = weights / weights.sum(axis=1, keepdims=True)
        ends = np.cumsum(shares, axis=1)
        targets = self._generator.random((self.chains, 1)) * ends[:, -1:]
        places = np.argmax(ends > targets, axis=1)
        self._states[:, self._moved] = self._read(drawn, columns[np.arange(self.chains), places]).T
        shaped = said.reshape(*said.shape[:-1], *columns.shape)
        mean: Array = (shaped * shares).sum(axis=-1)
        return mean

    def _flattened(self, power: float) -> tuple[Array, Array]:
        """The probabilities [leaves] to a power, made to sum to 1 again, and their logarithms."""
        weights: Array = self.stream.weights**power
        totals = np.add.reduceat(weights, self._starts[:-1]) if len(weights) else weights
        weights = weights / np.repeat(totals, np.diff(self._starts))
        if power == 1.0:
            weights = self.stream.weights
        with np.errstate(divide="ignore"):
            return weights, np.maximum(np.log(weights), IMPOSSIBLE)

    def _differences(self, drawn: Drawn, free: NDArray[np.int64], logs: Array) -> Array:
        """What corrects the weights of worlds drawn with flattened probabilities.

        It is the probability of a world over that of its being drawn, [chains, worlds], up to a
        factor for each chain. ``logs`` are the logarithms of that ratio for each leaf.
        """
        owner = np.repeat(np.array(self._moved, dtype=np.intp), self._sizes)  # of each selector
        rows = np.flatnonzero(free[owner])
        sizes = [size for i, size in zip(self._moved, self._sizes, strict=True) if free[i]]
        values = spread(drawn.bits[self._outputs + rows][:, self._columns.reshape(-1)], sizes)
        first = self._starts[np.flatnonzero(free)]
        sums: Array = logs[first[:, np.newaxis] + values].sum(axis=0).reshape(self._columns.shape)
        relative: Array = np.exp(sums - sums.max(axis=1, keepdims=True))
        return relative

    def _weights(self, drawn: Drawn, columns: Places) -> tuple[Array, Array]:
        """The weights of worlds, 0 where they do not satisfy the evidence, and what they say.

        What they say is [numbers, 2, queries, worlds], as ``outcomes`` gives it.
        """
        prepared = self.stream.prepared
        known = self.stream.known(drawn.bits[: self._outputs, columns])
        numbers = np.stack(outcomes(known, prepared.asked.meaning, prepared.queries))
        possible = (numbers.sum(axis=1) > 0).any(axis=(0, 1))
        weights = drawn.weights[columns] if len(drawn.weights) else np.ones(len(columns))
        return weights * possible, numbers

    def _read(self, drawn: Drawn, worlds: Places) -> NDArray[np.int64]:
        """The values of the choices that are moved [choices, worlds]."""
        values = spread(drawn.bits[self._outputs :, worlds], self._sizes)
        return values.astype(np.int64)

    # --- what they say --------------------------------------------------------------------------

    @property
    def sweeps(self) -> int:
        """How many sweeps there were."""
        return len(self._series)

    @property
    def states(self) -> int:
        """How many states were visited, one in each sweep by each chain."""
        return self.sweeps * self.chains

    def mixtures(self) -> list[Sequence[Mixture]]:
        """By query, what the chains say about each number of its answer."""
        first = int(WARM * self.sweeps)
        series = np.stack(self._series[first:], axis=-1)  # [numbers, 2, queries, chains, sweeps]
        energies = np.stack(self._energies[first:], axis=-1)
        return [
            [mixture(number[0, i], number[1, i], energies) for number in series]
            for i in range(series.shape[2])
        ]
