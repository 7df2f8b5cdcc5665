"""The most probable total choices, solved where choices determine nothing and nothing compiles."""

from __future__ import annotations

from dataclasses import replace

import pytest

import dpasp
from dpasp.errors import SizeLimit
from dpasp.inference.asked import Asked
from dpasp.inference.bounds import most_probable
from dpasp.inference.bounds.cases import Cases
from dpasp.inference.bounds.most_probable import opened
from dpasp.inference.models import Outcomes
from dpasp.inference.tuning import BOUNDS
from dpasp.limits import UNLIMITED
from tests.clocks import looks
from tests.inference.test_bounding import exact_of
from tests.inference.test_sampling import asked_of, with_queries, without_intervals

NEAR = 1e-12
COLOURS = """
v(1..14). e(X,Y) :- v(X), v(Y), X < Y, (X*7+Y*13) \\ 11 < 2. 1 {c(X,(r;g;b;y))} 1 :- v(X).
:- e(X,Y), c(X,C), c(Y,C). 0.3::red(1). 0.1::red(5). 0.15::bad. c(X,r) :- red(X).
:- bad, c(3,r). #query c(1,r). #query c(2,r) | not c(3,r).
"""


def test_random_programs_end_exact_or_with_what_could_be_counted() -> None:
    compared = 0
    for _, program, logic in without_intervals(3, 6):
        text = with_queries(program, logic)
        for probability in ("credal", "maxent"):
            exact = exact_of(text, f"{logic}, {probability}")
            if exact:
                asked = asked_of(text, f"{logic}, {probability}")
                bounds, _ = opened(asked, 0.0, UNLIMITED)
                for query, bound in zip(asked.queries, bounds, strict=True):
                    compared += 1
                    assert bound.interval == pytest.approx(exact[query.text], abs=NEAR)
                    assert bound.gap <= NEAR
    assert compared > 50


@pytest.mark.parametrize("probability", ["credal", "maxent"])
def test_too_many_models_leave_a_total_choice_open(
    probability: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "0.3::a. 0.6::b. {x(1..4)}. p :- a. p :- x(1), b. #query p."
    exact = exact_of(text, f"stable, {probability}")
    asked = asked_of(text, f"stable, {probability}")
    monkeypatch.setattr(most_probable, "BOUNDS", replace(BOUNDS, models=6))
    bounds, _ = opened(asked, 0.0, UNLIMITED)
    for query, bound in zip(asked.queries, bounds, strict=True):
        low, high = exact[query.text]
        assert bound.interval[0] <= low + NEAR
        assert high - NEAR <= bound.interval[1]
    # Under maxent models are counted where they disagree: with b and not a.
    assert bounds[0].gap == pytest.approx(0.42 if probability == "maxent" else 0.0)


def test_no_more_models_than_allowed_are_looked_at() -> None:
    asked = asked_of("{x(1..4)}. 0.5::a. #query x(1) | a, x(2).", "stable, maxent")
    with pytest.raises(SizeLimit):
        Outcomes(asked, 3).of((0,))


def test_inconsistent_total_choices_are_seen() -> None:
    asked = asked_of("0.3::a. {b}. :- a. #query b.")
    assert opened(asked, 0.0, UNLIMITED)[1] == pytest.approx(0.3)


@pytest.mark.parametrize("engine", ["auto", "bounds"])
def test_there_are_bounds_where_no_case_compiles(
    engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    exact = exact_of(COLOURS, "stable, credal")

    def too_much(asked: Asked) -> None:
        raise asked.watch.out_of_time()

    def too_large(self: Cases, case: object, watch: object) -> None:
        raise SizeLimit("the circuit is too large")

    monkeypatch.setattr("dpasp.inference.exact.compiled", too_much)
    monkeypatch.setattr(Cases, "compile", too_large)
    options = {"gap": 0.0} if engine == "bounds" else {}
    program = dpasp.loads(COLOURS)
    answers = program.query(engine=engine, limits=looks(100_000), **options)
    for answer in answers:
        assert isinstance(answer, dpasp.Answer)
        assert answer.numbers == pytest.approx(exact[answer.query], abs=NEAR)
        assert float(answer.gap or 0.0) <= NEAR
