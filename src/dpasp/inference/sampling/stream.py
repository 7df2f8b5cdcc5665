"""Worlds one after the other, with what each of them says about some queries.

>>> from dpasp.inference.asked import ask
>>> from dpasp.language import parse
>>> from dpasp.logic import ground
>>> from dpasp.semantics.meaning import Meaning
>>> asked = ask(ground(parse("0.3::a. b :- not a. #query b.")), Meaning())
>>> stream = Stream(Prepared(asked, asked.queries), asked.weights, seed=1, watch=asked.watch)
>>> sum(seen.count for seen in stream.worlds(1000))
1000
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpasp.circuits.worlds import BLOCK, Definitions, Drawn, Worlds
from dpasp.dataclass import dataclass
from dpasp.inference.asked import Asked
from dpasp.inference.engines.reference.rows import Bits
from dpasp.inference.sampling.free import drawable
from dpasp.inference.sampling.pushing import Exclusive, most_weight, pushed
from dpasp.inference.sampling.situations import KNOWN, Conjunctions, Situations
from dpasp.inference.sampling.splitting import split_translation
from dpasp.limits import Watch
from dpasp.logic.program import GroundQuery, Rule
from dpasp.semantics.leaves import Weights
from dpasp.semantics.masses import Array
from dpasp.semantics.meaning import Meaning
from dpasp.semantics.translate import Conjunction, translate

BLOCKS = 128  # that are drawn at once, at most
PIECE = 8  # worlds whose inner parts are solved together, at first
QUICK = 0.05  # seconds for which a piece may take before it stops growing


@dataclass(frozen=True, slots=True)
class SeenWorlds:
    """What some worlds say: ``known`` [KNOWN, queries, worlds], and their weights from 0 to 1.

    Where all worlds weigh the same, ``weights`` is None.
    """

    known: Array
    weights: Weights | None

    @property
    def count(self) -> int:
        """How many worlds these are."""
        return int(self.known.shape[-1])

    @property
    def lost(self) -> Bits:
        """Which worlds have no model [worlds]."""
        lost: Bits = self.known[0, 0] == 0
        return lost


class Prepared:
    """A program with queries of the same evidence, whose worlds can be drawn under any weights.

    Of each world, the truth of the ``outputs`` is computed: whether a constraint is violated,
    whether the evidence holds, whether each query does with it (each as far as the atoms are
    determined), and the borders of the inner parts.
    """

    def __init__(self, asked: Asked, queries: Sequence[GroundQuery], push: bool = True) -> None:
        self.asked, self.queries = asked, tuple(queries)
        translated = translate(asked.ground, asked.meaning.logic, asked.watch)
        self.drawable = drawable(translated, asked.ground.choices)
        translation = self.drawable.translation
        self.program = split_translation(translation, asked.watch)
        asked.watch.check()
        self.conjunctions = wanted = [
            Conjunctions(
                translation.conjunction((*query.evidence, *query.literals)),
                translation.conjunction(query.evidence),
            )
            for query in queries
        ]
        self._rules = dict(self.program.rules)
        self.definitions = Definitions(self._rules, self.drawable.choices)
        self.size = translation.size
        self.evidence_atom = self._atom(wanted[0].evidence)
        self.both = [self._atom(query.both) for query in wanted]
        self.violated = self._defined(self.program.constraints)
        counted = asked.meaning.maxent
        parts = self.program.parts
        situations = [Situations(part, wanted, self.drawable, counted) for part in parts]
        self.situations = [s for s in situations if s.asked or not s.part.certain]
        self.evidence = self._determined(wanted[0].evidence) or ()
        pushes = pushed(self.definitions, self.evidence) if push else ()
        self.border = sorted({atom for s in self.situations for atom in s.part.border})
        self.outputs = [self.violated, self.evidence_atom, *self.both, *self.border]
        asked.watch.check()
        self.worlds = Worlds(self.definitions, self.size, self.outputs, pushes, asked.watch)

    @property
    def binary(self) -> bool:
        """Whether every world is wholly for a query, wholly against it, or says nothing."""
        agreed = not self.asked.meaning.maxent or not any(
            situation.asked for situation in self.situations
        )
        return agreed and self.weigh_alike

    @cached_property
    def weigh_alike(self) -> bool:
        """Whether all worlds have the same weight: how evidence is pushed depends on no gate."""
        return all(
            not draw.gate and (len(push.draws) == 1 or not push.holds)
            for push in self.worlds.pushes
            for draw in push.draws
        )

    @property
    def can_be_inconsistent(self) -> bool:
        """Whether there may be total choices without a model."""
        return bool(self.program.constraints) or any(
            not situation.part.certain for situation in self.situations
        )

    @cached_property
    def _exclusive(self) -> Exclusive:
        return Exclusive(self.definitions)

    def most(self, weights: Weights) -> float:
        """A bound that the weight of no world exceeds, under weights of the drawable's leaves."""
        return most_weight(self.definitions, self.worlds.pushes, weights, self._exclusive)

    def _determined(self, literals: Conjunction | None) -> Conjunction | None:
        """The determined atoms among literals; None of what cannot hold."""
        known = self.program.determined
        return None if literals is None else tuple(b for b in literals if known[abs(b)])

    def _atom(self, literals: Conjunction | None) -> int:
        """A fresh atom that is true where the determined ones among the literals all hold."""
        determined = self._determined(literals)
        return self._defined([] if determined is None else [Rule((), determined)])

    def _defined(self, bodies: Iterable[Rule]) -> int:
        """A fresh atom that is true where one of the bodies holds."""
        atom, self.size = self.size, self.size + 1
        self._rules[atom] = [rule._replace(head=(atom,)) for rule in bodies]
        return atom


