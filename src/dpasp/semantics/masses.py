"""From masses to answers: the formulas, their special cases, and the errors.

For a question P(q | e), N(θ) counts the models of a total choice θ, N_e those that
satisfy the evidence, N_qe those that satisfy both. The masses are sums of P(θ):

    consistent    where N > 0, and ``inconsistent`` where N = 0
    a             where every model satisfies q and e
    b             where some model satisfies q and e
    c             where every model satisfies e and none q
    d             where some model satisfies e and not q
    qe, e         weighted by N_qe / N and N_e / N

Then P(q | e) = qe / e under maxent and [a / (a + d), b / (b + c)] under credal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpasp.errors import Diagnostic, InconsistentProgram, Span
from dpasp.language.ast import Logic, Mode, Probability
from dpasp.logic.program import GroundLiteral

Array = NDArray[np.float64]
FIELDS = ("consistent", "a", "b", "c", "d", "qe", "e")
ROUNDING = 1e-12  # below this, 1 - consistent is rounding


@dataclass(frozen=True, slots=True)
class Masses:
    """The masses of one question, one entry for each weight vector of a batch."""

    consistent: Array
    inconsistent: Array
    a: Array
    b: Array
    c: Array
    d: Array
    qe: Array
    e: Array

    @classmethod
    def of(cls, values: Array) -> Masses:
        """From an array [8, …batch] in the order of ``FIELDS`` with the inconsistent mass last.

        With only seven rows it is what is missing to 1, up to rounding.
        """
        consistent, a, b, c, d, qe, e = values[: len(FIELDS)]
        if len(values) > len(FIELDS):
            inconsistent = values[len(FIELDS)]
        else:
            missing = 1.0 - consistent
            inconsistent = np.where(missing > ROUNDING, missing, 0.0)
        return cls(consistent, inconsistent, a, b, c, d, qe, e)


def maxent(masses: Masses) -> Array:
    """P(q | e) under maxent; NaN where the evidence is impossible."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(masses.e > 0, np.minimum(masses.qe / masses.e, 1.0), np.nan)


def credal(masses: Masses) -> tuple[Array, Array]:
    """The lower and upper P(q | e) under credal; NaN where the evidence is impossible."""
    a, b, c, d = masses.a, masses.b, masses.c, masses.d
    with np.errstate(invalid="ignore", divide="ignore"):
        lower = np.where(a + d > 0, a / (a + d), 1.0)
        upper = np.where(b + c > 0, b / (b + c), 0.0)
    # Where b + c = 0 < d this is [0, 0] and where a + d = 0 < b it is [1, 1], since a is part
    # of b and c of d: the special cases of the credal semantics need no code of their own.
    impossible = b + d == 0
    return np.where(impossible, np.nan, lower), np.where(impossible, np.nan, upper)


def prepare(
    masses: Masses,
    logic: Logic,
    literals: Sequence[GroundLiteral],
    evidence: Sequence[GroundLiteral],
) -> Masses:
    """The masses with what the semantics adds to them.

    Under smproblog a total choice without stable models has one model in which every
    atom is undefined: its mass Z satisfies just the ``undef`` literals.
    """
    if logic is not Logic.SMPROBLOG:
        return masses
    z = masses.inconsistent
    whole = replace(masses, consistent=masses.consistent + z, inconsistent=np.zeros_like(z))
    if not all_undefined(evidence):
        return whole
    whole = replace(whole, e=whole.e + z)
    if all_undefined(literals):
        return replace(whole, a=whole.a + z, b=whole.b + z, qe=whole.qe + z)
    return replace(whole, c=whole.c + z, d=whole.d + z)


def all_undefined(literals: Sequence[GroundLiteral]) -> bool:
    """Whether a model in which every atom is undefined satisfies the literals."""
    return all(literal.mode is Mode.UNDEFINED for literal in literals)


def possible(masses: Masses, probability: Probability) -> Array:
    """How possible the evidence is: 0 exactly where it is impossible."""
    return masses.e if probability is Probability.MAXENT else masses.b + masses.d


def check_consistent(consistent: Array, inconsistent: Array, allowed: bool = True) -> None:
    """Raise :class:`InconsistentProgram` if no total choice has a model.

    With ``allowed`` false, also if some total choice has none.
    """
    if np.any(consistent == 0):
        raise InconsistentProgram(
            "no total choice has a model: the program is inconsistent",
            help="look for a constraint that always fails or a loop through an odd number of "
            "negations; under lstable and smproblog such a loop is undefined instead",
        )
    if not allowed and np.any(inconsistent > 0):
        raise InconsistentProgram(
            f"total choices of probability {float(np.max(inconsistent)):g} have no model",
            help="the default, --inconsistent normalize, conditions on the others",
        )


def impossible_evidence(evidence: Sequence[GroundLiteral], span: Span | None = None) -> Diagnostic:
    """What is told about evidence of probability 0."""
    said = ", ".join(map(str, evidence))
    return Diagnostic(
        "impossible-evidence",
        f"the evidence {said} has probability 0",
        span,
        help="no model of a total choice with positive probability satisfies it; "
        "ask without it, or change the program",
    )
