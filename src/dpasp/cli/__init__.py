"""The command line: ``dpasp``, also under the name ``pasp``, and ``python -m dpasp``.

Answers go to standard output and everything else to standard error; no traceback
reaches the user. The exit codes:

===  =======================================================
  0  answered
  2  wrong usage
 65  the program or its data is at fault
 70  a bug of our own
 74  the answers cannot be written, as on a full disk
124  the time limit was reached
125  the memory limit (or the budget of a circuit) was reached
130  interrupted by Ctrl-C
===  =======================================================

This module is imported before everything else and imports nothing itself, so that Ctrl-C is handled
from its first line on. During Python's own start before that (about ten milliseconds), Ctrl-C ends
the process by the signal or with Python's traceback.
"""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False  # nothing is imported before Ctrl-C is handled
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

__all__ = ["main"]

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line with these arguments and return its exit code.

    Without arguments, those of the process are used, and its signals and exit are handled too.
    """
    if arguments is None:
        return run_process()
    from dpasp.cli.execution import run_words

    return run_words(arguments)


def run_process() -> int:
    """Run the command line with the arguments of this process and return its exit code.

    Does not return if work is still running that only the end of the process can stop.
    """
    hears = signal.getsignal(signal.SIGINT) is not signal.SIG_IGN  # a background job may ignore it
    if hears:
        signal.signal(signal.SIGINT, _leave)
    import gc

    _open_streams()
    gc.set_threshold(100_000)  # a short process frees little: collect garbage rarely
    from dpasp.cli.execution import run_words

    try:
        code = run_words(sys.argv[1:], own_process=True)
    except KeyboardInterrupt:  # a second Ctrl-C while the first was being reported
        code = INTERRUPTED
    if hears:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process is ending already
    _end_if_left(code)
    gc.freeze()  # the memory goes with the process: skip the last garbage collection
    return code


def raise_interrupts() -> None:
    """Make Ctrl-C raise ``KeyboardInterrupt`` from here on, as Python normally does."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(number: int, frame: FrameType | None) -> None:
    """End at once: an exception might be lost in the middle of an import."""
    os.write(2, b"error: interrupted [interrupted]\n")
    os._exit(INTERRUPTED)


def _open_streams() -> None:
    """Replace standard streams that were closed at the start by ones that cannot be used either.

    Otherwise the next file to be opened would take their descriptors. What is written to standard
    error is lost; using the other two fails.
    """
    modes = {"stdin": os.O_WRONLY, "stdout": os.O_RDONLY, "stderr": os.O_WRONLY}
    for number, (name, mode) in enumerate(modes.items()):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, mode)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            letter = "r" if name == "stdin" else "w"
            setattr(sys, name, open(number, letter, encoding="utf-8", closefd=False))  # noqa: SIM115


def _end_if_left(code: int) -> None:
    """End this process now if it was interrupted or if work is still running in it.

    That work is a stopped grounder, or torch's threads in one of several processes that learn
    together. Python would tear down what they use, and the process would crash. Also, Python treats
    an interrupt inside ``exec`` (which dataclasses use during imports) as unhandled even if it is
    handled, so the process would end by the signal.
    """
    import contextlib

    work = sys.modules.get("dpasp.limits.work")
    several = "RANK" in os.environ and "torch.distributed" in sys.modules
    if code == INTERRUPTED or several or (work is not None and work.left_behind()):
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)
