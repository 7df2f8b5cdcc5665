"""Tables of factors: sums over tables agree with the enumeration of all models."""

from __future__ import annotations

import math

import pytest

import dpasp
from tests.oracle.markov import random_network


def _answers(program: dpasp.Program, engine: str) -> list[float] | str:
    try:
        return [answer.value for answer in program.query(engine=engine)]
    except dpasp.Error as error:
        return error.diagnostics[0].code


def agree(seed: int) -> int:
    """Compare one program; how many answers there were."""
    program = dpasp.loads(random_network(seed))
    found, expected = _answers(program, "auto"), _answers(program, "enumerate")
    if isinstance(expected, str):
        assert found == expected, f"seed {seed}: {found} in place of {expected}"
        return 0
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-300), f"seed {seed}"
    return len(expected)


def test_random_networks_agree_with_the_enumeration():
    assert sum(map(agree, range(200))) > 300


def test_a_network_beyond_doubles_is_summed_up():
    lines = [f"1 {{x{i}(0..1)}} 1." for i in range(60)]
    lines += [
        f"#factor {{1e30, 1e20, 1e10, 1e30}} : x{i}({{0,1}}), x{i + 1}({{0,1}})." for i in range(59)
    ]
    program = dpasp.loads("\n".join(lines))
    answer = program.query("x59(1)")[0]
    assert answer.value == pytest.approx(0.5, rel=1e-8)
    assert program.query("x0(0) | x59(1)")[0].value == pytest.approx(59e-10, rel=1e-6)


def test_many_values_and_evidence():
    program = dpasp.loads(
        "1 {x(0..2)} 1. 1 {y(a;b)} 1. #factor {1, 2, 3, 4, 5, 6} : x({0..2}), y({a,b})."
    )
    assert program.query("x(2) | y(b)")[0].value == pytest.approx(6 / 12)
    assert program.query("y(a)")[0].value == pytest.approx(9 / 21)
    assert math.isclose(sum(a.value for a in program.marginals() if a.query[0] == "x"), 1)


def test_the_table_is_the_same_as_its_factors():
    table = dpasp.loads("{a; b}. c :- a, b. #factor {2, 5} : a, d({0,1}). 1 {d(0..1)} 1. :- c.")
    plain = dpasp.loads(
        "{a; b}. c :- a, b. #factor 2 : a, d(0). #factor 5 : a, d(1). 1 {d(0..1)} 1. :- c."
    )
    for query in ("a", "b", "d(1)", "a, d(1)", "not a | b"):
        expected = plain.query(query)[0].value
        assert table.query(query)[0].value == pytest.approx(expected)
        assert table.query(query, engine="enumerate")[0].value == pytest.approx(expected)


def test_evidence_of_weight_zero_is_impossible():
    program = dpasp.loads("1 {x(0..1)} 1. #factor {0, 1} : x({0,1}).")
    with pytest.raises(dpasp.ImpossibleEvidence):
        program.query("x(1) | x(0)")
