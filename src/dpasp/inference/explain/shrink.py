"""Leaving out what is not needed: a set that still does something, and no smaller part of it.

>>> smallest([1, 2, 3, 4, 5, 6], lambda some: {2, 5} <= set(some))
[2, 5]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def smallest(items: Sequence[Item], enough: Callable[[Sequence[Item]], bool]) -> list[Item]:
    """The items without those that can be left out, so that none of the rest can be.

    ``enough`` says whether some of the items are still enough; all of them are. Where more
    items are never worse than fewer, every single item of the result is needed. Blocks are
    tried first, then halves of them, so that few questions are asked where little is needed.
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
