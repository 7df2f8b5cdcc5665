"""What a PyTorch user brings along: networks, tensors, labels, loaders, pickles."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

import dpasp
from dpasp.learning.networks import tolerance

ADD = """
img(0..1) ~ test(@xs), train(@xs).
?::digit(X, {0..2}) as @net :- img(X).
sum(Z) :- digit(0,X), digit(1,Y), Z = X + Y.
#semantics maxent.
#query sum(Z).
"""
ROWS = torch.arange(24.0).reshape(4, 2, 3) / 10


class Softmax(nn.Sequential):
    def __init__(self, values: int = 3, seed: int = 0) -> None:
        torch.manual_seed(seed)
        super().__init__(nn.Linear(3, values), nn.Softmax(1))


def add(**given: Any) -> dpasp.Program:
    return dpasp.loads(ADD, networks={"net": Softmax()}, data={"xs": ROWS}, **given)


def expected(net: nn.Module, rows: Tensor = ROWS) -> Tensor:
    """P(sum) [rows, 5], by hand."""
    first, second = net(rows[:, 0]), net(rows[:, 1])
    found = torch.zeros(len(rows), 5)
    for i in range(3):
        for j in range(3):
            found[:, i + j] += first[:, i] * second[:, j]
    return found


def test_objects_of_the_caller_need_no_python() -> None:
    net = Softmax()
    program = dpasp.loads(ADD, networks={"net": net}, data={"@xs": ROWS})
    found = np.stack([np.asarray(answer.value) for answer in program.query()], axis=1)
    assert found == pytest.approx(expected(net).detach().numpy(), abs=1e-6)
    assert program.module().nets[0].module is net


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"networks": {"nett": nn.Identity()}}, "does not call @nett"),
        ({"networks": {"net": 3}}, "@net among the networks is a int"),
        ({"networks": [nn.Identity()]}, "dictionary by name"),
        ({"data": {"xs": ROWS}, "functions": {"xs": lambda: ROWS}}, "given twice"),
    ],
)
def test_objects_that_do_not_fit_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(dpasp.UsageError, match=message) as refused:
        dpasp.loads(ADD, python=True, **given)
    assert refused.value.diagnostics[0].help


def test_python_stays_forbidden_beside_given_objects() -> None:
    text = "#python\ndef g(): return 2\n#end.\np(@f). q(@g)."
    with pytest.raises(dpasp.ProgramError) as refused:
        dpasp.loads(text, functions={"f": lambda: 1}).query("p(1)")
    assert refused.value.diagnostics[0].code in ("python-not-allowed", "unknown-function")
    assert dpasp.loads(text, functions={"f": lambda: 1}, python=True).query("p(1)")[0].lower == 1
    script = "#script (python)\nx = 1\n#end.\np(@f)."
    with pytest.raises(dpasp.ProgramError, match="runs Python"):
        dpasp.loads(script, functions={"f": lambda: 1}).query("p(1)")


def test_a_text_is_no_program() -> None:
    with pytest.raises(dpasp.UsageError, match="loads"):
        dpasp.Program("0.3::a.")  # type: ignore[arg-type]


# --- data --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        {"img": ROWS},
        {"img": ROWS.numpy()},
        {"img": ROWS.tolist()},
        {"img(0)": ROWS[:, 0], "img(1)": ROWS[:, 1]},
        {"img(0)": ROWS[:, 0].numpy(), "img(1)": list(ROWS[:, 1])},
        {"img(0)": tuple(map(tuple, ROWS[:, 0].tolist())), "img(1)": ROWS[:, 1].tolist()},
    ],
    ids=["tensor", "array", "list", "by atom", "array and list of tensors", "tuples"],
)
def test_data_in_every_shape(data: dict[str, Any]) -> None:
    program = add()
    model = program.module()
    wanted = expected(model.nets[0].module).detach()
    assert torch.allclose(model.value("sum(Z)", data), wanted, atol=1e-6)
    found = np.stack([np.asarray(a.value) for a in program.query("sum(Z)", data=data)], axis=1)
    assert found == pytest.approx(wanted.numpy(), abs=1e-6)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (ROWS, "dictionary"),
        ({"img": ROWS[:, :1]}, "stands for 2 atoms"),
        ({"img": ROWS[:, 0, 0]}, "stands for 2 atoms"),
        ({"image": ROWS}, "not a data atom"),
        ({"img(0)": ROWS[:, 0], "img(1)": ROWS[:2, 1]}, "different numbers of rows"),
        ({"img(0)": ROWS[:, 0]}, "no data for img"),
        ({"img": "rows"}, "which is not data"),
    ],
)
def test_data_that_does_not_fit_is_refused(data: Any, message: str) -> None:
    with pytest.raises(dpasp.Error, match=message) as refused:
        add().module().value("sum(Z)", data)
    assert refused.value.diagnostics[0].help


def test_the_same_rows_for_several_atoms_are_refused() -> None:
    program = dpasp.loads(ADD, networks={"net": Softmax()}, data={"xs": ROWS[:, 0]})
    with pytest.raises(dpasp.DataError, match="stands for 2 atoms"):
        program.query()


# --- labels ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [torch.tensor, np.array, list])
def test_labels_are_numbers_of_columns(kind: Any) -> None:
    model = add().module()
    labels = [0, 4, 2, 1]
    found = model.log_prob(kind(labels), {"img": ROWS}, query="sum(Z)")
    wanted = expected(model.nets[0].module)[range(4), labels].log()
    assert torch.allclose(found, wanted, atol=1e-5)
    assert torch.equal(found, model.log_prob([f"sum({z})" for z in labels], {"img": ROWS}))
    found.sum().backward()  # type: ignore[no-untyped-call]
    assert all(p.grad is not None for p in model.parameters())


@pytest.mark.parametrize(
    ("labels", "query"),
    [
        (torch.tensor([0, 5]), "sum(Z)"),
        (torch.tensor([-1]), "sum(Z)"),
        (torch.tensor([0.5]), "sum(Z)"),
        (torch.tensor([[0, 1]]), "sum(Z)"),
        (torch.tensor([[[0]]]), "sum(Z)"),
        (torch.tensor([0]), "sum(Z) | digit(0,1)"),
        (torch.tensor([0]), None),
    ],
)
def test_labels_that_do_not_fit_are_refused(labels: Tensor, query: str | None) -> None:
    with pytest.raises(dpasp.Error) as refused:
        add().module().log_prob(labels, {"img": ROWS[: len(labels)]}, query=query)
    assert refused.value.diagnostics[0].help


def test_one_text_is_one_observation() -> None:
    model = dpasp.loads("?::a. ?::b. #semantics maxent.").module()
    assert model.log_prob("a, not b").exp().tolist() == pytest.approx([0.25])
    with pytest.raises(dpasp.DataError, match="4 rows for 1 observation"):
        add().module().log_prob("sum(2)", {"img": ROWS})


class Pairs(Dataset[Any]):
    def __init__(self, seen: Any) -> None:
        self.seen = seen

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> Any:
        return ROWS[index], self.seen[index]


@pytest.mark.parametrize("workers", [0, 1])
def test_observations_go_through_a_loader(workers: int) -> None:
    model = add().module()
    texts = ["sum(0)", "sum(1)", "sum(0)", "sum(4)"]
    seen = model.observe(texts)
    whole = model.log_prob(texts, {"img": ROWS})
    loader = DataLoader(Pairs(seen), batch_size=3, num_workers=workers)
    parts = [model.log_prob(labels, {"img": rows}) for rows, labels in loader]
    assert torch.allclose(torch.cat(parts), whole)


def test_observations_are_sequences() -> None:
    model = add().module()
    seen = model.observe(["sum(0)", "sum(1)", "sum(2)"])
    assert [seen[1].text(0), seen[1:].text(1)] == ["sum(1)", "sum(2)"]
    assert seen[[2, 0]].text(0) == "sum(2)"
    assert seen[torch.tensor([True, False, True])].text(1) == "sum(2)"
    assert [(seen[:1] + seen[2:]).text(i) for i in range(2)] == ["sum(0)", "sum(2)"]
    assert len(list(seen)) == 3


def test_observations_of_another_program_are_read_again() -> None:
    other = dpasp.loads("?::x. ?::y. #semantics maxent.").module()
    model = dpasp.loads("0.2::y. 0.3::x. #semantics maxent.").module()
    seen = other.observe(["x", "y", "x, not y"])
    assert model.log_prob(seen).exp().tolist() == pytest.approx([0.3, 0.2, 0.24])


# --- what networks give ------------------------------------------------------------------------


def test_columns_are_in_the_order_of_the_set() -> None:
    text = """
