"""What the value of an option may be.

>>> COUNT.holds(10), COUNT.holds(0.5), COUNT.words
(True, False, 'a whole number above 0')
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from dpasp.language import ast


class Kind(NamedTuple):
    """What the value of an option must be: in words, as a test, and some of them."""

    words: str
    holds: Callable[[ast.Value], bool]
    examples: tuple[str, ...]


def _number(value: ast.Value) -> float | None:
    good = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if good and isinstance(value, int | float) else None


def _real(words: str, test: Callable[[float], bool], example: str) -> Kind:
    return Kind(words, lambda value: (n := _number(value)) is not None and test(n), (example,))


def one_of(*known: str) -> Kind:
    """One of some words."""
    quoted = tuple(f'"{word}"' for word in known)
    return Kind(f"one of {', '.join(known)}", lambda value: value in known, quoted)


POSITIVE = _real("a number above 0", lambda n: n > 0, "0.001")
COUNT = _real("a whole number above 0", lambda n: n > 0 and n.is_integer(), "10")
WHOLE = _real("a whole number, 0 or more", lambda n: n >= 0 and n.is_integer(), "0")
SHARE = _real("a number from 0 to 1", lambda n: 0 <= n <= 1, "0.1")
NOT_NEGATIVE = _real("a number, 0 or more", lambda n: n >= 0, "0.1")
BOOLEAN = Kind("true or false", lambda value: isinstance(value, bool) or value in (0, 1), ("true",))
TEXT = Kind("text in quotes", lambda value: isinstance(value, str), ('"…"',))
