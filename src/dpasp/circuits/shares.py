"""Many atoms of a network under one evidence, in numbers: no circuit is made.

>>> from dpasp.inference.asked import ask
>>> from dpasp.language import parse
>>> from dpasp.logic import ground
>>> from dpasp.semantics.meaning import Meaning
>>> text = "0.3::a. 0.4::b :- a. #query a | not b. #query b | not b."
>>> asked = ask(ground(parse(text)), Meaning())
>>> found = shares(asked.ground, asked.meaning, asked.weights)
>>> found.holds, found.fails
(array([0.18, 0.  ]), array([0.7 , 0.88]))
"""

from __future__ import annotations

import numpy as np

from dpasp.circuits.compiler import Options, native_ground, native_options
from dpasp.circuits.flatten import flatten
from dpasp.circuits.stops import stopping
from dpasp.dataclass import dataclass
from dpasp.limits import UNLIMITED, Watch
from dpasp.logic.program import GroundProgram
from dpasp.native import _native
from dpasp.semantics.leaves import Weights
from dpasp.semantics.masses import Array
from dpasp.semantics.meaning import Meaning
from dpasp.semantics.translate import translate


@dataclass(frozen=True, slots=True)
class Shares:
    """What the total choices weigh that satisfy the evidence [questions].

    ``holds`` are those in which the query holds, ``fails`` those in which it does not, and
    ``log_holds`` and ``log_fails`` their logarithms, also where doubles end.
    ``entries`` is how many entries the tables of the elimination have, and ``width`` the bits
    of the largest.
    """

    holds: Array
    fails: Array
    log_holds: Array
    log_fails: Array
    entries: int
    width: int


def shares(
    ground: GroundProgram,
    meaning: Meaning,
    weights: Weights,
    *,
    least: float = 0,
    most: float = 3e8,
    watch: Watch = UNLIMITED,
) -> Shares | None:
    """The shares of questions about one atom each, all under the same evidence.

    It is for programs whose atoms are all determined by the choices and which have no
    constraints. None where there are fewer than ``least`` entries. Raises :class:`SizeLimit` where
    there are more than ``most``.
    """
    translation = translate(ground, meaning.logic, watch)
    flat = flatten(translation, ground.choices, ground.questions, ())
    options = native_options(flat, meaning, Options(work=int(most), weights=weights))
    with stopping(watch) as limits:
        summed = _native.shares(native_ground(flat), options, least, limits)
    if summed is None:
        return None
    numbers, entries, width = summed
    (holds, log_holds), (fails, log_fails) = np.moveaxis(numbers, 0, 2)
    return Shares(holds, fails, log_holds, log_fails, entries, width)
