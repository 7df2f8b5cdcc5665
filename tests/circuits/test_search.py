"""The search that counts, on clauses: weighted counts by brute force, evidence, its limits."""

from __future__ import annotations

from itertools import product
from random import Random

import numpy as np
import pytest

from dpasp.circuits import FIELDS, Circuit, Options, compile
from dpasp.errors import SizeLimit
from dpasp.ground import ground
from dpasp.ground.program import GroundProgram
from dpasp.language import parse
from dpasp.language.ast import Logic, Probability
from dpasp.semantics import leaves
from dpasp.semantics.meaning import Meaning

MAXENT = Meaning(Logic.STABLE, Probability.MAXENT)
CREDAL = Meaning(Logic.STABLE, Probability.CREDAL)
Clauses = list[list[int]]


def random_clauses(random: Random, variables: int, clauses: int) -> Clauses:
    def literal(variable: int) -> int:
        return variable if random.random() < 0.5 else -variable

    sizes = random.choices((1, 2, 3, 4), (0.3, 3, 8, 1), k=clauses)
    return [list(map(literal, random.sample(range(1, variables + 1), size))) for size in sizes]


def holds(clauses: Clauses, values: tuple[bool, ...]) -> bool:
    return all(any(values[abs(x) - 1] == (x > 0) for x in clause) for clause in clauses)


def program(weights: list[float], clauses: Clauses, more: str = "", free: int = 0) -> GroundProgram:
    """Facts with weights, the last ``free`` of them choices, and the clauses as constraints."""
    counted = len(weights) - free
    facts = [f"{weight}::x({i})." for i, weight in enumerate(weights[:counted], 1)]
    facts += [f"{{x({i})}}." for i in range(counted + 1, len(weights) + 1)]
    bodies = (", ".join(f"x({-x})" if x < 0 else f"not x({x})" for x in c) for c in clauses)
    return ground(parse("\n".join([*facts, *(f":- {body}." for body in bodies), more])))


def searched(ground: GroundProgram, meaning: Meaning = MAXENT, **options: int) -> Circuit:
    return compile(ground, meaning, options=Options("search", **options))


def mass(circuit: Circuit, ground: GroundProgram, field: str = "consistent") -> list[float]:
    columns = leaves.weights(ground)[:, np.newaxis]
    return circuit.masses(columns, fields=(field,))[:, FIELDS.index(field), 0].tolist()


@pytest.mark.parametrize("seed", range(12))
def test_weighted_counts(seed: int) -> None:
    random = Random(seed)
    weights = [random.choice((0.25, 0.5, 0.875)) for _ in range(10)]
    clauses = random_clauses(random, 10, random.randint(8, 30))
    own = program(weights, clauses, "#query x(1). #query x(2), not x(3) | x(4).")
    total = query = joint = 0.0
    for values in product((True, False), repeat=10):
        if holds(clauses, values):
            chances = zip(weights, values, strict=True)
            share = float(np.prod([w if value else 1 - w for w, value in chances]))
            total += share
            query += share * values[0]
            joint += share * (values[3] and values[1] and not values[2])
    circuit = searched(own)
    assert mass(circuit, own) == pytest.approx([total, total], rel=1e-12, abs=0)
    assert mass(circuit, own, "qe") == pytest.approx([query, joint], rel=1e-12, abs=0)


@pytest.mark.parametrize("seed", range(12))
def test_projected_counts(seed: int) -> None:
    """An assignment of the facts counts once, however many of the free atoms fit."""
    random = Random(100 + seed)
    weights = [random.choice((0.25, 0.5, 0.875)) for _ in range(6)]
    clauses = random_clauses(random, 10, random.randint(15, 40))
    own = program([*weights, 0, 0, 0, 0], clauses, "#query x(1).", free=4)
    total = 0.0
    for outer in product((True, False), repeat=6):
        if any(holds(clauses, outer + inner) for inner in product((True, False), repeat=4)):
            chances = zip(weights, outer, strict=True)
            total += float(np.prod([w if value else 1 - w for w, value in chances]))
    assert mass(searched(own, CREDAL), own) == pytest.approx([total], rel=1e-12, abs=0)


def test_pigeons_without_a_hole() -> None:
    """Five pigeons in four holes: conflicts alone show that there is no way."""
    values = "; ".join(f"0.25::in(P,{hole})" for hole in range(4))
    text = f"pigeon(1..5). {values} :- pigeon(P). :- in(P,H), in(Q,H), P < Q. #query in(1,0)."
    own = ground(parse(text))
    assert mass(searched(own), own) == [0.0]


def test_a_latin_square() -> None:
    """576 squares of order 4; choices of four values and many equivalent literals."""
    cells = "; ".join(f"0.25::at(R,C,{value})" for value in range(4))
    text = f"""
    n(0..3). {cells} :- n(R), n(C).
    :- at(R,C,V), at(R,D,V), C < D. :- at(R,C,V), at(S,C,V), R < S.
    #query at(0,0,0)."""
    own = ground(parse(text))
    assert mass(searched(own), own)[0] * 4.0**16 == pytest.approx(576)


def chain(values: int, length: int) -> GroundProgram:
    """A chain of variables: for each value of one, a choice over the values of the next."""
    total = values * (values + 1) // 2

    def row(i: int, v: int) -> str:
        return "; ".join(f"{1 + (v + w) % values}/{total}::v({i},{w})" for w in range(values))

    rows = [f"{row(i, v)} :- v({i - 1},{v})." for i in range(1, length) for v in range(values)]
    return ground(parse("\n".join([f"{row(0, 0)}.", *rows, f"#query v({length - 1},0)."])))


@pytest.mark.parametrize(("values", "nodes"), [(3, 66), (4, 126), (5, 229)])
def test_all_values_of_a_choice_are_decided_at_once(values: int, nodes: int) -> None:
    """If each value were decided by itself, there would be twice as many nodes."""
    own = chain(values, 4)
    circuit = searched(own)
    first = expected = np.arange(1, values + 1) / (values * (values + 1) / 2)
    for _ in range(3):
        expected = sum(expected[v] * np.roll(first, -v) for v in range(values))
    assert mass(circuit, own, "qe") == pytest.approx([expected[0]], rel=1e-12)
    assert mass(circuit, own) == pytest.approx([1.0], rel=1e-12)
    assert circuit.statistics.nodes <= 1.2 * nodes


def test_the_same_circuit_every_time() -> None:
    clauses = random_clauses(Random(7), 40, 100)
    for own in (program([0.5] * 40, clauses, "#query x(1)."), chain(5, 6)):
        first, second = (searched(own).native.to_bytes() for _ in range(2))
        assert first == second


def test_a_budget_stops_it() -> None:
    random = Random(3)
    clauses = [random.sample((a, -a), 1) + random.sample((b, -b), 1) + random.sample((c, -c), 1)
               for a, b, c in (random.sample(range(1, 121), 3) for _ in range(300))]  # fmt: skip
    own = program([0.5] * 120, clauses, "#query x(1).")
    with pytest.raises(SizeLimit, match=r"search \(\d+ % done\)"):
        searched(own, work=100_000)
