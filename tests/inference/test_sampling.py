"""Sampling: worlds in machine words, evidence that is pushed, intervals that hold."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from unittest.mock import Mock

import numpy as np
import pytest
from benchmarks.approximate.coverage import CASES, covered, plain
from scipy.stats import beta

import dpasp
from dpasp.circuits.worlds import BLOCK, Worlds
from dpasp.inference.asked import Asked, ask
from dpasp.inference.models import Outcomes
from dpasp.inference.sampling.draws import descent, sample_models, spread
from dpasp.inference.sampling.sample import by_evidence
from dpasp.inference.sampling.situations import counting_circuit
from dpasp.inference.sampling.stream import Prepared, Stream, outcomes
from dpasp.inference.sampling.tallies import Tally, betting, binomial
from dpasp.inference.tuning import SAMPLING
from dpasp.language.ast import Logic, Probability
from dpasp.limits import UNLIMITED
from dpasp.semantics.leaves import layout, probability_of
from dpasp.semantics.masses import Masses
from dpasp.semantics.meaning import Meaning
from tests.oracle.generate import generate
from tests.oracle.programs import Program

LOGICS = ("stable", "partial", "lstable", "smproblog", "wellfounded")


def asked_of(text: str, semantics: str = "stable, credal") -> Asked:
    logic, probability = semantics.split(", ")
    return ask(dpasp.loads(text).ground(), Meaning(Logic(logic), Probability(probability)))


def without_intervals(first: int, count: int) -> Iterator[tuple[int, Program, str]]:
    """Seeds, their random programs without intervals, and each logic that these can have."""
    for seed in range(first, first + count):
        program = generate(seed)
        for logic in () if program.credal else LOGICS:
            if logic != "wellfounded" or not program.disjunctive:
                yield seed, program, logic


# --- intervals ----------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 7, 30])
@pytest.mark.parametrize("p", [0.001, 0.2, 0.5, 0.93])
def test_the_binomial_interval_misses_no_end_in_more_than_its_share(n: int, p: float) -> None:
    chances = [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
    ends = [binomial(k, n) for k in range(n + 1)]
    below = sum(chance for chance, (low, _) in zip(chances, ends, strict=True) if p < low)
    above = sum(chance for chance, (_, high) in zip(chances, ends, strict=True) if high < p)
    assert below <= 0.025
    assert above <= 0.025


@pytest.mark.parametrize(
    ("hits", "n"), [(0, 1), (3, 7), (1, 1000), (500, 1000), (999, 1000), (70_000, 100_000)]
)
def test_the_binomial_interval_is_that_of_the_beta_distribution(hits: int, n: int) -> None:
    low = beta.ppf(0.025, hits, n - hits + 1) if hits else 0.0
    high = beta.ppf(0.975, hits + 1, n - hits)
    assert binomial(hits, n) == pytest.approx((low, high), rel=1e-5)
    assert binomial(n - hits, n) == pytest.approx((1 - high, 1 - low), rel=1e-5)


def capital(ratio: float, pairs: np.ndarray, planned: int | None) -> float:
    """What a gambler has in the end who bets against a ratio, written down once more."""
    if planned is None:
        bets = [(1 / 15, 2.0**-k) for k in range(15)]
    else:
        odds = ratio / (1 - ratio)
        best = min(0.5, math.sqrt(2 * math.log(2 / 0.025) * odds / planned))
        others = [best * 2**k for k in range(1, math.ceil(-math.log2(best)) + 1)]
        bets = [(0.5, best), *((0.5 / len(others), min(share, 1.0)) for share in others)]
    gains = pairs[:, 0] * (1 - ratio) / ratio - pairs[:, 1]
    return sum(part * math.prod(1 + share * gains) for part, share in bets)


@pytest.mark.parametrize("planned", [None, 50, 1000])
def test_at_its_ends_the_gambler_is_rich_enough(planned: int | None) -> None:
    kinds, counts = np.array([[1.0, 0.0], [0.2, 0.5], [0.0, 1.0]]), np.array([20, 25, 5])
    pairs = np.repeat(kinds, counts, axis=0)
    low, high = betting(kinds[:, 0], kinds[:, 1], counts.astype(np.float64), planned)
    assert capital(low, pairs, planned) == pytest.approx(1 / 0.025, rel=1e-4)
    assert capital(1 - high, pairs[:, ::-1], planned) == pytest.approx(1 / 0.025, rel=1e-4)


@pytest.mark.parametrize("planned", [True, False])
@pytest.mark.parametrize("p", [0.03, 0.5, 0.9])
def test_betting_misses_no_end_in_more_than_its_share(p: float, planned: bool) -> None:
    n = 40
    missed = 0.0
    for k in range(n + 1):
        counts = np.array([k, n - k], dtype=np.float64)
        seen = counts > 0
        ends = np.array([1.0, 0.0])[seen], np.array([0.0, 1.0])[seen]
        low, high = betting(*ends, counts[seen], n if planned else None)
        assert low <= k / n <= high
        missed += (not low <= p <= high) * math.comb(n, k) * p**k * (1 - p) ** (n - k)
    assert missed <= 0.05


def test_ten_thousand_worlds_unless_told_otherwise() -> None:
    answer = dpasp.loads("0.5::a. #query a.").query(engine="sample", seed=1)[0]
    assert answer.samples == 10_000


def test_no_world_is_lost_where_none_can_be() -> None:
    """Given evidence, lost worlds are counted apart, without it."""
    text = "0.5::a. 0.1::b. p :- a, not q. q :- a, not p. :- p, q. #query p | b."
    answers = dpasp.loads(text).query(engine="sample", n=500, seed=1, semantics="maxent")
    assert answers.inconsistent == 0


def test_equal_samples_leave_what_has_not_been_seen() -> None:
    low, high = betting(np.array([0.5]), np.array([0.5]), np.array([100.0]), 100)
    assert 0.45 < low < 0.485
    assert 0.515 < high < 0.55


def test_means_of_samples_say_what_the_samples_say() -> None:
    samples = np.random.default_rng(1).random(3 * SAMPLING.kept)
    pairs = np.stack([samples, 1 - samples])
    whole, pieces = Tally(binary=False), Tally(binary=False)
    whole.add(pairs)
    for start in range(0, len(samples), 100):
        pieces.add(pairs[:, start : start + 100])
    assert whole.value == pytest.approx(samples.mean())
    assert whole.interval(planned=True) == pytest.approx(pieces.interval(planned=True))
    low, high = whole.interval(planned=True)
    assert low < samples.mean() < high
    assert high - low < 0.06


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("semantics", ["credal", "maxent"])
def test_intervals_hold_at_any_number_of_samples(case: str, semantics: str) -> None:
    kinds = [plain(n=1), plain(n=10), plain(n=150), plain(n=300, gap=0.3)]
    for intervals in kinds:
        held, _ = covered(CASES[case], semantics, 40, intervals)
        assert held >= 0.9  # 95 % of all seeds, as benchmarks/approximate/coverage.py counts them


# --- worlds -------------------------------------------------------------------------------------

GUESSED = {
    "an odd loop": "0.4::x. a :- x, not b. b :- x, not c. c :- x, not a. #query a.",
    "a choice with bounds": "0.4::x. 1 { a; b; c } 2 :- x. :- a, b. #query a | not c.",
    "two choices of one atom": "0.4::x. 0.6::y. { a } :- x. { a } :- y. a :- x, y. #query a.",
    "a choice inside of a loop": "0.4::x. { a } :- b. { b } :- a. { a } :- x. #query b.",
    "a sum as a condition": "0.4::x. {a; b}. { c } :- #sum { 2: a; 3: b; 1: x } >= 3. #query c.",
    "a sum inside of a loop": (
        "0.4::x. {b}. a :- #sum { 1: not c; 2: x; 1: b } >= 2. c :- not a. #query a | b."
    ),
    "a disjunction": "0.4::x. a ; b ; c :- x. d :- a, not e. e :- b, not d. #query d | not b.",
}

COUNTED = """
    0.4::a(1). 0.7::a(2). 0.2::a(3). 0.9::a(4).
    many :- #sum { X, X : a(X) } >= 5. few :- #count { X : a(X) } <= 1.
    edge(1,2) :- a(1). edge(2,3) :- a(2). edge(3,1) :- a(3). edge(3,4) :- a(4).
    r(1). r(Y) :- r(X), edge(X,Y).
    #query many. #query few. #query r(4). #query r(3) | many. #query many, not few | a(1).
