"""Damaged arrays and files through the border of the native code: it refuses them, or computes.

    python -m tests.stress.border 200000        (make border; make sanitize-border)

Each seed compiles, evaluates or reads back a small program whose arrays have some damage:
numbers changed, cut off, repeated, of another type or shape. What is allowed to happen is an
exception of Python's; what must not happen is the end of the process, or an undamaged circuit
that gives other numbers than before.
"""

from __future__ import annotations

import random
import sys
from functools import cache
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpasp
from dpasp.circuits.compiler import Flat, flatten
from dpasp.native import _native
from dpasp.semantics.meaning import Logic
from dpasp.semantics.translate import translate
from tests.circuits.programs import Shape, random_program
from tests.stress import seeds

LIMITS = _native.Limits(20_000.0, 2000.0, count(0.0).__next__)  # so many looks at the clock
MODES = ("bits", "counts", "least", "", "bits\0")
WAYS = ("auto", "elimination", "tables", "diagram", "nothing")
ORDERS = ("auto", "narrow", "breadth", "depth", "polished", "width", "frequency", "tree", "")
ODD = (0, 1, -1, 2, 3, 7, 64, 2**31 - 1, -(2**31), 2**32, 2**62, -(2**63), 2**63 - 1)
EXPECTED = (ValueError, TypeError, MemoryError, OverflowError, _native.Stopped, RuntimeError)


def examine(seed: int) -> str | None:
    """What is wrong with how one damaged call is treated."""
    rng = random.Random(seed)
    act = rng.choice((_compile, _compile, _evaluate, _read_back, _fold))
    try:
        return act(rng)
    except EXPECTED:
        return None


@cache
def _flat(number: int) -> Flat:
    """One of some small programs, as arrays."""
    rng = random.Random(number)
    ground = random_program(rng, Shape())
    try:
        translation = translate(ground, rng.choice((Logic.STABLE, *Logic)))
    except dpasp.Error:  # not every semantics takes every rule
        translation = translate(ground, Logic.STABLE)
    return flatten(translation, ground.choices, ground.questions, ())


@cache
def _circuit(number: int) -> _native.Circuit:
    options = _native.Options("counts", "auto", "auto", 100_000, 10_000_000)
    return _native.compile(_native.Ground(*_flat(number)), options, LIMITS, None)[0]


def _compile(rng: random.Random) -> None:
    flat = _flat(rng.randrange(200))
    arrays: list[Any] = list(flat[1:])
    for _ in range(rng.choice((0, 1, 1, 2, 4))):
        at = rng.randrange(len(arrays))
        arrays[at] = _damaged(arrays[at], rng)
    atoms = flat.atoms if rng.random() < 0.9 else rng.choice(ODD)
    sizes = [100_000, 10_000_000]
    if rng.random() < 0.1:
        sizes[rng.randrange(2)] = rng.choice(ODD)
    words = (rng.choice(MODES[: rng.choice((3, 5))]), rng.choice(WAYS), rng.choice(ORDERS))
    ground = _native.Ground(atoms, *arrays)
    weights = [0.5] * rng.choice((0, 0, rng.randrange(40)))
    options = _native.Options(*words, *sizes, weights)
    if rng.random() < 0.2:
        _native.shares(ground, options, rng.choice((0.0, 100.0)), LIMITS)
        _native.maxima(ground, options, rng.choice((0, 1, 1000)), LIMITS)
        return
    if rng.random() < 0.2:
        _native.plan(ground, options, LIMITS)
        return
    circuit, _ = _native.compile(ground, options, LIMITS, None)
    circuit.masses(_weights(circuit, rng), 0b1111111, rng.random() < 0.5, 1, LIMITS)


def _evaluate(rng: random.Random) -> str | None:
    circuit = _circuit(rng.randrange(200))
    weights = _weights(circuit, rng)
    fields = rng.choice((0b1111111, 0b1, 0b1001, 0, 255, -1, 2**31))
    log, threads = rng.random() < 0.5, rng.choice((1, 1, 2, 3, 0, -1, 1000))
    if rng.random() < 0.5:
        circuit.masses(_damaged(weights, rng), fields, log, threads, LIMITS)
    else:
        shape = (circuit.questions, 7, weights.shape[1])
        given: Any = np.ones(shape)
        if rng.random() < 0.7:
            given = _damaged(given, rng)
        circuit.gradient(weights, given, fields, log, threads, LIMITS)
    return None


