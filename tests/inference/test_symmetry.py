"""Credal choices that are alike: found for certain, and tried once for all."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import dpasp
from dpasp.inference.intervals import corners, count_vertices, different_vertices, symmetric_choices
from dpasp.semantics.leaves import layout, weights


def classes(text: str) -> list[list[int]]:
    program = dpasp.loads(text)
    ground, circuit = program.ground(), program.circuit()
    found = symmetric_choices(circuit, 0, weights(ground), layout(ground.choices), corners(ground))
    return sorted(map(sorted, found))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[0.2,0.4]::x(1..4). y :- #count{X : x(X)} >= 2. #query y.", [[0, 1, 2, 3]]),
        ("[0.2,0.4]::x(1..4). y :- #count{X : x(X)} >= 2. #query x(1) | y.", [[0], [1, 2, 3]]),
        ("[0.2,0.4]::x(1..2). [0.2,0.5]::x(3). y :- x(X). #query y.", [[0, 1], [2]]),
        ("[0.2,0.4]::x(1..4). y :- x(1), x(2). y :- x(3), x(4). #query y.", [[0, 1], [2, 3]]),
        ("[0.2,0.4]::x(1..2). 0.3::f(1..2). y :- x(X), f(X). #query y.", [[0, 1]]),
        ("[0.2,0.4]::x(1..2). 0.3::f(1). 0.4::f(2). y :- x(X), f(X). #query y.", [[0], [1]]),
        ("[0.2,0.4]::x(1..2). 0.3::f. y :- x(1), f. y :- x(2), not f. #query y.", [[0], [1]]),
        ("[0.2,0.4]::x(1..2). p :- x(X), not q. q :- x(X), not p. #query p.", [[0, 1]]),
        ("[0.2,0.4]::a; [0.6,0.8]::b. [0.2,0.4]::c; [0.6,0.8]::d. y :- a, c. #query y.", [[0, 1]]),
        (
            "[0.2,0.4]::a; [0.6,0.8]::b. [0.2,0.4]::c; [0.6,0.8]::d. y :- a, d. #query y.",
            [[0], [1]],
        ),
    ],
)
def test_classes(text: str, expected: list[list[int]]) -> None:
    assert classes(text) == expected


def test_a_difference_however_small_is_seen() -> None:
    """At random probabilities the last rule is lost in rounding; at 0 it decides."""
    text = "[0,0.4]::x(1..3). 1e-18::f. y :- x(1), x(2), x(3). y :- x(1), f. #query y."
    assert classes(text) == [[0], [1, 2]]


def test_vertices_up_to_swapping() -> None:
    program = dpasp.loads("[0.2,0.4]::x(1..3). [0.1,0.3]::z. y :- x(X). #query y.")
    ground = program.ground()
    found = corners(ground)
    (batch,) = different_vertices([[0, 1, 2], [3]], found, weights(ground), 100)
    assert batch.shape[1] == count_vertices([[0, 1, 2], [3]], found) == 4 * 2
    places = layout(ground.choices).starts[:3]
    seen = {tuple(np.sort(column[list(places)]).round(3)) for column in batch[:, :, 0].T}
    assert len(seen) == 4


def test_thirty_exchangeable_facts() -> None:
    """The extremes are at vertices where so many of the other 29 have the lower probability."""
    text = "[0.2,0.4]::x(1..30). y :- #count{X : x(X)} >= 15. #query x(1) | y."
    (answer,) = dpasp.loads(text).query()
    values = []
    for own, low in product((0.2, 0.4), range(30)):
        others = np.ones(1)
        for p in [0.2] * low + [0.4] * (29 - low):
            others = np.convolve(others, [1 - p, p])
        number, other = own * others[14:].sum(), (1 - own) * others[15:].sum()
        values.append(number / (number + other))
    assert answer.lower == pytest.approx(min(values), rel=1e-9)
    assert answer.upper == pytest.approx(max(values), rel=1e-9)
    assert answer.lower_at is not None
    assert answer.lower_at["x(1)"] == 0.2


def test_a_search_tells_what_it_knows() -> None:
    facts = " ".join(f"[0.2,0.{30 + i}]::x({i})." for i in range(14))
    text = facts + " y :- #count{X : x(X)} >= 7. #query x(1) | y."
    told: list[tuple[float, float | None]] = []
    dpasp.loads(text).query(progress=lambda done, total: told.append((done, total)))
    shares = [done for done, total in told if total == 1][-20:]
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)
    assert any(0 < share < 1 for share in shares)
