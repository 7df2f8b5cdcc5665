"""The native code: what crosses its border is checked, and whatever stops it has a reason."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from random import Random
from shutil import which

import numpy as np
import pytest
from numpy.typing import NDArray

import dpasp
from dpasp.circuits import Circuit, Options, compile
from dpasp.errors import LimitReached, TimeLimit
from dpasp.native import _native
from dpasp.semantics import leaves
from tests.clocks import PATIENCE, looks

from .programs import STABLE, Shape, random_program

FREE = _native.Limits(-1.0, -1.0)
NOW = _native.Limits(0.0, -1.0, count(0.0).__next__)  # the time is over with the first look
PLAIN = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
ANY = _native.Options("counts", "auto", "auto", 1000, 1_000_000)


def numbers(*items: int) -> NDArray[np.int64]:
    return np.array(items, dtype=np.int64)


def ground(
    atoms: int = 4,
    rules: Sequence[int] = (0, 1, 3, 1, 1),  # 3 :- 1.
    choices: Sequence[int] = (1, 1, 1),  # p::1.
    questions: Sequence[int] = (1, 3, 0),  # 3, without evidence
    own: Sequence[int] = (),
    observed: Sequence[int] = (),
) -> _native.Ground:
    arrays = (numbers(*part) for part in (rules, choices, questions, own, observed))
    return _native.Ground(atoms, *arrays)


def test_the_smallest_program() -> None:
    circuit, report = _native.compile(ground(), ANY, FREE, None)
    masses = circuit.masses(np.array([[0.3], [0.7]]), 0b1111111, False, 1, FREE)
    np.testing.assert_allclose(masses[0, :, 0], [1, 0.3, 0.3, 0.7, 0.7, 0.3, 1])
    assert report["determined"] == 1


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("rules", (0,)),
        ("rules", (0, 1)),
        ("rules", (0, 5, 3, 1, 1)),  # more heads than there are numbers
        ("rules", (0, 1, 3, 1_000_000, 1)),
        ("rules", (0, -1, 3)),
        ("rules", (4, 1, 3, 1, 1)),  # no such flags
        ("rules", (0, 1, 4, 1, 1)),  # no such atom
        ("rules", (0, 1, 0, 1, 1)),
        ("rules", (0, 1, 3, 1, -4)),
        ("rules", (0, 1, 3, 1, 0)),
        ("rules", (2, 1, 3, 1, 1, 5)),  # a bound without weights
        ("rules", (2, 1, 3, 2, 1, 2, 5, 1 << 60, 1 << 60)),  # their sum overflows
        ("choices", (1,)),
        ("choices", (2, 1, 1)),
        ("choices", (1, 4, 1)),  # no such flags
        ("choices", (0, 0)),  # no values
        ("choices", (1, 1, 9)),
        ("choices", (1, 1, 1, 1, 1, 1)),  # one atom, two choices
        ("questions", (1, 3)),  # no evidence
        ("questions", (2, 3, 0)),
        ("questions", (1, 9, 0)),
        ("own", (3,)),
        ("own", (3, 9)),
        ("observed", (9,)),
        ("observed", (0,)),
    ],
)
def test_arrays_that_hold_no_program_are_refused(name: str, array: Sequence[int]) -> None:
    with pytest.raises(ValueError, match=f"the array of .*{name}"):
        ground(**{name: array})  # type: ignore[arg-type]


@pytest.mark.parametrize("atoms", [-1, 0, 1 << 40])
def test_numbers_of_atoms_that_cannot_be_are_refused(atoms: int) -> None:
    with pytest.raises(ValueError, match="atoms"):
        ground(atoms=atoms, rules=(), choices=(), questions=())


@pytest.mark.parametrize(
    ("mode", "way", "order", "nodes", "text"),
    [
        ("many", "auto", "auto", 10, "no mode 'many'; there are bits, counts, least"),
        ("bits", "magic", "auto", 10, "no way 'magic'; there are diagram, tables, elimination"),
        ("bits", "auto", "random", 10, "no order 'random'; there are narrow, breadth"),
        ("bits", "auto", "auto", 0, "from 1 to 1073741824 nodes, not 0"),
        ("bits", "auto", "auto", 1 << 40, "from 1 to 1073741824 nodes"),
    ],
)
def test_options_that_do_not_exist_are_refused(
    mode: str, way: str, order: str, nodes: int, text: str
) -> None:
    with pytest.raises(ValueError, match=text):
        _native.Options(mode, way, order, nodes, 1)  # type: ignore[arg-type]


def test_a_stop_has_a_reason() -> None:
    with pytest.raises(_native.Stopped, match="positive loop") as cycle:
        # 2 | 3. 2 :- 3. 3 :- 2.
        loop = ground(rules=(0, 2, 2, 3, 0, 0, 1, 2, 1, 3, 0, 1, 3, 1, 2))
        _native.compile(loop, ANY, FREE, None)
    assert cycle.value.reason is _native.Reason.HEAD_CYCLE
    with pytest.raises(_native.Stopped, match="atom 3 is not determined") as inner:
        # {3}.
        _native.compile(ground(rules=(1, 1, 3, 0), observed=(3,)), ANY, FREE, None)
    assert inner.value.reason is _native.Reason.OBSERVED


# --- folding ---------------------------------------------------------------------------------


def table(rows: int, choices: int) -> tuple[NDArray[np.int64], ...]:
    """Every total choice of some choices with two values, as ``fold`` takes it."""
    values = (np.arange(rows)[:, None] >> np.arange(choices - 1, -1, -1)) & 1
    return np.full(choices, 2), np.ascontiguousarray(values, dtype=np.int64)


def test_folding_takes_any_number_of_choices() -> None:
    text = "a;b :- x. a :- b. b :- a. 0.5::x. 1.0::f(1..3000). #query a."
    assert dpasp.loads(text).query()[0].lower == pytest.approx(0.5)
    choices = 150_000
    values = np.zeros((2, choices), dtype=np.int64)
    values[1, 0] = 1
    counts = np.array([[[1.0, 0, 0]], [[0, 1.0, 0]]])
    circuit = _native.fold(np.full(choices, 2), values, counts, FREE)
    weights = np.full((2 * choices, 1), 1.0)
    weights[0] = 0.25
    assert circuit.masses(weights, 0b1111111, False, 1, FREE)[0, 2, 0] == 0.25


@pytest.mark.parametrize(
    "rows",
    [
        [[0, 2]],  # there are two values
        [[0, -1]],
        [[1, 0], [0, 0]],  # out of order
        [[1, 0], [1, 0]],  # twice
    ],
)
def test_tables_that_are_none_are_refused(rows: list[list[int]]) -> None:
    values = np.array(rows, dtype=np.int64)
    counts = np.ones((len(rows), 1, 3))
    with pytest.raises(ValueError, match="total choice"):
        _native.fold(numbers(2, 2), values, counts, FREE)


def test_shapes_that_do_not_fit_are_refused() -> None:
    widths, values = table(4, 2)
    with pytest.raises(ValueError, match="shape"):
        _native.fold(widths, values, np.ones((4, 1, 2)), FREE)
    with pytest.raises(ValueError, match="shape"):
        _native.fold(widths[:1], values, np.ones((4, 1, 3)), FREE)
    with pytest.raises(ValueError, match="-2 values"):
        _native.fold(numbers(-2, 2), values, np.ones((4, 1, 3)), FREE)
    circuit = _native.fold(widths, values, np.ones((4, 1, 3)), FREE)
    with pytest.raises(ValueError, match="weights"):
        circuit.masses(np.ones((3, 1)), 1, False, 1, FREE)
    with pytest.raises(ValueError, match="unknown field"):
        circuit.masses(np.ones((4, 1)), 1 << 7, False, 1, FREE)


# --- limits ----------------------------------------------------------------------------------


def large() -> _native.Circuit:
    """A circuit of about 130,000 nodes."""
    widths, values = table(1 << 16, 16)
    counts = np.random.default_rng(3).random((1 << 16, 1, 3))
    return _native.fold(widths, values, counts, FREE)


def test_folding_and_evaluation_look_at_the_clock() -> None:
    widths, values = table(1 << 12, 12)
    with pytest.raises(_native.Stopped) as folding:
        _native.fold(widths, values, np.ones((1 << 12, 1, 3)), NOW)
    assert folding.value.reason is _native.Reason.TIME
    circuit = large()
    with pytest.raises(_native.Stopped) as evaluating:
        circuit.masses(np.full((32, 1), 0.5), 1, False, 1, NOW)
    assert evaluating.value.reason is _native.Reason.TIME
    with pytest.raises(_native.Stopped) as slope:
        circuit.gradient(np.full((32, 4), 0.5), np.ones((1, 7, 4)), 127, False, 2, NOW)
    assert slope.value.reason is _native.Reason.TIME
    little = _native.Limits(-1.0, 1.0)
    with pytest.raises(_native.Stopped) as memory:
        circuit.masses(np.full((32, 1), 0.5), 1, False, 1, little)
    assert memory.value.reason is _native.Reason.MEMORY


UNITS = Path(__file__).with_name("units.cpp")
NATIVE = Path(__file__).parents[2] / "src" / "dpasp" / "native"  # _native may be elsewhere


@pytest.mark.slow
@pytest.mark.skipif(
    which("c++") is None or not (NATIVE / "circuit.cpp").exists(),
    reason="needs a compiler and the sources",
)
def test_bounds_and_clocks_that_programs_do_not_reach(tmp_path: Path) -> None:
    """Sizes beyond 32 bits are refused, clocks are looked at, no thread is left behind."""
    binary = tmp_path / "units"
    words = [
        "c++",
        "-std=c++17",
        "-pthread",
        "-O0",
        "-I",
        str(NATIVE),
        str(UNITS),
        "-o",
        str(binary),
    ]
    subprocess.run(words, check=True, timeout=PATIENCE, env=PLAIN)
    done = subprocess.run(
        [binary], capture_output=True, text=True, timeout=PATIENCE, check=False, env=PLAIN
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_an_evaluation_says_which_limit_was_reached() -> None:
    circuit = compiled(seed=4)
    wide = np.full((circuit.leaves, 40_000), 0.5)  # a look for every 256 columns
    with pytest.raises(TimeLimit, match="time limit of 7 s"):
        circuit.masses(wide, watch=looks(100, seconds=7).start())
    assert circuit.masses(wide, watch=looks(1000).start()).shape[-1] == 40_000


def test_a_clock_that_fails_is_reported_and_late(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> float:
        raise ValueError("no time")

    said: list[str] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda problem: said.append(str(problem.exc_value)))
    with pytest.raises(_native.Stopped) as stop:
        large().masses(np.full((32, 1), 0.5), 1, False, 1, _native.Limits(9.0, -1.0, broken))
    assert stop.value.reason is _native.Reason.TIME
    assert set(said) == {"no time"}


# A sanitizer needs far more addresses than these limits leave.
ADDRESSES = pytest.mark.skipif(
    not sys.platform.startswith("linux") or "san.so" in os.environ.get("LD_PRELOAD", ""),
    reason="limits of the address space",
)
CROWDED = """
import resource, sys
import numpy as np
from tests.circuits.test_native import compiled, large, FREE
from dpasp.limits import memory_in_use
from dpasp.errors import MemoryLimit
circuit, huge = compiled(seed=4), large()
weights = np.random.default_rng(5).random((circuit.leaves, 20_000))
expected = circuit.masses(weights)
def only(megabytes):
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[0])
    taken = pages * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + (megabytes << 20),) * 2)
