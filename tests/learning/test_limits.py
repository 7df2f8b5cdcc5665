"""Limits hold from the first moment of learning, not only while its steps are made."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

import pytest
import torch

import dpasp
from dpasp import Limits
from dpasp.learning import ascents
from dpasp.learning.likelihood import Likelihood, likelihood_of
from dpasp.limits import Watch, memory_in_use
from tests.clocks import over

NOW = over()
COIN = "?::a(1..3). b :- a(X). #semantics maxent. #query b."


@pytest.mark.parametrize(
    ("limits", "error"),
    [(NOW, dpasp.TimeLimit), (Limits(megabytes=1), dpasp.MemoryLimit)],
    ids=["time", "memory"],
)
def test_grounding_a_program_that_learns_is_limited(
    limits: Limits, error: type[dpasp.LimitReached]
) -> None:
    program = dpasp.loads(COIN)
    with pytest.raises(error) as stopped:
        program.learn([["b"]], limits=limits)
    assert "being ground" in stopped.value.diagnostics[0].help
    with pytest.raises(error) as stopped:
        program.module(limits=limits)
    assert "being ground" in stopped.value.diagnostics[0].help
    assert program.module().prob("b").item() == pytest.approx(0.875)


def test_compiling_what_is_learned_has_the_same_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[float | None, float | None]] = []

    def spied(*values: Any, watch: Watch, **named: Any) -> Likelihood:
        seen.append((watch.limits.seconds, watch.limits.megabytes))
        return likelihood_of(*values, watch=watch, **named)

    monkeypatch.setattr(ascents, "likelihood_of", spied)
    limits = Limits(seconds=1000, megabytes=1_000_000)
    dpasp.loads(COIN).learn([["b"]], niters=1, limits=limits, likelihood="exact")
    dpasp.loads(COIN).learn([["b"]], niters=1, limits=limits)
    assert [seconds for seconds, _ in seen] == [1000, 1000]
    assert seen[0][1] == 1_000_000
    assert seen[1][1] == pytest.approx(750_000, abs=1000)  # the rest is for a bound


def test_compiling_for_a_module_is_limited() -> None:
    program = dpasp.loads(COIN)
    program.module()
    model = program.module(limits=NOW)
    with pytest.raises(dpasp.TimeLimit):
        model.log_prob(["b"])
    with pytest.raises(dpasp.TimeLimit):
        model.prob("a(1)")
    free = program.module()
    assert free is model
    assert free.log_prob(["b"]).exp().item() == pytest.approx(0.875)


def test_grounding_for_a_network_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    text = """
#python
import torch
def net(): return torch.nn.Sequential(torch.nn.Linear(1, 2), torch.nn.Softmax(1))
def rows(): return torch.zeros(2, 1)
#end.
i(0) ~ test(@rows).
?::d(X, {0, 1}) as @net :- i(X).
#semantics maxent. #query d(0,0).
"""
    seen: list[float | None] = []
    check = Watch.check
    monkeypatch.setattr(
        Watch, "check", lambda self: (seen.append(self.limits.seconds), check(self))[1]
    )
    dpasp.loads(text, python=True).query(limits=Limits(seconds=1000))
    assert set(seen) == {1000}


def test_asking_leaves_a_module_in_training_as_it_was() -> None:
    program = dpasp.loads(COIN)
    model = program.module()
    model.train()
    program.query()
    assert model.training
    model.eval()
    program.query()
    assert not model.training


def test_program_and_module_have_the_same_parameters() -> None:
    program = dpasp.loads("?::a. #query a.")
    model = program.module("maxent")
    with torch.no_grad():
        model.probabilities.assign(torch.tensor([[0.25, 0.75]], dtype=torch.float64))
    assert program.query()[0].lower == pytest.approx(0.25)
    assert program.learned()[0]["values"] == pytest.approx([0.25])
    other = program.module("credal")
    assert other is not model
    assert other.probabilities is model.probabilities


def test_options_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from dpasp.learning import options

    calls: list[object] = []
    learn_options = options.learn_options

    def counted(*given: object) -> options.LearnOptions:
        calls.append(given)
        return learn_options(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(options, "learn_options", counted)
    dpasp.loads(COIN).learn([["b"]], niters=1)
    assert len(calls) == 1


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
@pytest.mark.parametrize("device", ["cuda", "cuda:7", "nonsense"])
def test_a_device_that_is_not_there(device: str) -> None:
    with pytest.raises(dpasp.UsageError, match="no device") as refused:
        dpasp.loads(COIN).learn([["b"]], device=device)
    assert "auto" in refused.value.diagnostics[0].help


def test_the_memory_limit_stops_learning_and_saves(tmp_path: Path) -> None:
    kept: list[torch.Tensor] = []

    class Growing(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.line = torch.nn.Linear(1, 2)

        def forward(self, inputs: torch.Tensor) -> torch.Tensor:
            kept.append(torch.ones(1_000_000, dtype=torch.float64))  # 8 MB more with each step
            return torch.softmax(self.line(inputs), 1)

    text = """
    i(0) ~ test(@rows), train(@rows).
    ?::d(X, {0, 1}) as @net :- i(X).
    #semantics maxent. #query d(0,0).
    """
    objects = {"networks": {"net": Growing()}, "data": {"rows": torch.zeros(2, 1)}}
    file, seen = tmp_path / "part.checkpoint", [["d(0,0)"], ["d(0,1)"]]
    program = dpasp.loads(text, **objects)
    program.learn(seen, niters=1, batch=2)  # loads what learning needs
    kept.clear()
    limits = Limits(megabytes=memory_in_use() + 200, clock=count(0.0).__next__)  # looked at often
    with pytest.raises(dpasp.MemoryLimit, match="what is learned so far is in"):
        program.learn(seen, niters=1000, batch=2, checkpoint=file, limits=limits)
    assert 5 <= len(kept) < 60
    kept.clear()
    assert len(program.learn(seen, niters=60, batch=2, resume=file)) == 60
