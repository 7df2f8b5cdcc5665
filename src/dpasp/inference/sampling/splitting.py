"""A translated program prepared for drawing worlds.

The atoms that the choices determine are computed for many worlds at once. The rules about the
other atoms fall into *inner parts* that share no such atom; what a part makes of a world depends
only on a few determined atoms, its *border*.

A choice with intervals takes each of its values with the value's lower probability. With the
probability that remains it is *free*: the value is chosen in each world anew, so that the answer
becomes as small, or as large, as possible. No probabilities within the intervals can do more, so
the lower answer may come out too low and the upper one too high, never the other way round.

>>> from dpasp.language import parse
>>> from dpasp.language.ast import Logic
>>> from dpasp.ground import ground
>>> from dpasp.semantics.translate import translate
>>> text = "0.5::x. a :- x, not b. b :- x, not a. c :- x."
>>> program = split_translation(translate(ground(parse(text)), Logic.STABLE))
>>> [len(part.rules) for part in program.parts]      # c is determined, a and b are not
[2]
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from dpasp.dataclass import dataclass
from dpasp.ground.program import Choice, GroundProgram, IntervalWeights, Rule
from dpasp.inference.enumerate import Bits
from dpasp.inference.tuning import SAMPLING
from dpasp.limits import UNLIMITED, Watch
from dpasp.semantics.dependencies import always_total, determined
from dpasp.semantics.leaves import LeafLayout, Weights, layout, leaf_bounds
from dpasp.semantics.meaning import Meaning
from dpasp.semantics.translate import Translation, translate


class Groundwork:
    """What bounds and samples of a program begin with, each made once and when it is needed.

    The ``watch`` is looked at meanwhile.
    """

    def __init__(self, ground: GroundProgram, meaning: Meaning, watch: Watch = UNLIMITED) -> None:
        self.ground, self.meaning, self.watch = ground, meaning, watch

    @cached_property
    def translation(self) -> Translation:
        """The rules whose stable models are the models of the program."""
        return translate(self.ground, self.meaning.logic, self.watch)

    @cached_property
    def split(self) -> SplitProgram:
        """The translation in two: what the choices determine, and the rest."""
        return split_translation(self.translation, self.watch)

    @cached_property
    def drawable(self) -> Drawable:
        """The program whose worlds are drawn, in which no probability is an interval."""
        return drawable(self.translation, self.ground.choices)

    @cached_property
    def drawable_split(self) -> SplitProgram:
        """That program in two."""
        if self.drawable.translation is self.translation:
            return self.split
        return split_translation(self.drawable.translation, self.watch)


@dataclass(frozen=True, slots=True)
class SplitProgram:
    """A translated program in two: rules of determined atoms, and parts of the others."""

    rules: dict[int, list[Rule]]  # of the determined atoms
    constraints: tuple[Rule, ...]  # over determined atoms
    parts: tuple[InnerPart, ...]
    determined: Bits  # by atom


@dataclass(frozen=True, slots=True)
class InnerPart:
    """Rules that share atoms which are not determined, directly or not."""

    rules: tuple[Rule, ...]
    atoms: frozenset[int]  # those that are not determined
    border: tuple[int, ...]  # the determined atoms in its rules
    certain: bool  # it has a model whatever the border is


def split_translation(translation: Translation, watch: Watch = UNLIMITED) -> SplitProgram:
    """The rules of the determined atoms of a program, and the parts that the others fall into.

    Raises what the ``watch`` raises.
    """
    known = determined(translation.rules, translation.size)
    rules: dict[int, list[Rule]] = {}
    constraints, inner = [], []
    for number, rule in enumerate(translation.rules):
        if number % SAMPLING.rules == 0:
            watch.check()
        if any(not known[atom] for atom in _atoms(rule)):
            inner.append(rule)
        elif rule.head and not rule.choice:
            rules.setdefault(rule.head[0], []).append(rule)
        elif not rule.choice:
            constraints.append(rule)
    return SplitProgram(rules, tuple(constraints), tuple(_parts(inner, known)), known)


def _atoms(rule: Rule) -> Iterable[int]:
    """The atoms of the head and the body."""
    return (*rule.head, *map(abs, rule.body))


def _parts(rules: Sequence[Rule], known: Bits) -> list[InnerPart]:
    """The rules in parts that share no atom which is not known (by union and find)."""
    if not rules:
        return []
    root = list(range(len(known)))

    def find(atom: int) -> int:
        while root[atom] != atom:
            root[atom] = root[root[atom]]
            atom = root[atom]
        return atom

    inside = [[a for a in _atoms(rule) if not known[a]] for rule in rules]
    for atoms in inside:
        for atom in atoms[1:]:
            root[find(atom)] = find(atoms[0])
    total = always_total(rules, known)
    gathered: dict[int, list[Rule]] = {}
    for rule, atoms in zip(rules, inside, strict=True):
        gathered.setdefault(find(atoms[0]), []).append(rule)
    return [_part(members, known, total) for members in gathered.values()]


def _part(rules: Sequence[Rule], known: Bits, total: Bits) -> InnerPart:
    """The part that these rules are, with its border."""
    atoms = frozenset(a for rule in rules for a in _atoms(rule) if not known[a])
    border = sorted({a for rule in rules for a in _atoms(rule) if known[a]})
    # Without constraints and without negation inside, the least or any chosen set is a model.
    positive = all(rule.head and all(known[-b] for b in rule.body if b < 0) for rule in rules)
    return InnerPart(tuple(rules), atoms, tuple(border), positive or all(total[a] for a in atoms))


@dataclass(frozen=True, slots=True)
class Free:
    """A choice with intervals: where ``atom`` holds, it is free, and may take any value.

    The values are its ``selectors`` whose probability may exceed the lower one, and *nothing*
    where its probability may; ``values`` counts them all.
    """

    atom: int
    selectors: tuple[int, ...]
    values: int


@dataclass(frozen=True, slots=True)
class Drawable:
    """A program without intervals whose worlds can be drawn."""

    translation: Translation
    choices: tuple[Choice, ...]
    shares: tuple[Weights | None, ...]  # by choice: how it is drawn, if not by its own weights
    free: tuple[Free, ...]
    before: LeafLayout  # the leaves of the program's own choices

    def weights(self, weights: Weights) -> Weights:
        """The weights of the leaves of the choices that are drawn, from the program's own."""
        parts = [
            weights[self.before.of(i)] if shares is None else shares
            for i, shares in enumerate(self.shares)
        ]
        return np.concatenate(parts) if parts else np.empty(0)


def drawable(translation: Translation, choices: Sequence[Choice]) -> Drawable:
    """The program with what its intervals leave open as free choices of its models.

    A choice with intervals becomes one over fresh atoms: one for each value, drawn with its
    lower probability, and one that says that the choice is free.
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
    """Where the atom holds, one of the selectors does, or none where nothing is possible."""
    rules = [Rule((selector,), (atom,), choice=True) for selector in selectors]
    if not nothing:
        rules.append(Rule((), (atom, *(-selector for selector in selectors))))
    if len(selectors) > 1:
        ones = (1,) * len(selectors)
        together = Rule((), tuple(selectors), weights=ones, bound=2)
        rules.append(together)
    return rules
