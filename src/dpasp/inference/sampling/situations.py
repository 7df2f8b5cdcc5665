"""A program prepared for drawing worlds, and the models of its inner parts.

The determined atoms are computed for many worlds at once. The rules about the other atoms fall into
*inner parts* that share no such atom. The models of a part depend only on a few determined atoms,
its *border*. Worlds that agree on the border are in the same *situation*, which is solved once. If
there may be many situations, one circuit counts the models of all of them; choices are made of
everything that distinguishes models, as under ``weighted``. Counts multiply over parts, and so do
all the numbers in ``KNOWN``.

A choice with intervals takes each of its values with the value's lower probability. With the
remaining probability it is *free*: in each world it takes the value that makes the answer as small,
or as large, as possible. No probabilities within the intervals can do more than that. So the lower
answer may be too low and the upper one too high, but never the other way round.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from clingo import Function
from numpy.typing import NDArray

from dpasp import circuits
from dpasp.dataclass import dataclass
from dpasp.errors import LimitReached, SizeLimit
from dpasp.ground.program import (
    Choice,
    FixedWeights,
    GroundLiteral,
    GroundProgram,
    GroundQuery,
    IntervalWeights,
    Rule,
)
from dpasp.ground.solve import Group, Solver
from dpasp.inference.enumerate import Bits, least_undefined
from dpasp.inference.tuning import BOUNDS, SAMPLING
from dpasp.language.ast import Mode, Probability, Program
from dpasp.limits import UNLIMITED, Watch
from dpasp.semantics.dependencies import always_total, determined, linked
from dpasp.semantics.leaves import LeafLayout, Weights, layout, leaf_bounds
from dpasp.semantics.leaves import weights as leaf_weights
from dpasp.semantics.masses import FIELDS, Array
from dpasp.semantics.meaning import Meaning
from dpasp.semantics.translate import Conjunction, Translation, translate
from dpasp.semantics.weighted import weighed


class Groundwork:
    """The translations of a program that bounds and samples need, each made at most once."""

    def __init__(self, ground: GroundProgram, meaning: Meaning, watch: Watch = UNLIMITED) -> None:
        self.ground, self.meaning, self.watch = ground, meaning, watch

    @cached_property
    def translation(self) -> Translation:
        """The rules whose stable models are the models of the program."""
        return translate(self.ground, self.meaning.logic, self.watch)

    @cached_property
    def split(self) -> SplitProgram:
        """The translation, divided into the determined part and the rest."""
        return split_translation(self.translation, self.watch)

    @cached_property
    def drawable(self) -> Drawable:
        """The program whose worlds are drawn; it has no intervals."""
        return drawable(self.translation, self.ground.choices)

    @cached_property
    def drawable_split(self) -> SplitProgram:
        if self.drawable.translation is self.translation:
            return self.split
        return split_translation(self.drawable.translation, self.watch)


@dataclass(frozen=True, slots=True)
class SplitProgram:
    """A translated program, divided into the rules of determined atoms and inner parts."""

    rules: dict[int, list[Rule]]  # of the determined atoms
    constraints: tuple[Rule, ...]  # over determined atoms
    parts: tuple[InnerPart, ...]
    determined: Bits  # by atom


@dataclass(frozen=True, slots=True)
class InnerPart:
    """Rules that are connected, perhaps indirectly, by atoms that are not determined."""

    rules: tuple[Rule, ...]
    atoms: frozenset[int]  # the ones that are not determined
    border: tuple[int, ...]  # the determined atoms in its rules
    certain: bool  # whether it has a model for all values of the border


def split_translation(translation: Translation, watch: Watch = UNLIMITED) -> SplitProgram:
    """Divide a program into the rules of its determined atoms and inner parts."""
    known = determined(translation.rules, translation.size)
    rules: dict[int, list[Rule]] = {}
    constraints, inner = [], []
    for rule in translation.rules:
        watch.check()
        if any(not known[atom] for atom in _atoms(rule)):
            inner.append(rule)
        elif rule.head and not rule.choice:
            rules.setdefault(rule.head[0], []).append(rule)
        elif not rule.choice:
            constraints.append(rule)
    return SplitProgram(rules, tuple(constraints), tuple(_parts(inner, known)), known)


def _atoms(rule: Rule) -> Iterable[int]:
    return (*rule.head, *map(abs, rule.body))


def _parts(rules: Sequence[Rule], known: Bits) -> list[InnerPart]:
    """Divide rules into parts that share only ``known`` atoms."""
    if not rules:
        return []
    inside = [[a for a in _atoms(rule) if not known[a]] for rule in rules]
    part, _ = linked(inside, len(known))
    total = always_total(rules, known)
    gathered: dict[int, list[Rule]] = {}
    for rule, atoms in zip(rules, inside, strict=True):
        gathered.setdefault(part[atoms[0]], []).append(rule)
    return [_part(members, known, total) for members in gathered.values()]


def _part(rules: Sequence[Rule], known: Bits, total: Bits) -> InnerPart:
    atoms = frozenset(a for rule in rules for a in _atoms(rule) if not known[a])
    border = sorted({a for rule in rules for a in _atoms(rule) if known[a]})
    # Without constraints and inner negation, the least model exists, whatever is chosen.
    positive = all(rule.head and all(known[-b] for b in rule.body if b < 0) for rule in rules)
    return InnerPart(tuple(rules), atoms, tuple(border), positive or all(total[a] for a in atoms))


@dataclass(frozen=True, slots=True)
class Free:
    """A choice with intervals, which is free where ``atom`` holds.

    It may then take any of the ``selectors`` whose probability can exceed the lower one, or
    *nothing* if its probability can. ``values`` is the number of all these values.
    """

    atom: int
    selectors: tuple[int, ...]
    values: int


@dataclass(frozen=True, slots=True)
class Drawable:
    """A program whose worlds can be drawn: it has no intervals."""

    translation: Translation
    choices: tuple[Choice, ...]
    shares: tuple[Weights | None, ...]  # by choice: its probabilities, if not its own weights
    free: tuple[Free, ...]
    before: LeafLayout  # the leaves of the program's own choices

    def weights(self, weights: Weights) -> Weights:
        """The leaf weights of the choices that are drawn, from those of the program's own."""
        parts = [
            weights[self.before.of(i)] if shares is None else shares
            for i, shares in enumerate(self.shares)
        ]
        return np.concatenate(parts) if parts else np.empty(0)


