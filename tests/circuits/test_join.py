"""Circuits of cases joined into one."""

from __future__ import annotations

import numpy as np
import pytest

import dpasp
from dpasp import circuits
from dpasp.circuits.join import Fallen, constant_circuit, join
from dpasp.ground.program import GroundProgram
from dpasp.inference.bounds.cases import restricted
from dpasp.limits import UNLIMITED
from dpasp.native import _native
from dpasp.semantics.leaves import weights
from dpasp.semantics.meaning import Meaning
from tests.clocks import over

TEXT = (
    "0.3::a. 0.2::b; 0.5::c. 0.6::d. p :- a, not q. q :- not p, c. r :- b. r :- p, d. "
    "#query r. #query p | not b."
)


@pytest.fixture
def ground() -> GroundProgram:
    return dpasp.loads(TEXT).ground()


def compiled(ground: GroundProgram, *fallen: tuple[int, int]) -> circuits.Circuit:
    return circuits.compile(restricted(ground, dict(fallen)), Meaning())


def test_cases_of_different_depths_are_the_whole(ground: GroundProgram) -> None:
    paths: list[Fallen] = [
        ((1, 0),),
        ((1, 1), (0, 0)),
        ((1, 1), (0, 1), (2, 0)),
        ((1, 1), (0, 1), (2, 1)),
        ((1, 2),),
    ]
    cases = {path: compiled(ground, *path) for path in paths}
    joined = join(cases, ground.choices, Meaning())
    whole = circuits.compile(ground, Meaning())
    vectors = np.stack([weights(ground), np.array([0.9, 0.1, 0.3, 0.1, 0.6, 0.2, 0.8])], axis=1)
    fields = ("consistent", "a", "b", "c", "d")
    expected = whole.masses(vectors, fields=fields)[:, :5]
    assert joined.masses(vectors, fields=fields)[:, :5] == pytest.approx(expected, abs=1e-14)


def test_what_is_first_is_certain_and_what_is_missing_has_no_model(ground: GroundProgram) -> None:
    first = ((1, 1),)
    cases = {(*first, (0, 0)): compiled(ground, *first, (0, 0))}
    joined = join(cases, ground.choices, Meaning(), first=first)
    masses = joined.masses(weights(ground), fields=("consistent",))
    assert masses[0, 0] == pytest.approx(0.3)  # that of a: c is certain


@pytest.mark.parametrize("holds", [True, False])
def test_constants(holds: bool) -> None:
    constant = constant_circuit(holds, 2)
    a, b, c, d = constant.masses(np.empty(0), fields=("a", "b", "c", "d"))[1, 1:5]
    assert (a, b, c, d) == ((1, 1, 0, 0) if holds else (0, 0, 1, 1))


def test_a_limit_stops_it(ground: GroundProgram) -> None:
    cases = {((0, value),): compiled(ground, (0, value)) for value in (0, 1)}
    with pytest.raises(dpasp.TimeLimit):
        join(cases, ground.choices, Meaning(), watch=over().start())


@pytest.mark.parametrize(
    ("leaves", "decisions"),
    [
        ([[0, 1, 2], [0, 1]], [0, 2, 0, 1]),  # leaves that are too many,
        ([[0, 9], [0, 1]], [0, 2, 0, 1]),  # and that there are not
        ([[0, 1], [0, 1]], [0, 2, 0]),  # a decision that is cut short
        ([[0, 1], [0, 1]], [0, 2, 0, 2]),  # about itself
        ([[0, 1], [0, 1]], [3, 2, 0, 1]),  # about a choice that there is not
        ([[0, 1], [0, 1]], []),  # none at all
        ([[0, 1]], [0, 2, 0, 0]),
    ],
)
def test_nothing_in_the_arrays_is_trusted(leaves: list[list[int]], decisions: list[int]) -> None:
    part = circuits.compile(dpasp.loads("0.3::a. #query a.").ground(), Meaning())
    arrays = [np.array(one, dtype=np.int64) for one in leaves]
    flat = np.array(decisions, dtype=np.int64)
    limits = _native.Limits(np.inf, np.inf)
    with pytest.raises(ValueError, match=r"\w"):
        _native.join([part.native] * 2, arrays, flat, 4, limits)


def test_no_limit_is_no_limit(ground: GroundProgram) -> None:
    cases = {((0, value),): compiled(ground, (0, value)) for value in (0, 1)}
    assert join(cases, ground.choices, Meaning(), watch=UNLIMITED).questions == 2
