"""Distinct rows of bits: packing, order, counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpasp.inference import enumerate as reference
from dpasp.inference.enumerate import BitRows, pack, unpack


@pytest.mark.parametrize("width", [0, 1, 7, 8, 64, 65, 130])
def test_packing_is_lossless_and_keeps_the_order(width: int) -> None:
    bits = np.random.default_rng(1).random((50, width)) < 0.5
    words = pack(bits)
    assert np.array_equal(unpack(words, width), bits)
    by_bits = sorted(map(tuple, bits.tolist()))
    by_words = [tuple(bits[i].tolist()) for i in reference.sort_order(words)]
    assert by_words == by_bits


@pytest.mark.parametrize("width", [0, 3, 70])
def test_rows_are_counted(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference, "EXACT", replace(reference.EXACT, waiting_rows=10))
    rng = np.random.default_rng(2)
    bits = np.repeat(rng.random((5, width)) < 0.5, 40, axis=0)[rng.permutation(200)]
    counted = BitRows(width)
    for start in range(0, 200, 7):
        counted.add(bits[start : start + 7])
    distinct, counts = counted.sorted()
    expected, often = np.unique(bits, axis=0, return_counts=True) if width else (bits[:1], [200])
    assert np.array_equal(distinct, expected)
    assert counts.tolist() == list(often)
    assert counted.added == 200


def test_no_rows() -> None:
    distinct, counts = BitRows(3).sorted()
    assert distinct.shape == (0, 3)
    assert counts.tolist() == []