def drawable(translation: Translation, choices: Sequence[Choice]) -> Drawable:
    """The program without intervals: its models decide what the intervals leave open.

    A choice with intervals becomes a choice between new atoms: one for each value, with its lower
    probability, and one that says that the choice is free.
    """
    rules, size = list(translation.rules), translation.size
    drawn: list[Choice] = []
    shares: list[Weights | None] = []
    free: list[Free] = []
    for choice in choices:
        if not isinstance(choice.weight, IntervalWeights):
            drawn.append(choice)
            shares.append(None)
            continue
        low, high = leaf_bounds(choice.weight.lower, choice.weight.upper, choice.nothing)
        atoms = tuple(range(size, size + len(low) + 1))
        size += len(atoms)
        *values, open_ = atoms
        rules += [Rule((s,), (a,)) for s, a in zip(choice.selectors, values, strict=False)]
        able = [s for s, room in zip(choice.selectors, high - low, strict=False) if room > 0]
        nothing = choice.nothing and bool(high[-1] > low[-1])
        rules += _any_of(able, open_, nothing)
        free.append(Free(open_, tuple(able), len(able) + nothing))
        drawn.append(replace(choice, selectors=atoms, nothing=False))
        shares.append(np.append(low, max(0.0, 1.0 - float(low.sum()))))
    whole = replace(translation, rules=tuple(rules), size=size) if free else translation
    return Drawable(whole, tuple(drawn), tuple(shares), tuple(free), layout(choices))


