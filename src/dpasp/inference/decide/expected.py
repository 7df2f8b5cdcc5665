"""Expected values from masses: which questions to ask, and how to combine their masses.

Under maxent, the expected value is linear: E[U | e] = Σ u · P(b | e), with a question for each
body.

Under credal, the lowest expected value takes the model with the least utility in every total
choice. It is a sum over the values v₀ < v₁ < … of U, the *levels*:
E = v₀ + Σ (vₖ - vₖ₋₁) · P(every model has U ≥ vₖ), with a question for each level. Utilities of
determined bodies are added separately. If the evidence is not determined, the result is the number
λ for which the lowest expected value of (U - λ) where the evidence holds is 0. That value is a
piecewise linear function of λ.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from clingo import Function
from numpy.typing import NDArray

from dpasp import circuits
from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, ProgramError, SizeLimit
from dpasp.ground.program import (
    Definition,
    GroundLiteral,
    GroundProgram,
    GroundQuery,
    GroundUtility,
)
from dpasp.inference.asked import Asked
from dpasp.inference.circuit import Evaluator, on_circuit
from dpasp.inference.intervals import corners, vertex_weights
from dpasp.inference.tuning import DECIDING, EXACT
from dpasp.language.ast import Mode
from dpasp.limits import UNLIMITED, Watch
from dpasp.semantics import masses
from dpasp.semantics.dependencies import determined
from dpasp.semantics.leaves import Weights
from dpasp.semantics.masses import Array, Masses
from dpasp.semantics.meaning import Meaning

DIGITS = 12  # sums of utilities that agree to so many digits are one level
_NAME = Function("_dpasp_level")


class ExpectedValue(NamedTuple):
    """The bounds of an expected value [columns], which are equal under maxent.

    Where the evidence is impossible, ``possible`` is 0 and the bounds are NaN.
    """

    lower: Array
    upper: Array
    possible: Array
    consistent: Array
    inconsistent: Array


@dataclass(frozen=True, slots=True)
class Values:
    """The questions for an expected value, and how to compute it from their masses.

    The first question is whether the evidence holds. Then come those of the terms that are added
    separately, with their ``numbers``, and those of all ``levels`` but the first.
    """

    ground: GroundProgram
    meaning: Meaning
    numbers: Array
    levels: Array
    together: bool  # whether levels and terms can be added up, as the evidence is determined
    undefined: float  # the utility of the model in which every atom is undefined

    def of(self, found: Masses) -> ExpectedValue:
        """The expected value from the masses [questions, columns]."""
        possible = masses.evidence_mass(found, self.meaning)[0]
        with np.errstate(invalid="ignore", divide="ignore"):
            if self.meaning.maxent:
                shares = np.nan_to_num(masses.maxent(found)[1:])
                lower = upper = self.numbers @ shares
            elif self.together:
                lower, upper = self._sums(self.completed(found))
            else:
                lower, upper = self._roots(self.completed(found))
        nowhere = possible <= 0
        lower, upper = (np.where(nowhere, np.nan, end) for end in (lower, upper))
        return ExpectedValue(lower, upper, possible, found.consistent[0], found.inconsistent[0])

    def completed(self, found: Masses) -> Masses:
        """The masses, with the model in which all atoms are undefined counted on its level."""
        if not self.meaning.has_undefined_model:
            return found
        if not self.meaning.holds_without_models(self.ground.questions[0].evidence):
            return found
        first = 1 + len(self.numbers)
        lost = found.undefined[first:]
        there = (self.undefined >= self.levels[1:] - 1e-9)[:, np.newaxis]
        moved = np.where(there, lost, 0.0)
        changed = {}
        for name, sign in (("a", 1), ("b", 1), ("c", -1), ("d", -1)):
            array = getattr(found, name).copy()
            array[first:] += sign * moved
            changed[name] = np.maximum(array, 0.0)
        return replace(found, **changed)

    def _sums(self, found: Masses) -> tuple[Array, Array]:
        """The bounds if the evidence is determined: everything adds up."""
        here = found.b[0]
        fixed = self.numbers @ found.a[1 : 1 + len(self.numbers)] + self.levels[0] * here
        steps = np.diff(self.levels)
        first = 1 + len(self.numbers)
        lower = (fixed + steps @ found.a[first:]) / here
        upper = (fixed + steps @ found.b[first:]) / here
        return lower, upper

    def _roots(self, found: Masses) -> tuple[Array, Array]:
        """The bounds for any evidence: where the value of (U - λ) changes its sign."""
        steps = np.diff(self.levels)[:, np.newaxis]
        lower = _root(self.levels, steps, found.a[1:], found.d[1:])
        upper = -_root(-self.levels[::-1], steps[::-1], found.c[1:][::-1], found.b[1:][::-1])
        return lower, upper


def _root(levels: Array, steps: Array, above: Array, below: Array) -> Array:
    """The largest λ [columns] at which the integral above λ is at least the one below."""
    columns = np.arange(above.shape[1])
    if not len(steps):
        return np.full(len(columns), levels[0])
    nothing = np.zeros((1, above.shape[1]))
    left = np.concatenate([np.cumsum((steps * above)[::-1], axis=0)[::-1], nothing])
    passed = np.concatenate([nothing, np.cumsum(steps * below, axis=0)])
    balance = left - passed  # at each level
    last = (balance >= 0).shape[0] - 1 - np.argmax((balance >= 0)[::-1], axis=0)
    following = np.minimum(last, len(steps) - 1)
    slope = (above + below)[following, columns]
    with np.errstate(invalid="ignore", divide="ignore"):
        further = balance[last, columns] / slope
    inside = (last < len(steps)) & (slope > 0)
    room = steps[following, 0]
    root: Array = levels[last] + np.where(inside, np.minimum(further, room), 0.0)
    return root


def totals(terms: Sequence[GroundUtility]) -> dict[tuple[GroundLiteral, ...], float]:
    """The total utility of each body, without those that add up to 0."""
    found: dict[tuple[GroundLiteral, ...], float] = {}
    for value, literals, _ in terms:
        found[literals] = found.get(literals, 0.0) + value
    if not math.isfinite(sum(map(abs, found.values()))):
        message = "the values add up to more than a floating-point number can be"
        raise ProgramError(Diagnostic("utility-value", message, help="count in larger units"))
    return {literals: value for literals, value in found.items() if value != 0}


def values(
    ground: GroundProgram,
    meaning: Meaning,
    terms: Sequence[GroundUtility],
    evidence: tuple[GroundLiteral, ...],
) -> Values:
    """The questions for the expected total of the terms given the evidence.

    Raises :class:`SizeLimit` if the total can have too many values.
    """
    summed = totals(terms)
    undefined = sum(v for lits, v in summed.items() if meaning.holds_without_models(lits))
    asked = [GroundQuery((), evidence, "", None)]
    bare = replace(ground, worth=(), utilities=())
    if meaning.maxent:
        asked += (GroundQuery(literals, evidence, "", None) for literals in summed)
        numbers = np.array(list(summed.values()))
        program = replace(bare, questions=tuple(asked))
        return Values(program, meaning, numbers, np.zeros(1), True, undefined)
    known = determined(ground.rules, len(ground.symbols))
    together = _all_known(evidence, known)
    apart = [lits for lits in summed if together and _all_known(lits, known)]
    rest = {lits: value for lits, value in summed.items() if lits not in set(apart)}
    asked += (GroundQuery(literals, evidence, "", None) for literals in apart)
    undefined -= sum(summed[lits] for lits in apart if meaning.holds_without_models(lits))
    definitions, levels, size = _levels(rest, len(ground.symbols))
    for atom in levels[1:]:
        literal = GroundLiteral(Mode.TRUE, atom[1], _NAME)
        asked.append(GroundQuery((literal,), evidence, "", None))
    symbols = (*ground.symbols, *[None] * (size - len(ground.symbols)))
    program = replace(bare, questions=tuple(asked), symbols=symbols, definitions=tuple(definitions))
    numbers = np.array([summed[literals] for literals in apart])
    heights = np.array([level for level, _ in levels])
    return Values(program, meaning, numbers, heights, together, undefined)


def _all_known(literals: Sequence[GroundLiteral], known: NDArray[np.bool_]) -> bool:
    return all(literal.atom == 0 or known[literal.atom] for literal in literals)


def _levels(
    terms: dict[tuple[GroundLiteral, ...], float], size: int
) -> tuple[list[Definition], list[tuple[float, int]], int]:
    """For each level in order, an atom that says that the total is at least that; with rules.

    Term by term, there is an atom for each number that the terms so far can add up to.
    """
    definitions: list[Definition] = []
    sums: dict[float, int] = {0.0: 0}  # 0 stands for what always holds
    for literals, value in terms.items():
        body, size = size, size + 1
        definitions.append(Definition(body, literals, ()))
        following: dict[float, int] = {}
        for total, atom in sums.items():
            for holds, more in ((body, value), (-body, 0.0)):
                reached = float(f"{total + more:.{DIGITS}g}")
                if reached not in following:
                    following[reached], size = size, size + 1
                atoms = (holds, atom) if atom else (holds,)
                definitions.append(Definition(following[reached], (), atoms))
        sums = following
        if len(sums) > DECIDING.levels:
            message = f"the total of the utilities can have over {len(sums):,} values"
            help = "round the utilities so that more of their sums agree, or ask under maxent"
            raise SizeLimit(
                Diagnostic("size-limit", f"{message}: too many under credal", help=help)
            )
    levels: list[tuple[float, int]] = []
    above = 0
    for total in sorted(sums, reverse=True):
        at_least, size = size, size + 1
        definitions.append(Definition(at_least, (), (sums[total],) if sums[total] else ()))
        if above:
            definitions.append(Definition(at_least, (), (above,)))
        above = at_least
        levels.append((total, at_least))
    return definitions, levels[::-1], size


def evaluator_of(asked: Asked, values: Values) -> Evaluator:
    """The evaluator for the questions of an expected value."""
    if asked.method.engine == "enumerate":
        from dpasp.inference.enumerate import enumerate_models

        return enumerate_models(values.ground, values.meaning, watch=asked.watch)
    cache = circuits.Cache.default()
    return on_circuit(values.ground, values.meaning, cache=cache, watch=asked.watch)


def over_vertices(
    asked: Asked, evaluator: Evaluator, values: Values, columns: Weights, watch: Watch = UNLIMITED
) -> ExpectedValue:
    """The expected value [columns] under weights, over all probabilities within intervals."""
    if not asked.has_intervals:
        return values.of(evaluator.masses(columns, watch))
    found = [
        values.of(evaluator.masses(batch.reshape(len(batch), -1), watch))
        for batch in vertex_weights(corners(asked.ground), columns, EXACT.batch)
    ]
    lowest, *others = (
        np.concatenate(parts).reshape(-1, columns.shape[1]) for parts in zip(*found, strict=True)
    )
    highest = (np.fmax.reduce(other, axis=0) for other in others)
    return ExpectedValue(np.fmin.reduce(lowest, axis=0), *highest)


def expected(
    asked: Asked, terms: Sequence[GroundUtility], evidence: tuple[GroundLiteral, ...]
) -> ExpectedValue:
    """The expected total of the terms given the evidence, for every row of weights."""
    wanted = values(asked.ground, asked.meaning, terms, evidence)
    evaluator = evaluator_of(asked, wanted)
    return over_vertices(asked, evaluator, wanted, asked.columns, asked.watch)
