"""The reference engine: what it reads, how fast it is, how it stops; its table and its rows."""

from __future__ import annotations

import signal
import subprocess
import sys
from dataclasses import replace
from functools import partial
from itertools import product
from math import prod

import numpy as np
import pytest

import dpasp
from dpasp.inference import enumerate as reference
from dpasp.inference.enumerate import (
    BitRows,
    Table,
    enumerate_models,
    least_undefined,
    pack,
    unpack,
)
from dpasp.language.ast import Logic, Probability
from dpasp.semantics import leaves
from dpasp.semantics.meaning import Meaning
from tests.clocks import PATIENCE, looks, steps

CHAIN = """
0.9::edge(X,X+1) :- X = 0..13.
reach(0). reach(Y) :- reach(X), edge(X,Y).
#query reach(14).
"""
LOOPS = "0.5::x(1..8). a(X) :- x(X), not b(X). b(X) :- x(X), not a(X). #query a(1)."


def test_a_chain_of_14_edges() -> None:
    answer = dpasp.loads(CHAIN).query(engine="enumerate")[0]
    assert answer.lower == pytest.approx(0.9**14, rel=1e-12)


def test_every_total_choice_costs_the_same() -> None:
    costs = []
    for edges in (7, 11):
        program = dpasp.loads(CHAIN.replace("13", str(edges - 1)).replace("14", str(edges)))
        program.ground()
        costs.append(steps(partial(program.query, engine="enumerate")) / 2**edges)
    assert costs[1] < costs[0]


def test_8_even_loops() -> None:
    answers = dpasp.loads(LOOPS).query(engine="enumerate", semantics="maxent")
    assert answers.statistics["models"] == 3**8
    assert answers[0].value == pytest.approx(0.25)


def test_projection_under_credal() -> None:
    ground = dpasp.loads(LOOPS).ground()
    found = enumerate_models(ground, Meaning(Logic.STABLE, Probability.CREDAL))
    assert len(found.table) == 2**8
    assert found.models == 2**7 * 3  # x(1) false; or true, with a(1) or not


def test_values_of_probability_0_are_not_enumerated() -> None:
    ground = dpasp.loads("0::a. 1::b. 0::c; 0.5::d; 0.5::e. #query a.").ground()
    assert len(enumerate_models(ground, Meaning(Logic.STABLE, Probability.CREDAL)).table) == 2


def test_many_choices_with_few_total_choices_that_have_models() -> None:
    text = "0.5::a(1..200). :- not a(X), X = 1..199. #query a(200). #query a(1)."
    answers = dpasp.loads(text).query(engine="enumerate")
    assert answers.statistics["total_choices"] == 2
    assert (answers[0].lower, answers[1].lower) == (0.5, 1.0)
    assert answers.inconsistent == pytest.approx(1.0)


def test_progress_is_reported() -> None:
    seen: list[tuple[float, float | None]] = []
    dpasp.loads(CHAIN).query(engine="enumerate", progress=lambda *at: seen.append(at))
    assert seen[-1] == (2**14, 2**14)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_the_time_limit_stops_it() -> None:
    program = dpasp.loads("0.5::a(1..40). #query a(1), a(2).")
    program.ground()
    with pytest.raises(dpasp.TimeLimit):
        program.query(engine="enumerate", limits=looks(20))


def test_the_time_limit_stops_it_between_two_models() -> None:
    """30 pigeons in 29 holes have no model, and nobody lives to see that found out."""
    text = "0.5::z. 1 { in(P,H) : H = 1..29 } 1 :- P = 1..30. :- in(P,H), in(Q,H), P < Q. #query z."
    program = dpasp.loads(text)
    program.ground()
    with pytest.raises(dpasp.TimeLimit):
        program.query(engine="enumerate", limits=looks(20))


def test_too_many_rows_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    small = replace(reference.EXACT, table_rows=1000, held_numbers=40 * 500)
    monkeypatch.setattr(reference, "EXACT", small)
    with pytest.raises(dpasp.SizeLimit, match="too many to enumerate"):
        dpasp.loads("0.5::a(1..40). #query a(1).").query(engine="enumerate")