def _any_of(selectors: Sequence[int], atom: int, nothing: bool) -> list[Rule]:
    """Rules for: if the atom holds, so does one selector, or possibly none (``nothing``)."""
    rules = [Rule((selector,), (atom,), choice=True) for selector in selectors]
    if not nothing:
        rules.append(Rule((), (atom, *(-selector for selector in selectors))))
    if len(selectors) > 1:  # no two of them
        rules.append(Rule((), tuple(selectors), weights=(1,) * len(selectors), bound=2))
    return rules


# --- situations -----------------------------------------------------------------------------------


class ModelCounts(NamedTuple):
    """Numbers of models of situations [queries, situations], up to a common factor."""

    both: Array  # that satisfy query and evidence
    only_evidence: Array  # the evidence and not the query
    evidence: Array  # [situations], or for each query: all that satisfy the evidence,
    others: Array  # and those that do not


Counting = Callable[[Bits, Watch], ModelCounts]  # of situations [border, situations]


def counting_circuit(
    rules: Sequence[Rule],
    size: int,
    border: Sequence[int],
    queries: Sequence[tuple[Conjunction, Conjunction]],
    watch: Watch = UNLIMITED,
) -> Counting | None:
    """A function that counts the models of many situations at once, with a single circuit.

    The ``queries`` have the same evidence. A situation says which atoms of the ``border`` hold; its
    models are distinguished by choices with equal weights. None if the circuit would be large.
    """
    either = FixedWeights((0.5,))
    choices = tuple(Choice(0, (), (atom,), (atom,), either, nothing=True) for atom in border)
    asked = [GroundQuery(_literals(queries[0][1]), (), "", None)]  # the evidence alone
    asked += [GroundQuery(_literals(q), _literals(evidence), "", None) for q, evidence in queries]
    plain = GroundProgram(
        Program(()), (None,) * size, tuple(rules), choices, questions=tuple(asked)
    )
    ground = weighed(plain, Meaning(), watch)
    if len(ground.choices) > len(border) + BOUNDS.unmeasurable:
        return None
    try:
        circuit = circuits.compile(ground, Meaning(), options=SAMPLING.all_situations, watch=watch)
    except (circuits.HeadCycle, SizeLimit):
        return None
    even, first = leaf_weights(ground), 2 * len(border)

    def counted(border: Bits, watch: Watch) -> ModelCounts:
        weights = np.repeat(even[:, np.newaxis], border.shape[1], axis=1)
        weights[:first:2], weights[1:first:2] = border, ~border
        masses = circuit.masses(weights, fields=("a", "d"), watch=watch)
        a, d = masses[:, FIELDS.index("a")], masses[:, FIELDS.index("d")]
        return ModelCounts(a[1:], d[1:], a[0], d[0])

    return counted


def _literals(conjunction: Conjunction) -> tuple[GroundLiteral, ...]:
    modes = [(Mode.TRUE if literal > 0 else Mode.FALSE, abs(literal)) for literal in conjunction]
    return tuple(GroundLiteral(mode, atom, Function(f"a{atom}")) for mode, atom in modes)


Places = NDArray[np.intp]

# The facts about the models of a situation: numbers from 0 to 1 that multiply over parts. "Both"
# means query and evidence.
KNOWN = (
    "models",  # whether there are any
    "whole",  # whether there are some for every value of the free choices
    "all_both",  # whether all satisfy both
    "some_both",  # whether some satisfy both
    "some_evidence",  # whether some satisfy the evidence
    "only_both",  # whether some satisfy the evidence, and all of those the query too
    "all_evidence",  # whether all satisfy the evidence
    "both",  # the share of those that satisfy both
    "evidence",  # the share of those that satisfy the evidence
)


@dataclass(frozen=True, slots=True)
class Conjunctions:
    """Query and evidence, and the evidence alone, as literals of the translated program.

    None stands for a conjunction that cannot hold.
    """

    both: Conjunction | None
    evidence: Conjunction | None


