"""What the numbers at the nodes of a circuit mean: the kinds of models, and the channels.

A leaf stands for the models of a total choice (or of an independent part of it) and says
which *kinds* of models there are: some that satisfy query and evidence, some that satisfy
the evidence only, some that do not satisfy the evidence. Where the total choices that
contradict the evidence are not looked at one by one, the leaves of the others are
*uncounted*: all that are consistent count together, elsewhere. A *channel* is one number at
every node. At a leaf it is read from the kinds, a sum adds it up, and a product of
independent parts multiplies it. Two of the masses, c and d, do not simply multiply:
their product rule uses two more channels, so that nothing is ever subtracted.

>>> CHANNELS["a"](np.array([QE, QE | E, OTHER])).tolist()       # every model is of kind QE
[True, False, False]
>>> MIXED["d"]
Mixed(whole='some e', part='every e is qe')
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpasp.dataclass import dataclass
from dpasp.semantics.masses import FIELDS

LEAF, SUM, PRODUCT = 0, 1, 2  # what a node is
QE, E, OTHER = 1, 2, 4  # the kinds of models at a leaf, as bits
UNCOUNTED = 8  # one more bit: it does not count for the consistent mass
MODELS = QE | E | OTHER
KIND_NAMES = {QE: "q, e", E: "e, not q", OTHER: "not e"}  # 0: no model

# By channel: which kinds have it. They are arrays of numpy or tensors of torch.
CHANNELS: Mapping[str, Callable[[Any], Any]] = {
    "consistent": lambda kinds: (kinds != 0) & ((kinds & UNCOUNTED) == 0),
    "a": lambda kinds: (kinds & MODELS) == QE,
    "b": lambda kinds: (kinds & QE) != 0,
    "c": lambda kinds: (kinds & MODELS) == E,
    "d": lambda kinds: (kinds & E) != 0,
    "some e": lambda kinds: (kinds & (QE | E)) != 0,
    "every e is qe": lambda kinds: ((kinds & QE) != 0) & ((kinds & E) == 0),
    "every is e": lambda kinds: (kinds != 0) & ((kinds & OTHER) == 0),
    "every is e, some qe": lambda kinds: ((kinds & QE) != 0) & ((kinds & OTHER) == 0),
}


class Mixed(NamedTuple):
    """The product rule x·whole(y) + part(x)·y of a channel, with two other channels."""

    whole: str
    part: str


MIXED: Mapping[str, Mixed] = {
    "c": Mixed("every is e", "every is e, some qe"),
    "d": Mixed("some e", "every e is qe"),
}


@dataclass(frozen=True, slots=True)
class LeafValues:
    """The values that the leaves of a circuit share, by number."""

    kinds: NDArray[np.int64]
    qe: NDArray[np.float64]  # the share of the models that satisfy query and evidence,
    e: NDArray[np.float64]  # and of those that satisfy the evidence

    def channel(self, name: str) -> NDArray[np.float64]:
        """The numbers of a channel at the leaves; ``qe`` and ``e`` are the shares."""
        if name in ("qe", "e"):
            return self.qe if name == "qe" else self.e
        values: NDArray[np.float64] = CHANNELS[name](self.kinds).astype(np.float64)
        return values


def kinds_text(kinds: int) -> str:
    """The kinds of models at a leaf, in words.

    >>> kinds_text(QE | OTHER), kinds_text(0)
    ('q, e | not e', 'no model')
    """
    return " | ".join(name for bit, name in KIND_NAMES.items() if kinds & bit) or "no model"


__all__ = [
    "CHANNELS",
    "FIELDS",
    "LEAF",
    "MIXED",
    "MODELS",
    "OTHER",
    "PRODUCT",
    "QE",
    "SUM",
    "UNCOUNTED",
    "E",
    "LeafValues",
    "Mixed",
    "kinds_text",
]
