"""Estimates beside what is compiled: samples of the open cases, in the frame of the closed ones."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

import dpasp
from dpasp.ground.program import GroundQuery
from dpasp.inference.asked import Asked
from dpasp.inference.bounds.bounds import Remainder, strata
from dpasp.inference.bounds.cases import Cases, bounds_of
from dpasp.inference.sampling.sample import by_evidence
from dpasp.inference.sampling.stream import Prepared
from dpasp.inference.sampling.tallies import Frame, betting
from dpasp.limits import UNLIMITED
from tests.clocks import looks
from tests.inference.test_bounding import exact_of, grid, only_small_cases  # noqa: F401
from tests.inference.test_sampling import LOGICS, asked_of, with_queries
from tests.oracle.generate import generate


def after(asked: Asked, queries: list[GroundQuery], steps: int) -> Cases:
    """The cases after so many of them were compiled."""
    cases = Cases(asked, queries, asked.weights)
    list(islice(cases.steps(UNLIMITED), steps))
    return cases


def held(asked: Asked, exact: dict[str, tuple[float, float]], steps: int, seed: int) -> list[bool]:
    """For each query, whether the interval of 95 % holds the exact answer."""
    found = []
    for queries in by_evidence(asked.queries):
        cases = after(asked, queries, steps)
        rest = Remainder(cases, Prepared(asked, queries), seed, UNLIMITED)
        rest.draw(0.05, most=1024)
        for answer in rest.answers():
            low, high = exact[answer.query]
            assert answer.interval is not None
            bottom, top = (float(end) for end in answer.interval)
            assert bottom - 1e-9 <= float(answer.numbers[0])
            assert float(answer.numbers[-1]) <= top + 1e-9
            found.append(bottom - 1e-9 <= low and high <= top + 1e-9)
    return found


@pytest.mark.parametrize("logic", LOGICS)
@pytest.mark.usefixtures("only_small_cases")
def test_the_exact_answer_is_held_whatever_is_closed(logic: str) -> None:
    found: list[bool] = []
    for seed in range(5):
        program = generate(seed)
        if program.credal or (logic == "wellfounded" and program.disjunctive):
            continue
        text = with_queries(program, logic)
        for probability in ("credal", "maxent"):
            semantics = f"{logic}, {probability}"
            if exact := exact_of(text, semantics):
                asked = asked_of(text, semantics)
                for steps in (1, 3):
                    found += held(asked, exact, steps, seed)
    assert found
    assert np.mean(found) >= 0.95


@pytest.mark.usefixtures("only_small_cases")
def test_the_interval_closes_with_the_cases() -> None:
    text = "".join(f"0.{3 + i}::x({i}). " for i in range(6)) + "a :- 4 { x(I) }. #query a."
    asked = asked_of(text, "stable, maxent")
    (truth,) = dpasp.loads(text).query(semantics="maxent", engine="enumerate")[0].numbers
    widths = []
    for steps in (4, 16, 48, 64):
        cases = after(asked, list(asked.queries), steps)
        rest = Remainder(cases, Prepared(asked, asked.queries), 1, UNLIMITED)
        rest.draw(0.0, most=2048)
        (answer,) = rest.answers()
        assert answer.interval is not None
        low, high = (float(end) for end in answer.interval)
        (sure,) = bounds_of(cases.masses, asked.meaning, cases.rest)
        assert low - 1e-6 <= float(truth) <= high + 1e-6
        assert sure.interval[0] - 1e-6 <= low
        assert high <= sure.interval[1] + 1e-6
        widths.append(high - low)
    assert widths == sorted(widths, reverse=True)
    assert widths[2] < 0.1 * widths[0]
    assert widths[3] < 1e-6
    assert answer.value == pytest.approx(float(truth), abs=1e-12)


@pytest.mark.parametrize("most", [1, 4, 1000])
@pytest.mark.usefixtures("only_small_cases")
def test_strata_hold_what_is_open_and_nothing_twice(most: int) -> None:
    asked = asked_of(
        "".join(f"0.{2 + i}::x({i}). " for i in range(7)) + "a :- 3 { x(I) }. #query a."
    )
    cases = after(asked, list(asked.queries), 20)
    found = strata(cases, most)
    assert len(found) <= most + 1
    outside = [
        closed.fallen
        for closed in cases.closed
        if not any(closed.fallen[: len(fallen)] == fallen for fallen in found)
    ]
    whole = sum(cases.chance(fallen) for fallen in (*found, *outside))
    assert whole == pytest.approx(1.0)
    assert all(any(case[: len(f)] == f for f in found) for case in cases.open)
    if most == 1000:
        assert len(outside) == 20


@pytest.mark.usefixtures("only_small_cases")
def test_coverage_with_rare_evidence() -> None:
    text = """
    0.01::x. 0.4::y. 0.3::z. 0.6::u. 0.2::v.
    e :- x, y. e :- u, v, x. a :- z, e. a :- v. #query a | e."""
    asked = asked_of(text, "stable, maxent")
    (truth,) = dpasp.loads(text).query(semantics="maxent", engine="enumerate")[0].numbers
    prepared, cases = Prepared(asked, asked.queries), after(asked, list(asked.queries), 3)
    hits = 0
    for seed in range(100):
        rest = Remainder(cases, prepared, seed, UNLIMITED)
        rest.draw(0.0, most=1)
        (answer,) = rest.answers()
        assert answer.interval is not None
        hits += float(answer.interval[0]) <= float(truth) <= float(answer.interval[1])
    assert hits >= 94


def test_a_frame_only_narrows_an_interval() -> None:
    for_, against, counts = np.array([1.0, 0.0]), np.array([0.0, 1.0]), np.array([30.0, 70.0])
    wide = betting(for_, against, counts)
    low, high = betting(for_, against, counts, frame=Frame(0.25, 0.65, 0.1))
    assert 0.25 + 0.1 * wide[0] == pytest.approx(low, abs=2e-3)
    assert 0.25 + 0.1 * wide[1] == pytest.approx(high, abs=2e-3)


def late(asked: Asked) -> None:
    """An exact engine for which no time is enough."""
    raise asked.watch.out_of_time()


@pytest.mark.usefixtures("only_small_cases")
def test_auto_draws_from_what_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole does not compile in time, but cases of it do."""
    program = dpasp.loads(grid(3))
    (exact,) = program.query(semantics="maxent")[0].numbers

    def some(cases: Cases, *_: object) -> None:
        list(islice(cases.steps(UNLIMITED), 200))

    monkeypatch.setattr("dpasp.inference.exact.compiled", late)
    monkeypatch.setattr("dpasp.inference.bounds.cases.Cases.close_in", some)
    answers = program.query(semantics="maxent", limits=looks(30_000, seconds=10), seed=2)
    (answer,) = answers
    assert isinstance(answer, dpasp.Answer)
    assert answers.statistics["cases"] == 200
    assert answer.interval is not None
    assert answer.likely is not None
    assert 0 < float(answer.interval[0]) < float(exact) < float(answer.interval[1]) < 1
    assert float(answer.likely[0]) <= float(exact) <= float(answer.likely[1])


def test_auto_is_exact_once_every_case_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    program = dpasp.loads(grid(4))
    (exact,) = program.query(semantics="maxent")[0].numbers
    monkeypatch.setattr("dpasp.inference.exact.compiled", late)
    answers = program.query(semantics="maxent", limits=looks(30_000, seconds=10), seed=2)
    assert answers[0].exact
    assert answers[0].numbers[0] == pytest.approx(float(exact))
    assert not answers.warnings