class Situations:
    """An inner part, with the facts about the models of every situation that occurred."""

    def __init__(
        self,
        part: InnerPart,
        queries: Sequence[Conjunctions],
        program: Drawable,
        counted: bool,
    ) -> None:
        """``counted`` says whether the number of models matters, as it does under maxent."""
        self.part = part
        translation = program.translation
        self._free = [free for free in program.free if part.atoms & set(free.selectors)]
        literals = [
            tuple(literal for literal in conjunction or () if abs(literal) in part.atoms)
            for query in queries
            for conjunction in (query.both, query.evidence)
        ]
        self.asked = any(literals)
        self._literals = literals
        chosen = [selector for free in self._free for selector in free.selectors]
        self._chosen = len(chosen)
        asked = {abs(literal) for wanted in literals for literal in wanted}
        read = [*chosen, *sorted(asked - set(chosen))]
        self._places = {atom: place for place, atom in enumerate(read)}
        self._minimised: list[int] = []
        if translation.least:
            self._minimised = [a for a in translation.own_atoms if a in part.atoms]
        twins = [translation.twins[atom] for atom in self._minimised]
        self._solver = Solver(
            part.rules,
            [Group((atom,), False) for atom in part.border],
            [*read, *self._minimised, *twins],
            project=not counted and not self._minimised,
        )
        self._size = translation.size
        self._listing = not counted or bool(self._minimised) or bool(self._chosen)
        self._many = False  # whether there were too many models to list
        self._known: dict[bytes, Array] = {}
        many = len(part.border) > SAMPLING.border
        self._worth_a_circuit = many and not self._minimised and not self._chosen
        self._circuit: Counting | None = None
        self._counted_together = 0  # situations that the circuit has counted

    def __len__(self) -> int:
        return len(self._known) + self._counted_together

    def of(self, border: Bits, watch: Watch) -> Array:
        """The facts ``KNOWN`` for each query in each world [known, queries, worlds]."""
        watch.check()
        firsts, place = _distinct(border)
        if (counted := self._one_circuit(watch)) is not None:
            self._counted_together += len(firsts)
            return known_counts(counted(border[:, firsts], watch))[..., place]
        known = []
        for column in border.T[firsts]:
            key = column.tobytes()
            if key not in self._known:
                watch.check()
                self._known[key] = self._solved(column, watch)
            known.append(self._known[key])
        return np.stack(known, axis=-1)[..., place]

    def _one_circuit(self, watch: Watch) -> Counting | None:
        """The circuit of all situations, if there may be many and the circuit is not large."""
        if self._circuit is None and self._worth_a_circuit:
            pairs = list(zip(self._literals[::2], self._literals[1::2], strict=True))
            left = watch.remaining()
            part = (
                watch if left is None else watch.within(SAMPLING.circuit_share * left, watch.report)
            )
            self._worth_a_circuit = False  # it is tried only once
            try:
                self._circuit = counting_circuit(
                    self.part.rules, self._size, self.part.border, pairs, part
                )
            except LimitReached:
                watch.check()
        return self._circuit

    def _solved(self, border: Bits, watch: Watch) -> Array:
        """The facts ``KNOWN`` [known, queries] about a situation, from its models."""
        chosen = [a if b else -a for a, b in zip(self.part.border, border.tolist(), strict=True)]
        rows = self._listed(chosen, watch)
        if rows is None:
            facts = [atom for atom in chosen if atom > 0]
            if (known := self._counted(facts, watch)) is not None:
                return known
            self._listing, rows = True, self._solver.models(chosen, watch)
        rows = rows[np.lexsort(rows[:, : self._chosen].T)] if self._chosen else rows
        free = rows[:, : self._chosen]
        if self._minimised and len(rows):
            count = len(self._minimised)
            true, possible = rows[:, -2 * count : -count], rows[:, -count:]
            rows = rows[least_undefined(free, ~true & possible)]
        counts = np.array([self._count(rows, literals) for literals in self._literals])
        both, evidence = counts[::2], counts[1::2]
        whole = len(rows) > 0
        if self._chosen:  # each combination of the values of free choices must have a model
            held = set(chosen)
            open_ = [choice.values for choice in self._free if choice.atom in held]
            whole = len(np.unique(free, axis=0)) == math.prod(open_)
        found = ModelCounts(both, evidence - both, evidence, len(rows) - evidence)
        return known_counts(found, whole)

    def _listed(self, chosen: Sequence[int], watch: Watch) -> Bits | None:
        """The models as rows; None if there are so many that a circuit should count them."""
        if self._listing:
            return self._solver.models(chosen, watch)
        rows: list[Bits] = []
        if not self._many:
            with closing(self._solver.blocks(chosen, watch)) as blocks:
                for block in blocks:
                    rows.append(block)
                    if sum(map(len, rows)) > SAMPLING.listed:
                        self._many = True
                        break
        if self._many:
            return None
        return np.concatenate([*rows, np.empty((0, len(self._solver.read)), dtype=np.bool_)])

    def _counted(self, facts: Sequence[int], watch: Watch) -> Array | None:
        """The facts ``KNOWN`` [known, queries] from a circuit that counts models.

        Only those that maxent needs are correct. None if no circuit can be made.
        """
        rules = (*self.part.rules, *(Rule((atom,), ()) for atom in facts))
        wanted = [(), *self._literals]
        queries = tuple(GroundQuery(_literals(each), (), "", None) for each in wanted)
        ground = GroundProgram(Program(()), (None,) * self._size, rules, (), questions=queries)
        meaning, options = Meaning(probability=Probability.MAXENT), BOUNDS.part
        try:
            circuit = circuits.compile(ground, meaning, options=options, watch=watch)
        except (circuits.HeadCycle, SizeLimit):
            return None
        masses = circuit.masses(np.empty(0), fields=("qe",), watch=watch)
        found: Array = masses[:, FIELDS.index("qe")]  # shares of the models; 0 without any
        both, evidence = found[1::2], found[2::2]
        return known_counts(ModelCounts(both, evidence - both, evidence, found[0] - evidence))

    def _count(self, rows: Bits, literals: Sequence[int]) -> int:
        good = np.ones(len(rows), dtype=np.bool_)
        for literal in literals:
            good &= rows[:, self._places[abs(literal)]] == (literal > 0)
        return int(np.count_nonzero(good))


