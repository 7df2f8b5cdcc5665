"""What observations leave open, against all assignments tried one by one."""

from __future__ import annotations

import importlib.util
import math
from itertools import combinations, product
from pathlib import Path

import pytest
import torch

import dpasp
from dpasp.learning.optimisers import MeanEntropy
from dpasp.learning.shortcuts import IndistinctPair, Settled, Shortcuts, ShortcutWarning

VALUES = range(4)
TEXT = """
row(0..1) ~ train(@rows), test(@rows).
?::d(X, {0..3}) as @net with logits :- row(X).
y(Z) :- d(0,A), d(1,B), Z = FUNCTION. #semantics maxent.
"""
FUNCTIONS = {
    "A + B": lambda a, b: a + b,
    "(A + B) \\ 2": lambda a, b: (a + b) % 2,
    "A * B": lambda a, b: a * b,
    "A": lambda a, b: a,
    "|A - B|": lambda a, b: abs(a - b),
}


def program(function: str, rows: int = 6) -> dpasp.Program:
    return dpasp.loads(
        TEXT.replace("FUNCTION", function),
        networks={"net": lambda: torch.nn.Linear(4, 4)},
        data={"rows": torch.eye(4)[torch.randint(0, 4, (rows, 2))]},
    )


@pytest.mark.parametrize("labels", [None, (0, 1)])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_values_that_are_never_told_apart(function: str, labels: tuple[int, ...] | None) -> None:
    of = FUNCTIONS[function]
    seen = labels or sorted({of(a, b) for a, b in product(VALUES, VALUES)})
    fits = {y: {(a, b) for a, b in product(VALUES, VALUES) if of(a, b) == y} for y in seen}

    def alike(i: int, j: int) -> bool:
        swap = {i: j, j: i}
        moved = {y: {(swap.get(a, a), swap.get(b, b)) for a, b in own} for y, own in fits.items()}
        return moved == fits

    expected = {(f"d(0,{i})", f"d(0,{j})") for i, j in combinations(VALUES, 2) if alike(i, j)}
    found = program(function).shortcuts([[f"y({y})"] for y in seen])
    assert {(pair.first, pair.second) for pair in found.alike} == expected


@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_an_observation_leaves(function: str) -> None:
    of = FUNCTIONS[function]
    seen = [of(a, b) for a, b in product(VALUES, VALUES)]
    found = program(function).shortcuts([[f"y({y})"] for y in seen])
    determined = 0
    told = {(one.observation, name[:3]): one for one in found.settled for name in one.possible}
    for y, row in product(sorted(set(seen)), (0, 1)):
        possible = {ab[row] for ab in product(VALUES, VALUES) if of(*ab) == y}
        one = told[f"y({y})", f"d({row}"]
        assert set(one.possible) == {f"d({row},{v})" for v in possible}
        assert one.examples == seen.count(y)
        determined += seen.count(y) * (len(possible) == 1)
    assert found.determined == pytest.approx(determined / (2 * len(seen)))


def test_it_is_told_before_learning() -> None:
    with pytest.warns(ShortcutWarning, match=r"never tell d\(0,0\) from d\(0,2\)") as told:
        program("(A + B) \\ 2").learn([["y(0)"]] * 6, niters=1)
    assert told[0].filename == __file__


@pytest.mark.parametrize(("function", "rest"), [("A / 3", False), ("0 * (A + B)", True)])
def test_the_first_pairs_are_named_and_the_others_counted(function: str, rest: bool) -> None:
    """0, 1 and 2 are three pairs, which are all named; all four values are six."""
    one = program(function)
    with pytest.warns(ShortcutWarning) as told:
        one.learn([["y(0)"]] * 6, niters=1)
    assert ("(and 3 more pairs)" in str(told[0].message)) == rest
    assert ("more pairs" in str(told[0].message)) == rest
    assert len(one.shortcuts([["y(0)"]]).alike) == (6 if rest else 3)


@pytest.mark.parametrize("more", [0, 1])
def test_a_report_prints_twelve_of_each_kind(more: int) -> None:
    pairs = tuple(IndistinctPair(f"a{i}", f"b{i}") for i in range(12 + more))
    settled = tuple(Settled(f"o{i}", 2, ("x",), ("y",)) for i in range(12 + more))
    lines = str(Shortcuts(pairs, settled)).splitlines()
    assert [line for line in lines if "more" in line] == [
        "… and 1 more pair",
        "… and 1 more",
    ] * more
    assert len(lines) == 25 + 2 * more


