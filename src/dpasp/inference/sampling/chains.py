"""Markov chains among the worlds that satisfy evidence which independent worlds hardly ever do.

The state of a chain is a total choice that satisfies the evidence. A move redraws some groups of
choices many times, with likelihood weights, and keeps the others; the next state is one of the
worlds drawn or the present one, chosen by weight. This leaves the distribution given the evidence
invariant (Tjelmeland, 2004; Andrieu, Doucet and Holenstein, 2010), under every semantics. Each
machine word of a block has one chain with 63 worlds to move to. Some moves draw from flattened
probabilities and correct the weights: they take chains from one rare cause of the evidence to
another.

Choices that the rules of one atom read (the rows of a table, the causes of an effect) form a
*group*. When a group moves, so do the groups right below it, its children; otherwise the evidence
would hold it in place. Now and then nearby groups move together, and once in every sweep all
choices do. Which groups move never depends on the state of a chain.

The states of a chain depend on each other, so its intervals are valid only in the long run. They
are Student's for the means of independent chains, or use the effective number of states if that is
wider, and are enlarged by what the chains may have missed at the 95 % level. R-hat compares halves
of chains and is 1 where they agree (Gelman and Rubin, 1992; split as by Vehtari et al., 2021). The
effective number sums autocorrelations while pairs are positive and decreasing (Geyer, 1992).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from dpasp.circuits.worlds import BLOCK, WORDS, Chains, Definitions, Drawn, Worlds, reached
from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, LimitReached
from dpasp.ground.program import Rule
from dpasp.ground.solve import Group, found_at_random
from dpasp.inference.answers import Answer
from dpasp.inference.asked import Approximate
from dpasp.inference.sampling.draws import spread
from dpasp.inference.sampling.situations import Places
from dpasp.inference.sampling.stream import Stream, outcomes
from dpasp.inference.sampling.tallies import MISSED, Ends
from dpasp.inference.tuning import SAMPLING
from dpasp.semantics.dependencies import linked
from dpasp.semantics.masses import Array
from dpasp.writing import counted

Mask = NDArray[np.int64]


class Groups:
    """The groups of the choices on which the outputs depend."""

    def __init__(self, definitions: Definitions, outputs: Iterable[int]) -> None:
        self._definitions = definitions
        selectors = definitions.selectors
        cone = reached(outputs, self._below)
        self.relevant = sorted({selectors[a][0] for a in cone if a in selectors})
        self._heads: defaultdict[int, list[int]] = defaultdict(list)  # choices in an atom's rules
        self._above: defaultdict[int, list[int]] = defaultdict(list)
        for atom in cone:
            for other in self._below(atom):
                self._above[other].append(atom)
                if other in selectors:
                    self._heads[atom].append(selectors[other][0])
        # Choices that the rules of one atom read are in one group.
        group, _ = linked(self._heads.values(), len(definitions.choices))
        gathered: dict[int, list[int]] = {}
        for choice in self.relevant:
            gathered.setdefault(group[choice], []).append(choice)
        self.members = list(map(tuple, gathered.values()))
        self._of = {choice: i for i, group in enumerate(self.members) for choice in group}
        self.children = [self._children(i) for i in range(len(self.members))]
        self.near = cache(self._near)

    def _below(self, atom: int) -> list[int]:
        return [abs(b) for rule in self._definitions.rules.get(atom, ()) for b in rule.body]

    def sweep(self, generator: np.random.Generator) -> Iterator[Mask]:
        """Masks [choices] of those that move together, until all have moved."""
        yield self._mask(range(len(self.members)))
        waiting = set(range(len(self.members)))
        for first in generator.permutation(len(self.members)).tolist():
            if first not in waiting:
                continue
            size = int(generator.choice(SAMPLING.sizes))
            near = self.near(first)
            others = generator.permutation(len(near))[: size - 1].tolist()
            chosen = {first, *(near[i] for i in others)}
            waiting -= chosen
            yield self._mask(chosen | {c for group in chosen for c in self.children[group]})

    def _mask(self, groups: Iterable[int]) -> Mask:
        mask = np.zeros(len(self._definitions.choices), dtype=np.int64)
        mask[[choice for group in groups for choice in self.members[group]]] = 1
        return mask

    def _atoms(self, group: int) -> list[int]:
        """The selectors of a group, and the atoms whose rules read them."""
        choices = self._definitions.choices
        chosen = [s for choice in self.members[group] for s in choices[choice].selectors]
        return list(dict.fromkeys([*chosen, *(a for s in chosen for a in self._above[s])]))

    def _children(self, group: int) -> tuple[int, ...]:
        """The groups met first when following the rules up from the atoms of a group."""
        children: dict[int, None] = {}
        todo = self._atoms(group)
        seen = set(todo)
        while todo and len(seen) < SAMPLING.near_atoms:
            for atom in self._above[todo.pop()]:
                if atom in seen:
                    continue
                seen.add(atom)
                drawn = {self._of[choice] for choice in self._heads.get(atom, ())} - {group}
                children |= dict.fromkeys(sorted(drawn))
                if not drawn:
                    todo.append(atom)
        return tuple(children)

    def _near(self, group: int) -> list[int]:
        """The groups nearest to one, breadth first along rules in both directions."""
        todo = self._atoms(group)
        seen, near = set(todo), dict[int, None]()
        for atom in todo:
            for other in (*self._above[atom], *self._below(atom)):
                if other not in seen and len(seen) < SAMPLING.near_atoms:
                    seen.add(other)
                    todo.append(other)
                    near |= dict.fromkeys(self._of[c] for c in self._heads.get(other, ()))
            if len(near) > SAMPLING.near:
                break
        near.pop(group, None)
        return list(near)[: SAMPLING.near]


# Student's t at 97.5 %, by degrees of freedom from 1 on.
STUDENT = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306),
    *(2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131),
)
NORMAL = 1.96


@dataclass(frozen=True, slots=True)
class Mixture:
    """An estimate with its interval, and how good the chains are.

    The ``value`` is None if no state was for or against the query. The states are worth
    ``effective`` independent ones; ``r_hat`` is near 1 if the chains agree.
    """

    value: float | None
    interval: Ends
    effective: float
    r_hat: float


def mixture(for_: Array, against: Array, energies: Array) -> Mixture:
    """The estimate from how much each state is for and against the query [chains, states].

    The ``energies`` [chains, states] are the logarithms of the probabilities of the states. If all
    states say the same about the query, the energies show whether the chains move.
    """
    whole = for_ + against
    mean = float(whole.mean())
    if not mean > 0:
        return Mixture(None, (0.0, 1.0), 0.0, math.inf)
    value = float(for_.mean()) / mean
    spread = (for_ - value * whole) / mean  # of the ratio, to first order
    moving = spread if float(spread.std()) > 1e-9 else energies
    effective, agreement = effective_states(moving), r_hat(moving)
    if effective < 1:
        return Mixture(value, (0.0, 1.0), effective, agreement)
    chains = len(spread)
    between = STUDENT[chains - 2] * float(spread.mean(axis=1).std(ddof=1)) / math.sqrt(chains)
    width = max(between, NORMAL * float(spread.std()) / math.sqrt(effective))
    missed = 1 - MISSED ** (1 / effective)
    low, high = max(0.0, value - width), min(1.0, value + width)
    return Mixture(value, (low * (1 - missed), high * (1 - missed) + missed), effective, agreement)


def r_hat(series: Array) -> float:
    """R-hat of numbers [chains, states]: how halves of chains differ, relative to their states."""
    length = series.shape[1] // 2
    if length < 2:
        return math.inf
    halves = np.concatenate([series[:, :length], series[:, -length:]])
    within = float(halves.var(axis=1, ddof=1).mean())
    between = float(halves.mean(axis=1).var(ddof=1))
    if not within > 0:
        return 1.0 if not between > 0 else math.inf
    return math.sqrt((length - 1) / length + between / within)


def effective_states(series: Array) -> float:
    """How many independent states would give as good a mean as these [chains, states]."""
    chains, length = series.shape
    if length < 4:
        return 0.0
    # Autocovariances by lag, of all chains at once by a Fourier transform.
    centred = series - series.mean(axis=1, keepdims=True)
    size = int(2 ** math.ceil(math.log2(2 * length)))
    spectrum = np.fft.rfft(centred, size, axis=1)
    lags = np.fft.irfft(np.abs(spectrum) ** 2, size, axis=1)[:, :length] / length
    within = float(lags[:, 0].mean()) * length / (length - 1)
    total = within * (length - 1) / length + float(series.mean(axis=1).var(ddof=1))
    if not total > 0:
        return float(chains)  # none of them ever moved
    correlations = 1 - (within - lags.mean(axis=0)) / total
    pairs = correlations[: length // 2 * 2].reshape(-1, 2).sum(axis=1)
    falling = np.minimum.accumulate(pairs)
    last = int(np.argmax(falling <= 0)) if (falling <= 0).any() else len(falling)
    # The autocorrelation time: how many states are worth one independent state.
    time = max(-1 + 2 * float(falling[:last].sum()), 1 / math.log10(chains * length))
    return float(chains * length / time)


IMPOSSIBLE = -1e30  # the logarithm of 0, which can be subtracted


class Walk:
    """Chains among the worlds of a stream."""

    def __init__(self, stream: Stream, chains: int = WORDS) -> None:
        """Make 2 to ``WORDS`` chains."""
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
        self._columns = self._candidates(SAMPLING.solved_worlds if prepared.situations else 64)
        self._moves = 0
        self._series: list[Array] = []  # by sweep: [numbers, 2, queries, chains]
        self._energies: list[Array] = []  # by sweep: [chains]
        self._starts = np.array(prepared.definitions.leaves.starts)
        self._drawing = {power: self._flattened(power) for power in dict.fromkeys(SAMPLING.flat)}
        self._logs = self._drawing[1.0][1]

    def _candidates(self, each: int) -> Places:
        """The worlds of a block that each chain can move to [chains, worlds]."""
        words = np.arange(WORDS // self.chains * self.chains).reshape(self.chains, -1)
        worlds = words[:, :, np.newaxis] * 64 + np.arange(each)
        keep = np.ones(worlds.shape[1:], dtype=np.bool_)
        keep[1:, 0] = False  # the present state is listed once
        return worlds[:, keep]

    # --- where to start -------------------------------------------------------------------------

    def start(self) -> bool:
        """Find a world with the evidence for each chain; returns whether there is any."""
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
        """A random world that satisfies the evidence; None after a few tries in vain."""
        stream = self.stream
        for attempt in range(SAMPLING.starts):
            number = chain * SAMPLING.starts + attempt
            drawn = self._worlds.draw(stream.weights, stream.seed, number, 1, stream.watch)
            weights = self._weights(drawn, np.arange(BLOCK))[0]
            if weights.sum() > 0:
                place = self._generator.choice(BLOCK, p=weights / weights.sum())
                return self._read(drawn, np.array([place]))[:, 0]
        return None

    def _solved_starts(self, count: int) -> list[NDArray[np.int64]]:
        """At most ``count`` worlds with a model of the evidence, found by clingo at random."""
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
        """The choices for a solver, without values of probability 0."""
        groups = []
        for i, choice in enumerate(self.stream.prepared.definitions.choices):
            weights = self.stream.weights[self._starts[i] : self._starts[i + 1]]
            atoms = [s for s, w in zip(choice.selectors, weights, strict=False) if w > 0]
            exactly = not choice.nothing or not weights[-1] > 0
            groups.append(Group(tuple(atoms), exactly))
        return groups

    def _informative(self, state: NDArray[np.int64]) -> bool:
        """Whether a world counts: a model with the evidence may not be enough."""
        states = np.zeros((WORDS, self._states.shape[1]), dtype=np.int64)
        states[:, self._moved] = state
        still = Chains(states, np.zeros(states.shape[1], dtype=np.int64))
        drawn = self._worlds.move(self.stream.weights, (0, 0), still, self.stream.watch)
        return bool(self._weights(drawn, np.arange(1))[0][0] > 0)

    # --- moves ----------------------------------------------------------------------------------

    def sweep(self) -> None:
        """Move every group of choices at least once. Raises what the watch raises."""
        numbers = [self._move(free) for free in self.groups.sweep(self._generator)]
        self._series.append(np.mean(numbers, axis=0))
        chosen = self._starts[self._moved] + self._states[:, self._moved]
        self._energies.append(self._logs[chosen].sum(axis=1))

    def _move(self, free: NDArray[np.int64]) -> Array:
        """Move the choices where ``free`` is 1; returns the weighted mean of the candidates."""
        stream = self.stream
        stream.watch.check()
        words = np.repeat(self._states, WORDS // self.chains, axis=0)
        rest = np.repeat(self._states[:1], WORDS - len(words), axis=0)
        chains = Chains(np.concatenate([words, rest]), free)
        power = 1.0
        if free.sum() <= SAMPLING.flattened:
            power = float(self._generator.choice(SAMPLING.flat))
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
        """The probabilities [leaves] raised to a power and normalised, and their logarithms."""
        weights: Array = self.stream.weights**power
        totals = np.add.reduceat(weights, self._starts[:-1]) if len(weights) else weights
        weights = weights / np.repeat(totals, np.diff(self._starts))
        if power == 1.0:
            weights = self.stream.weights
        with np.errstate(divide="ignore"):
            return weights, np.maximum(np.log(weights), IMPOSSIBLE)

    def _differences(self, drawn: Drawn, free: NDArray[np.int64], logs: Array) -> Array:
        """The factors that correct the weights of worlds drawn with flattened probabilities.

        A factor is the probability of a world divided by that of drawing it, [chains, worlds], up
        to a constant for each chain. ``logs`` are the logarithms of that ratio for each leaf.
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
        """The weights of worlds, 0 without the evidence, and their ``outcomes``."""
        prepared = self.stream.prepared
        known = self.stream.known(drawn.bits[: self._outputs, columns])
        numbers = np.stack(outcomes(known, prepared.asked.meaning, prepared.queries))
        possible = (numbers.sum(axis=1) > 0).any(axis=(0, 1))
        weights = drawn.weights[columns] if len(drawn.weights) else np.ones(len(columns))
        return weights * possible, numbers

    def _read(self, drawn: Drawn, worlds: Places) -> NDArray[np.int64]:
        """The values of the choices that move [choices, worlds]."""
        values = spread(drawn.bits[self._outputs :, worlds], self._sizes)
        return values.astype(np.int64)

    # --- what they say --------------------------------------------------------------------------

    @property
    def sweeps(self) -> int:
        return len(self._series)

    @property
    def states(self) -> int:
        """How many states there are: one for each sweep and chain."""
        return self.sweeps * self.chains

    def mixtures(self) -> list[Sequence[Mixture]]:
        """For each query, the estimates of the numbers of its answer."""
        first = int(SAMPLING.warm * self.sweeps)
        series = np.stack(self._series[first:], axis=-1)  # [numbers, 2, queries, chains, sweeps]
        energies = np.stack(self._energies[first:], axis=-1)
        return [
            [mixture(number[0, i], number[1, i], energies) for number in series]
            for i in range(series.shape[2])
        ]