only(24)  # not enough for the stacks of sixteen threads
assert np.array_equal(circuit.masses(weights, threads=16), expected)
try:
    huge.masses(np.full((32, 64), 0.5), 127, False, 4, FREE)
except Exception as problem:
    print(type(problem).__name__, problem.reason.name)
"""


@pytest.mark.slow
@ADDRESSES
def test_threads_and_memory_that_there_are_not() -> None:
    found = subprocess.run(
        [sys.executable, "-c", CROWDED],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (found.returncode, found.stdout) == (0, "Stopped MEMORY\n"), found.stderr


SHALLOW = """
import resource
import dpasp
from dpasp.circuits import compile
from dpasp.circuits.compiler import Options
from dpasp.semantics.meaning import Meaning
chain = "0.5::e(0..20000). p(0) :- e(0). p(X) :- p(X-1), e(X), X = 1..20000. #query p(20000)."
program = dpasp.loads(chain).ground()
with open("/proc/self/statm") as file:
    taken = int(file.read().split()[0]) * resource.getpagesize()
# not enough for the stacks that are asked for first
resource.setrlimit(resource.RLIMIT_AS, (taken + (60 << 20),) * 2)
print(compile(program, Meaning(), options=Options("diagram")).leaves)
"""


@pytest.mark.slow
@ADDRESSES
def test_stacks_that_there_are_not() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SHALLOW],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "40002\n"), done.stderr


# Not ru_maxrss: that begins with what the process that started this one had.
PEAK = """
from pathlib import Path
import numpy as np
from tests.circuits.test_native import large, FREE
circuit = large()
def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))
before = peak()
circuit.masses(np.full((32, 16), 0.5), 127, True, 1, FREE)
print(peak() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
@pytest.mark.skipif("san.so" in os.environ.get("LD_PRELOAD", ""), reason="needs memory itself")
def test_large_circuits_are_evaluated_in_narrow_tiles() -> None:
    found = subprocess.run(
        [sys.executable, "-c", PEAK], capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    # 131,071 nodes, 11 numbers of 16 bytes each: 23 MB a column
    assert float(found.stdout) < 300


# --- evaluation ------------------------------------------------------------------------------


def compiled(seed: int) -> Circuit:
    """A random circuit whose total choices have several models."""
    shape = Shape(atoms=9, rules=16, choices=6, disjunction=0.0)
    program = random_program(Random(seed), shape)
    return compile(program, STABLE)


@pytest.mark.parametrize("log", [False, True])
def test_the_number_of_threads_changes_no_bit(log: bool) -> None:
    random = np.random.default_rng(1)
    for seed in range(12):
        circuit = compiled(seed)
        weights = random.random((circuit.leaves, 1300))
        expected = circuit.masses(weights, log=log)
        seeds = random.random(expected.shape)
        _, slopes = circuit.gradient(weights, seeds, log=log)
        for threads in (2, 3, 8):
            np.testing.assert_array_equal(
                circuit.masses(weights, log=log, threads=threads), expected
            )
            found = circuit.gradient(weights, seeds, log=log, threads=threads)[1]
            np.testing.assert_array_equal(found, slopes)
        for first, last in ((0, 1), (5, 8), (700, 1299)):  # nor do the columns beside one
            some = circuit.masses(np.ascontiguousarray(weights[:, first:last]), log=log)
            np.testing.assert_array_equal(some, expected[:, :, first:last])


@pytest.mark.parametrize("way", ["diagram", "tables"])
def test_a_polished_order_of_nothing(way: str) -> None:
    program = dpasp.loads("0.3::a. 0.4::b. #query a.").ground()
    options = Options(way, "polished")  # type: ignore[arg-type]
    circuit = compile(program, STABLE, options=options)
    assert circuit.masses(leaves.weights(program))[0, 1] == pytest.approx(0.3)


def test_a_part_that_outgrows_its_nodes() -> None:
    program = dpasp.loads(
        "0.5::e(X,Y) :- X=1..5, Y=1..5, X<Y. p(1). p(Y) :- p(X), e(X,Y). #query p(5)."
    ).ground()
    with pytest.raises(LimitReached, match="allowed are 3"):
        compile(program, STABLE, options=Options(nodes=3))
