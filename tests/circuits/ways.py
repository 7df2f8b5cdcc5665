"""Every way and order of the compiler beside the reference engine, on one program."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpasp.circuits import Cache, HeadCycle, Options, compile
from dpasp.circuits.compiler import Order, Way
from dpasp.errors import Error
from dpasp.inference.reference.enumerate import enumerate_models
from dpasp.language.ast import Logic, Probability
from dpasp.logic.program import GroundProgram
from dpasp.semantics import leaves

KNOWN = {Probability.CREDAL: [0, 1, 2, 3, 4], Probability.MAXENT: [0, 5, 6]}
WAYS: tuple[tuple[Way, Order], ...] = (
    ("auto", "auto"),
    ("elimination", "auto"),
    ("diagram", "narrow"),
    ("diagram", "depth"),
    ("tables", "narrow"),
    ("tables", "breadth"),
    ("search", "width"),
    ("search", "frequency"),
)


def compare(
    name: str,
    ground: GroundProgram,
    logic: Logic,
    probability: Probability,
    cache: Cache | None = None,
    ways: Sequence[tuple[Way, Order]] = WAYS,
) -> int:
    """Compare all ways on one program; how many circuits were compared.

    With a cache that of the compiler's own choice is also written to it and read from it.
    """
    weights = leaves.weights(ground)
    try:
        expected = enumerate_models(ground, logic, probability).masses(weights[:, None])[:, :7, 0]
    except Error:
        return 0  # no meaning under this semantics
    known = KNOWN[probability]
    count = 0
    for way, order in ways:
        options = Options(way, order)
        try:
            found = [compile(ground, logic, probability, options=options)]
        except HeadCycle:
            return count
        if cache and way == "auto":
            found += [compile(ground, logic, probability, cache=cache) for _ in range(2)]
        for circuit in found:
            np.testing.assert_allclose(
                circuit.masses(weights)[:, known],
                expected[:, known],
                rtol=1e-9,
                atol=1e-13,
                err_msg=f"{name} {way} {order}",
            )
        count += len(found)
    return count