def chained(
    stream: Stream, chains: int = WORDS, states: int | None = None, gap: float | None = None
) -> Approximate | None:
    """The answers to the queries of a stream from chains, within the limits of its watch.

    The chains stop after so many ``states`` of all of them; if that is None, as soon as they agree
    and have enough states. With a ``gap``, no end of an interval may then be further than half the
    gap from its number. Returns None if no world with the evidence was found, or there was no time.
    """
    try:
        walk = Walk(stream, chains)
        if not walk.start():
            return None
    except LimitReached:
        return None
    stopped = _walked(walk, states, gap)
    if walk.sweeps < SAMPLING.sweeps:
        return None
    answers = _answers(walk)
    return Approximate(answers, 0.0, tuple(_warnings(walk, answers, stopped)))


def _walked(walk: Walk, states: int | None, gap: float | None) -> LimitReached | None:
    """Move the chains until they have enough states; returns the limit that stopped them."""
    most = states or SAMPLING.states
    watch, look = walk.stream.watch, float(SAMPLING.first_look)
    try:
        while walk.states < most or walk.sweeps < SAMPLING.sweeps:
            walk.sweep()
            watch.report(walk.states, most)
            if walk.sweeps >= look:
                look = walk.sweeps * SAMPLING.look
                answers = _answers(walk)
                watch.stage(f"chains, {width_text(answers)}")
                precise_enough = states is None if gap is None else precise(answers, gap)
                if precise_enough and all(map(reliable, answers)):
                    break
    except LimitReached as limit:
        return limit
    return None


