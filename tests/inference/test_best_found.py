"""``#map`` and ``#mpe`` at any time: the best that was found, and what none exceeds."""

from __future__ import annotations

import json

import numpy as np
import pytest

import dpasp
from dpasp.ground.program import GroundMap
from dpasp.inference.asked import Asked
from dpasp.inference.bounds.most_probable import best_found
from dpasp.inference.map.atoms import OPEN, best_first
from dpasp.limits import Limits, Watch
from tests.clocks import looks
from tests.inference.test_bounding import grid
from tests.inference.test_sampling import LOGICS, asked_of
from tests.oracle.generate import generate

ROUNDING = 1e-9


def late(asked: Asked) -> None:
    """An exact engine for which no time is enough."""
    raise asked.watch.out_of_time()


def check(text: str, semantics: str) -> int:
    """Compare what is found without a circuit with the exact answers; how many there were."""
    try:
        exact = dpasp.loads(text).query(semantics=semantics, engine="enumerate")
    except dpasp.InferenceError:
        return 0
    asked, checked = asked_of(text, semantics), 0
    for answer, question in zip(exact, asked.questions, strict=True):
        assert isinstance(answer, dpasp.MapAnswer)
        assert isinstance(question, GroundMap)
        found = best_found(asked, question, looks(100_000).start())
        assert found is not None
        checked += 1
        best = answer.upper if answer.value is None else answer.value
        own = found.upper if found.value is None else found.value
        assert best is not None
        assert own is not None
        assert found.most is not None
        assert own - ROUNDING <= best <= found.most + ROUNDING
        if answer.lower is not None:
            assert found.lower is not None
            assert found.lower_most is not None
            assert found.lower - ROUNDING <= answer.lower <= found.lower_most + ROUNDING
    return checked


@pytest.mark.parametrize("logic", LOGICS)
def test_random_programs(logic: str) -> None:
    checked = 0
    for seed in range(8):
        program = generate(seed)
        if program.credal or (logic == "wellfounded" and program.disjunctive):
            continue
        evidence = [q for q in program.queries if logic != "stable" or not q.undefined][:1]
        said = " | " + str(evidence[0]).partition("|")[0].strip() if evidence else ""
        text = f"{program}\n#mpe{said}.\n#mpe.\n"
        for probability in ("credal", "maxent"):
            checked += check(text, f"{logic}, {probability}")
    assert checked > 4


def test_values_of_atoms_are_bounded_like_queries() -> None:
    text = """
    0.3::x. 0.6::y. 0.2::z. a :- x, y. b :- y, not z. c :- x. c :- z.
    #map a?, b? | c. #map b?. #map a?, c? | b."""
    for probability in ("credal", "maxent"):
        assert check(text, f"stable, {probability}") == 3


