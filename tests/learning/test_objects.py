"""One tensor for many objects: one line for N, labels for each, and examples that lack some."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import TensorDataset

import dpasp
from dpasp.learning.observations import UNSEEN
from tests.learning.test_door import Softmax

ADD = """
#const n = 2.
img(0..2*n-1).
?::digit(I, {0..2}) as @net :- img(I).
carry(n, 0).
column(I, A+B+C) :- digit(I, A), digit(n+I, B), carry(I+1, C).
s(I, Z \\ 3) :- column(I, Z).
carry(I, Z / 3) :- column(I, Z).
s(-1, C) :- carry(0, C).
#semantics maxent.
"""


def rows(batch: int, objects: int) -> Tensor:
    return torch.rand(batch, objects, 3, generator=torch.Generator().manual_seed(1))


def digits_of_sums(digits: Tensor) -> Tensor:
    """The digits, to the base of 3, of the sums of two numbers written side by side."""
    n = digits.shape[1] // 2
    powers = 3 ** torch.arange(n).flip(0)
    sums = (digits[:, :n] * powers).sum(1) + (digits[:, n:] * powers).sum(1)
    return torch.stack([sums // 3**i % 3 for i in range(n, -1, -1)], 1)


@pytest.mark.parametrize("n", [1, 2, 6])
def test_one_program_for_numbers_of_any_length(n: int) -> None:
    net = Softmax()
    model = dpasp.loads(ADD, networks={"net": net}, constants={"n": n}).module()
    digits = torch.cartesian_prod(*[torch.arange(3)] * min(2 * n, 4))
    digits = torch.cat([digits] * (2 * n), 1)[:, : 2 * n]
    images, labels = rows(len(digits), 2 * n), digits_of_sums(digits)
    found = model.log_prob(labels, {"img": images}, query="s(I,D)").exp()
    texts = [[f"s({i - 1},{d})" for i, d in enumerate(row)] for row in labels.tolist()]
    assert torch.allclose(found, model.log_prob(texts, {"img": images}).exp())
    if n == 1:  # by hand: all pairs of digits with that sum
        one, two = net(images[:, 0]), net(images[:, 1])
        both = (one[:, :, None] * two[:, None, :]).reshape(len(images), 9)
        sums = torch.tensor([a + b for a in range(3) for b in range(3)])
        wanted = (both * (sums == digits.sum(1)[:, None])).sum(1)
        assert torch.allclose(found, wanted.to(found), atol=1e-6)


def test_labels_of_objects_in_every_shape() -> None:
    model = dpasp.loads(ADD, networks={"net": Softmax()}).module()
    data = {"img": rows(2, 4)}
    labels = [[0, 2, 1, UNSEEN], [1, 1, 2, 0]]
    texts = ["digit(0,0), digit(1,2), digit(2,1)", "digit(0,1), digit(1,1), digit(2,2), digit(3,0)"]
    wanted = model.log_prob(texts, data)
    each = [f"digit({i},D)" for i in range(4)]
    shapes: list[tuple[Any, Any]] = [
        (torch.tensor(labels), "digit(I,D)"),
        (np.array(labels), "digit(I, D)."),
        (labels, "digit(I,D)"),
        ([[0, 2, 1], torch.tensor([1, 1, 2, 0])], "digit(I,D)"),
        (torch.tensor(labels), each),
    ]
    for given, query in shapes:
        assert torch.equal(model.log_prob(given, data, query=query), wanted)
    program = dpasp.loads(ADD, networks={"net": Softmax()})
    one = program.learn(torch.tensor(labels), data=data, query="digit(I,D)", niters=2)
    program = dpasp.loads(ADD, networks={"net": Softmax()})
    assert [r.log_likelihood for r in program.learn(texts, data=data, niters=2)] == [
        r.log_likelihood for r in one
    ]


def test_labels_are_in_the_order_of_the_set() -> None:
    text = "o(1..2). ?::c(I, {red, blue, green}) as @net :- o(I). #semantics maxent."
    net = Softmax()
    model = dpasp.loads(text, networks={"net": net}).module()
    images = rows(1, 2)
    found = model.log_prob([[2, 0]], {"o": images}, query="c(I,X)").exp()
    assert found.item() == pytest.approx((net(images[:, 0])[0, 2] * net(images[:, 1])[0, 0]).item())


def test_a_program_names_the_query_of_its_labels() -> None:
    text = """
    img(0..1) ~ test(@xs), train(@xs).
    ?::digit(X, {0..2}) as @net :- img(X).
    #semantics maxent.  #learn @labels, niters = 2, query = "digit(I,D)".
    #query digit(0,D).
    """
    labels = {"train": torch.tensor([[0, 1], [2, UNSEEN]]), "test": [[0], [2]]}
    program = dpasp.loads(
        text,
        networks={"net": Softmax()},
        data={"xs": rows(2, 2)},
        functions={"labels": lambda: labels},
    )
    assert len(program.learn()) == 2
    assert program.query().statistics["accuracy"]


@pytest.mark.parametrize(
    ("labels", "query", "message"),
    [
        (torch.tensor([[0, 1]]), "digit(I,D)", "2 labels for 4 objects"),
        ([[0] * 5], "digit(I,D)", "5 labels for 4 objects"),
        (torch.tensor([[0, 1, 3, 0]]), "digit(I,D)", "columns 0 to 2, but a label is 3"),
        (torch.tensor([[0, 1, -1, 0]]), "digit(I,D)", "a label is -1"),
        (torch.tensor([[2, 0, 0]]), "s(I,D)", "what cannot occur"),
        (torch.rand(1, 4), "digit(I,D)", "whole numbers"),
        (torch.tensor([[True]]), "digit(I,D)", "1 label for 12 objects"),
        (torch.tensor([[0, 1]]), "digit(I,D), s(I,D)", "does not say what a matrix"),
        (torch.tensor([[0, 1]]), "digit(D,D)", "does not say what a matrix"),
        (torch.tensor([[0, 1]]), "nothing(I,D)", "no atoms match"),
    ],
)
def test_labels_of_objects_that_do_not_fit_are_refused(
    labels: Any, query: str, message: str
) -> None:
    model = dpasp.loads(ADD, networks={"net": Softmax()}).module()
    with pytest.raises(dpasp.Error, match=message) as refused:
        model.log_prob(labels, {"img": rows(1, 4)}, query=query)
    assert refused.value.diagnostics[0].help


# --- examples that lack objects ----------------------------------------------------------------

SUM = """
#external img(0..2).
?::digit(I, {0..2}) as @net :- img(I).
sum(S) :- S = #sum{D, I : digit(I, D)}.
count(N) :- N = #count{I : img(I)}.
#semantics maxent.
"""
PARTS = [rows(1, 3)[0, :2], rows(2, 3)[1], torch.zeros(0, 3), rows(3, 3)[2, :1]]
MASK = torch.tensor([[1, 1, 0], [1, 1, 1], [0, 0, 0], [1, 0, 0]]).bool()


def padded(fill: float = 0.0) -> Tensor:
    full = torch.full((4, 3, 3), fill)
    for row, part in zip(full, PARTS, strict=True):
        row[: len(part)] = part
    return full


def sums_by_hand(net: nn.Module, part: Tensor) -> list[float]:
    """P(sum = 0, …, 6) of the digits in some images."""
    found = [1.0, *[0.0] * 6]
    for row in part:
        own = net(row[None])[0].tolist()
        found = [sum(own[d] * found[z - d] for d in range(3) if z >= d) for z in range(7)]
    return found


@pytest.mark.parametrize(
    "data",
    [
        PARTS,
        tuple(PARTS),
        [part.numpy() for part in PARTS],
        [part.tolist() for part in PARTS],
        (padded(), MASK),
        (padded(torch.nan), MASK.numpy()),  # what is not there is not looked at
        lambda: torch.nested.nested_tensor(PARTS, layout=torch.jagged),  # seconds to import
    ],
    ids=["list", "tuple", "arrays", "lists", "mask", "mask of numpy", "nested"],
)
def test_examples_may_lack_objects(data: Any) -> None:
    data = data() if callable(data) else data
    program = dpasp.loads(SUM, networks={"net": Softmax()})
    model, net = program.module(), program.module().nets[0].module
    found = model.value([f"sum({z})" for z in range(7)], {"img": data})
    wanted = torch.tensor([sums_by_hand(net, part) for part in PARTS])
    assert torch.allclose(found, wanted, atol=1e-6)
    assert model.value("count(N)", {"img": data}).argmax(1).tolist() == [2, 3, 0, 1]
    answers = program.query("sum(1)", data={"img": data})
    assert answers[0].value == pytest.approx(wanted[:, 1].numpy(), abs=1e-6)
    logs = model.log_prob([[0, 1], [2, 1, 0], [], [1]], {"img": data}, query="digit(I,D)")
    logs.sum().backward()  # type: ignore[no-untyped-call]
    assert logs[2] == 0
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


def test_fewer_objects_than_there_may_be() -> None:
    model = dpasp.loads(SUM, networks={"net": Softmax()}).module()
    data = rows(2, 2)
    wanted = model.value("sum(2)", {"img": list(data)})
    assert torch.equal(model.value("sum(2)", {"img": data}), wanted)
    each = {"img(0)": data[:, 0], "img(1)": data[:, 1]}
    assert torch.equal(model.value("sum(2)", each), wanted)
    assert model.value("count(0)").item() == 1  # without any data nothing is there


def test_examples_that_lack_objects_are_learned_from() -> None:
    seen = ["sum(1)", "sum(0)", "sum(0)", "sum(2)"]
    by_call = dpasp.loads(SUM, networks={"net": Softmax()})
    history = by_call.learn(seen, data={"img": PARTS}, niters=4, batch=2)
    assert history[-1].log_likelihood > history[0].log_likelihood
    text = SUM + "img(I) ~ test(@xs), train(@xs) :- I = 0..2. #query sum(1). #learn @seen."
    by_statement = dpasp.loads(
        text, networks={"net": Softmax()}, data={"xs": PARTS}, functions={"seen": lambda: seen}
    )
    again = by_statement.learn(niters=4, batch=2)
    assert [r.log_likelihood for r in again] == [r.log_likelihood for r in history]
    wanted = by_call.query("sum(1)", data={"img": PARTS})[0].value
    assert by_statement.query()[0].value == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("text", "data", "message", "help"),
    [
        (SUM.replace("#external ", ""), PARTS, "no data for img", "#external img"),
        (SUM.replace("#external ", ""), rows(2, 2), "3 atoms", "shape"),
        (SUM, rows(2, 4), "3 atoms", "shape"),
        (SUM, (padded(), MASK[:2]), "the mask has the shape 2 × 3", "mask"),
        (SUM, [torch.zeros(1, 3), torch.zeros(2, 4)], "differ in their shapes", "first dimension"),
    ],
)
def test_objects_that_do_not_fit_are_refused(text: str, data: Any, message: str, help: str) -> None:
    model = dpasp.loads(text, networks={"net": Softmax()}).module()
    with pytest.raises(dpasp.DataError, match=message) as refused:
        model.value("sum(0)", {"img": data})
    assert help in refused.value.diagnostics[0].help


# --- data statements with a body ---------------------------------------------------------------

BODY = "?::digit(I, {0..2}) as @net :- img(I). #semantics maxent. #query digit(I,0)."


@pytest.mark.parametrize(
    "statement",
    [
        "img(I) ~ test(@xs) :- I = 0..n-1.",
        "img(I) ~ test(@xs) :- object(I). object(0..n-1).",
        "img(0..n-1) ~ test(@xs).",
        "img(I) ~ test(@own(I)) :- I = 0..n-1.",
        "img(I) ~ test(@own(I-1)), train(@own(I)) :- I = 1..n. ",
    ],
)
@pytest.mark.parametrize("n", [1, 3])
def test_a_data_statement_with_a_body(statement: str, n: int) -> None:
    images = rows(2, n)
    given: dict[str, Any] = {}
    if "@xs" in statement:
        given["data"] = {"xs": images}
    else:
        given["functions"] = {"own": lambda i: images[:, i]}
    net = Softmax()
    program = dpasp.loads(
        f"#const n = 9. {statement} {BODY}", networks={"net": net}, constants={"n": n}, **given
    )
    found = np.stack([np.asarray(answer.value) for answer in program.query()])
    wanted = net(images.reshape(-1, 3))[:, 0].reshape(2, n).T
    assert found == pytest.approx(wanted.detach().numpy(), abs=1e-6)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("img(I) ~ test(@xs).", "nothing says which values I has"),
        ("img(I) ~ test(@xs) :- o(I). 0.5::o(1..2).", "depends on what is chosen"),
        ("img(0) ~ test(@xs(I)) :- I = 1..2.", "more than once"),
        ("img(I) ~ test(@xs(J)) :- I = 1..2.", "unsafe"),
        ("img(I) ~ test(@xs) :- I = 0..1. img(I) ~ test(@xs) :- I = 0..1.", "a second time"),
    ],
)
def test_bodies_that_do_not_say_which_data_are_refused(statement: str, message: str) -> None:
    with pytest.raises(dpasp.Error, match=message) as refused:
        dpasp.loads(
            f"{statement} {BODY}", networks={"net": Softmax()}, data={"xs": rows(2, 2)}
        ).query()
    assert refused.value.diagnostics[0].help


def test_objects_that_are_given_are_all_that_there_are() -> None:
    text = SUM + "img(0..2) ~ test(@xs), train(@xs). #query count(N)."
    program = dpasp.loads(text, networks={"net": Softmax()}, data={"xs": rows(2, 3)})
    own = {one.query: one.value for one in program.query()}
    assert np.asarray(own["count(3)"]).tolist() == [1, 1]
    fewer = {one.query: one.value for one in program.query(data={"img": rows(2, 1)})}
    assert np.asarray(fewer["count(1)"]).tolist() == [1, 1]


def test_a_dataset_holds_the_rows_of_one_atom() -> None:
    program = dpasp.loads(ADD, networks={"net": Softmax()})
    data = TensorDataset(rows(2, 4))
    with pytest.raises(dpasp.DataError, match="no rows for each of 4 atoms") as refused:
        program.learn(["s(0,0)", "s(0,1)"], data={"img": data}, niters=1)
    assert "img(0)" in refused.value.diagnostics[0].help
    each = {f"img({i})": TensorDataset(rows(2, 4)[:, i]) for i in range(4)}
    assert len(program.learn(["s(0,0)", "s(0,1)"], data=each, niters=1)) == 1
