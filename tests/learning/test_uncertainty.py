"""Learned intervals and standard errors, against counting, enumeration and simulation."""

from __future__ import annotations

import copy
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpasp

HIDDEN = "?::a. 0.3?::b. w :- a. w :- b. #query w."


def fitted(text: str, seen: list[Any], **options: Any) -> dpasp.Program:
    program = dpasp.loads(text)
    program.learn(seen, **options)
    return program


def test_the_interval_holds_the_mean_of_every_prior() -> None:
    counts, strength = np.array([5, 0, 2]), 1.5
    seen = [["red"]] * 5 + [["blue"]] * 2
    program = fitted("?::red; ?::green; ?::blue.", seen, imprecise=strength)
    (record,) = program.learned()
    random = np.random.default_rng(0)
    shares = np.concatenate([random.dirichlet(np.ones(3) / 2, 2000), np.eye(3)])
    means = (counts + strength * shares) / (7 + strength)
    assert record["lower"] == pytest.approx(means.min(0).tolist(), abs=1e-9)  # by np.eye
    assert record["upper"] == pytest.approx(means.max(0).tolist(), abs=1e-9)
    assert program.query("green")[0].upper == pytest.approx(1.5 / 8.5)


@pytest.mark.parametrize(("theta", "size"), [(0.5, 1), (0.2, 4), (0.3, 12)])
def test_coverage_is_that_of_counting(theta: float, size: int) -> None:
    """How often the interval holds the true probability: simulated, and by the binomial."""
    strength, runs = 2.0, 40
    random = np.random.default_rng(size)
    hits = 0
    for _ in range(runs):
        program = dpasp.loads("?::a.")
        flips = random.random(size) < theta
        program.learn(
            [["a"] if flip else ["not a"] for flip in flips], imprecise=strength, niters=1
        )
        (record,) = program.learned()
        hits += record["lower"][0] <= theta <= record["upper"][0]
    expected = sum(
        math.comb(size, n) * theta**n * (1 - theta) ** (size - n)
        for n in range(size + 1)
        if n / (size + strength) <= theta <= (n + strength) / (size + strength)
    )
    spread = math.sqrt(max(expected * (1 - expected), 1e-4) / runs)
    assert hits / runs == pytest.approx(expected, abs=4 * spread + 1e-9)


def test_hidden_choices_count_as_expected() -> None:
    seen = [["w"]] * 6 + [["not w"]] * 2
    program = fitted(HIDDEN, seen, imprecise=1.0, niters=5)
    a, b = (record["values"][0] for record in program.learned())
    either = 1 - (1 - a) * (1 - b)
    for record, p in zip(program.learned(), (a, b), strict=True):
        count = 6 * p / either  # P(a | w), and never without w
        assert record["lower"] == pytest.approx([count / 9])
        assert record["upper"] == pytest.approx([(count + 1) / 9])


def test_what_tells_nothing_does_not_count() -> None:
    text = "?::a. ?::b. ?::c :- a."
    seen = [["a", "c"]] * 3 + [["not a"]] * 5  # of c only three tell anything, of b none
    records = fitted(text, seen, imprecise=2.0).learned()
    assert [r["lower"][0] for r in records] == pytest.approx([3 / 10, 0, 3 / 5])
    assert [r["upper"][0] for r in records] == pytest.approx([5 / 10, 1, 1])


def test_many_observations_count_the_same() -> None:
    """Both ways to evaluate observations agree, also where choices do not matter."""
    text = "n(1..7). ?(X)::a(X) :- n(X)."
    random = np.random.default_rng(5)
    rows = [
        {f"a({i})": bool(random.random() < 0.4) for i in range(1, 8) if random.random() < 0.8}
        for _ in range(150)
    ]
    records = fitted(text, rows, imprecise=2.0).learned()
    for i, record in enumerate(records, 1):
        told = [row[f"a({i})"] for row in rows if f"a({i})" in row]
        assert record["lower"] == pytest.approx([sum(told) / (len(told) + 2)])
        assert record["upper"] == pytest.approx([(sum(told) + 2) / (len(told) + 2)])


def test_answers_are_intervals_by_the_circuit(tmp_path: Path) -> None:
    text = "?::a. ?::b. c :- a, not b. #query c. #query a | c."
    seen = [["a", "b"], ["a", "not b"], ["a", "not b"], ["not a", "not b"]]
    program = fitted(text, seen, imprecise=1.0)
    low_a, high_a, low_b, high_b = 3 / 5, 4 / 5, 1 / 5, 2 / 5
    answer = program.query()[0]
    assert (answer.lower, answer.upper) == pytest.approx(
        (low_a * (1 - high_b), high_a * (1 - low_b))
    )
    assert str(dpasp.loads(program.learned_program()).query()) == str(program.query())
    with pytest.raises(dpasp.UsageError, match="no meaning under maxent"):
        program.query("a", semantics="maxent")
    program.save(tmp_path / "f.safetensors")
    other = dpasp.loads(text)
    other.restore(tmp_path / "f.safetensors")
    assert str(other.query()) == str(program.query())
    program.learn(seen)
    assert program.query("a")[0].upper == pytest.approx(0.75)


