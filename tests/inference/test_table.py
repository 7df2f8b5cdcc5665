"""The table of total choices: its probabilities, and the mass of those that are missing."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np
import pytest

import dpasp
from dpasp.inference.enumerate import Table, enumerate_models, least_undefined
from dpasp.language.ast import Logic, Probability
from dpasp.semantics import leaves
from dpasp.semantics.meaning import Meaning

TEXT = """
0.1::a. 0.2::b; 0.3::c; 0.5::d. 0.4::e; 0.1::f.
:- a, b.  :- c, e.  :- not a, d, f.
#query a.
"""


@pytest.fixture
def table() -> Table:
    ground = dpasp.loads(TEXT).ground()
    return enumerate_models(ground, Meaning(Logic.STABLE, Probability.CREDAL)).table


def all_choices(table: Table) -> list[tuple[int, ...]]:
    ends = table.leaves.starts
    return list(product(*(range(ends[i + 1] - ends[i]) for i in range(len(ends) - 1))))


def test_the_missing_mass_is_added_up_not_subtracted(table: Table) -> None:
    weights = np.random.default_rng(1).random((table.leaves.size, 4))
    present = {tuple(row) for row in table.values.tolist()}
    expected = [
        sum(
            prod(
                weights[start + value, k]
                for start, value in zip(table.leaves.starts, theta, strict=False)
            )
            for theta in all_choices(table)
            if theta not in present
        )
        for k in range(4)
    ]
    assert table.inconsistent(weights) == pytest.approx(expected, rel=1e-12)
    assert 0 < len(present) < len(all_choices(table))


def test_a_tiny_missing_mass_survives() -> None:
    ground = dpasp.loads("1e-30::a. 0.5::b. :- a, b. #query b.").ground()
    found = enumerate_models(ground, Meaning(Logic.STABLE, Probability.CREDAL)).table
    weights = leaves.weights(ground)[:, np.newaxis]
    assert found.inconsistent(weights)[0] == pytest.approx(5e-31, rel=1e-12)


def test_folding_a_batch_changes_nothing(table: Table) -> None:
    weights = np.repeat(np.random.default_rng(3).random((table.leaves.size, 1)), 5, axis=1)
    weights[table.leaves.of(1)] = np.random.default_rng(4).random((3, 5))
    values = np.arange(len(table))
    direct = values @ table.probabilities(weights)
    assert table.fold(weights).sum(values) == pytest.approx(direct, rel=1e-12)
    same = np.repeat(weights[:, :1], 3, axis=1)
    assert table.fold(same).sum(values) == pytest.approx(values @ table.probabilities(same))


def test_least_undefined_sets_by_total_choice() -> None:
    chosen = np.array([[0], [0], [0], [1], [1], [1]], dtype=np.bool_)
    undefined = np.array(
        [[0, 0, 0], [1, 0, 0], [1, 1, 1], [1, 1, 0], [0, 0, 1], [1, 0, 1]], dtype=np.bool_
    )
    keep = least_undefined(chosen, undefined)
    assert keep.tolist() == [True, False, False, True, True, False]
    assert least_undefined(chosen[:0], undefined[:0]).tolist() == []
    assert least_undefined(chosen[:, :0], undefined).tolist() == [True] + [False] * 5
