"""Total choices one at a time: their models, and the masses of questions.

A total choice is the tuple of the values of the choices: positions among their leaves.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from itertools import islice

import numpy as np

from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, ImpossibleEvidence, SizeLimit, UsageError
from dpasp.ground.program import GroundProgram, GroundQuery, Rule
from dpasp.ground.solve import Solver, cheapest
from dpasp.ground.text import Shown
from dpasp.inference.answers import SMALLEST, Assignment, bounds_text
from dpasp.inference.asked import Asked
from dpasp.inference.circuit import on_circuit
from dpasp.inference.enumerate import (
    ALWAYS,
    Bits,
    Reader,
    enumerate_models,
    least_undefined,
    live_groups,
    shares_of_masses,
)
from dpasp.inference.sampling.draws import ModelSource, contradictory
from dpasp.inference.tuning import EXACT
from dpasp.semantics.leaves import (
    TotalChoice,
    ends,
    leaf_names,
    log_probability_of,
    most_probable_first,
    probability_of,
    selector_literals,
)
from dpasp.semantics.masses import (
    FIELDS,
    Array,
    Masses,
    completed,
    impossible_evidence,
    no_models,
)
from dpasp.semantics.translate import Weighed, translate
from dpasp.writing import harmless

LN10 = math.log(10.0)
SCALE = 1_000_000  # costs are whole numbers: so many for a factor of e
CLOSE = 1e-10  # probabilities whose logarithms differ by less count as equal
LOG_ENDS = ("log10_lower", "log10_upper")


@dataclass(frozen=True, slots=True)
class Model:
    """A model: the total choice it belongs to, its probability, and what is shown of it.

    The probability is that of the total choice, which all its models share, or its lowest and
    highest value with intervals. Under weighted, it is that of the model. ``logs`` (base 10) are
    the logarithms of the probability, which may be too small for a double.
    """

    choice: tuple[str, ...]
    probability: tuple[float, ...]
    true: tuple[str, ...]
    undefined: tuple[str, ...]
    values: Assignment  # of all atoms, shown or not
    logs: tuple[float, ...] = ()

    @property
    def log10(self) -> float | None:
        """The logarithm of the probability; None where that is an interval."""
        return self.logs[0] if len(set(self.logs)) == 1 else None

    def to_dict(self) -> dict[str, object]:
        """The JSON form."""
        low, high = self.probability[0], self.probability[-1]
        bounds = {"probability": low} if low == high else {"lower": low, "upper": high}
        if low < SMALLEST and self.logs and self.logs[-1] > -math.inf:
            ends = [None if log == -math.inf else log for log in self.logs]
            alone = ends[0] == ends[-1]
            logs = {"log10": ends[0]} if alone else dict(zip(LOG_ENDS, ends, strict=True))
            bounds = {**bounds, **{k: v for k, v in logs.items() if v is not None}}
        record: dict[str, object] = {"choice": list(self.choice), **bounds, "true": list(self.true)}
        return record | ({"undefined": list(self.undefined)} if self.undefined else {})

    @property
    def choice_text(self) -> str:
        """The total choice and its probability, in a line."""
        taken = ", ".join(self.choice) or "no choice"
        return f"{taken}  {bounds_text(self.probability, self.logs or None)}"

    def __str__(self) -> str:
        return harmless(" ".join([*self.true, *(f"undef({name})" for name in self.undefined)]))


def models(asked: Asked, shown: Shown) -> Iterator[Model]:
    """The models that satisfy the program's evidence, as they are found.

    Models of a total choice that agree on all ``#project`` atoms count as one. Raises
    :class:`ImpossibleEvidence` if the evidence contradicts itself.
    """
    ground, weights = asked.ground, asked.weights
    if contradictory(ground.evidence):
        raise ImpossibleEvidence(impossible_evidence(ground.evidence))
    if isinstance(ground, Weighed):
        if shown.projected is not None and shown.only is None:
            yield from best_models(asked, shown, None)  # which adds the weights up
            return
        yield from _weighed_models(asked, ground, shown)
        return
    shown = shown.within(ground)
    source = ModelSource(asked)
    names = leaf_names(ground)
    sides = ends(ground, weights) if asked.has_intervals else (weights,)
    for choice in most_probable_first(weights, source.starts):
        asked.watch.check()
        taken = tuple(names[start + value] for start, value in zip(source.starts, choice))  # noqa: B905
        probability = tuple(probability_of(choice, end, source.starts) for end in sides)
        logs = tuple(log_probability_of(choice, end, source.starts) / LN10 for end in sides)
        listed: set[_Seen] = set()
        for values in source.each(choice):
            true, undefined = tuple(shown.names(values)), tuple(shown.names(values, "undef"))
            if shown.only is not None:
                if (true, undefined) in listed:
                    continue
                listed.add((true, undefined))
            yield Model(taken, probability, true, undefined, _own(values, shown), logs)


def _weighed_models(asked: Asked, ground: Weighed, shown: Shown) -> Iterator[Model]:
    """The models under weighted, each with its own probability, the most probable first."""
    source = ModelSource(asked)
    names, starts = leaf_names(ground), source.starts
    total = _log_total(asked)
    if total == -math.inf:
        raise no_models()
    for choice in heaviest(asked, ground):
        asked.watch.check()
        log = log_probability_of(choice, asked.weights, starts) - total
        taken = tuple(names[start + value] for start, value in zip(starts, choice[: ground.outer]))  # noqa: B905
        for values in source.of(choice).kept:
            true, undefined = shown.names(values), shown.names(values, "undef")
            probability = (math.exp(min(log, 0.0)),)
            yield Model(taken, probability, tuple(true), tuple(undefined), values, (log / LN10,))


def best_models(asked: Asked, shown: Shown, most: int | None) -> list[Model]:
    """The ``most`` probable models (None: all), each with its own probability.

    Models that show the same atoms count as one, with the sum of their probabilities. Under credal,
    there is a lower and an upper probability, and the largest upper ones come first. If the atoms
    shown distinguish total choices, only those that can still matter are considered. Raises
    :class:`UsageError` if probabilities that are intervals would have to be added.
    """
    ground = asked.ground
    shown = shown.within(ground)
    apart = _tells_apart(asked, shown)
    lines: dict[_Seen, Model] = {}
    if isinstance(ground, Weighed):
        every = models(asked, shown)
        for model in islice(every, most) if apart and not shown.hides else every:
            _add(lines, replace(model, values=_own(model.values, shown)))
        return _ranked(lines, most)
    if contradictory(ground.evidence):
        raise ImpossibleEvidence(impossible_evidence(ground.evidence))
    source = ModelSource(asked)
    names = leaf_names(ground)
    sides = [asked.weights] if asked.meaning.maxent else [asked.weights] * 2
    if asked.has_intervals:
        sides = [*ends(ground, asked.weights)]
    for choice in most_probable_first(sides[-1], source.starts):
        asked.watch.check()
        logs = [log_probability_of(choice, end, source.starts) for end in sides]
        enough = None
        if apart and most is not None and len(lines) >= most:
            best = _ranked(lines, most)
            lines = {(model.true, model.undefined): model for model in best}
            enough = best[-1].logs[-1] * LN10 + CLOSE
            if logs[-1] <= enough:
                break
        chances = [probability_of(choice, end, source.starts) for end in sides]
        found, total = _counts(source, choice, shown, logs[-1], enough, most, apart)
        taken = tuple(names[start + value] for start, value in zip(source.starts, choice))  # noqa: B905
        for key, (count, first) in found.items():
            shares = [count / total] * len(sides)
            if not asked.meaning.maxent:
                shares = [float(count == total), 1.0]
            probability = tuple(np.multiply(chances, shares).tolist())
            tens = tuple(
                (log + _log(share)) / LN10 for log, share in zip(logs, shares, strict=True)
            )
            model = Model(taken, probability, *key, first, tens)
            if key in lines and asked.has_intervals:
                message = f"models that show {str(model) or 'no atom'} have intervals to be added"
                help = "show the atoms of all choices, or ask for what is shown with #query"
                raise UsageError(Diagnostic("usage", message, help=help))
            _add(lines, model)
    return _ranked(lines, most)


_Seen = tuple[tuple[str, ...], tuple[str, ...]]  # the atoms that are shown: true, undefined


def _counts(
    source: ModelSource,
    choice: TotalChoice,
    shown: Shown,
    log: float,
    enough: float | None,
    most: int | None,
    apart: bool,
) -> tuple[dict[_Seen, tuple[int, Assignment]], int]:
    """What the models of a total choice show, with their count and the first one; and their number.

    If the shown atoms distinguish total choices, this ends as soon as further models do not matter:
    none can be more probable than ``enough``, or under credal, ``most`` have been found.
    """
    found: dict[_Seen, tuple[int, Assignment]] = {}
    total, maxent = 0, source.meaning.maxent
    with closing(source.parts(choice)) as parts:
        for part in parts:
            source.watch.check()
            total += part.total
            for values in part.kept:
                if not shown.hides and most is not None and apart and len(found) >= most:
                    break  # the others are as probable as those
                key = (tuple(shown.names(values)), tuple(shown.names(values, "undef")))
                count, first = found.get(key) or (0, _own(values, shown))
                found[key] = count + 1, first
            if not apart:
                continue
            if maxent and not shown.hides and enough is not None and log - _log(total) <= enough:
                return {}, total
            enough_found = most is not None and len(found) >= most
            if not maxent and enough_found and min(count for count, _ in found.values()) < total:
                break
    return found, total


def _log(number: float) -> float:
    return math.log(number) if number > 0 else -math.inf


def _own(values: Assignment, shown: Shown) -> Assignment:
    """The values, without the atoms that stand for what ``#project`` names."""
    return {k: v for k, v in values.items() if not (shown.project and shown.is_project(k))}


