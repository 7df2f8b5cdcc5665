"""Models drawn at random: a total choice by its probability, then one of its models uniformly.

Given evidence, total choices are drawn by descending from the root of a circuit, and none is
rejected: at a sum, one edge is taken with a probability proportional to its value. Choices that are
not met on the way are drawn from their own probabilities.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import count, islice

import numpy as np
from numpy.typing import NDArray

from dpasp import circuits
from dpasp.circuits.layers import Layer, sweep
from dpasp.circuits.worlds import BLOCK, Worlds
from dpasp.dataclass import dataclass
from dpasp.errors import (
    Diagnostic,
    ImpossibleEvidence,
    InferenceError,
    ProgramError,
    SizeLimit,
    Span,
    UsageError,
)
from dpasp.ground.program import (
    FixedWeights,
    GroundLiteral,
    GroundQuery,
    IntervalWeights,
)
from dpasp.ground.solve import Solver
from dpasp.inference.answers import Assignment, Value
from dpasp.inference.asked import Asked
from dpasp.inference.circuit import on_circuit
from dpasp.inference.enumerate import Bits, least_undefined, live_groups
from dpasp.inference.sampling.situations import Places
from dpasp.inference.sampling.stream import Prepared
from dpasp.inference.tuning import BOUNDS, SAMPLING
from dpasp.language.arguments import text_given
from dpasp.language.ast import Mode, Probability
from dpasp.limits import Watch
from dpasp.semantics.leaves import (
    TotalChoice,
    Weights,
    draw,
    extreme,
    leaf_bounds,
    middle,
    selector_literals,
)
from dpasp.semantics.masses import impossible_evidence, no_models
from dpasp.semantics.meaning import Meaning
from dpasp.semantics.translate import Weighed, translate

ASKED = GroundQuery((), (), "", Span("", 0, 0, 0, 0))  # a query for the evidence, to be added


@dataclass(frozen=True)
class Descent:
    """A circuit with the value of every node: the mass below it that satisfies the evidence."""

    circuit: circuits.Circuit
    asked: Asked
    logs: Weights  # [nodes], the logarithms of the values
    wide: Weights  # [leaves + 1], those of the weights; the last, 0, is for edges without a weight

    def draw(self, generator: np.random.Generator, n: int) -> list[TotalChoice]:
        """``n`` total choices given the evidence."""
        starts = self.asked.layout.starts
        values = np.array(draw(generator, self.asked.weights, starts, n), dtype=np.intp)
        walk = _Walk(self, generator, values.reshape(n, len(starts) - 1))
        return list(map(tuple, walk.run().tolist()))


class _Walk:
    """Takes all samples down the circuit, layer by layer.

    ``values`` [samples, choices] are drawn from the choices' own probabilities at first; those of
    choices that are met on the way down are overwritten.
    """

    def __init__(self, descent: Descent, generator: np.random.Generator, values: Places) -> None:
        self.logs, self.wide, self.watch = descent.logs, descent.wide, descent.asked.watch
        self.generator, self.values = generator, values
        self.layers = descent.circuit.below(0)
        self.starts = np.array(descent.asked.layout.starts)
        self.level = np.full(len(self.layers), -1, dtype=np.intp)  # by node: its layer; -1: a leaf
        self.place = np.zeros(len(self.layers), dtype=np.intp)  # by node: its place in the layer
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
        """Let the samples wait at these nodes until their layer's turn; skip leaves."""
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
        """An edge of each of the ``sums``, drawn in proportion to its value.

        The edges of all sums of a layer lie end to end. A single running total over them finds the
        edge at a random height within each sum.
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
        while np.any(lost := shares[edges] == 0):  # due to rounding at the end of a sum
            edges[lost] -= 1
        return edges


def descent(asked: Asked) -> Descent | None:
    """The circuit of the evidence, to draw from; None if there is none, or it would be large.

    Raises :class:`ImpossibleEvidence` if the evidence has probability 0, and
    :class:`InconsistentProgram` if no model has a weight.
    """
    evidence = asked.ground.evidence
    weighed = asked.ground if isinstance(asked.ground, Weighed) else None
    meaning = asked.meaning if weighed else Meaning(asked.meaning.logic, Probability.MAXENT)
    if meaning.holds_without_models(evidence):
        return None  # total choices without stable models are not in the circuit
    alone = replace(asked.ground, questions=(replace(ASKED, evidence=evidence),))
    watch = asked.watch.silenced()
    try:
        if weighed:  # even a large circuit is better than worlds that are hardly ever accepted
            circuit = on_circuit(alone, meaning, watch=watch).circuit
        else:
            circuit = circuits.compile(alone, meaning, options=BOUNDS.whole, watch=watch)
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
        raise ImpossibleEvidence(impossible_evidence(evidence)) if evidence else no_models()
    return Descent(circuit, asked, logs, wide)


def spread(selected: NDArray[np.bool_], sizes: Sequence[int]) -> NDArray[np.intp]:
    """The value of each choice [choices, worlds] from the truth values of its selectors.

    At most one of them is true; if none is, the value is the one after them, *nothing*.
    ``selected`` is [selectors of all choices, worlds]; ``sizes`` are their numbers.

    >>> spread(np.array([[True, False], [False, False], [False, True]]), [1, 2]).tolist()
    [[0, 1], [2, 1]]
    """
    counts = np.array(sizes, dtype=np.intp)
    values = np.repeat(counts[:, np.newaxis], selected.shape[1], axis=1)  # nothing, at first
    some, starts = counts > 0, np.cumsum(counts) - counts
    # The distance from nothing back to the selector, as a negative number.
    steps = np.arange(len(selected)) - np.repeat(starts + counts, counts)
    if some.any():
        chosen = np.where(selected, steps[:, np.newaxis], 0)
        values[some] += np.add.reduceat(chosen, starts[some], axis=0)
    return values


# Which probability within an interval is used to draw models.
WITHIN: Mapping[str, Callable[[Weights, Weights], Weights]] = {
    "lower": partial(extreme, most=False),
    "middle": middle,
    "upper": partial(extreme, most=True),
}


@dataclass(frozen=True, slots=True)
class Models:
    """The models of a total choice that satisfy the evidence, and the number of all its models."""

    kept: tuple[Assignment, ...]
    total: int


def sample_models(asked: Asked, n: int, *, seed: int | None = None) -> list[Assignment]:
    """``n`` independent models given the program's evidence, each as the values of its atoms.

    Total choices are drawn from a circuit of the evidence. If that is too large, worlds are drawn
    as by the engine ``sample``; those that violate the evidence are rejected, and so, at random,
    are those of less weight. The models come in runs of the same length with a seed each, so that
    the number of workers does not matter. Raises :class:`ImpossibleEvidence` for evidence of
    probability 0, and :class:`InferenceError` if too many draws in a row are rejected.
    """
    asked = asked.one_row()
    if contradictory(asked.ground.evidence):
        raise ImpossibleEvidence(impossible_evidence(asked.ground.evidence))
    if seed is None:
        seed = secrets.randbits(63)
    size = SAMPLING.run
    runs = [(k, min(size, n - k * size)) for k in range(-(-n // size))]
    if asked.pool.cuts:
        # Errors are raised here, because workers do not have the text to show the place.
        translate(asked.ground, asked.meaning.logic, asked.watch)
    with closing(asked.pool.map(DrawingJob(asked, seed), runs, asked.watch)) as drawn:
        return [model for models in drawn for model in models]


def without_intervals(asked: Asked, within: str | None) -> Asked:
    """The same with one probability in place of each interval: ``lower``, ``middle`` or ``upper``.

    Raises :class:`ProgramError` if there are intervals and ``within`` is None.
    """
    if within is not None and text_given(within, "intervals") not in WITHIN:
        raise UsageError(f"intervals is one of {', '.join(WITHIN)}, not {within!r}")
    ground = asked.ground
    if within is None:
        places = [c.statement for c in ground.choices if isinstance(c.weight, IntervalWeights)]
        problems = [
            Diagnostic(
                "approximate-credal",
                "models are drawn by their probabilities, and this one is an interval",
                ground.program.statements[place].span,
                'say which is meant: sample(…, intervals="middle"), or dpasp sample --intervals '
                "middle (lower, middle or upper)",
            )
            for place in dict.fromkeys(places)
        ]
        if problems:
            raise ProgramError(problems)
        return asked
    choices, weights = list(ground.choices), asked.weights.copy()
    for i, choice in enumerate(choices):
        if isinstance(choice.weight, IntervalWeights):
            bounds = leaf_bounds(choice.weight.lower, choice.weight.upper, choice.nothing)
            own = WITHIN[within](*bounds)
            weights[asked.layout.of(i)] = own
            fixed = FixedWeights(tuple(own[: len(choice.selectors)].tolist()))
            choices[i] = replace(choice, weight=fixed)
    return replace(asked, ground=replace(ground, choices=tuple(choices)), weights=weights)


@dataclass(frozen=True)
class DrawingJob:
    """The job of drawing models."""

    asked: Asked
    seed: int

    def start(self, watch: Watch) -> Callable[[tuple[int, int], Watch], list[Assignment]]:
        """The function that draws a run of models, given its number and its length."""
        asked = replace(self.asked, watch=watch)
        source, descending = ModelSource(asked), descent(asked)
        rejecting = _Rejecting(asked) if descending is None else None

        def draw(run: tuple[int, int], watch: Watch) -> list[Assignment]:
            source.watch = watch
            number, size = run
            seeds = np.random.SeedSequence(self.seed, spawn_key=(number,) if number else ())
            generator = np.random.default_rng(seeds)
            drawn: Iterator[Models]
            if rejecting is not None:
                drawn = rejecting.accepted(source, generator)
            else:
                assert descending is not None
                timed = replace(descending, asked=replace(asked, watch=watch))
                drawn = map(source.of, timed.draw(generator, size))
            return [
                models.kept[generator.integers(len(models.kept))] for models in islice(drawn, size)
            ]

        return draw


class _Rejecting:
    """Draws worlds as the engine ``sample`` does, and accepts those that satisfy the evidence."""

    def __init__(self, asked: Asked) -> None:
        choices, self.weights = asked.ground.choices, np.ascontiguousarray(asked.weights)
        prepared = Prepared(asked, [replace(ASKED, evidence=asked.ground.evidence)])
        selectors = [selector for choice in choices for selector in choice.selectors]
        self.ground = asked.ground
        self.sizes = [len(choice.selectors) for choice in choices]
        pushes = prepared.worlds.pushes
        self.worlds = Worlds(prepared.definitions, prepared.size, selectors, pushes)
        self.most = prepared.most(self.weights)

    def accepted(self, source: ModelSource, generator: np.random.Generator) -> Iterator[Models]:
        """The models of accepted total choices; raises an error after too many rejections."""
        rejected, seed = 0, int(generator.integers(2**63))
        for number in count():
            drawn = self.worlds.draw(self.weights, seed, number, 1, source.watch)
            chances = drawn.weights / self.most if len(drawn.weights) else np.ones(BLOCK)
            values = spread(drawn.bits, self.sizes).T.tolist()
            for choice, chance in zip(map(tuple, values), chances.tolist(), strict=True):
                models = source.of(choice)
                if generator.random() * models.total < len(models.kept) * chance:
                    rejected = 0
                    yield models
                    continue
                rejected += 1
                if rejected > SAMPLING.tries:
                    said = ", ".join(map(str, self.ground.evidence))
                    what = f"satisfies the evidence {said}" if said else "has a model"
                    message = f"none of {rejected} sampled models {what}"
                    help = "ask for something more probable; a query answers exactly"
                    raise InferenceError(Diagnostic("unsampled", message, help=help))


def contradictory(literals: Sequence[GroundLiteral]) -> bool:
    """Whether the literals contradict each other, like ``a, not a``."""
    modes = {literal.symbol: literal.mode for literal in literals}
    return any(
        literal.mode is not modes[literal.symbol]
        or (not literal.atom and literal.mode is Mode.TRUE)
        for literal in literals
    )


class Solutions:
    """The models of total choices: which of some atoms are true, and which are possible."""

    def __init__(self, asked: Asked, atoms: Sequence[int], refusing: bool = True) -> None:
        """With ``refusing``, a program that the semantics does not support is an error."""
        self.ground, self.meaning, self.watch = asked.ground, asked.meaning, asked.watch
        logic = asked.meaning.logic
        self.translation = translate(self.ground, logic, asked.watch, refusing=refusing)
        self.atoms = atoms
        groups = live_groups(self.ground)
        self._possible = {atom for group in groups for atom in group.atoms}
        twins = [self.translation.twins[atom] for atom in atoms]
        self._solver = Solver(self.translation.rules, groups, [*atoms, *twins])

    def blocks(
        self, choice: TotalChoice, whole: bool = False, also: Sequence[int] = ()
    ) -> Generator[tuple[Bits, Bits]]:
        """The models [models, atoms] in blocks as they are found, or all at once if ``whole``.

        Under lstable, they are known only at the end. Models in which one of the literals ``also``
        does not hold are left out.
        """
        assumed = [*selector_literals(self.ground, choice, self._possible), *also]
        if not (whole or self.translation.least):
            with closing(self._solver.blocks(assumed, self.watch)) as found:
                for bits in found:
                    true, possible = np.hsplit(bits, 2)
                    yield true, possible
            return
        bits = self._solver.models(assumed, self.watch)
        true, possible = np.hsplit(bits, 2)
        if self.translation.least and len(bits):
            own = set(self.translation.own_atoms)
            columns = [place for place, atom in enumerate(self.atoms) if atom in own]
            least = least_undefined(bits[:, :0], (~true & possible)[:, columns])
            true, possible = true[least], possible[least]
        yield true, possible


class ModelSource(Solutions):
    """The models of total choices, with the names of atoms; each total choice is solved once."""

    def __init__(self, asked: Asked) -> None:
        ground = asked.ground
        self.starts = asked.layout.starts
        named = sorted((symbol, atom) for atom, symbol in enumerate(ground.symbols) if symbol)
        super().__init__(asked, [atom for _, atom in named])
        self.names = [str(symbol) for symbol, _ in named]
        if isinstance(ground, Weighed) and ground.by_table:
            self.meaning = Meaning(asked.meaning.logic)  # a total choice may be the undefined model
            inner = [c for i, c in enumerate(ground.choices) if i not in ground.factor_choices]
            self._possible |= {choice.selectors[0] for choice in inner[ground.outer :]}
        self._known: dict[TotalChoice, Models] = {}

    def of(self, choice: TotalChoice) -> Models:
        self.watch.check()
        if choice not in self._known:
            (models,) = self.blocks(choice, whole=True)
            self._known[choice] = self._models(*models)
        return self._known[choice]

    def each(self, choice: TotalChoice) -> Iterator[Assignment]:
        """The models of a total choice as they are found."""
        return (model for part in self.parts(choice) for model in part.kept)

    def parts(self, choice: TotalChoice) -> Generator[Models]:
        """The models of a total choice in blocks, as they are found."""
        if self.translation.least or self.meaning.has_undefined_model:  # known only at the end
            yield self.of(choice)
            return
        with closing(self.blocks(choice)) as blocks:
            for true, possible in blocks:
                yield self._models(true, possible)

    def _models(self, true: Bits, possible: Bits) -> Models:
        evidence = self.ground.evidence
        if not len(true):
            everything: tuple[Assignment, ...] = (dict.fromkeys(self.names, "undef"),)
            kept = self.meaning.holds_without_models(evidence)
            total = int(self.meaning.has_undefined_model)
            return Models(everything if kept else (), total)
        good = satisfy(self.atoms, true, possible, evidence)
        kept_models = tuple(
            {name: _value(t, p) for name, t, p in zip(self.names, *row, strict=True)}
            for row in zip(true[good].tolist(), possible[good].tolist(), strict=True)
        )
        return Models(kept_models, len(true))


def satisfy(
    atoms: Sequence[int],
    true: Bits,
    possible: Bits,
    literals: Sequence[GroundLiteral],
) -> Bits:
    """Which models [models] satisfy all the literals.

    ``true`` and ``possible`` [models, atoms] say whether each of the ``atoms`` is true, and whether
    it is true or undefined.
    """
    good = np.ones(len(true), dtype=np.bool_)
    places = {atom: place for place, atom in enumerate(atoms)}
    for literal in literals:
        if not literal.atom:
            good &= literal.mode is Mode.FALSE
            continue
        place = places[literal.atom]
        match literal.mode:
            case Mode.TRUE:
                good &= true[:, place]
            case Mode.FALSE:
                good &= ~possible[:, place]
            case Mode.UNDEFINED:
                good &= possible[:, place] & ~true[:, place]
    return good


def holds(model: Assignment, literals: Sequence[GroundLiteral]) -> bool:
    """Whether a model satisfies literals; an atom without a value is false."""
    wanted: dict[Mode, Value] = {Mode.TRUE: True, Mode.FALSE: False, Mode.UNDEFINED: "undef"}
    return all(model.get(str(lit.symbol), False) == wanted[lit.mode] for lit in literals)


def _value(true: bool, possible: bool) -> Value:
    """The value of an atom from whether it is true, and whether it is true or undefined."""
    return True if true else ("undef" if possible else False)
