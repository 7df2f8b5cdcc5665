"""Sure bounds by unknown choices: they hold the answer, only shrink, and end exact."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import pytest

import dpasp
from dpasp.inference.asked import Asked
from dpasp.inference.bounds.cases import Bound, unsure
from dpasp.inference.bounds.relaxed import Budget, RelaxedBounds
from dpasp.limits import UNLIMITED
from tests.clocks import looks
from tests.inference.test_bounding import exact_of, grid
from tests.inference.test_sampling import asked_of, with_queries, without_intervals

TINY = Budget(nodes=4, work=200, reasons=20)
NEAR = 1e-9


def check_steps(asked: Asked, exact: dict[str, tuple[float, float]]) -> Iterator[bool]:
    """The intervals hold the answers and only shrink; whether each was known, and exactly."""
    relaxed = RelaxedBounds(asked, TINY)
    before = [(0.0, 1.0)] * len(asked.queries)
    nothing = [unsure(asked.meaning)] * len(asked.queries)
    for _ in relaxed.steps(UNLIMITED):
        for place, bound in enumerate(relaxed.narrowed(nothing)):
            interval = bound.interval
            low, high = exact[asked.queries[place].text]
            assert interval[0] <= low + NEAR
            assert high - NEAR <= interval[1]
            assert interval[0] >= before[place][0] - NEAR
            assert interval[1] <= before[place][1] + NEAR
            before[place] = interval
    for places, (low, high) in zip(relaxed.places, before, strict=True):
        if places is not None:
            yield high - low <= NEAR


@pytest.mark.parametrize("first", [0, 20])
def test_random_programs_with_tiny_budgets(first: int) -> None:
    ended: list[bool] = []
    for _, program, logic in without_intervals(first, 20):
        text, semantics = with_queries(program, logic), f"{logic}, credal"
        if exact := exact_of(text, semantics):
            ended += check_steps(asked_of(text, semantics), exact)
    assert len(ended) > 10
    assert sum(ended) > 0.9 * len(ended)  # others were never seen to hold, or to fail


WITHIN = (
    "[0.2, 0.4]::a. [0.5, 0.9]::b. 0.3::x. c :- a, not b. c :- b, x. d :- c, not a. "
    "#query c. #query d | c. #query a | not d. #query not d.",
    "[0.1, 0.3]::r(1); [0.2, 0.5]::r(2); [0.4, 0.6]::r(3). 0.5::y. s(X) :- r(X), y. "
    "t :- r(1). t :- s(3). #query t | y. #query r(2) | not t. #query t.",
    "[0.2, 0.4]::a(1..4). :- a(1), a(2). b :- 2 { a(X) }. #query b. #query a(1) | b.",
)


@pytest.mark.parametrize("text", WITHIN)
@pytest.mark.parametrize("logic", ["stable", "lstable", "wellfounded"])
def test_intervals_of_probabilities_close_in(text: str, logic: str) -> None:
    asked, exact = asked_of(text, f"{logic}, credal"), exact_of(text, f"{logic}, credal")
    relaxed = RelaxedBounds(asked, TINY)
    nothing = bounds = [unsure(asked.meaning)] * len(asked.queries)
    for _ in relaxed.steps(UNLIMITED):
        bounds = relaxed.narrowed(nothing)
        for query, bound in zip(asked.queries, bounds, strict=True):
            for (low, high), truth in zip(bound.ends, exact[query.text], strict=True):
                assert low <= truth + NEAR
                assert truth - NEAR <= high
    for query, bound in zip(asked.queries, bounds, strict=True):
        conditioned = bool(query.evidence) or ". :- " in text
        assert bound.gap < (0.5 if conditioned else NEAR)


def test_a_grid_with_intervals_has_sure_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_much(asked: Asked) -> None:
        raise asked.watch.out_of_time()

    program = dpasp.loads(grid(3).replace("0.5::", "[0.4, 0.6]::"))
    exact = program.query()[0].numbers
    for engine, place, widest in (("auto", "exact", 0.6), ("bounds", "bounds.bounds", 0.002)):
        monkeypatch.setattr(f"dpasp.inference.{place}.compiled", too_much)
        (answer,) = program.query(engine=engine, limits=looks(30_000, seconds=10), seed=1)
        assert isinstance(answer, dpasp.Answer)
        assert answer.interval is not None
        assert answer.gap is not None
        assert float(answer.interval[0]) <= exact[0] + NEAR
        assert exact[1] - NEAR <= float(answer.interval[1])
        assert float(answer.gap) <= widest


def test_both_probabilistic_semantics() -> None:
    text = "0.3::a. 0.6::b. c :- a, not b. c :- b. d :- c, a. #query d | c. #query not d."
    for semantics in ("stable, credal", "stable, maxent", "lstable, maxent"):
        exact = exact_of(text, semantics)
        assert all(check_steps(asked_of(text, semantics), exact))


def test_what_two_intervals_have_in_common() -> None:
    one = Bound(((0.2, 0.8),), 0.5).narrowed((0.6, 0.9))
    assert (one.value, one.interval) == (0.6, (0.6, 0.8))
    assert one.gap == pytest.approx(0.2)
    nothing = Bound(((0.0, 1.0),), 0.5).narrowed((0.1, 0.3))
    assert nothing.value == pytest.approx(0.2)
    two = Bound(((0.1, 0.5), (0.5, 0.9))).narrowed((0.2, 0.7))
    assert two.interval == (0.2, 0.7)
    assert two.gap == pytest.approx(0.3)


def test_a_grid_that_does_not_compile_has_bounds() -> None:
    asked = asked_of(grid(12))
    relaxed = RelaxedBounds(asked)
    list(islice(relaxed.steps(UNLIMITED), 4))
    (bound,) = relaxed.narrowed([unsure(asked.meaning)])
    assert 0 < bound.interval[0] < bound.interval[1] < 0.6


def late(*_: object) -> dpasp.TimeLimit:
    """No time is enough to compile anything by cases."""
    return dpasp.TimeLimit("stopped")


@pytest.mark.parametrize("semantics", ["credal", "maxent"])
def test_the_engine_bounds_does_without_cases(
    monkeypatch: pytest.MonkeyPatch, semantics: str
) -> None:
    program = dpasp.loads(grid(3))
    exact = float(program.query(semantics=semantics)[0].numbers[0])
    monkeypatch.setattr("dpasp.inference.bounds.cases.Cases.close_in", late)
    answers = program.query(semantics=semantics, engine="bounds", gap=0.001)
    (answer,) = answers
    assert isinstance(answer, dpasp.Answer)
    assert answer.interval is not None
    assert float(answer.interval[0]) <= exact <= float(answer.interval[1])
    assert float(answer.interval[1]) - float(answer.interval[0]) <= 0.001
    assert not answers.warnings


def test_estimates_of_auto_lie_in_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_much(asked: Asked) -> None:
        raise asked.watch.out_of_time()

    program = dpasp.loads(grid(3))
    exact = float(program.query(semantics="maxent")[0].numbers[0])
    monkeypatch.setattr("dpasp.inference.exact.compiled", too_much)
    monkeypatch.setattr("dpasp.inference.bounds.cases.Cases.close_in", late)
    limits = looks(300_000, seconds=10)
    (answer,) = program.query(semantics="maxent", limits=limits, seed=1)
    assert isinstance(answer, dpasp.Answer)
    assert answer.interval is not None
    assert answer.gap is not None
    assert float(answer.gap) < 0.01
    assert answer.numbers[0] == pytest.approx(exact, abs=0.01)


def test_rare_evidence_keeps_the_interval_honest() -> None:
    text = "1e-9::x(1..2). 0.4::y. e :- x(1), x(2). a :- y, e. #query a | e."
    asked = asked_of(text)
    relaxed = RelaxedBounds(asked)
    for _ in relaxed.steps(UNLIMITED):
        (bound,) = relaxed.narrowed([unsure(asked.meaning)])
        assert bound.interval[0] <= 0.4 <= bound.interval[1]
