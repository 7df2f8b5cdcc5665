"""Networks: where they come from, what their outputs mean, what is refused."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest
import torch

import dpasp
from dpasp.learning.module import ProgramModule
from dpasp.learning.networks import convolve_channels_last

X = torch.tensor([[0.2, 0.8], [0.6, 0.4]])


def program(rule: str, net: str, rows: str = "torch.zeros(2, 2)") -> str:
    return f"""
#python
import torch
def net(*arguments): return {net}
def rows(): return {rows}
#end.
i(0) ~ test(@rows), train(@rows).
{rule}
#semantics maxent.
"""


def module(rule: str, net: str = "torch.nn.Identity()") -> ProgramModule:
    return dpasp.loads(program(rule, net), python=True).module()


def test_the_outputs_are_the_distribution() -> None:
    model = module("?::d(X, {a, b}) as @net :- i(X).")
    assert torch.allclose(model.prob(["d(0,a)", "d(0,b)"], {"i(0)": X}), X)


def test_a_neural_fact_is_true_with_the_one_output() -> None:
    for output in (X[:, :1], X[:, 0]):
        model = module("?::e(X) as @net :- i(X).")
        found = model.prob(["e(0)", "not e(0)"], {"i(0)": output})
        assert torch.allclose(found, torch.stack([X[:, 0], 1 - X[:, 0]], 1))


def test_logits() -> None:
    model = module("?::d(X, {a, b}) as @net with logits :- i(X).")
    assert torch.allclose(model.prob("d(0,a)", {"i(0)": X})[:, 0], torch.softmax(X, 1)[:, 0])
    model = module("?::e(X) as @net with logits = true :- i(X).")
    assert torch.allclose(model.prob("e(0)", {"i(0)": X[:, :1]}), torch.sigmoid(X[:, :1]))


@pytest.mark.parametrize("last", ["Softmax(1)", "Sigmoid()"])
def test_probabilities_are_not_taken_for_logits(last: str) -> None:
    net = f"torch.nn.Sequential(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.{last}))"
    with pytest.raises(dpasp.DataError, match="gives probabilities and not logits"):
        module("?::d(X, {a, b}) as @net with logits :- i(X).", net)


def test_several_outcomes_have_a_distribution_each() -> None:
    rows = torch.tensor(
        [[[0.1, 0.9], [0.3, 0.7], [0.5, 0.5]], [[1.0, 0.0], [0.0, 1.0], [0.4, 0.6]]]
    )
    rule = "?::d(X, {a, b}; {0..2}) as @net :- i(X)."
    queries = ["d(0,a,0)", "d(0,a,1)", "d(0,b,2)"]
    for output in (rows, rows.reshape(6, 2)):
        model = module(rule)
        if output.ndim == 2:
            model.nets[0].module = _Fixed(output)
        found = model.prob(queries, {"i(0)": rows})
        assert torch.allclose(found, torch.stack([rows[:, 0, 0], rows[:, 1, 0], rows[:, 2, 1]], 1))
    logs = model.log_prob(["d(0, a; 1)", "d(0, b; 2)"], {"i(0)": rows})
    assert torch.allclose(logs.exp(), torch.tensor([0.3, 0.6]))


class _Fixed(torch.nn.Module):
    def __init__(self, output: torch.Tensor) -> None:
        super().__init__()
        self.output = output

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.output


def test_several_outcomes_of_facts() -> None:
    model = module("?::f(X; {a, b}) as @net :- i(X).")
    assert torch.allclose(model.prob(["f(0,a)", "f(0,b)"], {"i(0)": X}), X)


def test_small_errors_of_the_sum_are_renormalised() -> None:
    model = module("?::d(X, {a, b}) as @net :- i(X).")
    found = model.prob(["d(0,a)", "d(0,b)"], {"i(0)": X.double() * (1 + 5e-5)})
    assert torch.allclose(found, X.double())


def test_two_inputs_go_to_one_network() -> None:
    net = "torch.nn.Bilinear(2, 2, 1, bias=False)"
    text = program("?::same(X, Y) as @net with logits :- i(X), j(Y).", net)
    model = dpasp.loads(text + "j(1) ~ test(@rows), train(@rows).", python=True).module()
    with torch.no_grad():
        model.nets[0].module.weight.copy_(torch.eye(2)[None])
    found = model.prob("same(0,1)", {"i(0)": X, "j(1)": X})
    assert torch.allclose(found[:, 0], torch.sigmoid((X * X).sum(1)))


def test_a_network_is_built_once_and_runs_on_all_its_rows_at_once() -> None:
    text = """
