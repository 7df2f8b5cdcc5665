"""Sampling and bounds: against the enumeration, by seed, within limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dpasp
from dpasp.inference.asked import Asked, EngineResult, Method, ask
from dpasp.inference.exact import answer as answered
from dpasp.inference.tuning import SAMPLING
from dpasp.language.ast import Logic, Probability
from dpasp.semantics.meaning import Meaning
from tests.clocks import looks

TEXT = """
    0.3::a. 0.6::b. 0.2::c; 0.5::d.
    p :- a, not q. q :- b, not p. r :- c, p. r :- d. s :- a, b, not s.
    :- c, a, p.
    #query p. #query r | q. #query not p, d | not c.
"""
LOGICS = ("stable", "partial", "lstable", "smproblog", "wellfounded")
ALL = pytest.mark.parametrize(
    "semantics", [f"{logic}, {psem}" for logic in LOGICS for psem in ("credal", "maxent")]
)
LARGE = "".join(f"0.{1 + i % 8}::x({i}). " for i in range(200)) + "y :- x(I). #query x(3) | y."


def numbers(answers: dpasp.Answers) -> list[float]:
    return [float(number) for answer in answers for number in answer.numbers]


@ALL
def test_samples_are_near_the_exact_answer(semantics: str) -> None:
    program = dpasp.loads(TEXT)
    exact = program.query(semantics=semantics, engine="enumerate")
    sampled = program.query(semantics=semantics, engine="sample", n=20_000, seed=3)
    assert numbers(sampled) == pytest.approx(numbers(exact), abs=0.02)
    assert sampled.inconsistent == pytest.approx(exact.inconsistent, abs=0.02)
    assert sampled.statistics["situations"] <= 3 * 16  # equal ones are solved once
    for answer in sampled:
        assert isinstance(answer, dpasp.Answer)
        assert answer.samples == 20_000
        assert answer.interval is not None
        assert answer.interval[0] <= answer.numbers[0] <= answer.numbers[-1] <= answer.interval[1]


def test_the_same_seed_the_same_answer() -> None:
    program = dpasp.loads(TEXT + "#inference sample, n = 300, seed = 5.")
    assert program.query().to_dict()["answers"] == program.query().to_dict()["answers"]
    other = program.query(seed=6)
    assert other.engine == "sample"
    assert numbers(other) != numbers(program.query())


def test_sampling_stops_when_it_is_precise() -> None:
    answer = dpasp.loads("0.5::a. #query a.").query(engine="sample", gap=0.1, seed=1)[0]
    assert isinstance(answer, dpasp.Answer)
    assert answer.samples is not None
    assert 380 <= answer.samples < 10_000


@ALL
@pytest.mark.parametrize("gap", [0.0, 0.2, 0.6])
def test_bounds_hold_the_exact_answer(semantics: str, gap: float) -> None:
    program = dpasp.loads(TEXT)
    exact = program.query(semantics=semantics, engine="enumerate")
    bounded = program.query(semantics=semantics, engine="bounds", gap=gap)
    for one, good in zip(bounded, exact, strict=True):
        assert isinstance(one, dpasp.Answer)
        assert one.interval is not None
        low, high = (float(end) for end in one.interval)
        assert low <= float(good.numbers[0]) + 1e-12
        assert float(good.numbers[-1]) <= high + 1e-12
        assert one.gap is not None
        assert float(one.gap) <= gap
    if gap == 0:
        assert numbers(bounded) == pytest.approx(numbers(exact), abs=1e-12)


def test_every_number_of_total_choices_gives_sure_bounds() -> None:
    for semantics in ("credal", "maxent"):
        program = dpasp.loads(TEXT + "#inference aseo, nmodels = 1.")
        exact = program.query(semantics=semantics, engine="enumerate")
        before = 1.0
        for count in range(1, 13):
            found = program.query(semantics=semantics, nmodels=count)[0]
            assert isinstance(found, dpasp.Answer)
            assert found.interval is not None
            assert found.gap is not None
            assert found.interval[0] <= float(exact[0].numbers[0]) + 1e-12
            assert found.interval[1] >= float(exact[0].numbers[-1]) - 1e-12
            assert float(found.gap) <= before + 1e-12
            before = float(found.gap)
        assert before == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("semantics", ["credal", "maxent"])
def test_total_choices_one_by_one_find_what_has_no_answer(semantics: str) -> None:
    every = "#inference aseo, nmodels = 10."
    program = dpasp.loads("0.5::a. b :- a, not c. c :- a. #query a | b. " + every)
    with pytest.raises(dpasp.ImpossibleEvidence, match="the evidence b has probability 0"):
        program.query(semantics=semantics)
    program = dpasp.loads("0.5::a. :- a. :- not a. #query a. " + every)
    with pytest.raises(dpasp.InconsistentProgram):
        program.query(semantics=semantics)


@pytest.mark.parametrize("engine", ["sample", "bounds"])
def test_a_limit_leaves_the_best_answer_so_far(engine: str) -> None:
    options = {"n": 10**9} if engine == "sample" else {"gap": 0.0, "nmodels": 10**9}
    program = dpasp.loads(LARGE)
    program.ground()
    answers = program.query(engine=engine, limits=looks(1000), **options)
    assert [warning.code for warning in answers.warnings] == ["stopped-early"]
    assert "stopped at the time limit of 1000 s" in answers.warnings[0].message


@pytest.mark.parametrize("engine", ["sample", "bounds"])
@ALL
def test_most_probable_values_beside_approximate_answers(engine: str, semantics: str) -> None:
    text = TEXT + "#map p?, r? | not c. #mpe | q. #query d."
    program = dpasp.loads(text)
    exact = program.query(semantics=semantics, engine="enumerate")
    found = program.query(semantics=semantics, engine=engine, seed=1)
    assert found.engine == engine
    assert [answer.query for answer in found] == [answer.query for answer in exact]
    for one, good in zip(found, exact, strict=True):
        assert one.kind == good.kind
        if isinstance(one, dpasp.MapAnswer):
            assert isinstance(good, dpasp.MapAnswer)
            assert one.assignment == good.assignment
            assert one.numbers == pytest.approx(good.numbers)
    alone = dpasp.loads("0.3::a. #map a?.").query(engine=engine)
    assert alone.engine == engine
    assert alone[0].numbers[-1] == pytest.approx(0.7)


def test_a_limit_while_grounding_says_what_helps() -> None:
    text = "p(0). p(X+1) :- p(X). 0.3::a. r :- a, p(X). #query r."
    with pytest.raises(dpasp.TimeLimit) as caught:
        dpasp.loads(text).query(engine="compile", limits=looks(20))
    assert "the program was not ground in time: raise --time-limit" in str(caught.value)


@pytest.mark.parametrize("semantics", ["credal", "maxent"])
def test_samples_that_say_nothing(semantics: str) -> None:
    rare = "".join(f"0.1::x({i}). " for i in range(9)) + "e :- 9 { x(I) }. 0.5::b. #query b | e."
    for text, reason in ((rare, "satisfies the evidence e"), ("a. :- a. #query a.", "has a model")):
        answers = dpasp.loads(text).query(engine="sample", n=100, seed=1, semantics=semantics)
        (answer,) = answers
        assert isinstance(answer, dpasp.Answer)
        assert answer.interval == (0.0, 1.0)
        warning = next(one for one in answers.warnings if one.code == "unsampled")
        assert f"none of 100 samples {reason}" in warning.message


@pytest.mark.parametrize("semantics", ["credal", "maxent"])
@pytest.mark.parametrize("chance", ["0.3", "0.5", "1"])
def test_bounds_know_when_the_evidence_is_impossible(semantics: str, chance: str) -> None:
    program = dpasp.loads(f"{chance}::a. b :- a. #query a | b, not a.")
    with pytest.raises(dpasp.ImpossibleEvidence):
        program.query(engine="bounds", semantics=semantics, gap=0)


def test_bounds_know_when_the_program_is_inconsistent() -> None:
    with pytest.raises(dpasp.InconsistentProgram):
        dpasp.loads("0.3::a. b. :- b. #query a.").query(engine="bounds")


@pytest.mark.parametrize("engine", ["sample", "bounds"])
def test_inconsistent_total_choices_are_told_or_refused(engine: str) -> None:
    program = dpasp.loads("0.3::a. 0.5::b. :- a, b. #query a.")
    answers = program.query(engine=engine, seed=1)
    assert answers.inconsistent == pytest.approx(0.15, abs=0.02)
    assert [warning.code for warning in answers.warnings] == ["inconsistent-choices"]
    with pytest.raises(dpasp.InconsistentProgram):
        program.query(engine=engine, seed=1, inconsistent="error")


@pytest.mark.parametrize("engine", ["sample", "bounds"])
def test_a_number_for_each_row_of_weights(engine: str) -> None:
    ground = dpasp.loads("0.3::a. #query a.").ground()
    weights = np.array([[0.1, 0.9], [0.9, 0.1]])
    meaning, how = Meaning(Logic.STABLE, Probability.MAXENT), Method(engine, {"seed": 1})
    answers = answered(ask(ground, meaning, method=how, weights=weights))
    assert answers[0].numbers[0] == pytest.approx([0.1, 0.9], abs=0.02)
    assert np.shape(answers.to_dict()["answers"][0]["interval"]) == (2, 2)


def test_json_and_frames_have_the_interval() -> None:
    answers = dpasp.loads("0.5::a. #query a.").query(engine="sample", n=100, seed=1)
    (record,) = answers.to_dict()["answers"]
    assert set(record) == {"query", "kind", "lower", "upper", "interval", "samples", "exact"}
    assert len(answers.to_frame()) == 1
    assert "100 samples" in str(answers)
    (record,) = dpasp.loads("0.5::a. #query a.").query(engine="bounds").to_dict()["answers"]
    assert record["gap"] == 0


# --- limits that leave nothing ------------------------------------------------------------------


@pytest.fixture
def stopped_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def solve(asked: Asked) -> EngineResult:
        raise asked.watch.out_of_time()

    monkeypatch.setattr("dpasp.inference.exact.solver", lambda name: solve)


@pytest.mark.usefixtures("stopped_at_once")
@ALL
@pytest.mark.parametrize("engine", ["auto", "sample", "bounds"])
def test_a_limit_before_anything_is_known_leaves_all_numbers(semantics: str, engine: str) -> None:
    credal = semantics.endswith("credal")
    program = dpasp.loads(TEXT.replace("0.3::a", "[0.2, 0.4]::a") if credal else TEXT)
    for ask_all in (program.query, program.marginals):
        answers = ask_all(semantics=semantics, engine=engine, limits=dpasp.Limits(seconds=1000))
        assert len(answers) == (3 if ask_all == program.query else 8)
        assert all(one.interval == (0, 1) and one.gap == 1 for one in answers)  # type: ignore[union-attr]
        (warning,) = [one for one in answers.warnings if one.code == "not-exact"]
        assert "time limit of 1000 s before anything was known" in warning.message


@pytest.mark.usefixtures("stopped_at_once")
def test_a_limit_before_anything_is_known_with_rows() -> None:
    ground = dpasp.loads("0.3::a. #query a.").ground()
    rows = np.array([[0.1, 0.2, 0.3], [0.9, 0.8, 0.7]])
    (answer,) = answered(ask(ground, Meaning(), weights=rows, method=Method("sample")))
    assert isinstance(answer, dpasp.Answer)
    assert np.array_equal(answer.numbers, [[0, 0, 0], [1, 1, 1]])


@pytest.mark.usefixtures("stopped_at_once")
@pytest.mark.parametrize("engine", ["exact", "compile", "enumerate"])
def test_exact_answers_or_none(engine: str) -> None:
    with pytest.raises(dpasp.TimeLimit):
        dpasp.loads(TEXT).query(engine=engine, limits=dpasp.Limits(seconds=1000))


@pytest.mark.usefixtures("stopped_at_once")
def test_most_probable_values_are_not_made_up() -> None:
    with pytest.raises(dpasp.TimeLimit):
        dpasp.loads("0.3::a. #query a. #map a?.").query(limits=dpasp.Limits(seconds=1000))


# --- models -------------------------------------------------------------------------------------


@pytest.mark.parametrize("logic", LOGICS)
def test_sampled_models_follow_maxent(logic: str) -> None:
    program = dpasp.loads(TEXT)
    models = program.sample(4000, given="not c", semantics=logic, seed=2)
    exact = program.query("p | not c", semantics=f"{logic}, maxent", engine="enumerate")[0]
    share = sum(model["p"] is True for model in models) / len(models)
    assert share == pytest.approx(exact.numbers[0], abs=0.03)
    assert all(model["c"] is False for model in models)


def test_sampled_models_can_have_undefined_atoms() -> None:
    (model,) = dpasp.loads("a :- not a. b.").sample(semantics="wellfounded")
    assert model == {"a": "undef", "b": True}
    (model,) = dpasp.loads("a :- not a. b.").sample(semantics="smproblog")
    assert model == {"a": "undef", "b": "undef"}


def test_models_that_cannot_be_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpasp.inference.sampling.draws.SAMPLING", replace(SAMPLING, tries=1000))
    monkeypatch.setattr("dpasp.inference.sampling.draws.descent", lambda asked: None)
    with pytest.raises(dpasp.InferenceError, match="sampled models satisfies the evidence"):
        dpasp.loads("0.3::a. b :- not a.").sample(given="a, b", seed=1)
