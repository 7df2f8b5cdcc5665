"""Learning where some total choices have no model: likelihoods are given that there is one."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import Any

import pytest
import torch
from torch import Tensor

import dpasp
from dpasp.ground import GroundProgram, ground
from dpasp.inference.enumerate import enumerate_models
from dpasp.language import parse
from dpasp.language.ast import Logic, Probability
from dpasp.learning.ascents import Ascent, ascent_of
from dpasp.learning.likelihood import (
    Likelihood,
    Normalised,
    likelihood_of,
    log_probability,
)
from dpasp.learning.observations import ObservationReader, Observations, questions_of
from dpasp.learning.optimisers import leaf_groups, with_omitted
from dpasp.learning.options import learn_options
from dpasp.limits import UNLIMITED
from dpasp.semantics.leaves import layout
from dpasp.semantics.leaves import weights as leaf_weights
from dpasp.semantics.meaning import Meaning, Objective
from tests.oracle.generate import generate

EITHER = "?::a. ?::b. :- a, b. #query a. #query b."
SEEN = [["a", "not b"]] * 3 + [["b", "not a"]] * 3 + [["not a", "not b"]] * 4
BEST = 6 * math.log(0.3) + 4 * math.log(0.4)
RULES = {"fixpoint": 60, "lagrange": 200, "neurasp": 100, "gradient": 300}
MEANINGS = [Meaning(logic, probability) for logic in Logic for probability in Probability]  # type: ignore[arg-type]
PROGRAMS = 300


# --- against the enumeration -------------------------------------------------------------------


def constrained(seed: int) -> tuple[GroundProgram, Observations] | None:
    """A random program with one more constraint, and observations; None where intervals occur."""
    random, drawn = Random(seed), generate(seed)
    meaning = MEANINGS[seed % len(MEANINGS)]
    if drawn.credal or (meaning.logic is Logic.WELLFOUNDED and drawn.disjunctive):
        return None
    signs = ("", "not ")
    body = [random.choice(signs) + atom for atom in random.sample(drawn.atoms, 2)]
    one = ground(parse(f"{drawn}\n:- {', '.join(body)}."))
    if meaning.logic is not Logic.STABLE:
        signs = (*signs, "undef ")
    known = [str(symbol) for symbol in one.atoms if str(symbol) in drawn.atoms]
    rows = [
        [random.choice(signs) + atom for atom in random.sample(known, min(len(known), size))]
        for size in (1, 1, 2, 2, 3)
    ]
    return replace(one, evidence=()), ObservationReader(one).read(rows)


def columns_of(one: GroundProgram, columns: int, seed: int) -> Tensor:
    """Weights [leaves, columns] that sum to 1 for each choice; what is impossible stays so."""
    place, generator = layout(one.choices), torch.Generator().manual_seed(seed)
    weights = torch.rand(place.size, columns, generator=generator).double() + 0.05
    weights *= torch.from_numpy(leaf_weights(one))[:, None] != 0
    for i in range(len(one.choices)):
        weights[place.of(i)] /= weights[place.of(i)].sum(0)
    return weights


def enumerated(
    one: GroundProgram, meaning: Meaning, seen: Observations, lower: float, weights: Tensor
) -> tuple[Tensor, Tensor]:
    """P(O, consistent) [observations, columns] and P(consistent) [columns], by the reference."""
    asked = replace(one, questions=questions_of(seen.distinct))
    found = torch.from_numpy(enumerate_models(asked, meaning).masses(weights.numpy()).array())
    consistent, a, b, qe = found[0], found[1], found[2], found[5]
    joint = qe if meaning.maxent else lower * a + (1 - lower) * b
    sure = meaning.has_undefined_model
    return joint, torch.ones_like(consistent[0]) if sure else consistent[0]


@pytest.mark.parametrize(
    "block", [0, 1, *(pytest.param(block, marks=pytest.mark.slow) for block in range(2, 6))]
)
def test_likelihood_and_gradient_are_those_of_the_enumeration(block: int) -> None:
    normalised = 0
    for seed in range(block, PROGRAMS, 6):
        made = constrained(seed)
        if made is None:
            continue
        one, seen = made
        meaning, lower = MEANINGS[seed % len(MEANINGS)], (0.0, 0.5, 0.7, 1.0)[seed % 4]
        objective = Objective("hurwicz", lower)
        weights = columns_of(one, 2, seed)
        joint, given = enumerated(one, meaning, seen, lower, weights)
        if not given.all():  # no total choice has a model, and nothing was seen
            logs = likelihood_of(one, meaning, seen.distinct, objective).log(weights, seen.ids[:2])
            assert (logs[0] == -torch.inf).all()
            continue
        expected = (joint / given)[:, 0].log()
        ways = [likelihood_of(one, meaning, seen.distinct, objective)]
        ways.append(likelihood_of(one, meaning, seen.distinct, objective, few=0))
        counts = torch.arange(1.0, len(joint) + 1).double()
        for way in ways:
            normalised += isinstance(way, Normalised)
            logs, slopes = way.log_shared(weights[:, :1], counts)
            possible = joint[:, 0] > 0
            assert torch.equal(possible, logs.isfinite()), (seed, meaning)
            assert torch.allclose(logs[possible], expected[possible], atol=1e-10), (seed, meaning)
            # Of complete gradients: each mass is linear in each weight, so a step of 1 is exact.
            exact = torch.zeros_like(slopes)
            for leaf in range(len(weights)):
                moved = weights[:, :1].clone()
                moved[leaf] += 1
                more, of_more = enumerated(one, meaning, seen, lower, moved)
                rise = (more - joint[:, :1])[:, 0][possible] / joint[:, 0][possible]
                down = (of_more - given[:1]) / given[0]
                if not meaning.has_undefined_model:
                    rise = rise - down
                exact[leaf] = rise @ counts[possible]
            groups, none = leaf_groups(one), torch.zeros(1, dtype=torch.float64)
            if not meaning.has_undefined_model:  # there, what has no model is what is left of 1
                whole = with_omitted(slopes, weights[:, :1], groups, none)
                exact = with_omitted(exact, weights[:, :1], groups, none)
                some = weights[:, 0] > 0
                assert torch.allclose(whole[some], exact[some], atol=1e-8), (seed, meaning)
            column = way.log(weights, seen.ids[:2])
            two = (joint / given)[seen.ids[:2], torch.arange(2)]
            assert torch.allclose(column[0].exp(), two.clamp(min=0.0), atol=1e-10), (seed, meaning)
            tries = way.tries(weights, seen.ids[:2])
            if isinstance(way, Normalised):
                assert tries is not None
                assert torch.allclose(tries, 1 / given)
    assert normalised > 10


@pytest.mark.slow  # second derivatives by differences
def test_gradcheck_beside_constraints() -> None:
    text = (
        "0.3::a. 0.5::b. 0.2::x; 0.5::y. c :- not e. e :- not c. :- a, b. :- c, x. d :- c, not a."
    )
    one = ground(parse(text))
    for meaning in MEANINGS:
        # c is undefined there
        total = [] if meaning.logic is Logic.WELLFOUNDED else [["d"], ["x", "b"]]
        seen = ObservationReader(one).read([*total, ["not a"], ["a"]])
        way = likelihood_of(one, meaning, seen.distinct)
        for columns in (1, len(seen)):
            weights = columns_of(one, columns, 1).requires_grad_()

            def logs(w: Tensor, way: Likelihood = way, ids: Tensor = seen.ids) -> Tensor:
                return log_probability(w, way, ids)

            assert torch.autograd.gradcheck(logs, (weights,))
            assert torch.autograd.gradgradcheck(logs, (weights,))
        found, slopes = way.log(weights.detach().log(), seen.ids, by_logs=True)
        again, by_weights = way.log(weights.detach(), seen.ids)
        assert torch.allclose(found, again)
        assert torch.allclose(slopes, by_weights * weights.detach())


def test_log_prob_is_the_logarithm_of_prob() -> None:
    model = dpasp.loads("?::a. ?::b. :- a, b. #semantics maxent.").module()
    assert model.log_prob(["a"]).exp().item() == pytest.approx(1 / 3)
    assert model.prob("a").item() == pytest.approx(1 / 3)  # type: ignore[union-attr]
    text = "".join(f"0.{i}::a({i}). " for i in range(1, 8)) + ":- a(1), a(2). #semantics maxent."
    many = dpasp.loads(text).module()
    rows = [[f"{'' if n >> i & 1 else 'not '}a({i + 1})" for i in range(7)] for n in range(128)]
    assert many.log_prob(rows[:100]).exp().sum().item() < 1
    assert many.log_prob(rows).exp().sum().item() == pytest.approx(1.0)  # more of the same atoms


def test_a_program_that_is_always_consistent_is_not_divided() -> None:
    for text in ("?::a. b :- a.", "?::a. b :- a, not c. c :- a, not b.", "?::a. b; c :- a."):
        one = ground(parse(text))
        seen = ObservationReader(one).read([["a"], ["b"]])
        for few in (0, 64):
            way = likelihood_of(one, Meaning(), seen.distinct, few=few)
            assert way.joint is way


# --- learning ----------------------------------------------------------------------------------


@pytest.mark.parametrize("semantics", ["stable, credal", "stable, maxent", "partial, maxent"])
@pytest.mark.parametrize("rule", RULES)
def test_what_is_learned_answers_what_was_seen(rule: str, semantics: str) -> None:
    program = dpasp.loads(f"{EITHER} #semantics {semantics}.")
    history = program.learn(SEEN, alg=rule, niters=RULES[rule])
    found = program.module().bounds(["a", "b"])
    assert found.lower[0].tolist() == pytest.approx([0.3, 0.3], abs=1e-5)
    assert history[-1].log_likelihood == pytest.approx(BEST, abs=1e-8)


def test_batches_validation_and_tied_parameters() -> None:
    program = dpasp.loads(EITHER)
    history = program.learn(SEEN, batch=5, niters=400, alg="lagrange", lr=0.01, validation=0.2)
    assert history[-1].validation is not None
    assert program.query()[0].lower == pytest.approx(0.3, abs=0.1)
    tied = dpasp.loads("?::a(1..3). :- a(X), a(Y), X < Y. #query a(1).")
    rows = [["a(1)"]] * 2 + [["a(2)"]] * 2 + [["a(3)"]] * 2 + [["not a(1)", "not a(2)"]] * 0
    rows += [["not a(1)", "not a(2)", "not a(3)"]] * 4
    tied.learn(rows, niters=200)
    assert tied.query()[0].lower == pytest.approx(0.2, abs=1e-6)


def test_standard_errors_are_those_of_the_answers() -> None:
    """Two of ten throws of a die with three faces, whichever way its weights are written."""
    program = dpasp.loads("?::a. :- a, b. 0.5::b. #query a.")
    program.learn([["a"]] * 30 + [["not a"]] * 70, niters=200)
    # P(a) = p / 2 / (1 - p / 2) is 0.3, and the error of it that of 100 throws.
    [record] = program.learned()
    p = record["values"][0]
    assert p == pytest.approx(0.6 / 1.3, abs=1e-6)
    rate = 2 / (2 - p) ** 2  # of P(a) by p
    assert record["errors"][0] == pytest.approx(math.sqrt(0.3 * 0.7 / 100) / rate, rel=1e-4)


def test_learned_intervals_hold_what_was_learned() -> None:
    program = dpasp.loads(EITHER)
    program.learn(SEEN, imprecise=2, niters=100)
    for record in program.learned():
        value = record["values"][0]
        assert (10 * value / 12, (10 * value + 2) / 12) == pytest.approx(
            (record["lower"][0], record["upper"][0]), abs=1e-6
        )


@pytest.mark.parametrize("seed", range(40))
def test_expectation_maximisation_never_falls(seed: int) -> None:
    random = Random(seed)
    choices = "?::a. 0.3?::b. ?::c; ?::d; ?::e. ?::f(1..2)."
    atoms = ["a", "b", "c", "d", "e", "f(1)", "f(2)"]
    bodies = [
        ", ".join(random.choice(("", "not ")) + atom for atom in random.sample(atoms, 2))
        for _ in range(4)
    ]
    text = f"{choices} g :- {bodies[0]}. :- {bodies[1]}, not {random.choice(atoms)}. :- g, h. "
    text += f"h :- {bodies[2]}, not k. k :- {bodies[2]}, not h. h :- {bodies[3]}, g."
    semantics = random.choice(("stable", "partial", "lstable"))
    text += f"#semantics {semantics}, {random.choice(('credal', 'maxent'))}."
    program = dpasp.loads(text)
    rows = [[random.choice(("", "not ")) + atom] for atom in (*atoms, "h") for _ in range(2)]
    possible = program.module().log_prob(rows).isfinite().tolist()
    rows = [row for row, yes in zip(rows, possible, strict=True) if yes]
    objective = random.choice(("lower", "upper", "midpoint"))
    try:
        history = program.learn(rows, niters=15, objective=objective)
    except dpasp.DataError:  # of lower probability 0
        history = program.learn(rows, niters=15, objective="upper")
    values = [record.log_likelihood for record in history]
    assert all(after >= before - 1e-9 for before, after in pairwise(values))


NETWORK = """
#python
import torch
xs = torch.tensor([[1.0, 0.0], [0.0, 1.0]] * 40).double()
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.line = torch.nn.Linear(2, 3, bias=False).double()
        torch.nn.init.zeros_(self.line.weight)
    def forward(self, x): return torch.softmax(self.line(x), dim=1)