def test_a_fact_and_its_contrary() -> None:
    text = "row(0..1) ~ train(@r). ?::e(X) as @net :- row(X). "
    text += "s :- e(0), e(1). s :- not e(0), not e(1)."
    net = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.Sigmoid())
    given = dpasp.loads(text, networks={"net": net}, data={"r": torch.zeros(1, 2, 1)})
    assert list(map(str, given.shortcuts([["s"], ["not s"]]).alike)) == ["e(0) from not e(0)"]
    assert "never tell e(0) from not e(0)" in str(given.shortcuts([["s"]]))
    assert given.shortcuts([["e(0)"], ["not e(0)", "s"]]).alike == ()


def test_the_entropy_of_the_mean() -> None:
    ground = program("A + B").module().ground
    weights = torch.rand(8, 5, dtype=torch.float64, requires_grad=True)
    shares = weights.detach().reshape(2, 4, 5).permute(0, 2, 1).reshape(10, 4).mean(0)
    found = MeanEntropy(ground, torch.device("cpu"))(weights)
    assert float(found.detach()) == pytest.approx(float(-(shares * shares.log()).sum()))
    assert torch.autograd.gradcheck(MeanEntropy(ground, torch.device("cpu")), weights)


@pytest.mark.filterwarnings("ignore:the observations never tell")
def test_entropy_keeps_all_values_in_use() -> None:
    torch.manual_seed(0)
    spread = []
    for entropy in (0.0, 5.0):
        one = program("(A + B) \\ 2", rows=40)
        one.learn([["y(0)"]] * 40, niters=15, lr=0.05, entropy=entropy)
        mean = one.module().value("d(0,V)", {"row": torch.eye(4)[:, None].expand(4, 2, 4)}).mean(0)
        spread.append(float(-(mean * mean.log()).sum().detach()))
    assert spread[1] > spread[0]
    assert spread[1] > 0.9 * math.log(4)


@pytest.mark.filterwarnings("ignore:the observations never tell")
def test_an_ensemble_differs_where_nothing_is_known() -> None:
    torch.manual_seed(1)
    found = program("A * B").ensemble(3, [["y(0)"], ["y(1)"]] * 3, niters=2, lr=0.05)
    assert len(found) == 3
    data = {"row": torch.eye(4)[:, None].expand(4, 2, 4)}
    alone = torch.stack([member.value("d(0,V)", data).detach() for member in found.members])
    bounds = found.bounds("d(0,V)", data)
    assert torch.equal(bounds.lower, alone.amin(0))
    assert torch.equal(bounds.upper, alone.amax(0))
    assert torch.allclose(found.mean("d(0,V)", data), alone.mean(0))
    assert float((bounds.upper - bounds.lower).max()) > 0.05


@pytest.mark.filterwarnings("ignore:the observations never tell")
def test_the_likeliest_start_learns_on() -> None:
    observations = [["y(0)"], ["y(1)"]] * 3
    found = program("A * B").ensemble(3, observations, niters=2, lr=0.05, seed=5)
    best = max(found.log_likelihoods)
    assert found.best is found.learners[found.log_likelihoods.index(best)]
    assert len(set(found.log_likelihoods)) == 3
    assert found.best.learn(observations, niters=3, lr=0.05)[-1].log_likelihood > best


def test_an_ensemble_needs_networks_of_its_own() -> None:
    one = dpasp.loads(
        TEXT.replace("FUNCTION", "A"),
        networks={"net": torch.nn.Linear(4, 4)},
        data={"rows": torch.zeros(1, 2, 4)},
    )
    with pytest.raises(dpasp.UsageError, match="would share the network net"):
        one.ensemble(2, [["y(0)"]])
    with pytest.raises(dpasp.UsageError, match="number of members"):
        program("A").ensemble(0)


@pytest.mark.skipif(importlib.util.find_spec("sklearn") is None, reason="needs scikit-learn")
def test_the_example() -> None:
    half = dpasp.load(Path(__file__).parents[2] / "examples" / "half_learn.plp")
    told = half.shortcuts()
    assert told.determined == pytest.approx(0.25)  # 0 + 0 alone
    assert told.alike == ()
    half.learn()
    assert half.accuracy("sum(X)", half.functions["observed"]()["test"]) > 0.85
    found = half.module().value("digit(0,D)", {"image": half.functions["test"]()})
    assert float((found.argmax(1)[:2] == 0).double().mean()) == 1.0