"""


@pytest.mark.parametrize("semantics", ["stable, credal", "stable, maxent"])
def test_sums_counts_and_loops_in_machine_words(semantics: str) -> None:
    program = dpasp.loads(COUNTED)
    exact = program.query(semantics=semantics, engine="enumerate")
    found = program.query(semantics=semantics, engine="sample", n=200_000, seed=1)
    for one, good in zip(found, exact, strict=True):
        assert one.numbers == pytest.approx(good.numbers, abs=0.01)


@pytest.mark.parametrize("first", [0, 8])
def test_every_world_says_what_its_total_choice_says(first: int) -> None:
    for _, program, logic in without_intervals(first, 8):
        text = with_queries(program, logic)
        for probability in ("credal", "maxent"):
            check_worlds(asked_of(text, f"{logic}, {probability}"))


def test_models_are_counted_on_a_circuit_where_they_are_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dpasp.inference.sampling.situations.SAMPLING", replace(SAMPLING, listed=1))
    for seed in range(12):
        program = generate(seed)
        if not program.credal:
            for logic in ("stable", "partial", "lstable", "smproblog"):
                check_worlds(asked_of(with_queries(program, logic), f"{logic}, maxent"))
    many = "1 { c(V,1..3) } 1 :- V = 1..16. 0.5::e. :- e, c(1,C), c(2,C). #query c(1,1), c(2,1)."
    (exact,) = dpasp.loads(many).query(semantics="maxent")
    (found,) = dpasp.loads(many).query(semantics="maxent", engine="sample", n=500, seed=1)
    assert found.numbers == pytest.approx(exact.numbers, abs=0.02)


@pytest.mark.parametrize("probability", ["credal", "maxent"])
def test_many_situations_are_counted_by_one_circuit(
    probability: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "dpasp.inference.sampling.situations.SAMPLING", replace(SAMPLING, border=-1)
    )
    made = Mock(wraps=counting_circuit)
    monkeypatch.setattr("dpasp.inference.sampling.situations.counting_circuit", made)
    for seed in range(16):
        program = generate(seed)
        if not program.credal:
            for logic in ("stable", "partial", "lstable", "smproblog"):
                check_worlds(asked_of(with_queries(program, logic), f"{logic}, {probability}"))
    for text in GUESSED.values():
        check_worlds(asked_of(text, f"stable, {probability}"))
    assert made.call_count > 30


def with_queries(program: Program, logic: str) -> str:
    """The text of a program with the queries that have a meaning under a semantics."""
    queries = [q for q in program.queries if logic != "stable" or not q.undefined]
    return "\n".join([str(program), *(f"#query {query}." for query in queries)])


def check_worlds(asked: Asked) -> None:
    """Compare the outcomes of worlds with those of their total choices, solved one by one."""
    reference = Outcomes(asked)
    places = {query: i for i, query in enumerate(asked.queries)}
    for queries in by_evidence(asked.queries):
        prepared = Prepared(asked, queries, push=False)
        stream = Stream(prepared, asked.weights, 5, UNLIMITED)
        selectors = [s for choice in asked.ground.choices for s in choice.selectors]
        outputs = [prepared.violated, prepared.evidence_atom, *prepared.both, *prepared.border]
        both = Worlds(prepared.definitions, prepared.size, [*outputs, *selectors])
        bits = both.draw(asked.weights, 5, 0, 1).bits[:, :32]
        found = outcomes(stream.known(bits[: len(outputs)]), asked.meaning, queries)
        sizes = [len(choice.selectors) for choice in asked.ground.choices]
        choices = spread(bits[len(outputs) :], sizes).T.tolist()
        for world, choice in enumerate(map(tuple, choices)):
            own = Masses.of(reference.of(choice))
            for i, query in enumerate(queries):
                at = places[query]
                if asked.meaning.maxent:
                    wanted = [(own.qe[at], own.e[at] - own.qe[at])]
                else:
                    wanted = [(own.a[at], own.d[at]), (own.b[at], own.c[at])]
                for one, (yes, no) in zip(found, wanted, strict=True):
                    assert one[:, i, world] == pytest.approx([yes, no], abs=1e-12)


def test_the_same_worlds_whoever_draws_them() -> None:
    asked = asked_of("0.3::a. 0.4::b; 0.2::c. d :- a, b. #query d.")
    worlds = Prepared(asked, asked.queries).worlds
    whole = worlds.draw(asked.weights, 7, 0, 5)
    parts = [worlds.draw(asked.weights, 7, first, 1) for first in range(5)]
    assert (np.concatenate([part.bits for part in parts], axis=1) == whole.bits).all()
    assert whole.bits.shape[1] == 5 * BLOCK
    assert (worlds.draw(asked.weights, 8, 0, 5).bits != whole.bits).any()


# --- evidence -----------------------------------------------------------------------------------

PUSHED = {
    "a fact": "0.001::x. 0.5::y. e :- x. #query y | e.",
    "a row of a table": (
        "0.2::p. 0.01::h :- p. 0.03::h :- not p. 0.5::q :- h. 0.1::q :- not h. #query p | h, q."
    ),
    "several causes": "0.1::x. 0.2::y. 0.02::h :- x. 0.03::h :- y. 0.01::h. #query x | h.",
    "a value of several": (
        "0.01::u; 0.3::v; 0.2::w. 0.4::h :- v. 0.1::h :- not v. #query v | not w, h."
    ),
    "none of the causes": "0.9::x. 0.8::h :- x. 0.3::h :- not x. #query x | not h.",
    "through rules": "0.1::x. 0.1::y. 0.5::z. b :- x, z. c :- b, y. #query z | c.",
}


@pytest.mark.parametrize("case", PUSHED)
def test_pushed_evidence_weighs_the_worlds_right(case: str) -> None:
    asked = asked_of(PUSHED[case], "stable, maxent")
    exact = dpasp.loads(PUSHED[case]).query(semantics="maxent", engine="enumerate")
    for queries in by_evidence(asked.queries):
        prepared = Prepared(asked, queries)
        assert prepared.worlds.pushes
        drawn = prepared.worlds.draw(asked.weights, 3, 0, 60)
        given, both = drawn.bits[1], drawn.bits[2]
        assert drawn.weights.max() <= prepared.most(asked.weights) * (1 + 1e-12)
        mass, own = drawn.weights * given, drawn.weights * both
        assert given.mean() > 0.3  # and not one in hundreds
        number = exact[queries[0].text].numbers[0]
        spread_ = (mass * (both - number)).std() / mass.mean() / math.sqrt(len(mass))
        assert own.sum() / mass.sum() == pytest.approx(number, abs=5 * spread_ + 1e-9)
        chance = probability(asked, asked.queries.index(queries[0]))
        error = 5 * mass.std() / math.sqrt(len(mass))
        assert mass.mean() == pytest.approx(chance, rel=1e-12, abs=error)


def probability(asked: Asked, place: int) -> float:
    """The probability of the evidence of a query, from all total choices."""
    sure = Outcomes(asked)
    sizes = [end - start for start, end in pairwise(sure.starts)]
    return sum(
        probability_of(choice, asked.weights, sure.starts)
        * float(Masses.of(sure.of(choice)).e[place])
        for choice in np.ndindex(*sizes)
    )


def test_evidence_of_a_millionth_needs_few_samples() -> None:
    text = "0.001::x. 0.001::y. 0.3::z. e :- x, y. #query z | e."
    (answer,) = dpasp.loads(text).query(engine="sample", n=1000, seed=1)
    assert isinstance(answer, dpasp.Answer)
    assert answer.interval is not None
    assert answer.interval[0] < 0.3 < answer.interval[1]
    assert float(answer.interval[1]) - float(answer.interval[0]) < 0.07


@pytest.mark.parametrize(
    "text", ["0.3::a. a :- b. b :- a, c. 0.1::c. #query c | b.", "e. #query e | e."]
)
def test_evidence_that_cannot_be_pushed_is_still_checked(text: str) -> None:
    program = dpasp.loads(text)
    (exact,) = program.query(engine="enumerate")
    (found,) = program.query(engine="sample", n=5000, seed=2)
    assert found.numbers == pytest.approx(exact.numbers, abs=0.03)


# --- intervals of probabilities -----------------------------------------------------------------


@pytest.mark.parametrize("first", [0, 30])
def test_intervals_of_probabilities_are_held_from_outside(first: int) -> None:
    tried = 0
    for seed in range(first, first + 30):
        program = generate(seed)
        for logic in LOGICS:
            if not program.credal or (logic == "wellfounded" and program.disjunctive):
                continue
            text = with_queries(program, logic)
            try:
                exact = dpasp.loads(text).query(semantics=logic, engine="enumerate")
            except dpasp.InferenceError:
                continue  # evidence that is impossible
            found = dpasp.loads(text).query(semantics=logic, engine="sample", n=400, seed=seed)
            for one, good in zip(found, exact, strict=True):
                tried += 1
                assert isinstance(one, dpasp.Answer)
                assert one.interval is not None
                # Ends that miss a true one by this much are no accident of 400 samples.
                assert one.interval[0] <= float(good.numbers[0]) + 0.05
                assert one.interval[1] >= float(good.numbers[-1]) - 0.05
    assert tried


# --- models -------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["circuit", "worlds"])
def test_models_are_drawn_given_the_evidence(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        "0.3::a; 0.5::b. 0.2::x :- a. 0.6::x :- b. {y} :- x. 0.1::z. w :- z, not x. "
        "#query a | x. #query y | x. #query z | x. #query b | y."
    )
    program = dpasp.loads(text)
    asked = asked_of(text)
    if way == "worlds":
        monkeypatch.setattr("dpasp.inference.sampling.draws.descent", lambda asked: None)
    else:
        assert descent(asked) is not None
    for evidence, atoms in (("x", "ayz"), ("y", "b")):
        models = program.sample(4000, given=evidence, seed=1)
        for atom in atoms:
            (exact,) = program.query(f"{atom} | {evidence}", semantics="maxent")
            share = sum(model[atom] is True for model in models) / len(models)
            assert share == pytest.approx(float(exact.numbers[0]), abs=0.04)


def test_models_under_evidence_of_a_millionth() -> None:
    text = "".join(f"0.05::x({i}). " for i in range(5)) + "e :- x(0), x(1), x(2), x(3), x(4)."
    models = dpasp.loads(text).sample(50, given="e", seed=1)
    assert all(all(model.values()) for model in models)


@pytest.mark.parametrize(("within", "a", "b"), [("lower", 0.6, 0.4), ("upper", 0.7, 0.3)])
def test_models_are_drawn_within_intervals(within: str, a: float, b: float) -> None:
    program = dpasp.loads("[0.2, 0.7]::a; [0.1, 0.4]::b. [0.3, 0.5]::c. d :- c.")
    for way, wanted in ((within, {"a": a, "b": b}), ("middle", {"c": 0.4, "d": 0.4})):
        models = program.sample(4000, seed=1, intervals=way)
        for atom, chance in wanted.items():
            share = sum(model[atom] is True for model in models) / len(models)
            assert share == pytest.approx(chance, abs=0.03)
    given = program.sample(50, given="a, not c", seed=1, intervals=within)
    assert all(model["a"] and not model["c"] for model in given)


def test_intervals_are_not_drawn_from_silently() -> None:
    program = dpasp.loads("[0.2, 0.7]::a. 0.3::b.")
    with pytest.raises(dpasp.ProgramError, match="this one is an interval") as caught:
        program.sample(3)
    assert 'intervals="middle"' in str(caught.value)
    with pytest.raises(dpasp.UsageError, match="lower, middle, upper"):
        program.sample(3, intervals="mean")
    assert len(dpasp.loads("0.3::b.").sample(3, intervals="lower")) == 3


def test_no_model_of_impossible_evidence() -> None:
    with pytest.raises(dpasp.ImpossibleEvidence):
        dpasp.loads("0.3::a. b :- not a.").sample(given="a, b", seed=1)


def test_models_of_many_independent_choices() -> None:
    text = "".join(f"0.5::x({i}). " for i in range(60)) + "#evidence x(1), not x(2)."
    asked = asked_of(text)
    way = descent(asked)
    assert way is not None
    drawn = np.array(way.draw(np.random.default_rng(1), 2000))
    assert layout(asked.ground.choices).total == 2**60
    assert (drawn[:, 1] == 0).all()
    assert (drawn[:, 2] == 1).all()
    assert drawn[:, 3:].mean() == pytest.approx(0.5, abs=0.01)
    assert len(sample_models(asked, 5, seed=1)) == 5
