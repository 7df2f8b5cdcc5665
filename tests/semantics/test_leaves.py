"""The layout of leaf weights, and what the program says about them."""

from __future__ import annotations

import numpy as np
import pytest

import dpasp
from dpasp.inference.asked import ask
from dpasp.semantics import leaves
from dpasp.semantics.meaning import Meaning


def vector(text: str) -> list[float]:
    return pytest.approx(leaves.weights(dpasp.loads(text).ground()).tolist(), abs=1e-15)


def test_values_come_before_nothing_choice_by_choice() -> None:
    assert vector("0.3::a. 0.2::b; 0.5::c.") == [0.3, 0.7, 0.2, 0.5, 0.3]


def test_a_full_disjunction_has_no_leaf_for_nothing() -> None:
    assert vector("0.2::a; 0.8::b.") == [0.2, 0.8]


def test_learnable_choices_start_at_their_initial_values() -> None:
    assert vector("?::a. 0.2::b; ?::c; ?::d.") == [0.5, 0.5, 0.2, 0.4, 0.4]


def test_intervals_start_between_their_bounds() -> None:
    assert vector("[0.2, 0.6]::a.") == [0.4, 0.6]
    ground = dpasp.loads("[0.1, 0.3]::a; [0.2, 0.5]::b; [0.4, 0.6]::c.").ground()
    middle = leaves.weights(ground)
    assert middle.sum() == pytest.approx(1)
    assert np.all((middle > [0.1, 0.2, 0.4]) & (middle < [0.3, 0.5, 0.6]))


def test_what_a_network_gives_is_not_known() -> None:
    text = """
    #python
    def net(): ...
    def rows(): ...
    #end.
    i(0) ~ test(@rows).
    ?::d(X, {0..2}) as @net :- i(X).
    0.4::a.
    #query a.
    """
    ground = dpasp.loads(text).ground()
    assert np.isnan(leaves.weights(ground)).sum() == 3
    with pytest.raises(dpasp.DataError, match="network"):
        ask(ground, Meaning())


def test_a_probability_fixed_at_zero_is_impossible() -> None:
    ground = dpasp.loads("0::a. 1::b. 0::c; 0.4::d. ?::e.").ground()
    live = dict(zip("a-b-cd-e-", leaves.possible_leaves(ground).tolist(), strict=False))
    assert not live["a"]
    assert live["d"]
    assert live["e"]


def test_the_layout_counts_total_choices() -> None:
    layout = leaves.layout(dpasp.loads("0.3::a. 0.2::b; 0.5::c. 0.2::d; 0.8::e.").ground().choices)
    assert layout.size == 2 + 3 + 2
    assert layout.total == 12
    assert layout.of(1) == slice(2, 5)
