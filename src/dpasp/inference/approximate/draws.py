"""Sampled models: a total choice by its probability, then one of its models evenly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dpasp.errors import Diagnostic, ImpossibleEvidence, InferenceError
from dpasp.inference.answers import Assignment, Value
from dpasp.inference.approximate.outcomes import TotalChoice, chosen
from dpasp.inference.approximate.sample import BLOCK, draw
from dpasp.inference.reference.enumerate import least_undefined, live_groups
from dpasp.inference.reference.rows import Bits
from dpasp.language.ast import Logic, Mode
from dpasp.limits import UNLIMITED, Watch
from dpasp.logic.program import GroundLiteral, GroundProgram
from dpasp.logic.solve import Solver
from dpasp.semantics.leaves import Weights, layout
from dpasp.semantics.masses import all_undefined, impossible_evidence
from dpasp.semantics.translate import translate

TRIES = 1_000_000  # draws in a row that may be rejected


@dataclass(frozen=True, slots=True)
class Models:
    """The models of a total choice that satisfy the evidence, and their share of all its models."""

    kept: tuple[Assignment, ...]
    share: float


def sample_models(
    ground: GroundProgram,
    logic: Logic,
    weights: Weights,
    n: int,
    *,
    seed: int | None = None,
    watch: Watch = UNLIMITED,
) -> list[Assignment]:
    """``n`` independent models given the program's evidence, each as the values of its atoms.

    Draws without a model, and those that do not satisfy the evidence, are rejected.
    """
    if contradictory(ground.evidence):
        raise ImpossibleEvidence(impossible_evidence(ground.evidence))
    generator = np.random.default_rng(seed)
    source = Source(ground, logic, watch)
    found: list[Assignment] = []
    rejected = 0
    while len(found) < n:
        for choice in draw(generator, weights, source.starts, BLOCK):
            models = source.of(choice)
            if len(found) < n and generator.random() < models.share:
                found.append(models.kept[generator.integers(len(models.kept))])
                rejected = 0
            else:
                rejected += 1
        if rejected > TRIES:
            raise InferenceError(_unseen(ground, rejected))
    return found


def contradictory(literals: Sequence[GroundLiteral]) -> bool:
    """Whether no model of any program satisfies the literals, as ``a, not a``."""
    modes = {literal.symbol: literal.mode for literal in literals}
    return any(
        literal.mode is not modes[literal.symbol]
        or (not literal.atom and literal.mode is Mode.TRUE)
        for literal in literals
    )


class Source:
    """The models of total choices, each solved once."""

    def __init__(self, ground: GroundProgram, logic: Logic, watch: Watch) -> None:
        self.ground = ground
        self.watch = watch
        self.starts = layout(ground.choices).starts
        self.translation = translate(ground, logic, watch)
        named = sorted((symbol, atom) for atom, symbol in enumerate(ground.symbols) if symbol)
        self.atoms = [atom for _, atom in named]
        self.names = [str(symbol) for symbol, _ in named]
        groups = live_groups(ground)
        self._live = {atom for group in groups for atom in group.atoms}
        twins = [self.translation.twins[atom] for atom in self.atoms]
        self._solver = Solver(self.translation.rules, groups, self.atoms + twins)
        self._known: dict[TotalChoice, Models] = {}

    def of(self, choice: TotalChoice) -> Models:
        """The models of a total choice."""
        if choice not in self._known:
            self.watch.check()
            bits = self._solver.models(chosen(self.ground, choice, self._live), self.watch)
            self._known[choice] = self._models(bits)
        return self._known[choice]

    def each(self, choice: TotalChoice) -> Iterator[Assignment]:
        """The models of a total choice as they are found."""
        if self.translation.logic in (Logic.LSTABLE, Logic.SMPROBLOG):  # known only at the end
            yield from self.of(choice).kept
            return
        literals = chosen(self.ground, choice, self._live)
        for bits in self._solver.blocks(literals, self.watch):
            yield from self._models(bits).kept

    def _models(self, bits: Bits) -> Models:
        logic, evidence = self.translation.logic, self.ground.evidence
        if not len(bits):
            everything: tuple[Assignment, ...] = (dict.fromkeys(self.names, "undef"),)
            kept = logic is Logic.SMPROBLOG and all_undefined(evidence)
            return Models(everything, 1.0) if kept else Models((), 0.0)
        true, possible = np.hsplit(bits, 2)
        if logic is Logic.LSTABLE:
            least = least_undefined(bits[:, :0], ~true & possible)
            true, possible = true[least], possible[least]
        good = _satisfy(self.atoms, true, possible, evidence)
        kept_models = tuple(
            {name: _value(t, p) for name, t, p in zip(self.names, *row, strict=True)}
            for row in zip(true[good].tolist(), possible[good].tolist(), strict=True)
        )
        return Models(kept_models, len(kept_models) / len(true))


def _satisfy(
    atoms: Sequence[int],
    true: Bits,
    possible: Bits,
    literals: Sequence[GroundLiteral],
) -> Bits:
    """Which models satisfy the literals."""
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
    return True if true else ("undef" if possible else False)


def _unseen(ground: GroundProgram, tried: int) -> Diagnostic:
    said = ", ".join(map(str, ground.evidence))
    what = f"satisfies the evidence {said}" if said else "has a model"
    return Diagnostic(
        "unsampled",
        f"none of {tried} sampled models {what}",
        help="ask for something more probable; a query answers exactly",
    )