def reliable(answer: Answer) -> bool:
    """Whether the chains behind an answer agree, after enough states."""
    agree = (answer.r_hat or math.inf) <= SAMPLING.agree
    return agree and (answer.effective or 0.0) >= SAMPLING.effective


def precise(answers: Sequence[Answer], gap: float) -> bool:
    """Whether no end of an interval is further than ``gap / 2`` from its number."""
    return all(
        abs(float(end) - float(number)) <= gap / 2
        for answer in answers
        for end, number in zip(
            answer.interval or (), (answer.numbers[0], answer.numbers[-1]), strict=True
        )
    )


def width_text(answers: Sequence[Answer]) -> str:
    """The width of the widest 95 % interval, in words."""
    ends = (answer.interval for answer in answers if answer.interval is not None)
    return f"{max(float(high) - float(low) for low, high in ends):.2g} wide"


def _answers(walk: Walk) -> tuple[Answer, ...]:
    """The answers to all queries from the estimates of their numbers."""
    return tuple(
        replace(
            estimate(
                query.text,
                [mixture.value for mixture in numbers],
                (numbers[0].interval[0], numbers[-1].interval[1]),
            ),
            samples=walk.states,
            chains=walk.chains,
            effective=min(mixture.effective for mixture in numbers),
            r_hat=max(mixture.r_hat for mixture in numbers),
        )
        for query, numbers in zip(walk.stream.prepared.queries, walk.mixtures(), strict=True)
    )


