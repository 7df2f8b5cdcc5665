"""The same on a GPU, where there is one."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import dpasp
from tests.learning.programs import addition

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def learned(device: str, rule: str) -> tuple[dpasp.Program, list[float]]:
    program = dpasp.loads(addition().replace("Dropout(0.2)", "Identity()"), python=True)
    history = program.learn(device=device, alg=rule)
    return program, [record.log_likelihood for record in history]


@pytest.mark.parametrize("rule", ["lagrange", "neurasp", "gradient"])
def test_it_learns_the_same(rule: str) -> None:
    here, there = learned("cpu", rule), learned("cuda", rule)
    assert there[1] == pytest.approx(here[1], rel=1e-4)
    first, second = (program.query()[0].value for program in (here[0], there[0]))
    assert second == pytest.approx(first, abs=1e-3)


def test_it_gives_the_same_bits_again() -> None:
    assert learned("cuda", "lagrange")[1] == learned("cuda", "lagrange")[1]


def test_gradients_reach_data_on_the_gpu() -> None:
    text = """
#python
import torch
def net(): return torch.nn.Softmax(1)
def rows(): return torch.zeros(1, 3)
#end.
i(0) ~ test(@rows). i(1) ~ test(@rows).
?::d(X, {0..2}) as @net :- i(X).
s(Z) :- d(0,X), d(1,Y), Z = X+Y.
#semantics maxent.
"""
    model = dpasp.loads(text, python=True).module().to("cuda")
    x = torch.randn(2, 4, 3, dtype=torch.float64, device="cuda", requires_grad=True)
    seen = ["s(0)", "s(1)", "s(2)", "not s(3)"]

    def ask(x: torch.Tensor) -> torch.Tensor:
        return model.log_prob(seen, {"i(0)": x[0], "i(1)": x[1]})

    assert torch.autograd.gradcheck(ask, x)
    assert torch.autograd.gradgradcheck(ask, x)
    assert ask(x).device.type == "cuda"


@pytest.mark.parametrize("optimiser", ["Adam", "AdamW"])
def test_recorded_steps_learn_the_same(optimiser: str) -> None:
    text = (
        addition(optimiser).replace("Dropout(0.2)", "Identity()").replace("?::noise", "0.1::noise")
    )
    options = {"device": "cuda", "schedule": "cosine", "average": 0.9, "niters": 8, "batch": 30}
    found = []
    for capture in (False, True):
        program = dpasp.loads(text, python=True)
        history = program.learn(capture=capture, **options)
        values = np.concatenate([np.atleast_1d(answer.value) for answer in program.query()])
        found.append(([record.log_likelihood for record in history], values))
    assert found[1][0] == pytest.approx(found[0][0], rel=1e-4)
    np.testing.assert_allclose(found[1][1], found[0][1], atol=1e-3)


def test_a_network_that_looks_at_its_numbers_is_not_recorded() -> None:
    text = addition().replace("?::noise", "0.1::noise")
    text = text.replace("torch.nn.ReLU()", "Looks()").replace(
        "def net():",
        "class Looks(torch.nn.Module):\n    def forward(self, x): return x * float(x.sum() > 0)\n"
        "def net():",
    )
    with pytest.raises(dpasp.DataError, match="cannot be recorded"):
        dpasp.loads(text, python=True).learn(device="cuda", capture=True, batch=30)
