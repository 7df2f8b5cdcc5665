"""Chains for rare evidence: right in the long run, and told where they are not to be relied on."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import dpasp
from dpasp.circuits.worlds import BLOCK, WORDS, Chains, Worlds
from dpasp.inference.asked import Asked
from dpasp.inference.sampling.chains import Walk, chained, effective_states, mixture, r_hat
from dpasp.inference.sampling.draws import spread
from dpasp.inference.sampling.sample import by_evidence
from dpasp.inference.sampling.stream import Prepared, Stream
from dpasp.inference.tuning import SAMPLING
from dpasp.limits import UNLIMITED
from tests.clocks import looks
from tests.inference.test_sampling import LOGICS, PUSHED, asked_of, with_queries
from tests.oracle.generate import generate

RARE = (
    "".join(f"0.02::x({i}). " for i in range(5))
    + "e :- 3 { x(I) }. 0.3::b. c :- b, x(1). #query c | e. #query x(1) | e."
)
# No chain gets from all to none: the two are too far from each other for any move.
APART = (
    "".join(f"0.5::x({i}). " for i in range(40))
    + "all :- 40 { x(I) }. some :- x(I). e :- all. e :- not some. #query x(1) | e."
)


def stream_of(asked: Asked, seed: int = 1) -> Stream:
    return Stream(Prepared(asked, asked.queries), asked.weights, seed, UNLIMITED)


# --- moves --------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", PUSHED)
def test_a_chain_is_in_the_first_world_with_the_weight_it_would_have(case: str) -> None:
    asked = asked_of(PUSHED[case], "stable, maxent")
    prepared = Prepared(asked, asked.queries)
    choices = prepared.definitions.choices
    sizes = [len(choice.selectors) for choice in choices]
    selectors = [s for choice in choices for s in choice.selectors]
    outputs = [prepared.evidence_atom, *selectors]
    worlds = Worlds(prepared.definitions, prepared.size, outputs, prepared.worlds.pushes)
    drawn = worlds.draw(asked.weights, 3, 0, 1)
    good = np.flatnonzero(drawn.bits[0])[:WORDS]
    states = np.ascontiguousarray(spread(drawn.bits[1:, good], sizes).T.astype(np.int64))
    free = np.ones(len(choices), dtype=np.int64)
    moved = worlds.move(asked.weights, (1, 1), Chains(states, free), UNLIMITED)
    first = np.arange(0, BLOCK, 64)
    assert (states == spread(moved.bits[1:, first], sizes).T).all()
    assert moved.weights[first] == pytest.approx(drawn.weights[good], rel=1e-12)
    free[0] = 0  # the first choice stays where it is, in all worlds of a chain
    moved = worlds.move(asked.weights, (1, 2), Chains(states, free), UNLIMITED)
    values = spread(moved.bits[1:], sizes)[0].reshape(WORDS, 64)
    assert (values == states[:, :1]).all()


@pytest.mark.parametrize("value", [-1, 2, 10**12])
def test_native_code_refuses_states_that_are_none(value: int) -> None:
    asked = asked_of("0.3::a. 0.5::b. c :- a, b. #query a | c.")
    worlds = Prepared(asked, asked.queries).worlds
    states = np.full((WORDS, 2), value, dtype=np.int64)
    free = np.ones(2, dtype=np.int64)
    with pytest.raises(ValueError, match="does not fit"):
        worlds.move(asked.weights, (1, 1), Chains(states, free), UNLIMITED)
    with pytest.raises(ValueError, match="do not fit"):
        worlds.move(asked.weights, (1, 1), Chains(states[:3], free), UNLIMITED)
    with pytest.raises(ValueError, match="do not fit"):
        worlds.move(asked.weights, (1, 1), Chains(states * 0, free[:1]), UNLIMITED)


@pytest.mark.parametrize("chains", [2, 3, 16])
@pytest.mark.parametrize("semantics", ["stable, maxent", "stable, credal"])
def test_chains_find_rare_evidence(chains: int, semantics: str) -> None:
    asked = asked_of(RARE, semantics)
    exact = dpasp.loads(RARE).query(semantics=semantics, engine="enumerate")
    found = chained(stream_of(asked), chains, states=200 * chains)
    assert found is not None
    for answer, truth in zip(found.answers, exact, strict=True):
        assert answer.chains == chains
        assert answer.samples == 200 * chains
        assert answer.interval is not None
        assert answer.interval[0] <= truth.numbers[0] <= truth.numbers[-1] <= answer.interval[1]
        assert answer.numbers == pytest.approx(truth.numbers, abs=0.1)


def check(asked: Asked, exact: dpasp.Answers, sweeps: int) -> int:
    """Compare what chains say with exact answers; how many numbers were compared."""
    compared = 0
    for queries in by_evidence(asked.queries):
        alone = asked.with_questions(queries)
        walk = Walk(stream_of(alone))
        if not walk.start():
            continue
        for _ in range(sweeps):
            walk.sweep()
        for query, numbers in zip(queries, walk.mixtures(), strict=True):
            for mixed, truth in zip(numbers, exact[query.text].numbers, strict=True):
                if mixed.value is not None:
                    width = max(mixed.interval[1] - mixed.interval[0], 0.02)
                    assert abs(mixed.value - float(truth)) <= width, query.text
                    compared += 1
    return compared


@pytest.mark.parametrize("seed", [1, 2, 5, 9])
def test_chains_agree_with_the_enumeration_under_all_semantics(seed: int) -> None:
    program = generate(seed)
    if program.credal:
        pytest.skip("its intervals are held from outside only")
    compared = 0
    for logic in LOGICS:
        if logic == "wellfounded" and program.disjunctive:
            continue
        text = with_queries(program, logic)
        for probability in ("credal", "maxent"):
            semantics = f"{logic}, {probability}"
            try:
                exact = dpasp.loads(text).query(semantics=semantics, engine="enumerate")
            except dpasp.InferenceError:
                continue  # evidence that is impossible
            compared += check(asked_of(text, semantics), exact, 24)
    assert compared


def test_chains_with_intervals_of_probabilities() -> None:
    text = "[0.01, 0.02]::x. 0.02::y. 0.01::z. e :- x, y. e :- x, z. {a} :- y. #query y | e."
    program = dpasp.loads(text)
    (exact,) = program.query(engine="enumerate")
    (found,) = program.query(engine="gibbs", n=1600, seed=1)
    assert isinstance(found, dpasp.Answer)
    assert found.interval is not None
    assert found.interval[0] <= exact.numbers[0]
    assert exact.numbers[-1] <= found.interval[1]


# --- what they come to --------------------------------------------------------------------------


def walks(correlation: float, chains: int = 16, length: int = 4000) -> np.ndarray:
    """Chains whose states depend on those before, of variance 1."""
    generator = np.random.default_rng(3)
    noise = generator.standard_normal((chains, length)) * math.sqrt(1 - correlation**2)
    series = np.empty_like(noise)
    series[:, 0] = generator.standard_normal(chains)
    for i in range(1, length):
        series[:, i] = correlation * series[:, i - 1] + noise[:, i]
    return series


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
def test_effective_states_of_chains_that_are_known(correlation: float) -> None:
    series = walks(correlation)
    wanted = series.size * (1 - correlation) / (1 + correlation)
    assert effective_states(series) == pytest.approx(wanted, rel=0.2)
    assert r_hat(series) == pytest.approx(1, abs=0.01)


def test_chains_that_disagree_or_stand_still_are_noticed() -> None:
    series = walks(0.5)
    series[:8] += 3
    assert r_hat(series) > 1.5
    assert effective_states(series) < 100
    still = np.repeat(np.arange(16.0)[:, np.newaxis], 100, axis=1)
    assert math.isinf(r_hat(still))
    assert effective_states(still) <= 16
    assert effective_states(0 * still) == 16
    assert r_hat(series[:, :3]) == math.inf


def test_states_that_are_all_equal_are_no_certainty() -> None:
    ones, energies = np.ones((16, 100)), walks(0.5, length=100)
    mixed = mixture(ones, 0 * ones, energies)
    assert mixed.value == 1
    assert 0.98 < mixed.interval[0] < 1
    assert mixture(0 * ones, 0 * ones, energies).interval == (0, 1)


def test_intervals_of_chains_hold_in_the_long_run() -> None:
    held, tried = 0, 100
    for seed in range(tried):
        generator = np.random.default_rng(seed)
        switches = generator.random((16, 200)) < 0.2
        states = (np.cumsum(switches, axis=1) + generator.integers(2, size=(16, 1))) % 2
        mixed = mixture(states * 1.0, 1.0 - states, 1.0 * states)
        held += mixed.interval[0] <= 0.5 <= mixed.interval[1]
    assert held >= 93


# --- the engine ---------------------------------------------------------------------------------


def test_chains_answer_where_samples_say_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpasp.inference.sampling.chains.SAMPLING", replace(SAMPLING, states=3200))
    answers = dpasp.loads(RARE).query(engine="sample", seed=1, semantics="maxent")
    exact = dpasp.loads(RARE).query(engine="enumerate", semantics="maxent")
    assert "chains" in [warning.code for warning in answers.warnings]
    for answer, truth in zip(answers, exact, strict=True):
        assert isinstance(answer, dpasp.Answer)
        assert answer.chains == 16
        assert answer.interval is not None
        assert answer.interval[0] <= truth.numbers[0] <= answer.interval[1]
        record = answer.to_dict()
        assert record["chains"] == 16
        assert record["effective"] == answer.effective
        assert record["r_hat"] == answer.r_hat
        assert f"states of 16 chains, worth {answer.effective:.0f} samples, R-hat" in str(answer)


def test_the_same_seed_the_same_chains() -> None:
    program = dpasp.loads(RARE + "#inference gibbs, n = 320.")
    assert program.query(seed=4).to_dict()["answers"] == program.query(seed=4).to_dict()["answers"]
    assert program.query(seed=4)[0].numbers != program.query(seed=5)[0].numbers


def test_chains_that_do_not_mix_are_told() -> None:
    answers = dpasp.loads(APART).query(engine="gibbs", n=640, seed=1, semantics="maxent")
    assert "slow-chains" in [warning.code for warning in answers.warnings]
    (answer,) = answers
    assert isinstance(answer, dpasp.Answer)
    assert answer.r_hat is not None
    assert answer.r_hat > 1.5
    assert "r_hat" not in answer.to_dict() or answer.to_dict()["r_hat"] > 1.5
    assert answer.interval is not None
    assert answer.interval[0] <= 0.5 <= answer.interval[1]


def test_chains_have_nowhere_to_start_if_the_evidence_is_impossible() -> None:
    asked = asked_of("0.3::a. 0.2::b. e :- a, not a. f :- b, e. #query b | f.")
    assert chained(stream_of(asked)) is None
    answers = dpasp.loads("0.3::a. 0.2::b. :- a. e :- a, b. #query b | e.").query(
        engine="gibbs", n=100, seed=1
    )
    assert "unsampled" in [warning.code for warning in answers.warnings]


def test_a_limit_leaves_what_chains_have_by_then() -> None:
    asked = asked_of(RARE)
    watch = looks(2000).start()
    stream = Stream(Prepared(asked, asked.queries), asked.weights, 1, watch)
    found = chained(stream, states=10**9)
    assert found is not None
    assert "stopped-early" in [warning.code for warning in found.warnings]


@pytest.mark.parametrize("number", ["0", "1", "17", "2.5"])
def test_how_many_chains_there_can_be(number: str) -> None:
    with pytest.raises(dpasp.UsageError, match="chains must be a whole number from 2 to 16"):
        dpasp.loads(RARE).query(engine="sample", chains=float(number))
