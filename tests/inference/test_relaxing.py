"""Programs of which some choices are unknown: what is sure there holds, and only grows."""

from __future__ import annotations

from itertools import product
from random import Random

import numpy as np
import pytest

import dpasp
from dpasp.inference.asked import Asked
from dpasp.inference.bounds.relaxed import (
    Budget,
    DeterminedPart,
    Growing,
    Ranked,
    RelaxedGoal,
    determined_part,
    important,
)
from dpasp.inference.models import Outcomes
from dpasp.inference.sampling.situations import Groundwork
from dpasp.language.ast import Logic
from dpasp.limits import UNLIMITED
from dpasp.semantics.leaves import weights
from dpasp.semantics.masses import Array, Masses
from dpasp.semantics.meaning import Meaning
from tests.inference.test_sampling import asked_of, with_queries, without_intervals

ROUNDING = 1e-12
MANY_WAYS = "0.5::x(1..40). y :- x(N), x(N+1), x(N+2), not x(N+5). #query y."
STRATIFIED = """
0.3::a(1..4). 0.5::b(1..3); 0.2::c(1..3). 0.4::z.
d(X) :- a(X), not b(X). d(X) :- c(X), not z. e :- 2 { d(1..3) }, not 3 { a(1..4) }.
f :- e. f :- g, a(1). g :- f, z. g :- b(2), not e.
h :- not f. :- a(4), c(1).
"""


def goals(part: DeterminedPart, literals: tuple[int, ...]) -> tuple[RelaxedGoal, RelaxedGoal]:
    """That literals hold, and the contrary."""
    return part.goal([literals]), part.complement([(-literal,) for literal in literals])


def check(goal: RelaxedGoal, exact: float, masses: Array, random: Random) -> None:
    """However the choices become known, the bound only grows, and ends exact."""
    order = list(goal.numbers)
    random.shuffle(order)
    growing = Growing(goal)
    last = growing.at_least(masses)
    for end in range(len(order) + 1):
        circuit = Budget().compiled(goal, order[:end], UNLIMITED)
        growing = Growing(goal, frozenset(order[:end]), circuit)
        now = growing.at_least(masses)
        assert last - ROUNDING <= now <= exact + ROUNDING
        last = now
    assert growing.whole
    assert last == pytest.approx(exact, abs=ROUNDING)


@pytest.mark.parametrize("first", [0, 40, 80])
def test_what_is_sure_of_random_programs(first: int) -> None:
    checked = 0
    for seed, program, logic in without_intervals(first, 40):
        asked = asked_of(with_queries(program, logic), f"{logic}, credal")
        part = determined_part(Groundwork(asked.ground, asked.meaning))
        if part is None:
            continue
        for place, query in enumerate(asked.queries):
            literals = part.conjunction((*query.evidence, *query.literals))
            if literals is None:
                continue
            exact = Masses.of(_exactly(asked)).a[place]
            held, fails = goals(part, literals)
            check(held, exact, asked.weights, Random(seed))
            check(fails, 1.0 - exact, asked.weights, Random(seed))
            checked += 1
    assert checked > 20


def _exactly(asked: Asked) -> Array:
    """The masses [fields, queries] by solving every total choice."""
    outcomes, sizes = (
        Outcomes(asked),
        [asked.layout.of(i) for i in range(len(asked.ground.choices))],
    )
    total = np.zeros((len(Masses.__slots__), len(asked.queries)))
    for choice in product(*(range(size.stop - size.start) for size in sizes)):
        places = [size.start + value for size, value in zip(sizes, choice, strict=True)]
        total += float(np.prod(asked.weights[places])) * outcomes.of(choice)
    return total


@pytest.mark.parametrize("text", ["e", "not e", "f, h", "g", "not g, not h", "d(1), not d(2)"])
def test_loops_sums_and_constraints(text: str) -> None:
    program = dpasp.loads(f"{STRATIFIED} #query {text}.")
    asked = asked_of(f"{STRATIFIED} #query {text}.")
    part = determined_part(Groundwork(asked.ground, asked.meaning))
    assert part is not None
    (query,) = asked.queries
    literals = part.conjunction(query.literals)
    assert literals is not None
    circuit = program.circuit()
    exact = float(circuit.masses(asked.weights, fields=("a",))[0, 1])
    held, fails = goals(part, literals)
    check(held, exact, asked.weights, Random(1))
    check(fails, 1.0 - exact, asked.weights, Random(1))


def test_what_may_lack_models_is_left_alone() -> None:
    text = "0.5::x. a :- x, not a. 0.3::y. #query y."
    assert determined_part(Groundwork(asked_of(text).ground, Meaning())) is None
    undefined = Meaning(Logic.SMPROBLOG)
    ground = asked_of("0.5::x. :- x. 0.3::y. #query y.").ground
    assert determined_part(Groundwork(ground, undefined)) is None


def test_what_never_or_rarely_holds() -> None:
    asked = asked_of("1e-9::x(1..3). y :- x(1), x(2), x(3). 0.5::z. #query y. #query z, not z.")
    part = determined_part(Groundwork(asked.ground, asked.meaning))
    assert part is not None
    rare, never = (part.conjunction(query.literals) for query in asked.queries)
    assert rare is not None
    assert never is not None
    assert important(part.goal([rare]), asked.weights, seed=1) == Ranked((0, 1, 2), 3)
    assert important(part.goal([never]), asked.weights, seed=1) == Ranked()
    assert never == part.never


def test_it_is_stuck_at_its_budget() -> None:
    ground = asked_of(MANY_WAYS).ground
    part = determined_part(Groundwork(ground, Meaning()))
    assert part is not None
    (y,) = (atom for symbol, atom in ground.atoms.items() if symbol.name == "y")
    goal = part.goal([(y,)])
    growing, budget = Growing(goal), Budget(nodes=60, work=50_000)
    ranked = important(goal, weights(ground), seed=1)
    sizes = []
    while not growing.stuck and not growing.whole:
        growing = growing.grown(ranked, budget)
        sizes.append(len(growing.known))
    assert growing.stuck
    assert sizes == sorted(sizes)
    assert 0 < sizes[-1] < 40
    assert growing.circuit is not None
    assert growing.circuit.statistics.nodes <= 60
