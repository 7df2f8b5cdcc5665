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

This is imported before everything else, so that Ctrl-C is answered from our first line on; the
imports stand where they are needed. What comes before that is Python's own start (some ten
milliseconds), which ends by the signal or with a traceback of its own.
"""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False  # nothing is imported before Ctrl-C is answered
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

__all__ = ["main"]

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line on some words and give its exit code.

    Without any, the words are the process's own, and so are its signals and its end.
    """
    if arguments is None:
        return run_process()
    from dpasp.cli.execution import run_words

    return run_words(arguments)


def run_process() -> int:
    """Run the command line on the words of this process and give its exit code.

    Does not return when work was left behind that only the end of the process can stop.
    """
    hears = signal.getsignal(signal.SIGINT) is not signal.SIG_IGN  # not so under nohup
    if hears:
        signal.signal(signal.SIGINT, _leave)
    import gc

    _open_streams()
    gc.set_threshold(100_000)  # most of what a short process makes stays: look for waste rarely
    from dpasp.cli.execution import run_words

    try:
        code = run_words(sys.argv[1:], own_process=True)
    except KeyboardInterrupt:  # a second one, while the first was reported
        code = INTERRUPTED
    if hears:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # it ends already
    _end_if_left(code)
    gc.freeze()  # all goes with the process: Python need not look for waste once more
    return code


def raise_interrupts() -> None:
    """From here on Ctrl-C is a ``KeyboardInterrupt``, as everywhere else in Python."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(number: int, frame: FrameType | None) -> None:
    """End at once: an exception might be lost in the middle of an import."""
    os.write(2, b"error: interrupted [interrupted]\n")
    os._exit(INTERRUPTED)


def _open_streams() -> None:
    """Give streams that were closed before we began something that cannot be used either.

    Without this, the next file that is opened would take their place. What is written to
    standard error is lost; the others fail when they are needed.
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
    """End this process now if it was interrupted, or something is still at work in it.

    That is a stopped grounder, or torch's threads in one of several processes that learn together.
    Python would take down what they are about to use, and the process would crash. And an
    interrupt inside ``exec`` (of which dataclasses are made while modules are imported) counts
    as unhandled for Python even if it is handled: the process would end by the signal.
    """
    import contextlib

    work = sys.modules.get("dpasp.limits.work")
    several = "RANK" in os.environ and "torch.distributed" in sys.modules
    if code == INTERRUPTED or several or (work is not None and work.left_behind()):
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)
