"""Sure bounds by cases, and the engine that never comes back without an answer."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import Any

import pytest
from benchmarks.inference import families

import dpasp
from dpasp.inference import together
from dpasp.inference.asked import Asked
from dpasp.inference.bounds.bounds import by_cases
from dpasp.inference.bounds.cases import Bound, Cases, bounds_of, widest
from dpasp.inference.bounds.relaxed import RelaxedBounds
from dpasp.inference.sampling import situations
from dpasp.inference.sampling.sample import by_evidence
from dpasp.language.ast import Probability
from dpasp.limits import UNLIMITED, Watch
from dpasp.semantics.meaning import Meaning
from tests.clocks import Given, looks
from tests.inference.test_sampling import asked_of, with_queries, without_intervals
from tests.semantics.test_masses import masses

ROUNDING = 1e-12


def grid(size: int, chance: float = 0.5) -> str:
    """Whether opposite corners of a grid are connected: a program that soon does not compile."""
    cells = [(x, y) for x in range(size) for y in range(size)]
    edges = [(a, (a[0] + dx, a[1] + dy)) for a in cells for dx, dy in ((1, 0), (0, 1))]
    kept = [f"{chance}::e(({a[0]},{a[1]}),({b[0]},{b[1]}))." for a, b in edges if b in cells]
    rules = (
        f"r((0,0)). r(Y) :- r(X), e(X,Y). r(X) :- r(Y), e(X,Y). #query r(({size - 1},{size - 1}))."
    )
    return " ".join([*kept, rules])


@pytest.fixture
def only_small_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile a case only when nothing is left to split: as many steps as there can be."""
    monkeypatch.setattr(Cases, "_worth_a_try", lambda self, case: self._next(case) is None)


def exact_of(text: str, semantics: str) -> dict[str, tuple[float, float]]:
    """The exact answers; none where one of the questions has none."""
    try:
        answers = dpasp.loads(text).query(semantics=semantics, engine="enumerate")
    except dpasp.InferenceError:
        return {}
    return {a.query: (float(a.numbers[0]), float(a.numbers[-1])) for a in answers}


def check_steps(asked: Asked, exact: dict[str, tuple[float, float]]) -> None:
    """The interval holds the answer after every step, and only shrinks."""
    for queries in by_evidence(asked.queries):
        cases = Cases(asked.with_questions(queries))
        before = [Bound(((0.0, 1.0),))] * len(queries)
        for _ in cases.steps(UNLIMITED):
            bounds = bounds_of(cases.masses, asked.meaning, cases.rest)
            for query, bound, last in zip(queries, bounds, before, strict=True):
                low, high = exact[query.text]
                assert bound.interval[0] <= low + ROUNDING
                assert high - ROUNDING <= bound.interval[1]
                assert bound.interval[0] >= last.interval[0] - ROUNDING
                assert bound.interval[1] <= last.interval[1] + ROUNDING
            before = bounds
        assert widest(before) <= ROUNDING


def test_what_is_sure_by_hand() -> None:
    credal, maxent = Meaning(), Meaning(probability=Probability.MAXENT)
    (found,) = bounds_of(masses(a=0.1, b=0.4, c=0.2, d=0.3), credal, 0.2)
    assert found.interval == pytest.approx((0.1 / 0.6, 0.6 / 0.8))
    assert found.gap == pytest.approx(max(0.3 / 0.6 - 0.1 / 0.6, 0.6 / 0.8 - 0.4 / 0.8))
    (found,) = bounds_of(masses(b=0.3), credal, 0.0)  # a + d = 0
    assert (found.interval, found.gap) == ((1.0, 1.0), 0.0)
    (found,) = bounds_of(masses(d=0.3), credal, 0.0)  # b + c = 0
    assert (found.interval, found.gap) == ((0.0, 0.0), 0.0)
    (found,) = bounds_of(masses(), credal, 0.5)
    assert (found.interval, found.gap) == ((0.0, 1.0), 1.0)
    (found,) = bounds_of(masses(qe=0.2, e=0.5), maxent, 0.3)
    assert found.value == pytest.approx(0.4)
    assert found.interval == pytest.approx((0.25, 0.625))
    assert found.gap == pytest.approx(0.375)
    (found,) = bounds_of(masses(), maxent, 0.3)
    assert (found.value, found.interval, found.gap) == (0.5, (0.0, 1.0), 1.0)


@pytest.mark.parametrize("first", [0, pytest.param(6, marks=pytest.mark.slow)])
@pytest.mark.usefixtures("only_small_cases")
def test_bounds_hold_at_every_step_and_end_exact(first: int) -> None:
    for _, program, logic in without_intervals(first, 6):
        text = with_queries(program, logic)
        for probability in ("credal", "maxent"):
            semantics = f"{logic}, {probability}"
            exact = exact_of(text, semantics)
            if exact:
                check_steps(asked_of(text, semantics), exact)


