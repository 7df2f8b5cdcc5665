"""Circuits in sections are worth what they were, and stand on far fewer levels."""

from __future__ import annotations

import numpy as np
import pytest

from dpasp.circuits.gpu.tape import SHALLOW, WIDEST, Terms, into_sections

HEADS, UNIT = 6, 5  # the entries 0 to 4 are numbers from outside, and 5 is 1


def values(terms: Terms, level: np.ndarray, heads: np.ndarray) -> np.ndarray:
    """The value of every entry; a sum reads only entries of lower levels."""
    known = np.concatenate([heads, np.zeros(len(level))])
    depth = np.concatenate([np.full(HEADS, -1), level])
    assert (depth[terms.row] > depth[terms.left]).all()
    assert (depth[terms.row] > depth[terms.right]).all()
    for row in np.argsort(level, kind="stable") + HEADS:
        mine = terms.row == row
        known[row] = (known[terms.left[mine]] * known[terms.right[mine]]).sum()
    return known


def chain(steps: int, width: int, seed: int) -> tuple[Terms, np.ndarray]:
    """Steps of some sums each, linear in those of the step before, with numbers added at times."""
    random = np.random.default_rng(seed)
    triples = []
    for step in range(steps):
        for i in range(width):
            row = HEADS + step * width + i
            before = [row - i - width + j for j in range(width)] if step else [UNIT]
            for entry in random.permutation(before)[: random.integers(1, width + 1)]:
                triples.append((row, random.integers(0, HEADS), entry))
            if random.random() < 0.2:
                triples.append((row, random.integers(0, HEADS), random.integers(0, HEADS)))
    row, left, right = np.array(triples).T
    return Terms(row, left, right), np.repeat(np.arange(steps), width)


@pytest.mark.parametrize("seed", range(30))
def test_random_chains_keep_their_values(seed: int) -> None:
    width = 1 + seed % WIDEST[1]
    terms, level = chain(120, width, seed)
    random = np.random.default_rng(seed)
    heads = random.random(HEADS) + 0.2
    heads[UNIT] = 1.0
    wanted = HEADS + np.array([len(level) - 1, *random.integers(0, len(level), 2)])
    shorter, fewer = into_sections(terms, level, HEADS, UNIT, wanted)
    before, after = values(terms, level, heads), values(shorter, fewer, heads)
    np.testing.assert_allclose(after[wanted], before[wanted], rtol=1e-12)
    assert fewer.max() < 40


def test_what_is_shallow_wide_or_not_linear_stays_as_it_is() -> None:
    shallow, level = chain(SHALLOW - 1, 1, 0)
    assert into_sections(shallow, level, HEADS, UNIT, np.array([HEADS]))[0] is shallow
    wide, level = chain(100, WIDEST[1] + 2, 1)
    last = np.arange(HEADS + len(level) - WIDEST[1] - 2, HEADS + len(level))
    assert into_sections(wide, level, HEADS, UNIT, last)[0] is wide
    rows = HEADS + np.arange(100)
    below = np.concatenate([[0], rows[:-1]])
    squares = Terms(rows, below, below)
    assert into_sections(squares, np.arange(100), HEADS, UNIT, rows[-1:])[0] is squares
