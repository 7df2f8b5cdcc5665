"""Annotated disjunctions with many heads: ground another way, and meaning the same."""

from __future__ import annotations

import pytest

import dpasp
from dpasp.ground import ground
from dpasp.ground.encode import encode
from dpasp.language import parse

HEADS = 12


def heads(text: str) -> str:
    return "; ".join(f"0.04::{text.replace('I', str(i))}" for i in range(HEADS))


PROGRAMS = [
    f"0.5::c. {heads('a(I)')} :- c. #query a(3). #query a(X) | c.",
    f"d(1..2). {heads('-a(I,X+1)')} :- d(X). #query -a(3,2), -a(5,3).",
    f"{heads('aI')}. #query a3.",
    f"d(1..2). {heads('aI(X)')} :- d(X). #query a3(1).",
    f"c. {heads('aI')}; 0.05::b(1) :- c. #query b(1).",
    f"d(1..2). {heads('a(I)')}; {heads('b(I,X)')} :- d(X). #query a(1), b(2,1).",
    f"#const k = 3. {heads('a(I,k)')}. #query a(3,3).",
    f"{heads('a(I)')}; 0.05::b(1;2). #query b(1).",
    f"{heads('a(I)')}; 0.05::b(1..2). #query b(1).",
]


@pytest.mark.parametrize("text", PROGRAMS)
def test_each_head_is_one_value_of_one_choice(text: str) -> None:
    choices = [choice for choice in ground(parse(text)).choices if len(choice.heads) > 1]
    assert all(len(choice.heads) >= HEADS for choice in choices)
    assert len(choices) == (2 if "d(1..2)" in text or "b(1;2)" in text or "b(1..2)" in text else 1)
    assert all(0.0 < answer.upper <= 0.08 for answer in dpasp.loads(text).query())


def test_the_encoding_grows_with_the_heads_and_not_with_their_square() -> None:
    def size(count: int) -> int:
        text = "; ".join(f"0.001::a({i},X)" for i in range(count)) + " :- d(X)."
        return sum(len(str(rule)) for rule in encode(parse(text), {}).choices.rules)

    assert size(400) < 2.5 * size(200)
