"""Intervals of probabilities, for drawing worlds: what they leave open is a free choice.

A choice with intervals takes each of its values with the lower probability of the value. With
what is missing to 1 it is *free*: the value is then chosen so that the answer is as small, or as
large, as it can be, in each world anew. No probabilities within the intervals can do more, so the
lower answer may come out too low and the upper one too high, but never the other way round.

>>> from dpasp.inference.asked import ask
>>> from dpasp.language import parse
>>> from dpasp.logic import ground
>>> from dpasp.semantics.meaning import Meaning
>>> asked = ask(ground(parse("[0.2, 0.7]::a.")), Meaning())
>>> from dpasp.semantics.translate import translate
>>> drawn = drawable(translate(asked.ground, asked.meaning.logic), asked.ground.choices)
>>> drawn.shares[0].round(3).tolist()      # true, false, and free to choose
[0.2, 0.3, 0.5]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dpasp.dataclass import dataclass
from dpasp.logic.program import Choice, IntervalWeights, Rule
from dpasp.semantics.leaves import LeafLayout, Weights, layout, leaf_bounds
from dpasp.semantics.translate import Translation


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
    whole = replace(translation, rules=tuple(rules), size=size)
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
