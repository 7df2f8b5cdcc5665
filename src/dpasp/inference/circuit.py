"""Evaluators turn leaf weights into the masses of every question; answers are ratios of masses.

Most evaluators are a circuit (:func:`on_circuit`), either compiled or made from an enumeration. The
table of :mod:`dpasp.inference.enumerate`, the sums of :mod:`dpasp.inference.summed` and the
gradients of :mod:`dpasp.inference.together` have the same interface.

Answers are the ratios a / (a + d), b / (b + c) and qe / e of masses. If both masses of a ratio, or
the ratio itself, are below 1e-308, the logarithms of the masses are used, which every evaluator can
compute.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpasp import circuits
from dpasp.circuits import Circuit
from dpasp.circuits.circuit import Consistency, consistency
from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, InferenceError, LimitReached, SizeLimit
from dpasp.ground.program import GroundProgram
from dpasp.inference.answers import SMALLEST
from dpasp.inference.asked import Asked
from dpasp.inference.tuning import EXACT
from dpasp.language.ast import Logic
from dpasp.limits import UNLIMITED, Watch
from dpasp.semantics import masses
from dpasp.semantics.leaves import LeafLayout, Weights, layout, leaf_count
from dpasp.semantics.masses import FIELDS, Array, Masses, Question, completed
from dpasp.semantics.meaning import Meaning
from dpasp.semantics.translate import Weighed

if TYPE_CHECKING:
    from dpasp.inference.enumerate import Enumeration


HEAD_CYCLE, LESS_WORK = "a disjunction through a positive loop", "less work than compiling"
WHOLE = "a total choice is weighed as a whole"
PRECISE = 1e-6  # if 1 - consistent is above this, the subtraction loses only few digits


class Evaluator(Protocol):
    """A circuit or a table that is ready to answer the questions of a program."""

    @property
    def name(self) -> str:
        """The name of the engine that made it: ``compile`` or ``enumerate``."""

    @property
    def statistics(self) -> Mapping[str, int | float | str]:
        """How large it is."""

    @property
    def circuit(self) -> Circuit | None:
        """The circuit, if there is one: it can be searched."""

    @property
    def enumeration(self) -> Enumeration | None:
        """All total choices and their models, if they were enumerated."""

    def masses(self, weights: Weights, watch: Watch = UNLIMITED, *, log: bool = False) -> Masses:
        """The masses [questions, batch] under weights [leaves, batch].

        Total choices without stable models are included as the semantics requires. Masses that
        answers do not need are NaN. With ``log``, the logarithms of the masses are returned, even
        below 1e-308. Raises what the ``watch`` raises.
        """


@dataclass(frozen=True)
class OnCircuit:
    """A circuit as an :class:`~dpasp.inference.circuit.Evaluator`.

    If it was not compiled, ``enumeration`` is what it was made from, and ``why`` says why.
    """

    circuit: circuits.Circuit
    meaning: Meaning
    questions: tuple[Question, ...]
    layout: LeafLayout
    enumeration: Enumeration | None = None
    why: str = ""

    @property
    def name(self) -> str:
        """The name of the engine: how the circuit was made."""
        return "compile" if self.enumeration is None else "enumerate"

    @property
    def statistics(self) -> Mapping[str, int | float | str]:
        """How large the circuit is, and how it was made."""
        sizes = self.circuit.statistics
        table: dict[str, int | str] = {}
        if self.enumeration is not None:
            table = {**self.enumeration.sizes, "enumerated": self.why}
        return {
            **table,
            "circuit_nodes": sizes.nodes,
            "circuit_edges": sizes.edges,
            "width": sizes.width,
            "way": sizes.way,
            **({"cached": True} if self.circuit.cached else {}),
        }

    def masses(self, weights: Weights, watch: Watch = UNLIMITED, *, log: bool = False) -> Masses:
        """The masses [questions, batch] under weights [leaves, batch], or their logarithms."""
        values = self.circuit.masses(weights, fields=self.meaning.fields, log=log, watch=watch)
        lost = np.zeros(weights.shape[1])
        if len(values) and not self.meaning.weighted:
            consistent = values[0, FIELDS.index("consistent")]
            lost = self._inconsistent(np.exp(consistent) if log else consistent, weights)
        by_field = np.moveaxis(values, 1, 0)
        with np.errstate(divide="ignore"):
            whole = Masses.of(by_field, np.log(lost) if log else lost)
        return completed(whole, self.meaning, self.questions, log=log)

    def _inconsistent(self, consistent: Array, weights: Weights) -> Array:
        """The inconsistent mass [batch], precise however small it is."""
        missing: Array = 1.0 - consistent
        small = missing < PRECISE
        if np.any(small):
            missing[small] = self._consistency.missing(weights[:, small], missing[small])
        return missing

    @cached_property
    def _consistency(self) -> Consistency:
        return consistency(self.circuit, self.layout)


def on_circuit(
    ground: GroundProgram,
    meaning: Meaning,
    *,
    observed: Sequence[int] = (),
    options: circuits.Options = circuits.Options(),  # noqa: B008 - frozen
    cache: circuits.Cache | None = None,
    watch: Watch = UNLIMITED,
) -> OnCircuit:
    """The circuit of the questions of a program.

    The arguments are those of :func:`dpasp.circuits.compile`. If there is a head cycle, or
    compiling is more work, the total choices are enumerated and made into a circuit.
    """
    for work, models in _rounds(ground, meaning):
        quick = replace(options, work=min(work, options.work))
        with suppress(SizeLimit):
            return _compiled(ground, meaning, observed, quick, None, watch)
        with suppress(SizeLimit):
            return _enumerated(ground, meaning, observed, models, watch)
    return _compiled(ground, meaning, observed, options, cache, watch)


def _rounds(ground: GroundProgram, meaning: Meaning) -> Sequence[tuple[int, int]]:
    """How much work compiling may take and how many models may then be enumerated, in turns.

    Under lstable, compiling compares sets of undefined atoms. There may be very many of these even
    if there are few total choices.
    """
    if meaning.logic is not Logic.LSTABLE:
        return ()
    total = math.prod(map(leaf_count, ground.choices))
    return [(work, models) for work, models in EXACT.rounds if total <= models]


def _compiled(
    ground: GroundProgram,
    meaning: Meaning,
    observed: Sequence[int],
    options: circuits.Options,
    cache: circuits.Cache | None,
    watch: Watch,
) -> OnCircuit:
    """The circuit, compiled or, if there is a head cycle, enumerated."""
    try:
        circuit = circuits.compile(
            ground, meaning, observed=observed, options=options, cache=cache, watch=watch
        )
    except circuits.HeadCycle:
        return _enumerated(ground, meaning, observed, None, watch)
    return OnCircuit(circuit, meaning, ground.questions, layout(ground.choices))


def _enumerated(
    ground: GroundProgram,
    meaning: Meaning,
    observed: Sequence[int],
    most: int | None,
    watch: Watch,
) -> OnCircuit:
    """The circuit made from all models; raises :class:`SizeLimit` if there are over ``most``."""
    from dpasp.circuits.join import fold
    from dpasp.inference.enumerate import enumerate_models

    started = time.perf_counter()
    table = enumerate_models(ground, meaning, observed=observed, most=most, watch=watch)
    counted = table.counted(time.perf_counter() - started)
    circuit = fold(ground.choices, counted, meaning, watch=watch)
    why = HEAD_CYCLE if most is None else LESS_WORK
    if isinstance(ground, Weighed) and ground.by_table:
        why = WHOLE
    return OnCircuit(circuit, meaning, ground.questions, layout(ground.choices), table, why)


# --- from masses to the numbers of answers --------------------------------------------------------


TINY = 1e-250  # masses below this may have lost digits
LOG_TINY = float(np.log(TINY))
LN10 = float(np.log(10.0))
LEAST = float(np.nextafter(0.0, 1.0))
OF_CHOICES = (("a", "d"), ("b", "c"))  # sums of P(θ), which are tiny only if P(θ) is
OF_MODELS = (("qe", "e"),)  # sums of P(θ) times shares of models, which alone can make them tiny


@dataclass(frozen=True, slots=True)
class Extremes:
    """The numbers of a question [rows]: extremes over the vertices of credal choices.

    ``lower_at`` and ``upper_at`` are weights that attain the bounds. If a limit ``stopped`` the
    search, the exact bounds lie within these and differ by at most the ``gap``; the weights are
    then the best ones found, and ``found`` are the lower and the upper probability there.
    """

    consistent: Array
    inconsistent: Array
    possible: Array  # the mass where the evidence is possible; 0: it is impossible
    lower: Array  # NaN where the evidence is impossible
    upper: Array
    gap: Array
    lower_at: Weights | None = None
    upper_at: Weights | None = None
    stopped: tuple[LimitReached, ...] = ()
    found: tuple[float, float] | None = None
    logs: tuple[Array, Array] | None = None  # base 10, if some bounds are too small for doubles

    @classmethod
    def of(
        cls, found: Masses, meaning: Meaning, logs: tuple[Array, Array] | None = None
    ) -> list[Extremes]:
        """The numbers of every question, from masses [questions, rows], and logarithms if known."""
        possible = masses.evidence_mass(found, meaning)
        lower, upper = masses.lower_upper(found, meaning)
        return [
            cls(
                found.consistent[i],
                found.inconsistent[i],
                possible[i],
                lower[i],
                upper[i],
                np.zeros(len(lower[i])),
                logs=logs and (logs[0][i], logs[1][i]),
            )
            for i in range(len(lower))
        ]

    @classmethod
    def side_by_side(cls, parts: Sequence[Extremes]) -> Extremes:
        """Join the numbers of one question for several runs of rows."""
        if len(parts) == 1:
            return parts[0]
        names = ("consistent", "inconsistent", "possible", "lower", "upper", "gap")
        columns: dict[str, Any] = {
            name: np.concatenate([getattr(part, name) for part in parts]) for name in names
        }
        logs = None
        if any(part.logs is not None for part in parts):
            lower, upper = zip(*(part.log10() for part in parts), strict=True)
            logs = np.concatenate(lower), np.concatenate(upper)
        stopped = tuple(limit for part in parts for limit in part.stopped)
        return cls(**columns, stopped=stopped, logs=logs)

    def joined(self, other: Extremes) -> Extremes:
        """The extremes over the vertices of this and another one."""
        lower, upper = np.fmin(self.lower, other.lower), np.fmax(self.upper, other.upper)
        mine, theirs, logs = (self.lower, self.upper), (other.lower, other.upper), None
        if self.logs is not None or other.logs is not None:
            mine, theirs = self.log10(), other.log10()
            logs = np.fmin(mine[0], theirs[0]), np.fmax(mine[1], theirs[1])
        first = np.fmin(mine[0], theirs[0]), np.fmax(mine[1], theirs[1])
        return Extremes(
            np.fmax(self.consistent, other.consistent),
            np.fmax(self.inconsistent, other.inconsistent),
            np.fmax(self.possible, other.possible),
            lower,
            upper,
            np.fmax(self.gap, other.gap),
            # If both attain it, the first one counts.
            self.lower_at if np.array_equal(first[0], mine[0]) else other.lower_at,
            self.upper_at if np.array_equal(first[1], mine[1]) else other.upper_at,
            (*self.stopped, *other.stopped),
            logs=logs,
        )

    def log10(self) -> tuple[Array, Array]:
        """The logarithms (base 10) of both bounds."""
        if self.logs is not None:
            return self.logs
        with np.errstate(divide="ignore"):
            return np.log10(self.lower), np.log10(self.upper)


def extremes(asked: Asked, evaluator: Evaluator) -> list[Extremes]:
    """The numbers of every question, over all probabilities that intervals allow."""
    if asked.has_intervals:
        from dpasp.inference.intervals import over_intervals

        return over_intervals(asked, evaluator)
    found, logs = answer_masses(asked, evaluator, asked.columns, asked.watch)
    return Extremes.of(found, asked.meaning, logs)


def answer_masses(
    asked: Asked, evaluator: Evaluator, weights: Weights, watch: Watch = UNLIMITED
) -> tuple[Masses, tuple[Array, Array] | None]:
    """The masses [questions, batch] under weights [leaves, batch], suitable for ratios.

    The second result has the logarithms (base 10) of the lower and the upper answers. It is None if
    every answer is 0 or in the range of doubles.
    """
    logs = partial(evaluator.masses, watch=watch, log=True)
    found = enlarged(evaluator.masses(weights, watch), weights, asked.layout, logs)
    lower, upper = masses.lower_upper(found, asked.meaning)
    small = ((lower < SMALLEST) | (upper < SMALLEST)).any(axis=0)
    circuit = evaluator.circuit  # if models disagree, the shares of some may also be tiny
    shares = asked.meaning.maxent and circuit is not None and not circuit.definite
    if not (shares or asked.meaning.weighted):
        small &= log_least(weights, asked.layout) < LOG_TINY
    if not small.any():
        return found, None
    with np.errstate(divide="ignore", invalid="ignore"):
        log10 = np.log10(lower), np.log10(upper)
        ends = log_lower_upper(logs(weights[:, small]), asked.meaning)
    below = False
    for log, number, precise in zip(log10, (lower, upper), ends, strict=True):
        where = number[:, small] < SMALLEST
        log[:, small] = np.where(where, precise / LN10, log[:, small])
        below |= bool(np.any(where & (precise > -np.inf)))
    if asked.meaning.maxent:  # the mass was too small, but the answer is not
        there = (lower[:, small] < SMALLEST) & (ends[0] / LN10 > np.log10(SMALLEST))
        qe, e = found.qe.copy(), found.e.copy()
        qe[:, small] = np.where(there, np.exp(ends[0]), qe[:, small])
        e[:, small] = np.where(there, 1.0, e[:, small])
        found = replace(found, qe=qe, e=e)
    return found, log10 if below else None


def enlarged(
    found: Masses, weights: Weights, layout: LeafLayout, logs: Callable[[Weights], Masses]
) -> Masses:
    """The masses; if both masses of a ratio are tiny, larger ones with the same ratio.

    ``found`` are the masses [questions, batch] under weights [leaves, batch], and ``logs`` gives
    their logarithms. Zeros stay 0. The inconsistent mass does not change; the consistent one
    becomes the smallest positive number if it was rounded to 0.
    """
    risky = log_least(weights, layout) < LOG_TINY
    small = {pair: _tiny(found, pair) & risky for pair in OF_CHOICES}
    small |= {pair: _tiny(found, pair) for pair in OF_MODELS}
    lost = (found.consistent == 0) & risky
    columns = np.any([tiny.any(axis=0) for tiny in (lost, *small.values())], axis=0)
    if not columns.any():
        return found
    precise = logs(weights[:, columns])
    consistent = found.consistent.copy()
    there = lost[:, columns] & (precise.consistent > -np.inf)
    consistent[:, columns] = np.where(there, LEAST, consistent[:, columns])
    changed: dict[str, Array] = {"consistent": consistent}
    for pair, tiny in small.items():
        # Both are scaled so that the larger one is 1, unless both are 0.
        most = np.maximum(*(getattr(precise, name) for name in pair))
        most = np.where(np.isfinite(most), most, 0.0)
        for name in pair:
            larger, values = np.exp(getattr(precise, name) - most), getattr(found, name).copy()
            values[:, columns] = np.where(tiny[:, columns], larger, values[:, columns])
            changed[name] = values
    return replace(found, **changed)


def log_lower_upper(logs: Masses, meaning: Meaning) -> tuple[Array, Array]:
    """The logarithms of the lower and the upper answers, from those of the masses."""
    if meaning.maxent:
        value = np.minimum(logs.qe - logs.e, 0.0)
        return value, value
    sure, maybe = np.logaddexp(logs.a, logs.d), np.logaddexp(logs.b, logs.c)
    lower = np.where(np.isneginf(sure), 0.0, logs.a - sure)
    return lower, np.where(np.isneginf(maybe), -np.inf, logs.b - maybe)


def _tiny(found: Masses, pair: tuple[str, str]) -> NDArray[np.bool_]:
    """Where both masses of a pair are tiny, [questions, batch]."""
    mass, other = (getattr(found, name) for name in pair)
    small: NDArray[np.bool_] = mass + other < TINY  # unknown masses are NaN
    return small


def log_least(weights: Weights, layout: LeafLayout) -> Array:
    """The logarithm [batch] of the smallest positive P(θ)."""
    if len(layout.starts) < 2:
        return np.zeros(weights.shape[1])
    positive = np.where(weights > 0, weights, 1.0)[: layout.size]
    least: Array = np.log(np.minimum.reduceat(positive, layout.starts[:-1])).sum(axis=0)
    return least


def log_ratio(number: Array, other: Array) -> Array:
    """number / (number + other) from their logarithms; 1 if both masses are 0."""
    total = np.logaddexp(number, other)
    nothing = np.isneginf(total)
    return np.where(nothing, 1.0, np.exp(number - np.where(nothing, 0.0, total)))


def too_improbable(what: str, cause: str = "the evidence") -> InferenceError:
    """The error for answers that need masses themselves, not just their ratios."""
    return InferenceError(
        Diagnostic(
            "improbable-evidence",
            f"{what} cannot be computed: {cause} has a probability below {TINY:g}",
            help="ask a #query, which works with such evidence, or ask about less at once",
        )
    )
