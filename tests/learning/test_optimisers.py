"""Rates that change, averages of weights, steps that are recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import dpasp
from dpasp.learning.history import Moment
from dpasp.learning.optimisers import Average

from .programs import addition

OPTIONS: dict[str, Any] = {"schedule": "cosine", "warmup": 0.2, "average": 0.9, "niters": 4}


def state(program: dpasp.Program) -> dict[str, torch.Tensor]:
    return dict(program.module().state_dict())


def rates(**options: Any) -> list[float]:
    """The rates of the network's optimiser, step by step."""
    found = []
    step = torch.optim.SGD.step

    def watched(self: torch.optim.SGD, closure: Any = None) -> Any:
        found.append(self.param_groups[0]["lr"])
        return step(self, closure)

    program = dpasp.loads(addition("SGD"), python=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.optim.SGD, "step", watched)
        program.learn(**options)
    return found


def test_rates_follow_the_schedule() -> None:
    every = {"niters": 2, "batch": 60}  # two steps an iteration, of 0.01 each
    assert rates(**every) == pytest.approx([0.01] * 4)
    assert rates(**every, schedule="linear") == pytest.approx([0.01, 0.0075, 0.005, 0.0025])
    warm = rates(**every, schedule="linear", warmup=0.5)
    assert warm == pytest.approx([0.0, 0.005, 0.01, 0.005])
    cosine = rates(**every, schedule="cosine")
    assert cosine == pytest.approx([0.01, 0.00853553, 0.005, 0.00146447], rel=1e-5)


def test_probabilities_follow_the_schedule_too() -> None:
    program = dpasp.loads("?::a. #semantics maxent.")
    program.learn([["a"]], niters=2, alg="lagrange", lr=0.1, schedule="linear")
    first = 0.5 + 0.1 * 0.5 * 2  # g = (1/p, 0), less its mean
    second = first + 0.05 * 0.5 / first
    assert program.learned()[0]["values"] == pytest.approx([second])


def test_the_average_is_the_mean_and_then_decays() -> None:
    weights = torch.zeros(2)
    average = Average([weights], decay=0.5)
    expected = 0.0
    for count, value in enumerate((4.0, 2.0, 8.0), 1):
        weights.fill_(value)
        average.update()
        expected += (value - expected) * max(0.5, 1 / count)
    with average.in_place():
        assert weights.tolist() == [expected, expected]
    assert weights.tolist() == [8.0, 8.0]


def test_learning_leaves_the_average() -> None:
    text = addition().replace("?::noise", "0.1::noise")
    last = dpasp.loads(text, python=True)
    last.learn(niters=2, batch=120)
    steps = []
    for niters in (1, 2):
        one = dpasp.loads(text, python=True)
        one.learn(niters=niters, batch=120)
        steps.append(state(one))
    averaged = dpasp.loads(text, python=True)
    averaged.learn(niters=2, batch=120, average=0.999)
    for name, value in state(averaged).items():
        assert torch.allclose(value, (steps[0][name] + steps[1][name]) / 2, atol=1e-7), name


def test_what_is_gone_on_with_gives_the_same_bits(tmp_path: Path) -> None:
    whole = dpasp.loads(addition(), python=True)
    whole.learn(**OPTIONS)
    stopped = dpasp.loads(addition(), python=True)

    def stop(moment: Moment) -> None:
        if moment.iteration == 3:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        stopped.learn(checkpoint=tmp_path / "c", watcher=stop, **OPTIONS)
    again = dpasp.loads(addition(), python=True)
    with pytest.raises(dpasp.DataError, match="niters"):
        again.learn(resume=tmp_path / "c", **OPTIONS | {"niters": 5})
    again.learn(resume=tmp_path / "c", **OPTIONS)
    assert all(torch.equal(value, state(again)[name]) for name, value in state(whole).items())


@pytest.mark.parametrize(
    ("text", "options", "code"),
    [
        (addition(), {"capture": True}, "learn-capture"),
        ("?::a.", {"average": 0.9}, "learn-average"),
    ],
)
def test_what_is_refused(text: str, options: dict[str, Any], code: str) -> None:
    seen = [["a"]] if text == "?::a." else None
    with pytest.raises(dpasp.Error) as caught:
        dpasp.loads(text, python=True).learn(seen, **options)
    assert caught.value.diagnostics[0].code == code
    assert caught.value.diagnostics[0].help


def test_long_observations_do_not_underflow() -> None:
    text = "n(1..400). 0.1?::a(X) :- n(X). #semantics maxent."
    program = dpasp.loads(text)
    history = program.learn([{f"a({i})": True for i in range(1, 401)}], niters=1)
    assert history[0].log_likelihood == pytest.approx(400 * torch.tensor(0.1).log().item())