def _add(lines: dict[_Seen, Model], model: Model) -> None:
    """Add a model to those that show the same atoms."""
    key = (model.true, model.undefined)
    before = lines.get(key)
    if before is not None:
        probability = tuple(map(sum, zip(before.probability, model.probability, strict=True)))
        pairs = zip(before.logs, model.logs, strict=True)
        logs = tuple(float(np.logaddexp(a * LN10, b * LN10)) / LN10 for a, b in pairs)
        taken = before.choice if before.choice == model.choice else ()
        model = replace(before, choice=taken, probability=probability, logs=logs)
    lines[key] = model


def _ranked(lines: Mapping[_Seen, Model], most: int | None) -> list[Model]:
    """The most probable models, by upper probability, then by lower probability."""
    ranked = sorted(lines.values(), key=lambda m: (m.logs[-1], m.logs[0]), reverse=True)
    return ranked[:most]


def _tells_apart(asked: Asked, shown: Shown) -> bool:
    """Whether models of different total choices always show different atoms.

    They do if every value of a choice is an atom that is shown and that nothing else derives.
    """
    ground = asked.ground
    if asked.meaning.has_undefined_model or (isinstance(ground, Weighed) and ground.by_table):
        return False  # those without stable models show the same
    rules: dict[int, list[Rule]] = {}
    for rule in ground.rules:
        for atom in rule.head:
            rules.setdefault(atom, []).append(rule)
    names = {atom: str(symbol) for symbol, atom in ground.atoms.items()}
    terms = {shown.text(name) for name in names.values() if shown.is_term(name)}
    choices = ground.choices[: ground.outer] if isinstance(ground, Weighed) else ground.choices
    return all(
        rules.get(head) == [Rule((head,), (selector,))]
        and head in names
        and (text := shown.text(names[head])) is not None
        and text not in terms
        for choice in choices
        for head, selector in zip(choice.heads, choice.selectors, strict=True)
    )


