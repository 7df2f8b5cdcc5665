"""Leaving out what is not needed: a set that still does something, and no smaller part of it.

>>> smallest([1, 2, 3, 4, 5, 6], lambda some: {2, 5} <= set(some))
[2, 5]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def smallest(items: Sequence[Item], enough: Callable[[Sequence[Item]], bool]) -> list[Item]:
    """A part of the items that is still enough, and from which none can be left out.

    ``enough`` says whether some of the items are enough; all of them must be. That none can be
    left out of the result is so where more items are never worse than fewer. Large blocks are
    tried first, then smaller ones, so that ``enough`` is called seldom where little is needed.
    """
    kept = list(items)
    size = max(1, len(kept) // 2)
    while kept:
        at = 0
        while at < len(kept):
            rest = kept[:at] + kept[at + size :]
            if enough(rest):
                kept = rest
            else:
                at += size
        if size == 1:
            return kept
        size //= 2
    return kept
