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

from dpasp.errors import Diagnostic, ImpossibleEvidence, InconsistentProgram, Span
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
    def of(cls, values: Array, inconsistent: Array | None = None) -> Masses:
        """From an array [7, …batch] in the order of ``FIELDS``.

        Without ``inconsistent`` it is what is missing to 1, up to rounding.
        """
        consistent, a, b, c, d, qe, e = values
        if inconsistent is None:
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


def check_consistent(masses: Masses, allowed: bool = True) -> None:
    """Raise :class:`InconsistentProgram` if no total choice has a model.

    With ``allowed`` false, also if some total choice has none.
    """
    if np.any(masses.consistent == 0):
        raise InconsistentProgram(
            "no total choice has a model: the program is inconsistent",
            help="look for a constraint that always fails, or a loop through an odd number of "
            "negations; under lstable or smproblog such a loop is undefined instead",
        )
    if not allowed and np.any(masses.inconsistent > 0):
        mass = float(np.max(masses.inconsistent))
        raise InconsistentProgram(
            f"total choices of probability {mass:g} have no model",
            help="--inconsistent normalize (the default) conditions on the others",
        )


def check_evidence(
    masses: Masses,
    probability: Probability,
    evidence: Sequence[GroundLiteral],
    span: Span | None = None,
) -> None:
    """Raise :class:`ImpossibleEvidence` if the evidence has probability 0."""
    possible = masses.e if probability is Probability.MAXENT else masses.b + masses.d
    if np.all(possible > 0):
        return
    said = ", ".join(map(str, evidence))
    raise ImpossibleEvidence(
        Diagnostic(
            "impossible-evidence",
            f"the evidence {said} has probability 0" if said else "nothing has probability above 0",
            span,
            help="no model of a total choice with positive probability satisfies it; "
            "ask without it, or change the program",
        )
    )
