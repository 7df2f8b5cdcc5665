"""Evaluation: batches, gradients, logarithms, small numbers, bytes."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from clingo import Function

from dpasp.circuits import FIELDS, Circuit, HeadCycle, Options, compile, plan
from dpasp.errors import DataError, InferenceError, SizeLimit, TimeLimit, UsageError
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
from dpasp.limits import Limits
from dpasp.semantics import leaves
from dpasp.semantics.meaning import Meaning
from tests.clocks import looks

from .programs import NOWHERE, STABLE, Shape, random_program


def facts(probabilities: list[float], rules: list[Rule], query: int, size: int) -> GroundProgram:
    """Probabilistic facts 1, 2, …; their selectors come after the ``size`` atoms."""
    choices = tuple(
        Choice(i, (), (size + i,), (i + 1,), FixedWeights((p,)), True)
        for i, p in enumerate(probabilities)
    )
    given = [Rule((i + 1,), (size + i,)) for i in range(len(choices))]
    literal = GroundLiteral(Mode.TRUE, query, Function("q"))
    symbols = (None, *(Function(f"p{i}") for i in range(1, size)), *[None] * len(choices))
    return GroundProgram(
        ast.Program(()),
        symbols,
        (*given, *rules),
        choices,
        questions=(GroundQuery((literal,), (), "q", NOWHERE),),
    )


def some_program(seed: int) -> tuple[GroundProgram, Circuit]:
    random = Random(seed)
    while True:
        ground = random_program(random, Shape(negation=0.4, disjunction=0.0, free=0.2))
        circuit = compile(ground, STABLE)
        if circuit.native.nodes > 12 and not circuit.definite:
            return ground, circuit


def test_a_batch_is_its_columns() -> None:
    _, circuit = some_program(1)
    batch = np.random.default_rng(1).random((circuit.leaves, 700))
    together = circuit.masses(batch)
    assert together.shape == (3, 7, 700)
    for column in (0, 255, 256, 699):
        np.testing.assert_array_equal(together[:, :, column], circuit.masses(batch[:, column]))
    np.testing.assert_array_equal(circuit.masses(batch, threads=3), together)


def test_fields_that_are_not_asked_for() -> None:
    ground, circuit = some_program(2)
    weights = leaves.weights(ground)
    everything = circuit.masses(weights)
    for i, name in enumerate(FIELDS):
        alone = circuit.masses(weights, fields=[name])
        np.testing.assert_array_equal(alone[:, i], everything[:, i])
        assert np.isnan(np.delete(alone, i, axis=1)).all()


def test_logarithms() -> None:
    for seed in range(5):
        ground, circuit = some_program(10 + seed)
        weights = leaves.weights(ground)
        with np.errstate(divide="ignore"):
            expected = np.log(circuit.masses(weights))
        np.testing.assert_allclose(circuit.masses(weights, log=True), expected, atol=1e-12)


@pytest.mark.parametrize("log", [False, True])
def test_gradients(log: bool) -> None:
    for seed in range(6):
        ground, circuit = some_program(20 + seed)
        weights = leaves.weights(ground)
        base = circuit.masses(weights, log=log)
        seeds = np.random.default_rng(seed).normal(size=base.shape) * np.isfinite(base)
        masses, gradient = circuit.gradient(weights, seeds, log=log)
        used = seeds != 0
        np.testing.assert_allclose(masses[used], base[used], rtol=1e-12)
        step = 1e-6
        for i in range(circuit.leaves):
            up, down = weights.copy(), weights.copy()
            up[i] += step
            down[i] -= step
            change = circuit.masses(up, log=log)[used] - circuit.masses(down, log=log)[used]
            slope = (change * seeds[used]).sum() / (2 * step)
            assert gradient[i] == pytest.approx(slope, rel=1e-5, abs=1e-6)


def test_gradients_of_a_batch() -> None:
    _, circuit = some_program(3)
    random = np.random.default_rng(3)
    batch = random.random((circuit.leaves, 300))
    seeds = random.normal(size=(3, 7, 300))
    _, together = circuit.gradient(batch, seeds, threads=2)
    for column in (0, 150, 299):
        _, alone = circuit.gradient(batch[:, column], seeds[:, :, column])
        np.testing.assert_allclose(together[:, column], alone, rtol=1e-13)


def chain(n: int, probability: float) -> GroundProgram:
    """A conjunction of n facts, one after the other."""
    first = n + 1
    rules = [Rule((first,), (1,))]
    rules += [Rule((first + i,), (first + i - 1, i + 1)) for i in range(1, n)]
    return facts([probability] * n, rules, 2 * n, 2 * n + 1)


def test_ten_thousand_factors() -> None:
    ground = chain(10_000, 0.5)
    circuit = compile(ground, STABLE)
    weights = leaves.weights(ground)
    assert circuit.masses(weights, log=True)[0, 5] == pytest.approx(10_000 * np.log(0.5), rel=1e-12)
    masses = circuit.masses(weights)
    assert masses[0, 0] == 1
    assert masses[0, 4] == 1


def test_tiny_probabilities_survive() -> None:
    ground = chain(3, 1e-100)
    masses = compile(ground, STABLE).masses(leaves.weights(ground))
    assert masses[0, 5] == pytest.approx(1e-300, rel=1e-12)
    nearly = facts([1 - 1e-16], [], 1, 2)
    weights = np.array([1.0, 1e-20])  # the complement is not what is left of 1
    assert compile(nearly, STABLE).masses(weights)[0, 4] == 1e-20


def test_bytes_there_and_back() -> None:
    ground, circuit = some_program(4)
    data = circuit.to_bytes()
    again = Circuit.from_bytes(data)
    assert again.to_bytes() == data
    assert again.statistics == circuit.statistics
    weights = leaves.weights(ground)
    np.testing.assert_array_equal(again.masses(weights), circuit.masses(weights))


def test_damaged_bytes_are_refused() -> None:
    _, circuit = some_program(5)
    data = circuit.to_bytes()
    random = Random(5)
    with pytest.raises(DataError):
        Circuit.from_bytes(data[:-1])
    with pytest.raises(DataError):
        Circuit.from_bytes(b"something else")
    for _ in range(300):
        broken = bytearray(data)
        broken[random.randrange(len(broken))] ^= 1 << random.randrange(8)
        try:
            other = Circuit.from_bytes(bytes(broken))
        except DataError:
            continue
        if other.leaves == circuit.leaves:  # whatever it says now, it can be evaluated
            other.masses(np.full(other.leaves, 0.5))


def test_observed_atoms_are_leaves() -> None:
    # q :- 1, 2.  with an observation of q
    ground = facts([0.3, 0.6], [Rule((3,), (1, 2))], 1, 4)
    circuit = compile(ground, STABLE, observed=[3])
    assert circuit.leaves == 6
    known = leaves.weights(ground)
    batch = np.stack([np.append(known, seen) for seen in ([1, 1], [1, 0], [0, 1])], axis=1)
    masses = circuit.masses(batch)[0]
    np.testing.assert_allclose(masses[0], [1, 0.18, 0.82], rtol=1e-12)  # P(observation)
    np.testing.assert_allclose(masses[5], [0.3, 0.18, 0.12], rtol=1e-12)  # and the query


def test_an_inner_atom_cannot_be_observed() -> None:
    ground = facts([0.3], [Rule((2,), (-3,)), Rule((3,), (-2,))], 2, 4)
    with pytest.raises(InferenceError, match="not determined"):
        compile(ground, STABLE, observed=[2])


def test_head_cycles_are_not_compiled() -> None:
    ground = facts([0.3], [Rule((2, 3), (1,)), Rule((2,), (3,)), Rule((3,), (2,))], 2, 4)
    with pytest.raises(HeadCycle):
        compile(ground, STABLE)


def hard() -> GroundProgram:
    """Reachability on a dense graph: no way gets far."""
    random = Random(6)
    pairs = [tuple(random.sample(range(40), 2)) for _ in range(400)]
    rules = [Rule((41 + a,), (41 + b, i % 40 + 1)) for i, (a, b) in enumerate(pairs)]
    return facts([0.5] * 40, [*rules, Rule((41,), ())], 80, 82)


def test_limits_are_honoured() -> None:
    ground = hard()
    with pytest.raises(SizeLimit, match=r"40 choices .* reached \d+ nodes"):
        compile(
            ground,
            STABLE,
            options=Options(nodes=100, work=10_000),
        )
    with pytest.raises(TimeLimit):
        compile(ground, STABLE, watch=looks(5000).start())


def test_wrong_shapes() -> None:
    ground, circuit = some_program(7)
    with pytest.raises(UsageError, match="weights"):
        circuit.masses(np.ones(circuit.leaves + 1))
    with pytest.raises(UsageError, match="seeds"):
        circuit.gradient(leaves.weights(ground), np.ones((1, 7)))


def test_statistics_name_the_way() -> None:
    ground = chain(20, 0.5)
    for way in ("diagram", "tables", "elimination"):
        statistics = compile(
            ground, Meaning(Logic.STABLE, Probability.CREDAL), options=Options(way=way)
        ).statistics
        assert statistics.way == way
        assert statistics.choices == 20
        assert statistics.determined == 40
        assert statistics.inner == 0


def test_a_plan_says_what_would_be_tried() -> None:
    ground = chain(20, 0.5)
    (part,) = plan(ground, STABLE)
    assert (part.choices, part.guesses, part.width) == (20, 0, 1)
    assert len(part.tries) == len(set(part.tries)) > 4
    loops = [Rule((3,), (1, -4)), Rule((4,), (1, -3)), Rule((5,), (2, -6)), Rule((6,), (2, -5))]
    parts = plan(facts([0.5, 0.5], loops, 3, 7), Meaning(Logic.STABLE, Probability.CREDAL))
    assert [(one.choices, one.guesses) for one in parts] == [(1, 1), (1, 1)]


def test_progress_is_told_and_may_stop() -> None:
    class Enough(Exception):
        pass

    told: list[float] = []

    def progress(share: float, total: float | None) -> None:
        told.append(share)
        if len(told) > 2:
            raise Enough

    with pytest.raises(Enough):
        compile(hard(), STABLE, watch=Limits().start(progress))
    assert all(0 <= share <= 1 for share in told)