def net(): return Net()
def rows(): return xs
def labels(): return [[f"v({v})"] for v in (0, 1, 0, 1, 1, 2, 2, 2)] * 10
#end.
i(0) ~ test(@rows), train(@rows).
?::d(X, {0..2}) as @net with optim = "Adam", lr = 0.05 :- i(X).
0.5::u. :- d(0,0), u. v(Y) :- d(0,Y).
#semantics maxent. #learn @labels, niters = 150, batch = 80, display = "none".
#query v(X).
"""


@pytest.mark.parametrize("rule", ["lagrange", "neurasp", "gradient"])
def test_networks_learn_what_was_seen_of_each_row(rule: str) -> None:
    """Each of two pictures has its own probability of a model."""
    program = dpasp.loads(NETWORK, python=True)
    history = program.learn(alg=rule)
    found = program.module().prob("v(X)", {"i(0)": torch.eye(2).double()})
    wanted = torch.tensor([[0.5, 0.25, 0.25], [0.0, 0.5, 0.5]]).double()
    assert torch.allclose(found.detach(), wanted, atol=0.02)  # type: ignore[union-attr]
    seen = torch.tensor([0.5, 0.25, 0.25, 0.5, 0.5]).log() * torch.tensor([2.0, 1, 1, 2, 2])
    assert history[-1].log_likelihood == pytest.approx(10 * float(seen.sum()), abs=0.5)


def test_a_frozen_network_beside_probabilities() -> None:
    """Expectation maximisation counts the failures of each row with that row's probability."""
    text = (
        NETWORK.replace("?::d", "!::d")
        .replace("0.5::u", "?::u")
        .replace('with optim = "Adam", lr = 0.05 ', "")
    )
    program = dpasp.loads(text, python=True)
    history = program.learn(
        [["v(0)"], ["v(1)"]] * 10 + [["v(1)"], ["v(2)"]] * 30, alg="em", niters=80
    )
    values = [record.log_likelihood for record in history]
    assert all(after >= before - 1e-9 for before, after in pairwise(values))
    # P(v(0)) = (1 - u) / (3 - u) is 1/8.
    assert program.learned()[0]["values"][0] == pytest.approx(5 / 7, abs=1e-3)


