"""Why the native code stopped, as the errors of this package.

>>> from dpasp.limits import UNLIMITED
>>> with stopping(UNLIMITED) as limits:              # given to a native call, which may stop
...     type(limits).__name__
'Limits'
"""

from __future__ import annotations

from dpasp.errors import Diagnostic, Error, InferenceError, SizeLimit
from dpasp.limits import UNLIMITED, Watch
from dpasp.native import _native

NO_LIMITS = _native.Limits(-1.0, -1.0)


class HeadCycle(InferenceError):
    """The compiler does not cover disjunction through a positive loop; enumerate instead."""

    default_code = "head-cycle"


class stopping:  # noqa: N801 - used like a function
    """The limits of a native call inside; if it stops, the error that says why is raised.

    It is entered for every evaluation of a circuit, so it is a plain class and not a generator.
    """

    __slots__ = ("watch",)

    def __init__(self, watch: Watch) -> None:
        self.watch = watch

    def __enter__(self) -> _native.Limits:
        watch = self.watch
        if watch is UNLIMITED:
            return NO_LIMITS
        watch.check()
        left, limits = watch.remaining(), watch.limits
        return _native.Limits(
            -1.0 if left is None else left,
            -1.0 if limits.megabytes is None else limits.megabytes,
            limits.clock,
        )

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: object
    ) -> None:
        if isinstance(problem, _native.Stopped):
            raise failure(problem, self.watch) from None


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
