"""The learning rules: what they are, what they keep, and that they find known parameters."""

from __future__ import annotations

import math
import random
from itertools import pairwise

import pytest
import torch

import dpasp
from dpasp.ground import ground
from dpasp.language import parse
from dpasp.learning.optimisers import (
    LeafGroups,
    direction,
    fixpoint,
    lagrange,
    leaf_groups,
    neurasp,
    with_omitted,
)
from dpasp.learning.weights import Parameters, onto_simplex

RULES = ("fixpoint", "lagrange", "neurasp", "gradient")
NONE = torch.zeros(5, dtype=torch.bool)
GROUPS = LeafGroups(torch.tensor([0, 0, 0, 1, 1]), torch.tensor([3, 2]), NONE, NONE)
ONE = torch.ones(1, dtype=torch.float64)


def slopes(columns: int = 4) -> torch.Tensor:
    generator = torch.Generator().manual_seed(2)
    return torch.rand(5, columns, dtype=torch.float64, generator=generator)


def distributions() -> torch.Tensor:
    return torch.tensor([[0.2, 0.3, 0.5, 0.6, 0.4]], dtype=torch.float64).T.expand(5, 4)


def test_the_lagrange_direction_sums_to_zero() -> None:
    assert torch.allclose(GROUPS.totals(lagrange(slopes(), GROUPS)), torch.zeros(5, 4).double())


def test_lagrange_is_the_formula_of_the_paper() -> None:
    g = slopes()[:3]
    expected = (1 - 1 / 3) * g[0] - (1 / 3) * (g[1] + g[2])
    assert torch.allclose(lagrange(slopes(), GROUPS)[0], expected)


def test_with_two_values_lagrange_is_half_of_neurasp() -> None:
    found = neurasp(slopes(), GROUPS)
    assert torch.allclose(lagrange(slopes(), GROUPS)[3:], found[3:] / 2)
    assert torch.allclose(found[0], slopes()[0] - slopes()[1] - slopes()[2])


def test_what_the_circuit_leaves_out_is_added() -> None:
    whole = with_omitted(slopes(), distributions(), GROUPS, ONE)
    assert torch.allclose(GROUPS.totals(distributions() * whole), torch.ones(5, 4).double())


@pytest.mark.parametrize(("rule", "times"), [("lagrange", 1.0), ("neurasp", 2.0)])
@pytest.mark.parametrize("normalised", [NONE[:3], ~NONE[:3]])
def test_through_a_softmax_the_rules_are_multiples_of_the_gradient(
    rule: str, times: float, normalised: torch.Tensor
) -> None:
    logits = torch.randn(3, 1, dtype=torch.float64, requires_grad=True)
    one = LeafGroups(GROUPS.choice[:3], GROUPS.sizes[:1], NONE[:3], normalised)
    weights = torch.softmax(logits, 0)
    g = slopes(1)[:3]
    plain = torch.autograd.grad(weights, logits, g, retain_graph=True)[0]
    mapped = direction(rule, g, weights.detach(), one, ONE)
    assert torch.allclose(torch.autograd.grad(weights, logits, mapped)[0], times * plain)


def test_a_boolean_network_gets_one_direction() -> None:
    text = """
#python
#end.
i(0) ~ train("x.csv").
?::e(X) as @m:net :- i(X).
"""
    own = leaf_groups(ground(parse(text)))
    g = torch.tensor([[3.0], [1.0]])
    p = torch.tensor([[0.5], [0.5]])
    assert direction("lagrange", g, p, own, torch.ones(1)).T.tolist() == [[1.0, 0.0]]
    assert direction("neurasp", g, p, own, torch.ones(1)).T.tolist() == [[2.0, 0.0]]
    assert direction("gradient", g, p, own, torch.ones(1)).T.tolist() == [[3.0, 1.0]]


