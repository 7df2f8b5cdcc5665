"""Learned factors, and factors by a network: gradients and likelihoods by the definition."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import pytest
import torch

import dpasp

EXAMPLES = Path(__file__).parents[2] / "examples"
PAIR = "{a; b}. #factor ? : a, b. #factor 2? : a."
CHAIN = """
time(0..2).
1 {tag(T,0..1)} 1 :- time(T).
word(T) :- time(T).
#factor @net : word(T), tag(T,{0,1}).
#factor 3? : tag(T,K), tag(T+1,K).
"""


def test_the_likelihood_and_its_gradient_are_those_of_a_log_linear_model() -> None:
    model = dpasp.loads(PAIR).module()
    logits = model.probabilities.logits
    found = model.log_prob(["a, b"], {})
    worlds = {(x, y): 2.0**x for x in (0, 1) for y in (0, 1)}
    total = sum(worlds.values())
    assert found.item() == pytest.approx(math.log(worlds[1, 1] / total))
    found.sum().backward()
    assert logits.grad is not None
    # By λ it is what was seen less what was expected.
    wanted = [1 - worlds[1, 1] / total, 1 - (worlds[1, 0] + worlds[1, 1]) / total]
    seen = logits.grad.reshape(2, 2)
    assert seen[:, 0].tolist() == pytest.approx(wanted)
    assert seen[:, 1].tolist() == pytest.approx([-slope for slope in wanted])


def test_what_is_learned_meets_the_frequencies() -> None:
    program = dpasp.loads(PAIR)
    rows = ["a, b"] * 6 + ["a, not b"] * 2 + ["not a, b"] * 3 + ["not a, not b"] * 3
    program.learn(rows)
    both, first = (record["values"][0] for record in program.learned())
    # Worlds without a weigh the same, so b is 1/2 there: 3 of 6.
    assert both == pytest.approx(6 / 2, rel=1e-2)
    assert first == pytest.approx(2 / 3, rel=1e-2)
    assert [float(n.value) for n in program.query("a", "a, b")] == pytest.approx(
        [8 / 14, 6 / 14], abs=1e-3
    )
    learned = dpasp.loads(program.learned_program())
    assert float(learned.query("a, b")[0].value) == pytest.approx(6 / 14, abs=1e-3)


def test_expectation_maximisation_is_refused() -> None:
    with pytest.raises(dpasp.DataError) as caught:
        dpasp.loads(PAIR).learn(["a"], alg="em")
    assert [problem.code for problem in caught.value.diagnostics] == ["learn-factor"]


def chain_likelihood(potentials: torch.Tensor, same: float, tags: tuple[int, ...]) -> torch.Tensor:
    """The log-likelihood of a chain by adding up all its taggings."""

    def score(world: tuple[int, ...]) -> torch.Tensor:
        runs = sum(math.log(same) for t in range(2) if world[t] == world[t + 1])
        return sum((potentials[t, k] for t, k in enumerate(world)), torch.zeros(())) + runs

    worlds = list(itertools.product((0, 1), repeat=3))
    return score(tags) - torch.stack([score(world) for world in worlds]).logsumexp(0)


def test_a_network_gives_the_logarithms_of_factors() -> None:
    torch.manual_seed(0)
    network = torch.nn.Linear(2, 2).double()
    model = dpasp.loads(CHAIN, networks={"net": network}).module()
    sounds = 3 * torch.randn(4, 3, 2, dtype=torch.float64)
    labels = [(0, 0, 1), (1, 1, 1), (0, 1, 0), (1, 0, 0)]
    texts = [", ".join(f"tag({t},{k})" for t, k in enumerate(row)) for row in labels]
    data = {f"word({t})": sounds[:, t] for t in range(3)}
    found = model.log_prob(texts, data)
    wanted = torch.stack(
        [chain_likelihood(network(x), 3.0, row) for x, row in zip(sounds, labels, strict=True)]
    )
    assert found.tolist() == pytest.approx(wanted.tolist())
    (slope,) = torch.autograd.grad(found.sum(), network.weight)
    (expected,) = torch.autograd.grad(wanted.sum(), network.weight)
    torch.testing.assert_close(slope, expected)


def test_a_network_of_the_wrong_size_is_refused() -> None:
    model = dpasp.loads(CHAIN, networks={"net": torch.nn.Linear(2, 3)}).module()
    data = {f"word({t})": torch.zeros(1, 2) for t in range(3)}
    with pytest.raises(dpasp.DataError, match="logarithm of one factor"):
        model.log_prob(["tag(0,1)"], data)


def test_the_friends_learn_together() -> None:
    program = dpasp.load(EXAMPLES / "friends_learn.plp", python=True)
    program.learn()
    values = [record["values"][0] for record in program.learned()]
    assert values == pytest.approx([2.808, 0.5095], rel=1e-2)


def test_the_random_field_learns_that_tags_come_in_runs() -> None:
    program = dpasp.load(EXAMPLES / "crf_learn.plp", python=True)
    history = program.learn(niters=3)
    logs = [record["log_likelihood"] for record in history.to_list()]
    assert logs == sorted(logs)
    (record,) = program.learned()
    assert record["values"][0] > 1.5
