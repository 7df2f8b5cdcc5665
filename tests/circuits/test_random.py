"""Random ground programs: every way and order gives what the reference engine gives."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import numpy as np
import pytest

from dpasp.circuits import FIELDS, HeadCycle, Options, compile
from dpasp.circuits.compiler import Order, Way
from dpasp.errors import Error
from dpasp.inference.enumerate import enumerate_models
from dpasp.language.ast import Logic, Probability
from dpasp.logic.program import GroundProgram
from dpasp.semantics import leaves

from .programs import draw_shape, random_program

KNOWN = {Probability.CREDAL: slice(0, 5), Probability.MAXENT: [0, 5, 6]}
WAYS: list[tuple[Way, Order]] = [
    ("auto", "auto"),
    ("diagram", "narrow"),
    ("diagram", "depth"),
    ("diagram", "polished"),
    ("tables", "narrow"),
    ("tables", "breadth"),
    ("search", "width"),
    ("search", "frequency"),
]


def programs(
    logic: Logic, seeds: range, *, stratified: bool = False
) -> Iterator[tuple[int, GroundProgram]]:
    for seed in seeds:
        random = Random(seed)
        shape = draw_shape(random, undef=logic is not Logic.STABLE, stratified=stratified)
        yield seed, random_program(random, shape)


def compare(seed: int, ground: GroundProgram, logic: Logic, probability: Probability) -> int:
    """Compare all ways on one program; how many runs were compared."""
    weights = leaves.weights(ground)
    try:
        expected = enumerate_models(ground, logic, probability).masses(weights[:, None])[:, :7, 0]
    except Error:
        return 0  # no meaning under this semantics
    count = 0
    for way, order in WAYS:
        try:
            circuit = compile(ground, logic, probability, options=Options(way, order))
        except HeadCycle:
            return count
        known = KNOWN[probability]
        found = circuit.masses(weights)[:, known]
        np.testing.assert_allclose(
            found, expected[:, known], rtol=1e-9, atol=1e-13, err_msg=f"{seed} {way} {order}"
        )
        count += 1
    return count


@pytest.mark.parametrize("probability", Probability)
@pytest.mark.parametrize("logic", Logic)
def test_all_semantics(logic: Logic, probability: Probability) -> None:
    first = 1000 * list(Logic).index(logic)
    runs = sum(
        compare(seed, ground, logic, probability)
        for seed, ground in programs(logic, range(first, first + 75))
    )
    assert runs > 300


def test_stratified_programs_agree_on_everything() -> None:
    for seed, ground in programs(Logic.STABLE, range(20_000, 20_150), stratified=True):
        compare(seed, ground, Logic.STABLE, Probability.MAXENT)
        circuit = compile(ground, Logic.STABLE)
        masses = dict(zip(FIELDS, circuit.masses(leaves.weights(ground)).T, strict=True))
        assert circuit.definite
        for one, other in (("a", "b"), ("b", "qe"), ("c", "d")):
            np.testing.assert_array_equal(masses[one], masses[other])


def test_both_probabilistic_semantics_at_once() -> None:
    for _, ground in programs(Logic.STABLE, range(30_000, 30_100)):
        weights = leaves.weights(ground)
        try:
            circuit = compile(ground, Logic.STABLE)
        except HeadCycle:
            continue
        credal = compile(ground, Logic.STABLE, Probability.CREDAL).masses(weights)
        maxent = compile(ground, Logic.STABLE, Probability.MAXENT).masses(weights)
        both = circuit.masses(weights)
        np.testing.assert_allclose(both[:, :5], credal[:, :5], rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(both[:, 5:], maxent[:, 5:], rtol=1e-12, atol=1e-15)


def test_the_same_circuit_every_time() -> None:
    for _, ground in programs(Logic.STABLE, range(40_000, 40_020)):
        try:
            first, second = (compile(ground, Logic.STABLE) for _ in range(2))
        except HeadCycle:
            continue
        assert first.native.to_bytes() == second.native.to_bytes()
