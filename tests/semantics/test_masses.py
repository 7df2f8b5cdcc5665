"""From masses to answers: special cases, smproblog, and errors."""

from __future__ import annotations

import numpy as np
import pytest
from clingo import Function

from dpasp.errors import InconsistentProgram
from dpasp.ground.program import GroundLiteral, GroundQuery
from dpasp.language.ast import NOWHERE, Logic, Mode, Probability
from dpasp.semantics.masses import (
    Masses,
    check_consistent,
    completed,
    credal,
    evidence_mass,
    impossible_evidence,
    maxent,
)
from dpasp.semantics.meaning import Meaning

A = Function("a")


def masses(**given: float) -> Masses:
    names = ("consistent", "a", "b", "c", "d", "qe", "e")
    rows = np.array([[given.get(name, 0.0)] for name in names])
    lost = np.array([given["inconsistent"]]) if "inconsistent" in given else None
    return Masses.of(rows, lost)


def bounds(**given: float) -> tuple[float, float]:
    lower, upper = credal(masses(**given))
    return float(lower[0]), float(upper[0])


def test_the_formulas() -> None:
    assert bounds(a=0.1, b=0.4, c=0.2, d=0.3) == pytest.approx((0.1 / 0.4, 0.4 / 0.6))
    assert float(maxent(masses(qe=0.2, e=0.5))[0]) == pytest.approx(0.4)


def test_the_special_cases() -> None:
    assert bounds(d=0.3) == (0, 0)  # b + c = 0
    assert bounds(b=0.3) == (1, 1)  # a + d = 0
    assert np.isnan(bounds()).all()  # the evidence is impossible
    assert np.isnan(maxent(masses(qe=0, e=0))[0])


def test_tiny_masses_are_not_rounded_away() -> None:
    assert bounds(a=1e-200, b=1e-200, d=3e-200, c=3e-200) == pytest.approx((0.25, 0.25))
    assert float(maxent(masses(qe=1e-300, e=4e-300))[0]) == pytest.approx(0.25)


def test_what_is_missing_to_one_is_inconsistent_up_to_rounding() -> None:
    assert masses(consistent=0.75).inconsistent[0] == 0.25
    assert masses(consistent=1 - 1e-16).inconsistent[0] == 0
    assert masses(consistent=1.0, inconsistent=1e-20).inconsistent[0] == 1e-20


@pytest.mark.parametrize(
    ("asked", "given", "expected"),
    [
        ([Mode.UNDEFINED], [], {"a": 0.2, "b": 0.2, "c": 0, "d": 0, "qe": 0.2, "e": 0.7}),
        ([Mode.TRUE], [], {"a": 0, "b": 0, "c": 0.2, "d": 0.2, "qe": 0, "e": 0.7}),
        ([Mode.UNDEFINED, Mode.FALSE], [], {"a": 0, "b": 0, "c": 0.2, "d": 0.2, "qe": 0, "e": 0.7}),
        (
            [Mode.UNDEFINED],
            [Mode.UNDEFINED],
            {"a": 0.2, "b": 0.2, "c": 0, "d": 0, "qe": 0.2, "e": 0.7},
        ),
        ([Mode.UNDEFINED], [Mode.TRUE], {"a": 0, "b": 0, "c": 0, "d": 0, "qe": 0, "e": 0.5}),
    ],
)
def test_smproblog_gives_the_inconsistent_mass_one_model(
    asked: list[Mode], given: list[Mode], expected: dict[str, float]
) -> None:
    before = masses(consistent=0.8, inconsistent=0.2, e=0.5)
    q = tuple(GroundLiteral(mode, 1, A) for mode in asked)
    e = tuple(GroundLiteral(mode, 1, A) for mode in given)
    query = GroundQuery(q, e, "", NOWHERE)
    after = completed(before, Meaning(Logic.SMPROBLOG), [query])
    assert {name: float(getattr(after, name)[0]) for name in expected} == pytest.approx(expected)
    assert (after.consistent[0], after.inconsistent[0]) == (1.0, 0.0)
    assert after.undefined[0] == 0.2
    assert completed(before, Meaning(Logic.STABLE), [query]) is before


def test_errors_tell_an_inconsistent_program_from_impossible_evidence() -> None:
    with pytest.raises(InconsistentProgram, match="no total choice has a model"):
        check_consistent(np.array([0.0]), np.array([1.0]))
    check_consistent(np.array([0.5]), np.array([0.5]))
    check_consistent(np.array([1.0]), np.array([0.0]), allowed=False)
    with pytest.raises(InconsistentProgram, match=r"0\.5 have no model"):
        check_consistent(np.array([0.5]), np.array([0.5]), allowed=False)
    told = impossible_evidence([GroundLiteral(Mode.FALSE, 1, A)])
    assert told.message == "the evidence not a has probability 0"


def test_possible_evidence() -> None:
    given = masses(b=0.1, d=0.0, e=0.0)
    assert evidence_mass(given, Meaning(probability=Probability.CREDAL))[0] == 0.1
    assert evidence_mass(given, Meaning(probability=Probability.MAXENT))[0] == 0.0
