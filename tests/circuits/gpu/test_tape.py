"""Which tapes are worth fewer levels."""

from __future__ import annotations

import numpy as np

from dpasp.circuits.gpu.tape import NARROW, Terms, is_narrow


def test_wide_circuits_stay_as_they_are() -> None:
    rows, level = np.repeat(6 + np.arange(4), 2), np.arange(4)
    terms = Terms(rows, np.tile([2, 3], 4), np.repeat([0, 6, 7, 8], 2))
    assert is_narrow(terms, level)
    many = Terms(*(np.tile(column, NARROW) for column in (terms.row, terms.left, terms.right)))
    assert not is_narrow(many, level)