class Stream:
    """The worlds of a seed under weights [leaves], always in the same order."""

    def __init__(self, prepared: Prepared, weights: Weights, seed: int, watch: Watch) -> None:
        self.prepared = prepared
        self.weights = prepared.drawable.weights(weights)
        self.seed = seed
        self.watch = watch
        self.most = prepared.most(self.weights)

    def worlds(self, wanted: int, begin: int = 0) -> Iterator[SeenWorlds]:
        """The ``wanted`` worlds from number ``begin`` on, in pieces.

        Pieces grow while they are quick, so that the watch is looked at often enough. Raises
        what the watch raises.
        """
        at, end = begin, begin + wanted
        blocks, piece = BLOCKS // 8, PIECE if self.prepared.situations else BLOCK * BLOCKS
        while at < end:
            first, start = divmod(at, BLOCK)
            blocks = min(blocks, -(-end // BLOCK) - first)
            drawn = self.prepared.worlds.draw(self.weights, self.seed, first, blocks, self.watch)
            count = min(blocks * BLOCK, end - first * BLOCK)
            while start < count:
                began, stop = time.monotonic(), min(start + piece, count)
                yield self.seen(drawn, slice(start, stop))
                start = stop
                if time.monotonic() - began < QUICK:
                    piece = min(2 * piece, BLOCK * BLOCKS)
            at, blocks = first * BLOCK + count, min(2 * blocks, BLOCKS)

    def block(self, number: int) -> Drawn:
        """One block of worlds; raises what the watch raises."""
        return self.prepared.worlds.draw(self.weights, self.seed, number, 1, self.watch)

    def seen(self, drawn: Drawn, part: slice) -> SeenWorlds:
        """What those of the worlds that were drawn say which the slice is about."""
        weights = None if self.prepared.weigh_alike else drawn.weights[part] / self.most
        return SeenWorlds(self.known(drawn.bits[:, part]), weights)

    def known(self, bits: NDArray[np.bool_]) -> Array:
        """What is ``KNOWN`` of worlds [KNOWN, queries, worlds], from the truth of the outputs."""
        prepared = self.prepared
        queries = len(prepared.both)
        known = np.empty((len(KNOWN), queries, bits.shape[1]))
        consistent = ~bits[0]
        evidence = (bits[1] & consistent).astype(np.float64)
        both = (bits[2 : 2 + queries] & consistent).astype(np.float64)
        alike = {"models": consistent, "whole": consistent}
        alike |= dict.fromkeys(("some_evidence", "all_evidence", "evidence"), evidence)
        for i, name in enumerate(KNOWN):
            known[i] = alike.get(name, both)
        border = {atom: place for place, atom in enumerate(prepared.border, 2 + queries)}
        for situation in prepared.situations:
            border_bits = bits[[border[atom] for atom in situation.part.border]]
            known *= situation.of(border_bits, self.watch)
        return known


def outcomes(known: Array, meaning: Meaning, queries: Sequence[GroundQuery]) -> list[Array]:
    """For each number of an answer, how much of each world is for and against it.

    Under maxent there is one number, under credal the lower and the upper one; each is an
    array [2, queries, worlds].
    """
    named = dict(zip(KNOWN, known, strict=True))
    both, some_both = named["both"], named["some_both"]
    numbers = [np.stack([both, named["evidence"] - both])]
    if not meaning.maxent:
        lower = np.stack([named["all_both"], named["some_evidence"] * (1 - named["only_both"])])
        numbers = [lower, np.stack([some_both, named["all_evidence"] * (1 - some_both)])]
    if meaning.has_undefined_model:
        _add_undefined(numbers, named, meaning, queries)
    return numbers


def _add_undefined(
    numbers: list[Array],
    named: Mapping[str, Array],
    meaning: Meaning,
    queries: Sequence[GroundQuery],
) -> None:
    """Add the model with every atom undefined, which worlds without stable models have.

    Where choices are free, a world has it for the values without stable models: for all values
    where it has no ``models``, for some where these are not ``whole``.
    """
    none, some = named["models"] == 0, named["whole"] == 0
    for i, query in enumerate(queries):
        if not meaning.holds_without_models(query.evidence):
            continue
        side = 0 if meaning.holds_without_models(query.literals) else 1
        for place, samples in enumerate(numbers):
            # For the query, the lower number counts worlds all of whose models satisfy it, and
            # against it those of which some do not; the upper number the other way round.
            whole = len(numbers) == 1 or side == place
            samples[side, i] = np.maximum(samples[side, i], (none if whole else some)[i])
