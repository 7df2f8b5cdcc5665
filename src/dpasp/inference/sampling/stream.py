"""A sequence of random worlds, with the outcomes of some queries in each of them.

Evidence is *pushed* down to the choices, so that few worlds contradict it: from the evidence, the
rules are followed to what else must hold. Suppose that each rule of such an atom needs one value of
a choice, as in ``h :- value, gate``. Once the gates are known, the values are drawn given the
evidence, and the world is weighted by the probability that the evidence had. Not all evidence can
be pushed; but it is checked in every world anyway.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain, combinations

import numpy as np
from numpy.typing import NDArray

from dpasp.circuits.worlds import BLOCK, Definitions, Draw, Drawn, Push, Worlds
from dpasp.dataclass import dataclass
from dpasp.ground.program import GroundQuery, Rule
from dpasp.inference.asked import Asked
from dpasp.inference.enumerate import Bits
from dpasp.inference.sampling.situations import KNOWN, Conjunctions, Groundwork, Situations
from dpasp.inference.tuning import SAMPLING
from dpasp.limits import Watch
from dpasp.semantics.dependencies import PAIRS, Exclusive
from dpasp.semantics.leaves import Weights
from dpasp.semantics.masses import Array
from dpasp.semantics.meaning import Meaning
from dpasp.semantics.translate import Conjunction


def pushed(definitions: Definitions, evidence: Iterable[int]) -> tuple[Push, ...]:
    """The pushes for the evidence, literals that all hold."""
    known = consequences(definitions, evidence)
    claimed: set[int] = set()
    pushes = []
    # Positive evidence comes first, as it says more about a choice.
    for atom, holds in sorted(known.items(), key=lambda item: not item[1]):
        push = _push(definitions, atom, holds, known)
        if push is None or claimed & {draw.choice for draw in push.draws}:
            continue
        claimed.update(draw.choice for draw in push.draws)
        pushes.append(push)
    return tuple(pushes)


def consequences(definitions: Definitions, evidence: Iterable[int]) -> dict[int, bool]:
    """The atoms whose values follow from the evidence, rule by rule, with these values."""
    known: dict[int, bool] = {}
    todo = list(evidence)
    while todo:
        literal = todo.pop()
        if abs(literal) in known:
            continue  # in case of a contradiction, no world satisfies the evidence
        known[abs(literal)] = literal > 0
        todo.extend(_implied(definitions.rules.get(abs(literal), ()), literal > 0, known))
    return known


def _implied(rules: Sequence[Rule], holds: bool, known: Mapping[int, bool]) -> Iterator[int]:
    """The literals that follow from the value of an atom with these rules.

    If an atom holds and only one rule can still derive it, the body of that rule holds. If it does
    not hold, and all literals of a body but one do, that one fails.
    """
    if holds:
        live = [rule for rule in rules if not _fails(rule, known)]
        if len(live) == 1 and live[0].weights is None:
            yield from live[0].body
        return
    for rule in rules:
        if rule.weights is None:
            rest = [b for b in rule.body if known.get(abs(b)) is not (b > 0)]
            if len(rest) == 1:
                yield -rest[0]


def _fails(rule: Rule, known: Mapping[int, bool]) -> bool:
    return rule.weights is None and any(known.get(abs(b), b > 0) is not (b > 0) for b in rule.body)


def _push(
    definitions: Definitions, atom: int, holds: bool, known: Mapping[int, bool]
) -> Push | None:
    """An atom of the evidence as draws of choices; None if that is not possible."""
    selectors = definitions.selectors
    if atom in selectors:
        return Push(holds, (Draw(*selectors[atom], ()),))
    draws = []
    for rule in definitions.rules.get(atom, ()):
        if _fails(rule, known):
            continue
        chosen = [b for b in rule.body if b in selectors and b not in known]
        if len(chosen) != 1 or rule.weights is not None:
            return None
        gate = tuple(b for b in rule.body if b != chosen[0])
        draws.append(Draw(*selectors[chosen[0]], gate))
    if len({draw.choice for draw in draws}) < max(1, len(draws)):
        return None  # no draws, or two of the same choice
    return Push(holds, tuple(draws))


@dataclass(frozen=True, slots=True)
class SeenWorlds:
    """Some worlds: the facts ``known`` [KNOWN, queries, worlds], and their weights from 0 to 1.

    If all worlds have the same weight, ``weights`` is None.
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
    """A program and queries with the same evidence, ready to draw worlds under any weights.

    The ``outputs`` are the atoms whose truth is computed in each world: whether a constraint is
    violated, whether the evidence holds, and whether each query holds with it (all restricted to
    determined atoms), and the borders of the inner parts.
    """

    def __init__(
        self,
        asked: Asked,
        queries: Sequence[GroundQuery],
        push: bool = True,
        groundwork: Groundwork | None = None,
    ) -> None:
        """With ``push``, the evidence is pushed down to the choices."""
        self.asked, self.queries = asked, tuple(queries)
        self.groundwork = groundwork or Groundwork(asked.ground, asked.meaning, asked.watch)
        self.drawable, self.program = self.groundwork.drawable, self.groundwork.drawable_split
        translation = self.drawable.translation
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
        """Whether every world is wholly for a query, wholly against it, or does not count."""
        agreed = not self.asked.meaning.maxent or not any(
            situation.asked for situation in self.situations
        )
        return agreed and self.weigh_alike

    @cached_property
    def weigh_alike(self) -> bool:
        """Whether all worlds have the same weight: no push depends on a gate."""
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

    def _one_at_a_time(self, gates: Sequence[tuple[int, ...]]) -> bool:
        """Whether no two gates are ever open together; false if there are too many to check."""
        pairs = combinations(map(frozenset, gates), 2)
        few = math.comb(len(gates), 2) <= PAIRS
        return few and all(self._exclusive.apart([one], [other]) for one, other in pairs)

    @cached_property
    def _exclusive(self) -> Exclusive:
        rules = tuple(chain.from_iterable(self.definitions.rules.values()))
        choices = tuple(self.definitions.choices)
        return Exclusive(replace(self.asked.ground, rules=rules, choices=choices))

    def most(self, weights: Weights) -> float:
        """An upper bound on the weights of worlds, from the weights of the drawable's leaves."""
        most, starts = 1.0, self.definitions.leaves.starts
        for push in self.worlds.pushes:
            chances = np.array([weights[starts[draw.choice] + draw.value] for draw in push.draws])
            if not push.holds:
                sure = [not draw.gate for draw in push.draws]  # these must not be drawn
                most *= float(np.prod(1 - chances[sure]))
            elif self._one_at_a_time([draw.gate for draw in push.draws]):
                most *= float(chances.max())  # one gate is open at a time
            else:  # all gates may be open; one of the values has to be drawn
                with np.errstate(divide="ignore"):
                    most *= float(-np.expm1(np.log1p(-chances).sum()))
        return most

    def _determined(self, literals: Conjunction | None) -> Conjunction | None:
        """Those of the literals that are determined; None if they cannot hold."""
        known = self.program.determined
        return None if literals is None else tuple(b for b in literals if known[abs(b)])

    def _atom(self, literals: Conjunction | None) -> int:
        """A new atom that is true where the determined ones among the literals all hold."""
        determined = self._determined(literals)
        return self._defined([] if determined is None else [Rule((), determined)])

    def _defined(self, bodies: Iterable[Rule]) -> int:
        """A new atom that is true where one of the bodies holds."""
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
        """The ``wanted`` worlds from number ``begin`` on; pieces grow while they are quick."""
        at, end, most = begin, begin + wanted, SAMPLING.blocks
        blocks, piece = most // 8, SAMPLING.piece if self.prepared.situations else BLOCK * most
        while at < end:
            first, start = divmod(at, BLOCK)
            blocks = min(blocks, -(-end // BLOCK) - first)
            drawn = self.prepared.worlds.draw(self.weights, self.seed, first, blocks, self.watch)
            count = min(blocks * BLOCK, end - first * BLOCK)
            while start < count:
                began, stop = time.monotonic(), min(start + piece, count)
                yield self.seen(drawn, slice(start, stop))
                start = stop
                if time.monotonic() - began < SAMPLING.quick:
                    piece = min(2 * piece, BLOCK * most)
            at, blocks = first * BLOCK + count, min(2 * blocks, most)

    def block(self, number: int) -> Drawn:
        """One block of worlds; raises what the watch raises."""
        return self.prepared.worlds.draw(self.weights, self.seed, number, 1, self.watch)

    def seen(self, drawn: Drawn, part: slice) -> SeenWorlds:
        """The results of a slice of the worlds that were drawn."""
        weights = None if self.prepared.weigh_alike else drawn.weights[part] / self.most
        return SeenWorlds(self.known(drawn.bits[:, part]), weights)

    def known(self, bits: NDArray[np.bool_]) -> Array:
        """The facts ``KNOWN`` [KNOWN, queries, worlds] from the truth values of the outputs."""
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

    There is one number under maxent, and a lower and an upper one under credal. Each has an array
    [2, queries, worlds].
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

    If choices are free, a world has that model for the values without stable models: for all values
    if there are no ``models``, and for some if these are not ``whole``.
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
