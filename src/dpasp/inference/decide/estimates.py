"""Decisions if no circuit could be compiled in time: estimates from worlds, and a certain bound.

All strategies are compared in the same random worlds. The value of the best one is then estimated
in other worlds, since in these it was chosen for being high.

No strategy exceeds the *union bound*, which needs no circuit. It works if every rule that passes on
the influence of decisions does so by one positive literal, as in reachability. The probability of
an atom is then at most a sum over its rules: the probability that chance allows the rule, times
that of its literal. This is linear in the decisions: each adds at most a number of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dpasp.circuits.worlds import BLOCK, Definitions, Worlds
from dpasp.dataclass import dataclass
from dpasp.errors import LimitReached
from dpasp.ground.program import Decided, GroundLiteral, GroundUtility, Rule
from dpasp.inference.asked import Asked
from dpasp.inference.decide.expected import values
from dpasp.inference.decide.search import CONSTANT, COVER, Search, Shape, chosen_set
from dpasp.inference.decide.strategies import Best, Deciding, Score
from dpasp.inference.tuning import DECIDING
from dpasp.language.ast import Mode
from dpasp.limits import UNLIMITED, Watch
from dpasp.semantics.dependencies import determined
from dpasp.semantics.leaves import Weights
from dpasp.semantics.masses import Array, Masses, Question, query_literals

SEED = 1


@dataclass(frozen=True)
class InWorlds:
    """An evaluator whose masses are shares of random worlds, the same for all weights."""

    worlds: Worlds
    places: Mapping[int, int]  # by atom, the row of its values
    questions: tuple[Question, ...]
    seed: int = SEED
    blocks: int = DECIDING.world_blocks

    name = "sample"
    circuit = None
    enumeration = None

    @property
    def statistics(self) -> dict[str, int | float | str]:
        """The number of worlds."""
        return {"worlds": self.blocks * BLOCK}

    def masses(self, weights: Weights, watch: Watch = UNLIMITED, *, log: bool = False) -> Masses:
        """The shares [questions, batch] of worlds in which the questions hold."""
        shares = np.empty((2, len(self.questions), weights.shape[1]))
        for column, own in enumerate(weights.T):
            bits = self.bits(own, watch)
            for place, question in enumerate(self.questions):
                held = self.holds(bits, question.evidence)
                both = held & self.holds(bits, query_literals(question))
                shares[:, place, column] = both.mean(), held.mean()
        qe, e = shares
        values = np.stack([np.ones_like(e), qe, qe, e - qe, e - qe, qe, e])
        with np.errstate(divide="ignore"):
            return Masses.of(
                np.log(values) if log else values, np.full_like(e, -np.inf if log else 0.0)
            )

    def bits(self, weights: Weights, watch: Watch) -> NDArray[np.bool_]:
        """The values [outputs, worlds]."""
        return self.worlds.draw(weights, self.seed, 0, self.blocks, watch).bits

    def holds(
        self, bits: NDArray[np.bool_], literals: Sequence[GroundLiteral]
    ) -> NDArray[np.bool_]:
        """In which worlds [worlds] the literals hold; atom 0 is always false."""
        held = np.ones(bits.shape[1], dtype=np.bool_)
        for literal in literals:
            value = bits[self.places[literal.atom]] if literal.atom else False
            held &= value == (literal.mode is Mode.TRUE)
        return held


def by_worlds(
    asked: Asked, terms: tuple[GroundUtility, ...], evidence: tuple[GroundLiteral, ...]
) -> Deciding | None:
    """The decisions with an evaluator by estimates; None if that is not possible.

    All atoms must be determined, and there must be no constraints and no intervals.
    """
    ground = asked.ground
    known = determined(ground.rules, len(ground.symbols))
    plain = all(len(rule.head) == 1 and not rule.choice for rule in ground.rules)
    if not (known.all() and plain) or asked.has_intervals or asked.meaning.weighted:
        return None
    literals = (*evidence, *(literal for term in terms for literal in term.literals))
    if any(literal.mode is Mode.UNDEFINED for literal in literals):
        return None
    single = replace(asked.meaning, probability=type(asked.meaning.probability).MAXENT)
    wanted = values(ground, single, terms, evidence)
    atoms = sorted({literal.atom for literal in literals if literal.atom})
    places = {atom: i for i, atom in enumerate(atoms)}
    rules: dict[int, list[Rule]] = {}
    for rule in ground.rules:
        rules.setdefault(rule.head[0], []).append(rule)
    definitions = Definitions(rules, ground.choices)
    worlds = Worlds(definitions, len(ground.symbols), atoms, watch=asked.watch)
    return Deciding(
        asked, terms, evidence, wanted, InWorlds(worlds, places, wanted.ground.questions)
    )


def best_of_estimates(
    deciding: Deciding, score: Score, stopped: LimitReached
) -> tuple[Best, tuple[float, float], int] | None:
    """The best strategy by estimates, a 95 % confidence interval, and the number of worlds.

    Its value comes from other worlds than those it was chosen in. None if no strategy is found.
    """
    best = Search(deciding, score).first()
    if best is None:
        return None
    evaluator = deciding.evaluator
    assert isinstance(evaluator, InWorlds)
    others = replace(evaluator, seed=SEED + 1, blocks=4 * evaluator.blocks)
    bits = others.bits(deciding.columns(best.strategy[np.newaxis])[:, 0], UNLIMITED)
    held = others.holds(bits, deciding.evidence)
    if not held.any():
        return None
    total = np.zeros(bits.shape[1])
    for number, query in zip(deciding.values.numbers, others.questions[1:], strict=True):
        total += number * others.holds(bits, query_literals(query))
    value = float(total[held].mean())
    error = 1.96 * float(total[held].std()) / float(held.sum()) ** 0.5
    most = max(union_bound(deciding), value)
    most = min(most, 1.0) if deciding.is_goal else most
    estimate = best.value._replace(lower=np.array([value]), upper=np.array([value]))
    found = replace(best, score=value, most=most, value=estimate, stopped=stopped)
    return found, (value - error, value + error), others.blocks * BLOCK


# --- the union bound ------------------------------------------------------------------------------


def union_bound(deciding: Deciding) -> float:
    """A number that no strategy can exceed, found without a circuit.

    If the union bound does not apply, it is the sum of all that is positive.
    """
    wanted = deciding.values
    trivial = float(np.clip(wanted.numbers, 0, None).sum())
    shape = Shape(wanted.ground, tuple(deciding.decided))
    questions = wanted.ground.questions[1:]
    kinds = [shape.of((*query_literals(q), *q.evidence)) for q in questions]
    if deciding.evidence or not shape.steady:
        return trivial
    gains = np.zeros(len(deciding.decided))
    constant = 0.0
    weights, base = _influence(deciding, shape)
    for number, question, kind in zip(wanted.numbers, questions, kinds, strict=True):
        inner = [lit for lit in query_literals(question) if shape.reached[lit.atom]]
        if kind == COVER and number > 0:
            constant += number * min(1.0, base[inner[0].atom])
            gains += number * weights[inner[0].atom]
        elif kind == COVER and (place := _decided_place(deciding, inner[0].atom)) is not None:
            gains[place] += number  # it holds exactly if it is taken
        elif kind == CONSTANT or number > 0:
            constant += max(0.0, number)
    chosen = chosen_set(deciding, gains)
    return min(trivial, float(constant + gains[chosen].sum()))


def _decided_place(deciding: Deciding, atom: int) -> int | None:
    """The place of an atom among the decided ones, if only the decision derives it."""
    rules = [rule for rule in deciding.ground.rules if atom in rule.head]
    for place, choice in enumerate(deciding.decided):
        if rules == [Rule((atom,), (deciding.ground.choices[choice].selectors[0],))]:
            return place
    return None


def _influence(deciding: Deciding, shape: Shape) -> tuple[Array, Array]:
    """What each decision adds at most to the probability of an atom [atoms, decided].

    The second result bounds the probability without any decision. A rule counts with the
    probability of an atom of chance in its body, if no rule of another head uses that atom: then it
    is independent of the body's other literal.
    """
    ground, size = deciding.ground, len(deciding.ground.symbols)
    chance = _private_chances(deciding)
    rules = [r for r in ground.rules if r.head and shape.reached[r.head[0]]]
    start = np.zeros((size, len(deciding.decided)))
    for place, choice in enumerate(deciding.decided):
        start[ground.choices[choice].selectors[0], place] = 1.0
    weights, base = start, np.zeros(size)
    sides = [
        (
            rule.head[0],
            next((lit for lit in rule.body if lit > 0 and shape.reached[lit]), 0),
            min([chance.get((lit, rule.head[0]), 1.0) for lit in rule.body], default=1.0),
        )
        for rule in rules
    ]
    heads = np.array([head for head, _, _ in sides], dtype=np.intp)
    inner = np.array([lit for _, lit, _ in sides], dtype=np.intp)
    shares = np.array([share for _, _, share in sides])
    fixed = inner == 0
    for _ in range(DECIDING.rounds):
        new, new_base = start.copy(), np.zeros_like(base)
        np.add.at(new, heads[~fixed], shares[~fixed, np.newaxis] * weights[inner[~fixed]])
        np.add.at(new_base, heads[~fixed], shares[~fixed] * base[inner[~fixed]])
        np.add.at(new_base, heads[fixed], shares[fixed])
        new, new_base = np.minimum(new, 1.0), np.minimum(new_base, 1.0)
        if np.array_equal(new, weights) and np.array_equal(new_base, base):
            return weights, base
        if np.abs(new - weights).max() + np.abs(new_base - base).max() < 1e-12:
            return new + 1e-9, new_base + 1e-9
        weights, base = new, new_base
    return np.ones_like(weights), np.ones_like(base)  # it still grows: there is no bound


def _private_chances(deciding: Deciding) -> dict[tuple[int, int], float]:
    """The probability of atoms that only one choice derives, by atom and the head that uses it."""
    ground = deciding.ground
    weights, starts = deciding.asked.columns[:, deciding.row], deciding.asked.layout.starts
    by_selector = {
        selector: float(weights[start + value])
        for choice, start in zip(ground.choices, starts, strict=False)
        if not isinstance(choice.weight, Decided)
        for value, selector in enumerate(choice.selectors)
    }
    derived: dict[int, list[Rule]] = {}
    used: dict[int, set[int]] = {}
    for rule in ground.rules:
        for head in rule.head:
            derived.setdefault(head, []).append(rule)
        for literal in rule.body:
            used.setdefault(abs(literal), set()).update(rule.head or (0,))
    found = {}
    for atom, heads in used.items():
        selector = atom
        rules = derived.get(atom, [])
        if len(rules) == 1 and len(rules[0].body) == 1 and rules[0].body[0] > 0:
            selector = rules[0].body[0]
        alone = selector == atom or used[selector] == {atom}
        if selector in by_selector and alone and len(heads) == 1:
            found[atom, next(iter(heads))] = by_selector[selector]
    return found
