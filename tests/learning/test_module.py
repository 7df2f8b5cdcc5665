"""A program as a torch module: values, gradients, and that it behaves like any other module."""

from __future__ import annotations

import copy
import math
import subprocess
import sys
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.utils.data import DataLoader, TensorDataset

import dpasp
from dpasp.learning.masses import Bounds
from dpasp.learning.module import ProgramModule

LOGICS = ("stable", "partial", "lstable", "smproblog", "wellfounded")
PROBABILITIES = ("maxent", "credal")

# The network is a softmax alone: the data are its logits, so gradients can be taken by them.
SOFTMAX = """
#python
import torch
def net(): return torch.nn.Softmax(1)
def rows(): return torch.zeros(4, 3)
#end.
i(0) ~ test(@rows), train(@rows).
i(1) ~ test(@rows), train(@rows).
?::d(X, {0..2}) as @net :- i(X).
"""
LOOPS = (
    SOFTMAX
    + """
0.3::x.  ?::y.
p :- d(0,0), not q.  q :- d(0,0), not p.
r :- d(0,1), x, not r.
s :- d(1,0).  s :- p, y.  t :- d(1,1), not s.
"""
)
SUM = SOFTMAX + "s(Z) :- d(0,X), d(1,Y), Z = X+Y. #semantics maxent."


def module(text: str, semantics: str | None = None, objective: str = "midpoint") -> ProgramModule:
    return dpasp.loads(text, python=True).module(semantics, objective)


