"""Why the native code stopped, as the errors of this package.

Example::

    with stopping(watch) as limits:
        native = _native.fold(widths, values, counts, limits)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dpasp.errors import Diagnostic, Error, InferenceError, SizeLimit
from dpasp.limits import Watch
from dpasp.native import _native


class HeadCycle(InferenceError):
    """The compiler does not cover disjunction through a positive loop; enumerate instead."""

    default_code = "head-cycle"


@contextmanager
def stopping(watch: Watch) -> Iterator[_native.Limits]:
    """The limits of a native call inside; if it stops, the error that says why is raised."""
    watch.check()
    left, memory = watch.remaining(), watch.limits.megabytes
    try:
        yield _native.Limits(-1.0 if left is None else left, -1.0 if memory is None else memory)
    except _native.Stopped as stopped:
        raise failure(stopped, watch) from None


def failure(stopped: _native.Stopped, watch: Watch) -> Error:
    """The error for why the native code stopped."""
    match stopped.reason:
        case _native.Reason.HEAD_CYCLE:
            return HeadCycle(
                "this program has a disjunction through a positive loop, which is not compiled",
                help="query() and circuit() do without: they enumerate its total choices",
            )
        case _native.Reason.OBSERVED:
            text = f"{stopped}, so it cannot be a leaf"
            return InferenceError(Diagnostic("observed-inner", text))
        case _native.Reason.TIME:
            return watch.out_of_time()
        case _native.Reason.MEMORY:
            return watch.out_of_memory()
    return SizeLimit(
        Diagnostic(
            "size-limit",
            f"the circuit is too large: {stopped}",
            help="ask fewer questions at once, make the loops of the program narrower, "
            "or use --engine bounds or sample",
        )
    )
