"""Groups and elimination: what is found, how large circuits become, what stays the same."""

from __future__ import annotations

from itertools import pairwise, product
from pathlib import Path
from random import Random

import numpy as np
import pytest

import dpasp
from dpasp.circuits import FIELDS, Cache, Circuit, Options, compile
from dpasp.errors import SizeLimit
from dpasp.inference.answers import Answer
from dpasp.language.ast import Logic, Probability
from dpasp.semantics import leaves
from dpasp.semantics.meaning import Meaning

from .programs import STABLE, random_network


def network(size: int, values: int = 3, *, interval: bool = False, seed: int = 1) -> str:
    """A network of variables with so many values and two parents each."""
    random = Random(seed)
    lines = []
    for i in range(size):
        parents = random.sample(range(max(0, i - 3), i), min(i, 2))
        for states in product(range(values), repeat=len(parents)):
            body = ", ".join(f"v({p},{s})" for p, s in zip(parents, states, strict=True))
            lines.append(f"{_heads(random, i, values, interval)}{' :- ' * bool(body)}{body}.")
    return "\n".join(lines)


def _heads(random: Random, i: int, values: int, interval: bool) -> str:
    parts = [random.randint(1, 9) for _ in range(values)]
    shares = [part / sum(parts) for part in parts]
    if interval and random.random() < 0.4:
        return "; ".join(
            f"[{max(share - 0.1, 0):.3f}, {share + 0.1:.3f}]::v({i},{value})"
            for value, share in enumerate(shares)
        )
    return "; ".join(f"{share!r}::v({i},{value})" for value, share in enumerate(shares))


def circuit(text: str, way: str = "auto") -> Circuit:
    ground = dpasp.loads(text).ground()
    return compile(ground, STABLE, options=Options(way))  # type: ignore[arg-type]


def test_a_network_is_compiled_as_a_network() -> None:
    found = circuit(network(40) + "\n#query v(39,0) | v(5,1), v(20,2).")
    assert found.statistics.way == "elimination"
    assert found.statistics.nodes < 6000  # 40 tables of at most 3^4 entries, and sums


def test_what_nothing_depends_on_is_left_out() -> None:
    query = "\n#query v(3,0) | v(2,1)."
    assert (
        circuit(network(40) + query).statistics.nodes
        == circuit(network(4) + query).statistics.nodes
    )


DIGITS = " ".join(f"0.1::d({i},0); 0.2::d({i},1); 0.3::d({i},2); 0.4::d({i},3)." for i in (1, 2))
SUM = "s(X+Y) :- d(1,X), d(2,Y). even :- s(Z), Z \\ 2 = 0. #query even | not s(6)."
WEATHER = """
0.5::w(sun,0); 0.5::w(rain,0).
0.6::w(sun,T+1); 0.4::w(rain,T+1) :- w(sun,T), T = 0..20.
0.2::w(sun,T+1); 0.8::w(rain,T+1) :- w(rain,T), T = 0..20.
#query w(sun,21)."""


@pytest.mark.parametrize(("text", "width"), [(DIGITS + SUM, 6), (WEATHER, 3)])
def test_groups_are_found_in_rules(text: str, width: int) -> None:
    found = circuit(text, "elimination")
    assert found.statistics.width <= width
    ground = dpasp.loads(text).ground()
    other = circuit(text, "diagram")
    weights = leaves.weights(ground)
    np.testing.assert_allclose(found.masses(weights), other.masses(weights), rtol=1e-12)


