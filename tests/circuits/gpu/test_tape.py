"""Regrouped sums are worth what they were, and stand on fewer levels."""

from __future__ import annotations

import numpy as np
import pytest

from dpasp.circuits.gpu.tape import NARROW, Terms, is_narrow, regroup

HEADS, UNIT = 6, 5  # the entries 0 to 4 are numbers from outside, and 5 is 1


def values(terms: Terms, level: np.ndarray, heads: np.ndarray) -> np.ndarray:
    """The value of every entry, one sum after the other in the order of their levels."""
    known = np.concatenate([heads, np.zeros(len(level))])
    for row in np.argsort(level, kind="stable") + HEADS:
        mine = terms.row == row
        assert (level[row - HEADS] > entry_levels(level)[terms.left[mine]]).all()
        assert (level[row - HEADS] > entry_levels(level)[terms.right[mine]]).all()
        known[row] = (known[terms.left[mine]] * known[terms.right[mine]]).sum()
    return known


def entry_levels(level: np.ndarray) -> np.ndarray:
    return np.concatenate([np.full(HEADS, -1), level])


def random_sums(seed: int) -> tuple[Terms, np.ndarray]:
    """Sums of a few products of earlier entries, with many products of one factor."""
    generator = np.random.default_rng(seed)
    count = int(generator.integers(1, 30))
    rows, left, right = [], [], []
    level = np.zeros(count, dtype=np.int64)
    for number in range(count):
        for _ in range(int(generator.choice([1, 1, 2, 3]))):
            pair = generator.integers(0, HEADS), generator.integers(0, HEADS + number)
            rows.append(HEADS + number)
            left.append(pair[0])
            right.append(pair[1])
            level[number] = max(level[number], 1 + entry_levels(level)[list(pair)].max())
    return Terms(np.array(rows), np.array(left), np.array(right)), level


@pytest.mark.parametrize("seed", range(200))
def test_random_sums_keep_their_values(seed: int) -> None:
    terms, level = random_sums(seed)
    heads = np.random.default_rng(seed).random(HEADS) + 0.5
    heads[UNIT] = 1.0
    new_terms, new_level = regroup(terms, level, HEADS, UNIT)
    before, after = values(terms, level, heads), values(new_terms, new_level, heads)
    np.testing.assert_allclose(after[: len(before)], before, rtol=1e-12)
    assert (new_level[: len(level)] <= level).all()


def chain(length: int) -> tuple[Terms, np.ndarray]:
    """Sums that each add a number to a multiple of the one before."""
    rows = np.repeat(HEADS + np.arange(length), 2)
    before = np.concatenate([[0], HEADS + np.arange(length - 1)])
    right = np.stack([np.full(length, 1), before], axis=1).ravel()
    left = np.tile([2, 3], length)
    return Terms(rows, left, right), np.arange(length)


def test_a_chain_of_sums_that_are_used_once_is_written_out() -> None:
    terms, level = chain(12)
    new_terms, new_level = regroup(terms, level, HEADS, UNIT)
    assert new_level[11] < 11
    assert np.bincount(new_terms.row).max() <= 16
    heads = np.array([0.3, 0.9, 0.7, 1.1, 0.2, 1.0])
    expected = values(terms, level, heads)[HEADS + 11]
    assert values(new_terms, new_level, heads)[HEADS + 11] == pytest.approx(expected, rel=1e-12)


def test_wide_circuits_stay_as_they_are() -> None:
    terms, level = chain(4)
    assert is_narrow(terms, level)
    many = Terms(*(np.tile(column, NARROW) for column in (terms.row, terms.left, terms.right)))
    assert not is_narrow(many, level)
