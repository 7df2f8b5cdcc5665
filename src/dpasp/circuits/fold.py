"""Enumerated total choices as a circuit: what cannot be compiled is still evaluated as one.

>>> from dpasp.language import parse
>>> from dpasp.logic import ground
>>> from dpasp.semantics.meaning import Meaning
>>> program = ground(parse("0.3::a. #query a."))
>>> table = Counted(values=np.array([[0], [1]]), counts=np.array([[[1, 0, 0]], [[0, 1, 0]]]))
>>> circuit = fold(program.choices, table, Meaning())
>>> float(circuit.masses(np.array([0.3, 0.7]), fields=("a",))[0, 1])
0.3
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpasp.circuits.circuit import Circuit, Statistics
from dpasp.circuits.stops import stopping
from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, InferenceError, SizeLimit
from dpasp.limits import UNLIMITED, Watch
from dpasp.logic.program import Choice
from dpasp.native import _native
from dpasp.semantics.leaves import leaf_count
from dpasp.semantics.meaning import Meaning

MOST_COUNTS = 1 << 27  # total choices times questions: what is held at once, 24 bytes each


@dataclass(frozen=True, slots=True)
class Counted:
    """The models of total choices, counted; those that are missing have none.

    ``values[row, i]`` is the position of the value of choice i among its leaves, each total
    choice in one row; ``counts[row, question]`` are the numbers of models that satisfy query
    and evidence, the evidence only, and not the evidence. ``observed[row, atom]`` is the
    share of the models in which an observed atom is true; as in a compiled circuit each of
    these atoms adds two leaves, true and false. ``seconds`` is what counting took.
    """

    values: NDArray[np.integer]
    counts: NDArray[np.number]
    observed: NDArray[np.float64] | None = None
    seconds: float = 0.0


def fold(
    choices: Sequence[Choice],
    table: Counted,
    meaning: Meaning,
    *,
    watch: Watch = UNLIMITED,
) -> Circuit:
    """The circuit of a table of total choices.

    Raises :class:`InferenceError` if the models of a total choice do not agree on an observed
    atom, and what the ``watch`` raises.
    """
    seen = np.empty((len(table.values), 0)) if table.observed is None else table.observed
    _check_observed(seen)
    values = np.column_stack([table.values, (seen == 0).astype(np.int64)])
    counts = table.counts
    if values.shape[1]:
        order = np.lexsort(values.T[::-1])  # lexicographic, as the native code wants it
        values, counts = values[order], counts[order]
    with stopping(watch) as limits:
        native = _native.fold(
            np.array([*map(leaf_count, choices), *[2] * seen.shape[1]], dtype=np.int64),
            np.ascontiguousarray(values, dtype=np.int64),
            np.ascontiguousarray(counts, dtype=np.float64),
            limits,
        )
    statistics = Statistics(
        choices=len(choices),
        determined=0,
        inner=0,
        guesses=0,
        gates=0,
        nodes=native.nodes,
        edges=native.edges,
        depth=native.depth,
        width=len(choices),
        way="enumerated",
        order="",
        seconds=table.seconds,
    )
    return Circuit(meaning, statistics, native)


def check_foldable(total_choices: int, questions: int) -> None:
    """Raise :class:`SizeLimit` if a table is too large to be folded."""
    if total_choices * questions > MOST_COUNTS:
        raise SizeLimit(
            Diagnostic(
                "size-limit",
                f"{questions:,} questions about {total_choices:,} total choices are too "
                "many for a circuit",
                help="use --engine enumerate, or ask fewer questions at once",
            )
        )


def _check_observed(shares: NDArray[np.float64]) -> None:
    if np.any((shares > 0) & (shares < 1)):
        raise InferenceError(
            Diagnostic(
                "observed-inner",
                "an observed atom is not determined by the choices, so it cannot be a leaf",
            )
        )
