"""What is behind an answer: the most probable total choices, and what each choice does to it.

A total choice is behind P(q | e) as far as its models satisfy q and e. Under maxent
its share is P(θ)·N_qe/N of the sum over all; under credal, of those that make the query
possible, which is what the upper value counts; the lower one counts those that make
it ``sure``. Masses are linear in the weights of a choice, so the answer with a value made
certain gives its posterior too, and all of them are one batch of an exact engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from itertools import pairwise
from typing import Any, overload

import numpy as np

from dpasp import circuits
from dpasp.errors import Diagnostic, ImpossibleEvidence, LimitReached, ProgramError, UsageError
from dpasp.inference.answers import Answer
from dpasp.inference.asked import Asked
from dpasp.inference.engines.circuit import on_circuit
from dpasp.inference.engines.evaluator import Evaluator
from dpasp.inference.engines.outcomes import Outcomes
from dpasp.inference.engines.result import inconsistent_choices
from dpasp.inference.engines.tiny import LOG_TINY, TINY, too_improbable
from dpasp.logic.program import GroundMap, GroundProgram, GroundQuery, Interval
from dpasp.semantics import masses
from dpasp.semantics.masses import Array, Masses, joined
from dpasp.semantics.meaning import Meaning
from dpasp.semantics.names import leaf_names
from dpasp.semantics.total_choices import TotalChoice, most_probable_first, probability_of
from dpasp.shown import display

TOP = 5
LOOKED_AT = 10_000  # total choices, at most
BATCH = 256  # weight vectors that are evaluated together


@dataclass(frozen=True, slots=True)
class Way:
    """A total choice behind an answer; ``share`` is its part of all that is behind it."""

    values: tuple[str, ...]
    probability: float
    share: float
    sure: bool  # all its models satisfy query and evidence

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "values": list(self.values),
            "probability": self.probability,
            "share": self.share,
            "sure": self.sure,
        }


@dataclass(frozen=True, slots=True)
class Contribution:
    """A value of a choice: how probable before and given query and evidence.

    ``posterior`` is None where query and evidence cannot hold together. ``certain`` is the
    answer if the value were certain: one number under maxent, two under credal, none where
    the evidence is then impossible.
    """

    value: str
    prior: float
    posterior: float | None
    certain: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "value": self.value,
            "prior": self.prior,
            "posterior": self.posterior,
            "certain": list(self.certain),
        }


@dataclass(frozen=True, slots=True)
class Explanation:
    """An answer, the total choices behind it from the one with the largest share on, and what
    the values of choices contribute, those that it tells most about first.

    ``complete`` is false if a limit was reached before the largest shares were certain.
    """

    answer: Answer
    ways: tuple[Way, ...]
    contributions: tuple[Contribution, ...]
    complete: bool

    def to_dict(self) -> Mapping[str, Any]:
        """The JSON form."""
        return self.answer.to_dict() | {
            "total_choices": [way.to_dict() for way in self.ways],
            "complete": self.complete,
            "contributions": [one.to_dict() for one in self.contributions],
        }

    def __str__(self) -> str:
        return str(display("explain.explanation_text")(self))

    def _repr_html_(self) -> str:
        return str(display("html.explanation")(self))


@dataclass(frozen=True, slots=True)
class Explanations(Sequence[Explanation]):
    """The explanations in the order of the queries, and what else is worth knowing."""

    found: tuple[Explanation, ...]
    inconsistent: float = 0.0  # the mass of total choices without a model
    warnings: tuple[Diagnostic, ...] = ()

    @overload
    def __getitem__(self, which: int) -> Explanation: ...
    @overload
    def __getitem__(self, which: slice) -> tuple[Explanation, ...]: ...
    def __getitem__(self, which: int | slice) -> Explanation | tuple[Explanation, ...]:
        return self.found[which]

    def __len__(self) -> int:
        return len(self.found)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        told: dict[str, Any] = {
            "inconsistent": self.inconsistent,
            "explanations": [dict(one.to_dict()) for one in self.found],
        }
        if self.warnings:
            told["warnings"] = [warning.to_dict() for warning in self.warnings]
        return told

    def __str__(self) -> str:
        return "\n".join(map(str, self.found))

    def _repr_html_(self) -> str:
        return str(display("html.explanations")(self))


def explain(asked: Asked, top: int = TOP) -> Explanations:
    """An explanation of every answer to a query, with at most ``top`` total choices each.

    ``#map`` and ``#mpe`` are left out, with a warning. Raises :class:`ProgramError` for
    intervals of probabilities.
    """
    if top < 0:
        raise UsageError(f"{top} total choices cannot be shown")
    left_out = _left_out(asked.ground)
    _check_explainable(asked.ground)
    asked = asked.one_row().with_questions(asked.queries)
    cache = circuits.Cache.default()
    evaluator = on_circuit(asked.ground, asked.meaning, cache=cache, watch=asked.watch)
    outcomes = Outcomes(asked)
    whole = _conditional(asked, evaluator)
    found, lost = [], 0.0
    for i, query in enumerate(asked.queries):
        own = whole[i]
        if _too_small(asked, evaluator, i, own):
            raise too_improbable("an explanation", f"ℙ({query.text}) or its evidence")
        now = _numbers(own, asked.meaning)[:, 0]
        if np.isnan(now).any():
            masses.check_consistent(own.consistent[:1], own.inconsistent[:1])
            raise ImpossibleEvidence(masses.impossible_evidence(query.evidence, query.span))
        lost = max(lost, float(own.inconsistent[0]))
        total = float(_behind(own, asked.meaning)[0])
        ways, complete = _ways(asked, outcomes, i, total, top)
        found.append(Explanation(_answer(query, now), ways, _contributions(asked, own), complete))
    warnings = (*asked.ground.warnings, *left_out, *inconsistent_choices(lost))
    return Explanations(tuple(found), lost, warnings)


def _left_out(ground: GroundProgram) -> list[Diagnostic]:
    """The warnings about questions for most probable values; an error if there are no others."""
    maps = [question for question in ground.questions if isinstance(question, GroundMap)]
    if maps and len(maps) == len(ground.questions):
        raise ProgramError(
            Diagnostic(
                "explain-map",
                "the program asks for most probable values only, and those are not explained",
                maps[0].span,
                'ask for a probability: --query "a | b", or program.explain("a | b")',
            )
        )
    return [
        Diagnostic(
            "explain-map",
            "this is left out: only probabilities are explained, not most probable values",
            question.span,
            severity="warning",
        )
        for question in maps
    ]


def _check_explainable(ground: GroundProgram) -> None:
    """Raise :class:`ProgramError` for intervals: under them a choice has no one share."""
    places = {c.statement: None for c in ground.choices if isinstance(c.weight, Interval)}
    if places:
        raise ProgramError(
            Diagnostic(
                "explain-credal",
                "an explanation does not take intervals of probabilities",
                ground.program.statements[place].span,
                "give one probability, such as an end of the interval",
            )
            for place in places
        )


def _too_small(asked: Asked, evaluator: Evaluator, i: int, own: Masses) -> bool:
    """Whether masses that are compared with each other are below what floating point can hold."""
    meaning = asked.meaning
    if min(_behind(own, meaning)[0], masses.possible(own, meaning)[0]) >= TINY:
        return False
    logs = evaluator.log_masses(asked.columns, asked.watch)[i, 0]
    some = (logs.qe, logs.e) if meaning.maxent else (logs.b, logs.d)
    return any(-np.inf < mass < LOG_TINY for mass in some)


def _conditional(asked: Asked, evaluator: Evaluator) -> Masses:
    """The masses [queries, 1 + leaves]: as things are, then with each leaf in turn certain."""
    columns = [asked.weights]
    for start, end in pairwise(asked.layout.starts):
        for leaf in range(start, end):
            column = asked.weights.copy()
            column[start:end] = 0.0
            column[leaf] = 1.0
            columns.append(column)
    parts = []
    for first in range(0, len(columns), BATCH):
        batch = np.stack(columns[first : first + BATCH], axis=1)
        parts.append(evaluator.masses(batch, asked.watch))
    return joined(parts)


def _ways(
    asked: Asked, outcomes: Outcomes, query: int, total: float, top: int
) -> tuple[tuple[Way, ...], bool]:
    """The total choices with the largest shares, and whether that is certain."""
    found: list[tuple[float, Way]] = []
    if not total > 0 or top < 1:
        return (), True
    names, starts = leaf_names(asked.ground), asked.layout.starts
    complete = True
    for seen, choice in enumerate(most_probable_first(asked.weights, starts)):
        chance = probability_of(choice, asked.weights, starts)
        if len(found) == top and chance <= found[-1][0]:
            break  # no later one has a larger share
        try:
            own = Masses.of(outcomes.of(choice))[query]
        except LimitReached:
            complete = False
            break
        mass = chance * float(_behind(own, asked.meaning))
        if mass > 0:
            values = _values(starts, names, choice)
            way = Way(values, chance, mass / total, bool(own.a > 0))
            found = nlargest(top, [*found, (mass, way)], key=lambda pair: pair[0])
        if seen + 1 >= LOOKED_AT:
            complete = False
            break
    return tuple(way for _, way in found), complete


def _values(starts: Sequence[int], names: Sequence[str], choice: TotalChoice) -> tuple[str, ...]:
    return tuple(names[start + value] for start, value in zip(starts, choice, strict=False))


def _contributions(asked: Asked, own: Masses) -> tuple[Contribution, ...]:
    behind = _behind(own, asked.meaning)
    certain = _numbers(own, asked.meaning)
    names = leaf_names(asked.ground)
    found = []
    for i, choice in enumerate(asked.ground.choices):
        start = asked.layout.starts[i]
        for leaf in range(start, start + len(choice.selectors)):
            prior = float(asked.weights[leaf])
            after = None
            if behind[0] > 0:
                after = min(1.0, prior * float(behind[leaf + 1] / behind[0]))
            numbers = [float(n) for n in certain[:, leaf + 1] if not np.isnan(n)]
            found.append(Contribution(names[leaf], prior, after, tuple(numbers)))
    return tuple(sorted(found, key=_surprise))


def _surprise(one: Contribution) -> float:
    """Smaller for those that the answer tells more about."""
    return 0.0 if one.posterior is None else -abs(one.posterior - one.prior)


def _behind(own: Masses, meaning: Meaning) -> Array:
    """The mass that is behind the answer."""
    return own.qe if meaning.maxent else own.b


def _numbers(own: Masses, meaning: Meaning) -> Array:
    """The answers [1 or 2, batch]."""
    lower, upper = masses.lower_upper(own, meaning)
    return lower[np.newaxis] if meaning.maxent else np.stack([lower, upper])


def _answer(query: GroundQuery, numbers: Array) -> Answer:
    if len(numbers) == 1:
        return Answer(query.text, value=float(numbers[0]))
    return Answer(query.text, lower=float(numbers[0]), upper=float(numbers[1]))
