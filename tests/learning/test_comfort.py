"""What makes learning comfortable: parts of a batch, less precision, ranges, trackers."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from clingo import Function
from torch.profiler import ProfilerActivity, profile
from torch.utils.data import Dataset

import dpasp
from dpasp.integrations.trackers import MLflow, WeightsAndBiases
from dpasp.learning.data import Ahead, DataRows
from dpasp.learning.history import Moment

from .programs import addition

TEXT = addition().replace("Dropout(0.2)", "Identity()")


def learned(**options: Any) -> tuple[list[float], list[float]]:
    program = dpasp.loads(TEXT, python=True)
    history = program.learn(niters=3, **options)
    weights = [float(p.detach().sum()) for p in program.module().parameters()]
    return [record.log_likelihood for record in history], weights


@pytest.mark.parametrize("rule", ["lagrange", "gradient"])
def test_parts_of_a_batch_give_what_the_batch_gives(rule: str) -> None:
    whole, parts = learned(alg=rule), learned(alg=rule, accumulate=4)
    assert parts[0] == pytest.approx(whole[0], rel=1e-6)
    assert parts[1] == pytest.approx(whole[1], rel=1e-4)


def test_a_part_is_what_a_network_sees_at_once() -> None:
    program = dpasp.loads(TEXT, python=True)
    sizes = []
    network = program.module().nets[0].module
    network.register_forward_hook(lambda net, rows, out: sizes.append(len(rows[0])))
    program.learn(niters=1, batch=60, accumulate=3)
    assert sizes == [40] * 6  # two rows of twenty examples


def test_half_of_the_precision_learns_about_the_same() -> None:
    full, half = learned(), learned(precision="bfloat16")
    assert half[0] != full[0]
    assert half[0] == pytest.approx(full[0], rel=0.05)


def test_a_profile_names_the_parts_of_a_step() -> None:
    program = dpasp.loads(TEXT, python=True)
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        program.learn(niters=1)
    names = {event.key for event in seen.key_averages()}
    assert {"dpasp: networks", "dpasp: circuit", "dpasp: optimisers"} <= names


def test_the_first_step_is_told() -> None:
    program = dpasp.loads(TEXT, python=True)
    moments: list[Moment] = []
    history = program.learn(niters=2, watcher=moments.append)
    assert history.first_step is not None
    assert history.first_step > 0
    assert moments[0].iteration == 1
    assert moments[0].finished is None  # before the first iteration is over


def test_mlflow(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    fake = SimpleNamespace(
        active_run=lambda: None,
        start_run=lambda **run: seen.append(run),
        log_metrics=lambda found, step: seen.append((sorted(found), step)),
        end_run=lambda: seen.append("end"),
    )
    monkeypatch.setitem(sys.modules, "mlflow", fake)
    watcher = MLflow(run_name="digits")
    dpasp.loads("?::a.").learn([["a"], ["not a"]] * 5, niters=2, validation=0.2, watcher=watcher)
    watcher.close()
    names = ["log-likelihood/train", "log-likelihood/validation", "seconds"]
    assert seen == [{"run_name": "digits"}, (names, 1), (names, 2), "end"]


def test_weights_and_biases(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    run = SimpleNamespace(
        log=lambda found, step: seen.append((sorted(found), step)),
        finish=lambda: seen.append("end"),
    )
    monkeypatch.setitem(sys.modules, "wandb", SimpleNamespace(init=lambda **given: run))
    watcher = WeightsAndBiases(project="digits")
    dpasp.loads("?::a.").learn([["a"]], niters=1, watcher=watcher)
    watcher.close()
    assert seen == [(["log-likelihood/train", "seconds"], 1), "end"]


@pytest.mark.parametrize(("tracker", "module"), [(MLflow, "mlflow"), (WeightsAndBiases, "wandb")])
def test_what_is_not_installed_is_told(
    monkeypatch: pytest.MonkeyPatch, tracker: type, module: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(dpasp.UsageError) as caught:
        tracker()
    assert module in caught.value.diagnostics[0].help


class Rows(Dataset[Any]):
    """Rows that are made when they are asked for."""

    def __len__(self) -> int:
        return 12

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return torch.tensor([float(index % 2), 1.0]), index


@pytest.mark.parametrize("accumulate", [1, 2])
def test_rows_are_read_ahead(accumulate: int) -> None:
    text = "row(0) ~ train(@rows). ?::on(X) as @net with logits, lr = 0.1 :- row(X)."
    found = []
    for workers in (0, 1):
        given = {"networks": {"net": lambda: torch.nn.Linear(2, 1)}, "data": {"rows": Rows()}}
        program = dpasp.loads(text, **given)
        options = {"niters": 2, "batch": 5, "accumulate": accumulate, "validation": 0.2}
        history = program.learn(["on(0)", "not on(0)"] * 6, workers=workers, **options)
        found.append([(record.log_likelihood, record.validation) for record in history])
    assert found[0] == found[1]


def test_rows_that_do_not_come_in_order_are_read_when_asked_for() -> None:
    atom = Function("row", [])
    ahead = Ahead({atom: DataRows(Rows())}, [torch.tensor([1, 2])], 1)
    assert ahead.take(torch.tensor([4, 3]))[atom].tolist() == [[0.0, 1.0], [1.0, 1.0]]
    assert ahead.take(torch.tensor([1, 2]))[atom].tolist() == [[1.0, 1.0], [0.0, 1.0]]
