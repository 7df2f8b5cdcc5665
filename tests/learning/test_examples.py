"""The examples of learning learn what they say."""

from __future__ import annotations

import gzip
import importlib.util
import os
import runpy
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
import torch

import dpasp
from dpasp.language import ast

EXAMPLES = Path(__file__).parents[2] / "examples"


def load(name: str) -> dpasp.Program:
    return dpasp.load(EXAMPLES / f"{name}.plp")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "query", "labels", "least"),
    [
        ("xor", ["xor", "not xor"], "test_labels", 0.95),
        ("even_or_odd", ["even_sum", "not even_sum"], "test_seen", 0.9),
        ("parity", "parity(n, X)", "test_seen", 0.95),
        ("digits_add", "sum(X)", "test_sums", 0.8),
        ("sudoku_learn", ["valid", "not valid"], "test_seen", 0.85),
    ],
)
def test_networks(name: str, query: str | list[str], labels: str, least: float) -> None:
    program = load(name)
    program.learn(**({"niters": 6} if name == "digits_add" else {}))
    assert program.accuracy(query, program.functions[labels]()) >= least


@pytest.mark.parametrize("semantics", ["credal", "maxent"])
def test_the_ensemble_is_better_than_each_of_its_parts(semantics: str) -> None:
    program = load("ensemble")
    model = program.module(semantics)
    own = program.functions
    labels = own["test_labels"]()
    digits = torch.tensor([int(label[6:-1]) for label in labels])
    alone = [
        (net(own["test_images"]())[:, 0].argmax(1) == digits).double().mean() for net in model.nets
    ]
    assert program.accuracy("digit(X)", labels) > float(max(alone))


def test_a_bayesian_network_from_a_table_with_gaps() -> None:
    program = load("bayes_net_learn")
    history = program.learn()
    found = [one["values"][0] for one in program.learned()]
    assert found == pytest.approx([0.5, 0.8, 0.2, 0.1, 0.5, 0.9, 0.8], abs=0.1)
    scores = [record.log_likelihood for record in history]
    assert scores == sorted(scores)


@pytest.mark.parametrize("name", ["smokers_learn", "insomnia_learn"])
def test_hidden_causes(name: str) -> None:
    program = load(name)
    history = program.learn()
    scores = [record.log_likelihood for record in history]
    assert all(later >= earlier - 1e-9 for earlier, later in pairwise(scores))
    assert scores[-1] > scores[0] + 5
    assert all(0 <= answer.value <= 1 for answer in program.query())


def test_mnist_reads_its_files_and_checks_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DPASP_DATA", str(tmp_path))
    (tmp_path / "mnist").mkdir()
    (tmp_path / "mnist" / "train-images-idx3-ubyte.gz").write_bytes(gzip.compress(b"something"))
    with pytest.raises(dpasp.Error, match="is not the MNIST file of that name"):
        load("mnist_add").module()


@pytest.mark.slow
@pytest.mark.skipif(
    not Path(os.environ.get("DPASP_DATA", "/nowhere"), "mnist").exists(), reason="needs MNIST"
)
def test_mnist_addition_learns() -> None:
    program = load("mnist_add")
    history = program.learn(niters=1, batch=100)
    assert history[0].log_likelihood > -60_000
    assert program.accuracy("sum(X)", program.functions["test_sums"]()) > 0.85


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("sklearn") is None, reason="needs scikit-learn")
def test_the_demonstration_draws_a_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (EXAMPLES / "digits_add.plp").read_text().replace("niters = 15", "niters = 2")
    (tmp_path / "digits_add.plp").write_text(text)
    script = tmp_path / "learn_digits.py"
    script.write_text((EXAMPLES / "learn_digits.py").read_text())
    monkeypatch.setattr(sys, "argv", ["learn_digits.py", str(tmp_path / "d.png")])
    runpy.run_path(str(script), run_name="__main__")
    assert "It was never told a digit" in capsys.readouterr().out
    assert (tmp_path / "d.png").read_bytes().startswith(b"\x89PNG")


def test_every_example_of_learning_is_tested() -> None:
    learning = {
        path.stem
        for path in EXAMPLES.glob("*.plp")
        if any(isinstance(s, ast.Learn) for s in dpasp.load(path).source.statements)
    }
    text = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    named = {name for name in learning if f'"{name}"' in text or f'"{name}.plp"' in text}
    assert learning - named == set()
    assert len(learning) >= 8


@pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")  # lightning 2.6 with torch 2.13
@pytest.mark.parametrize("name", ["train_torch", "train_lightning"])
def test_loops_of_other_libraries(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "train_lightning":
        pytest.importorskip("lightning")
    pytest.importorskip("sklearn")
    monkeypatch.syspath_prepend(str(EXAMPLES))
    main: Callable[[int, int], float] = runpy.run_path(str(EXAMPLES / f"{name}.py"))["main"]
    assert main(4, 2) > 0.5


def test_roads_whose_circuit_does_not_fit() -> None:
    program = load("roads_learn")
    history = program.learn(likelihood="sampled", niters=10, samples=300)
    assert program.learned()[0]["values"][0] == pytest.approx(0.6, abs=0.05)
    assert history.likelihood == "sampled"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["numpyro_mixture", "torch_mixture"])
