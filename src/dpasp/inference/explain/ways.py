"""Minimal explanations: what must be chosen for query and evidence to hold, and no more.

A *way* is a minimal set of values of choices such that query and evidence hold in every model
(a *sure* way), or in some model, of every total choice with these values. As in answers, total
choices without a model do not count.

A *block* is a set of values with which no total choice satisfies query and evidence: a way must
contain another value of one of its choices. So the most probable ways are those that avoid all
blocks at the lowest cost, -log P. A best-first search finds them in order: the circuit decides
whether a set of values is a way and, if it is not, yields another block.

The most probable sets of values that rule out all models are found like ways. For each of them,
every instance of a rule gets a switch. A set of instances *leaves no model* if there is none,
however the other switches and the choices are set. The solver decides this with the set as
assumptions. If a set leaves no model, neither does a larger one; so leaving out one instance after
another ends with a set in which each is needed. (Such sets are the minimal strongly inconsistent
ones of Brewka, Thimm and Ulbricht.) What is certain for clingo, facts and what follows from them,
is taken for granted; the result lists those that the rules rely on.

>>> from dpasp import loads
>>> (reason,) = loads("0.5::a. 0.4::b. c :- a. :- c, b.").why_inconsistent()
>>> reason.values, [rule.text for rule in reason.rules]
(('a', 'b'), ['c :- a.', ':- c, b.'])
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from enum import Enum
from itertools import combinations, islice, pairwise
from typing import TypeVar

import numpy as np

from dpasp import circuits
from dpasp.dataclass import dataclass
from dpasp.errors import LimitReached, SizeLimit
from dpasp.ground.markers import RuleInstance
from dpasp.ground.program import (
    Choice,
    FixedWeights,
    GroundLiteral,
    GroundProgram,
    GroundQuery,
    Rule,
)
from dpasp.ground.solve import Solver
from dpasp.inference.asked import Asked
from dpasp.inference.circuit import PRECISE, OnCircuit, on_circuit
from dpasp.inference.enumerate import live_groups
from dpasp.inference.explain.explanation import Inconsistencies, Inconsistency, NeededRule
from dpasp.inference.explain.trees import Texts, with_values
from dpasp.inference.tuning import EXPLAIN
from dpasp.language import ast
from dpasp.language.statements.statement import Probability
from dpasp.limits import Watch
from dpasp.semantics.dependencies import Exclusive
from dpasp.semantics.leaves import LeafLayout, Weights, ends, leaf_names
from dpasp.semantics.masses import Masses
from dpasp.semantics.meaning import Meaning
from dpasp.semantics.translate import translate
from dpasp.semantics.weighted import excluding

Item = TypeVar("Item")


def smallest(items: Sequence[Item], enough: Callable[[Sequence[Item]], bool]) -> list[Item]:
    """A subset of the items that is still enough, and from which none can be left out.

    ``enough`` says whether some of the items are enough; all of them together must be, and more
    items must never be worse than fewer. Leaving out large blocks is tried first, then smaller
    ones, so that ``enough`` is called rarely if few items are needed.
    """
    kept = list(items)
    size = max(1, len(kept) // 2)
    while kept:
        at = 0
        while at < len(kept):
            rest = kept[:at] + kept[at + size :]
            if enough(rest):
                kept = rest
            else:
                at += size
        if size == 1:
            return kept
        size //= 2
    return kept


class Certainty(Enum):
    """What should be true of every total choice with certain values that has a model.

    The masses are those of the total choices of which it is true, and of those of which it is not.
    """

    SURE = "a", "d"  # query and evidence hold in every model
    POSSIBLE = "b", "c"  # query and evidence hold in some model
    NEVER = "c", "b"  # there is no model, or query and evidence hold in none


Partial = Mapping[int, int]  # values (positions among their leaves) of some choices
ChoiceValue = tuple[int, int]  # a choice and a value of it
SMALLEST = -600.0  # if log probabilities may be below this, masses are computed as logarithms


@dataclass
class Ways:
    """The ways of one question of a circuit, whose evidence is empty.

    ``high`` are the largest weights that the leaves can have; those with 0 cannot be chosen.
    ``circuit`` answers with credal masses.
    """

    circuit: OnCircuit
    question: int
    high: Weights
    watch: Watch
    rows: Exclusive | None = None  # a way has no two choices whose conditions exclude each other
    blocks: list[frozenset[ChoiceValue]] = field(default_factory=list)  # the values that avoid each
    complete: bool = True
    work: int = 0  # evaluated nodes of the circuit, and the overhead of each evaluation
    best: Partial | None = None  # the first way that was found, the most probable one
    failing: Partial | None = None  # values with which all total choices fail, if there are any

    def __post_init__(self) -> None:
        self._layout: LeafLayout = self.circuit.layout
        self._live = [
            np.flatnonzero(self.high[start:end] > 0).tolist()
            for start, end in pairwise(self._layout.starts)
        ]
        self._likeliest = [
            sorted(values, key=lambda value: -self.high[start + value])
            for start, values in zip(self._layout.starts, self._live, strict=False)
        ]
        self._open = [i for i, values in enumerate(self._live) if len(values) > 1]
        least = -sum(math.log(max(1, len(values))) for values in self._live)
        self._tiny = least < SMALLEST
        size = self.circuit.circuit.statistics.nodes + self._layout.size
        self._each = EXPLAIN.each + size * (2 if self._tiny else 1)  # the work of an evaluation
        self._lossy = False  # whether there was a total choice without a model
        self._starts = np.array(self._layout.starts, dtype=np.intp)
        self._owner = np.repeat(np.arange(len(self._live)), np.diff(self._starts))  # by leaf
        self._alike = np.zeros(self._layout.size)  # weights that are equal for all values
        for start, live in zip(self._layout.starts, self._live, strict=False):
            self._alike[[start + value for value in live]] = 1.0 / max(1, len(live))

    def find(self, certainty: Certainty, most: int) -> Iterator[Partial]:
        """The most probable ways, in order; ``complete`` is False if a limit or budget stopped it.

        If the budget is spent before any is found, one that need not be the most probable follows.
        """
        self.work = listed = 0
        try:
            for way in islice(self._search(certainty), most):
                listed += 1
                self.best = self.best or way
                yield way
        except LimitReached as limit:
            self.complete = False
            if isinstance(limit, SizeLimit) and not listed:
                yield from self._likely(certainty)

    def _search(self, certainty: Certainty) -> Iterator[Partial]:
        """All ways, the most probable first; raises :class:`LimitReached`.

        A set of values that does not avoid a known block grows by one value that does. A set that
        avoids all of them is tested: it is a way, or yields another block.
        """
        self.blocks.clear()
        minimal: list[frozenset[ChoiceValue]] = []
        heap: list[tuple[float, int, tuple[ChoiceValue, ...]]] = [(0.0, 0, ())]
        seen: set[tuple[ChoiceValue, ...]] = {()}
        while heap:
            self._spend(EXPLAIN.each)
            _, _, key = heapq.heappop(heap)
            values, fixed = frozenset(key), dict(key)
            if any(known <= values for known in minimal):
                continue
            block = next((pairs for pairs in self.blocks if pairs.isdisjoint(values)), None)
            block = block or self._block(fixed, certainty)
            if block is None:
                minimal.append(values)
                if self._passing(fixed, certainty)[0] or certainty is Certainty.NEVER:
                    yield fixed
                continue
            self._spend(EXPLAIN.each // 10 * len(block))
            for pair in block:
                if pair[0] in fixed:
                    continue
                if self.rows is not None and any(self.rows.choices(pair[0], c) for c in fixed):
                    continue  # their conditions exclude each other, as for different rows
                longer = tuple(sorted((*key, pair)))
                if longer not in seen:
                    seen.add(longer)
                    heapq.heappush(heap, (self._cost(longer), len(longer), longer))

    def _spend(self, work: int) -> None:
        """Count work; raises :class:`SizeLimit` if it exceeds the budget."""
        self.watch.check()
        self.work += work
        if self.work > EXPLAIN.work:
            raise SizeLimit("too much work")

    def _cost(self, values: Sequence[ChoiceValue]) -> float:
        """-log P of values."""
        starts = self._layout.starts
        return math.fsum(-math.log(min(1.0, self.high[starts[i] + value])) for i, value in values)

    def _likely(self, certainty: Certainty) -> Iterator[Partial]:
        """A way of likely values, if there is one that does not take much work."""
        self.work = 0
        try:
            values = self._fixed({}, self._likeliest, lambda v: self._passing(v, certainty))
            if not self._passing(values, certainty)[1]:
                return
            if self.rows is not None:
                used = {i: values[i] for i in self.rows.used(values) if i in values}
                values = used if self._passing(used, certainty)[1] else values
            kept = smallest(
                sorted(values.items(), key=lambda pair: -self._cost([pair])),
                lambda some: self._passing(dict(some), certainty)[1],
            )
            possible = self._passing(dict(kept), certainty)[0]
        except LimitReached:
            return
        if possible or certainty is Certainty.NEVER:
            self.best = self.best or dict(kept)
            yield dict(kept)

    def _block(self, values: dict[int, int], certainty: Certainty) -> frozenset[ChoiceValue] | None:
        """The values that avoid a block which these values do not avoid; None for a way.

        Open choices are fixed until all total choices fail; then values that are not needed for
        that are left out.
        """
        if not self._failing(values, certainty)[0]:
            return None
        block = self._fixed(values, self._live, lambda v: self._failing(v, certainty))
        kept = smallest(
            # Values that the set does not fix come last, since it can still change them.
            sorted(block.items(), key=lambda pair: pair[0] not in values),
            lambda some: self._failing(dict(some), certainty)[1],
        )
        if not values:
            self.failing = dict(kept)
        past = frozenset(
            (choice, other)
            for choice, value in kept
            for other in self._live[choice]
            if other != value
        )
        self.blocks.append(past)
        return past

    def _fixed(
        self,
        values: Partial,
        order: Sequence[Sequence[int]],
        state: Callable[[Partial], tuple[bool, bool]],
    ) -> dict[int, int]:
        """The values, extended by open choices one by one, until every total choice is as wanted.

        ``state`` says whether some total choice with given values is, and whether all are. Each
        choice gets the first value in its ``order`` for which some still is. How many choices can
        get their first value is found by doubling and halving that number.
        """
        fixed = dict(values)
        todo = [choice for choice in self._open if choice not in fixed]

        def with_first(count: int) -> dict[int, int]:
            return {**fixed, **{choice: order[choice][0] for choice in todo[:count]}}

        def decided(count: int) -> bool:
            some, every = state(with_first(count))
            return every or not some

        while todo and not state(fixed)[1]:
            low, high = 0, 1
            while high < len(todo) and not decided(high):
                low, high = high, 2 * high
            at = bisect_left(range(min(high, len(todo))), True, low + 1, key=decided)
            fixed = with_first(at)
            if not state(fixed)[0]:  # the last one must have another value
                choice = todo[at - 1]
                tries = [{**fixed, choice: value} for value in order[choice][1:]]
                fixed = next((values for values in tries if state(values)[0]), tries[0])
            todo = todo[at:]
        return fixed

    def _failing(self, values: Partial, certainty: Certainty) -> tuple[bool, bool]:
        """Whether some total choice with these values fails, and whether all do."""
        good, bad, lost = self._some(values, certainty)
        return bad, not (lost or good)

    def _passing(self, values: Partial, certainty: Certainty) -> tuple[bool, bool]:
        """Whether some total choice with these values is good, and whether none fails.

        Total choices without a model are good only if something should never hold.
        """
        good, bad, lost = self._some(values, certainty)
        return good or (lost and certainty is Certainty.NEVER), not bad

    def _some(self, values: Partial, certainty: Certainty) -> tuple[bool, bool, bool]:
        """Whether some total choices with these values are good, some fail, some have no model."""
        self._spend(self._each)
        column = self._column(values)[:, np.newaxis]
        masses = self.circuit.masses(column, self.watch)[self.question, 0]
        lost = bool(masses.inconsistent > 0)
        self._lossy = self._lossy or lost
        if self._lossy and masses.inconsistent < PRECISE:  # that is computed layer by layer
            self._spend(EXPLAIN.layer * len(self.circuit.circuit.below(0).layers))
        if self._tiny:
            masses = self.circuit.masses(column, self.watch, log=True)[self.question, 0]
        least = -math.inf if self._tiny else 0.0
        good, bad = (bool(getattr(masses, name) > least) for name in certainty.value)
        return good, bad, lost

    def _column(self, values: Partial) -> Weights:
        """Weights [leaves] with these values certain, and equal ones for all other choices."""
        choices = np.fromiter(values.keys(), np.intp, len(values))
        places = np.fromiter(values.values(), np.intp, len(values)) + self._starts[choices]
        fixed = np.zeros(len(self._live), dtype=np.bool_)
        fixed[choices] = True
        column = np.where(fixed[self._owner], 0.0, self._alike)
        column[places] = 1.0
        return column


def certain_columns(weights: Weights, layout: LeafLayout, some: Sequence[Partial]) -> Weights:
    """Weights [leaves, sets] that make the values of each set certain."""
    columns = np.repeat(weights[:, np.newaxis], len(some), axis=1)
    for column, values in enumerate(some):
        for choice, value in values.items():
            leaves = layout.of(choice)
            columns[leaves, column] = 0.0
            columns[leaves.start + value, column] = 1.0
    return columns


def unions(some: Sequence[Partial]) -> list[tuple[int, Partial]]:
    """Inclusion and exclusion: the unions of the sets that are compatible, with their signs."""
    signed: list[tuple[int, Partial]] = []
    for size in range(1, len(some) + 1):
        for group in combinations(some, size):
            union: dict[int, int] = {}
            if all(union.setdefault(c, v) == v for values in group for c, v in values.items()):
                signed.append((1 if size % 2 else -1, union))
    return signed


def behind(masses: Masses, maxent: bool) -> Weights:
    """The mass behind an answer: of query and evidence, or under credal where they are possible."""
    return masses.qe if maxent else masses.b


# --- why there is no model ------------------------------------------------------------------------


def why_inconsistent(
    asked: Asked, texts: Texts, top: int, weighted: bool = False
) -> Inconsistencies:
    """Why total choices have no model, or none that satisfies the program's evidence.

    ``asked`` has the program that is used for answers, ``texts`` the same one with the instances of
    its rules. There are at most ``top`` reasons, the most probable first. With ``weighted``, models
    that a factor of weight 0 excludes do not count. If excluding them could make others models
    (that leave more undefined), ``all_factors`` is false and they do count.
    """
    asked = asked.one_row()
    all_factors = True
    if weighted:
        ground, factors = excluding(asked.ground)
        logic = asked.meaning.logic
        all_factors = not factors or asked.meaning.existence is logic
        if all_factors:
            asked, texts = replace(asked, ground=ground), _with_factors(texts)
    evidence = asked.ground.evidence
    meaning = Meaning(asked.meaning.existence, Probability.CREDAL)
    query = GroundQuery(evidence, (), "", texts.traced.ground.program.statements[0].span)
    circuit = on_circuit(
        replace(asked.ground, questions=(query,)),
        meaning,
        cache=circuits.Cache.default(),
        watch=asked.watch,
    )
    masses = circuit.masses(asked.columns, asked.watch)[0]
    mass = min(1.0, float(masses.inconsistent[0] + masses.c[0]))
    observed = tuple(map(str, evidence))
    collapses = asked.meaning.has_undefined_model
    search = Ways(circuit, 0, ends(asked.ground, asked.weights)[1], asked.watch)
    cores = _Cores(replace(asked, meaning=meaning), texts, evidence)
    reasons = tuple(cores.of(values) for values in search.find(Certainty.NEVER, top))
    return Inconsistencies(reasons, mass, observed, search.complete, collapses, all_factors)


def _with_factors(texts: Texts) -> Texts:
    """The rules of a program, including the factors of weight 0 as constraints."""
    ground, factors = excluding(texts.traced.ground)
    instances = [
        RuleInstance(factor.statement, factor.substitution, atom, False)
        for atom, factor in factors.items()
    ]
    every = sorted((*texts.traced.instances, *instances), key=lambda each: each.statement)
    return replace(texts, traced=replace(texts.traced, ground=ground, instances=tuple(every)))


class _Cores:
    """A program whose rules can be switched off one by one.

    Each literal of the evidence has a guard: an atom that, if true, requires it.
    """

    def __init__(self, asked: Asked, texts: Texts, evidence: Sequence[GroundLiteral]) -> None:
        self.asked, self.texts = asked, texts
        self.ground = texts.traced.ground
        self.evidence = texts.traced.literals(evidence)
        self.instances = [instance for instance in texts.traced.instances if not instance.certain]
        self.switches = {
            instance.atom: len(self.ground.symbols) + i for i, instance in enumerate(self.instances)
        }
        self.names = leaf_names(asked.ground)
        switched = _switched(self.ground, self.switches)
        translation = translate(switched, asked.meaning.logic, asked.watch, refusing=False)
        rules = list(translation.rules)
        self._guards = list(range(translation.size, translation.size + len(self.evidence)))
        for literal, guard in zip(self.evidence, self._guards, strict=True):
            part = translation.literal(literal)
            rules.append(Rule((guard,), (), choice=True))
            rules += [Rule((), (guard, -implied)) for implied in part or ()]
            if part is None:
                rules.append(Rule((), (guard,)))
        self._solver = Solver(rules, live_groups(switched), [])

    def of(self, values: Partial) -> Inconsistency:
        """A minimal set of rules that leaves no model with these values of choices."""
        fixed = [
            selector if position == values[place] else -selector
            for place, choice in zip(self.texts.traced.places, self.ground.choices, strict=True)
            if place is not None and place in values
            for position, selector in enumerate(choice.selectors)
        ]

        def core(some: Sequence[int]) -> list[int] | None:
            return self._solver.core([*fixed, *some], self.asked.watch)

        every = [*self._guards, *self.switches.values()]
        first = set(core(every) or ())
        suspects = [literal for literal in every if literal in first]
        kept = smallest(suspects, lambda some: core(some) is not None)
        by_switch = dict(zip(self.switches.values(), self.instances, strict=True))
        rules = [by_switch[literal] for literal in kept if literal in by_switch]
        pairs = zip(self.evidence, self._guards, strict=True)
        places = [self.asked.layout.starts[i] + value for i, value in sorted(values.items())]
        sides = ends(self.asked.ground, self.asked.weights)
        low, high = (float(np.prod(weights[places])) for weights in sides)
        return Inconsistency(
            tuple(self.names[place] for place in places),
            (low,) if low == high else (low, high),
            tuple(map(self._needed, rules)),
            tuple(str(literal) for literal, guard in pairs if guard in kept),
            tuple(dict.fromkeys(fact for rule in rules for fact in self._facts(rule))),
        )

    def _needed(self, instance: RuleInstance) -> NeededRule:
        text = self.texts.text(instance.statement)
        whole = with_values(text, dict(instance.substitution))
        if isinstance(self.ground.program.statements[instance.statement], ast.FactorTable):
            bodies = [d.literals for d in self.ground.definitions if d.head == instance.atom]
            atoms = [self.ground.symbols[literal.atom] for literal in bodies[0]]
            text = whole = f"#factor 0 : {', '.join(map(str, atoms))}."
        return NeededRule(text, whole, self.texts.span(instance.statement))

    def _facts(self, instance: RuleInstance) -> list[str]:
        """The certain atoms in the body of an instance."""
        certain = {
            rule.head[0]
            for rule in self.ground.rules
            if len(rule.head) == 1 and not rule.body and not rule.choice and rule.weights is None
        }
        return [
            str(part.symbol)
            for part in self.texts.body(instance.statement, dict(instance.substitution))
            if part.symbol is not None and self.ground.atoms.get(part.symbol, 0) in certain
        ]


def _switched(ground: GroundProgram, switches: Mapping[int, int]) -> GroundProgram:
    """The program with a switch for each rule: a choice, without which the rule does not apply.

    Each rule of the text has a marker, which occurs in the bodies of ground rules; the switch is
    added next to it.
    """
    rules = tuple(
        rule._replace(body=(*rule.body, *(switches[b] for b in rule.body if b in switches)))
        if rule.weights is None
        else rule
        for rule in ground.rules
    )
    statement = ground.choices[0].statement if ground.choices else 0
    fresh = tuple(
        Choice(statement, (), (switch,), (switch,), FixedWeights((0.5,)), True)
        for switch in switches.values()
    )
    symbols = (*ground.symbols, *(None for _ in switches))
    return replace(ground, rules=rules, choices=(*ground.choices, *fresh), symbols=symbols)
