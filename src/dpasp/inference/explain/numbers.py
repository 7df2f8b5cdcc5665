"""Sensitivity: how the answer changes with each number of the program, and what reaches a target.

Masses are linear in the weights of every choice, m = Σ w·m(value certain), so the derivative by
a number is a sum over the ground choices that it stands before. Along a number the answer is a
ratio of polynomials with as many degrees as it has ground choices; the values at which it
is the target are roots of a polynomial, which are found from its values.

>>> from dpasp import loads
>>> explanation = loads("0.3::a. 0.5::b. c :- a. c :- b.").explain("c", target=0.9)[0]
>>> [(number.name, round(number.reach[0], 3)) for number in explanation.sensitivity]
[('0.5::b', 0.857), ('0.3::a', 0.8)]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.polynomial import Chebyshev
from numpy.typing import NDArray

from dpasp.dataclass import dataclass
from dpasp.ground.assemble import statement_weights
from dpasp.ground.program import Choice, FixedWeights, IntervalWeights, Learned
from dpasp.inference.answers import interval_text
from dpasp.inference.asked import Asked
from dpasp.inference.explain.explanation import Sensitivity
from dpasp.language import ast
from dpasp.language.statements.weights import weight_variables
from dpasp.semantics.leaves import Weights, choice_labels
from dpasp.semantics.masses import Array, Masses, lower_upper
from dpasp.semantics.meaning import Meaning

MOST_DEGREES = 64  # of the polynomials that are solved
REACHED = 1e-6  # how close to the target an answer has to be, relatively to it (and to its rest)
ROUNDED = 1e-12  # what an answer may differ by in any case
REAL = 1e-7  # imaginary parts below this are rounding
POLISH, STEP = 4, 1e-7  # how often a root is improved, and over which step


@dataclass(frozen=True, slots=True)
class ProgramNumber:
    """A number as it is written, the leaves it stands before, and how weights follow it.

    Where the number grows by δ, the weights grow by δ·``direction``; it can be from 0 to
    ``most``. The ``bounds`` are its value, or both ends of an interval. It stands before so many
    ground ``choices``.
    """

    name: str
    line: int
    bounds: tuple[float, ...]
    most: float
    direction: Weights
    choices: int
    factor: bool = False  # it stands for the factor p / (1 - p)

    def shown(self, value: float) -> float:
        """A value of the number, as it is written."""
        if not self.factor:
            return value
        return value / (1.0 - value) if value < 1.0 else math.inf

    @property
    def rate(self) -> float:
        """How much the number changes with what is written."""
        return (1.0 - self.bounds[0]) ** 2 if self.factor else 1.0


def program_numbers(asked: Asked, weights: Weights) -> list[ProgramNumber]:
    """The numbers of a program under these weights, without those that networks give."""
    groups: dict[tuple[object, ...], list[tuple[int, int]]] = {}
    factors = getattr(asked.ground, "factor_choices", ())
    own = getattr(asked.ground, "outer", len(asked.ground.choices))
    for i, choice in enumerate(asked.ground.choices):
        if i >= own and i not in factors:
            continue  # a guess, which has no number
        for k in range(1 if i in factors else len(choice.selectors)):
            key = _key(asked, i, choice, k)
            if key is not None:
                groups.setdefault(key, []).append((i, k))
    labels = choice_labels(asked.ground)
    numbers = []
    for places in groups.values():
        number = _number(asked, weights, places, labels[places[0][0]][places[0][1]])
        if number is not None:
            numbers.append(number)
    return numbers


def _key(asked: Asked, i: int, choice: Choice, k: int) -> tuple[object, ...] | None:
    """A key that ground choices share if their numbers are one number of the program.

    ``k`` is the position of the value. None for the output of a network.
    """
    match choice.weight:
        case Learned(parameter):
            return ("learned", parameter, k)
        case FixedWeights() | IntervalWeights():
            statement = asked.ground.program.statements[choice.statement]
            if isinstance(statement, ast.Plain):
                return ("instance", i, k)  # a weak constraint
            assert isinstance(statement, ast.Annotated | ast.Factor)
            weight = statement_weights(statement)[k]
            varies = any(True for _ in weight_variables(weight))
            return ("instance", i, k) if varies else ("written", choice.statement, k)
    return None


def _number(
    asked: Asked, weights: Weights, places: Sequence[tuple[int, int]], label: str
) -> ProgramNumber | None:
    """The number at some values of ground choices; None where it cannot change."""
    moved = _direction(asked, weights, places)
    if moved is None:
        return None
    direction, most = moved
    i, k = places[0]
    choice = asked.ground.choices[i]
    statement = asked.ground.program.statements[choice.statement]
    if not isinstance(statement, ast.Annotated):
        value = float(weights[asked.layout.of(i).start])
        line, count = statement.span.line, len(places)
        name = label if count == 1 else label.split(" [")[0]
        return ProgramNumber(name, line, (value,), most, direction, count, factor=True)
    written = asked.ground.program.sources.text_of(statement.heads[k].span)
    single = len(places) == 1 and choice.substitution
    bounds: tuple[float, ...] = (float(weights[asked.layout.of(i).start + k]),)
    if isinstance(choice.weight, IntervalWeights):
        bounds = (choice.weight.lower[k], choice.weight.upper[k])
    name = f"{interval_text(bounds)}::{label}" if single or not written else written
    return ProgramNumber(name, statement.span.line, bounds, most, direction, len(places))


def _direction(
    asked: Asked, weights: Weights, places: Sequence[tuple[int, int]]
) -> tuple[Weights, float] | None:
    """How weights change with a number that stands at these values of choices, and its maximum.

    What the number gains is taken from *nothing*, or from all other values in proportion. None
    where no other value can give or take.
    """
    direction = np.zeros_like(weights)
    most = 1.0
    for i, k in places:
        choice, leaves = asked.ground.choices[i], asked.layout.of(i)
        value = float(weights[leaves.start + k])
        if isinstance(choice.weight, IntervalWeights) and len(choice.selectors) > 1:
            return None  # its values are bound to each other, so none can change alone
        if choice.nothing:
            others = float(weights[leaves].sum() - weights[leaves.stop - 1] - value)
            most = min(most, max(value, 1.0 - others))
            direction[leaves.start + k] += 1.0
            direction[leaves.stop - 1] -= 1.0
        elif len(choice.selectors) > 1 and value < 1:
            direction[leaves] -= weights[leaves] / (1.0 - value)
            direction[leaves.start + k] = 1.0
        else:
            return None  # certain: no other value could take what it loses
    return direction, most


def sensitivities(
    asked: Asked,
    ends: Sequence[tuple[Weights, Masses]],
    along: Callable[[Array], Masses] | None,
    target: float | None,
) -> tuple[Sensitivity, ...]:
    """Every number of the program, those with the steepest slope first.

    ``ends`` are, for the one answer or for its lower and upper value, the weights that attain
    it and the masses [1 + leaves]: as things are, then with each leaf certain. ``along``
    gives the masses of the question under weights [leaves, batch].
    """
    meaning = asked.meaning
    parts = [("qe", "e")] if meaning.maxent else [("a", "d"), ("b", "c")]
    sensitive: list[Sensitivity] = []
    every = [program_numbers(asked, weights) for weights, _ in ends]
    for position, number in enumerate(every[0]):
        slopes = []
        for side, ((_, masses), names) in enumerate(zip(ends, parts, strict=True)):
            slope = _slope(masses, names, every[side][position].direction, meaning)
            slopes.append(slope * number.rate)
        reach: tuple[float | None, ...] = ()
        if target is not None and along is not None:
            found = [_reach(asked, number, along, names, target, meaning) for names in parts]
            reach = tuple(None if value is None else number.shown(value) for value in found)
        bounds = tuple(map(number.shown, number.bounds))
        sensitive.append(Sensitivity(number.name, number.line, bounds, tuple(slopes), reach))
    return tuple(sorted(sensitive, key=lambda part: -max(map(abs, part.slope))))


def _slope(masses: Masses, names: tuple[str, str], direction: Weights, meaning: Meaning) -> float:
    """The derivative of an answer n / t along a direction of the weights."""
    (n, t), (up, down) = _fraction(masses[..., 0], names, meaning), (0.0, 0.0)
    if not t > 0:
        return 0.0
    for leaf in np.flatnonzero(direction).tolist():
        upper, lower = _fraction(masses[..., leaf + 1], names, meaning)
        up += direction[leaf] * upper
        down += direction[leaf] * lower
    return float((up * t - n * down) / t**2)


def _fraction(masses: Masses, names: tuple[str, str], meaning: Meaning) -> tuple[float, float]:
    """The numerator and the denominator of an answer."""
    number, other = (getattr(masses, name) for name in names)
    return float(number), float(other) if meaning.maxent else float(number + other)


def _reach(
    asked: Asked,
    number: ProgramNumber,
    along: Callable[[Array], Masses],
    names: tuple[str, str],
    target: float,
    meaning: Meaning,
) -> float | None:
    """The value nearest to the number's own at which the answer is the target; None without one."""
    degrees = min(number.choices, MOST_DEGREES)
    value = number.bounds[0]
    low, high = -value, number.most - value

    def at(steps: Array) -> Masses:
        columns = asked.weights[:, np.newaxis] + number.direction[:, np.newaxis] * steps
        return along(np.clip(columns, 0.0, 1.0))

    def distance(steps: Array) -> Array:
        masses = at(steps)
        part, other = (getattr(masses, name) for name in names)
        difference: Array = part - target * (other if meaning.maxent else part + other)
        return difference

    def reached(steps: Array) -> NDArray[np.bool_]:
        # The answer itself: where both masses of the fraction are 0, it is not any number.
        answer = lower_upper(at(steps), meaning)[names == ("b", "c")]
        close: NDArray[np.bool_] = np.abs(answer - target) <= near
        return close

    if not high > low:
        return None
    near = REACHED * min(target, 1.0 - target) + ROUNDED
    if reached(np.zeros(1))[0]:
        return value
    steps = _roots(distance, (low, high), degrees)
    steps = np.concatenate([steps, [low, high]])  # at an end the fraction may become 0 / 0
    good = steps[reached(steps)]
    return value + float(good[np.argmin(np.abs(good))]) if len(good) else None


def _roots(function: Callable[[Array], Array], ends: tuple[float, float], degrees: int) -> Array:
    """Where a polynomial of so many degrees is 0 between two ends."""
    low, high = ends
    nodes = np.cos(np.pi * (np.arange(degrees + 1) + 0.5) / (degrees + 1))
    values = function(low + (high - low) * (nodes + 1) / 2)
    fitted = Chebyshev.fit(nodes, values, degrees, domain=[-1, 1]).trim(1e-14)
    roots = [
        float(np.clip(root.real, -1, 1))
        for root in np.atleast_1d(fitted.roots())
        if abs(root.imag) < REAL and -1 - REAL <= root.real <= 1 + REAL
    ]
    steps = np.array([low + (high - low) * (root + 1) / 2 for root in roots])
    for _ in range(POLISH if len(steps) else 0):  # where there are more degrees than were fitted
        near, beside = function(steps), function(steps + STEP)
        slope = np.where(beside != near, (beside - near) / STEP, np.inf)
        steps = np.clip(steps - near / slope, low, high)
    return steps
