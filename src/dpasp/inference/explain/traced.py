"""Models of a program whose atoms can be traced to rules: what is true, and in which order.

>>> model = TracedModel(choice=(0,), true=frozenset({1}), possible=frozenset({1, 2}))
>>> model.value(1), model.value(2), model.value(3)
(True, 'undef', False)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from dpasp.dataclass import dataclass
from dpasp.inference.answers import Value
from dpasp.inference.asked import Asked
from dpasp.inference.engines.reference.enumerate import least_undefined, live_groups
from dpasp.inference.sampling.draws import satisfy
from dpasp.logic.origins import RuleInstance
from dpasp.logic.program import Choice, GroundLiteral, GroundProgram, Rule
from dpasp.logic.solve import Solver
from dpasp.semantics.total_choices import TotalChoice, selector_literals
from dpasp.semantics.translate import translate


@dataclass(frozen=True)
class Traced:
    """A ground program and the instances of its rules (see :mod:`dpasp.logic.origins`).

    ``plain`` is the same program as it is answered. Their choices may differ: clingo may leave
    one out of it whose body never holds, and keep it here.
    """

    ground: GroundProgram
    instances: tuple[RuleInstance, ...]
    plain: GroundProgram

    @cached_property
    def places(self) -> tuple[int | None, ...]:
        """For each choice, its place among the choices of ``plain``; None if it is not there."""
        known = {_key(self.plain, choice): i for i, choice in enumerate(self.plain.choices)}
        return tuple(known.get(_key(self.ground, choice)) for choice in self.ground.choices)

    def literals(self, plain: Sequence[GroundLiteral]) -> list[GroundLiteral]:
        """Literals of the program as it is answered, over the atoms of this program."""
        return [
            literal._replace(atom=self.ground.atoms.get(literal.symbol, 0)) for literal in plain
        ]

    def total_choice(self, plain: TotalChoice) -> TotalChoice:
        """A total choice of the program as it is answered, as one of this program."""
        return tuple(0 if place is None else plain[place] for place in self.places)


def _key(ground: GroundProgram, choice: Choice) -> tuple[object, ...]:
    """What a choice is, whatever the numbers of its atoms."""
    return choice.statement, choice.substitution, tuple(ground.symbols[h] for h in choice.heads)


@dataclass(frozen=True)
class TracedModel:
    """A model of a total choice: the atoms that are true, and those that are not false.

    With ``collapsed``, the total choice has no stable model, and the semantics makes every atom
    undefined there.
    """

    choice: TotalChoice
    true: frozenset[int]
    possible: frozenset[int]
    collapsed: bool = False

    def value(self, atom: int) -> Value:
        """What an atom is; 0 stands for atoms that cannot occur."""
        if self.collapsed:
            return "undef"
        if atom in self.true:
            return True
        return "undef" if atom in self.possible else False

    def holds(self, literal: int) -> Value:
        """What a literal of a ground rule is."""
        value = self.value(abs(literal))
        return value if literal > 0 or value == "undef" else not value


class TracedModels:
    """The models of total choices, one at a time."""

    def __init__(self, asked: Asked) -> None:
        self.ground, self.meaning, self.watch = asked.ground, asked.meaning, asked.watch
        self._translation = translate(self.ground, asked.meaning.logic, asked.watch, refusing=False)
        self._atoms = list(range(1, len(self.ground.symbols)))
        twins = [self._translation.twins[atom] for atom in self._atoms]
        groups = live_groups(self.ground)
        self._possible = {atom for group in groups for atom in group.atoms}
        self._solver = Solver(self._translation.rules, groups, self._atoms + twins)

    def first(
        self,
        choice: TotalChoice,
        evidence: Sequence[GroundLiteral],
        literals: Sequence[GroundLiteral],
        wanted: bool = True,
    ) -> TracedModel | None:
        """The first model with the evidence where all literals hold, or not if not ``wanted``."""
        nothing = True
        for true, possible in self._models(choice):
            nothing = False
            good = satisfy(self._atoms, true, possible, evidence)
            held = satisfy(self._atoms, true, possible, literals)
            rows = np.flatnonzero(good & (held if wanted else ~held))
            if len(rows):
                row = rows[0]
                return TracedModel(choice, self._set(true[row]), self._set(possible[row]))
        meaning = self.meaning
        if not (nothing and meaning.has_undefined_model and meaning.holds_without_models(evidence)):
            return None
        if meaning.holds_without_models(literals) is not wanted:
            return None
        return TracedModel(choice, frozenset(), frozenset(self._atoms), collapsed=True)

    def _set(self, row: np.ndarray) -> frozenset[int]:
        return frozenset((np.flatnonzero(row) + 1).tolist())

    def _models(self, choice: TotalChoice) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Blocks of models: what is true and what is possible."""
        assumed = selector_literals(self.ground, choice, self._possible)
        if not self._translation.least:
            for bits in self._solver.blocks(assumed, self.watch):
                true, possible = np.hsplit(bits, 2)
                yield true, possible
            return
        bits = self._solver.models(assumed, self.watch)
        if len(bits):  # which are the least is known only at the end
            true, possible = np.hsplit(bits, 2)
            atoms = np.array(self._translation.own_atoms, dtype=np.intp) - 1
            least = least_undefined(bits[:, :0], (~true & possible)[:, atoms])
            yield true[least], possible[least]