def test_evidence_is_not_split() -> None:
    text = "0.001::x. 0.002::y. 0.4::z. e :- x, y. a :- z, x. #query a | e."
    asked = asked_of(text)
    cases = Cases(asked)
    assert cases.rest == pytest.approx(1.0)
    assert len(cases._open[0].fallen) == 2  # x and y: what is left is the choice of z
    assert by_cases(asked, wanted=0.0)[0].answers[0].lower == pytest.approx(0.4)


def test_impossible_and_improbable_evidence() -> None:
    with pytest.raises(dpasp.ImpossibleEvidence):
        dpasp.loads("0.3::a. b :- a. #query a | b, not a.").query(engine="bounds")
    tiny = (
        "".join(f"1e-30::x({i}). " for i in range(12)) + "e :- 12 { x(I) }. 0.3::z. #query z | e."
    )
    (answer,) = dpasp.loads(tiny).query(engine="bounds", semantics="maxent")
    assert answer.numbers[0] == pytest.approx(0.3)


def test_intervals_of_probabilities_have_bounds() -> None:
    (answer,) = dpasp.loads("[0.2, 0.4]::a. 0.5::b. c :- a, b. #query c.").query(engine="bounds")
    assert isinstance(answer, dpasp.Answer)
    assert answer.interval == pytest.approx((0.1, 0.2))
    assert answer.exact


def test_a_network_with_large_tables_is_summed_up(monkeypatch: pytest.MonkeyPatch) -> None:
    program = dpasp.loads(families.bayes(120).partition("#query")[0])
    queries = ("x(30) | x(20)", "x(39) | x(20)")
    exact = program.query(*queries, semantics="maxent")
    monkeypatch.setattr(together, "EXACT", replace(together.EXACT, many_questions=1))
    monkeypatch.setattr("dpasp.inference.bounds.bounds.Cases", None)  # there are none
    found = program.query(*queries, semantics="maxent", engine="bounds")
    assert found.engine == "bounds"
    for answer, good in zip(found, exact, strict=True):
        assert isinstance(answer, dpasp.Answer)
        assert answer.interval == pytest.approx(good.numbers * 2)
        assert answer.gap == 0


# --- auto ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("semantics", ["credal", "maxent"])
def test_auto_answers_what_cannot_be_compiled(semantics: str) -> None:
    program = dpasp.loads(grid(12))
    program.ground()
    answers = program.query(semantics=semantics, limits=looks(10_000, seconds=6), seed=1)
    (answer,) = answers
    assert isinstance(answer, dpasp.Answer)
    assert not answer.exact
    assert answer.interval is not None
    assert answer.likely is not None
    low, high = (float(end) for end in answer.likely)
    assert 0 <= float(answer.interval[0]) <= low < high <= float(answer.interval[1]) <= 1
    assert high - low < 0.1
    assert low <= float(answer.numbers[0]) <= high
    assert [warning.code for warning in answers.warnings] == ["not-exact"]
    assert "time limit of 6 s" in answers.warnings[0].message
    record = answer.to_dict()
    assert record["exact"] is False
    assert len(record["likely"]) == 2
    assert "surely [" in str(answer)
    with pytest.raises(dpasp.TimeLimit):
        program.query(semantics=semantics, limits=looks(10_000), exact=True)


class Told:
    """A report that remembers the stages."""

    def __init__(self) -> None:
        self.stages: list[str] = []

    def __call__(self, done: float, total: float | None) -> None:
        """Take how far it is."""

    def stage(self, text: str) -> None:
        """Take what is done now."""
        self.stages.append(text)


def test_progress_says_which_answer_it_is_and_how_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    told = Told()
    monkeypatch.setattr("dpasp.inference.exact.compiled", late)
    program = dpasp.loads(grid(4))
    program.ground()
    limits = looks(10_000, seconds=10)
    program.query(semantics="maxent", limits=limits, seed=1, progress=told)
    assert told.stages[0] == "exact"
    assert any(stage.startswith("bounds, ") for stage in told.stages)
    program.query(engine="sample", gap=0.1, seed=1, progress=told)
    assert told.stages[-1].startswith("estimate, ")
    widths = [float(s.split()[1]) for s in told.stages if s.startswith("bounds")]
    assert widths == sorted(widths, reverse=True)


