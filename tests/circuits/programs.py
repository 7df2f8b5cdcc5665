"""Random ground programs: loops, annotated disjunctions, aggregates, choice rules, disjunction."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from random import Random

from clingo import Function

from dpasp.errors import Span
from dpasp.ground.program import (
    Choice,
    FixedWeights,
    GroundLiteral,
    GroundProgram,
    GroundQuery,
    Rule,
)
from dpasp.language import ast
from dpasp.language.ast import Logic, Mode, Probability
from dpasp.semantics.meaning import Meaning

NOWHERE = Span("<test>", 1, 1, 1, 1)

STABLE = Meaning(Logic.STABLE, Probability.MAXENT)


@dataclass(frozen=True)
class Shape:
    """What a random program may hold."""

    atoms: int = 7
    rules: int = 9
    choices: int = 4
    negation: float = 0.35
    constraint: float = 0.1
    free: float = 0.1  # choice rules
    weights: float = 0.1
    disjunction: float = 0.05
    undef: float = 0.0
    questions: int = 3


def draw_shape(random: Random, *, undef: bool = False, stratified: bool = False) -> Shape:
    """A random mixture of features."""
    return Shape(
        atoms=random.randint(3, 8),
        rules=random.randint(3, 14),
        choices=random.randint(1, 5),
        negation=0.0 if stratified else random.choice((0.0, 0.15, 0.35, 0.6)),
        constraint=random.choice((0.0, 0.1, 0.25)),
        free=0.0 if undef or stratified else random.choice((0.0, 0.15)),
        weights=0.0 if undef else random.choice((0.0, 0.2)),
        disjunction=0.0 if stratified else random.choice((0.0, 0.0, 0.0, 0.1)),
        undef=random.choice((0.0, 0.4)) if undef else 0.0,
    )


def random_program(random: Random, shape: Shape) -> GroundProgram:
    """A random ground program."""
    atoms = list(range(1, shape.atoms + 1))
    rules: list[Rule] = []
    choices: list[Choice] = []
    size = shape.atoms + 1

    def body(least: int = 0) -> tuple[int, ...]:
        picked = random.sample(atoms, min(len(atoms), random.choice((least, 1, 1, 2, 2, 3))))
        return tuple(-a if random.random() < shape.negation else a for a in picked)

    for index in range(shape.choices):
        values = random.choice((1, 1, 1, 2, 3))
        nothing = values == 1 or random.random() < 0.5
        selectors = tuple(range(size, size + values))
        size += values
        parts = [random.random() + 0.05 for _ in range(values + nothing)]
        weight = FixedWeights(tuple(p / sum(parts) for p in parts[:values]))
        heads = tuple(random.choice(atoms) for _ in selectors)
        below = body() if random.random() < 0.5 else ()
        choices.append(Choice(index, (), selectors, heads, weight, nothing))
        rules += [Rule((h,), (s, *below)) for h, s in zip(heads, selectors, strict=True)]
    for _ in range(shape.rules):
        kind = random.random()
        if kind < shape.constraint:
            rules.append(Rule((), body(1) or (1, 2)))
        elif kind < shape.constraint + shape.free:
            rules.append(Rule(tuple(random.sample(atoms, random.choice((1, 2)))), body(), True))
        elif kind < shape.constraint + shape.free + shape.disjunction:
            rules.append(Rule(tuple(random.sample(atoms, 2)), body()))
        elif random.random() < shape.weights:
            inside = body(2)
            weights = tuple(random.randint(1, 3) for _ in inside)
            bound = random.randint(0, sum(weights))
            rules.append(Rule((random.choice(atoms),), inside, False, weights, bound))
        else:
            rules.append(Rule((random.choice(atoms),), body()))
    symbols = [None, *(Function(f"p{a}") for a in atoms), *([None] * (size - len(atoms) - 1))]
    names = {s: a for a, s in enumerate(symbols) if s is not None}
    questions = tuple(_question(random, shape, atoms) for _ in range(shape.questions))
    random.shuffle(rules)
    return GroundProgram(
        ast.Program(()),
        tuple(symbols),
        tuple(rules),
        tuple(choices),
        questions=questions,
        atoms=names,
    )


def _question(random: Random, shape: Shape, atoms: list[int]) -> GroundQuery:
    def literals(count: int) -> tuple[GroundLiteral, ...]:
        modes = [Mode.TRUE, Mode.FALSE]
        return tuple(
            GroundLiteral(
                Mode.UNDEFINED if random.random() < shape.undef else random.choice(modes),
                0 if random.random() < 0.02 else a,
                Function(f"p{a}"),
            )
            for a in random.sample(atoms, count)
        )

    query = literals(random.choice((0, 1, 1, 1, 2)))
    evidence = literals(random.choice((0, 0, 1, 1, 2)))
    return GroundQuery(query, evidence, "?", NOWHERE)


def random_network(random: Random) -> GroundProgram:
    """A random Bayesian network: many-valued variables with a table of rows each.

    Rows can be missing, leave mass to nothing, hold with certainty, say less of the parents or
    overlap; there are functions of variables, and sometimes constraints and second rules.
    """
    draw = _Drawing(random)
    variables: list[list[int]] = []
    for _ in range(random.randint(2, 5)):
        parents = random.sample(variables, min(len(variables), random.choice((0, 1, 1, 2))))
        variables.append(draw.variable(parents))
    for _ in range(random.choice((0, 0, 1, 2))):
        draw.function(random.sample(variables, min(len(variables), 2)))
    everything = list(range(1, draw.size))
    visible = [a for a in everything if a not in draw.selectors]
    for _ in range(random.choice((0, 0, 0, 1, 2))):  # second rules, from lower to higher atoms
        low, high = sorted(random.sample(visible, 2))
        draw.rules.append(Rule((high,), (random.choice((low, -low)),)))
    for _ in range(random.choice((0, 0, 0, 1, 2))):
        draw.rules.append(Rule((), tuple(random.sample(visible, random.choice((1, 2, 2))))))
    symbols = [
        None if a == 0 or a in draw.selectors else Function(f"p{a}") for a in range(draw.size)
    ]
    shape = Shape()
    random.shuffle(draw.rules)
    return GroundProgram(
        ast.Program(()),
        tuple(symbols),
        tuple(draw.rules),
        tuple(draw.choices),
        questions=tuple(_question(random, shape, visible) for _ in range(shape.questions)),
        atoms={s: a for a, s in enumerate(symbols) if s is not None},
    )


class _Drawing:
    """The rules and choices of a random network so far."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.rules: list[Rule] = []
        self.choices: list[Choice] = []
        self.selectors: set[int] = set()
        self.size = 1

    def atoms(self, count: int) -> list[int]:
        """So many new atoms."""
        self.size += count
        return list(range(self.size - count, self.size))

    def variable(self, parents: list[list[int]]) -> list[int]:
        """A variable with a row for (nearly) every combination of its parents' values."""
        values = self.atoms(self.random.choice((1, 2, 2, 3)))
        for body in product(*(self._states(parent) for parent in parents)):
            chance = self.random.random()
            if chance < 0.1 or len(self.choices) > 9:
                continue
            if chance < 0.2:
                body = body[:1]
            self._row(values, tuple(body), certain=chance > 0.85)
        return values

    def function(self, parents: list[list[int]]) -> None:
        """Atoms that are functions of variables, such as a sum."""
        values = self.atoms(self.random.choice((1, 2, 3)))
        for body in product(*(self._states(parent) for parent in parents)):
            self.rules.append(Rule((self.random.choice(values),), tuple(body)))

    def _states(self, variable: list[int]) -> list[int]:
        return variable if len(variable) > 1 else [variable[0], -variable[0]]

    def _row(self, values: list[int], body: tuple[int, ...], certain: bool) -> None:
        if certain:
            self.rules.append(Rule((self.random.choice(values),), body))
            return
        heads = self.random.sample(values, self.random.randint(1, len(values)))
        nothing = len(heads) == 1 or self.random.random() < 0.3
        own = tuple(self.atoms(len(heads)))
        self.selectors.update(own)
        parts = [self.random.random() + 0.05 for _ in range(len(heads) + nothing)]
        weight = FixedWeights(tuple(p / sum(parts) for p in parts[: len(heads)]))
        self.choices.append(Choice(len(self.choices), (), own, tuple(heads), weight, nothing))
        self.rules += [Rule((h,), (s, *body)) for h, s in zip(heads, own, strict=True)]
