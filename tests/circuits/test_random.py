"""Random ground programs: every way and order gives what the reference engine gives.

``DPASP_RANDOM_CIRCUITS`` sets how many programs are drawn (5,000 if it is not set; those after
the first 500 are slow tests).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from random import Random

import numpy as np
import pytest

from dpasp.circuits import FIELDS, Cache, HeadCycle, compile
from dpasp.circuits.compiler import CompilerWay, Order
from dpasp.ground.program import GroundProgram
from dpasp.language.ast import Logic, Probability
from dpasp.semantics import leaves
from dpasp.semantics.meaning import Meaning

from .programs import STABLE, draw_shape, random_network, random_program
from .ways import compare

PROGRAMS = int(os.environ.get("DPASP_RANDOM_CIRCUITS", "5000"))
FEW = 300  # programs in every run of the tests
BLOCK = 50
# stable models come more often: there alone are aggregates, choice rules and disjunction
LOGICS = (Logic.STABLE, *Logic, Logic.STABLE, Logic.LSTABLE)


def programs(
    logic: Logic, seeds: range, *, stratified: bool = False
) -> Iterator[tuple[int, GroundProgram]]:
    for seed in seeds:
        random = Random(seed)
        shape = draw_shape(random, undef=logic is not Logic.STABLE, stratified=stratified)
        yield seed, random_program(random, shape)


def blocks(programs: int, few: int, *more: Iterator[Logic]) -> list[object]:
    """The first seeds of the blocks of programs; those after a few programs are slow tests."""
    return [
        pytest.param(first, *rest, marks=[pytest.mark.slow] if first >= few else [])
        for first, *rest in zip(range(0, programs, BLOCK), *more, strict=False)
    ]


@pytest.mark.parametrize(("first", "logic"), blocks(PROGRAMS, FEW, cycle(LOGICS)))
def test_every_way(first: int, logic: Logic, tmp_path: Path) -> None:
    compared = 0
    for seed, ground in programs(logic, range(first, first + BLOCK)):
        # files are synced, which takes longer than all the rest
        cache = Cache(tmp_path / str(seed), worth=0.0) if seed % 10 == 0 else None
        runs = [compare(f"seed {seed}", ground, Meaning(logic, p), cache) for p in Probability]
        compared += any(runs)
    assert compared > BLOCK / 4  # the others have no meaning or a head cycle


@pytest.mark.parametrize("first", blocks(PROGRAMS // 5, FEW // 5))
def test_networks(first: int) -> None:
    """Tables with many-valued variables, by elimination among other ways."""
    ways: list[tuple[CompilerWay, Order]] = [
        ("auto", "auto"),
        ("elimination", "auto"),
        ("diagram", "narrow"),
        ("tables", "narrow"),
        ("search", "auto"),
    ]
    eliminated = 0
    for seed in range(first, first + BLOCK):
        ground = random_network(Random(seed))
        for probability in Probability:
            compare(f"network {seed}", ground, Meaning(Logic.STABLE, probability), ways=ways)
        eliminated += "elimination" in compile(ground, STABLE).statistics.way
    assert eliminated > BLOCK / 10


def test_stratified_programs_agree_on_everything() -> None:
    for seed, ground in programs(Logic.STABLE, range(20_000, 20_150), stratified=True):
        compare(f"seed {seed}", ground, STABLE)
        circuit = compile(ground, STABLE)
        masses = dict(zip(FIELDS, circuit.masses(leaves.weights(ground)).T, strict=True))
        assert circuit.definite
        for one, other in (("a", "b"), ("b", "qe"), ("c", "d")):
            np.testing.assert_array_equal(masses[one], masses[other])


@pytest.mark.parametrize("logic", Logic)
def test_orders_that_are_polished(logic: Logic) -> None:
    ways: list[tuple[CompilerWay, Order]] = [("diagram", "polished"), ("tables", "polished")]
    for seed, ground in programs(logic, range(50_000, 50_020)):
        for probability in Probability:
            compare(f"seed {seed}", ground, Meaning(logic, probability), ways=ways)


def test_both_probabilistic_semantics_at_once() -> None:
    for _, ground in programs(Logic.STABLE, range(30_000, 30_100)):
        weights = leaves.weights(ground)
        try:
            circuit = compile(ground, STABLE)
        except HeadCycle:
            continue
        credal = compile(ground, Meaning(Logic.STABLE, Probability.CREDAL)).masses(weights)
        maxent = compile(ground, STABLE).masses(weights)
        both = circuit.masses(weights)
        np.testing.assert_allclose(both[:, :5], credal[:, :5], rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(both[:, 5:], maxent[:, 5:], rtol=1e-12, atol=1e-15)


def test_the_same_circuit_every_time() -> None:
    for _, ground in programs(Logic.STABLE, range(40_000, 40_020)):
        try:
            first, second = (compile(ground, STABLE) for _ in range(2))
        except HeadCycle:
            continue
        assert first.native.to_bytes() == second.native.to_bytes()