def test_mixtures_find_the_rates(name: str) -> None:
    if name.startswith("numpyro"):
        pytest.importorskip("numpyro", reason="numpyro is not installed")
    example = runpy.run_path(str(EXAMPLES / f"{name}.py"))
    found = example["main"](300)
    for fault, rate in example["TRUE"].items():
        assert found[fault] == pytest.approx(rate, abs=0.12)


@pytest.mark.slow
def test_learning_for_the_decision_beats_learning_for_the_likelihood(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    from learn_to_decide import main  # type: ignore[import-not-found]

    by_likelihood, by_utility = main()
    assert by_utility > by_likelihood + 0.3


def test_a_policy_learns_the_better_action() -> None:
    text = "?::go. 0.7::good. #utility 2 : go, good. #utility -1 : go, not good. #semantics maxent."
    program = dpasp.loads(text)
    history = program.learn(maximise="utility", niters=100, lr=0.2)
    assert program.query("go")[0].value > 0.95
    assert history[-1].log_likelihood > history[0].log_likelihood
    assert history.likelihood == "utility"
    for shown in (str(history), history.plot().svg):
        assert "expected utility" in shown
        assert "log-likelihood" not in shown
    model = program.module()
    slope = torch.autograd.grad(model.utility().sum(), list(model.parameters()))
    assert all(torch.isfinite(part).all() for part in slope)
    assert model.expect("3 : go").item() == pytest.approx(3 * program.query("go")[0].value)
    with pytest.raises(dpasp.UsageError, match="maximise"):
        program.learn(maximise="fame")


PERCEIVED = """
state(x) ~ test(@rows), train(@rows).
?::sees(X, {good,bad}) as @net :- state(X).
?::luck.
#decision {go}.
#utility 4 : sees(x,good), go. #utility -3 : sees(x,bad), go. #utility 1 : luck, not go.
#semantics maxent.
"""
STATES = [[0.2, 1.0], [1.5, -0.3], [-1.0, 0.4]]


def perceiving() -> dpasp.Program:
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Softmax(-1))
    data = {"rows": torch.tensor(STATES)}
    return dpasp.loads(PERCEIVED, networks={"net": net}, data=data)


def test_every_row_of_data_is_decided_by_itself() -> None:
    program = perceiving()
    decisions = program.decide()
    chances = program.query("sees(x,good)")[0].value
    for row, (decision, good) in enumerate(zip(decisions, chances, strict=True)):
        values = {True: 4 * good - 3 * (1 - good), False: 0.5}
        best = max(values, key=lambda go: values[go])
        assert decision.row == row
        assert decision.strategy == {"go": best}
        assert decision.value == pytest.approx(values[best])
    again = program.decide(data={"state(x)": torch.tensor(STATES[1:])})
    assert [one.value for one in again] == pytest.approx([one.value for one in decisions[1:]])
    model = program.module("maxent").double()
    rows = {"state(x)": torch.tensor(STATES, dtype=torch.float64)}
    assert model.utility(rows).tolist() == pytest.approx([one.value for one in decisions])


def test_a_row_of_evidence_belongs_to_a_row_of_data() -> None:
    program = perceiving()
    lucky, none = [True, False, None], {"luck": [True, False]}
    every = program.decide(evidence={"luck": lucky}, data={"state(x)": torch.tensor(STATES)})
    for row, luck in enumerate(lucky):
        data = {"state(x)": torch.tensor(STATES[row : row + 1])}
        (one,) = program.decide(evidence={"luck": luck}, data=data)
        assert every[row].row == row
        assert every[row].value == pytest.approx(one.value)
        assert every[row].strategy == one.strategy
    for ask in (program.decide, program.query):
        with pytest.raises(dpasp.DataError, match="the evidence has 2 rows and the data 3"):
            ask(evidence=none, data={"state(x)": torch.tensor(STATES)})


@pytest.mark.parametrize("said", [0.5, "yes"])
def test_a_strategy_takes_or_leaves_what_is_decided(said: object) -> None:
    model = dpasp.loads("#decision {go}. #utility 2 : go. #semantics maxent.").module()
    assert model.utility(strategy={"go": True}).item() == 2.0
    with pytest.raises(dpasp.UsageError, match="neither True nor False"):
        model.utility(strategy={"go": said})  # type: ignore[dict-item]


@pytest.mark.parametrize("strategy", [None, {"go": True}, {"go": False}])
def test_the_gradient_of_the_utility(strategy: dict[str, bool] | None) -> None:
    model = perceiving().module("maxent").double()
    rows = {"state(x)": torch.tensor(STATES, dtype=torch.float64)}
    values = list(model.parameters())
    slopes = torch.autograd.grad(model.utility(rows, strategy).sum(), values, allow_unused=True)
    step = 1e-6
    for value, slope in zip(values, slopes, strict=True):
        flat = value.data.view(-1)
        for place in range(flat.numel()):
            ends = []
            for change in (step, -step):
                flat[place] += change
                ends.append(model.utility(rows, strategy).sum().item())
                flat[place] -= change
            expected = 0.0 if slope is None else slope.reshape(-1)[place].item()
            assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(expected, abs=1e-7)
