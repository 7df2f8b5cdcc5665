"""Compiling and enumerating in turns: whichever is less work makes the circuit."""

from __future__ import annotations

from dataclasses import replace

import pytest
from benchmarks.inference.families import argumentation, round_table

import dpasp
from dpasp.inference import circuit
from dpasp.inference.circuit import LESS_WORK

TABLE = round_table(4)
LOOPS = "0.3::x. n(1..8). a(N) :- n(N), not b(N). b(N) :- n(N), not a(N). #query a(1)."


@pytest.mark.parametrize("probability", ["credal", "maxent"])
@pytest.mark.parametrize("engine", ["auto", "compile"])
def test_few_total_choices_are_enumerated_where_compiling_is_more_work(
    probability: str, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    semantics = f"lstable, {probability}"
    wanted = dpasp.loads(TABLE).query(semantics=semantics, engine="enumerate")
    monkeypatch.setattr(circuit, "EXACT", replace(circuit.EXACT, rounds=((1, 20_000),)))
    found = dpasp.loads(TABLE).query(semantics=semantics, engine=engine)
    assert found.engine == "enumerate"
    assert found.statistics["enumerated"] == LESS_WORK
    assert found.statistics["circuit_nodes"] > 1
    assert found[0].numbers == pytest.approx(wanted[0].numbers)
    assert [warning.code for warning in found.warnings] == ["inconsistent-choices"]


@pytest.mark.parametrize(
    ("text", "semantics", "models"),
    [
        (LOOPS, "lstable, credal", 1000),  # there are more models
        (TABLE, "lstable, credal", 100),  # there are more total choices
        (TABLE, "partial, credal", 20_000),  # no sets are compared
    ],
)
def test_else_it_is_compiled(
    text: str, semantics: str, models: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = dpasp.loads(text).query(semantics=semantics, engine="enumerate")
    monkeypatch.setattr(circuit, "EXACT", replace(circuit.EXACT, rounds=((1, models),)))
    found = dpasp.loads(text).query(semantics=semantics)
    assert found.engine == "compile"
    assert "enumerated" not in found.statistics
    assert found[0].numbers == pytest.approx(wanted[0].numbers)


def test_a_ring_with_a_constraint_is_enumerated_and_a_long_ring_compiled() -> None:
    """As it stands: the first took many times as long as its enumeration."""
    ring = dpasp.loads(round_table(6)).query(semantics="lstable, maxent")
    assert ring.statistics["enumerated"] == LESS_WORK
    long = dpasp.loads(argumentation(20)).query(semantics="lstable, maxent")
    assert long.engine == "compile"
