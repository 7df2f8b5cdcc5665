"""An enumerated program as a circuit: nothing behind it knows the difference."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpasp import circuits
from dpasp.errors import Diagnostic, InferenceError, SizeLimit
from dpasp.inference.reference.enumerate import Enumeration
from dpasp.inference.reference.table import ALWAYS, Condition, Table
from dpasp.language.ast import Logic, Probability
from dpasp.logic.program import GroundProgram

MOST_COUNTS = 1 << 27  # total choices times questions: what is held at once, 24 bytes each


def folded(
    ground: GroundProgram,
    found: Enumeration,
    logic: Logic,
    probability: Probability,
    seconds: float = 0.0,
) -> circuits.Circuit:
    """The circuit of what was enumerated in so many seconds."""
    table = found.table
    size = len(table) * len(found.queries)
    if size > MOST_COUNTS:
        raise SizeLimit(
            Diagnostic(
                "size-limit",
                f"{len(found.queries):,} questions about {len(table):,} total choices are too "
                "many for a circuit",
                help="use --engine enumerate, or ask fewer questions at once",
            )
        )
    seen = [_truth(table, one) for one in found.observed]
    return circuits.fold(
        ground.choices,
        np.column_stack([table.values, *seen]) if seen else table.values,
        _counts(found),
        logic,
        probability,
        observed=len(seen),
        seconds=seconds,
    )


def _counts(found: Enumeration) -> NDArray[np.float64]:
    """By total choice and question: the models of q and e, of e only, and not of e."""
    table = found.table
    result = np.empty((len(table), len(found.queries), 3))
    n = table.count(table.holds(ALWAYS))
    for i, query in enumerate(found.queries):
        n_qe = table.count(table.holds(query.both))
        n_e = table.count(table.holds(query.given))
        result[:, i] = np.stack([n_qe, n_e - n_qe, n - n_e], axis=1)
    return result


def _truth(table: Table, condition: Condition) -> NDArray[np.int64]:
    """By total choice, whether an observed atom is true (0) or false (1) in all its models."""
    true = table.count(table.holds(condition))
    if np.any((true > 0) & (true < table.count(table.holds(ALWAYS)))):
        raise InferenceError(
            Diagnostic(
                "observed-inner",
                "an observed atom is not determined by the choices, so it cannot be a leaf",
            )
        )
    false: NDArray[np.int64] = (true == 0).astype(np.int64)
    return false
