"""The answer to a query from the models of every total choice, in exact fractions.

>>> from .programs import read
>>> program = read("0.3::a. p :- a, not q. q :- a, not p. #query p.")
>>> answer(program, "stable", "credal")[0]
Bounds(lower=Fraction(0, 1), upper=Fraction(3, 10))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import prod

from .models import FALSE, TRUE, UNDEFINED, Base, Interpretation, number
from .programs import Choice, Literal, Program, Query, Rule

Theta = tuple[int, ...]  # a total choice: the position of the value that each choice takes
Weights = Mapping[Theta, Fraction]
ZERO = Fraction(0)
WANTED = {"": TRUE, "not ": FALSE, "undef ": UNDEFINED}


@dataclass(frozen=True)
class Bounds:
    """Lower and upper probability; equal under maxent."""

    lower: Fraction
    upper: Fraction


@dataclass(frozen=True)
class Refused:
    """No answer: ``inconsistent`` or ``impossible-evidence``."""

    code: str


Answer = Bounds | Refused


@dataclass(frozen=True)
class Table:
    """Γ(θ) for every total choice θ, given by the positions of its values."""

    atoms: tuple[str, ...]
    models: Mapping[Theta, tuple[Interpretation, ...]]
    weights: Sequence[Weights]  # for every vertex of the credal choices

    def inconsistent(self) -> Fraction:
        """The mass of the total choices without a model (at the first vertex)."""
        return sum((p for theta, p in self.weights[0].items() if not self.models[theta]), ZERO)


def table(program: Program, logic: str) -> Table:
    """The models of every total choice that can have mass."""
    atoms = program.atoms
    base = _base(program.rules, atoms)
    weights = _weights(program.choices)
    models = {}
    for theta in weights[0]:
        picked = (choice.rules[i] for choice, i in zip(program.choices, theta, strict=True))
        chosen = number([rule for rule in picked if rule is not None], atoms)
        models[theta] = base.models(logic, chosen)
    return Table(atoms, models, weights)


@lru_cache(maxsize=4)  # the same program is asked under several semantics in a row
def _weights(choices: tuple[Choice, ...]) -> tuple[Weights, ...]:
    """P(θ) for every total choice θ, for every vertex of the credal choices."""
    values = [
        [i for i in range(len(choice.rules)) if any(p[i] > 0 for p in choice.vertices)]
        for choice in choices
    ]
    return tuple(
        {
            theta: prod((p[i] for p, i in zip(vertex, theta, strict=True)), start=Fraction(1))
            for theta in product(*values)
        }
        for vertex in product(*(choice.vertices for choice in choices))
    )


@lru_cache(maxsize=4)
def _base(rules: tuple[Rule, ...], atoms: tuple[str, ...]) -> Base:
    return Base(number(rules, atoms), len(atoms))


def answer(program: Program, logic: str, probability: str) -> list[Answer]:
    """The answers to the program's queries."""
    found = table(program, logic)
    return [ask(found, query, probability) for query in program.queries]


def ask(found: Table, query: Query, probability: str) -> Answer:
    """The answer to one query."""
    given = _wanted(found, query.evidence)
    asked = given + _wanted(found, query.literals)
    counts = {theta: _count(models, given, asked) for theta, models in found.models.items()}
    formula = {"credal": _credal, "maxent": _maxent}[probability]
    answers = [formula(counts, weights) for weights in found.weights]
    bounds = [one for one in answers if isinstance(one, Bounds)]
    if bounds:
        return Bounds(min(one.lower for one in bounds), max(one.upper for one in bounds))
    impossible = Refused("impossible-evidence")
    return impossible if impossible in answers else answers[0]


@dataclass(frozen=True)
class Count:
    """How many models there are, that satisfy e, that satisfy q and e."""

    n: int
    e: int
    qe: int


Wanted = tuple[tuple[int, int], ...]  # atoms, and the value that each must have


def _wanted(found: Table, literals: Sequence[Literal]) -> Wanted:
    return tuple((found.atoms.index(one.atom), WANTED[one.mode]) for one in literals)


def _count(models: Sequence[Interpretation], given: Wanted, asked: Wanted) -> Count:
    def satisfying(wanted: Wanted) -> int:
        return sum(all(model[atom] == value for atom, value in wanted) for model in models)

    return Count(len(models), satisfying(given), satisfying(asked))


def _credal(counts: Mapping[Theta, Count], weights: Weights) -> Answer:
    def mass(condition: Callable[[Count], bool]) -> Fraction:
        return sum((p for theta, p in consistent.items() if condition(counts[theta])), ZERO)

    consistent = {theta: p for theta, p in weights.items() if counts[theta].n > 0 and p > 0}
    if not consistent:
        return Refused("inconsistent")
    a = mass(lambda count: count.qe == count.n)  # every model satisfies q and e
    b = mass(lambda count: count.qe > 0)  # some model satisfies q and e
    c = mass(lambda count: count.e == count.n and count.qe == 0)  # every model has e, none q
    d = mass(lambda count: count.e > count.qe)  # some model satisfies e and not q
    if b + d == 0:
        return Refused("impossible-evidence")
    if b + c == 0:
        return Bounds(ZERO, ZERO)
    if a + d == 0:
        return Bounds(Fraction(1), Fraction(1))
    return Bounds(a / (a + d), b / (b + c))


def _maxent(counts: Mapping[Theta, Count], weights: Weights) -> Answer:
    consistent = {theta: p for theta, p in weights.items() if counts[theta].n > 0 and p > 0}
    if not consistent:
        return Refused("inconsistent")
    given = sum((p * counts[theta].e / counts[theta].n for theta, p in consistent.items()), ZERO)
    asked = sum((p * counts[theta].qe / counts[theta].n for theta, p in consistent.items()), ZERO)
    if given == 0:
        return Refused("impossible-evidence")
    return Bounds(asked / given, asked / given)


@dataclass(frozen=True)
class Best:
    """The largest probability of a joint value, and the joint values that have it."""

    probability: Fraction
    values: frozenset[tuple[Literal, ...]]


def most_probable(
    found: Table, atoms: Sequence[str], evidence: tuple[Literal, ...], probability: str
) -> tuple[Best, Best] | Refused:
    """The best joint values of the atoms by lower and by upper probability.

    Only values that some model with the evidence has are looked at.
    """
    mode = {value: mode for mode, value in WANTED.items()}
    possible = set()
    for theta, models in found.models.items():
        if any(weights[theta] > 0 for weights in found.weights):
            for model in models:
                value = (model[found.atoms.index(atom)] for atom in atoms)
                possible.add(tuple(Literal(mode[v], a) for v, a in zip(value, atoms, strict=True)))
    answers = {value: ask(found, Query(value, evidence), probability) for value in possible}
    bounds = {
        value: one for value, one in answers.items() if isinstance(one, Bounds) and one.upper > 0
    }
    if not bounds:
        return next(
            (a for a in answers.values() if isinstance(a, Refused)), Refused("inconsistent")
        )
    return _best({v: one.lower for v, one in bounds.items()}), _best(
        {v: one.upper for v, one in bounds.items()}
    )


def _best(values: Mapping[tuple[Literal, ...], Fraction]) -> Best:
    most = max(values.values())
    return Best(most, frozenset(value for value, one in values.items() if one == most))
