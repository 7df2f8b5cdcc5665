"""Total choices: in order, by chance, and as weights."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest

from dpasp.semantics.leaves import (
    certain,
    draw,
    log_probability_of,
    most_probable_first,
    probability_of,
)


def test_total_choices_come_from_the_most_probable_on() -> None:
    generator = np.random.default_rng(7)
    for sizes in ([2, 3, 2, 4], [1, 2], [], [3, 3, 3]):
        parts = [generator.dirichlet(np.ones(size)) for size in sizes]
        weights = np.concatenate([*parts, np.empty(0)])
        starts = tuple(np.cumsum([0, *sizes]).tolist())
        found = list(most_probable_first(weights, starts))
        shares = [probability_of(one, weights, starts) for one in found]
        assert sorted(found) == sorted(product(*map(range, sizes)))
        assert all(x >= y * (1 - 1e-12) for x, y in pairwise(shares))


def test_a_certain_total_choice_has_probability_one() -> None:
    starts = (0, 2, 5)
    columns = certain([(1, 2), (0, 0)], starts)
    assert columns.T.tolist() == [[0, 1, 0, 0, 1], [1, 0, 1, 0, 0]]
    assert probability_of((1, 2), columns[:, 0], starts) == 1
    assert log_probability_of((1, 2), columns[:, 1], starts) == -np.inf


def test_draws_follow_the_probabilities() -> None:
    weights = np.array([0.3, 0.7, 0.2, 0.8])
    drawn = draw(np.random.default_rng(1), weights, (0, 2, 4), 20_000)
    assert drawn.count((1, 1)) / len(drawn) == pytest.approx(0.56, abs=0.02)
    assert draw(np.random.default_rng(1), np.empty(0), (0,), 3) == [(), (), ()]
