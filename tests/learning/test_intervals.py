"""Learning beside intervals, against all their extreme distributions tried one by one."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import dpasp

TEXT = """
{t}?::a. {u}?::b; ?::c.
{x}::wet. {y}::cold. {z}
sick :- wet, a, not well. well :- a, not sick.
sick :- cold, b.
ok :- not sick, c.
ok :- z(1), a, not wet.
"""
ENDS = {"x": (0.2, 0.7), "y": (0.1, 0.9)}
SPLIT = ((0.1, 0.3), (0.2, 0.9))  # of an annotated disjunction: two vertices
OBJECTIVES = [("lower", None), ("upper", None), ("midpoint", None), ("hurwicz", 0.8)]
SEEN = [["sick"], ["ok", "not sick"], ["not ok", "cold"], ["well"]]


def with_intervals(t: float = 0.5, u: float = 0.4) -> str:
    first, second = SPLIT
    z = f"[{first[0]}, {first[1]}]::z(1); [{second[0]}, {second[1]}]::z(2)."
    ends = {name: f"[{low}, {high}]" for name, (low, high) in ENDS.items()}
    return TEXT.format(t=t, u=u, z=z, **ends)


def bounds(t: float, u: float, seen: list[str]) -> tuple[float, float]:
    """The lower and the upper P(O), from a program for every vertex."""
    lower, upper = 1.0, 0.0
    for x, y, z in product(*ENDS.values(), (0.1, 0.3)):
        numbers = {"t": t, "u": u, "x": x, "y": y, "z": f"{z}::z(1); {1 - z}::z(2)."}
        program = dpasp.loads(TEXT.format(**numbers))
        answer = program.query(", ".join(seen), engine="enumerate")[0]
        assert answer.lower is not None
        assert answer.upper is not None
        lower, upper = min(lower, answer.lower), max(upper, answer.upper)
    return lower, upper


def expected(share: float, t: float, u: float, seen: list[str]) -> float:
    lower, upper = bounds(t, u, seen)
    return share * lower + (1 - share) * upper


@pytest.mark.parametrize(("objective", "weight"), OBJECTIVES)
def test_the_probability_is_that_of_the_extremes(objective: str, weight: float | None) -> None:
    model = dpasp.loads(with_intervals()).module(objective=objective, weight=weight)
    share = model.objective.lower
    found = model.log_prob(SEEN).exp().tolist()
    assert found == pytest.approx([expected(share, 0.5, 0.4, seen) for seen in SEEN], abs=1e-12)


@pytest.mark.parametrize(("objective", "weight"), OBJECTIVES)
def test_the_gradient_is_that_at_the_extremes(objective: str, weight: float | None) -> None:
    model = dpasp.loads(with_intervals()).module(objective=objective, weight=weight)
    model.log_prob(SEEN).sum().backward()
    logits = model.probabilities.logits
    assert logits.grad is not None
    for place in range(len(logits)):
        step, values = 1e-6, []
        for sign in (1, -1):
            with torch.no_grad():
                logits[place] += sign * step
                values.append(float(model.log_prob(SEEN).sum()))
                logits[place] -= sign * step
        slope = (values[0] - values[1]) / (2 * step)
        assert float(logits.grad[place]) == pytest.approx(slope, abs=1e-7)


@pytest.mark.parametrize(("objective", "weight"), OBJECTIVES)
def test_what_is_learned_is_the_best_of_a_grid(objective: str, weight: float | None) -> None:
    text = "0.5?::a. [0.3, 0.8]::x. p :- a, x. p :- not a, not x. q :- a, not r. r :- a, not q."
    seen = [["p"]] * 3 + [["not p"]]
    seen += [["q"]] if objective != "lower" else []  # that of q is 0
    program = dpasp.loads(text)
    program.learn(seen, objective=objective, weight=weight, niters=400, lr=0.1, schedule="linear")

    def score(t: float) -> float:
        ends = [t * x + (1 - t) * (1 - x) for x in (0.3, 0.8)]
        bounds = {"p": (min(ends), max(ends)), "q": (0.0, t)}
        bounds["not p"] = (1 - max(ends), 1 - min(ends))
        share = {"lower": 1.0, "upper": 0.0, "midpoint": 0.5}.get(objective, weight or 0.0)
        pairs = [bounds[each[0]] for each in seen]
        return sum(math.log(share * low + (1 - share) * high) for low, high in pairs)

    grid = np.linspace(0.01, 0.99, 99).tolist()
    best = max(grid, key=score)
    learned = program.learned()[0]["values"][0]
    assert score(learned) >= score(best) - 5e-4, (learned, best)


def test_ties_are_shared() -> None:
    # Both ends of the interval are equally bad for 'p': the gradient is the mean of theirs.
    program = dpasp.loads("0.5?::a. [0.3, 0.7]::x. p :- a, x. p :- not a, not x.")
    model = program.module(objective="lower")
    found = model.log_prob([["p"]])
    found.sum().backward()
    grad = model.probabilities.logits.grad
    assert grad is not None
    assert found.exp().item() == pytest.approx(0.5)
    assert grad.tolist() == pytest.approx([0.0, 0.0], abs=1e-12)


def test_networks_learn_beside_intervals() -> None:
    generator = torch.Generator().manual_seed(3)
    truth = torch.rand(80, generator=generator) < 0.5
    rows = torch.stack([truth.double(), 1.0 - truth.double()], dim=1).float()
    torch.manual_seed(1)
    net = torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.Sigmoid())
    text = """
    row(0) ~ train(@rows), test(@rows).
    ?::on(X) as @net with lr = 0.1 :- row(X).
    [0.7, 0.9]::seen. light :- on(0), seen. light :- not on(0), not seen.
    """
    program = dpasp.loads(text, networks={"net": net}, data={"rows": rows})
    seen = [["light"] if one else ["not light"] for one in truth]
    history = program.learn(seen, objective="lower", niters=40, batch=20)
    assert history[-1].log_likelihood == pytest.approx(80 * math.log(0.7), rel=0.05)
    assert history[-1].log_likelihood > history[0].log_likelihood


@pytest.mark.parametrize(
    ("text", "options", "code"),
    [
        ("?::a. [0.1, 0.2]::b.", {"alg": "fixpoint", "objective": "lower"}, "learn-intervals"),
        ("n(1..13). ?::a. [0.1, 0.2]::b(X) :- n(X).", {}, "learn-intervals"),
        ("?::a. [0.0, 0.2]::b. a :- b.", {"weight": 0.3}, "option-value"),
        ("?::a. c :- a, not b. b :- a, not c.", {"objective": "lower"}, "observation-impossible"),
    ],
)
def test_what_is_refused(text: str, options: dict[str, Any], code: str) -> None:
    seen = [["c"]] if "c :-" in text else [["a"]]
    with pytest.raises(dpasp.Error) as caught:
        dpasp.loads(text).learn(seen, **options)
    assert caught.value.diagnostics[0].code == code
    assert caught.value.diagnostics[0].help


def test_fixpoint_of_the_upper_probability_never_falls() -> None:
    program = dpasp.loads(with_intervals())
    history = program.learn(SEEN, objective="upper", alg="fixpoint", niters=30)
    scores = [record.log_likelihood for record in history]
    assert all(b >= a - 1e-10 for a, b in pairwise(scores))


def test_the_example() -> None:
    program = dpasp.load(Path(__file__).parents[2] / "examples" / "alarm_learn.plp")
    program.learn()
    reliable, calls = (one["values"][0] for one in program.learned())
    assert calls == pytest.approx(0.6216, abs=0.01)
    nights = program.functions["nights"]()

    def score(t: float, c: float) -> float:
        def mean(of: Callable[[float], float]) -> float:
            return (of(0.8) + of(0.95)) / 2  # each P(O) is linear in the power

        chances = {
            ("rings", "called"): mean(lambda on: t * on * c),
            ("rings", "not called"): mean(lambda on: t * on * (1 - c)),
            ("not rings",): mean(lambda on: 1 - t * on),
            ("not called",): mean(lambda on: 1 - t * on * c),
        }
        return sum(math.log(chances[tuple(night)]) for night in nights)

    grid = [(t / 50, c / 50) for t in range(1, 50) for c in range(1, 50)]
    assert score(reliable, calls) >= max(score(*point) for point in grid)
