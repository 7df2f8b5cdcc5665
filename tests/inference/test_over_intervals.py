"""Sure bounds where probabilities are intervals: they hold at every step, and end exact."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import dpasp
from dpasp.errors import LimitReached, SizeLimit
from dpasp.inference.asked import Asked
from dpasp.inference.bounds.cases import Cases, IntervalBounds, widest
from dpasp.inference.sampling.sample import by_evidence
from dpasp.limits import UNLIMITED
from tests.clocks import looks
from tests.inference.test_bounding import exact_of, grid
from tests.inference.test_sampling import LOGICS, asked_of, with_queries
from tests.oracle.generate import generate
from tests.oracle.programs import Program

NEAR = 1e-12


@pytest.fixture
def only_small_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile a case only when nothing is left to split: as many steps as there can be."""
    monkeypatch.setattr(Cases, "_worth_a_try", lambda self, case: self._next(case) is None)


def with_intervals(first: int, count: int) -> Iterator[tuple[Program, str]]:
    """Random programs with intervals, and each logic that these can have."""
    for seed in range(first, first + count):
        program = generate(seed)
        for logic in LOGICS if program.credal else ():
            if logic != "wellfounded" or not program.disjunctive:
                yield program, logic


def check_steps(asked: Asked, exact: dict[str, tuple[float, float]]) -> int:
    """The bounds hold the answers after every step, only shrink, and are exact in the end.

    Returns how many steps left something open.
    """
    steps = 0
    for queries in by_evidence(asked.queries):
        found = IntervalBounds(Cases(asked.with_questions(queries)))
        for _ in found.cases.steps(UNLIMITED):
            before = found.bounds
            found._look(UNLIMITED)
            steps += bool(found.cases.open)
            for query, bound, last in zip(queries, found.bounds, before, strict=True):
                for (low, high), (least, most), truth in zip(
                    bound.ends, last.ends, exact[query.text], strict=True
                ):
                    assert low <= truth + NEAR
                    assert truth - NEAR <= high
                    assert least - NEAR <= low
                    assert high <= most + NEAR
        for query, answer in zip(queries, found.answers(), strict=True):
            assert answer.exact
            assert answer.gap == 0
            assert answer.numbers == pytest.approx(exact[query.text], abs=NEAR)
    return steps


@pytest.mark.parametrize(("first", "count"), [(15, 15), (30, 15)])
@pytest.mark.usefixtures("only_small_cases")
def test_bounds_hold_at_every_step_and_end_exact(first: int, count: int) -> None:
    steps = 0
    for program, logic in with_intervals(first, count):
        text = with_queries(program, logic)
        exact = exact_of(text, f"{logic}, credal")
        if exact:
            steps += check_steps(asked_of(text, f"{logic}, credal"), exact)
    assert steps > 20


HARD = (
    # evidence that forces a value which may be impossible
    "[0, 0.5]::a. [0.2, 0.7]::b. c :- a, b. d :- b. #query d | a. #query b | c.",
    # the evidence is impossible at some vertices, and total choices without a model
    "[0, 1]::a. [0, 0.4]::b. :- a, b. {c} :- a. #query c | a. #query b | not a. #query a | b.",
    # values that sum to 1, and models that differ
    "[0.1, 0.3]::r(1); [0.2, 0.5]::r(2); [0.4, 0.6]::r(3). p :- not q, r(1). q :- not p. "
    "#query p | not r(3). #query r(2) | q.",
)


@pytest.mark.parametrize("text", HARD)
@pytest.mark.parametrize("logic", LOGICS)
@pytest.mark.usefixtures("only_small_cases")
def test_evidence_that_some_vertices_make_impossible(text: str, logic: str) -> None:
    if "{" in text and logic != "stable":
        text = text.replace("{c} :- a.", "c :- a, not e. e :- not c.")
    exact = exact_of(text, f"{logic}, credal")
    if exact:
        check_steps(asked_of(text, f"{logic}, credal"), exact)


@pytest.fixture
def nothing_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The exact engine is stopped at once."""

    def too_much(asked: Asked) -> None:
        raise SizeLimit("the circuit is too large")

    for place in ("exact", "bounds.bounds"):
        monkeypatch.setattr(f"dpasp.inference.{place}.compiled", too_much)


@pytest.mark.parametrize("engine", ["auto", "bounds"])
@pytest.mark.usefixtures("nothing_fits")
def test_engines_end_exact_without_the_whole_circuit(engine: str) -> None:
    text = (
        "[0.2, 0.4]::a(1..4). 0.5::y. p(X) :- a(X), not q(X). q(X) :- a(X), not p(X). "
        "b :- 2 { a(X) }. b :- p(1), y. #query p(1) | b. #query b."
    )
    exact = exact_of(text, "stable, credal")
    options = {"gap": 0.0} if engine == "bounds" else {}
    answers = dpasp.loads(text).query(engine=engine, limits=looks(100_000), **options)
    for answer in answers:
        assert isinstance(answer, dpasp.Answer)
        assert answer.gap == 0
        assert answer.numbers == pytest.approx(exact[answer.query], abs=NEAR)
    assert not [warning for warning in answers.warnings if warning.code == "stopped-early"]


def test_a_number_of_total_choices() -> None:
    rules = "p :- a, not q. q :- b, not p. #query p | a. #query q."
    text = f"[0.2, 0.4]::a. [0.1, 0.3]::b. 0.5::y. {rules}"
    program, exact = dpasp.loads(text), exact_of(text, "stable, credal")
    gaps = []
    for number in (1, 3, 8):
        answers = program.query(engine="bounds", nmodels=number, gap=0.0)
        assert answers.statistics["cases"] <= number * 2  # of two kinds of evidence
        for answer in answers:
            assert isinstance(answer, dpasp.Answer)
            assert answer.interval is not None
            low, high = exact[answer.query]
            assert float(answer.interval[0]) <= low + NEAR
            assert high - NEAR <= float(answer.interval[1])
        gaps.append(max(float(a.gap) for a in answers))  # type: ignore[union-attr, arg-type]
    assert gaps[0] > gaps[1] > gaps[2] == 0


@pytest.mark.usefixtures("nothing_fits")
def test_impossible_evidence_is_found_out() -> None:
    program = dpasp.loads("[0.2, 0.4]::a. b :- a. :- b, not a. #query a | b, not a.")
    with pytest.raises(dpasp.ImpossibleEvidence):
        program.query(engine="bounds")


def test_a_limit_leaves_sure_bounds() -> None:
    text = grid(3).replace("0.5::", "[0.4, 0.6]::").replace("#query", "x :- r((1,2)). #query")
    asked = asked_of(text.replace("r((2,2)).", "r((2,2)) | not x."))
    exact = exact_of_compiled(asked)
    widths = []
    for number in (20, 100, 200, 250, 300, 5000):
        found = IntervalBounds(Cases(asked, whole=False))
        limit = found.close_in(0.0, looks(number).start())
        assert limit is None or isinstance(limit, LimitReached)
        for (low, high), truth in zip(found.bounds[0].ends, exact, strict=True):
            assert low <= truth + NEAR
            assert truth - NEAR <= high
        widths.append(widest(found.bounds))
    assert (widths[0], widths[-1]) == (1.0, pytest.approx(0.0))


def exact_of_compiled(asked: Asked) -> tuple[float, float]:
    """The numbers of the only query, by the exact engine."""
    from dpasp.inference.exact import compiled

    (answer,) = compiled(asked).answers
    assert isinstance(answer, dpasp.Answer)
    return float(answer.numbers[0]), float(answer.numbers[-1])