def _read_back(rng: random.Random) -> str | None:
    circuit = _circuit(rng.randrange(200))
    data = circuit.to_bytes()
    damaged = _damaged_bytes(data, rng)
    again = _native.Circuit.from_bytes(damaged)
    masses = again.masses(_weights(again, rng), 0b1111111, False, 1, LIMITS)
    if damaged == data:
        weights = _weights(circuit, random.Random(0))
        one = circuit.masses(weights, 0b1111111, False, 1, LIMITS)
        other = again.masses(weights, 0b1111111, False, 1, LIMITS)
        if not np.array_equal(one, other):
            return f"read back, the circuit gives {other} in place of {one}"
    return None if masses.ndim == 3 else f"masses of shape {masses.shape}"


def _fold(rng: random.Random) -> None:
    widths = np.array([rng.choice((2, 2, 3)) for _ in range(rng.randrange(5))], dtype=np.int64)
    rows = int(np.prod(widths)) if rng.random() < 0.9 else rng.randrange(20)
    values = np.array(
        [[rng.randrange(3) for _ in widths] for _ in range(rows)], dtype=np.int64
    ).reshape(rows, len(widths))
    counts = np.array([[rng.random() for _ in range(7)] for _ in range(rows)]).reshape(rows, 7)
    arrays: list[Any] = [widths, values, counts]
    if rng.random() < 0.8:
        at = rng.randrange(3)
        arrays[at] = _damaged(arrays[at], rng)
    _native.fold(*arrays, LIMITS)


def _weights(circuit: _native.Circuit, rng: random.Random) -> NDArray[np.float64]:
    columns = rng.choice((1, 2, 17))
    size = max(0, min(circuit.weights, 10_000))
    return np.array([[rng.random() for _ in range(columns)] for _ in range(size)]).reshape(
        size, columns
    )


def _damaged(array: Any, rng: random.Random) -> Any:
    """The array with some damage: of the numbers, the length, the shape or the type."""
    if not isinstance(array, np.ndarray):
        return array
    array = array.copy()
    match rng.randrange(9):
        case 0 if array.size:
            array.reshape(-1)[rng.randrange(array.size)] = rng.choice(ODD)
        case 1 if array.size:
            array.reshape(-1)[rng.randrange(array.size)] += rng.choice((-1, 1))
        case 2:
            return array[: rng.randrange(len(array) + 1)]
        case 3:
            return np.concatenate([array, array[: rng.randrange(len(array) + 1)]])
        case 4:
            return array.astype(rng.choice((np.int32, np.float32, np.uint8, np.bool_)))
        case 5:
            return array.reshape(-1) if array.ndim > 1 else array.reshape(1, -1)
        case 6:
            return np.asfortranarray(array)[::-1]
        case 7 if array.dtype == np.float64 and array.size:
            odd = (np.nan, np.inf, -np.inf, -1.0, 1e308, 5e-324)
            array.reshape(-1)[rng.randrange(array.size)] = rng.choice(odd)
        case 8:
            return rng.choice((None, [], np.zeros(0), np.zeros((0, 0)), "array", 3))
    return array


def _damaged_bytes(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    match rng.randrange(5):
        case 0:
            return data
        case 1:
            for _ in range(rng.choice((1, 1, 8))):
                changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
        case 2:
            del changed[rng.randrange(len(changed)) :]
        case 3:
            at = 8 * rng.randrange(len(changed) // 8)
            changed[at : at + 8] = (rng.choice(ODD) % 2**64).to_bytes(8, "little")
        case 4:
            changed += bytes(rng.randrange(256) for _ in range(rng.randrange(100)))
    return bytes(changed)


if __name__ == "__main__":
    sys.exit(seeds.main("tests.stress.border", examine))
