"""Strongly connected components and determined atoms."""

from __future__ import annotations

import random
import time

import dpasp
from dpasp.logic.program import Rule
from dpasp.semantics.dependencies import components, determined


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


def test_200_000_rules_take_about_a_second() -> None:
    rng = random.Random(3)
    size = 100_000
    rules = [
        Rule((rng.randrange(1, size),), (rng.randrange(1, size), -rng.randrange(1, size)))
        for _ in range(200_000)
    ]
    started = time.process_time()
    determined(rules, size)
    assert time.process_time() - started < 30
    chain = [Rule((i + 1,), (i,)) for i in range(1, size - 1)] + [Rule((1,), (-(size - 1),))]
    assert not determined(chain, size)[1:].any()