def _distinct(columns: Bits) -> tuple[Places, Places]:
    """Where the distinct columns first occur, and which of them equals each column."""
    if not len(columns):
        return np.zeros(1, dtype=np.intp), np.zeros(columns.shape[1], dtype=np.intp)
    packed = np.ascontiguousarray(np.packbits(columns, axis=0).T)
    whole = packed.view(np.dtype((np.void, packed.shape[1])))[:, 0]
    _, firsts, place = np.unique(whole, return_index=True, return_inverse=True)
    return firsts, place.reshape(-1)


def known_counts(counts: ModelCounts, whole: bool = True) -> Array:
    """The facts ``KNOWN`` [known, queries, situations] from counts of models.

    All models satisfy something if the count of the others is 0, which is exact. ``whole``: whether
    there is a model for every value of the free choices.
    """
    models = counts.evidence + counts.others
    some, only = counts.both > 0, (counts.both > 0) & (counts.only_evidence == 0)
    every = (counts.evidence > 0) & (counts.others == 0) & whole
    with np.errstate(invalid="ignore"):
        both = np.where(models > 0, counts.both / models, 0.0)
        evidence = np.where(models > 0, counts.evidence / models, 0.0)
    alike = (models > 0, (models > 0) & whole, every & only, some, counts.evidence > 0, only, every)
    known: Array = np.empty((len(KNOWN), *counts.both.shape))
    for i, values in enumerate((*alike, both, evidence)):
        known[i] = values
    return known