def estimate(query: str, values: Sequence[float | None], interval: tuple[float, float]) -> Answer:
    """An answer with one number (maxent) or two (credal), some of which may be unknown (None)."""
    answer = Answer(query, interval=interval)
    if len(values) == 1:
        (value,) = values
        return replace(answer, value=0.5 if value is None else value)
    lower, upper = values
    said = lower is not None or upper is not None
    # lower = a / (a + d) is 1 where no world counts for a or d, upper = b / (b + c) then is 0.
    lower, upper = (1.0 if lower is None else lower, 0.0 if upper is None else upper)
    return replace(answer, lower=lower if said else 0.0, upper=upper if said else 1.0)


def _warnings(
    walk: Walk, answers: Sequence[Answer], stopped: LimitReached | None
) -> Iterator[Diagnostic]:
    """The warnings that a limit stopped the chains, and that the chains do not agree."""
    if stopped is not None:
        message = (
            f"{stopped.diagnostics[0].message}, after {counted(walk.states, 'state')} of chains"
        )
        yield Diagnostic("stopped-early", message, severity="warning")
    if all(map(reliable, answers)):
        return
    agreement = max(answer.r_hat or math.inf for answer in answers)
    effective = min(answer.effective or 0.0 for answer in answers)
    yield Diagnostic(
        "slow-chains",
        f"the chains are not to be relied on: R-hat is {agreement:.4g} ({SAMPLING.agree} or less "
        f"is good), and their states are worth {effective:.0f} independent ones "
        f"({SAMPLING.effective} or more are good): the interval may miss the answer",
        walk.stream.prepared.queries[0].span,
        "take more samples, or use --engine auto, which answers exactly where it can, or "
        "--engine bounds, which is sure",
        severity="warning",
    )
