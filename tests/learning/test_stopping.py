"""Requests to stop, groups of processes, and parameters of another program: the parts alone."""

from __future__ import annotations

import pytest
import torch

import dpasp
from dpasp.learning.checkpoints import load_state
from dpasp.learning.steps import process_group
from dpasp.learning.train import StepStopped, StopRequest


def test_a_request_ends_a_step_only_while_it_computes() -> None:
    request = StopRequest()
    request.stop()
    with request.computing():
        pass
    request.stop()  # the step is over: it may be about to change parameters
    with request.computing():
        with pytest.raises(StepStopped):
            request.stop()
        request.stop()  # the first one is on its way


def test_a_request_that_was_made_before_ends_the_next_step() -> None:
    request = StopRequest()
    request.made = True
    with pytest.raises(StepStopped), request.computing():
        raise AssertionError("nothing is computed")


def test_a_size_without_a_rank_is_no_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some clusters set one for every process, whoever started it."""
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.delenv("RANK", raising=False)
    with process_group(torch.device("cpu")) as alone:
        assert (alone.rank, alone.size) == (0, 1)


def test_three_differences_name_another_program() -> None:
    module = torch.nn.Linear(2, 2)
    others = {f"layer{i}": torch.zeros(1) for i in range(5)}
    with pytest.raises(dpasp.DataError) as caught:
        load_state(module, others, "p.safetensors")
    expected = "p.safetensors was learned by another program: bias, weight, layer0 differ"
    assert caught.value.diagnostics[0].message == expected
    with pytest.raises(dpasp.DataError, match="program: bias differ"):
        load_state(module, {"weight": torch.zeros(2, 2), "bias": torch.zeros(3)}, "p")


def test_a_rule_that_was_still_rising_at_the_last_pass_says_so() -> None:
    seen = ["a"] * 95 + ["not a"] * 5
    short = dpasp.loads("?::a.").learn(seen, niters=4, alg="lagrange", lr=0.02)
    assert short.converged is None
    assert "all iterations are done, and it was still rising, by" in str(short)
    assert "rising" not in str(dpasp.loads("?::a.").learn(seen, niters=60, alg="lagrange"))
    assert "rising" not in str(dpasp.loads("?::a.").learn(seen))