def test_auto_gives_the_best_total_choice_where_nothing_compiles(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chances = [0.1 + 0.013 * i for i in range(24)]
    text = "".join(f"{chance}::x({i}). " for i, chance in enumerate(chances))
    text += "e :- 3 { x(I) }. #mpe | e. #query x(23) | e."
    program = dpasp.loads(text)
    exact = program.query(semantics="maxent")
    monkeypatch.setattr("dpasp.inference.exact.compiled", late)
    answers = program.query(semantics="maxent", limits=looks(30_000, seconds=10), seed=1)
    best, query = answers
    assert isinstance(best, dpasp.MapAnswer)
    assert isinstance(query, dpasp.Answer)
    assert isinstance(exact[0], dpasp.MapAnswer)
    assert best.assignment in (exact[0].assignment, *exact[0].ties)
    assert best.value is not None
    assert best.most is not None
    assert exact[0].value is not None
    assert best.value <= exact[0].value + ROUNDING <= best.most + 2 * ROUNDING
    assert best.gap == best.most - best.value
    assert not best.exact
    assert "no other has more than" in str(best)
    assert str(best).startswith("max ℙ(mpe | e) ≥ ")
    assert str(exact[0]).startswith("max ℙ(mpe | e) = ")
    assert best.interval == (best.value, best.most)
    assert exact[0].interval is None
    record = json.loads(answers.to_json())["answers"][0]
    assert record["exact"] is False
    assert record["most"] == best.most
    assert record["interval"] == [best.value, best.most]
    assert "lower bounds of their probabilities" in answers.warnings[0].message
    assert {warning.code for warning in answers.warnings} == {"not-exact"}


def test_insisting_on_exact_values_fails_at_the_limit() -> None:
    with pytest.raises(dpasp.TimeLimit):
        dpasp.loads(grid(12)).map("| r((11,11))", limits=looks(10_000), exact=True)


class Late(Watch):
    """A watch that is over after so many looks at it."""

    def __init__(self, looks: int) -> None:
        super().__init__(Limits(seconds=1000))
        self.looks = looks

    def check(self) -> None:
        self.looks -= 1
        if self.looks < 0:
            raise self.out_of_time()


@pytest.mark.parametrize("looks", [9, 11, 12, 100_000])
def test_a_search_that_is_stopped_knows_what_none_exceeds(looks: int) -> None:
    generator = np.random.default_rng(4)
    chances = generator.uniform(0.3, 0.7, size=12)
    table = {}
    for number in range(2**12):
        bits = [number >> i & 1 for i in range(12)]
        table[tuple(bits)] = float(np.prod(np.where(bits, chances, 1 - chances)))

    def bounds(boxes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        each = np.where(
            boxes == OPEN, 0.8, np.where(boxes == 1, chances[:, None], 1 - chances[:, None])
        )
        return each.prod(axis=0), np.ones(boxes.shape[1], dtype=np.bool_)

    values = [range(2)] * 12
    best = best_first(values, bounds, Late(looks), at_any_time=True)
    truth = max(table.values())
    assert table[tuple(best.assignments[0].tolist())] == pytest.approx(best.value)
    if looks < 100_000:
        assert best.most is not None
        assert best.value <= truth + ROUNDING <= best.most + 2 * ROUNDING
        with pytest.raises(dpasp.TimeLimit):
            best_first(values, bounds, Late(looks))
    else:
        assert best.most is None
        assert best.value == pytest.approx(truth)


def test_many_ties_do_not_hide_what_is_better() -> None:
    """One of 2,048 assignments has 0.5, all others 0.1; of those 1,500 were tried before."""

    def bounds(boxes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        best = np.all((boxes == 1) | (boxes == OPEN), axis=0)
        return np.where(best, 0.5, 0.1), np.ones(boxes.shape[1], dtype=np.bool_)

    rows = np.array([[number >> bit & 1 for bit in range(11)] for number in range(1_500)])
    watch = looks(100_000).start()
    found = best_first([range(2)] * 11, bounds, watch, at_any_time=True, tried=rows)
    assert (found.value, found.assignments.tolist()) == (0.5, [[1] * 11])


def test_a_partial_model_that_is_not_least_undefined_says_nothing() -> None:
    """Without y there are models that leave nothing undefined, and so a is defined in all."""
    text = """0.4::y. a :- not b, not y. b :- not a, not y. a :- y, not a. #mpe | undef a."""
    asked = asked_of(text, "lstable, credal")
    (question,) = asked.questions
    assert isinstance(question, GroundMap)
    found = best_found(asked, question, looks(100_000).start())
    assert found is not None
    assert found.most is not None
    if not found.assignment["y"]:
        assert found.upper == found.lower == 0.0
    assert check(text, "lstable, credal") == 1


def test_values_where_a_total_choice_without_stable_models_has_a_model() -> None:
    text = "0.4::y. 0.7::x. a :- not a, y. b :- x. #map a?, b?. #mpe. #map b? | undef a. #mpe | b."
    for probability in ("credal", "maxent"):
        assert check(text, f"smproblog, {probability}") == 4


def test_auto_answers_map_questions_at_a_limit_under_smproblog(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dpasp.inference.exact.compiled", late)
    program = dpasp.loads("0.4::y. 0.7::x. a :- not a, y. b :- x. #map a?, b?.")
    (answer,) = program.query(semantics="smproblog, maxent", limits=looks(30_000))
    assert isinstance(answer, dpasp.MapAnswer)
    assert answer.most is not None
    assert answer.value is not None
    assert answer.most >= 0.42 - ROUNDING
