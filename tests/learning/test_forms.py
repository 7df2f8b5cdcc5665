"""Neural predicates as people write them: any arity, several inputs, outcomes in bodies, truth."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import dpasp
from dpasp.errors import DataError, ProgramError, UsageError
from dpasp.learning.module import ProgramModule

PYTHON = """
#python
import torch
class Same(torch.nn.Module):
    def forward(self, x): return x
class Pair(torch.nn.Module):
    def forward(self, a, b): return torch.stack([a[:, 0] * b[:, 0], 1 - a[:, 0] * b[:, 0]], 1)
def same(): return Same()
def pair(): return Pair()
def rows(*which): return torch.full((2, 2), 0.5)
def grid(): return torch.full((2, 6, 2), 0.5)
#end.
#semantics maxent.
"""


def module(text: str) -> ProgramModule:
    return dpasp.loads(PYTHON + text, python=True).module()


def distributions(*shape: int) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.rand(*shape, 2, generator=generator).softmax(-1)


CELLS = [
    "cell(0..1,0..2) ~ test(@grid).",
    "cell(X,Y) ~ test(@rows(X,Y)) :- X = 0..1, Y = 0..2.",
    "cell(0..1,0..2).",  # the data comes with every call
]


@pytest.mark.parametrize("cells", CELLS)
def test_data_predicates_have_any_arity(cells: str) -> None:
    model = module(f"{cells} ?::d(X,Y,{{no,yes}}) as @same :- cell(X,Y).")
    x = distributions(4, 6)
    found = model.prob("d(X,Y,yes)", {"cell": x})
    assert isinstance(found, Tensor)
    assert model.answers("d(X,Y,yes)")[4] == "d(1,1,yes)"
    torch.testing.assert_close(found, x[:, :, 1])
    grid = x.unflatten(1, (2, 3))
    torch.testing.assert_close(model.prob("d(X,Y,yes)", {"cell": grid}), found)
    with pytest.raises(DataError, match="stands for 6 atoms") as refused:
        model.prob("d(X,Y,yes)", {"cell": grid.transpose(1, 2)})
    assert "[rows, 6, …] or [rows, 2, 3, …]" in refused.value.diagnostics[0].help
    one = {f"cell({i},{j})": x[:, 3 * i + j] for i in range(2) for j in range(3)}
    torch.testing.assert_close(model.prob("d(X,Y,yes)", one), found)
    labels = torch.tensor([[0, 1, 1, 0, -100, 1]] * 4)
    seen = x.gather(2, labels.clamp(min=0)[:, :, None])[:, [0, 1, 2, 3, 5], 0].prod(1)
    torch.testing.assert_close(model.log_prob(labels, {"cell": x}, "d(X,Y,D)").exp(), seen)


def test_a_data_predicate_has_one_arity_and_arguments() -> None:
    with pytest.raises(ProgramError, match="2 arguments in another data statement"):
        module("c(0,1) ~ test(@rows). c(0) ~ test(@rows). ?::d(X,{a,b}) as @same :- c(X).")
    for wrong in ("c ~ test(@rows).", "c(0;1) ~ test(@rows)."):
        with pytest.raises(ProgramError, match="has arguments that say which object it is"):
            module(wrong)


def test_an_atom_of_the_same_name_and_another_arity_is_no_data() -> None:
    model = module("c(0) ~ test(@rows). c(0,5). ?::d(X,{a,b}) as @same :- c(X), c(X,Y), Y > 3.")
    x = distributions(3)
    torch.testing.assert_close(model.prob("d(0,b)", {"c(0)": x}), x[:, 1:])


def test_several_data_predicates_are_several_inputs() -> None:
    model = module(
        "l(0..1) ~ test(@grid). r(0..2) ~ test(@grid). "
        "?::d(X,Y,{yes,no}) as @pair :- l(X), r(Y), X != Y."
    )
    left, right = distributions(3, 2), distributions(3, 3)
    found = model.prob("d(0,2,yes)", {"l": left, "r": right})
    torch.testing.assert_close(found, left[:, 0, :1] * right[:, 2, :1])
    assert len(model.answers("d(X,Y,yes)")) == 4


OUTCOMES = [
    "?::on(I,L) as @same :- i(I), L = 0..3.",
    "lab(0..3). ?::on(I,L) as @same :- i(I), lab(L).",
    "?::on(I; {0..3}) as @same :- i(I).",
]


@pytest.mark.parametrize("statement", OUTCOMES)
def test_outcomes_may_stand_in_the_body(statement: str) -> None:
    model = module(f"i(0..1) ~ test(@grid). {statement}")
    x = torch.rand(3, 2, 4, generator=torch.Generator().manual_seed(0))
    found = model.prob("on(I,L)", {"i": x})
    assert isinstance(found, Tensor)
    assert model.answers("on(I,L)")[6] == "on(1,2)"
    torch.testing.assert_close(found, x.reshape(3, 8))
    joint = model.value("on(0,0), on(0,1)", {"i": x})  # they are independent given the row
    torch.testing.assert_close(joint[:, 0], x[:, 0, 0] * x[:, 0, 1])


def test_outcomes_in_the_body_with_values() -> None:
    model = module("i(0) ~ test(@rows). ?::on(I,L,{no,yes}) as @same :- i(I), L = 0..2.")
    x = distributions(4, 3)
    torch.testing.assert_close(model.prob("on(0,L,yes)", {"i(0)": x}), x[:, :, 1])


def test_one_output_a_row_is_shared_by_what_the_body_lists() -> None:
    model = module("i(0) ~ test(@rows). ?::on(I,L) as @same :- i(I), L = 0..3.")
    x = torch.rand(3, 1, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(model.prob("on(0,L)", {"i(0)": x}), x.expand(-1, 4))


def test_a_wrong_output_is_told_both_shapes() -> None:
    model = module("i(0) ~ test(@rows). ?::on(I,L) as @same :- i(I), L = 0..3.")
    with pytest.raises(DataError, match="3 × 4, or 3 × 1 to use for every outcome"):
        model.prob("on(0,L)", {"i(0)": torch.rand(3, 5)})


# --- truth values ------------------------------------------------------------------------------

FLAGS = "i(0..2) ~ test(@grid). ?::b(I) as @same :- i(I). flag :- b(0), not b(1)."


def test_truth_values_say_whether_an_atom_holds() -> None:
    model = module(FLAGS)
    x = torch.rand(4, 3, 1, generator=torch.Generator().manual_seed(0))
    flag = torch.tensor([True, False, False, True])
    p = x[:, 0, 0] * (1 - x[:, 1, 0])
    expected = torch.where(flag, p, 1 - p)
    for seen in (flag, flag, flag.numpy(), flag.tolist(), flag[:, None]):
        torch.testing.assert_close(model.log_prob(seen, {"i": x}, "flag").exp(), expected)
    both = model.log_prob(~flag, {"i": x}, "not flag").exp()
    torch.testing.assert_close(both, expected)
    table = torch.tensor([[True, False, True]] * 4)
    each = torch.where(table, x[:, :, 0], 1 - x[:, :, 0]).prod(1)
    for _ in range(2):
        torch.testing.assert_close(model.log_prob(table, {"i": x}, "b(I)").exp(), each)
        torch.testing.assert_close(model.log_prob(table, {"i": x}, ["b(I)"]).exp(), each)


def test_truth_values_that_do_not_fit() -> None:
    model = module(FLAGS)
    data = {"i": torch.rand(2, 3, 1)}
    with pytest.raises(DataError, match="for 3 objects"):
        model.log_prob(torch.tensor([True, False]), data, "b(I)")
    with pytest.raises(UsageError, match="is not one atom"):
        model.log_prob(torch.tensor([True, False]), data, "b(0), b(1)")
    with pytest.raises(DataError, match=r"labels\.bool") as error:
        model.log_prob(torch.tensor([1, 0]), data, "flag")
    assert "columns 0 to 0" in str(error.value)


# --- precision ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (torch.float16, torch.float32),
        (torch.bfloat16, torch.float32),
        (torch.float32, torch.float32),
        (torch.float64, torch.float64),
    ],
)
def test_results_follow_the_networks(given: torch.dtype, expected: torch.dtype) -> None:
    model = module("?::q. i(0) ~ test(@rows). ?::d(I,{a,b}) as @same :- i(I), q.")
    x = torch.full((2, 2), 0.5, dtype=given)
    assert model.value("d(0,a)", {"i(0)": x}).dtype is expected
    assert model.log_prob(["d(0,a)", "d(0,b)"], {"i(0)": x}).dtype is expected
    assert model.half().probabilities.logits.dtype is torch.float64


MISTAKEN = {
    "one input for two data predicates": (
        "cell(0..1,0..2) ~ test(@grid). ?::like(X, {yes,no}) as @same :- cell(X,Y), cell(Y,X).",
        {"cell": distributions(4, 6)},
        "called with 2 tensors: 16 × 2 (torch.float32) and 16 × 2 (torch.float32)",
    ),
    "rows of the only atom": (
        "img(0) ~ test(@rows). ?::like(X, {yes,no}) as @same :- img(X).",
        {"img": distributions(4)},
        '[rows, 1, …], or the data of each atom: {"img(0)": rows}',
    ),
    "a variable in place of values": (
        "img(0) ~ test(@rows).\n?::like(X, V) as @same :- img(X).",
        {"img(0)": distributions(4)},
        "in its head, as in f(X, {0..9}), or bind V in the body for several outcomes: V = 0..7",
    ),
}


@pytest.mark.parametrize("kind", MISTAKEN)
def test_mistakes_name_the_form_that_works(kind: str) -> None:
    text, data, help = MISTAKEN[kind]
    with pytest.raises((DataError, ProgramError)) as refused:
        module(text).prob("like(0,V)", data)
    assert help in refused.value.diagnostics[0].help
