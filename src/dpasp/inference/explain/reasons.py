"""The reasons behind an answer: ways, total choices, and the effects of choices and numbers.

A total choice contributes to P(q | e) as far as its models satisfy q and e. Under maxent, its share
of the sum is P(θ)·N_qe/N. Under credal, it is P(θ) for each total choice that makes q and e
possible, which the upper value counts; the lower value counts those that make them ``sure``.

Masses are linear in the weights of a choice: m = Σ w·m(value certain). So the masses with one value
made certain give the answer in that case, the probability of the value given query and evidence,
and the derivative by each number of the program. As a function of one number, the answer is a ratio
of polynomials, whose degree is the number of its ground choices. It reaches a target at the roots
of a polynomial, which is interpolated.

>>> from dpasp import loads
>>> explanation = loads("0.3::a. 0.5::b. c :- a. c :- b.").explain("c", target=0.9)[0]
>>> [(number.name, round(number.reach[0], 3)) for number in explanation.sensitivity]
[('0.5::b', 0.857), ('0.3::a', 0.8)]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from heapq import nlargest
from itertools import islice

import numpy as np
from numpy.polynomial import Chebyshev
from numpy.typing import NDArray

from dpasp import circuits
from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, LimitReached, ProgramError, UsageError
from dpasp.ground.assemble import statement_weights
from dpasp.ground.program import (
    Choice,
    FixedWeights,
    GroundMap,
    GroundProgram,
    GroundQuery,
    IntervalWeights,
    Learned,
)
from dpasp.ground.text import DisplayNames
from dpasp.inference.answers import Answer, Assignment, interval_text, log10_of
from dpasp.inference.asked import TOP, Asked, inconsistent_choices
from dpasp.inference.circuit import (
    LOG_TINY,
    TINY,
    OnCircuit,
    extremes,
    on_circuit,
    too_improbable,
)
from dpasp.inference.exact import answered
from dpasp.inference.explain.explanation import (
    Contribution,
    Explanation,
    Explanations,
    Sensitivity,
    Tree,
    Way,
)
from dpasp.inference.explain.trees import Teller, Texts, TracedModel, TracedModels
from dpasp.inference.explain.ways import (
    Certainty,
    Partial,
    Ways,
    behind,
    certain_columns,
    unions,
)
from dpasp.inference.models import LN10, Outcomes, heaviest
from dpasp.inference.sampling.draws import ModelSource, contradictory
from dpasp.inference.tuning import EXACT, EXPLAIN
from dpasp.language import ast
from dpasp.language.ast import Mode
from dpasp.language.statements.weights import weight_variables
from dpasp.semantics import masses
from dpasp.semantics.dependencies import Exclusive, determined
from dpasp.semantics.leaves import (
    TotalChoice,
    Weights,
    choice_labels,
    ends,
    leaf_names,
    log_probability_of,
    most_probable_first,
)
from dpasp.semantics.masses import Array, Masses, joined, lower_upper
from dpasp.semantics.meaning import Meaning
from dpasp.semantics.translate import Weighed

REACHED = 1e-6  # how close to the target an answer must be, relative to the target (and 1 - target)
ROUNDED = 1e-12  # an absolute difference that is always allowed
REAL = 1e-7  # smaller imaginary parts are due to rounding
POLISH, STEP = 4, 1e-7  # how often a root is improved, and with which step


@dataclass(frozen=True, slots=True)
class ProgramNumber:
    """A number in the text of the program, and how the weights depend on it.

    If the number grows by δ, the weights grow by δ·``direction``; it can be from 0 to ``most``. The
    ``bounds`` are its value, or both ends of an interval. It belongs to so many ground ``choices``.
    """

    name: str
    line: int
    bounds: tuple[float, ...]
    most: float
    direction: Weights
    choices: int
    factor: bool = False  # whether it is a factor, p / (1 - p)

    def shown(self, value: float) -> float:
        if not self.factor:
            return value
        return value / (1.0 - value) if value < 1.0 else math.inf

    @property
    def rate(self) -> float:
        """The derivative of the probability p by the number as it is written."""
        return (1.0 - self.bounds[0]) ** 2 if self.factor else 1.0


def program_numbers(asked: Asked, weights: Weights) -> list[ProgramNumber]:
    """The numbers of a program under these weights, without the outputs of networks."""
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
    numbers = [_number(asked, weights, at, labels[at[0][0]][at[0][1]]) for at in groups.values()]
    return [number for number in numbers if number is not None]


def _key(asked: Asked, i: int, choice: Choice, k: int) -> tuple[object, ...] | None:
    """A key that ground choices share if they have the same number in the program.

    ``k`` is the position of the value. None for the output of a network.
    """
    match choice.weight:
        case Learned(parameter):
            return ("learned", parameter, k)
        case FixedWeights() | IntervalWeights():
            statement = asked.ground.program.statements[choice.statement]
            if isinstance(statement, ast.Plain | ast.FactorTable):
                return ("instance", i, k)  # a weak constraint, or a number of a table
            assert isinstance(statement, ast.Annotated | ast.Factor)
            weight = statement_weights(statement)[k]
            varies = any(True for _ in weight_variables(weight))
            return ("instance", i, k) if varies else ("written", choice.statement, k)
    return None


def _number(
    asked: Asked, weights: Weights, places: Sequence[tuple[int, int]], label: str
) -> ProgramNumber | None:
    """The number that belongs to some values of ground choices; None if it cannot change."""
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
    """How weights change with the number of these values of choices, and its maximum.

    What the number gains is taken from *nothing*, or else from all other values in proportion. None
    if there is no other value.
    """
    direction = np.zeros_like(weights)
    most = 1.0
    for i, k in places:
        choice, leaves = asked.ground.choices[i], asked.layout.of(i)
        value = float(weights[leaves.start + k])
        if isinstance(choice.weight, IntervalWeights) and len(choice.selectors) > 1:
            return None  # none of its probabilities can change alone
        if choice.nothing:
            others = float(weights[leaves].sum() - weights[leaves.stop - 1] - value)
            most = min(most, max(value, 1.0 - others))
            direction[leaves.start + k] += 1.0
            direction[leaves.stop - 1] -= 1.0
        elif len(choice.selectors) > 1 and value < 1:
            direction[leaves] -= weights[leaves] / (1.0 - value)
            direction[leaves.start + k] = 1.0
        else:
            return None  # it is certain: there is no other value
    return direction, most


def sensitivities(
    asked: Asked,
    ends: Sequence[tuple[Weights, Masses]],
    along: Callable[[Array], Masses],
    target: float | None,
) -> tuple[Sensitivity, ...]:
    """Every number of the program, those with the steepest slope first.

    ``ends`` has, for the answer or for its lower and upper value, the weights that attain it and
    the masses [1 + leaves]: the actual ones, and those with each leaf certain. ``along`` gives the
    masses of the question under weights [leaves, batch].
    """
    meaning = asked.meaning
    parts = [("qe", "e")] if meaning.maxent else [("a", "d"), ("b", "c")]
    sensitive: list[Sensitivity] = []
    every = [program_numbers(asked, weights) for weights, _ in ends]
    for position, number in enumerate(every[0]):
        slopes = []
        for side, ((_, at), names) in enumerate(zip(ends, parts, strict=True)):
            slope = _slope(at, names, every[side][position].direction, meaning)
            slopes.append(slope * number.rate)
        reach: tuple[float | None, ...] = ()
        if target is not None:
            found = [_reach(asked, number, along, names, target, meaning) for names in parts]
            reach = tuple(None if value is None else number.shown(value) for value in found)
        bounds = tuple(map(number.shown, number.bounds))
        sensitive.append(Sensitivity(number.name, number.line, bounds, tuple(slopes), reach))
    return tuple(sorted(sensitive, key=lambda part: -max(map(abs, part.slope))))


def _slope(masses: Masses, names: tuple[str, str], direction: Weights, meaning: Meaning) -> float:
    """The derivative of an answer n / t along a direction of the weights."""
    n, t = _fraction(masses, names, meaning)
    if not t[0] > 0:
        return 0.0
    leaves = np.flatnonzero(direction)
    up, down = ((direction[leaves] * end[leaves + 1]).sum() for end in (n, t))
    return float((up * t[0] - n[0] * down) / t[0] ** 2)


def _fraction(masses: Masses, names: tuple[str, str], meaning: Meaning) -> tuple[Array, Array]:
    """The numerator and the denominator of an answer."""
    number, other = (getattr(masses, name) for name in names)
    return number, other if meaning.maxent else number + other


def _reach(
    asked: Asked,
    number: ProgramNumber,
    along: Callable[[Array], Masses],
    names: tuple[str, str],
    target: float,
    meaning: Meaning,
) -> float | None:
    """The value nearest to the present one at which the answer is the target; None without one."""
    degrees = min(number.choices, EXPLAIN.degrees)
    value = number.bounds[0]
    low, high = -value, number.most - value

    def at(steps: Array) -> Masses:
        columns = asked.weights[:, np.newaxis] + number.direction[:, np.newaxis] * steps
        return along(np.clip(columns, 0.0, 1.0))

    def distance(steps: Array) -> Array:
        number, total = _fraction(at(steps), names, meaning)
        difference: Array = number - target * total
        return difference

    def reached(steps: Array) -> NDArray[np.bool_]:
        # The answer itself, since it is undefined where both masses of the fraction are 0.
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
    """Where a polynomial of this degree is 0 between two ends."""
    low, high = ends
    nodes = np.cos(np.pi * (np.arange(degrees + 1) + 0.5) / (degrees + 1))
    values = function(low + (high - low) * (nodes + 1) / 2)
    fitted = Chebyshev.fit(nodes, values, degrees, domain=[-1, 1]).trim(1e-14)
    roots = fitted.roots()
    real = roots.real[(abs(roots.imag) < REAL) & (abs(roots.real) <= 1 + REAL)]
    steps: Array = low + (high - low) * (np.clip(real, -1, 1) + 1) / 2
    for _ in range(POLISH if len(steps) else 0):  # the real degree may be higher
        near, beside = function(steps), function(steps + STEP)
        slope = np.where(beside != near, (beside - near) / STEP, np.inf)
        steps = np.clip(steps - near / slope, low, high)
    return steps


# --- explanations ---------------------------------------------------------------------------------


ROUNDING = 1e-12  # the relative error of a sum of masses
LOG_LARGEST = 700.0  # the largest logarithm of a floating-point number, about


def conditional_masses(asked: Asked, evaluator: OnCircuit, weights: Weights) -> Masses:
    """The masses [queries, 1 + leaves]: the actual ones, then those with each leaf certain."""
    sizes = np.diff(asked.layout.starts).tolist()
    single = [{choice: value} for choice, size in enumerate(sizes) for value in range(size)]
    return masses_given(asked, evaluator, weights, [{}, *single])


def masses_given(
    asked: Asked, evaluator: OnCircuit, weights: Weights, some: Sequence[Partial]
) -> Masses:
    """The masses [queries, sets] with the values of each set certain."""
    parts = []
    for first in range(0, len(some), EXACT.batch):
        columns = certain_columns(weights, asked.layout, some[first : first + EXACT.batch])
        parts.append(evaluator.masses(columns, asked.watch))
    return joined(parts)


def contributions(
    asked: Asked, names: Sequence[str], conditional: Masses
) -> tuple[Contribution, ...]:
    """What each value of a choice contributes to an answer, the largest changes first.

    ``conditional`` are the masses of the query from :func:`conditional_masses`. The prior is the
    probability of the value, under weighted that given the evidence.
    """
    weighed = isinstance(asked.ground, Weighed)
    factors = asked.ground.factor_choices if isinstance(asked.ground, Weighed) else ()
    mass, evidence = behind(conditional, asked.meaning.maxent), conditional.e
    certain = masses.lower_upper(conditional, asked.meaning)[: 1 if asked.meaning.maxent else 2]
    values = []
    for i, choice in enumerate(asked.ground.choices):
        start = asked.layout.starts[i]
        for leaf in range(start, start + len(choice.selectors)) if i not in factors else ():
            weight = float(asked.weights[leaf])
            prior = (
                min(1.0, weight * float(evidence[leaf + 1] / evidence[0])) if weighed else weight
            )
            after = min(1.0, weight * float(mass[leaf + 1] / mass[0])) if mass[0] > 0 else None
            numbers = [float(end[leaf + 1]) for end in certain if not np.isnan(end[leaf + 1])]
            values.append(Contribution(names[leaf], prior, after, tuple(numbers)))

    def surprise(contribution: Contribution) -> float:
        after = contribution.posterior
        return 0.0 if after is None else abs(after - contribution.prior)

    return tuple(sorted(values, key=surprise, reverse=True))


def explain(
    asked: Asked, texts: Texts, top: int = TOP, target: float | None = None
) -> Explanations:
    """An explanation of every answer to a query, with at most ``top`` ways of each kind.

    ``texts`` are the rules of the same program with their instances. With a ``target``, the results
    say what each number of the program must be for the answer to be the target. ``#map`` and
    ``#mpe`` are left out, with a warning.

    Raises :class:`ProgramError` if there is no other question, :class:`UsageError` for an
    impossible ``target``, and :class:`InferenceError` if masses are lost in floating point.
    """
    left_out = _left_out(asked.ground)
    asked = asked.one_row().with_questions(asked.queries)
    _check_target(asked, target)
    reasons = Reasons(asked, texts)
    answers = answered(asked, reasons.evaluator, 0.0)
    explanations = []
    for i, answer in enumerate(answers.answers):
        assert isinstance(answer, Answer)
        explanations.append(reasons.explanation(i, answer, top, target))
    lost = answers.inconsistent if reasons.weighed is None else 0.0
    warnings = (
        *asked.ground.warnings,
        *left_out,
        *answers.warnings,
        *reasons.cut_off,
        *inconsistent_choices(lost, answers.precision),
    )
    return Explanations(tuple(explanations), lost, warnings)


def _applying(asked: Asked, ground: Weighed, total: TotalChoice) -> tuple[str, ...]:
    """The factors that apply in the model of a total choice, as sentences."""
    logs: dict[tuple[str, int], float] = {}  # a very large factor is several choices
    for i in ground.factor_choices:
        if total[i] == 0:
            choice = ground.choices[i]
            share, *rest = asked.weights[asked.layout.of(i)].tolist()
            other = rest[0] if rest else 1.0 - share
            line = ground.program.statements[choice.statement].span.line
            key = (choice.labels[0], line)
            log = math.log(share) - math.log(other) if other > 0 else math.inf
            logs[key] = logs.get(key, 0.0) + log
    return tuple(
        f"{label} (line {line}) applies: the model weighs "
        f"{f'{math.exp(log):.6g}' if abs(log) < LOG_LARGEST else f'10^{log / LN10:.6g}'} "
        "times as much"
        for (label, line), log in logs.items()
    )


def _cut_off(query: GroundQuery, found: int) -> Diagnostic:
    many = f"after {found} of them, and others may be more probable"
    known = many if found else "with none found"
    return Diagnostic(
        "stopped-early",
        f"the search for what must be chosen for {query.text} was stopped {known}",
        query.span,
        "ask for less: fewer ways (--top), or a query that depends on fewer choices",
        severity="warning",
    )


def _check_target(asked: Asked, target: float | None) -> None:
    """Raise :class:`UsageError` for a target that is not a probability, or with intervals."""
    if target is None:
        return
    if not 0 <= target <= 1:
        raise UsageError(f"a probability cannot be {target:g}", help="give a target from 0 to 1")
    if asked.has_intervals:
        raise UsageError(
            "a target needs single probabilities, not intervals",
            help="give one probability, such as an end of the interval; without a target, "
            "the slopes are known for intervals too",
        )


def _left_out(ground: GroundProgram) -> list[Diagnostic]:
    """Warnings that ``#map`` and ``#mpe`` are left out; an error if there is no other question."""
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


