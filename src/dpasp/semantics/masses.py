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

>>> masses = Masses.of(np.array([[1.0, 0.2, 0.7, 0.1, 0.6, 0.4, 0.8]]).T)
>>> [bound.tolist() for bound in credal(masses)], maxent(masses).tolist()
([[0.25], [0.875]], [0.5])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, InconsistentProgram, Span
from dpasp.ground.program import GroundLiteral, GroundMap, GroundQuery
from dpasp.semantics.meaning import Meaning

Array = NDArray[np.float64]
Question = GroundQuery | GroundMap
FIELDS = ("consistent", "a", "b", "c", "d", "qe", "e")  # the fields computed by circuits
ROUNDING = 1e-12  # below this, 1 - consistent is rounding


@dataclass(frozen=True, slots=True)
class Masses:
    """The masses of questions, arrays of the same shape: [questions, batch], or a part of it.

    Those that were not computed are NaN.
    """

    consistent: Array
    a: Array
    b: Array
    c: Array
    d: Array
    qe: Array
    e: Array
    inconsistent: Array
    undefined: Array  # the part of the consistent mass with only the undefined model

    @classmethod
    def of(cls, values: Array, inconsistent: Array | None = None) -> Masses:
        """The masses in an array [fields, …] of ``FIELDS``, or of all that :meth:`array` returns.

        By default, the inconsistent mass is 1 minus the consistent mass, up to rounding.
        """
        if len(values) > len(FIELDS):
            return cls(*values)
        consistent = values[0]
        if inconsistent is None:
            missing = 1.0 - consistent
            inconsistent = np.where(missing > ROUNDING, missing, 0.0)
        whole = np.broadcast_to(inconsistent, consistent.shape)
        fields = dict(zip(FIELDS, values, strict=True))
        return cls(**fields, inconsistent=whole, undefined=np.zeros_like(whole))

    def array(self) -> Array:
        """All masses as one array [9, …], for linear operations."""
        return np.stack([getattr(self, name) for name in _NAMES])

    def __getitem__(self, key: Any) -> Masses:
        """Index every array alike, for the masses of some questions or columns."""
        return Masses(*(getattr(self, name)[key] for name in _NAMES))


_NAMES = tuple(Masses.__slots__)


def joined(parts: Sequence[Masses]) -> Masses:
    """The masses of several batches as those of one."""
    return Masses(
        *(np.concatenate([getattr(part, name) for part in parts], axis=-1) for name in _NAMES)
    )


def completed(
    masses: Masses, meaning: Meaning, questions: Sequence[Question], *, log: bool = False
) -> Masses:
    """The masses [questions, …], counting total choices without stable models.

    If those have a model in which every atom is undefined, they are not inconsistent: they satisfy
    ``undef`` literals only. With ``log``, all are logarithms.
    """
    if not meaning.has_undefined_model:
        return masses
    add: Callable[[Array, Array], Array] = _log_add if log else np.add
    nothing = -np.inf if log else 0.0
    lost = masses.inconsistent
    shape = (len(questions), *[1] * (lost.ndim - 1))
    whole = {
        name: add(getattr(masses, name), np.where(where.reshape(shape), lost, nothing))
        for name, where in undefined_counts(meaning, questions).items()
    }
    return Masses(
        consistent=add(masses.consistent, lost),
        **whole,
        inconsistent=np.full_like(lost, nothing),
        undefined=lost,
    )


def undefined_counts(
    meaning: Meaning, questions: Sequence[Question]
) -> dict[str, NDArray[np.bool_]]:
    """By mass, for which questions total choices without stable models belong to it.

    That depends on what holds where every atom is undefined.
    """
    holds = meaning.holds_without_models
    evidence = np.array([holds(question.evidence) for question in questions], dtype=np.bool_)
    query = np.array([holds(query_literals(question)) for question in questions], dtype=np.bool_)
    yes, no = evidence & query, evidence & ~query
    return {"a": yes, "b": yes, "c": no, "d": no, "qe": yes, "e": evidence}


def _log_add(one: Array, other: Array) -> Array:
    """The logarithm of the sum of two numbers; NaN if one was not computed."""
    with np.errstate(invalid="ignore"):
        result: Array = np.logaddexp(one, other)
    return result


def query_literals(question: Question) -> tuple[GroundLiteral, ...]:
    """The literals of a query; none for a question about most probable values."""
    return question.literals if isinstance(question, GroundQuery) else ()


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
    # If b + c = 0 < d this is [0, 0], and if a + d = 0 < b it is [1, 1], since a is part of b and c
    # of d: the special cases of the credal semantics need no code.
    impossible = b + d == 0
    return np.where(impossible, np.nan, lower), np.where(impossible, np.nan, upper)


def lower_upper(masses: Masses, meaning: Meaning) -> tuple[Array, Array]:
    """The lower and upper answer, which are equal under maxent."""
    if meaning.maxent:
        value = maxent(masses)
        return value, value
    return credal(masses)


def evidence_mass(masses: Masses, meaning: Meaning) -> Array:
    """A mass that is 0 exactly if the evidence is impossible."""
    return masses.e if meaning.maxent else masses.b + masses.d


def check_consistent(consistent: Array, inconsistent: Array, allowed: bool = True) -> None:
    """Raise :class:`InconsistentProgram` if no total choice has a model.

    Unless ``allowed``, also if some total choice has none.
    """
    if np.any(consistent == 0):
        raise no_models()
    if not allowed and np.any(inconsistent > 0):
        raise InconsistentProgram(
            f"total choices of probability {float(np.max(inconsistent)):g} have no model",
            help="the default, --inconsistent normalize, conditions on the others; "
            "dpasp explain --why-inconsistent shows what leaves no model",
        )


def no_models() -> InconsistentProgram:
    """The error for a program without models of positive weight."""
    return InconsistentProgram(
        "no total choice has a model: the program is inconsistent",
        help="dpasp explain --why-inconsistent (program.why_inconsistent()) shows the rules "
        "(and the factors of weight 0) that leave none; a loop through an odd number of "
        "negations is undefined under lstable and smproblog",
    )


def impossible_evidence(evidence: Sequence[GroundLiteral], span: Span | None = None) -> Diagnostic:
    said = ", ".join(map(str, evidence))
    return Diagnostic(
        "impossible-evidence",
        f"the evidence {said} has probability 0",
        span,
        help="ask without it, or change the program; dpasp explain --why-inconsistent "
        "--evidence E (program.why_inconsistent(given=E)) shows what rules it out",
    )
