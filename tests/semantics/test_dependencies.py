"""Strongly connected components and determined atoms."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial

import pytest

import dpasp
from dpasp.ground.program import Rule
from dpasp.semantics.dependencies import components, determined
from tests.clocks import steps


def determined_names(text: str) -> set[str]:
    ground = dpasp.loads(text).ground()
    known = determined(ground.rules, len(ground.symbols))
    return {str(s) for s, one in zip(ground.symbols, known, strict=True) if s is not None and one}


def test_components_are_numbered_bottom_up() -> None:
    component, count = components([[1], [2], [1, 3], [], [0]])
    assert count == 4
    assert component[1] == component[2]
    assert component[3] < component[1] < component[0] < component[4]


def test_components_agree_with_reachability() -> None:
    rng = random.Random(5)
    for _ in range(50):
        size = rng.randint(1, 9)
        below = [[rng.randrange(size) for _ in range(rng.randint(0, 2))] for _ in range(size)]
        reach = [{i} for i in range(size)]
        for _ in range(size):
            for i in range(size):
                reach[i] |= {k for j in below[i] for k in reach[j]}
        component, count = components(below)
        assert len(set(component)) == count
        for i in range(size):
            for j in range(size):
                together = j in reach[i] and i in reach[j]
                assert (component[i] == component[j]) == together
                assert j not in reach[i] or component[j] <= component[i]


def test_stratified_negation_is_determined() -> None:
    assert determined_names("0.3::a. b :- not a. c :- not b. d :- c, d.") >= {"a", "b", "c"}


def test_loops_through_negation_are_not_and_what_is_above_them() -> None:
    text = "0.3::x. a :- x, not b. b :- x, not a. c :- a. d :- x."
    assert determined_names(text) == {"x", "d"}


def test_disjunction_and_choice_rules_are_not_determined() -> None:
    assert determined_names("0.3::x. a; b :- x. c :- a. d :- not x.") == {"x", "d"}
    assert determined_names("0.3::x. {a} :- x. c :- a. d :- not x.") == {"x", "d"}


def test_double_negation_is_a_loop_and_monotone_aggregates_are_not() -> None:
    assert determined_names("0.3::x. a :- not not a. b :- x.") == {"x", "b"}
    text = "0.3::x. 0.4::y. a :- #count { 1 : x; 2 : y; 3 : a } > 1. b :- a."
    assert determined_names(text) == {"x", "y", "a", "b"}


def test_constraints_do_not_matter() -> None:
    assert determined_names("0.3::x. a :- x. :- a.") == {"x", "a"}


def mixed(size: int) -> list[Rule]:
    rng = random.Random(3)
    return [
        Rule((rng.randrange(1, size),), (rng.randrange(1, size), -rng.randrange(1, size)))
        for _ in range(2 * size)
    ]


def chain(size: int) -> list[Rule]:
    return [Rule((i + 1,), (i,)) for i in range(1, size - 1)] + [Rule((1,), (-(size - 1),))]


@pytest.mark.parametrize("rules", [mixed, chain])
def test_many_rules_take_time_in_proportion(rules: Callable[[int], list[Rule]]) -> None:
    costs = [steps(partial(determined, rules(size), size)) / size for size in (1000, 8000)]
    assert costs[1] < 1.1 * costs[0]


def test_a_chain_of_100_000_rules_into_itself() -> None:
    assert not determined(chain(100_000), 100_000)[1:].any()
