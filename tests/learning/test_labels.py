"""Labels as tensors: looked up in a table, inside ``torch.compile``, and as wrong as elsewhere."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor, nn

import dpasp
from dpasp.errors import DataError
from dpasp.learning.module import ProgramModule
from dpasp.learning.observations import LeafLabels

PYTHON = """
#python
import torch
def net(): torch.manual_seed(0); return torch.nn.Linear(5, 3)
def rows(): return torch.zeros(1, 5)
#end.
"""
RULES = """
s(I, A + B) :- d(I, A), d(I + 1, B).
total(S) :- S = #sum{D,I : d(I, D)}.
even(I) :- d(I, D), D \\ 2 = 0.
#semantics maxent.
"""


def model(count: int = 3, more: str = "", network: str = "") -> ProgramModule:
    inputs = "".join(f"x({i}) ~ test(@rows).\n" for i in range(count))
    neural = network or "?::d(I,{0..2}) as @net with logits :- x(I).\n"
    return dpasp.loads(PYTHON + inputs + neural + RULES + more, python=True).module()


def images(rows: int, count: int = 3) -> Tensor:
    return torch.randn(rows, count, 5, generator=torch.Generator().manual_seed(1))


def results(ask: Callable[[], Tensor], module: nn.Module) -> list[Tensor]:
    module.zero_grad()
    logs = ask()
    logs.sum().backward()  # type: ignore[no-untyped-call]
    return [logs.detach(), *(p.grad for p in module.parameters() if p.grad is not None)]


LABELS = [
    ("total(S)", [0, 3, 6, 2], ["total(0)", "total(3)", "total(6)", "total(2)"]),
    ("s(I,S)", [[0, 1], [4, -100]], [["s(0,0)", "s(1,1)"], ["s(0,4)"]]),
    ("d(I,D)", [[0, 1, 2], [-100, 2, 2]], [["d(0,0)", "d(1,1)", "d(2,2)"], ["d(1,2)", "d(2,2)"]]),
    (["total(S)", "d(0,D)"], [[3, 1], [2, -100]], [["total(3)", "d(0,1)"], ["total(2)"]]),
]


@pytest.mark.parametrize(("query", "labels", "said"), LABELS)
@pytest.mark.parametrize("more", ["", ":- even(0), even(1)."])
def test_labels_say_what_literals_say(
    query: str, labels: list[int], said: list[str], more: str
) -> None:
    x, table = images(len(labels)), torch.tensor(labels)
    module = model(more=more)
    expected = results(lambda: model_log(module, said, x), module)
    other = model(more=more)
    for numbers in (table, table, table.to(torch.int32), table.flip(0).flip(0)):
        found = results(lambda n=numbers: other.log_prob(n, {"x": x}, query), other)  # type: ignore[misc]
        for one, another in zip(found, expected, strict=True):
            torch.testing.assert_close(one, another, rtol=1e-5, atol=1e-6)  # single precision


def model_log(module: ProgramModule, said: list[str], x: Tensor) -> Tensor:
    return module.log_prob(said, {f"x({i})": x[:, i] for i in range(x.shape[1])})


def test_many_objects_are_leaves_and_new_labels_need_no_new_circuit() -> None:
    module = model(8)
    x = images(6, 8)
    generator = torch.Generator().manual_seed(2)
    for _ in range(3):
        labels = torch.randint(0, 5, (6, 7), generator=generator)
        said = [[f"s({i},{s})" for i, s in enumerate(row)] for row in labels.tolist()]
        found = module.log_prob(labels, {"x": x}, "s(I,S)")
        assert len(module.reader.distinct) <= 6  # those of the first time
        torch.testing.assert_close(found, model_log(model(8), said, x))


def test_labels_that_nobody_looked_at_say_the_same() -> None:
    """As they go to a GPU."""
    module, x, query = model(8), images(6, 8), "s(I,S)"
    labels = torch.randint(0, 5, (6, 7), generator=torch.Generator().manual_seed(2))
    labels[1, 2] = -100
    expected = module.log_prob(labels, {"x": x}, query)
    (table,) = module._labels.values()
    weights = module.weights({"x": x})
    (found,) = module._by_circuit(weights, LeafLabels(labels, table))
    torch.testing.assert_close(found.to(expected.dtype), expected)
    few = LeafLabels(labels, table)[torch.tensor([2, 3])]
    (some,) = module._by_circuit(weights[:, 2:4], few)
    torch.testing.assert_close(some.to(expected.dtype), expected[2:4])


@pytest.mark.parametrize("label", [-1, 7, -101, 10**6])
def test_a_wrong_label_is_refused_the_second_time_too(label: int) -> None:
    module = model()
    for labels in ([0, 1], [2, label]):
        ask = [torch.tensor(labels), {"x": images(2)}, "total(S)"]
        if label in labels:
            with pytest.raises(DataError, match="has the columns 0 to 6"):
                module.log_prob(*ask)  # type: ignore[arg-type]
        else:
            module.log_prob(*ask)  # type: ignore[arg-type]


class Own(nn.Module):
    """A model of one's own with a program inside."""

    def __init__(self, program: ProgramModule, query: str) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))
        self.program, self.query = program, query

    def forward(self, x: Tensor, seen: Tensor) -> Tensor:
        return self.program.log_prob(seen, {"x": x * self.scale}, self.query)


