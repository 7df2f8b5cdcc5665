"""Maxent over programs with many models, under known weights: sums in place of circuits."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

import dpasp
from dpasp.circuits import FIELDS, Circuit, HeadCycle, Options, compile
from dpasp.circuits.compiler import CompilerWay, Order
from dpasp.ground.program import GroundProgram
from dpasp.inference.enumerate import enumerate_models
from dpasp.language.ast import Logic, Probability
from dpasp.semantics import leaves
from dpasp.semantics.meaning import Meaning

from .programs import draw_shape, random_program

MAXENT = Meaning(Logic.STABLE, Probability.MAXENT)
ASKED = ("consistent", "qe", "e")


def in_numbers(
    ground: GroundProgram, way: CompilerWay = "auto", order: Order = "auto"
) -> tuple[Circuit, list[float]]:
    """The circuit of a program under its own weights, and what it says."""
    weights = leaves.weights(ground)
    circuit = compile(ground, MAXENT, options=Options(way, order, weights=weights))
    return circuit, circuit.masses(weights)[0][[FIELDS.index(name) for name in ASKED]].tolist()


def expected(ground: GroundProgram) -> list[float]:
    masses = enumerate_models(ground, MAXENT).masses(leaves.weights(ground)[:, np.newaxis])
    return [float(np.ravel(getattr(masses, name))[0]) for name in ASKED]


def strip(n: int) -> str:
    """3-colouring of vertices in a row, each perhaps linked to the next two."""
    edges = [(i, j) for i in range(n) for j in (i + 1, i + 2) if j < n]
    facts = " ".join(f"0.{(3 * i + j) % 8 + 1}::edge({i},{j})." for i, j in edges)
    return f"""vertex(0..{n - 1}). {facts}
        1 {{ colour(X,red); colour(X,green); colour(X,blue) }} 1 :- vertex(X).
        :- edge(X,Y), colour(X,C), colour(Y,C).
        #query colour(0,red) | colour({n - 1},red)."""


def colouring(n: int, edges: int, seed: int = 1) -> str:
    """3-colouring of a random graph: hardly two prefixes of its choices leave the same."""
    pairs = Random(seed).sample([(i, j) for i in range(n) for j in range(i)], edges)
    facts = " ".join(f"0.{k % 7 + 2}::edge({i},{j})." for k, (i, j) in enumerate(pairs))
    return f"""vertex(0..{n - 1}). {facts}
        1 {{ colour(X,red); colour(X,green); colour(X,blue) }} 1 :- vertex(X).
        :- edge(X,Y), colour(X,C), colour(Y,C).
        #query colour(0,red), not colour(1,green) | colour({n - 1},red)."""


def smokers(n: int, seed: int = 0) -> str:
    """Everyone under stress may quit; others smoke because of friends."""
    random = Random(seed)
    pairs = [(i, j) for i in range(n) for j in random.sample(range(n), 2) if i != j]
    friends = " ".join(f"0.3::friend({i},{j})." for i, j in pairs)
    return f"""0.4::stress(P) :- P = 0..{n - 1}. {friends}
        smokes(X) :- stress(X), not quits(X).
        smokes(X) :- friend(Y,X), smokes(Y), not quits(X).
        quits(X) :- stress(X), not smokes(X).
        #query smokes(0) | not smokes(1)."""


@pytest.mark.parametrize("text", [strip(4), smokers(3)])
def test_they_are_the_shares_of_the_enumeration(text: str) -> None:
    ground = dpasp.loads(text).ground()
    for way in ("auto", "tables", "diagram"):
        assert in_numbers(ground, way)[1] == pytest.approx(expected(ground), rel=1e-12)


def test_a_long_strip_has_the_same_shares_in_every_order() -> None:
    """Sixty vertices with 117 choices; a circuit would take millions of nodes."""
    ground = dpasp.loads(strip(60)).ground()
    found = [in_numbers(ground, "tables", order) for order in ("narrow", "breadth")]
    assert found[0][1] == pytest.approx(found[1][1], rel=1e-9)
    assert found[0][1][2] == pytest.approx(1 / 3, rel=1e-9)  # by symmetry
    assert all(circuit.of_weights and circuit.statistics.nodes < 10 for circuit, _ in found)


@pytest.mark.parametrize("edges", [8, 11])
def test_prefixes_and_suffixes_meet_anywhere(edges: int) -> None:
    """Every order meets elsewhere, and a circuit does not meet at all."""
    ground = dpasp.loads(colouring(8, edges)).ground()
    weights = leaves.weights(ground)
    circuit = compile(ground, MAXENT, options=Options("diagram"))
    exact = circuit.masses(weights)[0][[FIELDS.index(name) for name in ASKED]].tolist()
    for order in ("narrow", "breadth", "depth", "polished"):
        assert in_numbers(ground, "tables", order)[1] == pytest.approx(exact, rel=1e-12)