def test_gradients_are_those_of_other_ways() -> None:
    text = network(6) + "\n#query v(5,0) | v(2,1).\n#query v(4,1), not v(1,2)."
    weights = leaves.weights(dpasp.loads(text).ground())
    probed = ("qe", "e", "d")
    ways = [circuit(text, way) for way in ("elimination", "diagram")]
    assert ways[0].statistics.way == "elimination"
    seeds = np.zeros((2, len(FIELDS)))
    seeds[:, [FIELDS.index(name) for name in probed]] = (1.0, -2.0, 0.5)
    starts = leaves.layout(dpasp.loads(text).ground().choices).starts
    slopes = [way.gradient(weights, seeds)[1] for way in ways]
    # A choice that is left out on a branch shifts the slopes of all its values by the same.
    for begin, end in pairwise(starts):
        first, second = (slope[begin:end] - slope[begin] for slope in slopes)
        np.testing.assert_allclose(first, second, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_intervals_in_a_network(seed: int) -> None:
    text = network(3, 2, interval=True, seed=seed) + "\n#query v(2,0) | v(1,1).\n#semantics credal."
    program = dpasp.loads(text)
    found, exact = program.query()[0], program.query(engine="enumerate")[0]
    assert isinstance(found, Answer)
    assert isinstance(exact, Answer)
    assert found.numbers == pytest.approx(exact.numbers, abs=1e-9)


def test_constraints_count_for_consistency_once() -> None:
    text = network(5) + "\n:- v(0,0), v(4,1). :- v(3,2).\n#query v(4,0) | v(2,1)."
    ground = dpasp.loads(text).ground()
    weights = leaves.weights(ground)
    ways = [circuit(text, way).masses(weights) for way in ("elimination", "tables")]
    assert 0 < ways[0][0, 0] < 1
    np.testing.assert_allclose(ways[0], ways[1], rtol=1e-12)


def test_the_most_probable_explanation_of_a_network() -> None:
    text = network(3, 2) + "\n#mpe | v(2,1).\n#semantics maxent."
    program = dpasp.loads(text)
    found, exact = program.query()[0], program.query(engine="enumerate")[0]
    assert found.numbers == pytest.approx(exact.numbers)
    assert str(found) == str(exact)


def test_credal_and_maxent_agree_where_nothing_is_open() -> None:
    ground = dpasp.loads(network(8) + "\n#query v(7,0) | v(2,1).").ground()
    weights = leaves.weights(ground)
    credal, maxent = (
        compile(ground, Meaning(Logic.STABLE, p)).masses(weights)[0]
        for p in (Probability.CREDAL, Probability.MAXENT)
    )
    both = dict(zip(FIELDS, np.where(np.isnan(credal), maxent, credal), strict=True))
    assert both["a"] / (both["a"] + both["d"]) == pytest.approx(both["qe"] / both["e"], rel=1e-12)


def test_a_plan_knows_what_elimination_costs() -> None:
    program = dpasp.loads(network(20) + "\n#query v(19,0) | v(5,1).")
    (part,) = program.plan().parts
    assert part.tries == ("elimination, tree",)
    assert f"elimination, by tables of {part.entries:,} entries in all" in str(program.plan())
    assert program.circuit().statistics.nodes < 2 * part.entries


def test_what_is_too_large_says_how_far_every_way_came() -> None:
    ground = dpasp.loads(network(12) + "\n#query v(11,0).").ground()
    with pytest.raises(SizeLimit, match=r"tried were diagram \(\d+ % done\), .*elimination"):
        compile(ground, STABLE, options=Options(nodes=20, work=40_000))


def test_numbers_under_known_weights_are_those_of_the_circuit() -> None:
    """Networks with and without evidence, constraints and several parts."""
    meaning, counted = Meaning(Logic.STABLE, Probability.MAXENT), 0
    for seed in range(60):
        ground = random_network(Random(seed))
        weights = leaves.weights(ground)
        plain = compile(ground, meaning)
        known = compile(ground, meaning, options=Options("elimination", weights=weights))
        counted += known.of_weights
        assert not plain.of_weights
        fields = ("consistent", "qe", "e")
        masses = [own.masses(weights[:, None], fields=fields) for own in (plain, known)]
        at = [FIELDS.index(name) for name in fields]
        assert masses[1][:, at] == pytest.approx(masses[0][:, at], rel=1e-9, abs=1e-15)
    assert counted > 20


def test_a_circuit_of_some_weights_is_not_kept(tmp_path: Path) -> None:
    ground = dpasp.loads(network(6) + "\n#query v(5,0) | v(2,1).").ground()
    meaning, cache = Meaning(Logic.STABLE, Probability.MAXENT), Cache(tmp_path, worth=0.0)
    options = Options("elimination", weights=leaves.weights(ground))
    assert compile(ground, meaning, options=options, cache=cache).of_weights
    again = compile(ground, meaning, options=Options("elimination"), cache=cache)
    assert not again.cached
    assert not again.of_weights
    # A circuit that is there already is right under any weights.
    assert not compile(ground, meaning, options=options, cache=cache).of_weights


def test_evidence_too_improbable_for_numbers_has_a_circuit() -> None:
    text = "".join(f"1e-40::x({i}). y({i}) :- x({i}), z. " for i in range(8)) + "0.3::z. "
    evidence = ", ".join(f"x({i})" for i in range(8))
    ground = dpasp.loads(f"{text} #query z | {evidence}, y(0).").ground()
    meaning = Meaning(Logic.STABLE, Probability.MAXENT)
    options = Options("elimination", weights=leaves.weights(ground))
    found = compile(ground, meaning, options=options)
    logs = found.masses(leaves.weights(ground)[:, None], fields=("e",), log=True)
    assert float(logs[0, FIELDS.index("e"), 0]) == pytest.approx(
        320 * -np.log(10) + np.log(0.3), rel=1e-9
    )