def _log_total(asked: Asked) -> float:
    """The logarithm of the mass of all models, whatever the evidence."""
    everything = GroundQuery((), (), "", None)
    ground = replace(asked.ground, questions=(everything,))
    evaluator = on_circuit(ground, asked.meaning, watch=asked.watch)
    return float(evaluator.masses(asked.columns, asked.watch, log=True).e[0, 0])


def heaviest(asked: Asked, ground: Weighed, sort: bool = True) -> Iterator[TotalChoice]:
    """The total choices with a model that satisfies the evidence, the most probable first.

    If there are few, all are enumerated and sorted. Otherwise, or without ``sort``, each is found
    by optimisation, excluding those before it.
    """
    if not (sort or ground.by_table):
        yield from _best_first(asked, ground)
        return
    alone = replace(ground, questions=(GroundQuery((), ground.evidence, "", None),))
    try:
        most = None if ground.by_table else EXACT.sorted_models
        found = enumerate_models(alone, asked.meaning, most=most, watch=asked.watch)
    except SizeLimit:
        if ground.by_table:
            raise
        yield from _best_first(asked, ground)
        return
    table = found.table
    holds = table.models(found.queries[0].evidence) > 0
    logs = np.where(holds, table.log_probabilities(asked.columns)[:, 0], -np.inf)
    for row in np.argsort(-logs, kind="stable"):
        if logs[row] == -np.inf:
            return
        yield tuple(table.values[row].tolist())


def _best_first(asked: Asked, ground: Weighed) -> Iterator[tuple[int, ...]]:
    """The same by optimisation, which compares probabilities up to rounding."""
    translation = translate(ground, asked.meaning.logic, asked.watch)
    evidence = translation.conjunction(ground.evidence)
    if evidence is None:
        return
    costs, extra, _ = value_costs(asked, translation.size)
    rules = [*translation.rules, *extra, *(Rule((), (-literal,)) for literal in evidence)]
    read = [selector for choice in ground.choices for selector in choice.selectors]
    groups = live_groups(ground)
    while (optimum := cheapest(rules, groups, costs, read, asked.watch)) is not None:
        asked.watch.check()
        row = optimum.rows[-1].tolist()
        truth = dict(zip(read, row, strict=True))
        yield total_choice(ground, truth)
        rules.append(Rule((), tuple(s if true else -s for s, true in truth.items())))


