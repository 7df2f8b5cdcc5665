"""Sampled models: a total choice by its probability, then one of its models evenly.

>>> from dpasp.inference.asked import ask
>>> from dpasp.language import parse
>>> from dpasp.logic import ground
>>> from dpasp.semantics.meaning import Meaning
>>> asked = ask(ground(parse("0.5::a. b :- not a. #evidence b.")), Meaning())
>>> sample_models(asked, 2, seed=1)
[{'a': False, 'b': True}, {'a': False, 'b': True}]
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from dpasp.circuits.worlds import BLOCK, Worlds
from dpasp.dataclass import dataclass
from dpasp.errors import (
    Diagnostic,
    ImpossibleEvidence,
    InferenceError,
    ProgramError,
    UsageError,
)
from dpasp.inference.answers import Assignment, Value
from dpasp.inference.asked import Asked
from dpasp.inference.engines.reference.enumerate import least_undefined, live_groups
from dpasp.inference.engines.reference.rows import Bits
from dpasp.inference.sampling.by_circuit import ASKED, descent, spread
from dpasp.inference.sampling.stream import Prepared
from dpasp.inference.travel import light
from dpasp.language.ast import Mode
from dpasp.limits import Watch
from dpasp.logic.program import FixedWeights, GroundLiteral, GroundProgram, IntervalWeights
from dpasp.logic.solve import Solver
from dpasp.semantics.leaves import Weights, extreme, leaf_bounds, middle
from dpasp.semantics.masses import impossible_evidence
from dpasp.semantics.total_choices import TotalChoice, selector_literals
from dpasp.semantics.translate import translate

TRIES = 1_000_000  # so many draws in a row may be rejected
TOGETHER = 1000  # models of one run


# Which probabilities within intervals models are drawn with.
WITHIN: Mapping[str, Callable[[Weights, Weights], Weights]] = {
    "lower": partial(extreme, most=False),
    "middle": middle,
    "upper": partial(extreme, most=True),
}


@dataclass(frozen=True, slots=True)
class Models:
    """The models of a total choice that satisfy the evidence, and their share of all its models."""

    kept: tuple[Assignment, ...]
    share: float


def sample_models(asked: Asked, n: int, *, seed: int | None = None) -> list[Assignment]:
    """``n`` independent models given the program's evidence, each as the values of its atoms.

    Total choices are drawn from a circuit of the evidence. Where that would be too large,
    worlds are drawn with the evidence pushed into the choices, and those that do not satisfy
    it, or by chance those of less weight, are rejected. Raises :class:`ImpossibleEvidence`
    for evidence of probability 0, and :class:`InferenceError` if too many draws in a row are
    rejected.

    They are drawn in runs of the same length, each with a seed of its own, so that the same
    models are drawn whatever the number of workers.
    """
    asked = asked.one_row()
    if contradictory(asked.ground.evidence):
        raise ImpossibleEvidence(impossible_evidence(asked.ground.evidence))
    if seed is None:
        seed = secrets.randbits(63)
    runs = [DrawingRun(k, min(TOGETHER, n - k * TOGETHER)) for k in range(-(-n // TOGETHER))]
    if asked.pool.cuts:
        # Refused here and not by a worker, which has no text to name the place in.
        translate(asked.ground, asked.meaning.logic, asked.watch)
    with closing(asked.pool.map(DrawingJob(asked, seed), runs, asked.watch)) as drawn:
        return [model for models in drawn for model in models]


def without_intervals(asked: Asked, within: str | None) -> Asked:
    """The same with one probability in place of each interval: ``lower``, ``middle`` or ``upper``.

    Raises :class:`ProgramError` if there are intervals and nothing is said about them.
    """
    if within is not None and within not in WITHIN:
        raise UsageError(f"intervals is one of {', '.join(WITHIN)}, not {within!r}")
    if within is None:
        check_intervals(asked.ground)
        return asked
    choices, weights = list(asked.ground.choices), asked.weights.copy()
    for i, choice in enumerate(choices):
        if isinstance(choice.weight, IntervalWeights):
            bounds = leaf_bounds(choice.weight.lower, choice.weight.upper, choice.nothing)
            own = WITHIN[within](*bounds)
            weights[asked.layout.of(i)] = own
            fixed = FixedWeights(tuple(own[: len(choice.selectors)].tolist()))
            choices[i] = replace(choice, weight=fixed)
    return replace(asked, ground=replace(asked.ground, choices=tuple(choices)), weights=weights)


def check_intervals(ground: GroundProgram) -> None:
    """Raise :class:`ProgramError` for probabilities that are intervals."""
    places = {c.statement: None for c in ground.choices if isinstance(c.weight, IntervalWeights)}
    problems = [
        Diagnostic(
            "approximate-credal",
            "models are drawn by their probabilities, and this one is an interval",
            ground.program.statements[place].span,
            'say which is meant: sample(…, intervals="middle"), or dpasp sample --intervals '
            "middle (lower, middle or upper)",
        )
        for place in places
    ]
    if problems:
        raise ProgramError(problems)


@dataclass(frozen=True, slots=True)
class DrawingRun:
    """One run of ``count`` models; its ``number`` and the seed decide which models they are."""

    number: int
    count: int


@dataclass(frozen=True)
class DrawingJob:
    """The job of drawing models."""

    asked: Asked
    seed: int

    def __reduce__(self) -> tuple[Any, ...]:
        return DrawingJob, (light(self.asked), self.seed)

    def start(self, watch: Watch) -> Callable[[DrawingRun, Watch], list[Assignment]]:
        """The function that draws the models of a run."""
        asked = replace(self.asked, watch=watch)
        source, descending = ModelSource(asked), descent(asked)
        rejecting = _Rejecting(asked) if descending is None else None

        def draw(run: DrawingRun, watch: Watch) -> list[Assignment]:
            source.watch = watch
            seeds = np.random.SeedSequence(self.seed, spawn_key=(run.number,) if run.number else ())
            generator = np.random.default_rng(seeds)
            if descending is not None:
                choices = replace(descending, asked=replace(asked, watch=watch)).draw(
                    generator, run.count
                )
                drawn = _models_of(choices, source)
            else:
                assert rejecting is not None
                drawn = rejecting.accepted(source, generator)
            return [
                models.kept[generator.integers(len(models.kept))]
                for models in islice(drawn, run.count)
            ]

        return draw


def _models_of(choices: Sequence[TotalChoice], source: ModelSource) -> Iterator[Models]:
    """The models of total choices that were drawn given the evidence."""
    for choice in choices:
        source.watch.check()  # also where all total choices are known
        yield source.of(choice)


class _Rejecting:
    """Draws worlds with the evidence pushed into them, and accepts those that satisfy it."""

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
        """The models of total choices given the evidence, without end.

        Raises :class:`InferenceError` if too many in a row are rejected.
        """
        rejected = 0
        for choice, chance in self._drawn(generator, source.watch):
            source.watch.check()  # also where all total choices are known
            models = source.of(choice)
            if generator.random() < models.share * chance:
                rejected = 0
                yield models
            else:
                rejected += 1
                if rejected > TRIES:
                    raise InferenceError(_unseen(self.ground, rejected))

    def _drawn(
        self, generator: np.random.Generator, watch: Watch
    ) -> Iterator[tuple[TotalChoice, float]]:
        """Total choices, and the probability with which each is to be accepted."""
        seed, first = int(generator.integers(2**63)), 0
        while True:
            drawn = self.worlds.draw(self.weights, seed, first, 1, watch)
            first += 1
            chances = drawn.weights / self.most if len(drawn.weights) else np.ones(BLOCK)
            values = spread(drawn.bits, self.sizes).T.tolist()
            yield from zip(map(tuple, values), chances.tolist(), strict=True)


def contradictory(literals: Sequence[GroundLiteral]) -> bool:
    """Whether no model of any program satisfies the literals, as ``a, not a``."""
    modes = {literal.symbol: literal.mode for literal in literals}
    return any(
        literal.mode is not modes[literal.symbol]
        or (not literal.atom and literal.mode is Mode.TRUE)
        for literal in literals
    )


class ModelSource:
    """The models of total choices, each solved once."""

    def __init__(self, asked: Asked) -> None:
        ground = asked.ground
        self.ground = ground
        self.meaning = asked.meaning
        self.watch = asked.watch
        self.starts = asked.layout.starts
        self.translation = translate(ground, asked.meaning.logic, asked.watch)
        named = sorted((symbol, atom) for atom, symbol in enumerate(ground.symbols) if symbol)
        self.atoms = [atom for _, atom in named]
        self.names = [str(symbol) for symbol, _ in named]
        groups = live_groups(ground)
        self._possible = {atom for group in groups for atom in group.atoms}
        twins = [self.translation.twins[atom] for atom in self.atoms]
        self._solver = Solver(self.translation.rules, groups, self.atoms + twins)
        self._known: dict[TotalChoice, Models] = {}

    def of(self, choice: TotalChoice) -> Models:
        """The models of a total choice."""
        if choice not in self._known:
            self.watch.check()
            assumed = selector_literals(self.ground, choice, self._possible)
            bits = self._solver.models(assumed, self.watch)
            self._known[choice] = self._models(bits)
        return self._known[choice]

    def each(self, choice: TotalChoice) -> Iterator[Assignment]:
        """The models of a total choice as they are found."""
        if self.translation.least or self.meaning.has_undefined_model:  # known only at the end
            yield from self.of(choice).kept
            return
        assumed = selector_literals(self.ground, choice, self._possible)
        for bits in self._solver.blocks(assumed, self.watch):
            yield from self._models(bits).kept

    def _models(self, bits: Bits) -> Models:
        """The models among rows of bits, which read all atoms and then all their twins."""
        evidence = self.ground.evidence
        if not len(bits):
            everything: tuple[Assignment, ...] = (dict.fromkeys(self.names, "undef"),)
            kept = self.meaning.holds_without_models(evidence)
            return Models(everything, 1.0) if kept else Models((), 0.0)
        true, possible = np.hsplit(bits, 2)
        if self.translation.least:
            least = least_undefined(bits[:, :0], ~true & possible)
            true, possible = true[least], possible[least]
        good = satisfy(self.atoms, true, possible, evidence)
        kept_models = tuple(
            {name: _value(t, p) for name, t, p in zip(self.names, *row, strict=True)}
            for row in zip(true[good].tolist(), possible[good].tolist(), strict=True)
        )
        return Models(kept_models, len(kept_models) / len(true))


def satisfy(
    atoms: Sequence[int],
    true: Bits,
    possible: Bits,
    literals: Sequence[GroundLiteral],
) -> Bits:
    """Which models [models] satisfy all the literals.

    ``true`` and ``possible`` [models, atoms] say of each of the ``atoms`` whether it is true,
    and whether it is true or undefined.
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


def _value(true: bool, possible: bool) -> Value:
    """The value of an atom from whether it is true, and whether it is true or undefined."""
    return True if true else ("undef" if possible else False)


def _unseen(ground: GroundProgram, tried: int) -> Diagnostic:
    said = ", ".join(map(str, ground.evidence))
    what = f"satisfies the evidence {said}" if said else "has a model"
    return Diagnostic(
        "unsampled",
        f"none of {tried} sampled models {what}",
        help="ask for something more probable; a query answers exactly",
    )