@pytest.mark.parametrize("family", ["bayes(40)", "grid(4)", "colouring(8)", "insomnia(6)"])
@pytest.mark.parametrize(
    "limit",
    [*(pytest.param(looks, marks=pytest.mark.slow) for looks in (1, 100, 10_000)), 10, 1000, None],
)
def test_auto_has_an_answer_whatever_the_limit(family: str, limit: int | None) -> None:
    name, size = family.rstrip(")").split("(")
    text = getattr(families, name)(int(size))
    for semantics in ("credal", "maxent"):
        (exact,) = dpasp.loads(text).query(semantics=semantics, exact=True)
        program = dpasp.loads(text)
        program.ground()  # before that nobody can answer
        limits = dpasp.Limits(megabytes=1) if limit is None else looks(limit, seconds=10)
        answers = program.query(semantics=semantics, limits=limits, seed=1)
        (answer,) = answers
        assert isinstance(answer, dpasp.Answer)
        if answer.exact:
            assert answer.numbers == pytest.approx(exact.numbers)
        else:
            assert answer.interval is not None
            assert float(answer.interval[0]) <= float(exact.numbers[0]) + 1e-9
            assert float(exact.numbers[-1]) - 1e-9 <= float(answer.interval[1])
            assert "not-exact" in [warning.code for warning in answers.warnings]


def late(asked: Asked) -> None:
    """An exact engine for which no time is enough."""
    raise asked.watch.out_of_time()


@pytest.mark.usefixtures("only_small_cases")
def test_auto_draws_where_some_cases_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole does not compile in time, but cases of it do."""
    program = dpasp.loads(grid(3))
    (exact,) = program.query(semantics="maxent")[0].numbers

    def some(cases: Cases, *_: object) -> None:
        list(islice(cases.steps(UNLIMITED), 200))

    monkeypatch.setattr("dpasp.inference.exact.compiled", late)
    monkeypatch.setattr(Cases, "close_in", some)
    answers = program.query(semantics="maxent", limits=looks(30_000, seconds=10), seed=2)
    (answer,) = answers
    assert isinstance(answer, dpasp.Answer)
    assert answers.statistics["cases"] == 200
    assert answer.interval is not None
    assert answer.likely is not None
    assert 0 < float(answer.interval[0]) < float(exact) < float(answer.interval[1]) < 1
    assert float(answer.likely[0]) <= float(exact) <= float(answer.likely[1])


def test_auto_is_exact_once_every_case_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    program = dpasp.loads(grid(4))
    (exact,) = program.query(semantics="maxent")[0].numbers
    monkeypatch.setattr("dpasp.inference.exact.compiled", late)
    answers = program.query(semantics="maxent", limits=looks(30_000, seconds=10), seed=2)
    assert answers[0].exact
    assert answers[0].numbers[0] == pytest.approx(float(exact))
    assert not answers.warnings


def test_auto_is_exact_where_that_fits() -> None:
    (answer,) = dpasp.loads(grid(3)).query(limits=looks(100_000))
    assert isinstance(answer, dpasp.Answer)
    assert answer.exact
    assert "exact" not in answer.to_dict()


def test_only_exact_engines_can_be_told_to_be_exact() -> None:
    program = dpasp.loads("0.3::a. #query a.")
    assert program.query(engine="enumerate", exact=True)[0].numbers == (0.3, 0.3)
    with pytest.raises(dpasp.UsageError, match="does not compute exact answers"):
        program.query(engine="sample", exact=True)


def test_auto_gives_sure_bounds_their_share_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock stands still, so that every part sees the time that it is given."""
    given: dict[str, float] = {}

    def late(asked: Asked) -> None:
        given["exact"] = asked.watch.remaining() or 0.0
        raise asked.watch.out_of_time()

    close_in = RelaxedBounds.close_in

    def noted(self: RelaxedBounds, wanted: float, watch: Watch) -> None:
        given["bounds"] = watch.remaining() or 0.0
        close_in(self, wanted, watch)

    monkeypatch.setattr("dpasp.inference.exact.compiled", late)
    monkeypatch.setattr(RelaxedBounds, "close_in", noted)
    dpasp.loads(grid(3)).query(limits=Given().limits(30.0))
    assert given["exact"] == pytest.approx(15.0)
    assert given["bounds"] >= 30.0 / 5


def test_auto_translates_and_splits_a_program_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the number of queries and of their evidence."""
    made: list[str] = []

    def counted(name: str) -> None:
        original = getattr(situations, name)

        def noted(*arguments: Any) -> Any:
            made.append(name)
            return original(*arguments)

        monkeypatch.setattr(situations, name, noted)

    counted("translate")
    counted("split_translation")
    monkeypatch.setattr("dpasp.inference.exact.compiled", late)
    more = " #query r((1,1)) | r((0,1)). #query r((0,1)) | r((1,1))."
    dpasp.loads(grid(3) + more).query(semantics="maxent", limits=looks(30_000, seconds=10), seed=1)
    assert made == ["translate", "split_translation"]
