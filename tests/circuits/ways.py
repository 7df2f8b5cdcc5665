"""Every way and order of the compiler beside the reference engine, on one program."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpasp.circuits import Cache, HeadCycle, Options, compile
from dpasp.circuits.compiler import CompilerWay, Order
from dpasp.errors import Error
from dpasp.ground.program import GroundProgram
from dpasp.inference.circuit import OnCircuit
from dpasp.inference.enumerate import enumerate_models
from dpasp.semantics import leaves
from dpasp.semantics.meaning import Meaning

WAYS: tuple[tuple[CompilerWay, Order], ...] = (
    ("auto", "auto"),
    ("elimination", "auto"),
    ("diagram", "narrow"),
    ("diagram", "depth"),
    ("tables", "narrow"),
    ("tables", "breadth"),
    ("search", "auto"),
)

IN_NUMBERS = (("auto", "auto"), ("tables", "narrow"))  # known weights


def compare(
    name: str,
    ground: GroundProgram,
    meaning: Meaning,
    cache: Cache | None = None,
    ways: Sequence[tuple[CompilerWay, Order]] = WAYS,
) -> int:
    """Compare all ways on one program; how many circuits were compared.

    With a cache that of the compiler's own choice is also written to it and read from it. Under
    maxent the ways that can end in numbers also do.
    """
    weights = leaves.weights(ground)[:, np.newaxis]
    try:
        expected = enumerate_models(ground, meaning).masses(weights)
    except Error:
        return 0  # no meaning under this semantics
    layout = leaves.layout(ground.choices)
    count = 0
    for way, order in ways:
        options = Options(way, order)
        try:
            found = [compile(ground, meaning, options=options)]
        except HeadCycle:
            return count
        if cache and way == "auto":
            found += [compile(ground, meaning, cache=cache) for _ in range(2)]
        if meaning.maxent and (way, order) in IN_NUMBERS:
            known = Options(way, order, weights=weights[:, 0])
            found.append(compile(ground, meaning, options=known))
        for circuit in found:
            masses = OnCircuit(circuit, meaning, ground.questions, layout).masses(weights)
            for field in meaning.fields:
                one, other = getattr(masses, field), getattr(expected, field)
                # one difference after the other: numpy's own comparison takes ten times as long
                assert one.shape == other.shape, f"{name} {way} {order} {field}"
                near = np.abs(one - other) <= 1e-13 + 1e-9 * np.abs(other)
                assert near.all(), f"{name} {way} {order} {field}: {one}, not {other}"
        count += len(found)
    return count
