"""Evidence that is too improbable for floating point has answers like any other."""

from __future__ import annotations

import numpy as np
import pytest

import dpasp
from dpasp.inference.engines.tiny import enlarged, log_ratio
from dpasp.semantics.leaves import LeafLayout
from dpasp.semantics.masses import Masses

MANY = "n(1..{n}). 0.001::x(X) :- n(X). all :- x(X) : n(X). 0.3::z. "
FEW = "1e-30::x(1..12). all :- x(X) : X = 1..12. 0.3::z. y :- z, not u. u :- z, not y. "
INTERVALS = "1e-30::x(1..12). all :- x(X) : X = 1..12. [0.2, 0.3]::z(1..{n}). y :- z(1), z(2). "


def numbers(text: str, **options: str) -> list[float]:
    return np.ravel(dpasp.loads(text).query(**options).to_numpy()).tolist()


@pytest.mark.parametrize("n", [80, 90, 107, 108, 400])
@pytest.mark.parametrize("semantics", ["maxent", "credal"])
def test_a_query_given_many_improbable_facts(n: int, semantics: str) -> None:
    found = numbers(MANY.format(n=n) + f"#semantics {semantics}. #query z | all.")
    assert found == pytest.approx([0.3] * len(found), rel=1e-9)


def test_observations_of_a_long_chain() -> None:
    """The steps are independent, so that all that came before tells nothing of the last."""
    text = (
        "step(1..1000). 0.2::s(X) :- step(X). 0.3::o(X) :- step(X), s(X). "
        "0.1::o(X) :- step(X), not s(X). seen :- o(X) : step(X). "
        "#semantics maxent. #query s(1000) | seen. #query o(1) | not o(2), seen."
    )
    with pytest.raises(dpasp.ImpossibleEvidence):
        numbers(text)
    possible = text.replace("#query o(1) | not o(2), seen.", "")
    assert numbers(possible) == pytest.approx([0.06 / 0.14], rel=1e-9)


@pytest.mark.parametrize("engine", ["compile", "enumerate"])
@pytest.mark.parametrize("semantics", ["stable", "smproblog", "partial"])
def test_both_engines(engine: str, semantics: str) -> None:
    text = FEW + f"#semantics {semantics}. #query z | all. #query y | all."
    assert numbers(text, engine=engine) == pytest.approx([0.3, 0.3, 0.0, 0.3], rel=1e-9)


def test_what_is_added_to_masses_under_smproblog_is_not_scaled() -> None:
    """Almost no total choice has models, and the others satisfy the query."""
    text = "1e-30::x(1..12). bad :- not x(X), X = 1..12. odd :- bad, not odd. #query undef odd."
    found = numbers(text + " #semantics smproblog, maxent.")
    assert found == pytest.approx([1.0])


@pytest.mark.parametrize("n", [3, 12])
def test_intervals(n: int) -> None:
    found = numbers(INTERVALS.format(n=n) + "#query y | all.")
    assert found == pytest.approx([0.04, 0.09], rel=1e-9)


def test_a_search_over_intervals_is_refused() -> None:
    different = " ".join(f"[0.2, 0.{30 + i}]::v({i})." for i in range(10))
    with pytest.raises(dpasp.InferenceError, match="so many intervals") as caught:
        numbers(INTERVALS.format(n=2) + different + "w :- v(X). #query w | all.")
    assert caught.value.diagnostics[0].code == "improbable-evidence"


@pytest.mark.parametrize("semantics", ["maxent", "credal"])
def test_most_probable(semantics: str) -> None:
    text = MANY.format(n=120) + f"#semantics {semantics}. #map z? | all. #mpe | all."
    some, every = dpasp.loads(text).query()
    assert np.allclose(some.numbers, 0.7)
    assert some.assignment == {"z": False}
    assert np.allclose(every.numbers, 0.7)
    assert not every.assignment["z"]
    assert all(value for name, value in every.assignment.items() if name != "z")


def test_a_probability_below_all_numbers_is_0() -> None:
    (answer,) = dpasp.loads("0.6::x(1..2000). #semantics maxent. #mpe.").query()
    assert answer.value == 0.0
    assert all(answer.assignment.values())


def test_what_cannot_be_told_is_refused() -> None:
    program = dpasp.loads(FEW + "#map z? | all.")
    with pytest.raises(dpasp.InferenceError, match="by enumeration"):
        program.query(engine="enumerate")
    with pytest.raises(dpasp.InferenceError, match="an explanation cannot be given"):
        program.explain("z | all")
    with pytest.raises(dpasp.InferenceError, match="with intervals"):
        dpasp.loads(INTERVALS.format(n=2) + "#mpe | all.").query()


def test_masses_that_are_not_tiny_stay() -> None:
    weights = np.array([[1e-300], [0.5]])
    values = np.array([1.0, 0.1, 0.2, 0.0, 0.3, 1e-200, 1e-200]).reshape(7, 1, 1)
    before = Masses.of(values)
    layout = LeafLayout((0, 2))
    assert enlarged(before, weights, layout, lambda _: pytest.fail("not needed")) is before


def test_ratios_of_logarithms() -> None:
    none = -np.inf
    number, other = np.array([none, 0.0, -900.0]), np.array([none, none, -900.0])
    assert log_ratio(number, other).tolist() == pytest.approx([1.0, 1.0, 0.5])


@pytest.mark.parametrize("semantics", ["maxent", "credal"])
def test_a_tiny_consistent_mass_is_not_none(semantics: str) -> None:
    text = f"0.2::f(1..500). :- not f(X), X=1..500. 0.3::d. #query d. #semantics {semantics}."
    found = numbers(text)
    assert found == pytest.approx([0.3] * len(found), rel=1e-9)


@pytest.mark.parametrize("engine", ["compile", "enumerate", "bounds"])
def test_every_exact_engine_sees_a_tiny_consistent_mass(engine: str) -> None:
    text = "1e-50::x(1..8). :- not x(X), X = 1..8. 0.3::d. #query d."
    assert numbers(text, engine=engine) == pytest.approx([0.3, 0.3], rel=1e-9)
    with pytest.raises(dpasp.InconsistentProgram):
        numbers(text + " :- x(1).", engine=engine)


@pytest.mark.parametrize("semantics", ["maxent", "credal"])
def test_bounds_of_evidence_below_all_numbers(semantics: str) -> None:
    text = "1e-50::x(1..8). all :- x(X) : X = 1..8. 0.3::z. #query z | all. "
    found = numbers(text + f"#semantics {semantics}.", engine="bounds")
    assert found == pytest.approx([0.3] * len(found), rel=1e-9)
    with pytest.raises(dpasp.ImpossibleEvidence):
        numbers(text + "#query z | all, not x(1).", engine="bounds")


def test_bounds_do_not_take_what_rounding_hides_for_seen() -> None:
    """When the first choices have taken all of 1, those left still decide the answer."""
    text = "1e-20::x. 0.5::z. 0.5::y. #semantics maxent. #query z, y | x."
    assert numbers(text, engine="bounds") == pytest.approx([0.25], abs=0.01)
