"""Credal facts, rules and annotated disjunctions."""

from __future__ import annotations

import numpy as np
import pytest

import dpasp
from dpasp.inference.intervals import corners, vertex_weights, vertices
from dpasp.semantics import leaves


def bounds(text: str, query: str, engine: str = "enumerate") -> tuple[float, float]:
    answer = dpasp.loads(text).query(query, engine=engine)[0]
    assert isinstance(answer.lower, float)
    assert isinstance(answer.upper, float)
    return answer.lower, answer.upper


def test_vertices_of_a_fact_and_of_a_disjunction() -> None:
    assert vertices((0.2, 0.3), (0.7, 0.8)) == pytest.approx(
        np.array([(0.2, 0.8), (0.7, 0.3)]), abs=1e-12
    )
    found = vertices((0.1, 0.2, 0.4), (0.3, 0.5, 0.6))
    assert len(found) == 5
    for vertex in found:
        assert sum(vertex) == pytest.approx(1)
        at_bound = [
            p in (pytest.approx(low), pytest.approx(high))
            for p, low, high in zip(vertex, (0.1, 0.2, 0.4), (0.3, 0.5, 0.6), strict=True)
        ]
        assert sum(at_bound) >= 2


def test_a_point_has_one_vertex() -> None:
    assert len(vertices((0.25, 0.75), (0.25, 0.75))) == 1


def test_batches_hold_every_vertex_once() -> None:
    ground = dpasp.loads("[0.1,0.2]::a. 0.5::b. [0.3,0.4]::c. [0.5,0.6]::d.").ground()
    weights = leaves.weights(ground)[:, np.newaxis]
    batches = list(vertex_weights(corners(ground), weights, 3))
    assert [batch.shape[1] for batch in batches] == [3, 3, 2]
    columns = np.concatenate(batches, axis=1)[:, :, 0]
    assert len({tuple(column) for column in columns.T}) == 8
    assert np.all(columns[2:4] == 0.5)


def test_a_credal_fact() -> None:
    assert bounds("[0.2, 0.7]::a.", "a") == pytest.approx((0.2, 0.7))
    assert bounds("[0.2, 0.7]::a.", "not a") == pytest.approx((0.3, 0.8))


def test_every_instance_of_a_credal_rule_has_its_own_probability() -> None:
    text = "d(1..2). [0.1, 0.4]::a(X) :- d(X). both :- a(1), a(2). one :- a(1), not a(2)."
    assert bounds(text, "both") == pytest.approx((0.01, 0.16))
    assert bounds(text, "one") == pytest.approx((0.1 * 0.6, 0.4 * 0.9))


def test_a_credal_disjunction_sums_to_one() -> None:
    text = "[0.1, 0.3]::a; [0.2, 0.5]::b; [0.4, 0.6]::c."
    assert bounds(text, "b") == pytest.approx((0.2, 0.5))
    assert bounds(text, "a") == pytest.approx((0.1, 0.3))
    # b or c: 1 - a; and a given not b: a = 0.3, b = 0.3 or a = 0.1, c = 0.6.
    assert bounds(text, "not a") == pytest.approx((0.7, 0.9))
    assert bounds(text, "a | not b") == pytest.approx((0.1 / 0.7, 0.3 / 0.7))


def test_conditioning_on_a_credal_fact() -> None:
    text = "[0.2, 0.5]::d. 0.9::p1. 0.1::p2. t :- d, p1. t :- not d, p2."
    lower, upper = (p * 0.9 / (p * 0.9 + (1 - p) * 0.1) for p in (0.2, 0.5))
    assert bounds(text, "d | t") == pytest.approx((lower, upper))


def test_vertices_where_the_evidence_is_impossible_are_skipped() -> None:
    assert bounds("[0, 0.5]::a. 0.5::b :- a.", "b | a") == pytest.approx((0.5, 0.5))
    with pytest.raises(dpasp.ImpossibleEvidence):
        bounds("[0, 0]::a. 0.5::b :- a.", "b | a")


def test_the_inconsistent_mass_is_the_largest_of_the_vertices() -> None:
    answers = dpasp.loads("[0.2, 0.3]::a. 0.5::b. :- a, b. #query b.").query(engine="enumerate")
    assert answers.inconsistent == pytest.approx(0.15)


def test_too_many_vertices_are_refused() -> None:
    with pytest.raises(dpasp.SizeLimit, match="30 credal choices"):
        bounds("[0.1, 0.2]::a(1..30). :- a(X), X > 1.", "a(1)")


def test_14_credal_facts_in_a_chain() -> None:
    text = "[0.2,0.7]::e(0..13). p(0). p(X+1) :- p(X), e(X)."
    assert bounds(text, "p(14)") == pytest.approx((0.2**14, 0.7**14), rel=1e-9)


@pytest.mark.parametrize("engine", ["compile", "enumerate"])
@pytest.mark.parametrize("ends", [(0.0, 1e-10), (1e-20, 1e-10), (1e-300, 1e-290)])
def test_narrow_intervals_do_not_collapse(engine: str, ends: tuple[float, float]) -> None:
    low, high = ends
    assert bounds(f"[{low}, {high}]::b.", "b", engine) == ends
    text = f"[{low}, {high}]::a; [0, 1]::b; [0.5, 0.6]::c."
    assert bounds(text, "a", engine) == ends


def test_vertices_are_compared_exactly() -> None:
    """Decimals that meet in a vertex give it once, and one that misses it gives none."""
    assert vertices((0.1, 0.9), (0.1, 0.9)) == [(0.1, 0.9)]
    assert len(vertices((0.1, 0.2, 0.3), (0.3, 0.4, 0.7))) == 4
    narrow = vertices((0.0, 0.5, 0.5), (1e-10, 0.5 + 1e-10, 0.5 + 1e-10))
    assert narrow == [(0.0, 0.5, 0.5)]
    assert len(vertices([1 / 3] * 3, [1 / 3] * 3)) == 1
