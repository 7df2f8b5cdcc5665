"""Circuits as text, and tables as circuits."""

from __future__ import annotations

import json
import math
from random import Random

import numpy as np

from dpasp.circuits import HeadCycle, compile
from dpasp.circuits.export import circuit_json, dot, nnf
from dpasp.circuits.join import Counted, fold
from dpasp.ground.program import Rule
from dpasp.inference.enumerate import enumerate_models
from dpasp.semantics import leaves

from .programs import STABLE, draw_shape, random_program
from .test_circuit import facts, some_program


def read_nnf(text: str, weights: list[float]) -> float:
    """The weighted model count of a d-DNNF in c2d's format."""
    head, *lines = text.splitlines()
    values: list[float] = []
    for line in lines:
        kind, *rest = line.split()
        numbers = list(map(int, rest))
        if kind == "L":
            values.append(weights[numbers[0] - 1])
        elif kind == "A":
            values.append(math.prod(values[i] for i in numbers[1:]))
        else:
            values.append(sum(values[i] for i in numbers[2:]))
    assert head == f"nnf {len(lines)} {sum(_arity(line) for line in lines)} {len(weights)}"
    return values[-1]


def _arity(line: str) -> int:
    kind, *rest = line.split()
    return {"L": 0, "A": len(rest) - 1, "O": len(rest) - 2}[kind]


def test_nnf_counts_what_the_circuit_says() -> None:
    for seed in range(12):
        ground, circuit = some_program(seed)
        weights = leaves.weights(ground)
        masses = circuit.masses(weights)
        for question in range(3):
            text = nnf(circuit, question)
            np.testing.assert_allclose(
                read_nnf(text, weights.tolist()), masses[question, 2], atol=1e-12
            )


def test_json_evaluates_to_the_same() -> None:
    ground, circuit = some_program(1)
    weights = leaves.weights(ground).tolist()
    document = json.loads(circuit_json(circuit))
    assert document["logic"] == "stable"
    values: list[float] = []
    for kind, *rest in document["nodes"]:
        if kind == "leaf":
            values.append(rest[1])
        elif kind == "sum":
            values.append(sum((1 if w is None else weights[w]) * values[c] for w, c in rest))
        else:
            values.append(math.prod(values[c] for c in rest))
    found = [values[root] for root in document["roots"]]
    np.testing.assert_allclose(found, circuit.masses(np.array(weights))[:, 5], rtol=1e-12)


def test_dot_of_a_small_circuit() -> None:
    circuit = compile(facts([0.3], [], 1, 2), STABLE)
    text = dot(circuit, ["a", 'not "a"'])
    assert text.startswith("digraph circuit {")
    assert '[label="a"]' in text
    assert '[label="not \\"a\\""]' in text
    assert "question 1" in text


def test_enumerated_tables_fold_into_circuits() -> None:
    folded = 0
    for seed in range(60):
        random = Random(seed)
        ground = random_program(random, draw_shape(random))
        table = enumerate_models(ground, STABLE)
        circuit = fold(ground.choices, table.counted(), STABLE)
        weights = leaves.weights(ground)
        expected = table.masses(weights[:, None]).array()[:7, :, 0].T
        np.testing.assert_allclose(circuit.masses(weights), expected, rtol=1e-12, atol=1e-15)
        assert circuit.statistics.way == "enumerated"
        folded += 1
    assert folded == 60


def test_head_cycles_through_the_table() -> None:
    rules = [Rule((2, 3), (1,)), Rule((2,), (3,)), Rule((3,), (2,))]
    ground = facts([0.3], rules, 2, 4)
    try:
        compile(ground, STABLE)
    except HeadCycle:
        table = Counted(np.array([[0], [1]]), np.array([[[1, 0, 0]], [[0, 1, 0]]]))
        circuit = fold(ground.choices, table, STABLE)
        np.testing.assert_allclose(circuit.masses(leaves.weights(ground))[0, 5], 0.3)
    else:
        raise AssertionError("a head cycle was compiled")
