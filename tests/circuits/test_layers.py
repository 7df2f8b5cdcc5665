"""The sweep in numpy computes what the native evaluation computes, channel by channel."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np

from dpasp.circuits import FIELDS, HeadCycle, compile
from dpasp.circuits.layers import MIXED, Layer, Layers, Numbers, sweep
from dpasp.semantics import leaves

from .programs import STABLE, draw_shape, random_program


def mass(layers: Layers, channels: Sequence[Numbers], weights: Numbers) -> float:
    """The last of one or three channels at the root."""
    wide = np.append(weights, 1.0)

    def add(layer: Layer, below: Sequence[Numbers]) -> list[Numbers]:
        return [layer.sum(wide[layer.weights] * own) for own in below]

    def multiply(_: Layer, x: Sequence[Numbers], y: Sequence[Numbers]) -> list[Numbers]:
        plain = [one * other for one, other in zip(x, y, strict=True)]
        return plain if len(x) == 1 else [*plain[:2], x[2] * y[0] + x[1] * y[2]]

    return float(sweep(layers, channels, add, multiply)[-1][layers.root])


def test_every_mass_is_a_sweep() -> None:
    compared = 0
    for seed in range(60):
        random = Random(seed)
        ground = random_program(random, draw_shape(random))
        try:
            circuit = compile(ground, STABLE)
        except HeadCycle:
            continue
        weights = leaves.weights(ground)
        expected = circuit.masses(weights)
        for question, row in enumerate(expected):
            for field, value in zip(FIELDS, row, strict=True):
                rule = MIXED.get(field)
                names = (field,) if rule is None else (rule.whole, rule.part, field)
                own = [circuit.values.channel(name) for name in names]
                found = mass(circuit.below(question), own, weights)
                np.testing.assert_allclose(found, value, rtol=1e-12, atol=1e-300)
                compared += 1
    assert compared > 300


def test_layers_are_decoded_once() -> None:
    random = Random(1)
    circuit = compile(random_program(random, draw_shape(random)), STABLE)
    assert circuit.layers is circuit.layers
    assert circuit.below(0) is circuit.below(0)
    assert len(circuit.below(0)) == len(circuit.layers)