# --- intervals ---------------------------------------------------------------------------------


def test_intervals_beside_constraints() -> None:
    text = "[0.2, 0.6]::i. ?::a. :- i, a. c :- a. c :- i. #query c."
    program = dpasp.loads(text)
    model = program.module(objective="lower")
    upper = program.module(objective="upper")
    answer = program.module().bounds("c")
    assert model.log_prob(["c"]).exp().item() == pytest.approx(answer.lower.item())
    assert upper.log_prob(["c"]).exp().item() == pytest.approx(answer.upper.item())
    seen = [["c"]] * 6 + [["not c"]] * 4
    best = 6 * math.log(0.6) + 4 * math.log(0.4)
    for rule, niters in (("fixpoint", 80), ("lagrange", 200)):
        found = dpasp.loads(text)
        history = found.learn(seen, alg=rule, objective="upper", niters=niters)
        values = [record.log_likelihood for record in history]
        assert values[-1] >= best - 1e-9
        if rule == "fixpoint":
            assert values == pytest.approx(sorted(values), abs=1e-9)
    one = ground(parse(text.replace("?::a", "0.3::a")))
    observed = ObservationReader(one).read([["c"], ["not c"], ["a"]])
    for lower in (0.0, 0.3, 1.0):
        way = likelihood_of(one, Meaning(), observed.distinct, Objective("hurwicz", lower))
        ends, learned = columns_of(one, 3, 5).split(2)

        def logs(w: Tensor, way: Likelihood = way, ends: Tensor = ends) -> Tensor:
            return log_probability(torch.cat([ends, w]), way, observed.ids)

        assert torch.autograd.gradcheck(logs, (learned.requires_grad_(),))
        assert torch.autograd.gradgradcheck(logs, (learned,))