def logits(rows: int = 3, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(2, rows, 3, dtype=torch.float64, generator=generator)


def data(x: Tensor) -> dict[str, Tensor]:
    return {"i(0)": x[0], "i(1)": x[1]}


def by_query(text: str, semantics: str, queries: list[str], x: Tensor) -> dpasp.Answers:
    """What inference answers with the networks' outputs written into the program."""
    probabilities = torch.softmax(x[:, 0], 1)
    facts = "".join(
        ";".join(f"{p!r}::d({i},{k})" for k, p in enumerate(row)) + ".\n"
        for i, row in enumerate(probabilities.tolist())
    )
    plain = text.partition("?::d(X, {0..2}) as @net :- i(X).\n")[2]
    return dpasp.loads(facts + plain.replace("?::y", "0.5::y")).query(*queries, semantics=semantics)


@pytest.mark.parametrize("probability", PROBABILITIES)
@pytest.mark.parametrize("logic", LOGICS)
def test_probabilities_are_those_of_inference(logic: str, probability: str) -> None:
    queries = ["p", "p | not q", "t, not p | s", "s | not x"]
    if logic != "stable":
        queries += ["undef r"]
    if logic in ("partial", "wellfounded"):  # under the others p is never undefined
        queries += ["s | undef p"]
    semantics, x = f"{logic}, {probability}", logits()
    model = module(LOOPS, semantics)
    with torch.no_grad():
        found = model.prob(queries, data(x))
    wanted = by_query(LOOPS, semantics, queries, x)
    for i, answer in enumerate(wanted):
        if isinstance(found, Bounds):
            assert float(found.lower[0, i]) == pytest.approx(answer.lower, abs=1e-12)
            assert float(found.upper[0, i]) == pytest.approx(answer.upper, abs=1e-12)
        else:
            assert float(found[0, i]) == pytest.approx(answer.value, abs=1e-12)


@pytest.mark.parametrize("probability", PROBABILITIES)
@pytest.mark.parametrize("logic", LOGICS)
def test_gradients_are_exact(logic: str, probability: str) -> None:
    model = module(LOOPS, f"{logic}, {probability}")
    queries = ["p | not q", "t | not x", "s"]
    seen = ["p", ["s", "not x"], ["not t"]]
    if logic != "stable":
        queries.append("undef r")
        seen[0] = "not s"

    def ask(x: Tensor, free: Tensor) -> tuple[Tensor, ...]:
        own = {"probabilities.logits": free}
        given = torch.func.functional_call(model, own, (seen, data(x)))
        asked = _call(model, own, lambda: model.prob(queries, data(x)))
        return (given, *(asked if isinstance(asked, Bounds) else (asked,)))

    x = logits().requires_grad_()
    free = torch.tensor([0.3, -0.2], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(ask, (x, free))
    assert torch.autograd.gradgradcheck(ask, (x, free))


def _call(
    model: ProgramModule, own: dict[str, Tensor], ask: Callable[[], Tensor | Bounds]
) -> Tensor | Bounds:
    """What a method gives with other parameters."""
    before = model.probabilities.logits
    del model.probabilities.logits
    model.probabilities.logits = own["probabilities.logits"]
    try:
        return ask()
    finally:
        del model.probabilities.logits
        model.probabilities.logits = before


def _by_logits(model: ProgramModule, *given: object) -> Callable[[Tensor], Tensor]:
    """log_prob of what is given, as a function of the parameters."""
    return lambda free: torch.func.functional_call(model, {"probabilities.logits": free}, given)


@pytest.mark.parametrize(
    "text",
    [
        "?::a. ?::b. c :- a, b. #semantics maxent.",
        "?::a; ?::b; ?::d. {e} :- a. c :- e. c :- b.",
        "?::a; ?::b. [0.2, 0.7]::z. {e} :- a. c :- e, z. c :- b.",  # at the extremes
    ],
)
@pytest.mark.parametrize("seen", [["c"], ["c", "not c", "c"]])
def test_second_derivatives_by_parameters(text: str, seen: list[str]) -> None:
    model = module(text)
    free = torch.linspace(-0.5, 0.7, len(model.probabilities.logits), dtype=torch.float64)
    free.requires_grad_()
    assert torch.autograd.gradgradcheck(_by_logits(model, seen), free)
    hessian = torch.autograd.functional.hessian(lambda f: _by_logits(model, seen)(f).sum(), free)
    assert isinstance(hessian, Tensor)
    assert hessian.abs().max() > 1e-3


def test_second_derivatives_with_labels_and_many_observations() -> None:
    model, x = module(SUM), logits(3).requires_grad_()
    labels = torch.tensor([2, 0, 4])
    assert torch.autograd.gradgradcheck(lambda z: model.log_prob(labels, data(z), "s(Z)"), x)
    text = "".join(f"?::a({i}). " for i in range(7)) + "b :- a(0), not a(1). c :- b, a(2)."
    many = module(text)
    signs = [[f"{'' if n >> i & 1 else 'not '}a({i})" for i in range(7)] for n in range(100)]
    free = torch.linspace(-1, 1, 14, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(_by_logits(many, signs), free)  # one circuit for all


def test_second_derivatives_where_probabilities_underflow() -> None:
    text = "n(1..40). ?::a(X) :- n(X). c :- a(X) : n(X). d :- n(1). ?::e. f :- c, e."
    model, seen = module(text), ["f", "c"]
    free = torch.tensor([-20.0, 10.0, 0.3, -0.1], dtype=torch.float64, requires_grad=True)
    logs = _by_logits(model, seen)
    assert logs(free)[1].item() == pytest.approx(-40 * math.log1p(math.exp(30)), rel=1e-14)
    assert torch.autograd.gradcheck(logs, free)
    assert torch.autograd.gradgradcheck(logs, free)


def test_third_derivatives_are_refused() -> None:
    model = module("?::a. ?::b. c :- a, b. #semantics maxent.")
    logits = model.probabilities.logits
    for ask in (lambda: model.value("c").sum(), lambda: model.log_prob(["c"]).sum()):
        (first,) = torch.autograd.grad(ask(), logits, create_graph=True)
        (second,) = torch.autograd.grad(first[0], logits, create_graph=True)
        with pytest.raises(dpasp.UsageError, match="third derivatives"):
            torch.autograd.grad(second[0], logits)


def test_each_row_has_its_own_observation() -> None:
    model, x = module(SUM), logits(5)
    seen = ["s(0)", ["d(0,1)", "not s(3)"], "s(4), d(0,2)", ["~s(0)"], []]
    found = model.log_prob(seen, data(x)).exp()
    p, q = torch.softmax(x, 2)
    expected = [
        p[0, 0] * q[0, 0],
        p[1, 1] * (1 - q[1, 2]),
        p[2, 2] * q[2, 2],
        1 - p[3, 0] * q[3, 0],
        torch.tensor(1.0),
    ]
    assert torch.allclose(found, torch.stack([e.double() for e in expected]), rtol=1e-12)


def test_observations_that_come_later_join_the_earlier_ones() -> None:
    model, x = module(SUM), logits(2)
    first = model.log_prob(["s(0)", "s(1)"], data(x))
    mixed = model.log_prob(["s(0)", "s(2)"], data(x))
    assert float(mixed[0]) == pytest.approx(float(first[0]))
    assert model.log_prob(["s(1)", "s(1)"], data(x))[1] == pytest.approx(float(first[1]))


def test_an_undefined_atom_can_be_observed() -> None:
    model = module(SOFTMAX + "r :- d(0,1), not r.", "partial, maxent")
    x = logits()
    found = model.log_prob(["undef r"] * 3, data(x)).exp()
    assert torch.allclose(found, torch.softmax(x[0], 1)[:, 1])


def test_log_prob_and_prob_are_given_that_there_is_a_model() -> None:
    model = module(SOFTMAX + ":- d(0,0).", "maxent")
    x = logits()
    p = torch.softmax(x[0], 1)
    wanted = p[:, 1] / (p[:, 1] + p[:, 2])  # of each row its own
    assert torch.allclose(model.log_prob(["d(0,1)"] * 3, data(x)).exp(), wanted)
    found = model.prob("d(0,1)", data(x))
    assert torch.allclose(found[:, 0], wanted)


def test_the_objective_under_credal() -> None:
    text = "0.6::a. p :- a, not q. q :- a, not p."
    found = {
        objective: module(text, "credal", objective).log_prob(["p"]).exp().item()
        for objective in ("lower", "upper", "midpoint")
    }
    assert found == pytest.approx({"lower": 0.0, "upper": 0.6, "midpoint": 0.3})


def test_intervals_are_taken_to_their_extremes() -> None:
    model = module(SOFTMAX + "[0.2, 0.7]::f. g :- f, d(0,0).", "credal")
    x = logits()
    found = model.prob(["g", "f | not g"], data(x))
    assert isinstance(found, Bounds)
    p = torch.softmax(x[0], 1)[:, 0]
    assert torch.allclose(found.lower[:, 0], 0.2 * p)
    assert torch.allclose(found.upper[:, 0], 0.7 * p)
    assert torch.allclose(found.upper[:, 1], 0.7 * (1 - p) / (1 - 0.7 * p))


def test_it_trains_with_a_loader_and_any_optimiser() -> None:
    torch.manual_seed(0)
    text = SUM.replace(
        "torch.nn.Softmax(1)", "torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Softmax(1))"
    )
    model = module(text)
    digits = torch.randint(0, 3, (300, 2))
    x = torch.nn.functional.one_hot(digits, 3).float()
    loader = DataLoader(TensorDataset(x[:, 0], x[:, 1], digits.sum(1)), batch_size=30)
    optimiser = torch.optim.RMSprop(model.parameters(), lr=0.05)
    for _ in range(8):
        for first, second, total in loader:
            labels = [f"s({n})" for n in total.tolist()]
            loss = -model(labels, {"i(0)": first, "i(1)": second}).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    best = model.prob("s(Z)", {"i(0)": x[:, 0], "i(1)": x[:, 1]}).argmax(1)
    assert bool((best == digits.sum(1)).all())


def test_its_state_moves_to_another_module() -> None:
    text = "?::a. 0.2?::b; ?::c. #semantics maxent."
    one, two = module(text), module(text)
    with torch.no_grad():
        one.probabilities.logits += torch.arange(4)
    two.load_state_dict(one.state_dict())
    assert torch.equal(two.prob("b"), one.prob("b"))
    assert torch.equal(copy.deepcopy(one).prob("c"), one.prob("c"))


def test_results_have_the_type_of_the_networks() -> None:
    model = module(SUM)
    assert model.prob("s(0)", data(logits())).dtype == torch.float64
    assert model.prob("s(0)", data(logits().float())).dtype == torch.float32
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = model.log_prob(["s(0)"] * 3, data(logits().float()))
    assert found.dtype == torch.float32
    assert found.isfinite().all()


def test_answers_are_named() -> None:
    model = module(SUM)
    assert model.answers("s(Z)") == ("s(0)", "s(1)", "s(2)", "s(3)", "s(4)")
    assert torch.allclose(model.prob("s(Z)", data(logits())).sum(1), torch.ones(3).double())


def test_an_impossible_observation_is_never_nan() -> None:
    model, x = module(SUM), logits().requires_grad_()
    found = model.log_prob(["s(0), s(1)", "s(1)", "s(2)"], data(x))
    assert found[0] == -torch.inf
    found[1:].sum().backward()
    assert x.grad is not None
    assert x.grad.isfinite().all()


@pytest.mark.parametrize(
    ("ask", "code"),
    [
        (lambda m: m.log_prob(["s(9)"], data(logits(1))), "observation-atom"),
        (lambda m: m.log_prob(["s("], data(logits(1))), "observation-syntax"),
        (lambda m: m.log_prob(["s(1)"], data(logits(2))), "data-length"),
        (lambda m: m.log_prob(["s(1)"], {"i(0)": logits(1)[0]}), "data-none"),
        (lambda m: m.prob("s(1)", {"j": logits(1)[0]}), "data-none"),
        (lambda m: m.prob("s(1)", {"i(0)": logits(1)[0], "i(1)": logits(2)[1]}), "data-length"),
    ],
)
def test_what_is_refused(ask: Callable[[ProgramModule], object], code: str) -> None:
    with pytest.raises(dpasp.DataError) as caught:
        ask(module(SUM))
    assert caught.value.diagnostics[0].code == code


@pytest.mark.parametrize(("text", "names"), [(SUM, "i(0), i(1)"), ("0.3::s(1).", "none")])
def test_a_name_that_is_no_data_atom(text: str, names: str) -> None:
    with pytest.raises(dpasp.DataError, match="j is not a data atom") as caught:
        module(text).prob("s(1)", {"j": logits(1)[0]})
    assert caught.value.diagnostics[0].help == f"it has: {names}"


def test_evidence_that_a_row_makes_impossible() -> None:
    with pytest.raises(dpasp.ImpossibleEvidence):
        module(SUM).prob("s(0) | d(0,0), d(0,1)", data(logits()))


CYCLE = (
    SOFTMAX
    + """
?::y.  0.3::x.
a; b :- d(0,0).  a :- b, y.  b :- a, y.  c :- a, not d(1,2).  u :- b, x.
"""
)


@pytest.mark.parametrize("probability", PROBABILITIES)
def test_a_head_cycle(probability: str) -> None:
    """Batches, observations of each row, and gradients, as for what is compiled."""
    model, x = module(CYCLE, f"stable, {probability}"), logits()
    found = model.prob(["c", "u | b", "a, b"], data(x))
    expected = by_query(CYCLE, f"stable, {probability}", ["c", "u | b", "a, b"], x)
    numbers = expected.to_numpy()
    if isinstance(found, Bounds):
        assert torch.allclose(found.lower[0], torch.from_numpy(numbers[:, 0]))
        assert torch.allclose(found.upper[0], torch.from_numpy(numbers[:, 1]))
    else:
        assert torch.allclose(found[0], torch.from_numpy(numbers))
    seen = ["a", "not b, c", "u"]
    by_logits = x.clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda z: model.log_prob(seen, data(z)), (by_logits,))


def test_learning_through_a_head_cycle() -> None:
    program = dpasp.loads("?::x. 0.2::y. a; b :- x. a :- b. b :- a. c :- a, not y.")
    program.learn([["a"]] * 3 + [["not b"]], alg="fixpoint", niters=3)
    assert program.learned()[0]["values"] == pytest.approx([0.75])
    assert program.query("c", semantics="maxent")[0].value == pytest.approx(0.6)


QUIET = """
import dpasp
model = dpasp.loads("0.5?::a. #semantics maxent.").module()
print(model.prob("a").item())
"""


@pytest.mark.slow
def test_a_script_that_used_a_module_ends_quietly() -> None:
    done = subprocess.run([sys.executable, "-c", QUIET], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0.5\n", "")