class Reasons:
    """What is behind the answers to some queries.

    Under weighted there are no ways: models have weights, and no choice makes a query sure.
    """

    def __init__(self, asked: Asked, texts: Texts) -> None:
        ground, meaning, cache = asked.ground, asked.meaning, circuits.Cache.default()
        self.asked, self.texts = asked, texts
        self.weighed = ground if isinstance(ground, Weighed) else None
        self.evaluator = on_circuit(ground, meaning, cache=cache, watch=asked.watch)
        joint, together = self.evaluator, tuple(map(_together, asked.queries))
        if together != asked.queries:
            other = replace(ground, questions=together)
            joint = on_circuit(other, meaning, cache=cache, watch=asked.watch)
        # It is about query and evidence together, without evidence; a, b, c and d are always known.
        self.joint = joint if self.weighed else replace(joint, meaning=Meaning(meaning.logic))
        self.names = leaf_names(ground)
        self.low, self.high = ends(ground, asked.weights)  # of the leaves, one by one
        self.cut_off: list[Diagnostic] = []  # about searches that were stopped
        self._rows = Exclusive(ground)
        self._attained = extremes(asked, self.evaluator) if asked.has_intervals else []

    def explanation(self, i: int, answer: Answer, top: int, target: float | None) -> Explanation:
        """What is behind the answer to one query."""
        asked, query = self.asked, self.asked.queries[i]
        conditional = None if asked.has_intervals else self._conditional[i]
        total = None
        if conditional is not None:
            if self._too_small(i, conditional):
                cause = f"ℙ({query.text}) or its evidence"
                if self.weighed is not None:
                    cause = f"what is behind ℙ({query.text}), with a choice for each factor,"
                raise too_improbable("an explanation", cause)
            total = float(behind(conditional, asked.meaning.maxent)[0])
        ways: tuple[Way, ...] = ()
        covered = best = failing = None
        if self.weighed is not None:
            choices, complete = self._heaviest(i, self.weighed, top), True
        else:
            search = Ways(self.joint, i, self.high, asked.watch, self._rows)
            ways, covered = self._ways(i, search, total, top)
            choices, complete = self._total_choices(i, total, top)
            if not search.complete:
                self.cut_off.append(_cut_off(query, len(ways)))
            complete = complete and search.complete
            best, failing = search.best, None if query.evidence else search.failing
        return Explanation(
            answer,
            ways,
            () if conditional is None else contributions(asked, self.names, conditional),
            complete,
            choices,
            covered,
            self._sensitivity(i, conditional, target),
            target,
            self._tree(query, i, True, best),
            self._tree(query, i, False, failing),
        )

    @cached_property
    def _conditional(self) -> Masses:
        """The masses with each leaf certain in turn, if no probability is an interval."""
        return conditional_masses(self.asked, self.evaluator, self.asked.weights)

    @cached_property
    def _determined(self) -> NDArray[np.bool_]:
        return determined(self.asked.ground.rules, len(self.asked.ground.symbols))

    @cached_property
    def _outcomes(self) -> Outcomes:
        return Outcomes(self.asked)

    @cached_property
    def _models(self) -> TracedModels:
        meaning = Meaning(self.asked.meaning.logic)
        return TracedModels(replace(self.asked, ground=self.texts.traced.ground, meaning=meaning))

    # --- trees ---------------------------------------------------------------------------------

    def _tree(self, query: GroundQuery, i: int, wanted: bool, guide: Partial | None) -> Tree | None:
        """Why the query holds in a model where it does, or why not in one where it does not.

        It lists the values of choices that matter there: not those of choices whose body does not
        hold, such as other rows of a table.
        """
        asked, traced, layout, outer = self.asked, self.texts.traced, self.asked.layout, None
        factors: tuple[str, ...] = ()
        if self.weighed is None:
            found = self._likeliest_model(query, i, wanted, guide)
        elif found := self._heaviest_model(query, self.weighed, wanted):
            outer, factors = self.weighed.outer, _applying(asked, self.weighed, found[0])
        if found is None:
            return None
        choice, model = found
        chances = [None if p is None else asked.weights[layout.of(p)] for p in traced.places]
        teller = Teller(self.texts, model, DisplayNames.of(asked.ground.program), chances)
        pairs = zip(traced.places, traced.ground.choices, strict=True)
        idle = {place for place, each in pairs if not teller.here.body_holds(each)}
        values = enumerate(zip(layout.starts, choice[:outer], strict=False))
        chosen = tuple(self.names[s + value] for p, (s, value) in values if p not in idle)
        tree = teller.query(traced.literals(query.literals))
        return replace(tree, chosen=chosen, factors=factors)

    def _likeliest_model(
        self, query: GroundQuery, i: int, wanted: bool, guide: Partial | None
    ) -> tuple[TotalChoice, TracedModel] | None:
        """The first suitable model of the most probable total choice that has one.

        If none of the first total choices has one, those with the values of the ``guide`` follow.
        """
        traced = self.texts.traced
        literals, evidence = traced.literals(query.literals), traced.literals(query.evidence)
        for choice in self._candidates(guide):
            try:
                outcome = Masses.of(self._outcomes.of(choice))[i]
            except LimitReached:
                return None
            if (outcome.b if wanted else outcome.d) > 0:
                total = traced.total_choice(choice)
                if model := self._models.first(total, evidence, literals, wanted):
                    return choice, model
        return None

    def _heaviest_model(
        self, query: GroundQuery, ground: Weighed, wanted: bool
    ) -> tuple[TotalChoice, TracedModel] | None:
        """The suitable model of the largest weight, under weighted."""
        cases = [(*query.evidence, *query.literals)]
        if not wanted:  # one of the literals has another value
            modes = ((mode, lit) for lit in query.literals for mode in Mode if mode is not lit.mode)
            cases = [(*query.evidence, lit._replace(mode=mode)) for mode, lit in modes]
        found: list[tuple[float, TotalChoice, Assignment]] = []
        try:
            for literals in cases:
                if contradictory(literals):
                    continue
                given = replace(ground, evidence=literals)
                there = replace(self.asked, ground=given)
                for choice in islice(heaviest(there, given, sort=False), 1):
                    log = log_probability_of(choice, self.asked.weights, self.asked.layout.starts)
                    models = ModelSource(there).of(choice).kept
                    found += [(log, choice, values) for values in models]
        except LimitReached:
            return None
        if not found:
            return None
        _, choice, values = max(found, key=lambda model: model[0])
        own = self.texts.traced.total_choice(choice[: ground.outer])
        model = self._models.like(own, values)
        return None if model is None else (choice, model)

    def _candidates(self, guide: Partial | None) -> Iterator[TotalChoice]:
        """The total choices to search for a suitable model, the most probable ones first."""
        starts = self.asked.layout.starts
        first, most = EXPLAIN.likeliest, self._most
        yield from islice(most_probable_first(self.high, starts), first)
        if guide is not None:
            columns = certain_columns(self.high, self.asked.layout, [guide])
            yield from islice(most_probable_first(columns[:, 0], starts), first)
        yield from islice(most_probable_first(self.high, starts), first, max(first, most))

    # --- ways ----------------------------------------------------------------------------------

    def _ways(
        self, i: int, search: Ways, total: float | None, top: int
    ) -> tuple[tuple[Way, ...], float | None]:
        """The most probable ways, and the share that they cover together."""
        if total == 0:
            return (), None
        query = self.asked.queries[i]
        every = [(way, True) for way in search.find(Certainty.SURE, top)]
        if not all(self._determined[lit.atom] for lit in (*query.literals, *query.evidence)):
            known = [way for way, _ in every]  # for a determined query, these ways are the same
            possible = search.find(Certainty.POSSIBLE, top)
            every += [(way, False) for way in possible if way not in known]
        if not every:
            return (), None
        sets = [way for way, _ in every]
        given = self._given(i, sets)
        ways = [
            self._way(way, is_sure, float(mass), total)
            for (way, is_sure), mass in zip(every, given, strict=True)
        ]
        ways.sort(key=lambda way: (-(way.logs or (0.0,))[-1], len(way.values), not way.sure))
        return tuple(ways), self._covered(i, total, sets)

    def _way(self, way: Partial, sure: bool, given: float, total: float | None) -> Way:
        """A way; ``given`` is the mass behind the answer if its values are certain.

        ``total`` is the whole mass behind the answer; None with intervals.
        """
        starts = self.asked.layout.starts
        places = [starts[choice] + value for choice, value in sorted(way.items())]
        names = tuple(self.names[place] for place in places)
        low, high = float(np.prod(self.low[places])), float(np.prod(self.high[places]))
        with np.errstate(divide="ignore"):
            logs = [float(np.log10(side[places]).sum()) for side in (self.low, self.high)]
        bounds, known = ((low, high), tuple(logs)) if logs[0] < logs[1] else ((high,), (logs[1],))
        if total is None:
            return Way(names, bounds, None, sure, known)
        log_share = min(0.0, logs[1] + log10_of(given) - log10_of(total))
        return Way(names, bounds, min(1.0, high * given / total), sure, known, log_share)

    def _covered(self, i: int, total: float | None, some: Sequence[Partial]) -> float | None:
        """The share of the answer that the ways cover together."""
        if total is None or len(some) > EXPLAIN.covering:
            return None
        signs, sets = zip(*unions(some), strict=True)
        weights, starts = self.asked.weights, self.asked.layout.starts
        chances = [np.prod([weights[starts[c] + v] for c, v in way.items()]) for way in sets]
        mass = float(np.dot(signs, np.array(chances) * self._given(i, sets)))
        return min(1.0, max(0.0, mass / total))

    def _given(self, i: int, some: Sequence[Partial]) -> Array:
        """The masses behind the answer if the values of each set are certain."""
        asked = self.asked
        found = masses_given(asked, self.evaluator, asked.weights, some)[i]
        return behind(found, asked.meaning.maxent)

    @property
    def _most(self) -> int:
        """How many total choices are tried: fewer if each has many values."""
        each = max(1, len(self.asked.ground.choices))
        return max(1, min(EXPLAIN.total_choices, EXPLAIN.values // each))

    # --- total choices -------------------------------------------------------------------------

    def _total_choices(self, i: int, total: float | None, top: int) -> tuple[tuple[Way, ...], bool]:
        """The total choices with the largest shares, and whether that is certain."""
        largest: list[tuple[float, Way]] = []
        if total == 0 or top < 1:
            return (), True
        starts, maxent = self.asked.layout.starts, self.asked.meaning.maxent
        left = math.inf if total is None else total  # the mass behind the answer not seen yet
        for seen, choice in enumerate(most_probable_first(self.high, starts)):
            chance = log_probability_of(choice, self.high, starts)
            if len(largest) == top and chance <= largest[-1][0]:
                break  # no later one has a larger share
            try:
                outcome = Masses.of(self._outcomes.of(choice))[i]
            except LimitReached:
                return tuple(way for _, way in largest), False
            given = float(behind(outcome, maxent))
            if given > 0:
                way = self._way(dict(enumerate(choice)), bool(outcome.a > 0), given, total)
                pair = (chance + math.log(given), way)
                largest = nlargest(top, [*largest, pair], key=lambda pair: pair[0])
                left -= math.exp(pair[0])
            if seen >= EXPLAIN.likeliest and total and left < ROUNDING * total:
                break  # the shares of the others are negligible
            if seen + 1 >= self._most:
                return tuple(way for _, way in largest), False
        return tuple(way for _, way in largest), True

    def _heaviest(self, i: int, ground: Weighed, top: int) -> tuple[Way, ...]:
        """The heaviest models of query and evidence, as values of choices and guesses."""
        asked, starts = self.asked, self.asked.layout.starts
        logs = self.joint.masses(asked.columns, asked.watch, log=True)
        total = float(logs.consistent[i, 0])
        mass = float(logs.qe[i, 0]) - total
        together = replace(ground, evidence=_together(asked.queries[i]).literals)
        shown = [i for i in range(len(ground.choices)) if i not in ground.factor_choices]
        ways = []
        for choice in islice(heaviest(replace(asked, ground=together), together), top):
            log = log_probability_of(choice, asked.weights, starts) - total
            values = tuple(self.names[starts[i] + choice[i]] for i in shown)
            share = math.exp(min(log - mass, 0.0))
            ways.append(Way(values, (math.exp(log),), share, True, (log / LN10,)))
        return tuple(ways)

    # --- choices and numbers -------------------------------------------------------------------

    def _too_small(self, i: int, conditional: Masses) -> bool:
        """Whether masses that matter here are too small for floating point."""
        asked, meaning = self.asked, self.asked.meaning
        if self.weighed:
            return not conditional.e[0] > TINY
        evidence = masses.evidence_mass(conditional, meaning)
        if min(behind(conditional, meaning.maxent)[0], evidence[0]) >= TINY:
            return False
        logs = self.evaluator.masses(asked.columns, asked.watch, log=True)[i, 0]
        some = (logs.qe, logs.e) if meaning.maxent else (logs.b, logs.d)
        return any(-np.inf < mass < LOG_TINY for mass in some)

    def _sensitivity(
        self, i: int, conditional: Masses | None, target: float | None
    ) -> tuple[Sensitivity, ...]:
        """The numbers of the program, those that change the answer most first."""
        asked = self.asked
        if conditional is not None:
            ends = [(asked.weights, conditional)] * (1 if asked.meaning.maxent else 2)
        else:
            attained = (self._attained[i].lower_at, self._attained[i].upper_at)
            every = [at for at in attained if at is not None]
            ends = [(at, conditional_masses(asked, self.evaluator, at)[i]) for at in every]
            if len(ends) < 2:
                return ()

        def along(columns: Array) -> Masses:
            return self.evaluator.masses(columns, asked.watch)[i]

        return sensitivities(asked, ends, along, target)


def _together(query: GroundQuery) -> GroundQuery:
    """Query and evidence as one query without evidence."""
    if not query.evidence:
        return query
    literals = tuple(dict.fromkeys((*query.literals, *query.evidence)))
    return replace(query, literals=literals, evidence=())