def derivation(ground: GroundProgram, model: TracedModel) -> Mapping[int, int]:
    """By true atom, its place in an order in which each is derived from earlier ones.

    Atoms that only derive each other (heads of disjunctions through a loop) are not in it.
    """
    order: dict[int, int] = {}
    queue: deque[int] = deque()
    rules = [rule for rule in ground.rules if _applies(rule, model)]
    missing = [_missing(rule, model) for rule in rules]  # by rule: counted down to 0
    waiting: dict[int, list[int]] = {}  # by atom: the rules whose bodies it is in
    for number, rule in enumerate(rules):
        for literal in dict.fromkeys(rule.body):
            if literal > 0:
                waiting.setdefault(literal, []).append(number)

    def derive(atom: int) -> None:
        if atom in model.true and atom not in order:
            order[atom] = len(order)
            queue.append(atom)

    def fire(rule: Rule) -> None:
        # A disjunction derives an atom only where no other one of its heads is true.
        heads = [atom for atom in rule.head if atom in model.true]
        if rule.choice or len(heads) == 1:
            for atom in heads:
                derive(atom)

    selectors = {s for choice in ground.choices for s in choice.selectors}
    for atom in sorted(selectors & model.true):
        derive(atom)
    for rule, lacking in zip(rules, missing, strict=True):
        if lacking <= 0:
            fire(rule)
    while queue:
        atom = queue.popleft()
        for number in waiting.get(atom, ()):
            gain = sum(weight for literal, weight in _weighted(rules[number]) if literal == atom)
            before, missing[number] = missing[number], missing[number] - gain
            if before > 0 >= missing[number]:
                fire(rules[number])
    return order


def _weighted(rule: Rule) -> Iterator[tuple[int, int]]:
    """The literals of a body with their weights, 1 for each where the rule has none."""
    return zip(rule.body, rule.weights or (1,) * len(rule.body), strict=True)


def _missing(rule: Rule, model: TracedModel) -> int:
    """What a body lacks before any atom is derived: its bound without what it negates."""
    bound = len(rule.body) if rule.weights is None else rule.bound
    return bound - sum(weight for b, weight in _weighted(rule) if b < 0 and model.holds(b))


def _applies(rule: Rule, model: TracedModel) -> bool:
    """Whether a rule has a head, and its body holds."""
    if not rule.head:
        return False
    if rule.weights is None:
        return all(model.holds(literal) is True for literal in rule.body)
    held = (w for b, w in zip(rule.body, rule.weights, strict=True) if model.holds(b) is True)
    return sum(held) >= rule.bound