def total_choice(ground: GroundProgram, truth: Mapping[int, bool]) -> TotalChoice:
    """The total choice in which the selectors have these truth values."""
    return tuple(
        next((v for v, s in enumerate(c.selectors) if truth[s]), len(c.selectors))
        for c in ground.choices
    )


def value_costs(asked: Asked, size: int) -> tuple[list[tuple[int, int]], list[Rule], float]:
    """The costs of literals, rules, and the logarithm of the probability of all best values.

    The cost of a value says how much less probable it is than the best value of its choice. The
    rules define a literal for the value *nothing*. Costs are rounded down, so that no total choice
    is more probable than they imply.
    """
    costs, extra, free = [], list[Rule](), 0.0
    for i, choice in enumerate(asked.ground.choices):
        with np.errstate(divide="ignore"):
            logs = np.log(asked.weights[asked.layout.of(i)])
        top = float(logs.max())
        free += top
        for value, log in enumerate(logs.tolist()):
            cost = int((top - log) * SCALE) if log > -math.inf else 0  # impossible: left out
            if not cost:
                continue
            literal = choice.selectors[value] if value < len(choice.selectors) else 0
            if not literal and len(choice.selectors) == 1:
                literal = -choice.selectors[0]
            elif not literal:
                literal = size + len(extra)
                extra.append(Rule((literal,), tuple(-s for s in choice.selectors)))
            costs.append((literal, cost))
    return costs, extra, free


class Outcomes:
    """The masses of total choices, each solved once."""

    def __init__(self, asked: Asked, most: int | None = None) -> None:
        """At most ``most`` models of a total choice are read."""
        ground, meaning, watch = asked.ground, asked.meaning, asked.watch
        self.ground = ground
        self.meaning = meaning
        self.watch = watch
        self.queries = asked.queries
        self.starts = asked.layout.starts
        reader = Reader(translate(ground, meaning.logic, watch))
        self._conditions = [reader.query(query) for query in self.queries]
        self._least, self._width = reader.translation.least, len(reader.read)
        if self._least:
            reader.read_undefined()
        groups = live_groups(ground)
        self._possible = {atom for group in groups for atom in group.atoms}
        rules = (*reader.translation.rules, *reader.rules)
        self._solver = Solver(rules, groups, reader.read, project=not meaning.maxent)
        # If all models agree on the questions, they need not be counted: that is tested first.
        self._agreeing = None
        if most is not None and meaning.maxent:
            self._agreeing = Solver(rules, groups, reader.read, project=True)
        self._most = most
        self._known: dict[TotalChoice, Array] = {}

    def __len__(self) -> int:
        return len(self._known)

    def of(self, choice: TotalChoice) -> Array:
        """The masses [9, queries] of one total choice; SizeLimit if it has too many models."""
        masses = self._known.get(choice)
        if masses is None:
            self.watch.check()
            values, found = self._shares(selector_literals(self.ground, choice, self._possible))
            lost = np.full(len(self.queries), float(not found))
            whole = completed(Masses.of(values, lost), self.meaning, self.queries)
            masses = self._known[choice] = whole.array()
        return masses

    def _shares(self, assumed: list[int]) -> tuple[Array, bool]:
        """The masses [7, queries] of a total choice, and whether it has a model."""
        if self._agreeing is not None:
            values, found = self._read(self._models(self._agreeing, assumed))
            if np.isin(values, (0.0, 1.0)).all():
                return values, found
        return self._read(self._models(self._solver, assumed))

    def _read(self, bits: Bits) -> tuple[Array, bool]:
        """The masses [7, queries] from rows of models, and whether there is one."""
        if self._least:  # without columns for choices, as all rows belong to this total choice
            bits = bits[least_undefined(bits[:, :0], bits[:, self._width :])]
        values = np.zeros((len(FIELDS), len(self.queries)))
        for i, conditions in enumerate(self._conditions if len(bits) else ()):
            every = (ALWAYS, conditions.both, conditions.evidence)
            counts = np.array([np.count_nonzero(condition.holds(bits)) for condition in every])
            values[:, i] = shares_of_masses(*counts)
        return values, bool(len(bits))

    def _models(self, solver: Solver, assumed: list[int]) -> Bits:
        """The models of a total choice, as rows."""
        if self._most is None:
            return solver.models(assumed, self.watch)
        found: list[Bits] = []
        with closing(solver.blocks(assumed, self.watch)) as blocks:
            for block in blocks:
                found.append(block)
                if sum(map(len, found)) > self._most:
                    raise SizeLimit(f"a total choice has more than {self._most:,} models")
        return np.concatenate([*found, np.empty((0, len(solver.read)), dtype=np.bool_)])