def test_ctrl_c_is_answered_while_it_works() -> None:
    code = (
        "import signal, dpasp\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # ignored in the background
        "program, told = dpasp.loads('0.5::a(1..40). #query a(1).'), []\n"
        "def report(done, total):\n"
        "    if not told: told.append(print('working', flush=True))\n"
        "program.query(engine='enumerate', progress=report)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "working\n"
            process.send_signal(signal.SIGINT)
            _, error = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert error.rstrip().endswith("KeyboardInterrupt")


# --- the table of total choices: probabilities, and the mass of those that are missing ---------

TEXT = """
0.1::a. 0.2::b; 0.3::c; 0.5::d. 0.4::e; 0.1::f.
:- a, b.  :- c, e.  :- not a, d, f.
#query a.
"""


@pytest.fixture
def table() -> Table:
    ground = dpasp.loads(TEXT).ground()
    return enumerate_models(ground, Meaning(Logic.STABLE, Probability.CREDAL)).table


def all_choices(table: Table) -> list[tuple[int, ...]]:
    ends = table.leaves.starts
    return list(product(*(range(ends[i + 1] - ends[i]) for i in range(len(ends) - 1))))


def test_the_missing_mass_is_added_up_not_subtracted(table: Table) -> None:
    weights = np.random.default_rng(1).random((table.leaves.size, 4))
    present = {tuple(row) for row in table.values.tolist()}
    expected = [
        sum(
            prod(
                weights[start + value, k]
                for start, value in zip(table.leaves.starts, theta, strict=False)
            )
            for theta in all_choices(table)
            if theta not in present
        )
        for k in range(4)
    ]
    assert table.inconsistent(weights) == pytest.approx(expected, rel=1e-12)
    assert 0 < len(present) < len(all_choices(table))


def test_a_tiny_missing_mass_survives() -> None:
    ground = dpasp.loads("1e-30::a. 0.5::b. :- a, b. #query b.").ground()
    found = enumerate_models(ground, Meaning(Logic.STABLE, Probability.CREDAL)).table
    weights = leaves.weights(ground)[:, np.newaxis]
    assert found.inconsistent(weights)[0] == pytest.approx(5e-31, rel=1e-12)


def test_folding_a_batch_changes_nothing(table: Table) -> None:
    weights = np.repeat(np.random.default_rng(3).random((table.leaves.size, 1)), 5, axis=1)
    weights[table.leaves.of(1)] = np.random.default_rng(4).random((3, 5))
    values = np.arange(len(table))
    direct = values @ table.probabilities(weights)
    assert table.fold(weights).sum(values) == pytest.approx(direct, rel=1e-12)
    same = np.repeat(weights[:, :1], 3, axis=1)
    assert table.fold(same).sum(values) == pytest.approx(values @ table.probabilities(same))


def test_least_undefined_sets_by_total_choice() -> None:
    chosen = np.array([[0], [0], [0], [1], [1], [1]], dtype=np.bool_)
    undefined = np.array(
        [[0, 0, 0], [1, 0, 0], [1, 1, 1], [1, 1, 0], [0, 0, 1], [1, 0, 1]], dtype=np.bool_
    )
    keep = least_undefined(chosen, undefined)
    assert keep.tolist() == [True, False, False, True, True, False]
    assert least_undefined(chosen[:0], undefined[:0]).tolist() == []
    assert least_undefined(chosen[:, :0], undefined).tolist() == [True] + [False] * 5


# --- distinct rows of bits: packing, order, counts ---------------------------------------------


@pytest.mark.parametrize("width", [0, 1, 7, 8, 64, 65, 130])
def test_packing_is_lossless_and_keeps_the_order(width: int) -> None:
    bits = np.random.default_rng(1).random((50, width)) < 0.5
    words = pack(bits)
    assert np.array_equal(unpack(words, width), bits)
    by_bits = sorted(map(tuple, bits.tolist()))
    by_words = [tuple(bits[i].tolist()) for i in reference.sort_order(words)]
    assert by_words == by_bits


@pytest.mark.parametrize("width", [0, 3, 70])
def test_rows_are_counted(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    small = replace(reference.EXACT, held_numbers=10 * max(1, width))
    monkeypatch.setattr(reference, "EXACT", small)
    rng = np.random.default_rng(2)
    bits = np.repeat(rng.random((5, width)) < 0.5, 40, axis=0)[rng.permutation(200)]
    counted = BitRows(width)
    for start in range(0, 200, 7):
        counted.add(bits[start : start + 7])
    distinct, counts = counted.sorted()
    expected, often = np.unique(bits, axis=0, return_counts=True) if width else (bits[:1], [200])
    assert np.array_equal(distinct, expected)
    assert counts.tolist() == list(often)
    assert counted.added == 200


def test_no_rows() -> None:
    distinct, counts = BitRows(3).sorted()
    assert distinct.shape == (0, 3)
    assert counts.tolist() == []
