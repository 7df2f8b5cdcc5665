"""The probability of observations: both ways and all evaluators agree."""

from __future__ import annotations

import math
import random
from itertools import product

import pytest
import torch
from torch import Tensor

import dpasp
from dpasp.circuits.gpu.walks import Walked
from dpasp.ground.grounding import ground
from dpasp.ground.program import GroundProgram
from dpasp.inference.enumerate import enumerate_models
from dpasp.language import parse
from dpasp.language.arguments import split_literals
from dpasp.language.ast import Logic, Probability
from dpasp.learning.likelihood import AsLeaves, AsRoots, likelihood_of, log_probability
from dpasp.learning.masses import CircuitEngine, masses, native_engine
from dpasp.learning.observations import ObservationReader
from dpasp.semantics import leaves
from dpasp.semantics.meaning import Meaning

FIELDS = ("consistent", "a", "b", "c", "d", "qe", "e")
TEXT = """
0.3::a. 0.6::b :- a. 0.4::c. 0.2::d; 0.5::e. f :- c, not d. f :- b. g :- f, e. :- d, a, b.
p :- c, not q. q :- c, not p. r :- e, p.
#query f. #query g | not d. #query p | a. #query r, not g | c.
"""


def program() -> GroundProgram:
    return ground(parse(TEXT))


def random_weights(one: GroundProgram, columns: int) -> Tensor:
    """Columns of weights that sum to 1 for each choice."""
    generator = torch.Generator().manual_seed(3)
    weights = torch.rand(leaves.layout(one.choices).size, columns, generator=generator).double()
    place = leaves.layout(one.choices)
    for i in range(len(one.choices)):
        weights[place.of(i)] /= weights[place.of(i)].sum(0)
    return weights


