"""Random propositional programs: the same seed, the same program.

Every program draws its own mixture first, so that a run holds programs with and
without disjunction, constraints, positive and negative loops, annotated
disjunctions, credal choices, evidence and ``undef``.

>>> generate(1) == generate(1), generate(1) == generate(2)
(True, False)
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from random import Random

from .programs import Choice, Literal, Program, Query, Rule

MODES = ("", "not ", "undef ")


@dataclass(frozen=True)
class Mixture:
    """How large a program is, and how likely each feature is."""

    atoms: int
    rules: int
    choices: int
    patterns: int  # so many small loops besides the rules
    negation: float  # of a body literal
    disjunction: float  # of a rule
    constraint: float  # of a rule
    annotated: float  # a choice has several heads
    bodies: float  # a choice has a body
    credal: float  # a choice has intervals
    evidence: float  # a query has evidence
    undef: float  # a literal of a query is undef
    queries: int = 3

    @staticmethod
    def draw(random: Random, largest: int = 5) -> Mixture:
        """One mixture."""
        atoms = random.randint(3, largest)
        return Mixture(
            atoms=atoms,
            rules=random.randint(1, atoms),
            choices=random.randint(1, 4),
            patterns=random.randint(0, 2),
            negation=random.choice((0.2, 0.4, 0.7)),
            disjunction=random.choice((0.0, 0.0, 0.25, 0.5)),
            constraint=random.choice((0.0, 0.0, 0.15, 0.3)),
            annotated=random.choice((0.0, 0.3, 0.6)),
            bodies=random.choice((0.0, 0.4, 0.8)),
            credal=random.choice((0.0, 0.0, 0.0, 0.4)),
            evidence=random.choice((0.0, 0.4, 0.8)),
            undef=random.choice((0.0, 0.2, 0.5)),
        )


def generate(seed: int, largest: int = 5) -> Program:
    """The random program of that seed, with at most so many atoms."""
    random = Random(seed)
    mixture = Mixture.draw(random, largest)
    atoms = "abcdefgh"[: mixture.atoms]
    choices = tuple(_choice(random, mixture, atoms) for _ in range(mixture.choices))
    single = [_rule(random, mixture, atoms) for _ in range(mixture.rules)]
    loops = [rule for _ in range(mixture.patterns) for rule in _loop(random, mixture, atoms)]
    rules = tuple(random.sample(single + loops, len(single + loops)))
    program = Program(rules, choices)
    queries = tuple(_query(random, mixture, program.atoms) for _ in range(mixture.queries))
    return Program(rules, choices, queries)


def _body(random: Random, mixture: Mixture, atoms: str, least: int) -> tuple[tuple[str, ...], ...]:
    size = random.randint(least, 3) if random.random() < 0.3 else random.randint(least, 2)
    picked = random.sample(atoms, size)
    negated = [random.random() < mixture.negation for _ in picked]
    positive = tuple(a for a, no in zip(picked, negated, strict=True) if not no)
    negative = tuple(a for a, no in zip(picked, negated, strict=True) if no)
    return positive, negative


def _rule(random: Random, mixture: Mixture, atoms: str) -> Rule:
    kind = random.random()
    if kind < mixture.constraint:
        return Rule((), *_body(random, mixture, atoms, 1))
    heads = 1
    if kind < mixture.constraint + mixture.disjunction:
        heads = random.choice((2, 2, 3))
    return Rule(tuple(random.sample(atoms, heads)), *_body(random, mixture, atoms, heads == 1))


def _loop(random: Random, mixture: Mixture, atoms: str) -> list[Rule]:
    """Two rules through ``not`` (an even loop), one (odd), or two without (positive)."""
    a, b = random.sample(atoms, 2)
    (positive, negative) = _body(random, mixture, atoms, 0)
    kind = random.choice(("even", "even", "odd", "positive"))
    if kind == "odd":
        return [Rule((a,), positive, (*negative, a))]
    if kind == "even":
        return [Rule((a,), positive, (*negative, b)), Rule((b,), positive, (*negative, a))]
    return [Rule((a,), (b,)), Rule((b,), (a,)), Rule((b,), positive, negative)]


def _choice(random: Random, mixture: Mixture, atoms: str) -> Choice:
    heads = random.choice((2, 3)) if random.random() < mixture.annotated else 1
    lower, upper = _weights(random, heads, random.random() < mixture.credal)
    body: tuple[tuple[str, ...], ...] = ((), ())
    if random.random() < mixture.bodies:
        body = _body(random, mixture, atoms, 1)
    return Choice(tuple(random.sample(atoms, heads)), lower, upper, *body)


def _weights(
    random: Random, heads: int, credal: bool
) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    """Bounds in twentieths; those of a credal choice with several heads allow a sum of 1."""
    cuts = sorted(random.choice((0, 20, *range(1, 20))) for _ in range(heads))
    parts = [cut - before for before, cut in zip([0, *cuts], cuts, strict=False)]
    if not credal:
        if heads > 1 and random.random() < 0.5:
            parts[-1] += 20 - sum(parts)  # nothing is left over
        fixed = tuple(Fraction(part, 20) for part in parts)
        return fixed, fixed
    if heads > 1:
        parts[-1] += 20 - sum(parts)
    lower = tuple(Fraction(max(0, part - random.randint(0, 6)), 20) for part in parts)
    upper = tuple(Fraction(min(20, part + random.randint(0, 6)), 20) for part in parts)
    return lower, upper


def _query(random: Random, mixture: Mixture, atoms: tuple[str, ...]) -> Query:
    def literals(most: int) -> tuple[Literal, ...]:
        picked = random.choices(atoms, k=random.randint(1, most))
        return tuple(
            Literal("undef " if random.random() < mixture.undef else random.choice(MODES[:2]), atom)
            for atom in dict.fromkeys(picked)
        )

    return Query(
        literals(2),
        literals(random.choice((1, 1, 2))) if random.random() < mixture.evidence else (),
    )
