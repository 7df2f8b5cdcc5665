"""Circuits away from the native kernel: tapes by torch operations, and by one kernel on a GPU."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch

import dpasp
from dpasp.circuits import Circuit
from dpasp.circuits.gpu.cuda import _steps
from dpasp.circuits.gpu.tape import LONGEST, backward_tape, forward_tape
from dpasp.circuits.gpu.walks import Walked
from dpasp.learning.masses import CircuitEngine

FIELDS = ("consistent", "a", "b", "c", "d", "qe", "e")
CPU = torch.device("cpu")
NEEDS_GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
MIXED = """
0.3::a. 0.6::b :- a. 0.4::c. 0.2::d; 0.5::e. f :- c, not d. f :- b. g :- f, e. :- d, a, b.
p :- c, not q. q :- c, not p. r :- e, p.
#query f. #query g | not d. #query p | a. #query r, not g | c.
"""
WIDE = "0.1::s(1..40). n :- 3 { s(X) } 5. 0.5::x. #query n | x. #query s(1) | n."
DEEP = """
0.7::s(0). 0.9::keep(1..90). 0.2::jump(1..90).
s(T) :- s(T-1), keep(T). s(T) :- not s(T-1), jump(T), T = 1..90.
#query s(90). #query s(7) | s(61).
"""
DEVICES = [CPU, pytest.param(torch.device("cuda"), marks=NEEDS_GPU)]


def circuit(text: str) -> Circuit:
    return dpasp.loads(text).circuit(semantics="maxent")


def weights_for(one: Circuit, columns: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(5)
    return torch.rand(one.leaves, columns, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("batch", [1, 5, 300])
@pytest.mark.parametrize("text", [MIXED, WIDE, DEEP])
def test_masses_and_slopes_are_those_of_the_native_kernel(
    text: str, batch: int, device: torch.device
) -> None:
    one = circuit(text)
    native, walked = CircuitEngine(one), Walked(one, device)
    weights = weights_for(one, batch)
    seeds = torch.rand(one.questions, 7, batch, dtype=torch.float64)
    expected, slopes = native.gradient(weights, seeds, FIELDS)
    found, gradient = walked.gradient(weights.to(device), seeds.to(device), FIELDS)
    assert torch.allclose(found.cpu(), expected, rtol=1e-12, atol=0)
    assert torch.allclose(gradient.cpu(), slopes, rtol=1e-10, atol=1e-12)
    again = walked.gradient(weights.to(device), seeds.to(device), FIELDS)[1]
    assert torch.equal(again, gradient)


@pytest.mark.parametrize("device", DEVICES)
def test_logarithms(device: torch.device) -> None:
    one = circuit(MIXED)
    weights = weights_for(one, 9)
    seeds = torch.rand(one.questions, 2, 9, dtype=torch.float64)
    expected, slopes = CircuitEngine(one).gradient(weights, seeds, ("qe", "e"), log=True)
    walked = Walked(one, device)
    found, gradient = walked.gradient(weights.to(device), seeds.to(device), ("qe", "e"), log=True)
    assert torch.allclose(found.cpu(), expected, rtol=1e-12)
    assert torch.allclose(gradient.cpu(), slopes, rtol=1e-10)


@NEEDS_GPU
@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_nothing_underflows_on_a_gpu(kind: torch.dtype) -> None:
    text = "0.5::s(1..400). all :- s(X) : X = 1..400. #query all."
    one = circuit(text)
    weights = torch.full((one.leaves, 3), 1e-3, dtype=kind, device="cuda")
    seeds = torch.ones(1, 1, 3, dtype=kind, device="cuda")
    logs, slopes = Walked(one, torch.device("cuda")).gradient(weights, seeds, ("qe",), log=True)
    assert logs.double().flatten().tolist() == pytest.approx(
        [400 * torch.tensor(1e-3).log().item()] * 3
    )
    true = slopes[0::2].double()  # the first leaf of each choice is that it holds
    assert torch.allclose(true, torch.full_like(true, 1e3), rtol=1e-4)


@pytest.mark.parametrize("columns", [1, 2, 8])
def test_steps_cover_each_level_once(columns: int) -> None:
    """Each step is work for one round of the threads, and a barrier ends each level."""
    for tape in (there := forward_tape(circuit(WIDE), FIELDS), backward_tape(there)):
        steps = _steps(tape, columns, 128)
        assert [(int(b), int(e)) for b, e, _, _ in steps[-3:]] == [(0, 0)] * 3
        work = steps[:-3].tolist()
        assert [b for b, *_ in work] == [0, *(e for _, e, *_ in work[:-1])]
        assert [e for _, e, _, barrier in work if barrier] == tape.levels[1:].tolist()
        assert all((e - b) << shift <= 128 // columns for b, e, shift, _ in work)
        assert all(columns << shift <= 32 for *_, shift, _ in work)


@pytest.mark.parametrize("columns", [1, 4, 32])
def test_threads_that_are_to_spare_share_sums(columns: int) -> None:
    """As many as the longest sum of a level has use for, and a warp and the level have room for."""
    for tape in (there := forward_tape(circuit(WIDE), FIELDS), backward_tape(there)):
        counts = tape.starts[1:] - tape.starts[:-1]
        shifts = {int(b): int(shift) for b, _, shift, _ in _steps(tape, columns, 128)[:-3]}
        for begin, end in pairwise(tape.levels.tolist()):
            fits = [
                shift
                for shift in range(1, 8)
                if 1 << shift <= min(32 // columns, counts[begin])
                and (end - begin) << shift <= 128 // columns
            ]
            assert shifts[begin] == max(fits, default=0)


def test_a_deep_circuit_is_walked_in_sections() -> None:
    one = circuit(DEEP)
    assert one.statistics.depth > 80
    assert len(forward_tape(one, ("qe",)).levels) < 30


def test_long_sums_are_cut() -> None:
    tape = backward_tape(forward_tape(circuit(WIDE), FIELDS))
    assert (tape.starts[1:] - tape.starts[:-1]).max() <= LONGEST