#python
import torch
built, seen = [], []
class Net(torch.nn.Module):
    def forward(self, x):
        seen.append(len(x))
        return torch.softmax(x, 1)
def net():
    built.append(1)
    return Net()
def rows(): return torch.zeros(5, 2)
#end.
i(0) ~ test(@rows). i(1) ~ test(@rows). i(2) ~ test(@rows).
?::d(X, {a, b}) as @net :- i(X).
s :- d(0,a), d(1,a), d(2,a).
#semantics maxent.
"""
    one = dpasp.loads(text, python=True)
    assert one.query("s")[0].value == pytest.approx([0.125] * 5)
    one.query("not s")
    own = one.functions
    assert own["built"] == [1]
    assert own["seen"] == [15, 15]


def test_frozen_networks_do_not_learn() -> None:
    net = "torch.nn.Sequential(torch.nn.Dropout(0.9), torch.nn.Linear(2, 2), torch.nn.Softmax(1))"
    model = module("!::d(X, {a, b}) as @net :- i(X).", net)
    model.train()
    assert not any(p.requires_grad for p in model.parameters())
    assert torch.equal(model.prob("d(0,a)", {"i(0)": X}), model.prob("d(0,a)", {"i(0)": X}))


def test_networks_from_packages_and_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "my_nets.py").write_text("import torch\ndef make(): return torch.nn.Softmax(1)\n")
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "hubconf.py").write_text(
        "dependencies = ['torch']\ndef soft():\n    import torch\n    return torch.nn.Softmax(1)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("@my_nets:make", "@torch.nn:Softmax(1)", '@soft on "repo"'):
        text = program(f"?::d(X, {{a, b}}) as {name} :- i(X).", "None")
        path = tmp_path / "program.plp"
        path.write_text(text)
        model = dpasp.load(path).module()
        assert torch.allclose(model.prob("d(0,a)", {"i(0)": X})[:, 0], torch.softmax(X, 1)[:, 0])


@pytest.mark.parametrize(
    ("rule", "net", "code"),
    [
        ("?::d(X, {a, b, c}) as @net :- i(X).", "torch.nn.Identity()", "network-size"),
        ("?::d(X) as @net :- i(X).", "torch.nn.Identity()", "network-size"),
        ("?::d(X, {a, b}) as @net :- i(X).", "torch.nn.Linear(2, 2)", "network-simplex"),
        ("?::d(X, {a, b}; {0..2}) as @net :- i(X).", "torch.nn.Identity()", "network-size"),
        ("?::d(X, {a, b}) as @net :- i(X).", "7", "network-type"),
        ("?::d(X, {a, b}) as @net :- i(X).", "1 / 0", "python-error"),
        ("?::d(X, {a, b}) as @net :- i(X).", "torch.nn.Linear(5, 2)", "python-error"),
        ('?::d(X, {a, b}) as @net on "nowhere" :- i(X).', "7", "hub-folder"),
        ("?::d(X, {a, b}) as @no.such:thing :- i(X).", "7", "python-import"),
    ],
)
def test_what_is_refused_names_the_rule(rule: str, net: str, code: str) -> None:
    with pytest.raises(dpasp.Error) as caught:
        module(rule, net).prob("d(0)" if "d(X) as" in rule else "d(0,a)", {"i(0)": X})
    first = caught.value.diagnostics[0]
    assert first.code == code
    assert first.span is not None
    assert first.span.line in (4, 8)


def test_nothing_runs_without_permission() -> None:
    text = program("?::d(X, {a, b}) as @net :- i(X).", "torch.nn.Identity()")
    with pytest.raises(dpasp.ProgramError) as caught:
        dpasp.loads(text).module()
    assert caught.value.diagnostics[0].code == "python-not-allowed"


def test_convolutions_run_with_the_channels_last_and_give_the_same() -> None:
    torch.manual_seed(0)
    layers = [torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.Conv2d(4, 8, 3)]
    plain = torch.nn.Sequential(*layers)
    images = torch.randn(5, 1, 9, 9)
    before = plain(images)
    convolve_channels_last(plain)
    after = plain(images)
    assert plain[2].weight.is_contiguous(memory_format=torch.channels_last)
    assert plain[0].weight.stride() == (9, 1, 3, 1)  # of one channel, torch goes by the strides
    assert after.is_contiguous()
    assert torch.allclose(before, after, atol=1e-6)
    assert set(plain.state_dict()) == {"0.weight", "0.bias", "2.weight", "2.bias"}


LOGITS = {
    "fact": "?::p(X) as @net with logits :- i(X). e :- p(0).",
    "values": "?::d(X, {a, b, c}) as @net with logits :- i(X). e :- d(0,b). e :- d(0,c).",
    "outcomes": "?::d(X, {a, b}; {0..1}) as @net with logits :- i(X). e :- d(0,b,0), d(0,b,1).",
}


@pytest.mark.parametrize("height", [40.0, 700.0, 800.0, 1e5])
@pytest.mark.parametrize("semantics", ["maxent", "credal"])
@pytest.mark.parametrize(
    ("rule", "seen", "logits", "log", "slopes"),
    [
        ("fact", "not p(0)", [[1.0]], -1.0, [[-1.0]]),
        ("fact", "not e", [[1.0]], -1.0, [[-1.0]]),
        ("fact", "p(0)", [[-1.0]], -1.0, [[1.0]]),
        ("values", "d(0,b)", [[1.0, 0.0, -1.0]], -1.0, [[-1.0, 1.0, 0.0]]),
        ("values", "d(0,c)", [[1.0, 0.0, -1.0]], -2.0, [[-1.0, 0.0, 1.0]]),
        ("values", "e", [[1.0, 0.0, -1.0]], -1.0, [[-1.0, 1.0, 0.0]]),
        ("outcomes", "e", [[[1.0, 0.0], [1.0, 0.0]]], -2.0, [[[-1.0, 1.0], [-1.0, 1.0]]]),
    ],
)
def test_logits_of_what_is_nearly_impossible(
    height: float,
    semantics: str,
    rule: str,
    seen: str,
    logits: list[object],
    log: float,
    slopes: object,
) -> None:
    x = (height * torch.tensor(logits, dtype=torch.float64)).requires_grad_()
    y = torch.zeros_like(x)  # beside it a row in which all is possible
    rows = torch.cat([x, y])
    text = program(LOGITS[rule], "torch.nn.Identity()").replace("maxent", semantics)
    model = dpasp.loads(text, python=True).module()
    found = model.log_prob([seen, seen], {"i(0)": rows})
    assert found[0].item() == pytest.approx(height * log)
    (slope,) = torch.autograd.grad(found.sum(), x)
    assert torch.allclose(slope, torch.tensor(slopes, dtype=torch.float64), atol=1e-12)


def test_logits_and_parameters_where_weights_underflow() -> None:
    rules = "?::p(X) as @net with logits :- i(X). 0.3?::q. e :- not p(0), q."
    model = module(rules, "torch.nn.Identity()")
    x = torch.tensor([[900.0]], dtype=torch.float64, requires_grad=True)
    found = model.log_prob(["e"], {"i(0)": x})
    assert found.item() == pytest.approx(-900 + math.log(0.3))
    slopes = torch.autograd.grad(found.sum(), [x, model.probabilities.logits], create_graph=True)
    assert slopes[0].item() == pytest.approx(-1.0)
    assert slopes[1].tolist() == pytest.approx([0.7, -0.7])
    with pytest.raises(dpasp.UsageError, match="derivatives"):
        torch.autograd.grad(slopes[1].sum() + slopes[0].sum(), x)


def test_probabilities_of_0_and_1_are_taken_at_their_word() -> None:
    model = module("?::p(X) as @net :- i(X).", "torch.nn.Identity()")
    found = model.log_prob(["not p(0)", "p(0)"], {"i(0)": torch.ones(2, 1, dtype=torch.float64)})
    assert found.tolist() == [-math.inf, 0.0]


@pytest.mark.parametrize("semantics", ["maxent", "credal"])
def test_nan_in_a_row_is_told(semantics: str) -> None:
    text = program("?::d(X, {a, b}) as @net with logits :- i(X).", "torch.nn.Identity()")
    loaded = dpasp.loads(text, python=True, semantics=semantics)
    data = {"i(0)": torch.tensor([[0.1, 0.2], [torch.nan, 0.3]])}
    for ask in (loaded.query, loaded.module().prob):
        with pytest.raises(dpasp.DataError, match="NaN for row 1") as caught:
            ask("d(0,a)", data=data)  # type: ignore[operator]
        assert caught.value.diagnostics[0].code == "network-simplex"


def test_data_without_a_name_is_refused_everywhere() -> None:
    loaded = dpasp.loads(
        program("?::d(X, {a, b}) as @net :- i(X).", "torch.nn.Softmax(1)"), python=True
    )
    model = loaded.module()
    for data in (X, X.numpy(), [X], "i(0)"):
        for ask in (
            lambda data: loaded.query("d(0,a)", data=data),
            lambda data: loaded.map("d(0,a)?", data=data),
            lambda data: loaded.marginals(data=data),
            lambda data: loaded.learn(["d(0,a)"] * 2, data=data),
            lambda data: loaded.accuracy("d(0,V)", ["d(0,a)"] * 2, data),
            lambda data: model.prob("d(0,a)", data),
        ):
            with pytest.raises(dpasp.UsageError, match="data is a dictionary") as caught:
                ask(data)
            assert caught.value.diagnostics[0].help == 'write {"i(0)": rows}'


def test_accuracy_wants_a_text_for_each_row() -> None:
    loaded = dpasp.loads(
        program("?::d(X, {a, b}) as @net :- i(X).", "torch.nn.Softmax(1)"), python=True
    )
    assert loaded.accuracy("d(0,V)", ["d(0,b)", "d(0,a)"], {"i(0)": X}) == 1.0
    with pytest.raises(dpasp.DataError, match="label 0 is 1, which is not a text") as caught:
        loaded.accuracy("d(0,V)", [1, 0], {"i(0)": X})  # type: ignore[list-item]
    assert caught.value.diagnostics[0].help == 'write the answer that is right, such as "d(0,a)"'
    with pytest.raises(dpasp.DataError, match="the data has 2 rows for 3 labels"):
        loaded.accuracy("d(0,V)", ["d(0,a)"] * 3, {"i(0)": X})


def test_accuracy_wants_more_than_one_answer() -> None:
    loaded = dpasp.loads(program("?::e(X) as @net :- i(X).", "torch.nn.Identity()"), python=True)
    labels, data = ["not e(0)", "e(0)"], {"i(0)": X[:, :1]}
    assert loaded.accuracy(["e(0)", "not e(0)"], labels, data) == 1.0
    with pytest.raises(dpasp.UsageError, match=r"e\(0\) is the only answer"):
        loaded.accuracy("e(0)", labels, data)