# --- bounds and samples ------------------------------------------------------------------------

LINE = "?::x(1..14). :- x(X), x(X+1), x(X+3), not y(X). 0.4::y(1..14). "
LINE += "far :- x(X), x(X+2), x(X+5). "
INNER = "?::x(1..6). {a(X)} :- x(X). :- a(X), a(X+1). :- x(X), x(X+1), x(X+2). far :- a(1;4)."
FAR = [["far"]] * 6 + [["not far"]] * 4


def ascending(text: str, **options: Any) -> tuple[Tensor, Any]:
    program = dpasp.loads(text)
    model = program.module()
    seen = ObservationReader(model.ground).read(FAR, "rows")
    options = learn_options(program.source, options)
    return model.weights().detach(), ascent_of(model, seen, options, UNLIMITED)


def moved_to(weights: Tensor, text: str, p: float) -> Tensor:
    """The weights with another probability in place of what is learned."""
    one = ground(parse(text))
    result = weights.clone()
    place = layout(one.choices)
    for i, choice in enumerate(one.choices):
        if hasattr(choice.weight, "parameter"):
            result[place.of(i)] = torch.tensor([[p], [1 - p]], dtype=torch.float64)
    return result


@pytest.mark.parametrize("probability", ["credal", "maxent"])
def test_a_bound_is_below_the_normalised_likelihood(probability: str) -> None:
    text = f"{LINE} #semantics {probability}."
    weights, exact = ascending(text, likelihood="exact")
    _, bound = ascending(text, likelihood="bound", nodes=120)
    assert bound.kind == "bound"
    assert isinstance(exact.likelihood, Normalised)
    widths, ones = [], torch.ones(2, dtype=torch.float64)
    for iteration in range(5):
        for p in (0.2, 0.5, 0.8):
            there = moved_to(weights, text, p)
            whole = exact.likelihood.log_shared(there, ones)[0]
            low, slopes = bound.likelihood.log_shared(there, ones)
            above = bound.above(there, torch.arange(2))
            assert (low <= whole + 1e-11).all()
            assert (whole <= low + above + 1e-9).all()
            widths.append(float(above.sum()))
            for leaf in (0, 3):
                ends = []
                for sign in (1, -1):
                    moved = there.clone()
                    moved[leaf] += sign * 1e-6
                    ends.append(float(bound.likelihood.log_shared(moved, ones)[0].sum()))
                assert float(slopes[leaf]) == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-5)
        bound = Ascent.by(bound.source.tightened(weights[:, 0].numpy(), iteration + 1))
    assert widths[0] > 0.01
    assert widths[-3:] <= widths[:3]