WELL = "?::well. ?::ill; ?::fine. out :- well, fine. #query out."
PATIENTS = [["well", "fine"]] * 3 + [["not well", "ill"]]


def bounds_of(model: Any) -> list[float]:
    found = model.bounds("out")
    return [found.lower.item(), found.upper.item()]


def test_the_module_answers_with_learned_intervals() -> None:
    program = dpasp.loads(WELL)
    before = program.module()
    assert bounds_of(before) == [0.25, 0.25]
    program.learn(PATIENTS, imprecise=2.0)
    expected = [program.query()[0].lower, program.query()[0].upper]
    assert expected == pytest.approx([0.25, 25 / 36])
    copies = [copy.deepcopy(program), pickle.loads(pickle.dumps(program))]
    for learned in [program, *copies]:
        assert bounds_of(learned.module()) == pytest.approx(expected)
        assert bounds_of(learned.module(objective="lower")) == pytest.approx(expected)
        assert [learned.query()[0].lower, learned.query()[0].upper] == pytest.approx(expected)
        assert learned.module(objective="lower").log_prob(["out"]).exp().item() == pytest.approx(
            expected[0]
        )
        assert learned.learned_program() == program.learned_program()
    assert bounds_of(before) == pytest.approx(expected)
    assert bounds_of(copy.deepcopy(before)) == pytest.approx(expected)
    assert bounds_of(pickle.loads(pickle.dumps(program.module()))) == pytest.approx(expected)
    program.learn(PATIENTS)
    assert bounds_of(before) == pytest.approx([9 / 16, 9 / 16])


def test_learned_intervals_are_refused_under_maxent() -> None:
    program = dpasp.loads(WELL)
    point = program.module("maxent")
    program.learn(PATIENTS, semantics="credal", imprecise=2.0)
    before = program.query()
    for ask in (
        lambda: program.module("maxent"),
        lambda: program.query(semantics="maxent"),
        lambda: point.prob("out"),
        lambda: point.log_prob(["out"]),
        lambda: next(iter(program.models(semantics="maxent"))),
    ):
        with pytest.raises(dpasp.UsageError, match="no meaning under maxent"):
            ask()
    assert str(program.query()) == str(before)
    program.learn(PATIENTS, semantics="maxent")  # without intervals
    assert point.value("out").item() == pytest.approx(9 / 16)


def test_an_ensemble_has_learned_intervals() -> None:
    program = dpasp.loads(WELL)
    expected = pytest.approx([0.25, 25 / 36])
    for cluster in (None, 1):
        members = program.ensemble(2, PATIENTS, imprecise=2.0, cluster=cluster)
        assert bounds_of(members) == expected
        assert [members.best.query()[0].lower, members.best.query()[0].upper] == expected


def test_intervals_are_restored_by_rule(tmp_path: Path) -> None:
    file = tmp_path / "learned.safetensors"
    fitted("?::a. ?::b.", [["a", "b"], ["a", "not b"]], imprecise=1.0).save(file)
    other = dpasp.loads("?::b. ?::c.")
    other.restore(file, rules={"?::c.": "?::a."})
    records = [(record["lower"], record["upper"]) for record in other.learned()]
    assert records == [([1 / 3], [2 / 3]), ([2 / 3], [1.0])]


def test_too_many_learned_intervals_for_a_module() -> None:
    text = "n(1..13). ?::a(X) :- n(X). b :- a(X). #query b."
    program = fitted(text, [["a(1)"], ["not a(2)"]], imprecise=1.0)
    with pytest.raises(dpasp.SizeLimit, match="extreme distributions"):
        program.module().prob("b")


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("?::a. #semantics maxent.", {"imprecise": 1.0}),
        ("0.3?::a; 0.3?::b.", {"imprecise": 1.0}),
        ("?::a.", {"imprecise": 0.0}),
    ],
)
def test_what_is_refused(text: str, options: dict[str, Any]) -> None:
    with pytest.raises(dpasp.Error, match=r"imprecise|interval|maxent"):
        dpasp.loads(text).learn([["a"]], **options)


# --- standard errors --------------------------------------------------------------------------


def test_errors_of_what_is_seen() -> None:
    records = fitted(
        "?::a. ?::r; ?::g; ?::b.", [["a", "r"]] * 3 + [["not a", "g"], ["b"]]
    ).learned()
    assert records[0]["errors"] == pytest.approx([math.sqrt(0.75 * 0.25 / 4)], rel=1e-5)
    shares = np.array([0.6, 0.2, 0.2])
    assert records[1]["errors"] == pytest.approx(np.sqrt(shares * (1 - shares) / 5), rel=1e-5)