o(0..1) ~ test(@xs).
?::colour(X, {red, green, blue}) as @net :- o(X).
0.2::size(small); 0.5::size(large); 0.3::size(huge).
#semantics maxent.
"""
    net = Softmax()
    model = dpasp.loads(text, networks={"net": net}, data={"xs": ROWS}).module()
    data = {"o": ROWS}
    assert model.answers("colour(1,C)") == ("colour(1,red)", "colour(1,green)", "colour(1,blue)")
    assert torch.allclose(model.value("colour(1,C)", data), net(ROWS[:, 1]), atol=1e-6)
    assert model.answers("colour(X,C)")[3:5] == ("colour(1,red)", "colour(1,green)")
    assert model.value("size(S)", data)[0].tolist() == pytest.approx([0.2, 0.5, 0.3])
    pairs = model.answers("colour(0,C), size(S)")
    assert pairs[:2] == ("colour(0,red), size(small)", "colour(0,red), size(large)")


class Fixed(nn.Module):
    def __init__(self, *row: float) -> None:
        super().__init__()
        self.row = row

    def forward(self, rows: Tensor) -> Tensor:
        return torch.tensor([self.row] * len(rows))


def test_outputs_slightly_off_are_clamped_and_scaled() -> None:
    net = Fixed(1.00005, -0.00005, 0.0)
    program = dpasp.loads(ADD, networks={"net": net}, data={"xs": ROWS})
    found = program.module().value("sum(Z)", {"img": ROWS})
    assert found[0].tolist() == [1, 0, 0, 0, 0]
    assert program.query("sum(1)")[0].value.tolist() == [0] * 4  # type: ignore[union-attr]


def test_how_far_off_outputs_may_be() -> None:
    """A ten-thousandth in single precision, and no more than rounding explains in others."""
    assert tolerance(torch.float32) == tolerance(torch.float64) == 1e-4
    assert tolerance(torch.float16) == 8 * 2.0**-10
    assert tolerance(torch.bfloat16) == 8 * 2.0**-7


@pytest.mark.parametrize("row", [(1.0003, 0.0, 0.0), (0.9997, 0.0, 0.0), (1.0003, -0.0003, 0.0)])
def test_outputs_further_off_are_refused(row: tuple[float, ...]) -> None:
    program = dpasp.loads(ADD, networks={"net": Fixed(*row)}, data={"xs": ROWS})
    with pytest.raises(dpasp.DataError, match="is not a distribution"):
        program.query("sum(1)")


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision(dtype: torch.dtype) -> None:
    model = add().module().to(dtype)
    rows = ROWS.to(dtype)
    found = model.value("sum(Z)", {"img": rows})
    assert found.dtype == torch.float32
    assert torch.allclose(found.sum(1), torch.ones(4), atol=1e-6)
    (-model.log_prob([2, 2, 2, 2], {"img": rows}, query="sum(Z)").mean()).backward()


def test_autocast() -> None:
    model = add().module()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = -model.log_prob([2, 2, 2, 2], {"img": ROWS}, query="sum(Z)").mean()
    loss.backward()  # type: ignore[no-untyped-call]
    assert all(p.grad is not None for p in model.parameters())


def test_probabilities_stay_in_double_precision() -> None:
    model = dpasp.loads("?::a. 0.1::b; ?::c. #semantics maxent.").module().half()
    assert model.prob("b").item() == 0.1
    assert model.probabilities.logits.dtype == torch.float64


def test_values_and_bounds() -> None:
    program = dpasp.loads("0.3::a. p :- a, not q. q :- a, not p.")
    bounds = program.module("credal").bounds("p")
    assert (bounds.lower.item(), bounds.upper.item()) == pytest.approx((0, 0.3))
    with pytest.raises(dpasp.UsageError, match="lower and an upper"):
        program.module("credal").value("p")
    assert program.module("maxent").value("p").item() == pytest.approx(0.15)
    assert program.module("maxent").bounds("p").lower.item() == pytest.approx(0.15)


# --- copies ------------------------------------------------------------------------------------


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))])
def test_programs_are_copied_with_what_they_learned(copied: Any) -> None:
    program = dpasp.loads("?::a. b :- a, n. n. #const k = 1. #query b.", constants={"k": 2})
    program.learn([["a"], ["a"], ["a"], ["not a"]], semantics="maxent")
    twin = copied(program)
    assert twin.query()[0].lower == pytest.approx(0.75)
    assert twin.constants == {"k": "2"}
    twin.learn([["a"], ["not a"]])
    assert twin.query()[0].lower == pytest.approx(0.5)
    assert program.query()[0].lower == pytest.approx(0.75)


def test_modules_are_saved_whole() -> None:
    model = add().module()
    model.train()
    wanted = model.value("sum(Z)", {"img": ROWS})
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    twin = torch.load(file, weights_only=False)
    assert torch.equal(twin.value("sum(Z)", {"img": ROWS}), wanted)
    assert twin.training
    assert twin.nets[0].module is not model.nets[0].module


def test_a_process_of_its_own() -> None:
    from joblib import Parallel, delayed

    program = dpasp.loads("0.3::a. 0.5::b. #semantics maxent.")
    found = Parallel(n_jobs=2)(delayed(_ask)(program, atom) for atom in "ab")
    assert found == pytest.approx([0.3, 0.5])


def _ask(program: dpasp.Program, atom: str) -> Any:
    return program.query(atom)[0].value


def test_errors_are_pickled_with_their_diagnostics() -> None:
    with pytest.raises(dpasp.ProgramError) as caught:
        dpasp.loads("a. 1.5::b.")
    again = pickle.loads(pickle.dumps(caught.value))
    assert again.diagnostics == caught.value.diagnostics
    shown = str(again)
    assert "  1 | a. 1.5::b.\n    |    ^^^" in shown
    assert "help: a probability lies between" in shown


def test_no_data_statement_where_data_comes_with_the_call() -> None:
    text = ADD.replace("img(0..1) ~ test(@xs), train(@xs).", "img(0..1).")
    net = Softmax()
    program = dpasp.loads(text, networks={"net": net})
    wanted = expected(net).detach()
    model = program.module()
    assert torch.allclose(model.value("sum(Z)", {"img": ROWS}), wanted, atol=1e-6)
    found = program.query("sum(1)", data={"img": ROWS})[0].value
    assert found == pytest.approx(wanted[:, 1].numpy(), abs=1e-6)
    program.learn(["sum(0)"] * 4, data={"img": ROWS}, niters=1)
    with pytest.raises(dpasp.DataError, match=r"img\(0\) has no test data") as refused:
        program.query()
    assert "pass data=" in refused.value.diagnostics[0].help
    with pytest.raises(dpasp.DataError, match=r"img\(0\) has no rows of test data"):
        program.query(data={"img(0)": [], "img(1)": []})
    with pytest.raises(dpasp.DataError, match="rows that do not form a tensor"):
        program.module().log_prob(([[1], [1, 0]], ["a"]), {"img": ROWS}, query="sum(Z)")


@pytest.mark.parametrize("body", ["other(X)", "img(X), valid(X)", "X = 0..1"])
def test_what_the_network_sees_must_be_clear(body: str) -> None:
    text = f"img(0..1). valid(0..1). ?::digit(X, {{0..2}}) as @net :- {body}."
    with pytest.raises(dpasp.ProgramError) as refused:
        dpasp.loads(text, networks={"net": Softmax()})
    assert refused.value.diagnostics[0].code == "data-missing"
    declared = "declare those that it sees, img(…) ~ test(@img). valid(…) ~ test(@valid)."
    assert (declared in refused.value.diagnostics[0].help) == ("valid" in body)