def test_bounds_and_samples_learn_beside_constraints() -> None:
    text = LINE
    wanted = dpasp.loads(text + "#query far. #semantics maxent.")
    wanted.learn(FAR, niters=60)
    expected = wanted.query()[0].value
    for options in ({"likelihood": "bound"}, {"likelihood": "sampled", "samples": 500, "seed": 2}):
        program = dpasp.loads(text + "#query far. #semantics maxent.")
        history = program.learn(FAR, niters=40, **options)
        assert program.query()[0].value == pytest.approx(expected, abs=0.03)
        values = [record.log_likelihood for record in history]
        if history.likelihood == "bound":
            assert values == pytest.approx(sorted(values), abs=1e-9)
    small = dpasp.loads(text + "#semantics maxent.").learn(
        FAR, niters=10, likelihood="bound", nodes=120
    )
    values = [record.log_likelihood for record in small]
    assert values == pytest.approx(sorted(values), abs=1e-9)


@pytest.mark.parametrize("text", [LINE, INNER], ids=["certain", "inner"])
def test_sampled_gradients_beside_constraints_are_unbiased(text: str) -> None:
    weights, exact = ascending(text + "#semantics maxent.", likelihood="exact")
    _, sampled = ascending(text + "#semantics maxent.", likelihood="sampled", samples=50, seed=3)
    counts = torch.tensor([0.6, 0.4], dtype=torch.float64)
    wanted, slopes = exact.likelihood.log_shared(weights, counts)
    drawn, logs = [], []
    for step in range(100):
        sampled.begin(0, step)
        log, slope = sampled.likelihood.log_shared(weights, counts)
        drawn.append(slope[:, 0])
        logs.append(log)
    # The circuit leaves out what does not matter: compare what is within the simplex.
    several = torch.stack(drawn)
    several, exactly = several[:, 0::2] - several[:, 1::2], (slopes[0::2] - slopes[1::2])[:, 0]
    error = several.std(dim=0) / len(drawn) ** 0.5 + 1e-12
    assert ((several.mean(dim=0) - exactly).abs() <= 4 * error).all()
    assert torch.allclose(torch.stack(logs).mean(dim=0), wanted, atol=0.1)