def test_errors_of_what_is_hidden() -> None:
    program = fitted("?::a. 0.5::b. w :- a, b.", [["w"]] * 3 + [["not w"]] * 7, niters=500)
    # P(w) = a/2 is known to sqrt(0.3 · 0.7 / 10), and a is twice as uncertain.
    assert program.learned()[0]["values"] == pytest.approx([0.6], abs=1e-6)
    assert program.learned()[0]["errors"] == pytest.approx([2 * math.sqrt(0.021)], rel=1e-4)


def test_what_is_not_determined_has_no_error() -> None:
    records = fitted("?::a. ?::b. ?::c. w :- a, b.", [["w", "c"], ["not w"], ["c"]]).learned()
    assert [record["errors"] for record in records] == [[None], [None], [None]]


def test_where_there_is_no_error_a_reason_is_told() -> None:
    edge, open_ = "it is at an edge, 0 or 1", "the observations do not determine it"
    seen = [["c"]] * 20 + [["not c"]] * 80
    for niters in (8, None):  # on its way to 0 (0.0045), or there
        program = dpasp.loads("?::a. 0.3::b. c :- a. c :- b.")
        program.learn(seen, niters=niters)
        [record] = program.learned()
        assert (record["errors"], record["error_reasons"]) == ([None], [edge])
    two = dpasp.loads("?::a. ?::b. c :- a, b.")
    two.learn(seen)
    assert [record["error_reasons"] for record in two.learned()] == [[open_], [open_]]
    three = dpasp.loads("?::r; 0.2::g; ?::b; ?::w.")
    three.learn([["r"]] * 20 + [["g"]] * 80 + [["b"]] * 10)
    [record] = three.learned()
    assert record["errors"][0] == pytest.approx(0.8 * math.sqrt(2 / 9 / 30), rel=1e-4)
    assert record["error_reasons"] == [None, "it is not learned", None, edge]


def test_far_from_the_maximum_there_is_no_error() -> None:
    program = dpasp.loads("0.9?::a. 0.5::s. w :- a, s.")
    program.learn([["w"]] * 200 + [["not w"]] * 800, niters=1)
    [record] = program.learned()
    assert record["error_reasons"] == ["what was learned is not at a maximum of the likelihood"]
    program.learn([["w"]] * 200 + [["not w"]] * 800)
    assert "error_reasons" not in program.learned()[0]


def test_errors_are_the_spread_of_what_is_learned() -> None:
    random = np.random.default_rng(2)
    found, told = [], []
    for _ in range(30):
        program = dpasp.loads("?::a. 0.8::s. 0.1::n. w :- a, s. w :- n.")
        rain, shown, noise = random.random((3, 200)) < np.array([[0.4], [0.8], [0.1]])
        seen = (rain & shown) | noise
        program.learn([["w"]] * int(seen.sum()) + [["not w"]] * int((~seen).sum()), niters=30)
        (record,) = program.learned()
        found.append(record["values"][0])
        told.append(record["errors"][0])
    assert np.std(found) == pytest.approx(np.mean(told), rel=0.4)


def test_errors_go_with_what_was_learned_only() -> None:
    program = dpasp.loads("?::a.")
    assert "errors" not in program.learned()[0]
    program.learn([["a"], ["not a"]])
    assert "errors" in program.learned()[0]
    assert program.query("a").to_dict()["learned"][0]["errors"] == pytest.approx(
        [0.353553], rel=1e-4
    )


def test_the_example() -> None:
    program = dpasp.load(Path(__file__).parents[2] / "examples" / "trial_learn.plp")
    program.learn()
    old, new = program.query()[:2]
    assert old.lower is not None
    assert old.upper is not None
    assert new.lower is not None
    assert new.upper is not None
    assert new.upper - new.lower > 2 * (old.upper - old.lower)  # fewer patients, less is known
    assert str(dpasp.loads(program.learned_program(), python=True).query()) == str(program.query())


@pytest.mark.parametrize("count", [16, 17])
def test_errors_of_up_to_sixteen_probabilities_are_told(count: int) -> None:
    program = dpasp.loads("".join(f"?::a({i}). " for i in range(count)))
    every = [f"a({i})" for i in range(count)]
    program.learn([every] * 3 + [[f"not {atom}" for atom in every]], niters=2)
    assert ("errors" in program.learned()[0]) == (count == 16)


def test_what_is_on_its_way_to_an_edge_is_not_at_one() -> None:
    seen = ["b"] * 95 + ["not b"] * 5
    program = dpasp.loads("?::a. b :- a.")
    program.learn(seen, alg="lagrange", lr=0.01, niters=5)
    (rule,) = program.learned()
    assert 0.4 < rule["values"][0] < 0.6
    assert rule["error_reasons"] == ["what was learned is not at a maximum of the likelihood"]
    program.learn(["b"] * 30)
    assert program.learned()[0]["error_reasons"] == ["it is at an edge, 0 or 1"]