SOFTMAX = "?::d(I,{0..2}) as @soft :- x(I).\n"


@pytest.mark.parametrize("query", ["total(S)", "s(I,S)"])
@pytest.mark.parametrize("soft", [False, True])
def test_a_model_compiles_around_a_program(query: str, soft: bool) -> None:
    """In one graph, without a warning: warnings are errors here."""
    torch._dynamo.reset()
    module = model()
    if soft:
        python = PYTHON.replace(
            "#end.", "def soft(): return torch.nn.Sequential(net(), nn())\n#end."
        )
        python = python.replace(
            "import torch\n", "import torch\nnn = lambda: torch.nn.Softmax(1)\n"
        )
        inputs = "".join(f"x({i}) ~ test(@rows).\n" for i in range(3))
        module = dpasp.loads(python + inputs + SOFTMAX + RULES, python=True).module()
    labels = torch.tensor([3, 1] if query == "total(S)" else [[2, 3], [0, -100]])
    own = Own(module, query)
    compiled = torch.compile(own, fullgraph=True, backend="aot_eager")
    x = images(2)
    found = results(lambda: compiled(x, labels), own)
    for one, another in zip(found, results(lambda: own(x, labels), own), strict=True):
        torch.testing.assert_close(one, another, rtol=1e-9, atol=1e-9)


def test_logits_that_underflow_keep_their_digits_in_a_compiled_model() -> None:
    torch._dynamo.reset()
    own = Own(model(), "total(S)")
    compiled = torch.compile(own, fullgraph=True, backend="aot_eager")
    x, labels = images(2) * 1000, torch.tensor([0, 6])
    plain = results(lambda: own(x, labels), own)
    assert float(plain[0].min()) < -600
    for one, another in zip(results(lambda: compiled(x, labels), own), plain, strict=True):
        torch.testing.assert_close(one, another, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("listed", [list, np.array, pd.Series])
def test_texts_are_no_labels(listed: Callable[[list[str]], object]) -> None:
    reads = dpasp.loads("?::c(x); ?::c(y). #semantics maxent.").module()
    with pytest.raises(DataError, match="numbers of a query's answers, not texts such as 'x'"):
        reads.log_prob(listed(["x", "y"]), query="c(V)")
    with pytest.raises(DataError, match="labels are whole numbers"):
        reads.log_prob(torch.tensor(1), query="c(V)")


def test_outputs_that_are_no_distributions_are_refused_in_a_compiled_model() -> None:
    torch._dynamo.reset()
    own = Own(model(network="?::d(I,{0..2}) as @net :- x(I).\n"), "total(S)")
    compiled = torch.compile(own, fullgraph=True, backend="aot_eager")
    with pytest.raises(DataError, match="not a distribution"):
        compiled(images(2), torch.tensor([0, 1]))


class Tags(torch.nn.Module):
    """Gives 0.9, 0.2 and 0.6, as one probability each or as two."""

    def __init__(self, values: int) -> None:
        super().__init__()
        self.values = values

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        outputs = torch.tensor([[0.9, 0.2, 0.6]]).expand(len(images), 3)
        return torch.stack([1 - outputs, outputs], dim=-1) if self.values == 2 else outputs


@pytest.mark.parametrize(
    ("head", "values", "query"),
    [
        ("tag(I; {van, car, cat})", 1, "tag(0,L)"),
        ("tag(I, {no, yes}; {van, car, cat})", 2, "tag(0,yes,L)"),
    ],
)
def test_columns_are_in_the_order_of_outputs(head: str, values: int, query: str) -> None:
    text = f"img(0). ?::{head} as @net :- img(I). #semantics maxent."
    module = dpasp.loads(text, networks={"net": Tags(values)}).module()
    data, truth = {"img": torch.zeros(1, 1, 2)}, torch.tensor([[True, False, True]])
    assert module.answers(query)[0].endswith("van)")
    found = module.prob(query, data)
    assert isinstance(found, torch.Tensor)
    assert found[0].tolist() == pytest.approx([0.9, 0.2, 0.6])
    seen = module.log_prob(truth, data, query=query)
    assert seen.exp().tolist() == pytest.approx([0.9 * 0.8 * 0.6])
