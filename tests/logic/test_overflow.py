"""Integers beyond 32 bits are warned about where grounding can see them, and only there."""

from __future__ import annotations

import pytest

import dpasp

BEYOND = {
    "p(2147483647). q(X+1) :- p(X).": 2147483648,
    "p(-2147483647). q(X-2) :- p(X).": -2147483649,
    "p(2000000000). p(2000000001). s(S) :- S = #sum{X : p(X)}.": 4000000001,
    "p(1..3). s(S) :- S = #sum{1500000000,X : p(X)}.": 4500000000,
    "n(1..3). p(2**(X*11)) :- n(X).": 2**33,
    "#const k = 100000. p(k*k).": 10**10,
    "n(1..50000). q(X*X) :- n(X), X > 49998.": 2500000000,
    "p(70000). 0.5::q(X*Y) :- p(X), p(Y).": 4900000000,
    "p(70000,-70000). q :- p(X,Y), X*Y < 3.": -4900000000,
    "p(70000). q(Z) :- p(X), Y = X*2, Z = Y*X.": 9800000000,
}
WITHIN = [
    "p(2147483646). q(X+1) :- p(X).",
    "p(2147483647). p(1). q(X+1) :- p(X), X < 2147483647.",
    "p(2147483647). p(1). q(X+1) :- p(X), 2147483647 > X.",
    "n(1..100). q(X*X) :- n(X).",
    "n(1..10). p(2**X) :- n(X).",
    "p(1000000,3). q(Y*Y) :- p(X,Y).",
    "p(1..1000). s(S) :- S = #sum{X : p(X)}.",
    "p(2147483647,1). p(2147483647,2). s(S) :- S = #sum{X : p(X,_)}.",
    "p(a;b). q(X*2) :- p(X), X = 1.",
]


def warned(text: str) -> list[str]:
    found = dpasp.loads(text).ground().warnings
    return [warning.message for warning in found if warning.code == "integer-overflow"]


@pytest.mark.parametrize("text", BEYOND)
def test_what_leaves_32_bits(text: str) -> None:
    (message,) = warned(text)
    assert f"reach {BEYOND[text]}," in message


@pytest.mark.parametrize("text", WITHIN)
def test_what_stays_within(text: str) -> None:
    assert warned(text) == []


def test_constants_from_outside() -> None:
    text = "#const k = 10. p(k*k)."
    assert warned(text) == []
    found = dpasp.loads(text, constants={"k": 50000}).ground().warnings
    assert [warning.code for warning in found] == ["integer-overflow"]


def test_it_comes_with_the_answers() -> None:
    answers = dpasp.loads("p(2147483647). q(X+1) :- p(X). #query q(X).").query()
    assert [warning.code for warning in answers.warnings] == ["integer-overflow"]