def test_the_nearest_distribution() -> None:
    points = torch.randn(200, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    free = torch.ones_like(points, dtype=torch.bool)
    free[::3, 3] = False
    room = torch.full((200, 1), 0.8, dtype=torch.float64)
    found = onto_simplex(points, free, room)
    assert torch.allclose(found.sum(1, keepdim=True), room)
    assert bool((found >= 0).all())
    assert bool((found[~free] == 0).all())
    # It is nearest when no mass wants to move: p - x is the same for all that have some.
    gap = torch.where(found > 0, points - found, -torch.inf)
    rest = torch.where((found == 0) & free, points, -torch.inf)
    lowest = torch.where(found > 0, points - found, torch.inf).amin(1)
    assert torch.allclose(gap.amax(1), lowest)
    assert bool((rest.amax(1) <= lowest + 1e-12).all())


def test_what_is_set_to_nothing_is_nothing_however_little_room_there_is() -> None:
    parameters = Parameters(ground(parse("?::a; ?::b; 0.9::c.")).parameters)
    wanted = torch.tensor([[0.1, 0.0, 0.9]], dtype=torch.float64)
    parameters.assign(wanted)
    assert parameters()[0, 1] == 0
    assert torch.allclose(parameters(), wanted)


def test_fixed_values_keep_their_share() -> None:
    one = ground(parse("0.2::a; ?::b; 0.3?::c."))
    parameters = Parameters(one.parameters)
    assert torch.allclose(parameters(), torch.tensor([[0.2, 0.5, 0.3]]).double())
    parameters.project(torch.tensor([[0.9, 5.0, 0.1]]).double())
    assert torch.allclose(parameters(), torch.tensor([[0.2, 0.8, 0.0]]).double())
    counts = torch.tensor([[50.0, 30.0, 10.0]]).double()
    new = fixpoint(counts, parameters(), parameters.free, parameters.room, 0.0)
    assert torch.allclose(new, torch.tensor([[0.2, 0.6, 0.2]]).double())


# --- learning known parameters -----------------------------------------------------------------

NET = """
?::rain. ?::sprinkler(high); ?::sprinkler(low); ?::sprinkler(off).
?::wet :- rain.  wet :- sprinkler(high).
#semantics maxent.
"""


def sample_rain(count: int) -> list[list[str]]:
    """Observations of rain, the sprinkler and wet grass."""
    choose = random.Random(11)
    found = []
    for _ in range(count):
        rain = choose.random() < 0.3
        sprinkler = choose.choices(["high", "low", "off"], [0.2, 0.5, 0.3])[0]
        wet = sprinkler == "high" or (rain and choose.random() < 0.8)
        signs = [("rain", rain), ("wet", wet)]
        seen = [name if true else f"not {name}" for name, true in signs]
        found.append([*seen, f"sprinkler({sprinkler})"])
    return found


@pytest.mark.parametrize("rule", RULES)
def test_known_parameters_are_found_within_three_standard_errors(rule: str) -> None:
    program, count = dpasp.loads(NET), 2000
    program.learn(sample_rain(count), alg=rule, niters=400 if rule != "fixpoint" else 30, lr=0.05)
    rain, sprinkler, wet = (one["values"] for one in program.learned())
    for found, true, share in [
        (rain[0], 0.3, 1.0),
        (sprinkler[0], 0.2, 1.0),
        (sprinkler[1], 0.5, 1.0),
        (sprinkler[2], 0.3, 1.0),
        (wet[0], 0.8, 0.3 * 0.8),
    ]:
        assert abs(found - true) < 3 * math.sqrt(true * (1 - true) / (count * share))
    assert sum(sprinkler) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("rule", RULES)
def test_a_tied_parameter_is_shared_by_its_instances(rule: str) -> None:
    text = "p(1..4). ?::h(X) :- p(X). #semantics maxent."
    seen = [["h(1)", "h(2)", "not h(3)", "not h(4)"], ["h(1)", "not h(2)", "not h(3)", "not h(4)"]]
    program = dpasp.loads(text)
    program.learn(seen, alg=rule, niters=300, lr=0.05)
    assert [one["values"] for one in program.learned()] == [[pytest.approx(3 / 8, abs=1e-3)]]


def test_a_parameter_for_each_value_of_a_key() -> None:
    program = dpasp.loads("p(1..2). q(1..2). ?(X)::h(X,Y) :- p(X), q(Y). #semantics maxent.")
    program.learn([["h(1,1)", "h(1,2)", "not h(2,1)", "h(2,2)"]])
    found = [(one["key"], one["values"]) for one in program.learned()]
    assert found == [({"X": "1"}, [pytest.approx(1.0)]), ({"X": "2"}, [pytest.approx(0.5)])]


def test_the_likelihood_never_falls_under_fixpoint() -> None:
    text = NET + "p :- rain, not q. q :- rain, not p. :- q, sprinkler(low)."
    choose = random.Random(3)
    literals = ["rain", "wet", "not wet", "p", "not q", "sprinkler(low)", "not sprinkler(high)"]
    seen = [choose.sample(literals, 2) for _ in range(60)]
    seen = [one for one in seen if set(one) != {"wet", "not wet"}]
    history = dpasp.loads(text).learn(seen, alg="em", niters=40)
    scores = [record.log_likelihood for record in history]
    assert all(later >= earlier - 1e-9 for earlier, later in pairwise(scores))
    assert scores[-1] > scores[0] + 1


def test_em_is_the_textbook_one_on_a_hidden_coin() -> None:
    text = "0.6?::coin. 0.8::head :- coin. 0.3::other. head :- not coin, other."
    program = dpasp.loads(text + "#semantics maxent.")
    program.learn(["head", "not head"], alg="em", niters=1)
    head = 0.6 * 0.8 / (0.6 * 0.8 + 0.4 * 0.3)
    tail = 0.6 * 0.2 / (0.6 * 0.2 + 0.4 * 0.7)
    assert program.learned()[0]["values"][0] == pytest.approx((head + tail) / 2)


@pytest.mark.parametrize("rule", RULES)
def test_nothing_depends_on_the_order_of_facts_or_examples(rule: str) -> None:
    lines = ["?::a.", "?::b; ?::c.", "0.3::d.", "e :- a, d.", "e :- b, not d."]
    seen = [["e"], ["not e", "c"], ["a"], ["not a", "d"]]
    found = []
    for swap in (False, True):
        text = "\n".join(reversed(lines) if swap else lines) + "\n#semantics maxent."
        program = dpasp.loads(text)
        program.learn(list(reversed(seen)) if swap else seen, alg=rule, niters=20)
        found.append({one["rule"]: one["values"] for one in program.learned()})
    for name in found[0]:
        assert found[0][name] == pytest.approx(found[1][name], abs=1e-12)


@pytest.mark.parametrize("semantics", ["partial", "lstable", "smproblog", "wellfounded"])
@pytest.mark.parametrize("probability", ["maxent", "credal"])
def test_learning_under_the_other_semantics(semantics: str, probability: str) -> None:
    text = f"?::a. ?::b. p :- a, not p. q :- b, not a. #semantics {semantics}, {probability}."
    program = dpasp.loads(text)
    program.learn([["undef p"]] * 3 + [["q"]] * 1 + [["not q", "not p"]] * 0, alg="em", niters=60)
    assert program.learned()[0]["values"][0] == pytest.approx(0.75, abs=1e-6)


@pytest.mark.parametrize(("objective", "wanted"), [("lower", 0.25), ("upper", 1.0)])
def test_credal_objectives(objective: str, wanted: float) -> None:
    text = "?::a. p :- a, not q. q :- a, not p. #semantics credal."
    seen = [["not p"]] * 3 + [["a"]]
    program = dpasp.loads(text)
    program.learn(seen, alg="em", niters=200, objective=objective)
    assert program.learned()[0]["values"][0] == pytest.approx(wanted, abs=1e-3)


def test_smoothing_and_momentum() -> None:
    program = dpasp.loads("?::a. #semantics maxent.")
    program.learn([["a"]] * 8, niters=1, smoothing=1)
    assert program.learned()[0]["values"][0] == pytest.approx(0.9)
    program = dpasp.loads("?::a. #semantics maxent.")
    program.learn([["a"]] * 8, niters=1, momentum=0.5)
    assert program.learned()[0]["values"][0] == pytest.approx(0.75)
    for rule in ("lagrange", "gradient"):
        program = dpasp.loads("?::a. #semantics maxent.")
        program.learn([["a"]] * 8, niters=500, smoothing=1, alg=rule, lr=0.05)
        assert program.learned()[0]["values"][0] == pytest.approx(0.9, abs=1e-3)


class Bias(torch.nn.Module):
    """The same logits for every row."""

    def __init__(self, logits: list[float]) -> None:
        super().__init__()
        self.logits = torch.nn.Parameter(torch.tensor(logits, dtype=torch.float64))

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return self.logits.expand(len(rows), -1)


@pytest.mark.parametrize("likelihood", ["exact", "bound"])
@pytest.mark.parametrize(
    ("rule", "times"), [("gradient", 1.0), ("lagrange", 1.0), ("neurasp", 2.0)]
)
@pytest.mark.parametrize("height", [40.0, 600.0, 900.0])  # exp(-900) is no double
def test_learning_from_what_a_network_thinks_impossible(
    likelihood: str, rule: str, times: int, height: float
) -> None:
    def learned(
        statement: str, logits: list[float], seen: list[str], rest: str = ""
    ) -> tuple[float, list[float]]:
        net, rows = Bias(logits), torch.zeros(len(seen), 1)
        text = f"row(0) ~ train(@rows). {statement} as @net with logits :- row(I). {rest}"
        program = dpasp.loads(text, networks={"net": net}, data={"rows": rows})
        (record,) = program.learn(seen, niters=1, alg=rule, likelihood=likelihood)
        assert net.logits.grad is not None
        return record.log_likelihood, net.logits.grad.tolist()

    half = 1.0 if rule == "gradient" else 0.5  # a Boolean network's direction
    log, slopes = learned("?::p(I)", [height], ["not p(0)", "p(0)"])
    assert log == pytest.approx(-height)
    assert slopes == pytest.approx([times * half / 2])
    rest = "e :- d(0,1). e :- d(0,2)."
    log, slopes = learned("?::d(I, {0..2})", [height, 0.0, 0.0], ["d(0,1)", "e", "d(0,0)"], rest)
    assert log == pytest.approx(-2 * height + math.log(2))
    assert slopes == pytest.approx([times * 2 / 3, times * -1.5 / 3, times * -0.5 / 3])