@pytest.mark.parametrize("logic", [Logic.STABLE, Logic.PARTIAL, Logic.LSTABLE])
def test_native_and_torch_agree(logic: Logic) -> None:
    one = program()
    engine = native_engine(one, Meaning(logic, Probability.MAXENT), one.questions)  # type: ignore[arg-type]
    layers = Walked(engine.circuit, torch.device("cpu"))
    weights = random_weights(one, 7)
    seeds = torch.randn(4, 7, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    values, slopes = engine.gradient(weights, seeds, FIELDS)
    again, same = layers.gradient(weights, seeds, FIELDS)
    assert torch.allclose(values, again, atol=1e-14)
    assert torch.allclose(slopes, same, atol=1e-12)
    assert torch.allclose(layers.traced(weights, FIELDS)[0], engine.traced(weights, FIELDS)[0])


@pytest.mark.parametrize("field", ["c", "d"])
def test_small_masses_are_not_what_is_left_of_large_ones(field: str) -> None:
    """P(evidence and not query) is 1e-20: a difference of numbers near 1 would be 0."""
    text = "0.5::x(1..3). q :- x(1). q :- s, not t. e :- x(2). e :- not x(2), x(3). e :- not x(3). "
    one = ground(parse(text + "0.5::s. t :- s, not u. u :- s, not t. #query q | e."))
    engine = native_engine(one, Meaning(Logic.STABLE, Probability.CREDAL), one.questions)  # type: ignore[arg-type]
    layers = Walked(engine.circuit, torch.device("cpu"))
    weights = [1.0 - 1e-20, 1e-20, 0.5, 0.5, 0.5, 0.5, 0.25, 0.75]
    tiny = torch.tensor(weights, dtype=torch.float64)[:, None]
    exact = engine.traced(tiny, (field,))[0]
    assert exact[0, 0, 0] == pytest.approx({"c": 0.75e-20, "d": 1e-20}[field], rel=1e-12, abs=0)
    assert torch.equal(layers.traced(tiny, (field,))[0], exact)
    seeds = torch.ones_like(exact)
    assert torch.allclose(
        layers.gradient(tiny, seeds, (field,))[1], engine.gradient(tiny, seeds, (field,))[1]
    )


@pytest.mark.parametrize("logic", [Logic.STABLE, Logic.PARTIAL, Logic.LSTABLE])
def test_the_enumerated_table_agrees(logic: Logic) -> None:
    one = program()
    engine = native_engine(one, Meaning(logic, Probability.MAXENT), one.questions)  # type: ignore[arg-type]
    table = enumerate_models(one, Meaning(logic, Probability.MAXENT))
    weights = random_weights(one, 5)
    expected = torch.from_numpy(table.masses(weights.numpy()).array()[: len(FIELDS)]).movedim(0, 1)
    assert torch.allclose(engine.traced(weights, FIELDS)[0], expected, atol=1e-14)


def test_a_head_cycle_is_enumerated() -> None:
    one = ground(parse("0.4::x. a; b :- x. a :- b. b :- a."))
    observed = ObservationReader(one).read(["a", "not b"])
    way = likelihood_of(one, Meaning(Logic.STABLE, Probability.MAXENT), observed.distinct)
    weights = torch.from_numpy(leaves.weights(one))[:, None]
    found = log_probability(weights, way, observed.ids).exp()
    assert torch.allclose(found, torch.tensor([0.4, 0.6], dtype=torch.float64))


@pytest.mark.parametrize("columns", [1, 4])
def test_total_choices_without_models_are_observed_as_undefined(columns: int) -> None:
    one = ground(parse("0.4::x. a :- x, not a. 0.3::y."))
    seen = [["undef a"], ["y"], ["not a"], ["undef a", "undef y"]]
    observed = ObservationReader(one).read(seen)
    way = likelihood_of(one, Meaning(Logic.SMPROBLOG, Probability.MAXENT), observed.distinct)
    weights = torch.from_numpy(leaves.weights(one))[:, None].expand(-1, columns).clone()
    found = log_probability(weights, way, observed.ids).exp()
    assert torch.allclose(found, torch.tensor([0.4, 0.18, 0.6, 0.4], dtype=torch.float64))
    weights.requires_grad_()
    assert torch.autograd.gradcheck(lambda w: log_probability(w, way, observed.ids), (weights,))
    assert torch.autograd.gradgradcheck(lambda w: log_probability(w, way, observed.ids), weights)


def test_more_observations_of_the_same_atoms_need_no_other_circuit() -> None:
    text = "".join(f"0.{i}::a({i}). " for i in range(1, 8)) + "0.2::b. c :- a(1), b."
    model = dpasp.loads(text).module()
    every = list(product((True, False), repeat=7))

    def names(signs: tuple[bool, ...]) -> list[str]:
        return [f"a({i})" if sign else f"not a({i})" for i, sign in enumerate(signs, 1)]

    expected = [
        math.prod(i / 10 if sign else 1 - i / 10 for i, sign in enumerate(signs, 1))
        for signs in every
    ]
    for part in (slice(0, 100), slice(100, 128)):  # more than are worth a root each
        found = model.log_prob([names(signs) for signs in every[part]]).exp()
        assert found.tolist() == pytest.approx(expected[part])
    assert len(model._groups) == 1
    assert model.log_prob([["c", "a(1)"]]).exp().item() == pytest.approx(0.02)
    assert len(model._groups) == 2


CYCLE = TEXT + "u; v :- c. u :- v, e. v :- u, e. w :- u, not d. #query u. #query w | e."


@pytest.mark.parametrize("logic", [Logic.STABLE, Logic.PARTIAL])
def test_gradients_through_a_head_cycle(logic: Logic) -> None:
    one = ground(parse(CYCLE))
    engine = native_engine(one, Meaning(logic, Probability.MAXENT), one.questions)  # type: ignore[arg-type]
    assert engine.circuit.statistics.way == "enumerated"
    weights = random_weights(one, 3).requires_grad_()
    assert torch.autograd.gradcheck(lambda w: masses(w, engine, FIELDS), (weights,))
    assert torch.autograd.gradgradcheck(lambda w: masses(w, engine, FIELDS), (weights,))
    walked = CircuitEngine(engine.circuit, Walked(engine.circuit, torch.device("cpu")))
    assert torch.autograd.gradgradcheck(lambda w: masses(w, walked, FIELDS), (weights,))
    table = enumerate_models(one, Meaning(logic, Probability.MAXENT))
    expected = torch.from_numpy(
        table.masses(weights.detach().numpy()).array()[: len(FIELDS)]
    ).movedim(0, 1)
    assert torch.allclose(engine.traced(weights, FIELDS)[0], expected, atol=1e-14)


@pytest.mark.parametrize("text", [TEXT, CYCLE])
def test_observations_as_roots_or_as_leaves(text: str) -> None:
    one = ground(parse(text))
    choose = random.Random(5)
    names = ["a", "b", "c", "d", "e", "f", "g"]
    given = []
    for _ in range(80):
        literals = [(name, choose.choice(["", "not ", None])) for name in names]
        given.append([f"{sign}{name}" for name, sign in literals if sign is not None])
    seen = ObservationReader(one).read(given)
    roots = likelihood_of(one, Meaning(Logic.STABLE, Probability.MAXENT), seen.distinct, few=1000)
    single = likelihood_of(one, Meaning(Logic.STABLE, Probability.MAXENT), seen.distinct, few=0)
    assert isinstance(roots.joint, AsRoots)
    assert isinstance(single.joint, AsLeaves)
    weights = random_weights(one, len(seen))
    first, second = roots.log(weights, seen.ids), single.log(weights, seen.ids)
    assert torch.allclose(first[0].exp(), second[0].exp(), atol=1e-14)
    counts = torch.bincount(seen.ids).double()
    together = roots.log_shared(weights[:, :1], counts), single.log_shared(weights[:, :1], counts)
    assert torch.allclose(together[0][0].exp(), together[1][0].exp())
    # Gradients differ by a constant for each choice, which no distribution feels.
    place = leaves.layout(one.choices)
    for i in range(len(one.choices)):
        own = weights[place.of(i)]
        for a, b in ((first[1], second[1]),):
            centred = [g[place.of(i)] - (own * g[place.of(i)]).sum(0) for g in (a, b)]
            assert torch.allclose(*centred, atol=1e-10)


def test_undetermined_atoms_are_roots() -> None:
    one = program()
    seen = ObservationReader(one).read(["p", "q"])
    assert isinstance(
        likelihood_of(one, Meaning(Logic.STABLE, Probability.MAXENT), seen.distinct, few=0).joint,
        AsRoots,
    )


def test_a_product_of_many_small_factors_does_not_vanish() -> None:
    one = ground(parse("1e-3::a(1..150). all :- a(X) : X = 1..150."))
    seen = ObservationReader(one).read(["all", "all"])
    way = likelihood_of(one, Meaning(Logic.STABLE, Probability.MAXENT), seen.distinct)
    weights = torch.from_numpy(leaves.weights(one))[:, None].expand(-1, 2).contiguous()
    logs, slopes = way.log(weights, seen.ids)
    assert torch.allclose(logs, torch.full((2,), 150 * math.log(1e-3)).double())
    assert torch.allclose(slopes[0], torch.tensor(1e3).double())


def test_literals_are_cut_at_commas() -> None:
    wanted = ("a", "not b(1,2)", 'not c("x,y")', "undef d")
    assert split_literals('a, not b(1,2), ~c("x,y"), undef d') == wanted  # fmt: skip


def test_equal_observations_are_kept_once() -> None:
    seen = ObservationReader(program()).read(["a, not b", ["not b", "a"], ["~b", "a", "a"], "a"])
    assert seen.ids.tolist() == [0, 0, 0, 1]
    assert seen.text(1) == "a, not b"