def test_a_random_graph_has_the_same_shares_in_every_order() -> None:
    ground = dpasp.loads(colouring(12, 18)).ground()
    found = [in_numbers(ground, "tables", order)[1] for order in ("narrow", "polished")]
    assert found[0] == pytest.approx(found[1], rel=1e-12)


def test_no_colour_is_special() -> None:
    """Sixteen vertices and 24 choices: what is asked tells the colours apart, the sum does not."""
    ground = dpasp.loads(colouring(16, 24, seed=2)).ground()
    consistent, _, evidence = in_numbers(ground, "tables", "polished")[1]
    assert evidence == pytest.approx(consistent / 3, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "coins"),
    [
        ("0.3::x. a :- x, not b. b :- x, not a. #query a.", True),
        ("0.3::x. 0.6::y. {a} :- x. :- a, y. #query a.", True),
        ("0.3::x. 0.6::y. {a}. :- a, y. :- not a, x. #query a | x.", True),
        ("0.3::x. {a; b} :- x. c :- a. c :- b. #query c, not a.", True),
        ("0.3::x. {a; b} :- x. :- a, b. #query a.", False),
        ("0.3::x. a :- not b. b :- not a. c :- a, not d. d :- x, not c. #query d.", False),
    ],
)
def test_a_guess_that_nothing_else_couples_is_a_coin(text: str, coins: bool) -> None:
    ground = dpasp.loads(text).ground()
    circuit, found = in_numbers(ground, "diagram")
    assert found == pytest.approx(expected(ground), rel=1e-12)
    assert circuit.of_weights == coins


def test_coins_and_coupled_guesses_in_different_parts() -> None:
    text = "0.3::x. {a} :- x. 0.4::y. {b; c} :- y. :- b, c. #query a, not b | not c."
    ground = dpasp.loads(text).ground()
    assert in_numbers(ground)[1] == pytest.approx(expected(ground), rel=1e-12)


def test_many_smokers_with_negation() -> None:
    """Fourteen loops through negation, compiled as if there were one model."""
    ground = dpasp.loads(smokers(14)).ground()
    coins, found = in_numbers(ground)
    assert coins.of_weights
    assert found == pytest.approx(in_numbers(ground, "diagram")[1], rel=1e-9)


def test_evidence_too_improbable_for_numbers_has_a_circuit() -> None:
    rare = "".join(f"1e-40::x({i}). " for i in range(8))
    text = f"{rare} 0.4::y. {{a; b}} :- y. :- a, b. c :- x(0..7), not a. c :- a. "
    evidence = ", ".join(f"x({i})" for i in range(8))
    program = dpasp.loads(f"{text} d :- {evidence}, a. #query a | d. #query b | {evidence}, y.")
    found = program.query(semantics="maxent")
    assert [answer.value for answer in found] == pytest.approx([1.0, 1 / 3])
    program = dpasp.loads("0.4::y. {a; b} :- y. :- a, b. :- a. #query b | a, not b.")
    with pytest.raises(dpasp.ImpossibleEvidence):
        program.query(semantics="maxent")


def test_counts_too_far_apart_for_numbers_have_a_circuit() -> None:
    """One model beside 2^900 on either side, and total choices that leave that one alone."""
    text = """0.5::x. 0.5::y. 1 { s(a); s(b); s(c) } 1. :- x, s(c). :- y, s(a).
        { l(1..900) } :- s(a). { r(1..900) } :- s(c). #query s(b). #query l(1) | s(a)."""
    circuit, found = in_numbers(dpasp.loads(text).ground(), "tables", "narrow")
    assert found == pytest.approx([1.0, 0.25, 1.0], rel=1e-12)
    assert not circuit.of_weights


def test_a_plan_knows_the_coins_but_does_not_count_them() -> None:
    text = "0.3::x. a :- x, not b. b :- x, not a. #query a."
    credal, maxent = (dpasp.loads(text).plan(semantics=name) for name in ("credal", "maxent"))
    assert [(part.choices, part.guesses) for part in credal.parts] == [(1, 1)]
    assert [(part.choices, part.guesses) for part in maxent.parts] == [(1, 0)]


def test_the_most_probable_values_are_not_summed() -> None:
    program = dpasp.loads(smokers(3).replace("#query", "#mpe | smokes(2). #query"))
    found, exact = (program.query(semantics="maxent", engine=e) for e in ("auto", "enumerate"))
    for own, other in zip(found, exact, strict=True):
        assert own.numbers == pytest.approx(other.numbers)


def test_half_of_the_random_programs_have_coins() -> None:
    """So that the comparison of all random programs says something about them."""
    with_guesses = coins = 0
    for seed in range(60):
        random = Random(seed)
        ground = random_program(random, draw_shape(random, undef=False))
        try:
            circuit, _ = in_numbers(ground)
        except HeadCycle:
            continue
        with_guesses += circuit.statistics.guesses > 0
        coins += circuit.of_weights
    assert coins > with_guesses / 2
