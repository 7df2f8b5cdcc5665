"""Evidence that is too improbable for floating point has answers like any other."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import dpasp
from dpasp.inference.asked import side_by_side
from dpasp.inference.circuit import enlarged, log_ratio
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


def test_intervals_that_are_all_different() -> None:
    """Bounds of a search would be lost; of a few, all vertices are tried, and more are refused."""
    highest = [0.3 + i / 100 for i in range(26)]
    text = [f"[0.2, {high:.2f}]::v({i})." for i, high in enumerate(highest)]
    question = INTERVALS.format(n=2) + "w :- v(X). #query w | all."
    found = numbers(question + " ".join(text[:10]))
    exact = [1 - 0.8**10, 1 - math.prod(1 - high for high in highest[:10])]
    assert found == pytest.approx(exact, rel=1e-9)
    with pytest.raises(dpasp.InferenceError, match="so many intervals") as caught:
        numbers(question + " ".join(text))
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


@pytest.mark.parametrize("semantics", ["maxent", "credal"])
def test_the_most_probable_values_of_many_choices(semantics: str) -> None:
    for chance in ("0.6", "[0.6, 0.6]"):
        text = f"{chance}::x(1..2000). 0.5::z. #semantics {semantics}. #mpe. #mpe | z."
        if semantics == "maxent" and chance[0] == "[":
            continue
        for answer, z in zip(dpasp.loads(text).query(), (0.5, 1.0), strict=True):
            assert isinstance(answer, dpasp.MapAnswer)
            assert answer.log10 == pytest.approx(2000 * math.log10(0.6) + math.log10(z))
            assert f"= 10^{answer.log10:.1f} at x(1)" in str(answer)
            assert answer.to_dict()["log10"] == answer.log10
            assert all(answer.assignment[f"x({i})"] for i in (1, 2000))


IMPROBABLE = """
1e-40::x(1..9). all :- x(X) : X = 1..9. 0.5::z. y :- z, not u. u :- z, not y.
#query all. #query y, all. #query all | z. #query all | x(1). #query y | all. #query x(1), not x(1).
"""
LOGS = {  # by semantics and query, the lower and the upper one
    "credal": [(-360, -360), (None, -360 + math.log10(0.5)), (-360, -360), (-320, -320)],
    "maxent": [(-360, -360), (-360 + math.log10(0.25),) * 2, (-360, -360), (-320, -320)],
}


@pytest.mark.parametrize("engine", ["compile", "enumerate", "bounds", "auto"])
@pytest.mark.parametrize("semantics", ["maxent", "credal"])
def test_a_probability_below_all_numbers_has_a_logarithm(engine: str, semantics: str) -> None:
    *small, given, never = dpasp.loads(IMPROBABLE).query(engine=engine, semantics=semantics)
    for answer, (low, high) in zip(small, LOGS[semantics], strict=True):
        assert isinstance(answer, dpasp.Answer)
        ends = answer.logarithms()
        assert ends[0] == pytest.approx(-math.inf if low is None else low)
        assert ends[-1] == pytest.approx(high)
        assert f"10^{high:.1f}" in str(answer)
        assert f"10^{high:.1f}" in answer._repr_html_()
        record = json.loads(json.dumps(answer.to_dict(), allow_nan=False))
        assert record["log10" if semantics == "maxent" else "log10_upper"] == ends[-1]
        assert ("log10" in record) == (low is not None)
        assert answer.log10 == (None if low is None else ends[0])
    assert np.allclose(given.numbers, 0.25 if semantics == "maxent" else (0.0, 0.5))
    assert set(never.logarithms()) == {-math.inf}
    assert "10^" not in str(never)
    assert "log10" not in never.to_dict()


def test_the_logarithm_of_any_probability() -> None:
    value, bounds = dpasp.Answer("a", value=0.01), dpasp.Answer("a", lower=0.1, upper=1.0)
    assert (value.log10, value.log10_lower) == (-2.0, None)
    assert (bounds.log10, bounds.log10_lower, bounds.log10_upper) == (None, -1.0, 0.0)
    assert "log10" not in value.to_dict()
    rows = dpasp.Answer(
        "a", value=np.array([0.0, 0.0, 0.5]), logs=(np.array([-400, -np.inf, -0.3]),)
    )
    assert rows.to_dict()["log10"] == [-400, None, -0.3]
    assert [line.split()[1] for line in str(rows).splitlines()[1:]] == [
        "10^-400.0",
        "0.000000",
        "0.500000",
    ]
    assert str(dpasp.Answer("a", value=1e-310)) == "ℙ(a) = 10^-310.0"


def test_rows_shared_by_a_pool_keep_their_logarithms() -> None:
    parts = [
        dpasp.Answer("a", value=np.array([0.5, 0.25])),
        dpasp.Answer("a", value=np.array([0.0, 0.1]), logs=(np.array([-400.0, -1.0]),)),
    ]
    whole = side_by_side(parts)
    assert whole.numbers[0].tolist() == [0.5, 0.25, 0.0, 0.1]
    assert whole.log10 == pytest.approx([math.log10(0.5), math.log10(0.25), -400.0, -1.0])


def test_many_facts_at_once() -> None:
    text = "0.9::a(1..9000). q :- a(X) : X = 1..9000. #query q."
    (answer,) = dpasp.loads(text).query()
    assert str(answer) == "ℙ(q) = 10^-411.8"


@pytest.mark.parametrize("engine", ["compile", "bounds"])
def test_one_of_very_many_models(engine: str) -> None:
    text = "{a(1..1110)}. q :- a(X) : X = 1..1110. #query q. #semantics maxent."
    (answer,) = dpasp.loads(text).query(engine=engine)
    assert answer.log10 == pytest.approx(1110 * math.log10(0.5))


def test_atoms_of_a_network_asked_together() -> None:
    program = dpasp.loads("0.9::a(0). 1e-20::a(X) :- a(X-1), X = 1..30.")
    for evidence, last in ((), -600), ("not a(30)", -math.inf):
        answers = program.marginals(evidence=evidence)
        assert "table_entries" in answers.statistics
        assert answers["a(28)"].log10 == pytest.approx(-560 + math.log10(0.9))
        expected = last + math.log10(0.9) if last > -math.inf else last
        assert answers["a(30)"].log10 == pytest.approx(expected)


def test_intervals_of_tiny_probabilities_are_attained_where_they_are_least() -> None:
    text = "1e-40::x(1..9). [0.2, 0.4]::z. [0.1, 0.3]::w. q :- z, not w, x(X) : X = 1..9. #query q."
    (answer,) = dpasp.loads(text).query()
    assert answer.log10_lower == pytest.approx(-360 + math.log10(0.2 * 0.7))
    assert answer.log10_upper == pytest.approx(-360 + math.log10(0.4 * 0.9))
    assert answer.lower_at == pytest.approx({"z": 0.2, "w": 0.3})
    assert answer.upper_at == pytest.approx({"z": 0.4, "w": 0.1})


def test_models_and_ways_of_tiny_probabilities() -> None:
    program = dpasp.loads("0.1::b. 1e-40::a(1..9). q :- b. q :- a(X) : X = 1..9. #query q.")
    (why,) = program.explain()
    assert why.ways[1].logs == (pytest.approx(-360),)
    assert "10^-360.0" in str(why)
    assert "10^-360.0" in why._repr_html_()
    model = next(iter(dpasp.loads("0.5::b(1..1300).").models()))
    assert model.log10 == pytest.approx(1300 * math.log10(0.5))
    assert model.choice_text.endswith("10^-391.3")
    assert model.to_dict()["log10"] == model.log10


@pytest.mark.parametrize("engine", ["compile", "enumerate"])
@pytest.mark.parametrize("semantics", ["stable", "smproblog", "stable, maxent"])
def test_most_probable_values_under_each_engine(engine: str, semantics: str) -> None:
    text = FEW + f"#map z?, y? | all. #mpe | all. #semantics {semantics}."
    some, every = dpasp.loads(text).query(engine=engine)
    assert some.numbers == pytest.approx([0.7] * len(some.numbers), rel=1e-9)
    assert some.assignment == {"z": False, "y": False}
    assert every.numbers == pytest.approx([0.7] * len(every.numbers), rel=1e-9)
    assert every.assignment["x(12)"]
    assert not every.assignment["z"]


@pytest.mark.parametrize("engine", ["compile", "enumerate"])
def test_the_most_probable_total_choice_with_intervals(engine: str) -> None:
    """Given y both are true, and no value of z(1) is fixed by the evidence x alone."""
    text = INTERVALS.format(n=2) + "#mpe | all. #mpe | all, y."
    free, fixed = dpasp.loads(text).query(engine=engine)
    assert free.numbers == pytest.approx([0.49, 0.64], rel=1e-9)
    assert not free.assignment["z(1)"]
    assert fixed.numbers == pytest.approx([1.0, 1.0], rel=1e-9)
    assert all(fixed.assignment.values())


def test_what_cannot_be_told_is_refused() -> None:
    with pytest.raises(dpasp.InferenceError, match="an explanation cannot be computed"):
        dpasp.loads(FEW).explain("z | all")


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
